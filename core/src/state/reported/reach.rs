//! Impact of each root: which pods, workloads and namespaces it affects.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::summary_entry::SummaryEntry;
use crate::api::{DiagnosisState, Root, RootReach};
use crate::case::RootKind;
use crate::facts::{NetworkAgent, ObjectKey, PodFacts, PullQueue, Timestamp, WorkloadKey, seconds_between};
use crate::reconcile::{DiagnosisKey, Object, Record};
use crate::rules::holds_up_pulls;
use crate::state::pool::Pool;

/// A root is reported by at most one workload per this many seconds.
const REPORTED_FOR: i64 = 600;

#[derive(Debug, Default)]
pub(in crate::state) struct Reach {
    /// The workload of each failing pod, by root. The pods of a workload share its name.
    by_root: HashMap<ScopedRoot, HashMap<ObjectKey, Arc<String>>>,
    names: Pool<String>,
    /// Workloads whose pods cannot be created because of the root (a quota, a webhook), by diagnosis.
    refused: HashMap<ScopedRoot, HashMap<ObjectKey, Arc<String>>>,
    /// The workload that emitted the Event of a root, and when.
    reporters: HashMap<ReportedRoot, (WorkloadKey, Timestamp)>,
    /// Pods with a stalled image pull, and their registry, by the queue that they block.
    stalled: HashMap<Queue, BTreeMap<ObjectKey, Arc<Root>>>,
    /// Failing pods of network plugins with their cause, by node.
    network_agents: HashMap<Box<str>, BTreeMap<ObjectKey, Cow<'static, str>>>,
}

/// Where a stalled image pull blocks others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Queue {
    Node(String),
    /// Namespace and workload.
    Workload(Arc<str>, String),
}

/// A root with its namespace, if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ScopedRoot {
    root: Root,
    namespace: Option<Arc<str>>,
}

impl ScopedRoot {
    fn of(root: &Root, namespace: &Arc<str>) -> Self {
        let is_everywhere = RootKind::named_so(&root.kind).is_some_and(RootKind::is_of_the_cluster);
        Self { root: root.clone(), namespace: (!is_everywhere).then(|| namespace.clone()) }
    }
}

/// What an Event reports about a root. Other failures of the root get their own Event: one workload exceeds its quota,
/// another lacks the resource requests that it demands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ReportedRoot {
    scoped: ScopedRoot,
    cause: String,
    exceeded: String,
}

/// The same before it is stored.
#[derive(Debug, Clone, Copy)]
pub(in crate::state) struct SharedRoot<'a> {
    pub(in crate::state) root: &'a Root,
    pub(in crate::state) cause: &'a str,
    /// Resources of a quota: pods that lack memory are not helped by CPU of the same quota.
    pub(in crate::state) exceeded: &'a str,
}

impl ReportedRoot {
    fn of(SharedRoot { root, cause, exceeded }: SharedRoot<'_>, namespace: &Arc<str>) -> Self {
        let mut scoped = ScopedRoot::of(root, namespace);
        // A missing image is named in each manifest, and each of its owners must correct their own.
        if root.kind == RootKind::Image.as_str() {
            scoped.namespace = Some(namespace.clone());
        }
        Self { scoped, cause: cause.to_owned(), exceeded: exceeded.to_owned() }
    }
}

/// The queues that the pull of this pod blocks.
fn queues(record: &SummaryEntry) -> impl Iterator<Item = Queue> {
    let is_stalled = holds_up_pulls(&record.cause);
    let node = record.node.as_deref().map(|node| Queue::Node(node.to_owned()));
    let workload = record.workload.as_ref();
    let workload = workload.map(|key| Queue::Workload(record.key.namespace.clone(), key.to_string()));
    node.into_iter().chain(workload).filter(move |_| is_stalled)
}

/// The node of the pod, if it belongs to a network plugin.
fn node_of_agent(record: &SummaryEntry) -> Option<&str> {
    let is_agent = record.workload.as_ref().is_some_and(NetworkAgent::is_one);
    record.node.as_deref().filter(|_| is_agent)
}

