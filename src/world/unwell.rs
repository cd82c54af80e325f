//! A pod that is not well: all its facts, packed while nobody looks at them.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::ledger;
use super::packed::{Packed, Packer};
use super::pods::{Place, Pod};
use crate::diagnosis::{Ledger, Observed, pod_status};
use crate::facts::{Condition, Container, PodFacts, State, Timestamp};

/// A pod with all its facts.
#[derive(Debug)]
pub(super) struct Full {
    pub(super) facts: PodFacts,
    pub(super) ledger: Ledger,
    pub(super) observed: Observed,
    /// What kubectl printed under STATUS before, each until when.
    pub(super) status_before: Vec<(String, Timestamp)>,
    /// It was seen that its workload has what it wants without it: what has failed for good is no failure again when
    /// the workload has another one.
    pub(super) superseded: bool,
}

/// The same as it is kept.
#[derive(Debug)]
pub(super) struct Unwell {
    facts: Packed<(PodFacts, Ledger)>,
    observed: Observed,
    status_before: Vec<(String, Timestamp)>,
    superseded: bool,
    situation: Situation,
    place: Place,
}

impl Unwell {
    pub(super) fn new(full: &Full, place: Place, packer: &mut Packer) -> Self {
        Self {
            facts: pack(full, packer),
            observed: full.observed,
            status_before: full.status_before.clone(),
            superseded: full.superseded,
            situation: Situation::of(&full.facts),
            place,
        }
    }

    pub(super) fn open(&self) -> Option<Full> {
        let (facts, ledger) = self.facts.open()?;
        let facts = PodFacts { key: self.place.key(), ..facts };
        let (observed, status_before, superseded) = (self.observed, self.status_before.clone(), self.superseded);
        Some(Full { facts, ledger, observed, status_before, superseded })
    }

    /// Keeps what was learnt of its runs.
    pub(super) fn keep(&mut self, full: &Full, packer: &mut Packer) {
        self.facts = pack(full, packer);
    }

    pub(super) fn supersede(&mut self) {
        self.superseded = true;
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }
}

/// Pods are alike in how many containers they have and where they stand, more than in anything else that is so few.
fn pack(full: &Full, packer: &mut Packer) -> Packed<(PodFacts, Ledger)> {
    let group = format!("{:?} {}", full.facts.phase, full.facts.containers.len().min(4));
    packer.pack(&group, &(&full.facts, &full.ledger))
}

impl Full {
    pub(super) fn new(facts: PodFacts, known: Option<&Pod>, past: Ledger, at_start: bool, now: Timestamp) -> Self {
        let before = match known {
            Some(Pod::Unwell(kept)) => kept.open().map(|old| (kept.situation, old)),
            _ => None,
        };
        let (mut ledger, observed, status_before, superseded) = if let Some((situation, old)) = before {
            let same = situation == Situation::of(&facts);
            let observed = Observed {
                first: old.observed.first,
                situation_since: if same { old.observed.situation_since } else { now },
                at_start: same && old.observed.at_start,
            };
            let mut words = old.status_before;
            remember_status(&mut words, &old.facts, &facts, now);
            (old.ledger, observed, words, old.superseded && facts.is_over())
        } else {
            // A slim pod was seen before, but its times were not kept: what changes it, changes now.
            let fresh = Observed { first: now, situation_since: now, at_start: at_start && known.is_none() };
            (past, fresh, Vec::new(), false)
        };
        ledger::record(&mut ledger, &facts);
        Self { facts, ledger, observed, status_before, superseded }
    }
}

/// Keeps the word under STATUS that has just gone, with the time until which it stood.
fn remember_status(words: &mut Vec<(String, Timestamp)>, old: &PodFacts, new: &PodFacts, now: Timestamp) {
    /// A loop has three: it runs, has ended, backs off.
    const WORDS: usize = 4;
    let gone = pod_status(old);
    if gone == pod_status(new) {
        return;
    }
    words.retain(|(word, _)| *word != gone);
    if words.len() == WORDS {
        words.remove(0);
    }
    words.push((gone, now));
}

/// What a threshold runs on, as a hash: a new situation starts it anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Situation(u64);

impl Situation {
    fn of(facts: &PodFacts) -> Self {
        let mut hasher = DefaultHasher::new();
        facts.phase.hash(&mut hasher);
        facts.node_name.hash(&mut hasher);
        // A node is being cleared for the pod, or its volume made there.
        facts.nominated_node.hash(&mut hasher);
        facts.condition("Ready").map(|c| (&c.status, &c.reason)).hash(&mut hasher);
        facts.condition("PodScheduled").map(|c| &c.reason).hash(&mut hasher);
        // Why a change of its resources is not made.
        resize_trouble(facts).map(|c| &c.reason).hash(&mut hasher);
        facts.containers.iter().for_each(|container| situation_of(container).hash(&mut hasher));
        Self(hasher.finish())
    }
}

/// What keeps the resources of a running pod from being changed as somebody asked.
pub(super) fn resize_trouble(facts: &PodFacts) -> Option<&Condition> {
    let is_trouble = |c: &&Condition| match c.kind.as_str() {
        "PodResizePending" => c.status == "True",
        "PodResizeInProgress" => c.status == "True" && c.reason == "Error",
        _ => false,
    };
    facts.conditions.iter().find(is_trouble)
}

fn situation_of(container: &Container) -> (u8, &str, bool, u32) {
    let (kind, reason) = match &container.state {
        // The pull error and its back-off take turns: one situation.
        State::Waiting { reason, .. } if reason == "ErrImagePull" => (0, "ImagePullBackOff"),
        // Kubernetes 1.35 shows the run that ended for most of the back-off, and the back-off now and then.
        State::Waiting { reason, .. } if reason == "CrashLoopBackOff" => {
            (2, container.last.as_ref().map_or("", |end| &end.reason))
        }
        State::Waiting { reason, .. } => (0, reason.as_str()),
        State::Running { .. } => (1, ""),
        State::Terminated(end) => (2, end.reason.as_str()),
    };
    (kind, reason, container.ready, container.restart_count)
}
