//! Duration and repetition of a failure, compared with the threshold of its cause.

use super::{Matched, node_ready};
use crate::case::Case;
use crate::facts::{EventFacts, Timestamp, after, seconds_between};

/// Checks whether a failure since `since` that occurred `times` times counts for this cause; `Err` holds the time of
/// the next check. If the user has chosen a threshold for the cause, only that counts.
pub(crate) fn counts(case: &Case<'_>, cause: &Matched, since: Timestamp, times: u32) -> Result<(), Timestamp> {
    lasts(case, cause.name, cause.threshold, since, times)
}

/// Like [`counts`], with a threshold in seconds.
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

/// Checks whether so many seconds have passed; `Err` holds the time when they have.
pub(crate) fn has_been(case: &Case<'_>, since: Timestamp, seconds: i64) -> Result<(), Timestamp> {
    let due = after(since, seconds);
    if case.now >= due { Ok(()) } else { Err(due) }
}

/// Checks whether a failure since `since` has lasted for so many seconds, or has occurred again; `Err` holds the time
/// of the next check.
pub(crate) fn has_lasted(case: &Case<'_>, since: Timestamp, seconds: i64, times: u32) -> Result<(), Timestamp> {
    if seconds == 0 || !case.thresholds.patient || times > 1 || seconds_between(since, case.now) >= seconds {
        Ok(())
    } else {
        Err(after(since, seconds))
    }
}

/// The end of the time that the pod's node has to start its network and its drivers, while the node is new.
pub(crate) fn joining_until(case: &Case<'_>) -> Option<Timestamp> {
    node_ready::joining_until(case.node?, case.now)
}

/// The first time of an Event, never later than now.
pub(crate) fn first_seen(case: &Case<'_>, event: &EventFacts) -> Timestamp {
    event.first.or(event.last).map_or(case.observed.situation_since, |t| t.min(case.now))
}
