//! Evidence and grace periods shared by the signals of terminated pods.

use super::termination::end::disruption;
use super::{Matched, lasting};
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::Timestamp;

/// Checks whether a pod that was terminated on purpose at `since` has no replacement within the threshold of the cause.
/// A bare pod is not replaced, so it counts at once, as does every pod in a dump.
pub(super) fn is_missing(case: &Case<'_>, cause: &Matched, since: Option<Timestamp>) -> Result<(), Timestamp> {
    let is_replaced = case.pod.owner.is_some();
    let grace = if is_replaced { cause.threshold } else { 0 };
    lasting::lasts(case, cause.name, grace, case.held_since(since), 1)
}

/// Like [`is_missing`], for a pod that has terminated as a whole. Only causes whose pods a controller replaces have a
/// threshold.
pub(super) fn due(case: &Case<'_>, cause: &Matched) -> Result<(), Timestamp> {
    if cause.has_threshold { is_missing(case, cause, ended_at(case)) } else { Ok(()) }
}

/// The pod's reason and message, and its condition DisruptionTarget.
pub(super) fn evidence_of_end(case: &Case<'_>) -> Vec<Evidence> {
    let pod = case.pod;
    let reason = evidence::field("status.reason", &pod.reason);
    let message = (!pod.message.is_empty()).then(|| evidence::field("status.message", pod.message.trim()));
    std::iter::once(reason).chain(message).chain(disruption(case).map(evidence::condition)).collect()
}

/// When the pod terminated as a whole, as far as its status shows.
pub(super) fn ended_at(case: &Case<'_>) -> Option<Timestamp> {
    let ended = disruption(case).or(case.pod.condition("Ready"));
    ended.and_then(|condition| condition.last_transition).or(case.pod.start_time).or(case.pod.created)
}
