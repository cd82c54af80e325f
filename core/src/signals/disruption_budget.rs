//! The signal `disruptionBudget`.

use super::signal;
use crate::case::{BudgetProblem, WorkloadCase};

signal! {
    /// A PodDisruptionBudget that allows no eviction.
    /// Source: spec and status of the PodDisruptionBudget, nodes and pods.
    pub(crate) struct DisruptionBudget<'a> as "disruptionBudget" { case: &'a WorkloadCase<'a>, problem: &'a BudgetProblem }
    reason: |_of| "", message: "";

    /// Its name. Source: metadata.name.
    "name": fn name(&self) -> &str { &self.case.workload.key.name }

    /// The field that sets the budget: `minAvailable` or `maxUnavailable`. Source: spec.
    "field": fn field_name(&self) -> &str { &self.problem.field }

    /// Its value, a number or a percentage. Source: spec.minAvailable, spec.maxUnavailable.
    "value": fn value(&self) -> &str { &self.problem.value }

    /// Number of healthy pods. Source: status.currentHealthy.
    "healthy": fn healthy(&self) -> i64 { self.problem.healthy }

    /// Number of healthy pods that must remain. Source: status.desiredHealthy.
    "desired": fn desired(&self) -> i64 { self.problem.desired }

    /// Number of pods that the controllers of its pods should have. Source: status.expectedPods.
    "expected": fn expected(&self) -> i64 { self.problem.expected }

    /// Whether it allows no eviction even if all pods are healthy. Source: status.
    "isNeverMet": fn is_never_met(&self) -> bool { self.problem.desired > self.problem.expected }

    /// A cordoned node with a pod of the budget; empty if there is none. Source: spec.unschedulable of nodes.
    "node": fn node(&self) -> &str { &self.problem.node }

    /// The pod of the budget on this node. Source: spec.nodeName of pods.
    "pod": fn pod(&self) -> &str { &self.problem.pod }

    /// A pod of the budget that is not ready; empty if all are.
    "unhealthyPod": fn unhealthy_pod(&self) -> &str { &self.problem.unhealthy_pod }

    /// The cause of this pod; empty if it has no diagnosis.
    "podCause": fn pod_cause(&self) -> &str { &self.problem.pod_cause }
}
