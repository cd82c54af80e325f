//! How much is under way at once.

use std::time::Duration;

use tokio::time::Instant;

use crate::outbox::Lane;

/// Writes and lookups under way. While pods fail that were well, what is known to fail is written and looked up one by one:
/// else the next new failure would wait for an API server that is busy with what follows from those before it.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    new: usize,
    known: usize,
    lookups: usize,
    newest: Option<Instant>,
}

/// Lookups under way at a time.
const LOOKUPS: usize = 4;
/// For so long after a new failure the next one is expected.
const CALM: Duration = Duration::from_secs(2);

impl Slots {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, new: 0, known: 0, lookups: 0, newest: None }
    }

    /// Writes under way.
    pub(super) const fn writing(&self) -> usize {
        self.new + self.known
    }

    /// The last lane that is served now; `None`: no slot is free.
    pub(super) fn open(&self, now: Instant) -> Option<Lane> {
        if self.writing() >= self.most {
            return None;
        }
        let for_known = if self.is_calm(now) { self.most } else { 1 };
        Some(if self.known < for_known { Lane::Resync } else { Lane::NewFailure })
    }

    pub(super) fn take(&mut self, lane: Lane, now: Instant) {
        if lane == Lane::NewFailure {
            self.newest = Some(now);
        }
        *self.of(lane) += 1;
    }

    pub(super) fn give_back(&mut self, lane: Lane) {
        *self.of(lane) -= 1;
    }

    /// Whether something may be looked up now.
    pub(super) fn may_look(&self, now: Instant) -> bool {
        self.lookups < if self.is_calm(now) { LOOKUPS } else { 1 }
    }

    pub(super) fn looks(&mut self) {
        self.lookups += 1;
    }

    pub(super) fn looked(&mut self) {
        self.lookups -= 1;
    }

    fn is_calm(&self, now: Instant) -> bool {
        self.newest.is_none_or(|newest| now.saturating_duration_since(newest) >= CALM)
    }

    fn of(&mut self, lane: Lane) -> &mut usize {
        match lane {
            Lane::NewFailure => &mut self.new,
            Lane::Change | Lane::Resync => &mut self.known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_pods_begin_to_fail_all_else_goes_one_by_one() {
        let (mut slots, now) = (Slots::new(4), Instant::now());
        slots.take(Lane::Change, now);
        slots.take(Lane::Resync, now);
        assert_eq!(slots.open(now), Some(Lane::Resync), "in quiet times all slots are theirs");
        slots.take(Lane::NewFailure, now);
        assert_eq!(slots.open(now), Some(Lane::NewFailure));
        slots.give_back(Lane::Change);
        slots.give_back(Lane::Resync);
        assert_eq!(slots.open(now), Some(Lane::Resync), "nothing waits for ever");
        slots.take(Lane::Resync, now);
        assert_eq!(slots.open(now), Some(Lane::NewFailure));
        assert_eq!(slots.open(now + CALM), Some(Lane::Resync));
    }

    #[test]
    fn while_pods_begin_to_fail_lookups_go_one_by_one() {
        let (mut slots, now) = (Slots::new(4), Instant::now());
        slots.looks();
        assert!(slots.may_look(now));
        slots.take(Lane::NewFailure, now);
        assert!(!slots.may_look(now));
        assert!(slots.may_look(now + CALM));
        slots.looked();
        assert!(slots.may_look(now));
    }

    #[test]
    fn a_single_slot_serves_all() {
        let (mut slots, now) = (Slots::new(1), Instant::now());
        assert_eq!(slots.open(now), Some(Lane::Resync));
        slots.take(Lane::Resync, now);
        assert_eq!(slots.open(now), None);
    }
}
