//! Why a pod has no node: what the scheduler says, and what the nodes themselves tell.

mod analysis;
mod claim;
mod explain;
mod proof;
mod remedies;
mod root;
mod rows;
mod silence;
mod summary;
#[cfg(test)]
pub(super) mod tests;
mod words;

use std::borrow::Cow;

use self::analysis::Analysis;
use self::words::Kind;
use crate::api::Confidence;
use crate::diagnosis::language::say;
use crate::diagnosis::{Case, Family, Finding, Verdict, evidence, rule, text};
use crate::facts::{Condition, Phase, Timestamp, after};

pub(in crate::diagnosis) use self::claim::wants as claims_wanted;
use self::rows::{PREEMPTION, RULES, SCHEDULER_ERROR};

pub(super) const FAMILY: Family = Family::Table { rules: RULES, ask };

/// Those that count after a while which may be chosen for each; what a claim tells is not asked for before the others count.
pub(super) fn patient() -> impl Iterator<Item = &'static str> {
    let of_claims = claim::Trouble::ALL.map(claim::Trouble::cause);
    RULES.iter().map(|rule| rule.cause).filter(move |cause| !of_claims.contains(cause))
}

/// Whether the pod waits for a node at all.
fn waits(case: &Case<'_>) -> bool {
    let pod = case.pod;
    // A kubelet has reported of it: the node's name was only trimmed from what we got.
    let has_started = pod.start_time.is_some() || pod.containers.iter().any(|c| c.reported);
    pod.node_name.is_none()
        && !has_started
        && !pod.is_over()
        && pod.deletion.is_none()
        && pod.scheduling_gates.is_empty()
}

/// Whether nobody has said a word of the pod.
fn silent(case: &Case<'_>) -> bool {
    let pod = case.pod;
    pod.phase == Phase::Pending && pod.conditions.is_empty() && case.events.is_empty()
}

fn not_scheduled<'a>(case: &Case<'a>, reason: &str) -> Option<Cow<'a, Condition>> {
    if !waits(case) {
        return None;
    }
    let condition = match case.pod.condition("PodScheduled") {
        Some(condition) => Cow::Borrowed(condition),
        None => Cow::Owned(told_by_event(case)?),
    };
    (condition.status == "False" && condition.reason == reason).then_some(condition)
}

/// What the scheduler says in its Event, where the pod's condition is not (yet) there: the same words.
fn told_by_event(case: &Case<'_>) -> Option<Condition> {
    let event = case.events_with("FailedScheduling").next_back()?;
    let is_known = analysis::reasons(case.pod, &event.message).iter().any(|r| r.kind.is_some());
    is_known.then(|| Condition {
        kind: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: "Unschedulable".to_owned(),
        message: event.message.to_string(),
        last_transition: event.first.or(event.last),
    })
}

/// The scheduler has ended pods of lower priority for it, and they do not go.
fn preemption(case: &Case<'_>) -> Verdict {
    let Some(node) = &case.pod.nominated_node else { return Verdict::No };
    let Some(condition) = not_scheduled(case, "Unschedulable").filter(|_| claim::told(case).is_none()) else {
        return Verdict::No;
    };
    let due = due_of(case, &condition, PREEMPTION);
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let summary = say!(
        case,
        "waits for {node}, where the scheduler has ended pods of lower priority to make room for it; they have not gone yet",
        node
    );
    let finding = Finding::of_pod(summary)
        .confidence(Confidence::Likely)
        .with(evidence::field("status.nominatedNodeName", node))
        .with(evidence::condition(&condition));
    Verdict::Yes(Box::new(finding))
}

/// When a pod that waits is overdue: later while the cluster autoscaler adds a node, or pods make way for it.
fn due(case: &Case<'_>, condition: &Condition) -> Timestamp {
    after(waits_since(case, condition), patience(case))
}

/// The same for a cause, which may have a time of its own.
fn due_of(case: &Case<'_>, condition: &Condition, cause: &str) -> Timestamp {
    after(waits_since(case, condition), case.thresholds.of(cause, patience(case)))
}

fn waits_since(case: &Case<'_>, condition: &Condition) -> Timestamp {
    case.held_since(condition.last_transition.or(case.pod.created))
}

