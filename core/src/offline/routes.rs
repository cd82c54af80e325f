//! The objects on the path of a request, autoscalers and disruption budgets of a dump. A dump without them costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::case::{WorkloadCase, WorkloadJudged, top_workload};
use crate::facts::route::{BackendPod, BackendService, Identity, Listed, Network, NetworkKind, PodCause};
use crate::facts::{Labelled, Labels, NamedKind, ObjectKey, Phase, PodFacts, Timestamp, WorkloadFacts, WorkloadKey};
use crate::reconcile::{Plan, Write};
use crate::rules::route::{self, Evicted, Scaled};
use crate::state::World;
use crate::wire::{Dump, RouteObjects, backend_pod, backend_services};

/// What a dump has of them, and what they lead to.
#[derive(Debug, Default)]
pub(super) struct Routes {
    objects: RouteObjects,
    network: Network,
    pods: Vec<Placed>,
    cordoned: BTreeSet<Arc<str>>,
}

/// A pod as autoscalers and budgets need it.
#[derive(Debug)]
struct Placed {
    key: ObjectKey,
    labels: Labels,
    node: Option<Arc<str>>,
    workload: Option<WorkloadKey>,
    is_pending: bool,
    is_ready: bool,
}

impl Placed {
    fn of(pod: &PodFacts) -> Option<Self> {
        (!pod.is_over() && pod.deletion.is_none()).then(|| Self {
            key: pod.key.clone(),
            labels: pod.labels.clone(),
            node: pod.node_name.clone(),
            workload: top_workload(pod, None),
            is_pending: pod.phase == Phase::Pending,
            is_ready: pod.is_ready(),
        })
    }
}

impl Routes {
    /// Takes the objects of a dump. Its Services and pods are read only if they are needed.
    pub(super) fn of(dump: &mut Dump) -> Self {
        let objects = std::mem::take(&mut dump.routes);
        if objects.is_empty() && dump.services.is_empty() {
            return Self::default();
        }
        Self {
            network: network(dump, &objects),
            pods: dump.pods.iter().filter_map(Placed::of).collect(),
            cordoned: dump.nodes.iter().filter(|node| node.unschedulable).map(|node| node.name.clone()).collect(),
            objects,
        }
    }

    /// The plans for all objects, after their pods were diagnosed.
    pub(super) fn plans(&mut self, world: &mut World, pods: &[Write], now: Timestamp) -> Vec<Plan> {
        let causes: BTreeMap<&ObjectKey, PodCause> =
            pods.iter().map(|write| (&write.key.object, cause_of(write))).collect();
        for pod in self.network.pods.values_mut().flatten() {
            pod.cause = causes.get(&pod.key).cloned();
        }
        let network = &self.network;
        let mut plans = Vec::new();
        let mut decide = |identity: &Identity, judge: &dyn Fn(&WorkloadCase<'_>) -> WorkloadJudged| {
            plans.push(world.decide_object(&identity.as_workload(), judge, now));
        };
        for ingress in &self.objects.ingresses {
            let broken = route::walk_ingress(network, ingress);
            decide(&ingress.identity, &|case| route::judge_route(case, broken.as_ref()));
        }
        for gateway in &self.objects.gateways {
            let broken = route::walk_gateway(network, gateway);
            decide(&gateway.identity, &|case| route::judge_route(case, broken.as_ref()));
        }
        for of in &self.objects.routes {
            let broken = route::walk_route(network, of);
            decide(&of.identity, &|case| route::judge_route(case, broken.as_ref()));
        }
        let followed = self.followed();
        for service in network.services.values().filter(|service| !followed.contains(&service.key)) {
            let broken = route::walk_service(network, service);
            decide(&identity_of(service), &|case| route::judge_route(case, broken.as_ref()));
        }
        for autoscaler in &self.objects.autoscalers {
            let key = &autoscaler.identity.key;
            let is_target = |of: &WorkloadKey| *of.kind == autoscaler.target_kind && *of.name == autoscaler.target;
            let of_target = |pod: &&Placed| {
                pod.is_pending && *pod.key.namespace == *key.namespace && pod.workload.as_ref().is_some_and(is_target)
            };
            let pending = || self.pods.iter().filter(of_target);
            let cause = pending().find_map(|pod| causes.get(&pod.key)).map(|of| of.cause.clone()).unwrap_or_default();
            let problem = route::autoscaler_problem(autoscaler, &Scaled { pending: pending().count(), cause });
            decide(&autoscaler.identity, &|case| route::judge_autoscaler(case, problem.as_ref()));
        }
        for budget in &self.objects.budgets {
            let namespace = &budget.identity.key.namespace;
            let own = || self.pods.iter().filter(|pod| pod.key.namespace == *namespace && budget.selects(&pod.labels));
            let is_cordoned = |pod: &&Placed| pod.node.as_ref().is_some_and(|node| self.cordoned.contains(node));
            let placed = own().find(is_cordoned);
            let unhealthy = own().filter(|pod| !pod.is_ready).find(|pod| causes.contains_key(&pod.key));
            let evicted = Evicted {
                node: placed.and_then(|pod| pod.node.as_deref()).unwrap_or_default().to_owned(),
                pod: placed.map(|pod| pod.key.name.to_string()).unwrap_or_default(),
                since: None,
                unhealthy: unhealthy.map(|pod| pod.key.name.to_string()).unwrap_or_default(),
                cause: unhealthy.and_then(|pod| causes.get(&pod.key)).map(|of| of.cause.clone()).unwrap_or_default(),
            };
            let problem = route::budget_problem(budget, &evicted);
            decide(&budget.identity, &|case| route::judge_budget(case, problem.as_ref()));
        }
        plans
    }

