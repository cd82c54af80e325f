//! What is known of the cluster: the watched objects and the results of lookups.

pub(in crate::state) mod events;
pub(in crate::state) mod ledger;
pub(in crate::state) mod lookups;
pub(in crate::state) mod network;
pub(in crate::state) mod nodes;
pub(in crate::state) mod objects;
pub(in crate::state) mod overrides;
pub(in crate::state) mod owners;
pub(in crate::state) mod pod_index;
pub(in crate::state) mod pods;
pub(in crate::state) mod scale_ups;
pub(in crate::state) mod services;
pub(in crate::state) mod uid;
pub(in crate::state) mod unhealthy;
pub(in crate::state) mod workloads;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use self::events::Events;
use self::lookups::Lookups;
use self::network::NetworkState;
use self::nodes::Nodes;
use self::objects::Objects;
use self::overrides::KnownOverrides;
use self::owners::Owners;
use self::pods::Pods;
use self::scale_ups::ScaleUps;
use self::services::Services;
use self::workloads::Workloads;
use super::{Decision, Source, Touched, earliest};
use crate::facts::route::{Listed, NetworkKind};
use crate::facts::{
    EventFacts, Lookup, NodeFacts, NodeState, ObjectKey, Overrides, PodFacts, Timestamp, WorkloadFacts, WorkloadKey,
};
use crate::outbox::{Lane, Subject};

/// Most unready pods of one workload that are examined.
const SAMPLE_SIZE: usize = 50;

/// What is known of the cluster.
#[derive(Debug)]
pub struct ClusterState {
    pub(in crate::state) pods: Pods,
    pub(in crate::state) nodes: Nodes,
    pub(in crate::state) events: Events,
    pub(in crate::state) lookups: Lookups,
    pub(in crate::state) workloads: Workloads,
    pub(in crate::state) owners: Owners,
    pub(in crate::state) objects: Objects,
    pub(in crate::state) services: Services,
    pub(in crate::state) network: NetworkState,
    pub(in crate::state) scale_ups: ScaleUps,
    /// Workloads that were deleted while their diagnosis still exists.
    pub(in crate::state) gone_workloads: HashSet<WorkloadKey>,
    /// Overrides of workloads, and those of the operator's configuration.
    pub(in crate::state) overrides: KnownOverrides,
    /// Whether each source has been listed completely.
    pub(in crate::state) listed_sources: HashMap<Source, bool>,
    /// When all sources had been listed for the first time.
    pub(in crate::state) listed_at: Timestamp,
}

impl Default for ClusterState {
    fn default() -> Self {
        Self {
            pods: Pods::default(),
            nodes: Nodes::default(),
            events: Events::default(),
            lookups: Lookups::default(),
            workloads: Workloads::default(),
            owners: Owners::default(),
            objects: Objects::default(),
            services: Services::default(),
            network: NetworkState::default(),
            scale_ups: ScaleUps::default(),
            gone_workloads: HashSet::new(),
            overrides: KnownOverrides::default(),
            listed_sources: HashMap::new(),
            listed_at: Timestamp::UNIX_EPOCH,
        }
    }
}

impl ClusterState {
    /// Marks nodes as listed although they never are: each node is unknown, and no decision waits for them.
    pub fn do_without_nodes(&mut self) {
        self.listed_sources.insert(Source::Nodes, true);
    }

    /// Applies these overrides to all diagnoses.
    pub fn respect(&mut self, overrides: Overrides) {
        self.overrides.set_global(overrides);
    }

    /// Declares that only the pods of some namespaces are known, so free node capacity cannot be computed.
    pub fn know_some_pods_only(&mut self) {
        self.nodes.know_some_pods_only();
    }

    /// Follows the paths of requests, autoscalers and disruption budgets. `namespaces`: the only ones that are followed;
    /// empty: all. Nothing is decided about them before all `lists` have arrived as [`super::NetworkChange`]s.
    pub fn follow_network(
        &mut self,
        namespaces: &[String],
        lists: impl IntoIterator<Item = (NetworkKind, Option<Arc<str>>)>,
    ) {
        self.network.turn_on(namespaces);
        self.network.await_lists(lists);
    }