fn patience(case: &Case<'_>) -> i64 {
    let helped = case.pod.nominated_node.is_some()
        || case
            .events_with("TriggeredScaleUp")
            .any(|e| e.last.is_none_or(|at| case.pod.created.is_none_or(|c| at >= c)));
    if helped { case.thresholds.unschedulable_scaling_up } else { case.thresholds.unschedulable }
}

/// The same after an error of the scheduler itself. It may leave the name of the node of its choice behind (1.35), which is
/// no promise then.
fn error_due(case: &Case<'_>, condition: &Condition) -> Timestamp {
    after(waits_since(case, condition), case.thresholds.unschedulable)
}

/// What the scheduler's words answer, and for which cause.
fn answer(case: &Case<'_>) -> Option<(&'static str, Verdict)> {
    // A node is being cleared for it: what was said before is no reason any more.
    let condition = not_scheduled(case, "Unschedulable").filter(|_| case.pod.nominated_node.is_none())?;
    let analysis = Analysis::new(case, &condition)?;
    let cause = analysis.kind.cause();
    let due = due_of(case, &condition, cause);
    if case.now < due {
        return Some((cause, Verdict::NotBefore(due)));
    }
    if is_being_opened(case, &analysis) {
        return Some((cause, Verdict::NotBefore(after(case.now, OPENED))));
    }
    if analysis.kind == Kind::PvcUnbound && claim::told(case).is_some() {
        return None;
    }
    Some((cause, Verdict::Yes(Box::new(finding(case, &condition, &analysis)))))
}

/// How long the scheduler may take to look again at a node that was opened, in seconds.
const OPENED: i64 = 10;

/// Whether no node has a taint any more that the scheduler could have meant: that of a cordon stays for a moment when the
/// cordon is lifted, and then the scheduler says something else.
fn is_being_opened(case: &Case<'_>, analysis: &Analysis<'_>) -> bool {
    let is_lifted =
        |view: &explain::View<'_>| view.total > 0 && view.taints.iter().all(|taint| explain::is_of_cordon(taint));
    analysis.kind == Kind::Taint && case.thresholds.patient && analysis.view.as_ref().is_some_and(is_lifted)
}

/// One look at what the scheduler and the claims say answers for all of their causes.
fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    if !waits(case) {
        return Vec::new();
    }
    rule::answers(RULES, case, [answer(case), claim::answer(case)].into_iter().flatten())
}

fn finding(case: &Case<'_>, condition: &Condition, analysis: &Analysis<'_>) -> Finding {
    let confidence = if analysis.certain { Confidence::Certain } else { Confidence::Likely };
    let finding = Finding::of_pod(summary::summary(case, analysis)).confidence(confidence);
    let mut finding = match root::down(case, analysis) {
        // The node's own Event tells it.
        Some(node) => finding.rooted(Some(node)).quiet(),
        None => finding.rooted(root::of(case, analysis)),
    };
    finding = finding
        .with(evidence::condition(condition))
        .with_all(proof::asked(case, analysis))
        .with_all((analysis.kind == Kind::PvcUnbound).then(|| claim::other_evidence(case)).into_iter().flatten())
        .with_all(proof::nodes(analysis));
    for reason in &analysis.reasons {
        let Some(kind) = reason.kind.filter(|kind| *kind != analysis.kind) else { continue };
        let nodes = match (reason.nodes, analysis.total) {
            (Some(n), Some(total)) => say!(case, "{n} of {total} nodes: ", n, total),
            (Some(n), None) => say!(case, "{n} nodes: ", n),
            (None, _) => String::new(),
        };
        finding =
            finding.consequence(kind.cause(), None, format!("{nodes}{}", summary::named(analysis, kind, reason.text)));
    }
    summary::still_in_the_way(analysis)
        .into_iter()
        .fold(finding, |finding, (kind, words)| finding.consequence(kind.cause(), None, words))
}

fn scheduler_error(case: &Case<'_>) -> Verdict {
    let Some(condition) = not_scheduled(case, "SchedulerError").filter(|_| claim::told(case).is_none()) else {
        return Verdict::No;
    };
    let usual = case.thresholds.unschedulable;
    let due = after(waits_since(case, &condition), case.thresholds.of(SCHEDULER_ERROR, usual));
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let summary =
        say!(case, "the scheduler fails to place it: {message}", message = text::line(&condition.message, 150));
    Verdict::Yes(Box::new(Finding::of_pod(summary).with(evidence::condition(&condition))))
}
