//! A case: everything that a rule may look at, gathered for one pod at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Language;
use super::language::phrase;
use crate::facts::{
    Container, EventFacts, NodeState, PodFacts, Surroundings, Terminated, Timestamp, after, seconds_between,
};

/// One pod and what is known around it, at `now`.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub pod: &'a PodFacts,
    /// The node that the pod is bound to, where it is known.
    pub node: Option<&'a NodeState>,
    /// All nodes by name. Empty where none is known (a dump without nodes): conclude nothing from that.
    pub nodes: &'a BTreeMap<Arc<str>, NodeState>,
    /// Events regarding this pod (this UID), oldest first.
    pub events: &'a [EventFacts],
    pub ledger: &'a Ledger,
    pub surroundings: &'a Surroundings,
    pub thresholds: &'a Thresholds,
    pub observed: Observed,
    /// What kubectl printed under STATUS before the present word, each until when; the newest few.
    pub status_before: &'a [(String, Timestamp)],
    pub now: Timestamp,
}

impl<'a> Case<'a> {
    pub fn language(&self) -> Language {
        self.thresholds.language
    }

    /// The name of the pod's node, for a sentence; where the pod has none that is known, words for it.
    pub fn its_node(&self) -> &'a str {
        self.pod.node_name.as_deref().unwrap_or(phrase!(self, "its node"))
    }

    /// Events of the pod with this reason, oldest first.
    pub fn events_with(&self, reason: &'a str) -> impl DoubleEndedIterator<Item = &'a EventFacts> + use<'a> {
        self.events.iter().filter(move |e| &*e.reason == reason)
    }

    /// Events with this reason about this container, oldest first. An Event without a field path is about any.
    pub fn container_events(
        &self,
        container: &Container,
        reason: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a EventFacts> + use<'a> {
        let name = container.name.clone();
        self.events_with(reason).filter(move |e| e.regarding.container.as_ref().is_none_or(|c| *c == name))
    }

    /// Since when the present situation holds. Thresholds run from our own first observation of it, so that a clock that
    /// differs from ours cannot make a pod overdue; for what was there at our start, the object's own time stands.
    pub fn held_since(&self, objects_time: Option<Timestamp>) -> Timestamp {
        match objects_time {
            Some(time) if self.observed.at_start => time.min(self.now),
            _ => self.observed.situation_since,
        }
    }

    /// Seconds until a container that was never ready is a failure of this cause, beyond what its probes allow. What its owner
    /// asks for is nearer to it than what holds for a cause everywhere; and where nobody has chosen, there is no waiting for what
    /// its own Deployment waits for no more.
    pub fn never_ready(&self, cause: &str) -> i64 {
        let usual = if self.surroundings.is_given_up { 0 } else { self.thresholds.never_ready };
        self.surroundings.wishes.never_ready.unwrap_or_else(|| self.thresholds.of(cause, usual))
    }

    /// Seconds that anything before a container's start, or its start itself, may take until it is a failure of this cause:
    /// `usual`, and no more than a moment where its own Deployment waits no more and nobody has asked for patience.
    pub fn patience(&self, cause: &str, usual: i64) -> i64 {
        let is_given_up = self.surroundings.is_given_up && self.surroundings.wishes.never_ready.is_none();
        let usual = match (is_given_up, self.thresholds.patient) {
            (false, _) => usual,
            // Its next pod is new, and takes the time that any pod takes.
            (true, true) => usual.min(A_MOMENT),
            (true, false) => 0,
        };
        self.thresholds.of(cause, usual)
    }

    /// Seconds since `time`, never negative.
    pub fn age(&self, time: Timestamp) -> i64 {
        seconds_between(time, self.now)
    }

    /// Whether a conclusion from a *missing* Event may be drawn about something first observed at `since`: status and
    /// Events race, so they get 5 s. `Err` is the moment to ask again.
    pub fn events_settled(&self) -> Result<(), Timestamp> {
        self.settled_after(self.thresholds.event_grace)
    }

    /// The same where what is seen looks as if that Event were on its way: the kubelet sends its Events one by one, and a
    /// busy one is behind with them.
    pub fn expected_events_settled(&self) -> Result<(), Timestamp> {
        self.settled_after(3 * self.thresholds.event_grace)
    }

    fn settled_after(&self, grace: i64) -> Result<(), Timestamp> {
        let at = after(self.observed.situation_since, grace);
        if self.now >= at || self.observed.at_start { Ok(()) } else { Err(at) }
    }
}

/// In which a new pod can come up, in seconds.
const A_MOMENT: i64 = 60;

/// When we saw what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Our first sight of the pod.
    pub first: Timestamp,
    /// Our first sight of its present phase, container states and readiness.
    pub situation_since: Timestamp,
    /// The present situation was already there when we listed the pod at start (or it comes from a dump).
    pub at_start: bool,
}

