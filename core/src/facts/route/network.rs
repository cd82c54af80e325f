//! All objects that the path of a request can lead through, as far as they were listed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{BackendPod, BackendService, GatewayClassFacts, GatewayFacts, GrantFacts, IngressClassFacts, NetworkKind};
use crate::facts::{EventFacts, Labelled, ObjectKey, WorkloadKey};

/// What was listed. An object can only be missing where all objects of its kind were listed: a dump may omit them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// Kinds that were listed in the whole cluster.
    everywhere: BTreeSet<NetworkKind>,
    /// Kinds that were listed in one namespace.
    within: BTreeSet<(NetworkKind, String)>,
}

impl Listed {
    /// All objects of this kind were listed.
    pub fn add(&mut self, kind: NetworkKind) {
        self.everywhere.insert(kind);
    }

    /// All objects of this kind in this namespace were listed.
    pub fn add_within(&mut self, kind: NetworkKind, namespace: &str) {
        self.within.insert((kind, namespace.to_owned()));
    }

    /// The objects of this kind are no longer known.
    pub fn remove(&mut self, kind: NetworkKind) {
        self.everywhere.remove(&kind);
        self.within.retain(|(of, _)| *of != kind);
    }

    /// Whether all objects of this kind in this namespace are known. Kinds of the cluster have the empty namespace.
    pub fn has(&self, kind: NetworkKind, namespace: &str) -> bool {
        self.everywhere.contains(&kind) || self.within.contains(&(kind, namespace.to_owned()))
    }
}

/// All objects that the path of a request can lead through.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Network {
    pub listed: Listed,
    pub ingress_classes: Vec<IngressClassFacts>,
    /// Whether a controller publishes the addresses of Ingresses: some Ingress has one.
    pub publishes_addresses: bool,
    pub gateway_classes: Vec<GatewayClassFacts>,
    pub gateways: BTreeMap<ObjectKey, GatewayFacts>,
    pub grants: Vec<GrantFacts>,
    pub services: BTreeMap<ObjectKey, BackendService>,
    /// Unfinished pods that are not being deleted, by namespace and name.
    pub pods: BTreeMap<Arc<str>, BTreeMap<Arc<str>, BackendPod>>,
    /// Workloads with pods that a Service can select, by namespace.
    pub workloads: BTreeMap<Arc<str>, BTreeMap<WorkloadKey, Labelled>>,
    /// Names of Secrets, if they were listed. Their content is never read.
    pub secrets: BTreeSet<ObjectKey>,
    /// Warning Events about Ingresses.
    pub events: Vec<EventFacts>,
}

impl Network {
    /// The Services of a namespace.
    pub fn services_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a BackendService> {
        let from = self.services.range(ObjectKey::new(namespace, "")..);
        from.take_while(move |(key, _)| *key.namespace == *namespace).map(|(_, service)| service)
    }

    /// The pods of a namespace.
    pub fn pods_in<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a BackendPod> + use<'a> {
        self.pods.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// The pods that a Service selects.
    pub fn pods_of<'a>(&'a self, service: &'a BackendService) -> impl Iterator<Item = &'a BackendPod> {
        self.pods_in(&service.key.namespace).filter(|pod| service.selects(&pod.labels))
    }

    /// The workloads of a namespace.
    pub fn workloads_in<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a Labelled> + use<'a> {
        self.workloads.get(namespace).into_iter().flat_map(BTreeMap::values)
    }
}
