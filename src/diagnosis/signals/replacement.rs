//! What the signals of pods that have ended share: their evidence, and how long a replacement may take.

use super::lasting;
use super::termination::end::disruption;
use crate::api::Evidence;
use crate::diagnosis::catalog::Cause;
use crate::diagnosis::{Case, evidence};
use crate::facts::Timestamp;

/// Whether a pod that was ended on purpose at `since` has gone without a replacement for as long as its controller may take
/// (the threshold of the cause). A bare pod is not replaced, so it counts at once, as everything does in a dump.
pub(super) fn is_missing(case: &Case<'_>, cause: &Cause, since: Option<Timestamp>) -> Result<(), Timestamp> {
    let is_replaced = case.pod.owner.is_some();
    let grace = if is_replaced { cause.threshold(case.thresholds) } else { 0 };
    lasting::lasts(case, cause.name(), grace, case.held_since(since), 1)
}

/// The same of a pod that has ended as a whole. Only causes that a controller answers with a new pod have a threshold.
pub(super) fn due(case: &Case<'_>, cause: &Cause) -> Result<(), Timestamp> {
    if cause.has_threshold() { is_missing(case, cause, ended_at(case)) } else { Ok(()) }
}

/// The pod's reason and message, and its condition DisruptionTarget.
pub(super) fn evidence_of_end(case: &Case<'_>) -> Vec<Evidence> {
    let pod = case.pod;
    let reason = evidence::field("status.reason", &pod.reason);
    let message = (!pod.message.is_empty()).then(|| evidence::field("status.message", pod.message.trim()));
    std::iter::once(reason).chain(message).chain(disruption(case).map(evidence::condition)).collect()
}

/// When a pod ended as a whole, as far as its status tells.
pub(super) fn ended_at(case: &Case<'_>) -> Option<Timestamp> {
    let ended = disruption(case).or(case.pod.condition("Ready"));
    ended.and_then(|condition| condition.last_transition).or(case.pod.start_time).or(case.pod.created)
}
