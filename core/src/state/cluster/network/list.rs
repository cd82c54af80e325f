//! Which lists are complete. An object can only be missing where all objects of its kind were listed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Affected, NetworkState};
use crate::facts::ObjectKey;
use crate::facts::route::NetworkKind;

impl NetworkState {
    /// Nothing is decided before these lists have arrived, or were found to be impossible.
    pub(in crate::state) fn await_lists(&mut self, lists: impl IntoIterator<Item = (NetworkKind, Option<Arc<str>>)>) {
        self.awaited.extend(lists);
    }

    /// Whether all awaited lists have arrived.
    pub(in crate::state) fn is_complete(&self) -> bool {
        self.is_on && self.awaited.is_empty()
    }

    /// A list has arrived, or cannot. Returns whether it was the last one that was awaited.
    pub(in crate::state) fn settle(&mut self, kind: NetworkKind, namespace: Option<&Arc<str>>) -> bool {
        self.awaited.remove(&(kind, namespace.cloned())) && self.awaited.is_empty()
    }

    /// All objects of a kind are known, in one namespace or in all.
    pub(in crate::state) fn listed(&mut self, kind: NetworkKind, namespace: Option<&Arc<str>>) -> Affected {
        if !self.is_on || self.is_given {
            return Affected::new();
        }
        let is_news = !self.network.listed.has(kind, namespace.map_or("", |of| of));
        match namespace {
            Some(namespace) => self.network.listed.add_within(kind, namespace),
            None if self.namespaces.is_empty() || kind.is_cluster_scoped() => self.network.listed.add(kind),
            None => {
                for namespace in &self.namespaces {
                    self.network.listed.add_within(kind, namespace);
                }
            }
        }
        if !is_news {
            return Affected::new();
        }
        if kind == NetworkKind::EndpointSlice {
            let services: Vec<ObjectKey> = self.network.services.keys().cloned().collect();
            for service in services {
                let _ = self.endpoints_changed(&service);
            }
        }
        self.keys().collect()
    }

    /// A kind can no longer be listed: no object of it counts as missing.
    pub(in crate::state) fn unlisted(&mut self, kind: NetworkKind) -> Affected {
        self.network.listed.remove(kind);
        self.keys().collect()
    }

    /// The known objects of a kind that a new list does not have.
    pub(in crate::state) fn absent(
        &self,
        kind: NetworkKind,
        namespace: Option<&Arc<str>>,
        present: &BTreeSet<ObjectKey>,
    ) -> BTreeSet<ObjectKey> {
        let known: Vec<ObjectKey> = match kind {
            NetworkKind::IngressClass => self.network.ingress_classes.iter().map(|of| key("", &of.name)).collect(),
            NetworkKind::GatewayClass => self.network.gateway_classes.iter().map(|of| key("", &of.name)).collect(),
            NetworkKind::ReferenceGrant => self.network.grants.iter().map(|of| key(&of.namespace, &of.name)).collect(),
            NetworkKind::EndpointSlice => self.slices.keys().cloned().collect(),
            _ => self.keys().filter(|(of, _)| *of == kind).map(|(_, key)| key).collect(),
        };
        let is_within = |key: &ObjectKey| namespace.is_none_or(|namespace| *namespace == key.namespace);
        known.into_iter().filter(|key| is_within(key) && !present.contains(key)).collect()
    }
}

fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(namespace, name)
}
