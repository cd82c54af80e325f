//! What a cause lies in, where that is outside the pod: many pods may fail of it, and it is told once.
//!
//! A row says it beside its words (`Row::root`), any other rule in its finding (`rooted`). Only what the cluster names for
//! certain is a root: where the pod itself (its program, its limits, its own spec) or nobody known is to blame there is none.

use super::rule::Category;
use super::{Case, Finding, text};
use crate::api::Root;
use crate::facts::VolumeSource;

/// The kinds of what a pod's cause can lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootKind {
    Node,
    /// The host that an image's name means: `registry.example.com:5000`, `docker.io`.
    Registry,
    /// The full reference, as the pod has it.
    Image,
    ConfigMap,
    Secret,
    ServiceAccount,
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CsiDriver,
    RuntimeClass,
    Scheduler,
    /// `key=value`, or a key alone, that no node has.
    NodeLabel,
    /// The key of a taint that closes all nodes.
    Taint,
    /// `cpu`, `memory`, `ephemeral-storage` or `pods`, of which all nodes are full.
    Capacity,
    /// A device of which no node has (or has left) any.
    ExtendedResource,
    PriorityClass,
    ResourceQuota,
    /// An admission webhook, as the API server names it.
    Webhook,
    ValidatingAdmissionPolicy,
    Service,
    /// `host:port` that a program cannot reach, as it says it: a short name is one of the pod's namespace.
    Host,
}

impl RootKind {
    pub const ALL: [Self; 22] = [
        Self::Node,
        Self::Registry,
        Self::Image,
        Self::ConfigMap,
        Self::Secret,
        Self::ServiceAccount,
        Self::PersistentVolumeClaim,
        Self::PersistentVolume,
        Self::StorageClass,
        Self::CsiDriver,
        Self::RuntimeClass,
        Self::Scheduler,
        Self::NodeLabel,
        Self::Taint,
        Self::Capacity,
        Self::ExtendedResource,
        Self::PriorityClass,
        Self::ResourceQuota,
        Self::Webhook,
        Self::ValidatingAdmissionPolicy,
        Self::Service,
        Self::Host,
    ];

    /// The kind of this name.
    pub fn named_so(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether the same name means the same thing in all namespaces.
    pub const fn is_of_the_cluster(self) -> bool {
        !matches!(
            self,
            Self::ConfigMap
                | Self::Secret
                | Self::ServiceAccount
                | Self::PersistentVolumeClaim
                | Self::ResourceQuota
                | Self::Service
                | Self::Host
        )
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::Registry => "Registry",
            Self::Image => "Image",
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::ServiceAccount => "ServiceAccount",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::PersistentVolume => "PersistentVolume",
            Self::StorageClass => "StorageClass",
            Self::CsiDriver => "CSIDriver",
            Self::RuntimeClass => "RuntimeClass",
            Self::Scheduler => "Scheduler",
            Self::NodeLabel => "NodeLabel",
            Self::Taint => "Taint",
            Self::Capacity => "Capacity",
            Self::ExtendedResource => "ExtendedResource",
            Self::PriorityClass => "PriorityClass",
            Self::ResourceQuota => "ResourceQuota",
            Self::Webhook => "Webhook",
            Self::ValidatingAdmissionPolicy => "ValidatingAdmissionPolicy",
            Self::Service => "Service",
            Self::Host => "Host",
        }
    }

    /// The root of this kind and name; the name is text from the cluster.
    pub fn named(self, name: &str) -> Root {
        Root { kind: self.as_str().to_owned(), name: text::line(name, text::EVIDENCE_MAX) }
    }
}

/// The root of a finding, if it lies outside the pod. What a node does to its pods lies in the node.
pub(super) fn of(case: &Case<'_>, category: Category, finding: &Finding) -> Option<Root> {
    finding.root.clone().or_else(|| node(case).filter(|_| category == Category::Node))
}

/// The pod's node.
pub(super) fn node(case: &Case<'_>) -> Option<Root> {
    case.pod.node_name.as_deref().map(|name| RootKind::Node.named(name))
}

/// What is behind the volume of this name: the claim of a volume of the pod, else the PersistentVolume itself. What the
/// pod declares of a volume is its own.
pub(super) fn volume(case: &Case<'_>, name: &str) -> Option<Root> {
    match case.pod.volume_source(name) {
        Some(VolumeSource::Claim { name, .. }) => Some(RootKind::PersistentVolumeClaim.named(name)),
        Some(_) => None,
        // The attacher and the kubelet name the PersistentVolume of a claim; old ones a path that is no object's name.
        None => {
            (case.pod.claims().next().is_some() && !name.contains('/')).then(|| RootKind::PersistentVolume.named(name))
        }
    }
}
