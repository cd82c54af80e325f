//! The kinds of a request's path, autoscalers and disruption budgets: listed only where one of them is asked for.

use shindan_core::facts::route::NetworkKind;

/// Whether the kind is listed with the pods, which it explains too.
pub(super) fn is_listed_for_pods(kind: NetworkKind) -> bool {
    matches!(kind, NetworkKind::Service | NetworkKind::EndpointSlice | NetworkKind::PersistentVolumeClaim)
}

/// The URL path of its objects.
pub(super) fn path(kind: NetworkKind, namespace: Option<&str>) -> String {
    let (version, plural) = (kind.api_version(), kind.plural());
    let api = if kind.group().is_empty() { "api" } else { "apis" };
    match namespace.filter(|_| !kind.is_cluster_scoped()) {
        Some(namespace) => format!("/{api}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/{api}/{version}/{plural}"),
    }
}
