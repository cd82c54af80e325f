//! Operations that are refused because an earlier one has not finished. The Event of the earlier one explains the failure.

use crate::facts::EventFacts;
use crate::message::is_deferred;

/// The newest Event of the same operation that explains why `event` was refused; `None` if it explains itself.
pub(super) fn earlier<'a>(
    all: impl DoubleEndedIterator<Item = &'a EventFacts>,
    event: &EventFacts,
) -> Option<&'a EventFacts> {
    if !is_deferred(&event.message) {
        return None;
    }
    let explains = |other: &&EventFacts| {
        other.reason == event.reason
            && other.last <= event.last
            && step(&other.message) == step(&event.message)
            && !is_deferred(&other.message)
    };
    all.rev().find(explains)
}

/// The step that a message is about, such as `MountVolume.SetUp failed`.
fn step(message: &str) -> Option<&str> {
    message.split_once(" for volume ").map(|(step, _)| step)
}
