//! The kinds of a request's path, autoscalers and disruption budgets: listed only where one of them is asked for.

/// A kind that is diagnosed without pods of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteKind {
    Ingress,
    Gateway,
    HttpRoute,
    GrpcRoute,
    Service,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
}

impl RouteKind {
    pub const ALL: [Self; 7] = [
        Self::Ingress,
        Self::Gateway,
        Self::HttpRoute,
        Self::GrpcRoute,
        Self::Service,
        Self::HorizontalPodAutoscaler,
        Self::PodDisruptionBudget,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ingress => "Ingress",
            Self::Gateway => "Gateway",
            Self::HttpRoute => "HTTPRoute",
            Self::GrpcRoute => "GRPCRoute",
            Self::Service => "Service",
            Self::HorizontalPodAutoscaler => "HorizontalPodAutoscaler",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
        }
    }

    /// The kind with this name and the group of this API version.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let group = |of: &str| of.split_once('/').map_or(String::new(), |(group, _)| group.to_owned());
        let is_it = |known: &Self| known.as_str() == kind && group(known.api_version()) == group(api_version);
        Self::ALL.into_iter().find(is_it)
    }

    /// Plural name in API URLs.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Ingress => "ingresses",
            Self::Gateway => "gateways",
            Self::HttpRoute => "httproutes",
            Self::GrpcRoute => "grpcroutes",
            Self::Service => "services",
            Self::HorizontalPodAutoscaler => "horizontalpodautoscalers",
            Self::PodDisruptionBudget => "poddisruptionbudgets",
        }
    }

    /// Short names of kubectl, and `gw`, by which Gateways are often called.
    pub const fn short(self) -> &'static [&'static str] {
        match self {
            Self::Ingress => &["ing"],
            Self::Gateway => &["gtw", "gw"],
            Self::HttpRoute | Self::GrpcRoute => &[],
            Self::Service => &["svc"],
            Self::HorizontalPodAutoscaler => &["hpa"],
            Self::PodDisruptionBudget => &["pdb"],
        }
    }

    /// The API version, such as `networking.k8s.io/v1`.
    pub fn api_version(self) -> &'static str {
        let api = self.api();
        api.split_once('/').map_or(api, |(_, version)| version)
    }

    /// The URL path of its objects.
    pub fn path(self, namespace: Option<&str>) -> String {
        of_group(self.api(), self.plural(), namespace)
    }

    const fn api(self) -> &'static str {
        match self {
            Self::Ingress => "apis/networking.k8s.io/v1",
            Self::Gateway | Self::HttpRoute | Self::GrpcRoute => "apis/gateway.networking.k8s.io/v1",
            Self::Service => "api/v1",
            Self::HorizontalPodAutoscaler => "apis/autoscaling/v2",
            Self::PodDisruptionBudget => "apis/policy/v1",
        }
    }
}

/// A kind to list for them, by its name, plural, API and whether it has a namespace.
pub(super) const LISTED: [(&str, &str, &str, bool); 9] = [
    ("Ingress", "ingresses", "apis/networking.k8s.io/v1", true),
    ("IngressClass", "ingressclasses", "apis/networking.k8s.io/v1", false),
    ("Gateway", "gateways", "apis/gateway.networking.k8s.io/v1", true),
    ("GatewayClass", "gatewayclasses", "apis/gateway.networking.k8s.io/v1", false),
    ("HTTPRoute", "httproutes", "apis/gateway.networking.k8s.io/v1", true),
    ("GRPCRoute", "grpcroutes", "apis/gateway.networking.k8s.io/v1", true),
    ("ReferenceGrant", "referencegrants", "apis/gateway.networking.k8s.io/v1beta1", true),
    ("HorizontalPodAutoscaler", "horizontalpodautoscalers", "apis/autoscaling/v2", true),
    ("PodDisruptionBudget", "poddisruptionbudgets", "apis/policy/v1", true),
];

/// The URL path of the objects of a kind.
pub(super) fn of_group(api: &str, plural: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("/{api}/namespaces/{namespace}/{plural}"),
        None => format!("/{api}/{plural}"),
    }
}