/// The runs of a pod's containers that have ended, oldest first, at most ten a container.
///
/// It outlives the kubelet's own memory (one `lastState`) and the operator (it is read back from the PodDiagnosis).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    pub runs: Vec<PastRun>,
    /// How many runs of a container ended while nobody looked, as its restart count tells.
    pub unseen: BTreeMap<Arc<str>, u32>,
}

/// A run that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastRun {
    pub container: Arc<str>,
    /// Which run of its container it was, 1 the first. `None` for a run of an earlier pod of the same name.
    pub number: Option<u32>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub exit_code: i32,
    pub signal: Option<i32>,
    pub reason: Arc<str>,
    pub cause: Option<Arc<str>>,
    /// An Event proved the cause.
    pub proven: bool,
}

impl PastRun {
    pub fn ran_for(&self) -> Option<i64> {
        Some(seconds_between(self.started_at?, self.finished_at?))
    }
}

impl Ledger {
    pub const RUNS_PER_CONTAINER: usize = 10;

    pub fn of<'a>(&'a self, container: &'a str) -> impl DoubleEndedIterator<Item = &'a PastRun> {
        self.runs.iter().filter(move |r| &*r.container == container)
    }

    /// The cause that an Event proved for an earlier run of this container with the same exit code and a similar length
    /// (half to double, or 5 s apart at most). The sender's rate limit swallows Events, so later runs inherit it.
    pub fn proven_cause<'a>(&'a self, container: &'a str, end: &Terminated) -> Option<&'a str> {
        let similar = |run: &PastRun| match (run.ran_for(), end.ran_for()) {
            (Some(a), Some(b)) => (a - b).abs() <= 5 || (a <= 2 * b && b <= 2 * a),
            _ => true,
        };
        self.of(container)
            .rev()
            .find(|run| run.proven && run.exit_code == end.exit_code && similar(run))
            .and_then(|run| run.cause.as_deref())
    }
}

/// What whoever runs it has chosen: how long is too long, in seconds, and which language is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Pending without a node.
    pub unschedulable: i64,
    /// The same while the cluster autoscaler says that it adds a node.
    pub unschedulable_scaling_up: i64,
    /// Running, never ready, past the start-up budget of its probes.
    pub never_ready: i64,
    /// Was ready, is not any more.
    pub readiness_lost: i64,
    /// Containers being created.
    pub creating: i64,
    /// The same while an image is being pulled.
    pub creating_pulling: i64,
    /// Init containers at work.
    pub init: i64,
    /// Ready again after a cause that kept the pod from starting.
    pub recovered_never_started: i64,
    /// Ready since the last start, after a cause that restarts containers.
    pub recovered_restarting: i64,
    /// An error that may pass by itself counts after its row's patience. False: at once, as in a snapshot that will never
    /// tell more.
    pub patient: bool,
    /// What an Event may lag behind the status that it explains.
    pub event_grace: i64,
    /// A node is flapping: this many Ready transitions ...
    pub flapping_transitions: usize,
    /// ... within this time, until it is stable for `flapping_stable`.
    pub flapping_window: i64,
    pub flapping_stable: i64,
    pub language: Language,
    /// Those of single causes, in place of what holds for all of their kind. They are few and chosen once, for as long as the
    /// program runs.
    pub chosen: &'static [(&'static str, i64)],
}

impl Thresholds {
    /// What was chosen for this cause alone.
    pub fn chosen(&self, cause: &str) -> Option<i64> {
        self.chosen.iter().find_map(|(of, seconds)| (*of == cause).then_some(*seconds))
    }

    /// What counts for this cause, where `usual` does for all of its kind.
    pub fn of(&self, cause: &str, usual: i64) -> i64 {
        self.chosen(cause).unwrap_or(usual)
    }

    /// For a dump that is judged as of its newest time: that is the earliest moment at which it can have been taken, so
    /// what the scheduler or a registry has refused by then counts as refused. What only takes its time keeps its time,
    /// and so does a threshold that somebody chose.
    #[must_use]
    pub fn for_snapshot(self) -> Self {
        let chosen = self.unschedulable != Self::default().unschedulable;
        Self { unschedulable: if chosen { self.unschedulable } else { 0 }, patient: false, ..self }
    }

    /// The same for one who speaks this language.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        Self { language, ..self }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            unschedulable: 60,
            unschedulable_scaling_up: 600,
            never_ready: 300,
            readiness_lost: 120,
            creating: 120,
            creating_pulling: 600,
            init: 600,
            recovered_never_started: 30,
            recovered_restarting: 600,
            patient: true,
            event_grace: 5,
            flapping_transitions: 3,
            flapping_window: 3600,
            flapping_stable: 1800,
            language: Language::English,
            chosen: &[],
        }
    }
}
