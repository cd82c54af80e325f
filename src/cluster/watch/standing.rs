//! State of each watched source, for /readyz and the log. A source is available if all of its watches work.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shindan_core::api::DiagnosisKind;
use shindan_core::state::Source;

use super::trouble::Trouble;
use crate::http::Health;

/// The states of all sources.
#[derive(Debug)]
pub(super) struct SourceStates {
    health: Health,
    sources: Mutex<BTreeMap<Source, State>>,
}

#[derive(Debug, Default)]
struct State {
    watches: usize,
    listed: bool,
    /// Current failures, by watch.
    troubles: BTreeMap<usize, Trouble>,
    /// The failure that was last logged. Several watches of one source fail for one reason, which is logged once.
    logged: Option<Trouble>,
}

/// Handle of one watch to the state of its source.
#[derive(Debug, Clone)]
pub(super) struct WatchState {
    all: Arc<SourceStates>,
    source: Source,
    watch: usize,
}

impl SourceStates {
    pub(super) fn new(health: Health) -> Arc<Self> {
        Arc::new(Self { health, sources: Mutex::default() })
    }

    pub(super) fn of(self: &Arc<Self>, source: Source) -> WatchState {
        self.health.missing(source.as_str(), NOT_LISTED);
        let mut sources = self.lock();
        let state = sources.entry(source).or_default();
        state.watches += 1;
        WatchState { all: self.clone(), source, watch: state.watches }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Source, State>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NOT_LISTED: &str = "not listed yet";

impl WatchState {
    /// Records that the watch fails. Returns whether the failure should be logged.
    pub(super) fn lost(&self, trouble: Trouble) -> bool {
        self.change(|state| {
            let is_new = state.logged.as_ref() != Some(&trouble);
            state.logged = Some(trouble.clone());
            state.troubles.insert(self.watch, trouble);
            is_new
        })
    }

    /// Records that the watch works. Returns whether this recovery should be logged: all watches of the source work
    /// again.
    pub(super) fn found(&self) -> bool {
        let mut sources = self.all.lock();
        // A watch that had not failed has not recovered.
        let Some(state) = sources.get_mut(&self.source).filter(|state| state.troubles.contains_key(&self.watch)) else {
            return false;
        };
        state.troubles.remove(&self.watch);
        self.report(state);
        state.troubles.is_empty() && state.logged.take().is_some()
    }

    /// Records that all watches of the source have listed.
    pub(super) fn listed(&self) {
        self.change(|state| state.listed = true);
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut sources = self.all.lock();
        let state = sources.entry(self.source).or_default();
        let result = change(state);
        self.report(state);
        result
    }

    fn report(&self, state: &State) {
        let (health, part) = (&self.all.health, self.source.as_str());
        match state.troubles.values().next() {
            None if state.listed => health.ready(part),
            None if self.source == Source::Events => health.lacking(part, NOT_LISTED),
            None => health.missing(part, NOT_LISTED),
            Some(trouble) if is_vital(self.source, state, trouble) => health.missing(part, trouble.message.clone()),
            Some(trouble) => health.lacking(part, trouble.message.clone()),
        }
    }
}

/// Whether the operator is not ready because of this failure. Pods and PodDiagnoses are required, and so is one list of
/// Nodes before the first write. Other sources delay readiness only until their first list, and not if the API server
/// denies it.
fn is_vital(source: Source, state: &State, trouble: &Trouble) -> bool {
    match source {
        Source::Pods | Source::Objects(DiagnosisKind::Pod) => true,
        Source::Nodes => !state.listed,
        _ => !state.listed && !trouble.is_refusal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(category: &'static str) -> Trouble {
        Trouble { category, message: category.to_owned() }
    }

    fn listed(sources: &Arc<SourceStates>, source: Source) -> WatchState {
        let state = sources.of(source);
        state.listed();
        state
    }

    #[test]
    fn a_source_is_listed_as_failing_until_all_its_watches_recover() {
        let health = Health::default();
        let sources = SourceStates::new(health.clone());
        let (one, two) = (listed(&sources, Source::Events), listed(&sources, Source::Events));
        assert!(health.lacks().is_empty());
        assert!(one.lost(trouble("forbidden")));
        assert!(!two.lost(trouble("forbidden")), "it is logged once");
        assert!(!one.found());
        assert_eq!(health.lacks(), ["events: forbidden"]);
        assert!(two.found());
        assert!(health.lacks().is_empty());
        assert!(!two.found(), "it worked all the time");
    }

    #[test]
    fn only_a_failing_pod_watch_makes_the_operator_not_ready() {
        let health = Health::default();
        let sources = SourceStates::new(health.clone());
        let pods = listed(&sources, Source::Pods);
        let nodes = listed(&sources, Source::Nodes);
        nodes.lost(trouble("forbidden"));
        assert!(health.is_ready());
        pods.lost(trouble("transport"));
        assert!(!health.is_ready());
        pods.found();
        assert!(health.is_ready());
        assert_eq!(health.lacks(), ["nodes: forbidden"]);
    }

    #[test]
    fn readiness_waits_for_unreachable_sources_but_not_for_denied_ones() {
        let health = Health::default();
        let sources = SourceStates::new(health.clone());
        let services = sources.of(Source::Services);
        assert!(!health.is_ready());
        services.lost(trouble("transport"));
        assert!(!health.is_ready());
        services.lost(trouble("forbidden"));
        assert!(health.is_ready());
        let nodes = sources.of(Source::Nodes);
        nodes.lost(trouble("forbidden"));
        assert!(!health.is_ready(), "nothing is written without Nodes");
    }
}