    /// The Services that an Ingress or route leads to. Its diagnosis reports what is wrong with them.
    fn followed(&self) -> BTreeSet<ObjectKey> {
        let of_ingresses = self.objects.ingresses.iter().flat_map(|ingress| &ingress.paths);
        let of_ingresses = of_ingresses.filter_map(|path| path.backend.as_ref());
        let of_routes = self.objects.routes.iter().flat_map(|route| &route.rules).flat_map(|rule| &rule.backends);
        of_ingresses.chain(of_routes).map(|backend| backend.service.clone()).collect()
    }
}

fn identity_of(service: &BackendService) -> Identity {
    let name = crate::facts::WorkloadName {
        api_version: "v1".into(),
        kind: "Service".into(),
        namespace: service.key.namespace.clone(),
        name: service.key.name.clone(),
    };
    Identity { key: name.into(), uid: service.uid.clone(), created: service.created, ..Identity::default() }
}

fn cause_of(write: &Write) -> PodCause {
    let head = write.object.head();
    PodCause { cause: head.cause.clone(), summary: head.summary.clone() }
}

/// All objects that a path can lead through.
fn network(dump: &Dump, objects: &RouteObjects) -> Network {
    let services: BTreeMap<ObjectKey, BackendService> = backend_services(&dump.services, &dump.slices, &dump.endpoints)
        .into_iter()
        .map(|service| (service.key.clone(), service))
        .collect();
    let mut pods: BTreeMap<Arc<str>, Vec<BackendPod>> = BTreeMap::new();
    for pod in dump.pods.iter().filter_map(backend_pod) {
        pods.entry(pod.key.namespace.clone()).or_default().push(pod);
    }
    let mut workloads: BTreeMap<Arc<str>, Vec<Labelled>> = BTreeMap::new();
    for workload in dump.workloads.iter().filter_map(WorkloadFacts::labelled) {
        workloads.entry(workload.key.namespace.clone()).or_default().push(workload);
    }
    let of_secrets = dump.names.iter().filter(|(of, _)| of.kind == NamedKind::Secret && of.object.is_none());
    let secrets: BTreeSet<ObjectKey> = of_secrets
        .flat_map(|(of, names)| names.iter().map(|name| ObjectKey::new(of.namespace.clone(), name.clone())))
        .collect();
    let gateways: BTreeMap<ObjectKey, _> =
        objects.gateways.iter().map(|of| (key_of(&of.identity), of.clone())).collect();
    let is_about_ingress = |event: &&crate::facts::EventFacts| event.warning && &*event.regarding.kind == "Ingress";
    let mut network = Network {
        listed: Listed::default(),
        ingress_classes: objects.ingress_classes.clone(),
        publishes_addresses: objects.ingresses.iter().any(|ingress| ingress.has_address),
        gateway_classes: objects.gateway_classes.clone(),
        gateways,
        grants: objects.grants.clone(),
        services,
        pods,
        workloads,
        secrets,
        events: dump.events.iter().filter(is_about_ingress).cloned().collect(),
    };
    network.listed = listed(&network, dump);
    network
}

fn key_of(identity: &Identity) -> ObjectKey {
    ObjectKey::new(identity.key.namespace.clone(), identity.key.name.clone())
}

/// What a dump lists: kinds of the cluster of which it has an object, and kinds of namespaces in each namespace in which
/// it has one. A dump of all namespaces, which has the Service of the API server and others, lists a kind everywhere.
fn listed(network: &Network, dump: &Dump) -> Listed {
    let mut listed = Listed::default();
    if !network.ingress_classes.is_empty() {
        listed.add(NetworkKind::IngressClass);
    }
    if !network.gateway_classes.is_empty() {
        listed.add(NetworkKind::GatewayClass);
    }
    let of_services: BTreeSet<&str> = network.services.keys().map(|key| &*key.namespace).collect();
    let has_api_server = network.services.contains_key(&ObjectKey::new("default", "kubernetes"));
    let is_of_cluster = has_api_server && of_services.len() > 1;
    let namespaces: [(NetworkKind, BTreeSet<&str>); 5] = [
        (NetworkKind::Gateway, network.gateways.keys().map(|key| &*key.namespace).collect()),
        (NetworkKind::ReferenceGrant, network.grants.iter().map(|grant| grant.namespace.as_str()).collect()),
        (NetworkKind::Service, of_services),
        (NetworkKind::Pod, dump.pods.iter().map(|pod| &*pod.key.namespace).collect()),
        (NetworkKind::Secret, network.secrets.iter().map(|key| &*key.namespace).collect()),
    ];
    for (kind, within) in namespaces {
        if is_of_cluster && !within.is_empty() {
            listed.add(kind);
        }
        within.into_iter().for_each(|namespace| listed.add_within(kind, namespace));
    }
    listed
}
