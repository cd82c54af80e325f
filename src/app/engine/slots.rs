//! Limits on concurrent writes and lookups.

use std::time::Duration;

use shindan_core::outbox::Lane;
use tokio::time::Instant;

/// Writes and lookups in progress. While new failures arrive, writes and lookups of known failures run one at a time,
/// so that the API server has capacity for the next new failure.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    new: usize,
    known: usize,
    lookups: usize,
    newest: Option<Instant>,
}

/// Maximum number of concurrent lookups.
const LOOKUPS: usize = 4;
/// How long after a new failure the next one is expected.
const NEW_FAILURE_WINDOW: Duration = Duration::from_secs(2);

impl Slots {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, new: 0, known: 0, lookups: 0, newest: None }
    }

    /// Number of writes in progress.
    pub(super) const fn writing(&self) -> usize {
        self.new + self.known
    }

    /// The lowest-priority lane that may start a write now. `None`: no slot is free.
    pub(super) fn open(&self, now: Instant) -> Option<Lane> {
        if self.writing() >= self.most {
            return None;
        }
        let for_known = if self.is_quiet(now) { self.most } else { 1 };
        Some(if self.known < for_known { Lane::Resync } else { Lane::NewFailure })
    }

    pub(super) fn take(&mut self, lane: Lane, now: Instant) {
        if lane == Lane::NewFailure {
            self.newest = Some(now);
        }
        *self.of(lane) += 1;
    }

    pub(super) fn release(&mut self, lane: Lane) {
        *self.of(lane) -= 1;
    }

    /// Whether a lookup may start now.
    pub(super) fn may_look_up(&self, now: Instant) -> bool {
        self.lookups < if self.is_quiet(now) { LOOKUPS } else { 1 }
    }

    pub(super) fn take_lookup(&mut self) {
        self.lookups += 1;
    }

    pub(super) fn release_lookup(&mut self) {
        self.lookups -= 1;
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.newest.is_none_or(|newest| now.saturating_duration_since(newest) >= NEW_FAILURE_WINDOW)
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
    fn new_failures_limit_other_writes_to_one() {
        let (mut slots, now) = (Slots::new(4), Instant::now());
        slots.take(Lane::Change, now);
        slots.take(Lane::Resync, now);
        assert_eq!(slots.open(now), Some(Lane::Resync), "in quiet times all slots are theirs");
        slots.take(Lane::NewFailure, now);
        assert_eq!(slots.open(now), Some(Lane::NewFailure));
        slots.release(Lane::Change);
        slots.release(Lane::Resync);
        assert_eq!(slots.open(now), Some(Lane::Resync), "nothing waits for ever");
        slots.take(Lane::Resync, now);
        assert_eq!(slots.open(now), Some(Lane::NewFailure));
        assert_eq!(slots.open(now + NEW_FAILURE_WINDOW), Some(Lane::Resync));
    }

    #[test]
    fn new_failures_limit_lookups_to_one() {
        let (mut slots, now) = (Slots::new(4), Instant::now());
        slots.take_lookup();
        assert!(slots.may_look_up(now));
        slots.take(Lane::NewFailure, now);
        assert!(!slots.may_look_up(now));
        assert!(slots.may_look_up(now + NEW_FAILURE_WINDOW));
        slots.release_lookup();
        assert!(slots.may_look_up(now));
    }

    #[test]
    fn a_single_slot_serves_all_lanes() {
        let (mut slots, now) = (Slots::new(1), Instant::now());
        assert_eq!(slots.open(now), Some(Lane::Resync));
        slots.take(Lane::Resync, now);
        assert_eq!(slots.open(now), None);
    }
}
