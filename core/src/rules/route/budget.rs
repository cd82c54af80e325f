//! PodDisruptionBudgets that can never be met, or that block the drain of a node.

use super::INCOMPLETE;
use crate::case::{BudgetProblem, evidence};
use crate::facts::Timestamp;
use crate::facts::route::BudgetFacts;

/// The pods of a budget, as far as they matter for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evicted {
    /// A cordoned node with one of the pods.
    pub node: String,
    pub pod: String,
    /// When the node was cordoned, if that is known.
    pub since: Option<Timestamp>,
    /// A pod that is not ready, and its cause.
    pub unhealthy: String,
    pub cause: String,
}

/// What is wrong with a budget. One that allows no eviction is intended (a single replica) until a node is drained.
pub fn problem(budget: &BudgetFacts, pods: &Evicted) -> Option<BudgetProblem> {
    let status = budget.status.filter(|status| status.expected_pods > 0)?;
    let (field, value) = match (budget.min_available.as_str(), budget.max_unavailable.as_str()) {
        ("", max) => ("maxUnavailable", max),
        (min, _) => ("minAvailable", min),
    };
    let is_never_met = status.desired_healthy > status.expected_pods;
    // A replacement that is still starting makes the budget allow the next eviction soon.
    let is_permanent = status.current_healthy >= status.expected_pods || !pods.cause.is_empty();
    let blocks_a_drain = status.allowed <= 0 && !pods.node.is_empty() && is_permanent;
    (is_never_met || blocks_a_drain).then(|| BudgetProblem {
        field: field.to_owned(),
        value: value.to_owned(),
        healthy: status.current_healthy,
        desired: status.desired_healthy,
        expected: status.expected_pods,
        node: pods.node.clone(),
        pod: pods.pod.clone(),
        unhealthy_pod: pods.unhealthy.clone(),
        pod_cause: pods.cause.clone(),
        since: pods.since.filter(|_| !is_never_met),
        // A drain evicts again until the budget allows it, for example when replacements are ready.
        grace: INCOMPLETE,
        evidence: vec![
            evidence::field(format!("spec.{field}"), value),
            evidence::field(
                "status",
                format!(
                    "{} healthy, {} desired, {} expected",
                    status.current_healthy, status.desired_healthy, status.expected_pods
                ),
            ),
        ],
    })
}
