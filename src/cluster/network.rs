//! Follows the objects on the path of a request, autoscalers and disruption budgets (`--network`).

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use kube::Client;
use kube::api::{ApiResource, GroupVersionKind};
use kube::core::ObjectMeta;
use kube::discovery::Scope as KindScope;
use shindan_core::facts::ObjectKey;
use shindan_core::facts::route::NetworkKind;
use shindan_core::state::{Change, NetworkChange};
use shindan_core::wire::{
    Autoscaler, Budget, Dynamic, EndpointSlice, Gateway, GatewayClass, Ingress, IngressClass, Interner, NetworkWire,
    PersistentVolumeClaim, ReferenceGrant, Route, Service,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Scope;
use super::follow::{Access, Board, Follower, Kind, Served, Standings, Target};
use crate::http::Health;

/// The lists that the state must await.
pub fn lists(scope: &Scope) -> Vec<(NetworkKind, Option<Arc<str>>)> {
    let all = NetworkKind::ALL.into_iter().filter(|kind| is_followed(*kind, scope));
    all.flat_map(|kind| scope.each().into_iter().map(move |namespace| (kind, namespace.map(Arc::from)))).collect()
}

/// With permissions in single namespaces, kinds of the cluster cannot be read.
fn is_followed(kind: NetworkKind, scope: &Scope) -> bool {
    scope.namespaces.is_empty() || !kind.is_cluster_scoped()
}

/// Starts to follow them. The tasks end when the set is dropped or the engine ends.
pub fn spawn(client: &Client, scope: &Scope, changes: &mpsc::Sender<Change>, health: &Health) -> JoinSet<()> {
    let board = Board::new(health.clone());
    let mut starter = Starter { client, scope, changes, board, tasks: JoinSet::new() };
    for kind in NetworkKind::ALL.into_iter().filter(|kind| is_followed(*kind, scope)) {
        match kind {
            NetworkKind::Ingress => starter.start::<Ingress>(kind),
            NetworkKind::IngressClass => starter.start::<IngressClass>(kind),
            NetworkKind::Gateway => starter.start::<Gateway>(kind),
            NetworkKind::GatewayClass => starter.start::<GatewayClass>(kind),
            NetworkKind::HttpRoute | NetworkKind::GrpcRoute => starter.start::<Route>(kind),
            NetworkKind::ReferenceGrant => starter.start::<ReferenceGrant>(kind),
            NetworkKind::Service => starter.start::<Service>(kind),
            NetworkKind::EndpointSlice => starter.start::<EndpointSlice>(kind),
            NetworkKind::HorizontalPodAutoscaler => starter.start::<Autoscaler>(kind),
            NetworkKind::PodDisruptionBudget => starter.start::<Budget>(kind),
            NetworkKind::PersistentVolumeClaim => starter.start::<PersistentVolumeClaim>(kind),
            // Pods are watched anyway, and Secrets never.
            NetworkKind::Pod | NetworkKind::Secret => {}
        }
    }
    starter.tasks
}

struct Starter<'a> {
    client: &'a Client,
    scope: &'a Scope,
    changes: &'a mpsc::Sender<Change>,
    board: Board<NetworkKind>,
    tasks: JoinSet<()>,
}

impl Starter<'_> {
    fn start<W: NetworkWire + Sync>(&mut self, kind: NetworkKind) {
        for namespace in self.scope.each() {
            let target = OfNetwork::<W> { kind, wire: PhantomData };
            self.tasks.spawn(Follower::new(target, self.client, namespace, self.changes, &self.board).run());
        }
    }
}

impl Kind for NetworkKind {
    const PART: &'static str = "network";

    fn trouble(&self, access: &Access, _: &Standings<Self>) -> Option<String> {
        match access {
            Access::Followed => None,
            // The Gateway API is not part of Kubernetes.
            Access::NotInstalled => is_built_in(*self).then(|| format!("{self} is not served by the API server")),
            Access::Failing(message) => Some(message.clone()),
            Access::Forbidden => {
                Some(format!("not allowed to list and watch {self}; deploy/components/network has the role"))
            }
        }
    }
}

/// A kind, with its wire form.
struct OfNetwork<W> {
    kind: NetworkKind,
    wire: PhantomData<W>,
}

/// Whether a kind is part of Kubernetes, at a version that all supported releases serve.
fn is_built_in(kind: NetworkKind) -> bool {
    kind.group() != NetworkKind::Gateway.group()
}

impl<W: NetworkWire + Sync> Target for OfNetwork<W> {
    type Kind = NetworkKind;
    type Object = Dynamic<W>;
    type Key = ObjectKey;

    fn kind(&self) -> &NetworkKind {
        &self.kind
    }

    fn served(&self) -> Served<'_> {
        let kind = self.kind;
        let group = kind.group();
        if !is_built_in(kind) {
            return Served::InGroup(group);
        }
        let version = kind.api_version().rsplit('/').next().unwrap_or_default();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind.as_str()));
        let scope = if kind.is_cluster_scoped() { KindScope::Cluster } else { KindScope::Namespaced };
        Served::Always(resource, scope)
    }

    fn is_it(&self, resource: &ApiResource) -> bool {
        resource.kind == self.kind.as_str()
    }

    fn seen(&self, object: Self::Object, _: &ApiResource, _: &mut Interner) -> (ObjectKey, Option<Change>) {
        let key = key(object.0.metadata());
        let seen = object.0.into_object(self.kind).map(|object| NetworkChange::Seen(Box::new(object)));
        (key, seen.map(Change::Network))
    }

    fn deleted(&self, key: ObjectKey) -> Change {
        Change::Network(NetworkChange::Deleted(self.kind, key))
    }

    fn listed(&self, _: &ApiResource, namespace: Option<&str>, present: BTreeSet<ObjectKey>) -> Option<Change> {
        let namespace = namespace.map(Arc::from);
        Some(Change::Network(NetworkChange::Listed { kind: self.kind, namespace, present }))
    }

    fn unavailable(&self, namespace: Option<&str>) -> Option<Change> {
        Some(Change::Network(NetworkChange::Unavailable { kind: self.kind, namespace: namespace.map(Arc::from) }))
    }
}

fn key(meta: &ObjectMeta) -> ObjectKey {
    ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}
