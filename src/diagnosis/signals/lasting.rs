//! How long a failure has lasted, or how often it has happened: thresholds count from there.

use crate::diagnosis::Case;
use crate::diagnosis::catalog::Cause;
use crate::facts::{EventFacts, Timestamp, after, seconds_between};

/// Whether what began at `since`, and happened `times` times, counts for this cause; else the moment to look again. Where the
/// user has chosen a threshold for the cause, only that counts.
pub(crate) fn counts(case: &Case<'_>, cause: &Cause, since: Timestamp, times: u32) -> Result<(), Timestamp> {
    lasts(case, cause.name(), cause.threshold(case.thresholds), since, times)
}

/// The same for a threshold in seconds.
pub(crate) fn lasts(
    case: &Case<'_>,
    cause: &str,
    threshold: i64,
    since: Timestamp,
    times: u32,
) -> Result<(), Timestamp> {
    match case.thresholds.chosen(cause) {
        Some(chosen) => has_been(case, since, chosen),
        None => has_lasted(case, since, threshold, times),
    }
}

/// Whether it is so many seconds since; else when it will be.
pub(crate) fn has_been(case: &Case<'_>, since: Timestamp, seconds: i64) -> Result<(), Timestamp> {
    let due = after(since, seconds);
    if case.now >= due { Ok(()) } else { Err(due) }
}

/// Whether what began at `since` has lasted for so many seconds, or happened again; else when to look again.
pub(crate) fn has_lasted(case: &Case<'_>, since: Timestamp, seconds: i64, times: u32) -> Result<(), Timestamp> {
    if seconds == 0 || !case.thresholds.patient || times > 1 || seconds_between(since, case.now) >= seconds {
        Ok(())
    } else {
        Err(after(since, seconds))
    }
}

/// The first time that an Event gives, never later than now.
pub(crate) fn first_seen(case: &Case<'_>, event: &EventFacts) -> Timestamp {
    event.first.or(event.last).map_or(case.observed.situation_since, |t| t.min(case.now))
}
