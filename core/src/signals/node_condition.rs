//! The signal `nodeCondition`.

mod polarity;

use super::{gpu, signal};
use crate::facts::{Condition, MACHINE_CONFIG};
use crate::message;

pub(crate) use self::polarity::is_raised;

/// Characters of a message.
const MESSAGE_MAX: usize = 120;

/// A message of an agent: whole if it is short, else what it states of the error.
pub(super) fn short(message: &str) -> String {
    message::fit_error(message.trim_end_matches(['.', ' ', '\n']), MESSAGE_MAX)
}

signal! {
    /// A condition of a node other than Ready that reports a problem, or may: of the kubelet, the cloud provider, or an agent such
    /// as node-problem-detector. Most are True while there is a problem; conditions such as `NetworkingReady`, of the EKS node
    /// monitoring agent, are False. The annotation of OpenShift's machine-config-daemon counts as one. Not read while the node is
    /// not Ready. Source: Node status.conditions; metadata.annotations.
    pub(crate) struct NodeCondition<'a> as "nodeCondition" { condition: &'a Condition }
    reason: |of| &of.condition.reason, message: &of.condition.message;

    /// Its type, such as `DiskPressure`. Source: Node status.conditions[].type.
    "type": fn kind(&self) -> &str { &self.condition.kind }

    /// Its reason, where it states more than the type, such as `IPAMDNotReady`; else empty.
    /// Source: Node status.conditions[].reason.
    "detail": fn detail(&self) -> &str {
        let Condition { kind, reason, message, .. } = self.condition;
        let is_known = kind.contains(reason.as_str()) || reason.contains(kind.as_str()) && reason.len() < kind.len() + 3;
        if is_known || message.is_empty() || message.contains(reason.as_str()) { "" } else { reason }
    }

    /// Its message, else its reason, at most 120 characters. Source: Node status.conditions[].message and .reason.
    "message": fn message(&self) -> String {
        let Condition { reason, message, .. } = self.condition;
        short(if message.trim().is_empty() { reason } else { message })
    }

    /// Whether the words of the type show that the condition reports a problem: `NTPProblem` True, `NetworkingReady` False.
    /// Source: Node status.conditions[].type and .status.
    "isProblem": fn is_problem(&self) -> bool { polarity::is_problem(self.condition) }

    /// Whether the type is positive, such as `NetworkingReady`, which is False while there is a problem.
    /// Source: Node status.conditions[].type.
    "isPositive": fn is_positive(&self) -> bool { polarity::is_positive(&self.condition.kind) }

    /// What it is about: `gpu`, `network`, or empty. Source: type, reason and message of the condition.
    "area": fn area(&self) -> &'static str {
        let Condition { kind, reason, message, .. } = self.condition;
        if gpu::is_about(kind) || gpu::is_about(reason) || gpu::xid(message).is_some() {
            "gpu"
        } else if kind.contains("Network") || kind.starts_with("IB") || kind.contains("InfiniBand") {
            "network"
        } else {
            ""
        }
    }

    /// The service that it is about: `kubelet`, `containerd`, `docker`, `kube-proxy` or `container runtime`; empty for others.
    /// Source: type and reason of the condition.
    "service": fn service(&self) -> &'static str {
        let Condition { kind, reason, .. } = self.condition;
        let of = |words: &[&str]| words.iter().any(|word| kind.contains(word) || reason.contains(word));
        match () {
            () if of(&["Kubelet"]) => "kubelet",
            () if of(&["Containerd"]) => "containerd",
            () if of(&["Docker"]) => "docker",
            () if of(&["KubeProxy"]) => "kube-proxy",
            () if of(&["ContainerRuntime"]) => "container runtime",
            () => "",
        }
    }

    /// Number of the error (XID) that the NVIDIA driver reports. Source: reason and message of the condition.
    "xid": fn xid(&self) -> Option<i64> {
        let Condition { reason, message, .. } = self.condition;
        gpu::xid(message).or_else(|| gpu::xid(reason)).map(i64::from)
    }

    /// What the XID means, such as `GPU has fallen off the bus`; empty if it is not known. Source: NVIDIA XID catalog.
    "xidMeaning": fn xid_meaning(&self) -> &'static str { gpu::known(self.xid()).map_or("", |(meaning, _)| meaning) }

    /// What the XID means for pods: `program` (only the program that caused it fails), `reset` (programs on the GPU fail until it
    /// is reset), `replace` (until the node is restarted or replaced), `watch` (they go on); empty if it is not known.
    /// Source: NVIDIA XID catalog.
    "xidEffect": fn xid_effect(&self) -> &'static str { gpu::known(self.xid()).map_or("", |(_, effect)| effect.name()) }

    /// Whether it is the state that OpenShift's machine-config-daemon reports in an annotation.
    /// Source: Node metadata.annotations[machineconfiguration.openshift.io/state].
    "isMachineConfig": fn is_machine_config(&self) -> bool { self.condition.kind == MACHINE_CONFIG }
}
