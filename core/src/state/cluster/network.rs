//! The objects on the path of a request, autoscalers and disruption budgets, and what depends on what.
//!
//! Nothing is kept unless the operator follows them, or a dump has some of them.

mod endpoints;
mod list;
mod pod;
mod workload;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::facts::route::{
    BackendRef, BackendService, IngressFacts, Listed, Network, NetworkKind, NetworkObject, PodPorts, RouteFacts,
    SliceFacts,
};
use crate::facts::{EventFacts, ObjectKey, Timestamp, WorkloadFacts, WorkloadKey};
use crate::message::text;
use crate::outbox::{Lane, Subject};
use crate::state::Touched;
use crate::state::pool::Pool;

/// Most Warning Events about Ingresses that are kept, the newest of each reason and Ingress.
const EVENTS: usize = 500;

/// What is known of the network.
#[derive(Debug, Default)]
pub(in crate::state) struct NetworkState {
    is_on: bool,
    /// What is listed is given, as for a dump.
    is_given: bool,
    /// The only namespaces that are followed. Empty: all.
    namespaces: Vec<String>,
    /// Lists that have not arrived yet, by kind and namespace.
    awaited: BTreeSet<(NetworkKind, Option<Arc<str>>)>,
    pub(in crate::state) network: Network,
    /// Ingresses, routes, autoscalers and budgets, by kind. Gateways and Services are in `network`.
    objects: BTreeMap<NetworkKind, BTreeMap<ObjectKey, NetworkObject>>,
    slices: HashMap<ObjectKey, SliceFacts>,
    /// The slices of a Service.
    slices_of: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// The Ingresses and routes that lead to a Service, or that a Gateway serves.
    users: HashMap<(NetworkKind, ObjectKey), BTreeSet<(NetworkKind, ObjectKey)>>,
    /// Since when each object has had its present problem.
    since: HashMap<WorkloadKey, (String, Timestamp)>,
    ports: Pool<PodPorts>,
}

/// Objects to decide on again.
pub(in crate::state) type Affected = BTreeSet<(NetworkKind, ObjectKey)>;

impl NetworkState {
    pub(in crate::state) fn kept(&self) -> usize {
        let of_kinds: usize = self.objects.values().map(BTreeMap::len).sum();
        let pods: usize = self.network.pods.values().map(BTreeMap::len).sum();
        of_kinds + pods + self.network.services.len() + self.slices.len() + self.users.len() + self.since.len()
    }

    /// Follows the network. `namespaces`: the only ones that are followed; empty: all.
    pub(in crate::state) fn turn_on(&mut self, namespaces: &[String]) {
        self.is_on = true;
        self.namespaces = namespaces.to_vec();
    }

    /// Takes the network from a dump.
    pub(in crate::state) fn know(&mut self, listed: Listed, secrets: BTreeSet<ObjectKey>) {
        (self.is_on, self.is_given) = (true, true);
        self.network.listed = listed;
        self.network.secrets = secrets;
    }