    /// Takes the network from a dump, which lists these kinds only and has Secrets with these names.
    pub(crate) fn know_network(&mut self, listed: Listed, secrets: BTreeSet<ObjectKey>) {
        self.network.know(listed, secrets);
    }

    /// Whether this source has been listed completely at least once.
    pub fn is_listed(&self, source: Source) -> bool {
        self.listed_sources.get(&source).copied().unwrap_or(false)
    }

    /// Registers a failed lookup. The subjects that requested it retry later.
    pub fn lookup_failed(&mut self, lookup: &Lookup) -> Touched {
        let mut touched: Touched =
            self.lookups.failed(lookup).into_iter().map(|requester| (requester, Lane::Resync)).collect();
        if let Lookup::PodsOn(node) = lookup {
            touched.push((Subject::Node(node.clone()), Lane::Resync));
        }
        touched
    }

    pub fn pods_watched(&self) -> usize {
        self.pods.len()
    }

    /// UIDs of the pods that are unhealthy or were unhealthy recently. All their facts are kept.
    pub fn unhealthy(&self) -> impl Iterator<Item = Arc<str>> {
        self.pods.unhealthy_uids()
    }

    pub fn nodes(&self) -> &BTreeMap<Arc<str>, Box<NodeState>> {
        self.nodes.all()
    }

    /// `DaemonSets` that run on most other nodes but not on this one.
    pub(in crate::state) fn daemon_sets_missing(&self, name: &Arc<str>) -> Vec<String> {
        let others = self.nodes.all().len().saturating_sub(1);
        if others == 0 {
            return Vec::new();
        }
        let here: Vec<_> =
            self.pods.places_on(name).filter_map(|place| place.siblings_of_workload.workload.as_ref()).collect();
        let most = |pods: u32| usize::try_from(pods).unwrap_or(0) * 2 > others;
        let everywhere = self.workloads.totals().filter(|(key, total)| &*key.kind == "DaemonSet" && most(*total));
        let missing = everywhere.filter(|(key, _)| !here.contains(key));
        let mut names: Vec<String> = missing.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect();
        names.sort();
        names
    }

    /// Whether the rollout that created this pod has exceeded its progress deadline.
    pub(in crate::state) fn has_given_up_on(&self, key: &WorkloadKey, pod: &PodFacts) -> bool {
        let maker = pod.owner.as_ref().filter(|owner| &*owner.kind == "ReplicaSet");
        let known = self.owners.get(key).zip(maker);
        known.is_some_and(|(workload, maker)| workload.facts.has_given_up_on(&maker.name))
    }

    /// The unready pods of a workload whose rollout has just exceeded its progress deadline.
    pub(in crate::state) fn given_up(&self, facts: &WorkloadFacts) -> super::Touched {
        let known = self.owners.get(&facts.key);
        if !facts.has_given_up() || known.is_some_and(|known| known.facts.has_given_up()) {
            return Vec::new();
        }
        self.workloads.unready(&facts.key).map(|uid| (Subject::Pod(uid.clone()), Lane::Change)).collect()
    }

    pub(in crate::state) fn gates(&self, key: &WorkloadKey) -> Vec<String> {
        let pods = self.undiagnosed_unready(key).filter_map(|uid| self.pods.full(uid));
        let gates: BTreeSet<String> = pods.flat_map(|pod| pod.facts.scheduling_gates).collect();
        gates.into_iter().collect()
    }

    /// Unready pods of this workload without a diagnosis. The pods are alike, so a sample suffices.
    pub(in crate::state) fn undiagnosed_unready(&self, key: &WorkloadKey) -> impl Iterator<Item = &Arc<str>> {
        let diagnosed: HashSet<&Arc<str>> = self.workloads.failing(key).collect();
        self.workloads.unready(key).filter(move |uid| !diagnosed.contains(*uid)).take(SAMPLE_SIZE)
    }

