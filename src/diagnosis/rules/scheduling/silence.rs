//! Pods of which no scheduler says a word.

use super::rows::NO_SCHEDULER;
use super::words::Kind;
use super::{claim, silent, waits};
use crate::api::Confidence;
use crate::diagnosis::language::say;
use crate::diagnosis::{Case, Finding, RootKind, Verdict, evidence};
use crate::facts::{Timestamp, after};

/// A pod that no scheduler has touched for this long has none. (A busy scheduler answers within seconds.)
const SILENCE: i64 = 60;

/// Whether nobody has said a word of the pod for long: `None` if somebody has, else whether it counts, or when.
fn silence(case: &Case<'_>, cause: &str) -> Option<Result<(), Timestamp>> {
    let pod = case.pod;
    // A scheduler that has chosen a node (and waits for a volume there) says no more than its name.
    if !waits(case) || !silent(case) || pod.nominated_node.is_some() {
        return None;
    }
    // Before Kubernetes 1.35 it does not even say that.
    let volume = if pod.claims().next().is_some() { case.thresholds.creating } else { 0 };
    let usual = SILENCE.max(case.thresholds.unschedulable).max(volume);
    let due = after(case.held_since(pod.created), case.thresholds.of(cause, usual));
    if case.now < due {
        return Some(Err(due));
    }
    Some(case.events_settled())
}

/// The scheduler does not even try a pod whose claim is missing, and says nothing of it.
pub(super) fn no_claim(case: &Case<'_>) -> Verdict {
    let claims = &case.pod.resource_claims;
    match silence(case, Kind::DraClaim.cause()).filter(|_| !claims.is_empty()) {
        None => Verdict::No,
        Some(Err(later)) => Verdict::NotBefore(later),
        Some(Ok(())) => {
            let names = claims.join(", ");
            let finding = Finding::of_pod(say!(
                case,
                "the scheduler has not tried it yet: its ResourceClaim ({names}) most likely does not exist",
                names
            ))
            .confidence(Confidence::Likely)
            .with(evidence::field("spec.resourceClaims", names))
            .with(evidence::field("status.conditions", "(none: the scheduler has not tried the pod)"));
            Verdict::Yes(Box::new(finding))
        }
    }
}

pub(super) fn no_scheduler(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    match silence(case, NO_SCHEDULER).filter(|_| pod.resource_claims.is_empty() && claim::told(case).is_none()) {
        None => return Verdict::No,
        Some(Err(later)) => return Verdict::NotBefore(later),
        Some(Ok(())) => {}
    }
    let name = &pod.scheduler_name;
    let (summary, confidence) = if name.is_empty() || name == "default-scheduler" {
        (say!(case, "no scheduler has looked at it yet: the scheduler is down or far behind"), Confidence::Likely)
    } else {
        (
            say!(case, "no scheduler named {name} has looked at it yet: none of that name seems to run", name),
            Confidence::Likely,
        )
    };
    let named = if name.is_empty() { "default-scheduler" } else { name };
    let finding = Finding::of_pod(summary)
        .confidence(confidence)
        .rooted(Some(RootKind::Scheduler.named(named)))
        .with(evidence::field("spec.schedulerName", name))
        .with(evidence::field("status.conditions", "(none: no scheduler has written PodScheduled)"));
    Verdict::Yes(Box::new(finding))
}
