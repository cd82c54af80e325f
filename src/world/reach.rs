//! How far each root reaches: which pods, workloads and namespaces fail of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::brief::Brief;
use crate::api::{DiagnosisState, Root, RootReach};
use crate::diagnosis::{RootKind, holds_up_pulls, told_as};
use crate::facts::{ObjectKey, PodFacts, PullQueue, Timestamp, WorkloadKey, seconds_between};
use crate::plan::{DiagnosisKey, Outer, OuterRecord};

/// A root is told once in so many seconds, however many workloads fail of it.
const TOLD_FOR: i64 = 600;

#[derive(Debug, Default)]
pub(super) struct Reach {
    by_root: HashMap<Place, HashMap<ObjectKey, String>>,
    /// Workloads that have no pods for it (a quota, a webhook), by their objects.
    refused: HashMap<Place, HashMap<ObjectKey, String>>,
    /// The workload whose Event told of a root, and when.
    told: HashMap<Telling, (WorkloadKey, Timestamp)>,
    /// Pods whose pulls get no answer, and the registry, by where they hold up others.
    stalled: HashMap<Queue, BTreeMap<ObjectKey, Root>>,
}

/// Where one pull that gets no answer holds up others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Queue {
    Node(String),
    /// Namespace and workload.
    Workload(Arc<str>, String),
}

/// A root, and the namespace that it lives in, if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    root: Root,
    namespace: Option<Arc<str>>,
}

impl Place {
    fn of(root: &Root, namespace: &Arc<str>) -> Self {
        let is_everywhere = RootKind::named_so(&root.kind).is_some_and(RootKind::is_of_the_cluster);
        Self { root: root.clone(), namespace: (!is_everywhere).then(|| namespace.clone()) }
    }
}

/// What an Event tells of a root. What else fails of it is news: one workload is over its quota, another does not say what it
/// asks of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Telling {
    place: Place,
    /// The cause, and where that is not enough, more ([`told_as`]).
    what: String,
}

impl Telling {
    fn of(root: &Root, what: &str, namespace: &Arc<str>) -> Self {
        let mut place = Place::of(root, namespace);
        // An image that is not there is named by each manifest: its owners have each their own to correct.
        if root.kind == RootKind::Image.as_str() {
            place.namespace = Some(namespace.clone());
        }
        Self { place, what: what.to_owned() }
    }
}

/// What is held up by the pull of this pod.
fn queues(record: &Brief) -> impl Iterator<Item = Queue> {
    let is_stalled = holds_up_pulls(&record.cause);
    let node = record.node.as_deref().map(|node| Queue::Node(node.to_owned()));
    let workload = record.workload.as_ref();
    let workload = workload.map(|key| Queue::Workload(record.key.namespace.clone(), key.to_string()));
    node.into_iter().chain(workload).filter(move |_| is_stalled)
}

impl Reach {
    pub(super) fn kept(&self) -> usize {
        self.by_root.len() + self.refused.len() + self.told.len() + self.stalled.len()
    }

    pub(super) fn add(&mut self, record: &Brief) {
        if !record.is_active() {
            return;
        }
        let Some(root) = &record.root else { return };
        let workload = record.workload.as_ref().map_or_else(|| format!("Pod/{}", record.key.name), ToString::to_string);
        let place = Place::of(root, &record.key.namespace);
        self.by_root.entry(place).or_default().insert(record.key.clone(), workload);
        for queue in queues(record) {
            self.stalled.entry(queue).or_default().insert(record.key.clone(), root.clone());
        }
    }

    pub(super) fn remove(&mut self, record: &Brief) {
        for queue in queues(record) {
            if let Some(pods) = self.stalled.get_mut(&queue) {
                pods.remove(&record.key);
                if pods.is_empty() {
                    self.stalled.remove(&queue);
                }
            }
        }
        let Some(root) = &record.root else { return };
        let place = Place::of(root, &record.key.namespace);
        let Some(pods) = self.by_root.get_mut(&place) else { return };
        pods.remove(&record.key);
        if pods.is_empty() {
            self.by_root.remove(&place);
        }
    }

    /// Pulls of other pods that get no answer and that the one of this pod may wait for.
    pub(super) fn queue(&self, pod: &PodFacts, workload: Option<&WorkloadKey>) -> Option<PullQueue> {
        let first = |queue: Queue, of_workload| {
            let mut others = self.stalled.get(&queue)?.iter().filter(|(other, _)| **other != pod.key);
            others.next().map(|(_, registry)| PullQueue { registry: registry.clone(), of_workload })
        };
        let own = workload.and_then(|key| first(Queue::Workload(key.namespace.clone(), key.to_string()), true));
        own.or_else(|| first(Queue::Node(pod.node_name.as_ref()?.to_string()), false))
    }

    /// The object of a workload as it is now written: whether it is refused its pods by a root, and still fails of the one
    /// that it told.
    pub(super) fn set_refused(&mut self, record: &OuterRecord) {
        self.uncount(&record.key.object);
        let Outer::Workload(spec, status) = &record.object else { return };
        let namespace = &record.key.object.namespace;
        let root =
            status.root.as_ref().filter(|_| status.head.state == DiagnosisState::Active).map(|reach| &reach.root);
        let telling =
            root.map(|root| Telling::of(root, &told_as(&status.head.cause, &status.head.evidence), namespace));
        let teller = WorkloadKey::of(&spec.workload, namespace);
        self.told.retain(|told, (by, _)| *by != teller || Some(told) == telling.as_ref());
        if let Some(root) = root.filter(|_| status.causes.is_empty()) {
            self.refuse(root, &record.key.object, &spec.workload.display);
        }
    }

    /// Counts a workload that has no pods for this root: from the moment on that it is to be written, as others are
    /// decided on meanwhile.
    pub(super) fn refuse(&mut self, root: &Root, object: &ObjectKey, workload: &str) {
        let place = Place::of(root, &object.namespace);
        self.refused.entry(place).or_default().insert(object.clone(), workload.to_owned());
    }

    pub(super) fn forget_refused(&mut self, key: &DiagnosisKey) {
        self.uncount(&key.object);
        self.told.retain(|_, (by, _)| DiagnosisKey::of_workload(by) != *key);
    }

    fn uncount(&mut self, object: &ObjectKey) {
        self.refused.retain(|_, refused| {
            refused.remove(object);
            !refused.is_empty()
        });
    }

    /// What hangs on a root, seen from a workload that fails of it.
    pub(super) fn of(&self, root: &Root, namespace: &Arc<str>, workload: &str) -> RootReach {
        let place = Place::of(root, namespace);
        let pods = self.by_root.get(&place);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let all = pods.into_iter().chain(self.refused.get(&place)).flatten();
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

    /// Another workload whose Event told this cause of this root a short while ago, and that fails of it still.
    pub(super) fn told_by_another(
        &self,
        (root, what): (&Root, &str),
        workload: &WorkloadKey,
        now: Timestamp,
    ) -> Option<&WorkloadKey> {
        let (by, at) = self.told.get(&Telling::of(root, what, &workload.namespace))?;
        (by != workload && seconds_between(*at, now) < TOLD_FOR).then_some(by)
    }

    pub(super) fn tells(&mut self, (root, what): (&Root, &str), workload: &WorkloadKey, now: Timestamp) {
        self.told.retain(|_, (_, at)| seconds_between(*at, now) < TOLD_FOR);
        self.told.insert(Telling::of(root, what, &workload.namespace), (workload.clone(), now));
    }
}