impl Reach {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_root.len() + self.refused.len() + self.reporters.len() + self.stalled.len() + self.network_agents.len()
    }

    pub(in crate::state) fn add(&mut self, record: &SummaryEntry) {
        if !record.is_active() {
            return;
        }
        if let Some(node) = node_of_agent(record) {
            self.network_agents.entry(node.into()).or_default().insert(record.key.clone(), record.cause.clone());
        }
        let Some(root) = &record.root else { return };
        let workload = record.workload.as_ref().map_or_else(|| format!("Pod/{}", record.key.name), ToString::to_string);
        let scoped = ScopedRoot::of(root, &record.key.namespace);
        self.by_root.entry(scoped).or_default().insert(record.key.clone(), self.names.share(workload));
        for queue in queues(record) {
            self.stalled.entry(queue).or_default().insert(record.key.clone(), root.clone());
        }
    }

    pub(in crate::state) fn remove(&mut self, record: &SummaryEntry) {
        if let Some(node) = node_of_agent(record)
            && let Some(pods) = self.network_agents.get_mut(node)
        {
            pods.remove(&record.key);
            if pods.is_empty() {
                self.network_agents.remove(node);
            }
        }
        for queue in queues(record) {
            if let Some(pods) = self.stalled.get_mut(&queue) {
                pods.remove(&record.key);
                if pods.is_empty() {
                    self.stalled.remove(&queue);
                }
            }
        }
        let Some(root) = &record.root else { return };
        let scoped = ScopedRoot::of(root, &record.key.namespace);
        let Some(pods) = self.by_root.get_mut(&scoped) else { return };
        pods.remove(&record.key);
        if pods.is_empty() {
            self.by_root.remove(&scoped);
        }
    }

    /// Another pod on the node of this one that belongs to the network plugin and fails.
    pub(in crate::state) fn network_agent(&self, pod: &PodFacts) -> Option<NetworkAgent> {
        let mut others = self.network_agents.get(pod.node_name.as_deref()?)?.iter().filter(|(key, _)| **key != pod.key);
        others.next().map(|(key, cause)| NetworkAgent { pod: key.clone(), cause: cause.clone() })
    }

    /// The stalled pull of another pod that the pull of this pod may wait for.
    pub(in crate::state) fn queue(&self, pod: &PodFacts, workload: Option<&WorkloadKey>) -> Option<PullQueue> {
        let first = |queue: Queue, of_workload| {
            let mut others = self.stalled.get(&queue)?.iter().filter(|(other, _)| **other != pod.key);
            others.next().map(|(_, registry)| PullQueue { registry: Root::clone(registry), of_workload })
        };
        let own = workload.and_then(|key| first(Queue::Workload(key.namespace.clone(), key.to_string()), true));
        own.or_else(|| first(Queue::Node(pod.node_name.as_ref()?.to_string()), false))
    }

    /// Updates the index from a written workload diagnosis: whether the root blocks its pods, and whether the reported
    /// root still applies.
    pub(in crate::state) fn set_refused(&mut self, record: &Record) {
        self.remove_refused(&record.key.object);
        let Object::Workload(spec, status) = &record.object else { return };
        let namespace = &record.key.object.namespace;
        let root =
            status.root.as_ref().filter(|_| status.head.state == DiagnosisState::Active).map(|reach| &reach.root);
        let (cause, exceeded) = (&status.head.cause, &record.composition.exceeded);
        let reported = root.map(|root| ReportedRoot::of(SharedRoot { root, cause, exceeded }, namespace));
        let reporter = WorkloadKey::of(&spec.workload, namespace);
        self.reporters.retain(|known, (by, _)| *by != reporter || Some(known) == reported.as_ref());
        if let Some(root) = root.filter(|_| status.causes.is_empty()) {
            self.refuse(root, &record.key.object, &spec.workload.display);
        }
    }

    /// Counts a workload whose pods the root blocks. Called before the write, because other workloads are decided on
    /// meanwhile.
    pub(in crate::state) fn refuse(&mut self, root: &Root, object: &ObjectKey, workload: &str) {
        let scoped = ScopedRoot::of(root, &object.namespace);
        self.refused.entry(scoped).or_default().insert(object.clone(), self.names.share(workload.to_owned()));
    }

    pub(in crate::state) fn forget_refused(&mut self, key: &DiagnosisKey) {
        self.remove_refused(&key.object);
        self.reporters.retain(|_, (by, _)| DiagnosisKey::of_workload(by) != *key);
    }

    fn remove_refused(&mut self, object: &ObjectKey) {
        self.refused.retain(|_, refused| {
            refused.remove(object);
            !refused.is_empty()
        });
    }

    /// The impact of a root, including this workload.
    pub(in crate::state) fn of(&self, root: &Root, namespace: &Arc<str>, workload: &str) -> RootReach {
        let scoped = ScopedRoot::of(root, namespace);
        let pods = self.by_root.get(&scoped);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let all = pods.into_iter().chain(self.refused.get(&scoped)).flatten();
        let itself = std::iter::once((namespace, workload));
        let workloads: HashSet<_> = all.map(|(key, of)| (&key.namespace, of.as_str())).chain(itself).collect();
        let namespaces: HashSet<_> = workloads.iter().map(|(namespace, _)| *namespace).collect();
        RootReach {
            root: root.clone(),
            pods: count(pods.map_or(0, HashMap::len)),
            workloads: count(workloads.len()),
            namespaces: count(namespaces.len()),
        }
    }

    /// Another workload that recently reported this cause of this root and still fails because of it.
    pub(in crate::state) fn reported_by_another(
        &self,
        reported: SharedRoot<'_>,
        workload: &WorkloadKey,
        now: Timestamp,
    ) -> Option<&WorkloadKey> {
        let (by, at) = self.reporters.get(&ReportedRoot::of(reported, &workload.namespace))?;
        (by != workload && seconds_between(*at, now) < REPORTED_FOR).then_some(by)
    }

    pub(in crate::state) fn set_reporter(&mut self, reported: SharedRoot<'_>, workload: &WorkloadKey, now: Timestamp) {
        self.reporters.retain(|_, (_, at)| seconds_between(*at, now) < REPORTED_FOR);
        self.reporters.insert(ReportedRoot::of(reported, &workload.namespace), (workload.clone(), now));
    }
}
