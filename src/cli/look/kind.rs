//! The kinds of objects that can be requested, by the names that kubectl accepts.

use std::sync::Arc;

use shindan_core::facts::route::NetworkKind;
use shindan_core::facts::{WorkloadKind, kind_with_group};

use crate::cli::found::OfPod;
use crate::cluster::discovery::{ResourceType, ResourceTypes};
use shindan_core::case::Category;
use shindan_core::rules;

/// A kind that can be requested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum Kind {
    Pod,
    Node,
    Workload(WorkloadKind),
    /// Diagnosed without pods of its own, and only locally.
    Route(NetworkKind),
    Custom(Arc<CustomKind>),
}

/// A kind of custom resources, found by discovery.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) struct CustomKind {
    pub(super) of: ResourceType,
    full_name: String,
    /// The kind; with its group if Kubernetes has a kind of this name.
    shown: String,
    /// Types whose objects it may control.
    pub(super) parts: Vec<ResourceType>,
}

impl Kind {
    /// The kinds that need no discovery.
    fn built_in() -> impl Iterator<Item = Self> {
        let with_pods = [Self::Pod, Self::Node].into_iter().chain(WorkloadKind::ALL.map(Self::Workload));
        with_pods.chain(NetworkKind::diagnosed().map(Self::Route))
    }