    /// Requests lookups, each with the earliest time that its result may have.
    pub(in crate::state) fn request_lookups(
        &mut self,
        subject: &Subject,
        needed_lookups: Vec<(Lookup, Timestamp)>,
        now: Timestamp,
    ) -> Decision {
        let requested: Vec<Lookup> = needed_lookups.iter().map(|(lookup, _)| lookup.clone()).collect();
        self.lookups.set_requests(subject, &requested);
        let mut decision = Decision::default();
        for (lookup, fresh_from) in needed_lookups {
            match self.lookups.next(&lookup, fresh_from, now) {
                lookups::Next::Now => decision.needed_lookups.push(lookup),
                lookups::Next::At(at) => decision.plan.wake = earliest(decision.plan.wake, Some(at)),
            }
        }
        decision
    }

    pub(in crate::state) fn node(&mut self, facts: NodeFacts, now: Timestamp) -> Touched {
        let name = facts.name.clone();
        let effect = self.nodes.put(facts, now);
        let mut touched = vec![(Subject::Node(name.clone()), Lane::Change)];
        if !self.is_listed(Source::Nodes) {
            // All pods are checked once everything is listed.
            return touched;
        }
        if effect.readiness_changed {
            touched.extend(self.pods.on_node(&name).map(|uid| (Subject::Pod(uid), Lane::Change)));
        }
        if effect.offer_changed {
            touched.extend(self.network.subjects(self.network.cordoned()));
            touched.extend(self.pods.unscheduled().map(|uid| (Subject::Pod(uid), Lane::Resync)));
        }
        touched
    }

    pub(in crate::state) fn node_deleted(&mut self, name: &Arc<str>) -> Touched {
        self.nodes.remove(name);
        let stranded = self.pods.on_node(name).map(|uid| (Subject::Pod(uid), Lane::Change));
        let itself = std::iter::once((Subject::Node(name.clone()), Lane::Change));
        itself.chain(stranded).chain(self.pods.unscheduled().map(|uid| (Subject::Pod(uid), Lane::Resync))).collect()
    }

    pub(in crate::state) fn event(&mut self, event: EventFacts, now: Timestamp) -> Touched {
        if &*event.regarding.kind == "Node" {
            let name = event.regarding.name.clone();
            let explains_ends = self.nodes.event(&event);
            let mut touched = vec![(Subject::Node(name.clone()), Lane::Change)];
            if explains_ends {
                let unhealthy = self.pods.on_node(&name).filter(|uid| self.pods.is_full(uid));
                touched.extend(unhealthy.map(|uid| (Subject::Pod(uid), Lane::Change)));
            }
            return touched;
        }
        if let Some(key) = owners::key_of(&event) {
            let is_news = self.owners.event(&key, event, now);
            return if is_news { vec![(Subject::Workload(key), Lane::Change)] } else { Vec::new() };
        }
        if let Some(key) = self.objects.event(&event) {
            return vec![(Subject::Workload(key), Lane::Change)];
        }
        if scale_ups::is_failure(&event) {
            let is_news = self.scale_ups.put(event, now);
            let waiting = self.pods.unscheduled().map(|uid| (Subject::Pod(uid), Lane::Resync));
            return if is_news { waiting.collect() } else { Vec::new() };
        }
        if *event.regarding.kind == *NetworkKind::Ingress.as_str() {
            let affected = self.network.event(&event);
            return self.network.subjects(affected);
        }
        if &*event.regarding.kind != "Pod" {
            return Vec::new();
        }
        let Some(uid) = self.pods.uid_for(&event) else { return Vec::new() };
        if self.pods.is_slim(&uid) && !events::matters_for_healthy_pod(&event) {
            return Vec::new();
        }
        let is_unknown = !self.pods.contains(&uid);
        let is_news = self.events.put(&uid, event, is_unknown, now);
        if is_unknown && self.is_listed(Source::Pods) {
            self.events.limit_unknown_pods();
        }
        if is_news && self.pods.is_full(&uid) { vec![(Subject::Pod(uid), Lane::Change)] } else { Vec::new() }
    }
}
