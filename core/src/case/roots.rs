//! Roots: objects outside the pod that cause its failure. Many pods can share a root, which is reported once.
//!
//! A cause file sets the root with its texts, and other rules in their finding (`rooted`). Only objects that the
//! cluster names for certain are roots. There is none if the pod itself (its program, its limits, its spec) or
//! something unknown causes the failure.

use super::{Case, Category, Finding};
use crate::api::Root;
use crate::facts::VolumeSource;
use crate::message::text;

/// Kinds of roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootKind {
    Node,
    /// The registry host of an image: `registry.example.com:5000`, `docker.io`.
    Registry,
    /// The full image reference in the pod.
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
    /// `key=value` or only a key, which no node has.
    NodeLabel,
    /// The key of a taint that excludes all nodes.
    Taint,
    /// `cpu`, `memory`, `ephemeral-storage` or `pods`, which is exhausted on all nodes.
    Capacity,
    /// A device that no node has, or has left.
    ExtendedResource,
    PriorityClass,
    ResourceQuota,
    /// An admission webhook, by its name in the API server's message.
    Webhook,
    ValidatingAdmissionPolicy,
    Service,
    /// `host:port` that a program cannot reach, as in its message. A short name belongs to the namespace of the pod.
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

    /// Parses the name of a kind.
    pub fn named_so(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether the same name refers to the same object in all namespaces.
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

    /// Creates a root of this kind. The name is untrusted text from the cluster.
    pub fn named(self, name: &str) -> Root {
        Root { kind: self.as_str().to_owned(), name: text::line(name, text::EVIDENCE_MAX) }
    }
}

/// The root of a finding, if it is outside the pod. Failures in the category Node have the node as root.
pub(crate) fn of(case: &Case<'_>, category: Category, finding: &Finding) -> Option<Root> {
    finding.root.clone().or_else(|| node(case).filter(|_| category == Category::Node))
}

/// The pod's node.
pub(crate) fn node(case: &Case<'_>) -> Option<Root> {
    case.pod.node_name.as_deref().map(|name| RootKind::Node.named(name))
}

/// The object behind a volume: the claim of a volume of the pod, or else the PersistentVolume. A volume that the pod
/// itself defines has no root.
pub(crate) fn volume(case: &Case<'_>, name: &str) -> Option<Root> {
    match case.pod.volume_source(name) {
        Some(VolumeSource::Claim { name, .. }) => Some(RootKind::PersistentVolumeClaim.named(name)),
        Some(_) => None,
        // The attacher and the kubelet report the PersistentVolume of a claim. Old kubelets report a path, which is not
        // the name of an object.
        None => {
            (case.pod.claims().next().is_some() && !name.contains('/')).then(|| RootKind::PersistentVolume.named(name))
        }
    }
}
