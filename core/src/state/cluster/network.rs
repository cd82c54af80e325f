//! The objects on the path of a request, autoscalers and disruption budgets, and what depends on what.
//!
//! Nothing is kept unless the operator follows them, or a dump has some of them.

mod list;
mod pod;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::facts::route::{
    BackendPod, BackendRef, BackendService, Endpoints, IngressFacts, Listed, Network, NetworkKind, NetworkObject,
    PodCause, RouteFacts, SliceFacts,
};
use crate::facts::{EventFacts, Labelled, Labels, ObjectKey, PodFacts, Timestamp, WorkloadFacts, WorkloadKey};
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
    ports: Pool<crate::facts::route::PodPorts>,
    addresses: usize,
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
        affected.extend(self.count_address(&object, true));
        self.objects.entry(kind).or_default().insert(key, object);
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
            _ => self.take(kind, key),
        }
    }

    /// Removes an object that is in `objects`. Returns what it used.
    fn take(&mut self, kind: NetworkKind, key: &ObjectKey) -> Affected {
        let Some(object) = self.objects.get_mut(&kind).and_then(|all| all.remove(key)) else { return Affected::new() };
        let mut affected: Affected = uses(&object).into_iter().collect();
        for used in &affected {
            if let Some(users) = self.users.get_mut(used) {
                users.remove(&(kind, key.clone()));
                if users.is_empty() {
                    self.users.remove(used);
                }
            }
        }
        affected.extend(self.count_address(&object, false));
        affected
    }

    /// Counts the published addresses: without any, no Ingress is expected to have one.
    fn count_address(&mut self, object: &NetworkObject, is_new: bool) -> Affected {
        if !matches!(object, NetworkObject::Ingress(IngressFacts { has_address: true, .. })) {
            return Affected::new();
        }
        self.addresses = if is_new { self.addresses + 1 } else { self.addresses.saturating_sub(1) };
        let publishes = self.addresses > 0;
        let changed = publishes != self.network.publishes_addresses;
        self.network.publishes_addresses = publishes;
        if changed { self.all(&[NetworkKind::Ingress]) } else { Affected::new() }
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

    /// Forgets a slice, unless it belongs to this Service, whose slice is about to be replaced.
    fn forget_slice(&mut self, key: &ObjectKey, except: Option<&ObjectKey>) -> Affected {
        let Some(slice) = self.slices.remove(key) else { return Affected::new() };
        let service = ObjectKey::new(key.namespace.clone(), slice.service);
        if Some(&service) == except {
            return Affected::new();
        }
        if let Some(slices) = self.slices_of.get_mut(&service) {
            slices.remove(key);
            if slices.is_empty() {
                self.slices_of.remove(&service);
            }
        }
        self.endpoints_changed(&service)
    }

    /// The endpoints of a Service. `None`: no slices were listed.
    fn endpoints_of(&self, service: &ObjectKey) -> Option<Endpoints> {
        let slices = self.slices_of.get(service).into_iter().flatten().filter_map(|key| self.slices.get(key));
        let mut all = Endpoints::default();
        let mut count = 0;
        for slice in slices {
            count += 1;
            all.ready += slice.endpoints.ready;
            all.unready.extend(slice.endpoints.unready.iter().cloned());
        }
        all.unready.sort_unstable();
        all.unready.dedup();
        let is_known = count > 0 || self.network.listed.has(NetworkKind::EndpointSlice, &service.namespace);
        is_known.then_some(all)
    }

    fn endpoints_changed(&mut self, service: &ObjectKey) -> Affected {
        let endpoints = self.endpoints_of(service);
        let Some(known) = self.network.services.get_mut(service) else { return Affected::new() };
        if known.endpoints == endpoints {
            return Affected::new();
        }
        known.endpoints = endpoints;
        self.with_users(NetworkKind::Service, service.clone())
    }

    /// Registers a new version of a pod. `cause`: its diagnosis.
    pub(in crate::state) fn pod(&mut self, facts: &PodFacts, cause: Option<PodCause>) -> Affected {
        let Some(mut pod) = pod::backend_pod(facts) else { return self.pod_removed(&facts.uid, &facts.key) };
        pod.cause = cause.map(Box::new);
        let of_namespace = self.network.pods.entry(pod.key.namespace.clone()).or_default();
        let known = of_namespace.get(&pod.key.name);
        if known == Some(&pod) {
            return Affected::new();
        }
        match known {
            Some(known) if known.ports == pod.ports => pod.ports = known.ports.clone(),
            _ => pod.ports = self.ports.share(Arc::unwrap_or_clone(pod.ports)),
        }
        let before = of_namespace.insert(pod.key.name.clone(), pod.clone());
        let mut affected = self.reached_by(&pod);
        if let Some(before) = before.filter(|before| {
            before.labels != pod.labels || before.pending_of != pod.pending_of || before.claims != pod.claims
        }) {
            affected.extend(self.reached_by(&before));
        }
        affected
    }

    /// Forgets a pod that has ended or was deleted. A pod with its name and another UID stays.
    pub(in crate::state) fn pod_removed(&mut self, uid: &str, key: &ObjectKey) -> Affected {
        let Some(of_namespace) = self.network.pods.get_mut(&key.namespace) else { return Affected::new() };
        if of_namespace.get(&key.name).is_none_or(|pod| *pod.uid != *uid) {
            return Affected::new();
        }
        let Some(pod) = of_namespace.remove(&key.name) else { return Affected::new() };
        if of_namespace.is_empty() {
            self.network.pods.remove(&key.namespace);
        }
        self.reached_by(&pod)
    }

    /// The diagnosis of a pod has changed.
    pub(in crate::state) fn pod_diagnosed(&mut self, key: &ObjectKey, cause: Option<PodCause>) -> Affected {
        let pod = self.network.pods.get_mut(&key.namespace).and_then(|all| all.get_mut(&key.name));
        let Some(pod) = pod else { return Affected::new() };
        let cause = cause.filter(|_| !pod.is_ready).map(Box::new);
        if pod.cause == cause {
            return Affected::new();
        }
        pod.cause = cause;
        let pod = pod.clone();
        self.reached_by(&pod)
    }

    pub(in crate::state) fn unready_pods(&self) -> impl Iterator<Item = &ObjectKey> {
        let pods = self.network.pods.values().flat_map(BTreeMap::values);
        pods.filter(|pod| !pod.is_ready).map(|pod| &pod.key)
    }

    /// The objects whose state depends on a pod: Services that select it with their users, budgets and autoscalers.
    fn reached_by(&self, pod: &BackendPod) -> Affected {
        let namespace = &pod.key.namespace;
        let mut affected = self.of_services(namespace, |service| service.selects(&pod.labels));
        let of_kind =
            |kind| self.objects.get(&kind).into_iter().flatten().filter(|(key, _)| key.namespace == *namespace);
        for (key, object) in of_kind(NetworkKind::PodDisruptionBudget) {
            if matches!(object, NetworkObject::Budget(budget) if budget.selects(&pod.labels)) {
                affected.insert((NetworkKind::PodDisruptionBudget, key.clone()));
            }
        }
        affected.extend(self.of_claims(namespace, pod.claims.iter().map(|claim| &**claim)));
        for (key, object) in of_kind(NetworkKind::HorizontalPodAutoscaler) {
            if matches!(object, NetworkObject::Autoscaler(of) if pod.pending_of.as_ref().is_some_and(|w| of.targets(w)))
            {
                affected.insert((NetworkKind::HorizontalPodAutoscaler, key.clone()));
            }
        }
        affected
    }

    /// The claims with these names.
    fn of_claims<'c>(&self, namespace: &Arc<str>, names: impl Iterator<Item = &'c str>) -> Affected {
        let keys = names.map(|name| ObjectKey::new(namespace.clone(), name));
        let known = keys.filter(|key| self.object(NetworkKind::PersistentVolumeClaim, key).is_some());
        known.map(|key| (NetworkKind::PersistentVolumeClaim, key)).collect()
    }

    fn of_services(&self, namespace: &Arc<str>, is_meant: impl Fn(&BackendService) -> bool) -> Affected {
        let services = self.network.services_in(namespace).filter(|service| is_meant(service));
        services.flat_map(|service| self.with_users(NetworkKind::Service, service.key.clone())).collect()
    }

    /// Registers the labels of a workload's pods, and the claims of its template; `None`, and none: it was deleted.
    pub(in crate::state) fn workload(
        &mut self,
        key: &WorkloadKey,
        labelled: Option<&Labelled>,
        claims: BTreeSet<String>,
    ) -> Affected {
        if !self.is_on {
            return Affected::new();
        }
        let mut affected = self.template_claims(key, claims);
        let of_namespace = self.network.workloads.entry(key.namespace.clone()).or_default();
        let before = match labelled {
            Some(labelled) => of_namespace.insert(key.clone(), labelled.clone()),
            None => of_namespace.remove(key),
        };
        if of_namespace.is_empty() {
            self.network.workloads.remove(&key.namespace);
        }
        if before.as_ref() == labelled {
            return affected;
        }
        let labels: Vec<Labels> = before.iter().chain(labelled).map(|of| of.labels.clone()).collect();
        let network = &self.network;
        affected.extend(self.of_services(&key.namespace, |service| {
            labels.iter().any(|labels| service.selects(labels)) || network.pods_of(service).next().is_none()
        }));
        affected
    }

    fn template_claims(&mut self, key: &WorkloadKey, claims: BTreeSet<String>) -> Affected {
        let all = &mut self.network.template_claims;
        if claims.is_empty() && !all.contains_key(&key.namespace) {
            return Affected::new();
        }
        let of_namespace = all.entry(key.namespace.clone()).or_default();
        let before = of_namespace.remove(key).unwrap_or_default();
        let changed: Vec<String> = before.symmetric_difference(&claims).cloned().collect();
        if !claims.is_empty() {
            of_namespace.insert(key.clone(), claims);
        }
        if of_namespace.is_empty() {
            all.remove(&key.namespace);
        }
        self.of_claims(&key.namespace, changed.iter().map(String::as_str))
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
