//! Rate limit for the removal of old entries.

use crate::facts::{Timestamp, seconds_between};

/// Allows a cleanup at most once per interval. A scan of all entries at each change would make each change as expensive
/// as there are entries.
#[derive(Debug, Default)]
pub(super) struct CleanupSchedule(Option<Timestamp>);

impl CleanupSchedule {
    const EVERY: i64 = 60;

    /// Whether a cleanup is due. Starts the next interval if so.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        let due = self.0.is_none_or(|at| seconds_between(at, now) >= Self::EVERY);
        if due {
            self.0 = Some(now);
        }
        due
    }
}
