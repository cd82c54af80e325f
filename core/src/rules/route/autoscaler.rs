//! HorizontalPodAutoscalers that cannot scale their target.

use super::SETTLES;
use crate::case::{AutoscalerProblem, evidence};
use crate::facts::Condition;
use crate::facts::route::AutoscalerFacts;

/// The pods of the target that are Pending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scaled {
    pub pending: usize,
    /// The cause of one of them.
    pub cause: String,
}

/// Seconds until new pods have metrics.
const METRICS: i64 = 120;

/// Whether waiting does not help: a target that does not exist, or pods without requests.
fn is_permanent(condition: &Condition) -> bool {
    condition.kind == "AbleToScale" || condition.message.contains("missing request for")
}

/// What is wrong with an autoscaler. The conditions are those of pkg/controller/podautoscaler/horizontal.go.
pub fn problem(autoscaler: &AutoscalerFacts, pods: &Scaled) -> Option<AutoscalerProblem> {
    let of = |condition: &Condition| AutoscalerProblem {
        condition: condition.kind.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        target_kind: autoscaler.target_kind.clone(),
        target: autoscaler.target.clone(),
        current: autoscaler.current,
        max: autoscaler.max,
        pending: pods.pending,
        pod_cause: pods.cause.clone(),
        since: condition.last_transition,
        grace: if is_permanent(condition) { SETTLES } else { METRICS },
        evidence: vec![evidence::condition(condition)],
    };
    let has = |kind: &str, status: &str| autoscaler.condition(kind).filter(|condition| condition.status == status);
    // `ScalingDisabled`: the target is scaled to 0.
    let inactive = has("ScalingActive", "False").filter(|condition| condition.reason != "ScalingDisabled");
    let at_maximum = || {
        let limited = has("ScalingLimited", "True").filter(|condition| condition.reason == "TooManyReplicas")?;
        (pods.pending > 0 && autoscaler.current >= autoscaler.max).then_some(limited)
    };
    has("AbleToScale", "False").or(inactive).or_else(at_maximum).map(of)
}
