//! When what is too old is looked for.

use crate::facts::{Timestamp, seconds_between};

/// What is too old is looked for once in so many seconds, when there is occasion to: to go through everything at each
/// change would make each change as dear as there are many.
#[derive(Debug, Default)]
pub(super) struct Sweeps(Option<Timestamp>);

impl Sweeps {
    const EVERY: i64 = 60;

    /// Whether it is time; said once.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        let due = self.0.is_none_or(|at| seconds_between(at, now) >= Self::EVERY);
        if due {
            self.0 = Some(now);
        }
        due
    }
}
