//! One lane of the queue: kinds of failure take turns, and so do the workloads that fail in the same way. When a
//! thousand workloads fail at once, one that fails for another reason is next, and each workload has its first
//! diagnosis before another one has its second.

use std::collections::{BTreeMap, HashMap};

use super::Subject;

/// What a subject waits with. Subjects of one stream are served in the order of their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Stream {
    /// A hash of how the subject fails, as far as that is known before its diagnosis.
    pub failure: u64,
    /// A hash of the workload that it belongs to.
    pub workload: u64,
}

/// Where a subject waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    failure: u64,
    round: u32,
    arrival: u64,
}

/// Subjects that fail in the same way, by round and arrival. In each round a workload has one turn.
#[derive(Debug, Default)]
struct Kind {
    waiting: BTreeMap<(u32, u64), Subject>,
    /// The round that is served. A workload that arrives now has its first turn in it, not in rounds that are over.
    round: u32,
    /// The last round in which each workload has a turn.
    booked: HashMap<u64, u32>,
}

#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By failure; none of them is empty.
    kinds: BTreeMap<u64, Kind>,
    /// The failure that was served last.
    last: u64,
    waiting: usize,
}

impl Turns {
    pub(super) fn insert(&mut self, stream: Stream, arrival: u64, subject: Subject) -> Place {
        let kind = self.kinds.entry(stream.failure).or_default();
        let round = kind.booked.get(&stream.workload).map_or(kind.round, |booked| kind.round.max(booked + 1));
        kind.booked.insert(stream.workload, round);
        kind.waiting.insert((round, arrival), subject);
        self.waiting += 1;
        Place { failure: stream.failure, round, arrival }
    }

    pub(super) fn remove(&mut self, place: Place) {
        let Some(kind) = self.kinds.get_mut(&place.failure) else { return };
        self.waiting -= usize::from(kind.waiting.remove(&(place.round, place.arrival)).is_some());
        if kind.waiting.is_empty() {
            self.kinds.remove(&place.failure);
        }
    }

    pub(super) fn pop_first(&mut self) -> Option<Subject> {
        let after = self.kinds.range(self.last.saturating_add(1)..).next();
        let failure = *after.or_else(|| self.kinds.first_key_value())?.0;
        self.last = failure;
        let kind = self.kinds.get_mut(&failure)?;
        let ((round, _), subject) = kind.waiting.pop_first()?;
        kind.round = round;
        self.waiting -= 1;
        if kind.waiting.is_empty() {
            self.kinds.remove(&failure);
        }
        Some(subject)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}
