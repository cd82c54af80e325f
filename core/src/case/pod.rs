//! Input of the rules: the facts about one pod at one point in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Catalogue, DecisiveLines, Line};
use crate::facts::{
    Container, EventFacts, NodeState, PodFacts, Surroundings, Terminated, Timestamp, after, seconds_between,
};
use crate::language::{HasLanguage, Language, phrase};

/// One pod and the facts about its surroundings at `now`.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub pod: &'a PodFacts,
    /// The node that the pod is bound to, if known.
    pub node: Option<&'a NodeState>,
    /// All nodes, by name. If the map is empty (a dump without nodes), the nodes are unknown; draw no conclusions from
    /// it.
    pub nodes: &'a BTreeMap<Arc<str>, Box<NodeState>>,
    /// Events about this pod (by UID), oldest first.
    pub events: &'a [EventFacts],
    pub ledger: &'a Ledger,
    pub surroundings: &'a Surroundings,
    pub(crate) catalogue: &'a dyn Catalogue,
    pub thresholds: &'a Thresholds,
    pub observed: Observed,
    /// Previous values of kubectl's STATUS column, each with the time it ended. Only the newest few.
    pub status_before: &'a [(String, Timestamp)],
    pub now: Timestamp,
    /// What one diagnosis has read of logs. Without it, each signal reads them again.
    pub(crate) lines: Option<&'a DecisiveLines>,
}

impl<'a> Case<'a> {
    /// The decisive line of a run of this pod, chosen by `choose` when it is first needed.
    pub(crate) fn line_of(&self, run: &'a Terminated, choose: impl FnOnce() -> Option<Line>) -> Option<Line> {
        match self.lines {
            Some(lines) => lines.of(run, choose),
            None => choose(),
        }
    }

    pub fn language(&self) -> Language {
        self.thresholds.language
    }

    /// The name of the pod's node for use in a sentence, or a generic phrase if the node is unknown.
    pub fn its_node(&self) -> &'a str {
        self.pod.node_name.as_deref().unwrap_or(phrase!(self, "its node", "ノード"))
    }

    /// Events of the pod with this reason, oldest first.
    pub fn events_with(&self, reason: &'a str) -> impl DoubleEndedIterator<Item = &'a EventFacts> + use<'a> {
        self.events.iter().filter(move |e| &*e.reason == reason)
    }

    /// Events with this reason about this container, oldest first. Events without a field path count for every
    /// container.
    pub fn container_events(
        &self,
        container: &Container,
        reason: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a EventFacts> + use<'a> {
        let name = container.name.clone();
        self.events_with(reason).filter(move |e| e.regarding.container.as_ref().is_none_or(|c| *c == name))
    }

    /// Start of the current situation. It is the time of our first observation, so that clock skew cannot make a pod
    /// overdue. If the situation existed when the operator started, it is the time in the object.
    pub fn held_since(&self, objects_time: Option<Timestamp>) -> Timestamp {
        match objects_time {
            Some(time) if self.observed.at_start => time.min(self.now),
            _ => self.observed.situation_since,
        }
    }

    /// Grace period in seconds for a container that was never ready, in addition to the time its probes allow. An
    /// annotation of the owner takes precedence over the threshold of the cause. Without either, the period is not
    /// longer than the progress deadline of the Deployment.
    pub fn never_ready(&self, cause: &str) -> i64 {
        let usual = if self.surroundings.is_given_up { 0 } else { self.thresholds.never_ready };
        self.surroundings.overrides.never_ready.unwrap_or_else(|| self.thresholds.of(cause, usual))
    }

    /// Grace period in seconds for the steps before a container's start and the start itself. It is `usual`, but at
    /// most one minute if the progress deadline of the Deployment is exceeded and no threshold is set for this cause.
    pub fn grace(&self, cause: &str, usual: i64) -> i64 {
        let is_given_up = self.surroundings.is_given_up && self.surroundings.overrides.never_ready.is_none();
        let usual = match (is_given_up, self.thresholds.patient) {
            (false, _) => usual,
            // The next pod is new and takes as long to start as any other.
            (true, true) => usual.min(POD_START_TIME),
            (true, false) => 0,
        };
        self.thresholds.of(cause, usual)
    }

    /// Seconds since `time`, never negative.
    pub fn age(&self, time: Timestamp) -> i64 {
        seconds_between(time, self.now)
    }

    /// Returns `Ok` if a *missing* Event is conclusive for something first observed at `since`. Status and Events race,
    /// so Events get a grace period of 5 s. `Err` holds the time to check again.
    pub fn events_settled(&self) -> Result<(), Timestamp> {
        self.events_settled_after(self.thresholds.event_grace)
    }

    /// Same as [`Self::events_settled`], with a longer grace period for an Event that is expected soon. The kubelet
    /// sends Events one by one, so a busy kubelet sends them late.
    pub fn expected_events_settled(&self) -> Result<(), Timestamp> {
        self.events_settled_after(3 * self.thresholds.event_grace)
    }

    fn events_settled_after(&self, grace: i64) -> Result<(), Timestamp> {
        let at = after(self.observed.situation_since, grace);
        if self.now >= at || self.observed.at_start { Ok(()) } else { Err(at) }
    }
}

/// Time in seconds in which a new pod can start.
const POD_START_TIME: i64 = 60;