    pub(in crate::state) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The diagnosed objects.
    pub(in crate::state) fn keys(&self) -> impl Iterator<Item = (NetworkKind, ObjectKey)> + '_ {
        let of_kinds = self.objects.iter().flat_map(|(kind, all)| all.keys().map(|key| (*kind, key.clone())));
        let services = self.network.services.keys().map(|key| (NetworkKind::Service, key.clone()));
        let gateways = self.network.gateways.keys().map(|key| (NetworkKind::Gateway, key.clone()));
        of_kinds.chain(services).chain(gateways)
    }

    pub(in crate::state) fn object(&self, kind: NetworkKind, key: &ObjectKey) -> Option<&NetworkObject> {
        self.objects.get(&kind)?.get(key)
    }

    /// The object in the form in which a diagnosis has its subject.
    pub(in crate::state) fn facts(&self, kind: NetworkKind, key: &ObjectKey) -> Option<WorkloadFacts> {
        let identity = match kind {
            NetworkKind::Service => self.network.services.get(key)?.identity(),
            NetworkKind::Gateway => self.network.gateways.get(key)?.identity.clone(),
            _ => match self.object(kind, key)? {
                NetworkObject::Ingress(of) => of.identity.clone(),
                NetworkObject::Route(of) => of.identity.clone(),
                NetworkObject::Autoscaler(of) => of.identity.clone(),
                NetworkObject::Budget(of) => of.identity.clone(),
                NetworkObject::Claim(of) => of.identity.clone(),
                _ => return None,
            },
        };
        Some(identity.as_workload())
    }

    /// Whether an Ingress or route leads to the Service. Its diagnosis reports what is wrong with it.
    pub(in crate::state) fn is_followed(&self, service: &ObjectKey) -> bool {
        self.users.contains_key(&(NetworkKind::Service, service.clone()))
    }

    /// Since when an object has had this problem; `None`: it has none, or it comes from a dump, which has no earlier state.
    /// A new problem begins now.
    pub(in crate::state) fn since(
        &mut self,
        key: &WorkloadKey,
        problem: Option<String>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let Some(problem) = problem.filter(|_| !self.is_given) else {
            self.since.remove(key);
            return None;
        };
        let known = self.since.entry(key.clone()).or_insert_with(|| (problem.clone(), now));
        if known.0 != problem {
            *known = (problem, now);
        }
        Some(known.1)
    }

    /// Forgets since when an object has had a problem.
    pub(in crate::state) fn forget(&mut self, key: &WorkloadKey) {
        self.since.remove(key);
    }

    /// Registers an object. Returns what it affects.
    pub(in crate::state) fn put(&mut self, object: NetworkObject) -> Affected {
        let key = object.key();
        match object {
            NetworkObject::IngressClass(class) => {
                let known = &mut self.network.ingress_classes;
                known.retain(|known| known.name != class.name);
                known.push(class);
                self.all(&[NetworkKind::Ingress])
            }
            NetworkObject::GatewayClass(class) => {
                let known = &mut self.network.gateway_classes;
                known.retain(|known| known.name != class.name);
                known.push(class);
                self.all(&[NetworkKind::Gateway, NetworkKind::HttpRoute, NetworkKind::GrpcRoute])
            }
            NetworkObject::Grant(grant) => {
                let known = &mut self.network.grants;
                known.retain(|known| (&known.namespace, &known.name) != (&grant.namespace, &grant.name));
                known.push(grant);
                self.all(&[NetworkKind::HttpRoute, NetworkKind::GrpcRoute])
            }
            NetworkObject::Gateway(gateway) => {
                self.network.gateways.insert(key.clone(), gateway);
                self.with_users(NetworkKind::Gateway, key)
            }
            NetworkObject::Service(service) => {
                let endpoints = self.endpoints_of(&key);
                self.network.services.insert(key.clone(), BackendService { endpoints, ..service });
                self.with_users(NetworkKind::Service, key)
            }
            NetworkObject::Slice(slice) => {
                let service = ObjectKey::new(key.namespace.clone(), slice.service.clone());
                let mut affected = self.forget_slice(&key, Some(&service));
                self.slices_of.entry(service.clone()).or_default().insert(key.clone());
                self.slices.insert(key, slice);
                affected.extend(self.endpoints_changed(&service));
                affected
            }
            of_kind => self.put_diagnosed(key, of_kind),
        }
    }

    fn put_diagnosed(&mut self, key: ObjectKey, object: NetworkObject) -> Affected {
        let kind = match &object {
            NetworkObject::Ingress(_) => NetworkKind::Ingress,
            NetworkObject::Route(of) if *of.identity.key.kind == *NetworkKind::GrpcRoute.as_str() => {
                NetworkKind::GrpcRoute
            }
            NetworkObject::Route(_) => NetworkKind::HttpRoute,
            NetworkObject::Autoscaler(_) => NetworkKind::HorizontalPodAutoscaler,
            NetworkObject::Budget(_) => NetworkKind::PodDisruptionBudget,
            NetworkObject::Claim(_) => NetworkKind::PersistentVolumeClaim,
            _ => return Affected::new(),
        };
        let mut affected = self.take(kind, &key);
        affected.insert((kind, key.clone()));
        for used in uses(&object) {
            affected.insert(used.clone());
            self.users.entry(used).or_default().insert((kind, key.clone()));
        }
        self.objects.entry(kind).or_default().insert(key, object);
        affected.extend(self.addresses_changed(kind));
        affected.retain(|(kind, key)| self.facts(*kind, key).is_some());
        affected
    }

    /// Forgets an object. Returns what it affects, without itself.
    pub(in crate::state) fn remove(&mut self, kind: NetworkKind, key: &ObjectKey) -> Affected {
        match kind {
            NetworkKind::IngressClass => {
                self.network.ingress_classes.retain(|known| *known.name != *key.name);
                self.all(&[NetworkKind::Ingress])
            }
            NetworkKind::GatewayClass => {
                self.network.gateway_classes.retain(|known| *known.name != *key.name);
                self.all(&[NetworkKind::Gateway, NetworkKind::HttpRoute, NetworkKind::GrpcRoute])
            }
            NetworkKind::ReferenceGrant => {
                let is_it = |namespace: &str, name: &str| *namespace == *key.namespace && *name == *key.name;
                self.network.grants.retain(|known| !is_it(&known.namespace, &known.name));
                self.all(&[NetworkKind::HttpRoute, NetworkKind::GrpcRoute])
            }
            NetworkKind::Gateway => {
                self.network.gateways.remove(key);
                self.users_of(NetworkKind::Gateway, key)
            }
            NetworkKind::Service => {
                self.network.services.remove(key);
                self.users_of(NetworkKind::Service, key)
            }
            NetworkKind::EndpointSlice => self.forget_slice(key, None),
            _ => {
                let mut affected = self.take(kind, key);
                affected.extend(self.addresses_changed(kind));
                affected
            }
        }
    }

    /// Removes an object that is in `objects`. Returns what it used.
    fn take(&mut self, kind: NetworkKind, key: &ObjectKey) -> Affected {
        let Some(object) = self.objects.get_mut(&kind).and_then(|all| all.remove(key)) else { return Affected::new() };
        let affected: Affected = uses(&object).into_iter().collect();
        for used in &affected {
            if let Some(users) = self.users.get_mut(used) {
                users.remove(&(kind, key.clone()));
                if users.is_empty() {
                    self.users.remove(used);
                }
            }
        }
        affected
    }

    /// Notes whether controllers publish addresses: without any, no Ingress is expected to have one.
    fn addresses_changed(&mut self, kind: NetworkKind) -> Affected {
        if kind != NetworkKind::Ingress {
            return Affected::new();
        }
        let has_address = |object: &NetworkObject| matches!(object, NetworkObject::Ingress(of) if of.has_address);
        let publishes = self.objects.get(&kind).into_iter().flat_map(BTreeMap::values).any(has_address);
        let is_news = std::mem::replace(&mut self.network.publishes_addresses, publishes) != publishes;
        if is_news { self.all(&[kind]) } else { Affected::new() }
    }

    /// All objects of these kinds.
    fn all(&self, kinds: &[NetworkKind]) -> Affected {
        self.keys().filter(|(kind, _)| kinds.contains(kind)).collect()
    }

    fn users_of(&self, kind: NetworkKind, key: &ObjectKey) -> Affected {
        self.users.get(&(kind, key.clone())).cloned().unwrap_or_default()
    }

    fn with_users(&self, kind: NetworkKind, key: ObjectKey) -> Affected {
        let mut affected = self.users_of(kind, &key);
        affected.insert((kind, key));
        affected
    }

    /// The subjects of affected objects. Nothing is decided before the network is known.
    pub(in crate::state) fn subjects(&self, affected: Affected) -> Touched {
        if !self.is_complete() {
            return Touched::new();
        }
        let subjects = affected.into_iter();
        let subjects = subjects.map(|(kind, key)| (Subject::Workload(kind.workload(&key)), Lane::Change));
        subjects.collect()
    }

    /// A budget that allows no eviction, and a pod of it on this node.
    pub(in crate::state) fn blocked_on(&self, node: &str) -> Option<(&ObjectKey, &ObjectKey)> {
        let budgets = self.objects.get(&NetworkKind::PodDisruptionBudget)?.iter();
        budgets
            .filter_map(|(key, object)| match object {
                NetworkObject::Budget(budget) => Some((key, budget)),
                _ => None,
            })
            .filter(|(_, budget)| budget.status.is_some_and(|status| status.expected_pods > 0 && status.allowed <= 0))
            .find_map(|(key, budget)| {
                let mut pods = self.network.pods_in(&key.namespace);
                let pod = pods.find(|pod| pod.node.as_deref() == Some(node) && budget.selects(&pod.labels))?;
                Some((key, &pod.key))
            })
    }

    /// A node was cordoned or uncordoned.
    pub(in crate::state) fn cordoned(&self) -> Affected {
        self.all(&[NetworkKind::PodDisruptionBudget])
    }

    /// Adds a Warning Event about an Ingress.
    pub(in crate::state) fn event(&mut self, event: &EventFacts) -> Affected {
        let of = &event.regarding;
        if !self.is_on || !event.warning || *of.kind != *NetworkKind::Ingress.as_str() {
            return Affected::new();
        }
        let is_same = |known: &EventFacts| known.regarding == event.regarding && known.reason == event.reason;
        if self.network.events.iter().any(|known| is_same(known) && known.last >= event.last) {
            return Affected::new();
        }
        self.network.events.retain(|known| !is_same(known));
        if self.network.events.len() >= EVENTS {
            self.network.events.remove(0);
        }
        let mut event = event.clone();
        text::shorten_event(&mut event.message);
        let key = ObjectKey::new(event.regarding.namespace.clone(), event.regarding.name.clone());
        self.network.events.push(event);
        let is_known = self.object(NetworkKind::Ingress, &key).is_some();
        is_known.then_some((NetworkKind::Ingress, key)).into_iter().collect()
    }
}

/// The Services and Gateways that an object refers to.
fn uses(object: &NetworkObject) -> BTreeSet<(NetworkKind, ObjectKey)> {
    let service = |backend: &BackendRef| {
        (backend.kind == NetworkKind::Service.as_str()).then(|| (NetworkKind::Service, backend.service.clone()))
    };
    match object {
        NetworkObject::Ingress(IngressFacts { paths, .. }) => {
            paths.iter().filter_map(|path| path.backend.as_ref()).filter_map(service).collect()
        }
        NetworkObject::Route(RouteFacts { parents, rules, .. }) => {
            let gateways = parents.iter().filter(|parent| parent.kind == NetworkKind::Gateway.as_str());
            let gateways = gateways.map(|parent| (NetworkKind::Gateway, parent.gateway.clone()));
            gateways.chain(rules.iter().flat_map(|rule| &rule.backends).filter_map(service)).collect()
        }
        _ => BTreeSet::new(),
    }
}
