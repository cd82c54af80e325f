//! The signal `autoscaler`.

use super::signal;
use crate::case::{AutoscalerProblem, WorkloadCase};
use crate::message::{Message, text};

signal! {
    /// A HorizontalPodAutoscaler that cannot scale its target.
    /// Source: status.conditions of the HorizontalPodAutoscaler.
    pub(crate) struct Autoscaler<'a> as "autoscaler" { case: &'a WorkloadCase<'a>, problem: &'a AutoscalerProblem }
    reason: |of| of.problem.reason.as_str(), message: of.problem.message.as_str();

    /// Its name. Source: metadata.name.
    "name": fn name(&self) -> &str { &self.case.workload.key.name }

    /// The condition with the problem: `ScalingActive`, `AbleToScale` or `ScalingLimited`. Source: status.conditions[].type.
    "condition": fn condition(&self) -> &str { &self.problem.condition }

    /// Reason of the condition. Source: status.conditions[].reason.
    "reason": fn reason_text(&self) -> &str { &self.problem.reason }

    /// The error in the message of the condition, without what wraps it. Source: status.conditions[].message.
    "message": fn message_text(&self) -> String { text::line(Message::parse(&self.problem.message).leaf(), 160) }

    /// The target, kind and name: `Deployment web`. Source: spec.scaleTargetRef.
    "target": fn target(&self) -> String { format!("{} {}", self.problem.target_kind, self.problem.target) }

    /// Kind of the target. Source: spec.scaleTargetRef.kind.
    "targetKind": fn target_kind(&self) -> &str { &self.problem.target_kind }

    /// Name of the target. Source: spec.scaleTargetRef.name.
    "targetName": fn target_name(&self) -> &str { &self.problem.target }

    /// The resource that a container does not request; empty for other problems. Source: the message.
    "resource": fn resource(&self) -> &str { self.missing_request().map_or("", |(resource, _)| resource) }

    /// The container without the request. Source: the message.
    "container": fn container(&self) -> &str { self.missing_request().map_or("", |(_, container)| container) }

    /// Number of replicas. Source: status.currentReplicas.
    "current": fn current(&self) -> i64 { self.problem.current }

    /// Maximum number of replicas. Source: spec.maxReplicas.
    "max": fn max(&self) -> i64 { self.problem.max }

    /// Number of pods of the target that are Pending. Source: status.phase of pods.
    "pending": fn pending(&self) -> i64 { self.problem.pending.try_into().unwrap_or(i64::MAX) }

    /// The cause of one of them; empty if it has no diagnosis.
    "podCause": fn pod_cause(&self) -> &str { &self.problem.pod_cause }
}

impl Autoscaler<'_> {
    /// `missing request for cpu in container web of Pod web-7d8-x`.
    fn missing_request(&self) -> Option<(&str, &str)> {
        let (_, rest) = self.problem.message.split_once("missing request for ")?;
        let (resource, rest) = rest.split_once(" in container ")?;
        let (container, _) = rest.split_once(" of Pod ")?;
        let is_name = |name: &str| !name.is_empty() && name.len() < 64 && !name.contains(char::is_whitespace);
        (is_name(resource) && is_name(container)).then_some((resource, container))
    }
}
