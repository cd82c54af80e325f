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
    /// Names of the claims that the templates of workloads use, by namespace.
    pub template_claims: BTreeMap<Arc<str>, BTreeMap<WorkloadKey, BTreeSet<String>>>,
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

    /// Whether a pod or the template of a workload uses a claim, or a StatefulSet keeps it for a pod that is not there now.
    pub fn uses_claim(&self, namespace: &str, name: &str) -> bool {
        let is_of_template =
            |claims: &BTreeMap<WorkloadKey, BTreeSet<String>>| claims.values().any(|of| of.contains(name));
        self.pods_in(namespace).any(|pod| pod.claims.iter().any(|claim| **claim == *name))
            || self.template_claims.get(namespace).is_some_and(is_of_template)
            || self.workloads_in(namespace).any(|of| is_of_stateful_set(&of.key, name))
    }

    /// The workloads of a namespace.
    pub fn workloads_in<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a Labelled> + use<'a> {
        self.workloads.get(namespace).into_iter().flat_map(BTreeMap::values)
    }
}

/// Whether a claim has the name of one that this StatefulSet makes: `TEMPLATE-SET-ORDINAL`.
fn is_of_stateful_set(workload: &WorkloadKey, claim: &str) -> bool {
    let Some((rest, ordinal)) = claim.rsplit_once('-') else { return false };
    let is_ordinal = !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit());
    let template = rest.strip_suffix(&*workload.name).and_then(|rest| rest.strip_suffix('-'));
    &*workload.kind == "StatefulSet" && is_ordinal && template.is_some_and(|of| !of.is_empty())
}