/// Times of our own observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// First observation of the pod.
    pub first: Timestamp,
    /// First observation of its current phase, container states and readiness.
    pub situation_since: Timestamp,
    /// The situation existed before the first list at start, or comes from a dump.
    pub at_start: bool,
}

/// Terminated runs of the containers of a pod, oldest first, at most ten for each container.
///
/// It keeps more than the kubelet (one `lastState`) and survives a restart of the operator, which restores it from the
/// PodDiagnosis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    pub runs: Vec<PastRun>,
    /// Number of runs of each container that terminated unobserved, computed from its restart count.
    pub unseen: BTreeMap<Arc<str>, u32>,
}

/// A terminated run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastRun {
    pub container: Arc<str>,
    /// Number of the run of its container, starting at 1. `None` for a run of an earlier pod with the same name.
    pub number: Option<u32>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub exit_code: i32,
    pub signal: Option<i32>,
    pub reason: Arc<str>,
    pub cause: Option<Arc<str>>,
    /// An Event confirms the cause.
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

    /// The cause that an Event confirmed for an earlier run of this container with the same exit code and a similar
    /// duration (half to double, or at most 5 s apart). The rate limit of the sender drops Events, so later runs
    /// inherit the cause.
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

/// Settings of the operator or the CLI: thresholds in seconds, and the language of the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// For pods that are Pending without a node.
    pub unschedulable: i64,
    /// Same as `unschedulable`, while the cluster autoscaler reports that it adds a node.
    pub unschedulable_scaling_up: i64,
    /// For pods that are Running and were never ready, after the start-up time that the probes allow.
    pub never_ready: i64,
    /// For pods that were ready before.
    pub readiness_lost: i64,
    /// For containers that are being created.
    pub creating: i64,
    /// Same as `creating`, while an image is being pulled.
    pub creating_pulling: i64,
    /// For init containers that are running.
    pub init: i64,
    /// Time a pod must stay Ready to count as recovered from a cause that kept it from starting.
    pub recovered_never_started: i64,
    /// Time a pod must stay Ready since its last start to count as recovered from a cause that restarts containers.
    pub recovered_restarting: i64,
    /// Whether errors that may be transient count only after the threshold of their cause. False for a snapshot, in
    /// which nothing can change: they count at once.
    pub patient: bool,
    /// Maximum delay of an Event after the status that it explains.
    pub event_grace: i64,
    /// Number of Ready transitions within `flapping_window` that make a node flapping.
    pub flapping_transitions: usize,
    /// Window in which the transitions count. A node is flapping until it is stable for `flapping_stable`.
    pub flapping_window: i64,
    pub flapping_stable: i64,
    pub language: Language,
    /// Thresholds of single causes that the user has set, which override the general ones.
    pub chosen: &'static [(&'static str, i64)],
    /// Thresholds of the causes of rules.
    pub of_rules: &'static [(&'static str, i64)],
}

impl Thresholds {
    /// The threshold that is set for this cause, by the user or by its rule. In a snapshot, the threshold of a rule does not
    /// count as set: an error counts at once there, as with the causes of Shindan.
    pub fn chosen(&self, cause: &str) -> Option<i64> {
        let by_rule = || self.patient.then(|| seconds_of(self.of_rules, cause)).flatten();
        seconds_of(self.chosen, cause).or_else(by_rule)
    }

    /// The threshold for this cause: the one that is set for it, or else `usual`. That of a rule does not apply in a snapshot to
    /// what counts at once there.
    pub fn of(&self, cause: &str, usual: i64) -> i64 {
        let by_rule = || seconds_of(self.of_rules, cause).filter(|_| self.patient || usual > 0);
        seconds_of(self.chosen, cause).or_else(by_rule).unwrap_or(usual)
    }

    /// Whether this cause counts although the data may not show its threshold: in a snapshot, unless the user set one.
    pub fn counts_at_once(&self, cause: &str) -> bool {
        !self.patient && self.chosen(cause).is_none()
    }

    /// Thresholds for a dump, which is judged at the newest time in it. A dump cannot be older than that, so a refusal
    /// of the scheduler or a registry counts at once. Thresholds for slow progress and thresholds set by the user stay.
    #[must_use]
    pub fn for_snapshot(self) -> Self {
        let chosen = self.unschedulable != Self::default().unschedulable;
        Self { unschedulable: if chosen { self.unschedulable } else { 0 }, patient: false, ..self }
    }

    /// Thresholds of no duration, so that each failure counts at once.
    #[must_use]
    pub fn awaiting_nothing(self) -> Self {
        Self {
            unschedulable: 0,
            unschedulable_scaling_up: 0,
            never_ready: 0,
            readiness_lost: 0,
            creating: 0,
            creating_pulling: 0,
            init: 0,
            patient: false,
            event_grace: 0,
            ..self
        }
    }

    /// Same settings with another language.
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
            of_rules: &[],
        }
    }
}

fn seconds_of(thresholds: &[(&str, i64)], cause: &str) -> Option<i64> {
    thresholds.iter().find_map(|(of, seconds)| (*of == cause).then_some(*seconds))
}

impl HasLanguage for Thresholds {
    fn language(&self) -> Language {
        self.language
    }
}

impl HasLanguage for Case<'_> {
    fn language(&self) -> Language {
        Case::language(self)
    }
}
