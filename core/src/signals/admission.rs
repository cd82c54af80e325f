//! The signal `admission`.

use super::pod_creation::bounds;
use super::shortage::{self, Shortage};
use super::termination::end::judged;
use super::{Matched, PodSignal, Source, replacement, signal};
use crate::api::Evidence;
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, Phase, PodFacts, Timestamp};

/// Prefix of each message of a kubelet that rejects a pod, since Kubernetes 1.15.
const PREFIX: &str = "Pod was rejected: ";

signal! {
    /// A pod that has failed with a reason, such as one that the kubelet of its node rejected before anything ran.
    /// Source: status.phase, status.reason and status.message.
    pub(super) struct Admission<'a> as "admission" { case: &'a Case<'a>, shortage: Option<Shortage<'a>> }
    reason: |of| &of.case.pod.reason, message: &of.case.pod.message;

    /// Whether the message or the containers show that the kubelet rejected the pod: the message begins with
    /// `Pod was rejected:`, or a container waits with the reason Blocked (before Kubernetes 1.25).
    /// Source: pkg/kubelet/kubelet.go rejectPod.
    "isRejected": fn is_rejected(&self) -> bool {
        let pod = self.case.pod;
        pod.phase == Phase::Failed && pod.message.starts_with(PREFIX) || is_blocked(pod)
    }

    /// The message without its prefix; the reason where there is no message. Source: status.message.
    "message": fn text(&self) -> &str {
        let pod = self.case.pod;
        let message = pod.message.strip_prefix(PREFIX).or(pod.message.strip_prefix("Pod ").filter(|m| m.starts_with("The ")));
        let message = message.unwrap_or(&pod.message).trim();
        if message.is_empty() { &pod.reason } else { message }
    }

    /// The sysctl that the kubelet does not allow; empty if the message names none.
    /// Source: pkg/kubelet/sysctl/allowlist.go.
    "sysctl": fn sysctl(&self) -> &str { bounds::forbidden_sysctl(&self.case.pod.message) }

    /// What follows `OutOf` in the reason: `cpu`, `memory`, `pods`, `ephemeral-storage` or an extended resource; empty for
    /// other reasons. Source: status.reason.
    "outOf": fn out_of(&self) -> &str { self.case.pod.reason.strip_prefix("OutOf").unwrap_or_default() }

    /// The resource that the node has too little of; empty if the message names none.
    /// Source: pkg/kubelet/lifecycle/predicate.go InsufficientResourceError.
    "resource": fn resource(&self) -> &str { self.shortage.as_ref().map_or("", |s| s.resource) }

    /// How much of the resource the pod requests, as a quantity; empty if the message has none.
    /// Source: pkg/kubelet/lifecycle/predicate.go InsufficientResourceError.
    "requested": fn requested(&self) -> &str { self.shortage.as_ref().map_or("", |s| &s.requested) }

    /// How much of the resource was free on the node, as a quantity; empty if the message has none.
    /// Source: pkg/kubelet/lifecycle/predicate.go InsufficientResourceError.
    "free": fn free(&self) -> &str { self.shortage.as_ref().and_then(|s| s.free.as_deref()).unwrap_or_default() }

    /// How much of the resource the whole node has, as a quantity; empty if the message has none.
    /// Source: pkg/kubelet/lifecycle/predicate.go InsufficientResourceError.
    "capacity": fn capacity(&self) -> &str { self.shortage.as_ref().map_or("", |s| &s.capacity) }

    /// Whether the pod's nodeSelector names one node by its label kubernetes.io/hostname. Source: spec.nodeSelector.
    "selectsHostname": fn selects_hostname(&self) -> bool {
        self.case.pod.node_selector.get("kubernetes.io/hostname").is_some()
    }
}

pub(crate) const SOURCE: Source =
    Source { definition: &Admission::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for Admission<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        replacement::due(self.case, cause)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let event = self.case.events.iter().rev().find(|e| *e.reason == *self.case.pod.reason);
        replacement::evidence_of_end(self.case).into_iter().chain(event.map(evidence::event)).collect()
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        judged(self.case, finding)
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    let pod = case.pod;
    let has_failed = pod.phase == Phase::Failed && !pod.reason.is_empty() || is_blocked(pod);
    has_failed.then(|| Box::new(Admission { case, shortage: shortage::read(&pod.message) }) as _)
}

/// Whether the kubelet leaves the pod Pending because it lacks a feature such as AppArmor (before Kubernetes 1.25).
fn is_blocked(pod: &PodFacts) -> bool {
    let is_blocked = |c: &Container| c.waiting().is_some_and(|(reason, _)| reason == "Blocked");
    pod.phase == Phase::Pending && !pod.reason.is_empty() && pod.containers.iter().any(is_blocked)
}
