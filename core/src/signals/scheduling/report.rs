//! The scheduler's report on a pending pod, and the grace period of the pod.

use super::scale_up;
use super::words::Check;
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{Condition, EventFacts, Phase, Timestamp, after};

/// Reasons of the condition PodScheduled.
pub(in crate::signals) const UNSCHEDULABLE: &str = "Unschedulable";
pub(in crate::signals) const SCHEDULER_ERROR: &str = "SchedulerError";
const GATED: &str = "SchedulingGated";

/// The condition PodScheduled, or the scheduler's Event if there is no condition (yet).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report<'a> {
    pub(in crate::signals) message: &'a str,
    at: Option<Timestamp>,
    source: Place<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    Condition(&'a Condition),
    Event(&'a EventFacts),
}

impl<'a> Report<'a> {
    /// The report with this reason, if it is the latest one.
    pub(in crate::signals) fn of(case: &Case<'a>, reason: &str) -> Option<Self> {
        if !waits(case) {
            return None;
        }
        if let Some(condition) = case.pod.condition("PodScheduled") {
            let is_it = condition.status == "False" && is_of(&condition.reason, reason);
            return is_it.then_some(Self {
                message: &condition.message,
                at: condition.last_transition,
                source: Place::Condition(condition),
            });
        }
        // An autoscaler only adds to what the scheduler reports.
        let of_scheduler = |event: &&EventFacts| !scale_up::is_of_autoscaler(event);
        let mut events = case.events_with("FailedScheduling").filter(of_scheduler);
        let event = events.next_back().filter(|_| reason == UNSCHEDULABLE)?;
        Some(Self { message: &event.message, at: event.first.or(event.last), source: Place::Event(event) })
    }

    pub(super) fn evidence(&self) -> Evidence {
        match self.source {
            Place::Condition(condition) => evidence::condition(condition),
            Place::Event(event) => evidence::event(event),
        }
    }

    /// Since when the pod has been waiting.
    pub(super) fn since(&self, case: &Case<'_>) -> Timestamp {
        case.held_since(self.at.or(case.pod.created))
    }

    /// When the grace period of an unschedulable pod ends.
    pub(in crate::signals) fn due(&self, case: &Case<'_>) -> Timestamp {
        after(self.since(case), grace_period(case))
    }

    /// When the grace period after an error of the scheduler itself ends. The error may leave behind the name of a node
    /// (1.35), which is meaningless then.
    pub(in crate::signals) fn error_due(&self, case: &Case<'_>) -> Timestamp {
        after(self.since(case), case.thresholds.unschedulable)
    }

    /// Whether nodes fail one of these checks.
    pub(in crate::signals) fn has(&self, checks: &[Check]) -> bool {
        super::words::reasons(self.message).iter().any(|r| r.check.is_some_and(|check| checks.contains(&check)))
    }
}

/// Whether a reason of PodScheduled counts as this one. A scheduler of another vendor, or a newer one, has more reasons for
/// a pod that it does not place: its message counts.
fn is_of(actual: &str, reason: &str) -> bool {
    match actual {
        SCHEDULER_ERROR => reason == SCHEDULER_ERROR,
        GATED | "" => actual == reason,
        _ => reason == UNSCHEDULABLE,
    }
}

/// Whether the pod is waiting for a node.
pub(in crate::signals) fn waits(case: &Case<'_>) -> bool {
    let pod = case.pod;
    // A kubelet has reported on the pod; the data just lacks the name of the node.
    let has_started = pod.start_time.is_some() || pod.containers.iter().any(|c| c.reported);
    pod.node_name.is_none()
        && !has_started
        && !pod.is_over()
        && pod.deletion.is_none()
        && pod.scheduling_gates.is_empty()
}

/// Whether no component has reported on the pod.
pub(in crate::signals) fn is_silent(case: &Case<'_>) -> bool {
    let pod = case.pod;
    pod.phase == Phase::Pending && pod.conditions.is_empty() && case.events.is_empty()
}

/// Grace period in seconds: longer while an autoscaler adds a node, or pods are preempted for this one.
pub(super) fn grace_period(case: &Case<'_>) -> i64 {
    let is_helped = case.pod.nominated_node.is_some() || scale_up::is_under_way(case);
    if is_helped { case.thresholds.unschedulable_scaling_up } else { case.thresholds.unschedulable }
}

/// Seconds without a report after which a pod has no scheduler. Even a busy scheduler reports within seconds.
const SILENCE: i64 = 60;

/// Checks whether there has been no report for long enough for this cause; `Err` holds the time of the next check.
pub(super) fn silence(case: &Case<'_>, cause: &str) -> Result<(), Timestamp> {
    // Before Kubernetes 1.35 a scheduler that waits for a volume does not set the name of the node.
    let volume = if case.pod.claims().next().is_some() { case.thresholds.creating } else { 0 };
    let usual = SILENCE.max(case.thresholds.unschedulable).max(volume);
    let due = after(case.held_since(case.pod.created), case.thresholds.of(cause, usual));
    if case.now < due { Err(due) } else { case.events_settled() }
}
