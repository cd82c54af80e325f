//! When a pod that had a diagnosis counts as well again.

use super::Record;
use crate::diagnosis::{Case, Category, Recovery, node, rules};
use crate::facts::{NodeState, Phase, Timestamp, WorkloadFacts, after};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Yes,
    NotBefore(Timestamp),
    No,
}

/// For a pod in which no rule finds anything wrong at the moment.
pub(super) fn of(record: &Record, case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    // It ends as Gone, however it ends.
    if pod.deletion.is_some() {
        return Verdict::No;
    }
    if pod.is_over()
        && let Err(at) = case.events_settled()
    {
        // The Event that says why it ended may still come.
        return Verdict::NotBefore(at);
    }
    match pod.phase {
        Phase::Succeeded => return Verdict::Yes,
        Phase::Failed if superseded(case) => return Verdict::Yes,
        // Its Job is complete, or whatever else made the rules silent: nothing of it is left to do.
        Phase::Failed => return if pod.is_of_job() { Verdict::Yes } else { Verdict::No },
        Phase::Pending | Phase::Running | Phase::Unknown => {}
    }
    let node = case.node.filter(|_| category_of(&record.status.cause) == Some(Category::Node));
    if let Some((ready, _)) = node.and_then(|node| node::judge(node, case.thresholds, case.now).incident) {
        if !ready.is_ready() {
            return Verdict::No;
        }
        // A flapping node stays one incident until it is stable; its pods run whenever it is Ready, once it has been for a
        // moment.
        let ready_since = node.and_then(NodeState::ready_since).map_or(case.now, |at| at.min(case.now));
        let back = after(ready_since, case.thresholds.recovered_never_started);
        if case.now < back {
            return Verdict::NotBefore(back);
        }
    }
    let Some(ready) = pod.condition("Ready").filter(|c| c.status == "True") else { return Verdict::No };
    let ready_since = case.held_since(ready.last_transition);
    let due = match rules::recovery(&record.status.cause, record.status.container_type) {
        // What its probe has never ended had only not started yet.
        Recovery::Restarting if record.status.cause == rules::STARTUP && !pod.has_restarted() => {
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

/// Whether the record of this pod ended after the pod did: nothing runs there again, so nothing fails there again.
pub(super) fn is_final(record: &Record, case: &Case<'_>) -> bool {
    let ended_at = record.status.last_transition;
    case.pod.over_since().is_some_and(|over| ended_at.is_some_and(|ended| ended >= over.min(case.now)))
}

/// A Failed pod (evicted, shut down, of a Job) whose controller has what it wants without it, or has lost many since.
pub(super) fn superseded(case: &Case<'_>) -> bool {
    if case.pod.phase != Phase::Failed {
        return false;
    }
    let done = |w: &WorkloadFacts| match &*w.key.kind {
        "Job" => w.is_complete(),
        "CronJob" => w.last_successful.is_some_and(|at| case.pod.created.is_some_and(|created| at > created)),
        // It wants none any more.
        _ if w.desired == 0 => true,
        // Replaced again and again, each time for a moment only, is no recovery; but what was lost before says nothing new.
        _ if case.surroundings.siblings.are_thrown_out_again_and_again() => !is_of_the_last(case),
        _ => w.ready >= w.desired,
    };
    case.surroundings.known_job().is_some_and(done) || case.surroundings.known_workload().is_some_and(done)
}

/// Whether it is one of the last that its workload has lost: where it loses one after the other, a few of them show it.
fn is_of_the_last(case: &Case<'_>) -> bool {
    let since = case.surroundings.siblings.thrown_out_since;
    case.pod.over_since().is_none_or(|at| since.is_none_or(|since| at >= since))
}
