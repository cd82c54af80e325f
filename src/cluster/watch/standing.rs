//! Whether each source is there, as /readyz and the log tell it: all of its watches must be.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::trouble::Trouble;
use crate::api::DiagnosisKind;
use crate::http::Health;
use crate::world::Source;

/// What is known of all sources.
#[derive(Debug)]
pub(super) struct Standings {
    health: Health,
    sources: Mutex<BTreeMap<Source, State>>,
}

#[derive(Debug, Default)]
struct State {
    watches: usize,
    listed: bool,
    /// Of the watches that fail at present.
    troubles: BTreeMap<usize, Trouble>,
    /// What was last said, so that seven watches of Events do not say it seven times.
    said: Option<Trouble>,
}

/// One watch's part in its source.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    all: Arc<Standings>,
    source: Source,
    watch: usize,
}

impl Standings {
    pub(super) fn new(health: Health) -> Arc<Self> {
        Arc::new(Self { health, sources: Mutex::default() })
    }

    pub(super) fn of(self: &Arc<Self>, source: Source) -> Standing {
        self.health.missing(source.as_str(), NOT_LISTED);
        let mut sources = self.lock();
        let state = sources.entry(source).or_default();
        state.watches += 1;
        Standing { all: self.clone(), source, watch: state.watches }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Source, State>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NOT_LISTED: &str = "not listed yet";

impl Standing {
    /// The watch fails. Whether that is news.
    pub(super) fn lost(&self, trouble: Trouble) -> bool {
        self.change(|state| {
            let is_news = state.said.as_ref() != Some(&trouble);
            state.said = Some(trouble.clone());
            state.troubles.insert(self.watch, trouble);
            is_news
        })
    }

    /// The watch works. Whether that is news, and all of the source works again.
    pub(super) fn found(&self) -> bool {
        let mut sources = self.all.lock();
        // What works all the time has nothing to tell.
        let Some(state) = sources.get_mut(&self.source).filter(|state| state.troubles.contains_key(&self.watch)) else {
            return false;
        };
        state.troubles.remove(&self.watch);
        self.tell(state);
        state.troubles.is_empty() && state.said.take().is_some()
    }

    /// All watches of the source have listed.
    pub(super) fn listed(&self) {
        self.change(|state| state.listed = true);
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut sources = self.all.lock();
        let state = sources.entry(self.source).or_default();
        let result = change(state);
        self.tell(state);
        result
    }

    fn tell(&self, state: &State) {
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

/// Without Pods and our own objects of them nothing can be diagnosed; nor is anything written before Nodes are listed
/// once. What is refused is not waited for otherwise: the operator does without it.
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

    fn listed(standings: &Arc<Standings>, source: Source) -> Standing {
        let standing = standings.of(source);
        standing.listed();
        standing
    }

    #[test]
    fn what_is_lost_is_named_until_each_of_its_watches_is_back() {
        let health = Health::default();
        let standings = Standings::new(health.clone());
        let (one, two) = (listed(&standings, Source::Events), listed(&standings, Source::Events));
        assert!(health.lacks().is_empty());
        assert!(one.lost(trouble("forbidden")));
        assert!(!two.lost(trouble("forbidden")), "it is said once");
        assert!(!one.found());
        assert_eq!(health.lacks(), ["events: forbidden"]);
        assert!(two.found());
        assert!(health.lacks().is_empty());
        assert!(!two.found(), "it worked all the time");
    }

    #[test]
    fn the_operator_is_not_ready_without_pods_and_does_without_the_rest() {
        let health = Health::default();
        let standings = Standings::new(health.clone());
        let pods = listed(&standings, Source::Pods);
        let nodes = listed(&standings, Source::Nodes);
        nodes.lost(trouble("forbidden"));
        assert!(health.is_ready());
        pods.lost(trouble("transport"));
        assert!(!health.is_ready());
        pods.found();
        assert!(health.is_ready());
        assert_eq!(health.lacks(), ["nodes: forbidden"]);
    }

    #[test]
    fn at_the_start_what_is_refused_is_not_waited_for_and_what_cannot_be_reached_is() {
        let health = Health::default();
        let standings = Standings::new(health.clone());
        let services = standings.of(Source::Services);
        assert!(!health.is_ready());
        services.lost(trouble("transport"));
        assert!(!health.is_ready());
        services.lost(trouble("forbidden"));
        assert!(health.is_ready());
        let nodes = standings.of(Source::Nodes);
        nodes.lost(trouble("forbidden"));
        assert!(!health.is_ready(), "nothing is written without Nodes");
    }
}
