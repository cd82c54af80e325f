//! Recovery: when a pod with a diagnosis counts as healthy again.

use super::PodRecord;
use crate::case::{Case, Category, Recovery};
use crate::facts::{NodeState, Phase, Timestamp, WorkloadFacts, after};
use crate::rules;
use crate::rules::node;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Yes,
    NotBefore(Timestamp),
    No,
}

/// For a pod without a present finding.
pub(super) fn of(record: PodRecord<'_>, case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    // The diagnosis ends as Gone, however the pod terminates.
    if pod.deletion.is_some() {
        return Verdict::No;
    }
    if pod.is_over()
        && let Err(at) = case.events_settled()
    {
        // The Event that explains the termination may still arrive.
        return Verdict::NotBefore(at);
    }
    match pod.phase {
        Phase::Succeeded => return Verdict::Yes,
        Phase::Failed if superseded(case) => return Verdict::Yes,
        // Its Job is complete, or no rule matches for another reason: the failure is over.
        Phase::Failed => return if pod.is_of_job() { Verdict::Yes } else { Verdict::No },
        Phase::Pending | Phase::Running | Phase::Unknown => {}
    }
    let node = case.node.filter(|_| category_of(&record.status.head.cause) == Some(Category::Node));
    if let Some(ready) = node.and_then(|node| node::judge(node, case.thresholds, case.now).incident) {
        if !ready.is_ready() {
            return Verdict::No;
        }
        // The incident of a flapping node lasts until the node is stable. Its pods recover once the node has been Ready
        // for a moment.
        let ready_since = node.and_then(NodeState::ready_since).map_or(case.now, |at| at.min(case.now));
        let back = after(ready_since, case.thresholds.recovered_never_started);
        if case.now < back {
            return Verdict::NotBefore(back);
        }
    }
    let Some(ready) = pod.condition("Ready").filter(|c| c.status == "True") else { return Verdict::No };
    let ready_since = case.held_since(ready.last_transition);
    let due = match rules::recovery(&record.status.head.cause, record.status.container_type) {
        // A container that its startup probe never killed was merely slow to start.
        Recovery::Restarting if record.status.head.cause == rules::STARTUP && !pod.has_restarted() => {
            after(ready_since, case.thresholds.recovered_never_started)
        }
        Recovery::NeverStarted => after(ready_since, case.thresholds.recovered_never_started),
        Recovery::Restarting => {
            let since = pod.last_start().map_or(ready_since, |start| start.max(ready_since).min(case.now));
            after(since, case.thresholds.recovered_restarting)
        }
    };
    if case.now >= due { Verdict::Yes } else { Verdict::NotBefore(due) }
}

fn category_of(cause: &str) -> Option<Category> {
    rules::find(cause).map(|rule| rule.category)
}

/// Whether the diagnosis ended after the pod terminated. A terminated pod cannot fail again.
pub(super) fn is_final(record: PodRecord<'_>, case: &Case<'_>) -> bool {
    let ended_at = record.status.head.last_transition;
    case.pod.over_since().is_some_and(|over| ended_at.is_some_and(|ended| ended >= over.min(case.now)))
}

/// Whether a Failed pod (evicted, shut down, of a Job) is superseded: its controller reached its desired state without
/// it, or has lost many pods since.
pub(super) fn superseded(case: &Case<'_>) -> bool {
    if case.pod.phase != Phase::Failed {
        return false;
    }
    let done = |w: &WorkloadFacts| match &*w.key.kind {
        "Job" => w.is_complete(),
        "CronJob" => w.last_successful.is_some_and(|at| case.pod.created.is_some_and(|created| at > created)),
        // The workload has no desired pods.
        _ if w.desired == 0 => true,
        // Repeated replacement for a moment each is no recovery, but earlier lost pods add no information.
        _ if case.surroundings.siblings.are_thrown_out_again_and_again() => !is_of_the_last(case),
        _ => w.ready >= w.desired,
    };
    case.surroundings.known_job().is_some_and(done) || case.surroundings.known_workload().is_some_and(done)
}

/// Whether the pod is among the last that its workload lost. For a repeated loss, a few pods suffice.
fn is_of_the_last(case: &Case<'_>) -> bool {
    let since = case.surroundings.siblings.thrown_out_since;
    case.pod.over_since().is_none_or(|at| since.is_none_or(|since| at >= since))
}
