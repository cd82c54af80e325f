//! Rejections by the API server of pods (or of the ReplicaSet or Job that would create them).

use super::failure::Own;
use crate::api::Evidence;
use crate::case::{WorkloadCase, evidence};
use crate::facts::{EventFacts, Timestamp, after};
use crate::signals::pod_creation::PodCreation;

/// Age in seconds after which an Event is out of date. Controllers retry after at most 17 min.
const STALE: i64 = 1800;

/// Whether the API server rejects the pods.
#[derive(Debug)]
pub(super) enum Creation {
    Accepted,
    /// The failure may be transient; check again at this time.
    NotBefore(Timestamp),
    Rejected(Box<Own>),
}

/// Finds rejections in the conditions and Events of the workload. `of_event` returns whether an Event is about an
/// object that is still missing.
pub(super) fn find(case: &WorkloadCase<'_>, of_event: impl Fn(&EventFacts) -> bool) -> Creation {
    let Some((signal, since, evidence)) = in_conditions(case).or_else(|| in_events(case, of_event)) else {
        return Creation::Accepted;
    };
    let Some(mut own) = Own::of(case, &signal, vec![evidence]) else { return Creation::Accepted };
    own.exceeded = signal.exceeded();
    let counts = after(since, own.threshold);
    if case.thresholds.patient && case.now < counts { Creation::NotBefore(counts) } else { Creation::Rejected(own) }
}

/// Conditions of a Deployment about its ReplicaSets, and of a ReplicaSet about its pods.
fn in_conditions<'a>(case: &'a WorkloadCase<'a>) -> Option<(PodCreation<'a>, Timestamp, Evidence)> {
    const REASONS: [&str; 2] = ["FailedCreate", "ReplicaSetCreateError"];
    let failed = |kind, status| {
        let condition = case.workload.condition(kind)?;
        (condition.status == status && REASONS.contains(&condition.reason.as_str())).then_some(condition)
    };
    let condition = failed("ReplicaFailure", "True").or_else(|| failed("Progressing", "False"))?;
    // The message contains the name of another pod after each attempt, so use the time of the condition.
    let since = condition.last_transition.unwrap_or(case.since).min(case.now);
    let signal = PodCreation { case, reason: &condition.reason, text: &condition.message };
    Some((signal, since, evidence::condition(condition)))
}

/// Whether an Event reports that the API server rejected an object. Controllers use reasons of their own.
fn is_rejection(event: &EventFacts) -> bool {
    const WORDS: [&str; 5] =
        ["rror creating", "denied the request", "failed calling webhook", "exceeded quota", "\" is forbidden: "];
    // An audit of a policy engine quotes its policies, and rejects nothing.
    let is_audit = &*event.reason == "PolicyViolation";
    &*event.reason == "FailedCreate"
        || event.warning && !is_audit && WORDS.iter().any(|words| event.message.contains(words))
}

fn in_events<'a>(
    case: &'a WorkloadCase<'a>,
    of_event: impl Fn(&EventFacts) -> bool,
) -> Option<(PodCreation<'a>, Timestamp, Evidence)> {
    let last = |event: &EventFacts| event.last.or(event.first).unwrap_or(case.now);
    let fresh = |event: &&EventFacts| case.now.as_second() - last(event).as_second() < STALE;
    let mut rejections = case.events.iter().filter(|event| is_rejection(event) && of_event(event)).filter(fresh);
    // Consecutive rejected runs of a CronJob are one failure, which began with the first of them.
    let began = rejections.clone().map(|event| event.first.unwrap_or_else(|| last(event))).min()?;
    let event = rejections.next_back()?;
    // An Event before the current state counts only after a grace period for the recovery.
    let began = began.max(case.since).min(case.now);
    let signal = PodCreation { case, reason: &event.reason, text: &event.message };
    Some((signal, began, evidence::event(event)))
}
