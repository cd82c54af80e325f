//! The kinds of a request's path, autoscalers and disruption budgets: listed only where one of them is asked for.

use serde_json::value::RawValue;
use shindan_core::facts::route::NetworkKind;
use shindan_core::wire::Dump;

use super::{Failure, Lacking, Lister, Snapshot, Type};

/// Whether the kind is listed with the pods, which it explains too.
pub(super) fn is_listed_for_pods(kind: NetworkKind) -> bool {
    matches!(kind, NetworkKind::Service | NetworkKind::EndpointSlice | NetworkKind::PersistentVolumeClaim)
}

/// Whether objects of other namespaces refer to those of this kind, or depend on them.
fn concerns_other_namespaces(kind: NetworkKind) -> bool {
    matches!(kind, NetworkKind::Gateway | NetworkKind::ReferenceGrant)
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

/// Notes that all objects of a kind were listed, so that one that is not there does not exist.
pub(super) fn know_all(kind: NetworkKind, namespace: Option<&str>, dump: &mut Dump) {
    match namespace.filter(|_| !kind.is_cluster_scoped()) {
        Some(namespace) => dump.listed.add_within(kind, namespace),
        None => dump.listed.add(kind),
    }
}

impl Lister<'_> {
    /// Lists the kinds of the paths of requests. Those that the cluster does not have are left out.
    pub(super) async fn routes(&self, namespace: Option<&str>, snapshot: &mut Snapshot) -> Result<(), Failure> {
        for kind in NetworkKind::ALL.into_iter().filter(|kind| !is_listed_for_pods(*kind)) {
            self.in_reach(kind, namespace, snapshot).await?;
        }
        Ok(())
    }

    /// Lists the objects of a kind in the namespace, and in all others if the user may.
    async fn in_reach(
        &self,
        kind: NetworkKind,
        namespace: Option<&str>,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        if namespace.is_some() && concerns_other_namespaces(kind) {
            match self.route(kind, None, snapshot).await {
                Err(failure) if failure.is_forbidden() => {}
                Err(failure) if failure.is_not_found() => return Ok(()),
                listed => return listed,
            }
        }
        match self.route(kind, namespace, snapshot).await {
            Err(failure) if failure.is_not_found() => Ok(()),
            Err(refusal) if refusal.is_forbidden() => {
                let without = "the hops of a request through them are not checked";
                snapshot.lacking.push(Lacking { what: kind.plural().into(), without, refusal });
                Ok(())
            }
            listed => listed,
        }
    }

    async fn route(&self, kind: NetworkKind, namespace: Option<&str>, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let add = |dump: &mut Dump, items: &[Box<RawValue>]| dump.read_items(kind.as_str(), items);
        let of = Type { api_version: kind.api_version(), kind: kind.as_str(), plural: kind.plural() };
        self.list_at(of, &path(kind, namespace), None, &mut snapshot.dump, add).await?;
        know_all(kind, namespace, &mut snapshot.dump);
        Ok(())
    }
}
