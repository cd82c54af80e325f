//! Unhealthy pods, with all their facts in compressed form.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::ledger;
use super::pods::{Place, Pod};
use crate::case::{Ledger, Observed, pod_status};
use crate::facts::{Condition, Container, PodFacts, State, Timestamp};
use crate::state::compressed::{Compressed, Compressor};

/// A pod with all its facts.
#[derive(Debug)]
pub(in crate::state) struct Full {
    pub(in crate::state) facts: PodFacts,
    pub(in crate::state) ledger: Ledger,
    pub(in crate::state) observed: Observed,
    /// Former values of kubectl's STATUS column, each with the time at which it ended.
    pub(in crate::state) status_before: Vec<(String, Timestamp)>,
    /// The workload reached its desired state without this Failed pod. The pod does not become a failure again when a
    /// sibling fails.
    pub(in crate::state) superseded: bool,
}

/// An unhealthy pod as stored.
#[derive(Debug)]
pub(in crate::state) struct UnhealthyPod {
    facts: Compressed<(PodFacts, Ledger)>,
    observed: Observed,
    status_before: Vec<(String, Timestamp)>,
    superseded: bool,
    situation: Situation,
    failure: u64,
    place: Place,
}

impl UnhealthyPod {
    pub(in crate::state) fn new(full: &Full, place: Place, compressor: &mut Compressor) -> Self {
        Self {
            facts: compress(full, compressor),
            observed: full.observed,
            status_before: full.status_before.clone(),
            superseded: full.superseded,
            situation: Situation::of(&full.facts),
            failure: failure_of(&full.facts),
            place,
        }
    }

    pub(in crate::state) fn decompress(&self) -> Option<Full> {
        let (facts, ledger) = self.facts.decompress()?;
        let facts = PodFacts { key: self.place.key(), ..facts };
        let (observed, status_before, superseded) = (self.observed, self.status_before.clone(), self.superseded);
        Some(Full { facts, ledger, observed, status_before, superseded })
    }

    /// Stores the changed facts or ledger of the pod.
    pub(in crate::state) fn keep(&mut self, full: &Full, compressor: &mut Compressor) {
        self.facts = compress(full, compressor);
    }

    pub(in crate::state) fn supersede(&mut self) {
        self.superseded = true;
    }

    pub(in crate::state) fn place(&self) -> &Place {
        &self.place
    }

    /// Equal for pods of which the API server shows the same failure.
    pub(in crate::state) fn failure(&self) -> u64 {
        self.failure
    }
}

/// Compresses the facts. Pods with the same phase and number of containers are similar enough to share a dictionary.
fn compress(full: &Full, compressor: &mut Compressor) -> Compressed<(PodFacts, Ledger)> {
    let group = format!("{:?} {}", full.facts.phase, full.facts.containers.len().min(4));
    compressor.compress(&group, &(&full.facts, &full.ledger))
}

impl Full {
    pub(in crate::state) fn new(
        facts: PodFacts,
        known: Option<&Pod>,
        past: Ledger,
        at_start: bool,
        now: Timestamp,
    ) -> Self {
        let before = match known {
            Some(Pod::UnhealthyPod(kept)) => kept.decompress().map(|old| (kept.situation, old)),
            _ => None,
        };
        let (mut ledger, observed, status_before, superseded) = if let Some((situation, old)) = before {
            let same = situation == Situation::of(&facts);
            let observed = Observed {
                first: old.observed.first,
                situation_since: if same { old.observed.situation_since } else { now },
                at_start: same && old.observed.at_start,
            };
            let mut values = old.status_before;
            remember_status(&mut values, &old.facts, &facts, now);
            (old.ledger, observed, values, old.superseded && facts.is_over())
        } else {
            // The times of a slim entry are unknown, so a change of it counts from now.
            let fresh = Observed { first: now, situation_since: now, at_start: at_start && known.is_none() };
            (past, fresh, Vec::new(), false)
        };
        ledger::record(&mut ledger, &facts);
        Self { facts, ledger, observed, status_before, superseded }
    }
}

/// Stores the former value of the STATUS column with the time at which it ended.
fn remember_status(values: &mut Vec<(String, Timestamp)>, old: &PodFacts, new: &PodFacts, now: Timestamp) {
    /// A crash loop has three: Running, terminated, and CrashLoopBackOff.
    const VALUES: usize = 4;
    let gone = pod_status(old);
    if gone == pod_status(new) {
        return;
    }
    values.retain(|(value, _)| *value != gone);
    if values.len() == VALUES {
        values.remove(0);
    }
    // Most pods have had one or two values, so the default capacity of four would waste most of the memory.
    values.reserve_exact(1);
    values.push((gone, now));
}

/// Hash of the state that thresholds depend on. A change restarts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Situation(u64);

impl Situation {
    fn of(facts: &PodFacts) -> Self {
        let mut hasher = DefaultHasher::new();
        facts.phase.hash(&mut hasher);
        facts.node_name.hash(&mut hasher);
        // A node is being preempted for the pod, or its volume is being provisioned there.
        facts.nominated_node.hash(&mut hasher);
        facts.condition("Ready").map(|c| (&c.status, &c.reason)).hash(&mut hasher);
        facts.condition("PodScheduled").map(|c| &c.reason).hash(&mut hasher);
        // The reason why a resize is pending.
        resize_trouble(facts).map(|c| &c.reason).hash(&mut hasher);
        facts.containers.iter().for_each(|container| situation_of(container).hash(&mut hasher));
        Self(hasher.finish())
    }
}

/// Hash of what is known about a failure before it is diagnosed: kubectl's STATUS, and how the containers ended.
fn failure_of(facts: &PodFacts) -> u64 {
    let mut hasher = DefaultHasher::new();
    pod_status(facts).hash(&mut hasher);
    let ends = facts.containers.iter().filter_map(Container::last_end).filter(|end| end.exit_code != 0);
    ends.for_each(|end| (&end.reason, end.exit_code).hash(&mut hasher));
    hasher.finish()
}

/// The condition that reports a pending or failed in-place resize of the pod.
pub(in crate::state) fn resize_trouble(facts: &PodFacts) -> Option<&Condition> {
    let is_trouble = |c: &&Condition| match c.kind.as_str() {
        "PodResizePending" => c.status == "True",
        "PodResizeInProgress" => c.status == "True" && c.reason == "Error",
        _ => false,
    };
    facts.conditions.iter().find(is_trouble)
}

fn situation_of(container: &Container) -> (u8, &str, bool, u32) {
    let (kind, reason) = match &container.state {
        // The pull error and its back-off alternate and count as one situation.
        State::Waiting { reason, .. } if reason == "ErrImagePull" => (0, "ImagePullBackOff"),
        // Kubernetes 1.35 reports the terminated state for most of the back-off, and CrashLoopBackOff only at times.
        State::Waiting { reason, .. } if reason == "CrashLoopBackOff" => {
            (2, container.last.as_ref().map_or("", |end| &end.reason))
        }
        State::Waiting { reason, .. } => (0, reason.as_str()),
        State::Running { .. } => (1, ""),
        State::Terminated(end) => (2, end.reason.as_str()),
    };
    (kind, reason, container.ready, container.restart_count)
}
