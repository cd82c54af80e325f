//! The signal `rollout`.

use super::{signal, warning};
use crate::case::WorkloadCase;

signal! {
    /// A Deployment's rollout that made no progress within its deadline, while none of its pods has a diagnosis.
    /// Source: condition Progressing with reason ProgressDeadlineExceeded.
    pub(crate) struct Rollout<'a> as "rollout" { case: &'a WorkloadCase<'a> }
    reason: |_of| "ProgressDeadlineExceeded",
    message: _of.case.workload.condition("Progressing").map_or("", |condition| condition.message.as_str());

    /// The deadline, in seconds. Source: spec.progressDeadlineSeconds.
    "deadlineSeconds": fn deadline_seconds(&self) -> i64 { self.case.workload.progress_deadline.unwrap_or(600) }

    /// Scheduling gates that its pods wait for, separated by commas; empty if there are none.
    /// Source: spec.schedulingGates of the pods.
    "schedulingGates": fn scheduling_gates(&self) -> String { self.case.gates.join(", ") }

    /// Whether a new pod is not ready yet, and may still become ready. Source: conditions of the pods.
    "mayBecomeReady": fn may_become_ready(&self) -> bool { self.case.undecided.is_some() }

    /// Reason and error of the newest Warning Event of the workload or its ReplicaSets, whatever its reason; empty if there is
    /// none. Source: Events.
    "warning": fn warning(&self) -> String { warning::newest_text(self.case.events, self.case.workload.created) }

    /// Container of the template and its readiness probe, such as `web: http :8080/ready, delay 60 s, ...`; empty unless
    /// exactly one container has one. Source: spec.template.spec.containers[].readinessProbe.
    "readinessProbe": fn readiness_probe(&self) -> String {
        let template = self.case.workload.template.as_deref();
        let mut probed = template.into_iter().flat_map(|template| &template.containers).filter_map(|container| {
            container.readiness.as_ref().map(|probe| format!("{}: {probe}", container.name))
        });
        probed.next().filter(|_| probed.next().is_none()).unwrap_or_default()
    }

    /// Pods that should run. Source: spec.replicas.
    "desiredPods": fn desired_pods(&self) -> i64 { self.case.workload.desired }

    /// Pods of the newest template. Source: status.updatedReplicas.
    "updatedPods": fn updated_pods(&self) -> i64 { self.case.workload.updated }

    /// Pods that are ready. Source: status.readyReplicas.
    "readyPods": fn ready_pods(&self) -> i64 { self.case.workload.ready }
}
