//! Pods (or the ReplicaSet or Job that would create them) that the API server rejects.

use super::case::WorkloadCase;
use super::tell::Own;
use crate::api::Evidence;
use crate::diagnosis::evidence;
use crate::diagnosis::signals::pod_creation::{self, PodCreation};
use crate::facts::{EventFacts, Timestamp, after};

/// An Event that is older than this, in seconds, is out of date. Controllers retry after 17 min at most.
const STALE: i64 = 1800;

/// What is reported once for all workloads that share a root: a pod that lacks memory is not helped by CPU of the same quota.
pub fn told_as(cause: &str, evidence: &[Evidence]) -> String {
    let requested =
        evidence.iter().filter(|_| cause == "QuotaExceeded").map(|said| pod_creation::requested(&said.value));
    let Some(requested) = requested.into_iter().find(|requested| !requested.is_empty()) else {
        return cause.to_owned();
    };
    let resources: Vec<_> = requested.split(',').filter_map(|amount| amount.split('=').next()).collect();
    format!("{cause} of {}", resources.join(","))
}

/// Whether the API server rejects the pods.
#[derive(Debug)]
pub(super) enum Creation {
    Well,
    /// It may pass by itself until then.
    NotBefore(Timestamp),
    Refused(Box<Own>),
}

/// Reads the workload's conditions and Events. `of_event` decides whether an Event is still about something that is missing.
pub(super) fn look(case: &WorkloadCase<'_>, of_event: impl Fn(&EventFacts) -> bool) -> Creation {
    let Some((signal, since, evidence)) = in_conditions(case).or_else(|| in_events(case, of_event)) else {
        return Creation::Well;
    };
    let Some((cause, own)) = Own::of(case, &signal, vec![evidence]) else { return Creation::Well };
    let counts = after(since, cause.threshold(case.thresholds));
    if case.thresholds.patient && case.now < counts { Creation::NotBefore(counts) } else { Creation::Refused(own) }
}

/// Conditions of a Deployment about its ReplicaSets, and of a ReplicaSet about its pods.
fn in_conditions<'a>(case: &'a WorkloadCase<'a>) -> Option<(PodCreation<'a>, Timestamp, Evidence)> {
    const REASONS: [&str; 2] = ["FailedCreate", "ReplicaSetCreateError"];
    let failed = |kind, status| {
        let condition = case.workload.condition(kind)?;
        (condition.status == status && REASONS.contains(&condition.reason.as_str())).then_some(condition)
    };
    let condition = failed("ReplicaFailure", "True").or_else(|| failed("Progressing", "False"))?;
    // Each try has another pod's name in its message: the time of the condition outlasts them.
    let since = condition.last_transition.unwrap_or(case.since).min(case.now);
    let signal = PodCreation { case, reason: &condition.reason, text: &condition.message };
    Some((signal, since, evidence::condition(condition)))
}

fn in_events<'a>(
    case: &'a WorkloadCase<'a>,
    of_event: impl Fn(&EventFacts) -> bool,
) -> Option<(PodCreation<'a>, Timestamp, Evidence)> {
    let last = |event: &EventFacts| event.last.or(event.first).unwrap_or(case.now);
    let fresh = |event: &&EventFacts| case.now.as_second() - last(event).as_second() < STALE;
    let mut rejections =
        case.events.iter().filter(|event| &*event.reason == "FailedCreate" && of_event(event)).filter(fresh);
    // Runs of a CronJob that are rejected one after the other are one failure, which began with the first of them.
    let began = rejections.clone().map(|event| event.first.unwrap_or_else(|| last(event))).min()?;
    let event = rejections.next_back()?;
    // An Event from before the present state counts only after the state had the time to recover.
    let began = began.max(case.since).min(case.now);
    let signal = PodCreation { case, reason: &event.reason, text: &event.message };
    Some((signal, began, evidence::event(event)))
}
