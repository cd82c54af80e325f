//! The Warning Event that explains a failure which no cause knows, whatever its reason.

use crate::facts::{EventFacts, Timestamp};
use crate::message::Message;

/// Characters of its message that are shown.
const SHOWN: usize = 130;

/// The newest Warning Event of the current episode: since this time, if it is known. Without those that only state that
/// something is tried again later.
pub(crate) fn newest(events: &[EventFacts], since: Option<Timestamp>) -> Option<&EventFacts> {
    let is_present = |event: &EventFacts| {
        event.last.or(event.first).is_none_or(|at| since.is_none_or(|since| at.as_second() >= since.as_second()))
    };
    let is_retry = |event: &EventFacts| &*event.reason == "BackOff" && event.message.starts_with("Back-off ");
    events.iter().rev().find(|event| event.warning && is_present(event) && !is_retry(event))
}

/// Its reason and its error: `FailedNodeAllocation: device busy`.
pub(crate) fn text(event: &EventFacts) -> String {
    let error = Message::parse(&event.message).summary(SHOWN, &[]);
    match (event.reason.trim(), error.trim()) {
        ("", error) => error.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, error) => format!("{reason}: {error}"),
    }
}

/// The text of the newest one; empty if there is none.
pub(crate) fn newest_text(events: &[EventFacts], since: Option<Timestamp>) -> String {
    newest(events, since).map(text).unwrap_or_default()
}
