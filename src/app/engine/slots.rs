//! How much is written at once.

use crate::outbox::Lane;

/// Writes under way. A few at most are of what is known to fail already: with more, a new failure would wait for an API
/// server that is busy with them.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    new: usize,
    known: usize,
}

/// One in so many slots is for what is known.
const SHARE: usize = 4;

impl Slots {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, new: 0, known: 0 }
    }

    pub(super) const fn taken(&self) -> usize {
        self.new + self.known
    }

    /// The last lane that is served now; `None`: no slot is free.
    pub(super) fn open(&self) -> Option<Lane> {
        if self.taken() >= self.most {
            return None;
        }
        let is_open = self.known < self.most.div_ceil(SHARE);
        Some(if is_open { Lane::Resync } else { Lane::NewFailure })
    }

    pub(super) fn take(&mut self, lane: Lane) {
        *self.of(lane) += 1;
    }

    pub(super) fn give_back(&mut self, lane: Lane) {
        *self.of(lane) -= 1;
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
    fn what_is_known_leaves_slots_to_new_failures() {
        let mut slots = Slots::new(8);
        slots.take(Lane::Change);
        assert_eq!(slots.open(), Some(Lane::Resync));
        slots.take(Lane::Resync);
        assert_eq!(slots.open(), Some(Lane::NewFailure));
        for _ in 0..6 {
            slots.take(Lane::NewFailure);
        }
        assert_eq!(slots.open(), None);
        slots.give_back(Lane::Change);
        assert_eq!(slots.open(), Some(Lane::Resync));
    }

    #[test]
    fn a_single_slot_serves_all() {
        let mut slots = Slots::new(1);
        assert_eq!(slots.open(), Some(Lane::Resync));
        slots.take(Lane::Resync);
        assert_eq!(slots.open(), None);
    }
}
