//! Any object that is read for the network, in one type.

use super::{
    AutoscalerFacts, BackendService, BudgetFacts, GatewayClassFacts, GatewayFacts, GrantFacts, Identity,
    IngressClassFacts, IngressFacts, RouteFacts, SliceFacts, VolumeClaimFacts,
};
use crate::facts::{ObjectKey, WorkloadKey, WorkloadName};

/// A kind that is read for the path of a request, for autoscalers or for disruption budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkKind {
    Ingress,
    IngressClass,
    Gateway,
    GatewayClass,
    HttpRoute,
    GrpcRoute,
    ReferenceGrant,
    Service,
    EndpointSlice,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    PersistentVolumeClaim,
    Pod,
    /// Only its name is read, and only in dumps.
    Secret,
}

impl NetworkKind {
    /// The kinds of objects that are a [`NetworkObject`].
    pub const ALL: [Self; 12] = [
        Self::Ingress,
        Self::IngressClass,
        Self::Gateway,
        Self::GatewayClass,
        Self::HttpRoute,
        Self::GrpcRoute,
        Self::ReferenceGrant,
        Self::Service,
        Self::EndpointSlice,
        Self::HorizontalPodAutoscaler,
        Self::PodDisruptionBudget,
        Self::PersistentVolumeClaim,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ingress => "Ingress",
            Self::IngressClass => "IngressClass",
            Self::Gateway => "Gateway",
            Self::GatewayClass => "GatewayClass",
            Self::HttpRoute => "HTTPRoute",
            Self::GrpcRoute => "GRPCRoute",
            Self::ReferenceGrant => "ReferenceGrant",
            Self::Service => "Service",
            Self::EndpointSlice => "EndpointSlice",
            Self::HorizontalPodAutoscaler => "HorizontalPodAutoscaler",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::Pod => "Pod",
            Self::Secret => "Secret",
        }
    }

    /// Its API version in diagnoses. Objects of other versions of the group are read too.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Ingress | Self::IngressClass => "networking.k8s.io/v1",
            Self::Gateway | Self::GatewayClass | Self::HttpRoute | Self::GrpcRoute => "gateway.networking.k8s.io/v1",
            Self::ReferenceGrant => "gateway.networking.k8s.io/v1beta1",
            Self::Service | Self::PersistentVolumeClaim | Self::Pod | Self::Secret => "v1",
            Self::EndpointSlice => "discovery.k8s.io/v1",
            Self::HorizontalPodAutoscaler => "autoscaling/v2",
            Self::PodDisruptionBudget => "policy/v1",
        }
    }

    /// Plural name in API URLs.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Ingress => "ingresses",
            Self::IngressClass => "ingressclasses",
            Self::Gateway => "gateways",
            Self::GatewayClass => "gatewayclasses",
            Self::HttpRoute => "httproutes",
            Self::GrpcRoute => "grpcroutes",
            Self::ReferenceGrant => "referencegrants",
            Self::Service => "services",
            Self::EndpointSlice => "endpointslices",
            Self::HorizontalPodAutoscaler => "horizontalpodautoscalers",
            Self::PodDisruptionBudget => "poddisruptionbudgets",
            Self::PersistentVolumeClaim => "persistentvolumeclaims",
            Self::Pod => "pods",
            Self::Secret => "secrets",
        }
    }

    /// The kinds whose objects are diagnosed themselves.
    pub fn diagnosed() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.is_diagnosed())
    }

    /// Its API group; empty for the core group.
    pub fn group(self) -> &'static str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// The kind of a diagnosed object.
    pub fn of(object: &WorkloadName) -> Option<Self> {
        let is_it = |kind: &Self| *object.kind == *kind.as_str() && object.group() == kind.group();
        Self::diagnosed().find(is_it)
    }

    /// The key of its diagnosis for an object of this kind.
    pub fn workload(self, key: &ObjectKey) -> WorkloadKey {
        let (namespace, name) = (key.namespace.clone(), key.name.clone());
        WorkloadName { api_version: self.api_version().into(), kind: self.as_str().into(), namespace, name }.into()
    }

    /// Whether its objects belong to no namespace.
    pub const fn is_cluster_scoped(self) -> bool {
        matches!(self, Self::IngressClass | Self::GatewayClass)
    }

    /// Whether its objects are diagnosed themselves.
    pub const fn is_diagnosed(self) -> bool {
        matches!(
            self,
            Self::Ingress
                | Self::Gateway
                | Self::HttpRoute
                | Self::GrpcRoute
                | Self::Service
                | Self::HorizontalPodAutoscaler
                | Self::PodDisruptionBudget
                | Self::PersistentVolumeClaim
        )
    }
}

/// An object that is read for the network.
#[derive(Debug, Clone, PartialEq)]
pub enum NetworkObject {
    Ingress(IngressFacts),
    IngressClass(IngressClassFacts),
    Gateway(GatewayFacts),
    GatewayClass(GatewayClassFacts),
    Route(RouteFacts),
    Grant(GrantFacts),
    Service(BackendService),
    Slice(SliceFacts),
    Autoscaler(AutoscalerFacts),
    Budget(BudgetFacts),
    Claim(VolumeClaimFacts),
}

impl NetworkObject {
    pub fn key(&self) -> ObjectKey {
        let of = |identity: &Identity| ObjectKey::new(identity.key.namespace.clone(), identity.key.name.clone());
        match self {
            Self::Ingress(of_kind) => of(&of_kind.identity),
            Self::Gateway(of_kind) => of(&of_kind.identity),
            Self::Route(of_kind) => of(&of_kind.identity),
            Self::Autoscaler(of_kind) => of(&of_kind.identity),
            Self::Budget(of_kind) => of(&of_kind.identity),
            Self::Claim(of_kind) => of(&of_kind.identity),
            Self::IngressClass(class) => ObjectKey::new("", class.name.as_str()),
            Self::GatewayClass(class) => ObjectKey::new("", class.name.as_str()),
            Self::Grant(grant) => ObjectKey::new(grant.namespace.as_str(), grant.name.as_str()),
            Self::Service(service) => service.key.clone(),
            Self::Slice(slice) => slice.key.clone(),
        }
    }
}