    /// For output: `Deployment`, `service.serving.knative.dev`.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::Workload(kind) => kind.as_str(),
            Self::Route(kind) => kind.as_str(),
            Self::Custom(kind) => &kind.shown,
        }
    }

    /// Resource name in the API; with its group for a custom resource.
    pub(super) fn plural(&self) -> &str {
        match self {
            Self::Pod => "pods",
            Self::Node => "nodes",
            Self::Workload(kind) => kind.plural(),
            Self::Route(kind) => kind.plural(),
            Self::Custom(kind) => &kind.full_name,
        }
    }

    /// The API group; empty for the core group.
    fn group(&self) -> &str {
        let api_version = match self {
            Self::Pod | Self::Node => "v1",
            Self::Workload(kind) => kind.api_version(),
            Self::Route(kind) => kind.api_version(),
            Self::Custom(kind) => return &kind.of.group,
        };
        group_of(api_version)
    }

    /// Names that kubectl accepts: singular, plural and short.
    fn names(&self) -> Vec<String> {
        let short: &[&str] = match self {
            Self::Pod => &["po"],
            Self::Node => &["no"],
            Self::Workload(WorkloadKind::Deployment) => &["deploy"],
            Self::Workload(WorkloadKind::StatefulSet) => &["sts"],
            Self::Workload(WorkloadKind::DaemonSet) => &["ds"],
            Self::Workload(WorkloadKind::Job) | Self::Custom(_) => &[],
            Self::Workload(WorkloadKind::CronJob) => &["cj"],
            Self::Route(kind) => short_names(*kind),
        };
        let names = [self.as_str().to_ascii_lowercase(), self.plural().to_owned()];
        names.into_iter().chain(short.iter().map(|&name| name.to_owned())).collect()
    }

    /// Whether an object of this API version and kind is one of these.
    pub(super) fn is_of(&self, api_version: &str, kind: &str) -> bool {
        let own = if let Self::Custom(custom) = self { &*custom.of.kind } else { self.as_str() };
        own == kind && self.group() == group_of(api_version)
    }

    /// Whether its objects have no namespace.
    pub(super) fn is_cluster_scoped(&self) -> bool {
        match self {
            Self::Node => true,
            Self::Custom(kind) => !kind.of.is_namespaced,
            Self::Pod | Self::Workload(_) | Self::Route(_) => false,
        }
    }

    /// Whether the pod's diagnosis belongs to this kind: the pod itself, its workload or its node.
    pub(super) fn has(&self, pod: &OfPod) -> bool {
        match self {
            Self::Pod => true,
            Self::Node => fails_by_node(pod),
            Self::Workload(_) | Self::Custom(_) => {
                pod.spec.workload.as_ref().is_some_and(|own| self.is_of(&own.api_version, &own.kind))
            }
            Self::Route(_) => false,
        }
    }

    /// A kind that needs no discovery: `deploy`, `deployments.apps`, `Deployment`.
    pub(super) fn without_discovery(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        let (name, group) = lower.split_once('.').map_or((&*lower, None), |(name, group)| (name, Some(group)));
        // A version may precede the group: deployments.v1.apps, pods.v1.
        let is_version =
            |label: &str| label.strip_prefix('v').is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()));
        let group = group.map(|group| match group.split_once('.') {
            Some((version, rest)) if is_version(version) => rest,
            None if is_version(group) => "",
            _ => group,
        });
        Self::built_in().find(|kind| {
            group.is_none_or(|group| group == kind.group()) && kind.names().iter().any(|known| known == name)
        })
    }

    /// The kind that a word names, and a note if other kinds have the name too.
    pub(super) fn of(word: &str, types: &ResourceTypes) -> Result<(Self, Option<String>), String> {
        if let Some(kind) = Self::without_discovery(word) {
            return Ok((kind, None));
        }
        let named = types.named(word);
        let Some((first, others)) = named.split_first() else {
            return Err(format!(
                "the server doesn't have a resource type {word:?}; the kinds are {}, and custom resources",
                kinds().collect::<Vec<_>>().join(", ")
            ));
        };
        let names: Vec<String> = others.iter().map(|of| of.full_name()).collect();
        let note = (!names.is_empty()).then(|| {
            format!("{word} is {} here, as for kubectl; there is also {}", first.full_name(), names.join(", "))
        });
        let is_it = |kind: &Self| kind.is_of(&first.api_version(), &first.kind);
        if let Some(kind) = Self::built_in().find(is_it) {
            return Ok((kind, note));
        }
        if !first.is_custom() {
            return Err(format!(
                "{} are not diagnosed; the kinds are {}, and custom resources",
                first.plural,
                kinds().collect::<Vec<_>>().join(", ")
            ));
        }
        Ok((Self::custom(first, types), note))
    }

    fn custom(of: &ResourceType, types: &ResourceTypes) -> Self {
        Self::Custom(Arc::new(CustomKind {
            of: of.clone(),
            full_name: of.full_name(),
            shown: kind_with_group(&of.api_version(), &of.kind).into_owned(),
            parts: types.family(of),
        }))
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether a pod fails because of its node.
pub(super) fn fails_by_node(pod: &OfPod) -> bool {
    rules::find(&pod.status.head.cause).is_some_and(|rule| rule.category == Category::Node)
}

/// Names of the kinds that need no discovery.
pub(in crate::cli) fn kinds() -> impl Iterator<Item = String> {
    Kind::built_in().map(|kind| kind.as_str().to_ascii_lowercase())
}

/// Short names of kubectl, and `gw`, by which Gateways are often called.
fn short_names(kind: NetworkKind) -> &'static [&'static str] {
    match kind {
        NetworkKind::Ingress => &["ing"],
        NetworkKind::Gateway => &["gtw", "gw"],
        NetworkKind::Service => &["svc"],
        NetworkKind::HorizontalPodAutoscaler => &["hpa"],
        NetworkKind::PodDisruptionBudget => &["pdb"],
        NetworkKind::PersistentVolumeClaim => &["pvc"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::discovery::tests::sample;

    #[test]
    fn a_custom_kind_is_found_among_the_types_of_the_server() {
        for (word, plural, shown) in [
            ("certificate.cert-manager.io", "certificates.cert-manager.io", "Certificate"),
            ("certs.cert-manager.io", "certificates.cert-manager.io", "Certificate"),
            ("clusterissuers", "clusterissuers.cert-manager.io", "ClusterIssuer"),
            // Kubernetes has a kind of this name.
            ("ksvc", "services.serving.knative.dev", "service.serving.knative.dev"),
            ("service.serving.knative.dev", "services.serving.knative.dev", "service.serving.knative.dev"),
            ("service", "services", "Service"),
            ("gw", "gateways", "Gateway"),
        ] {
            let (kind, note) = Kind::of(word, &sample()).unwrap();
            assert_eq!((kind.plural(), kind.as_str(), note), (plural, shown, None), "{word}");
        }
        let (issuer, _) = Kind::of("clusterissuer", &sample()).unwrap();
        let (certificate, _) = Kind::of("certificate.cert-manager.io", &sample()).unwrap();
        assert!(issuer.is_cluster_scoped() && !certificate.is_cluster_scoped());
    }

    #[test]
    fn the_first_of_several_types_is_taken_as_by_kubectl() {
        let (kind, note) = Kind::of("certificate", &sample()).unwrap();
        assert_eq!(kind.plural(), "certificates.cert-manager.io");
        let expected = "certificate is certificates.cert-manager.io here, as for kubectl; \
            there is also certificates.not-cert-manager.io";
        assert_eq!(note.as_deref(), Some(expected));
    }

    #[test]
    fn an_object_belongs_to_a_kind_by_its_group() {
        let (knative, _) = Kind::of("ksvc", &sample()).unwrap();
        assert!(knative.is_of("serving.knative.dev/v1", "Service") && !knative.is_of("v1", "Service"));
        let service = Kind::Route(NetworkKind::Service);
        assert!(service.is_of("v1", "Service") && !service.is_of("serving.knative.dev/v1", "Service"));
        let ingress = Kind::Route(NetworkKind::Ingress);
        assert!(ingress.is_of("networking.k8s.io/v1", "Ingress") && !ingress.is_of("v1", "Ingress"));
    }
}
