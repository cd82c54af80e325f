//! Pods by UID: a slim entry for healthy pods, all facts for the others.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use super::events::is_of;
use super::ledger;
use super::pod_index::{PodIndex, Slot};
use super::unhealthy::{Full, UnhealthyPod, resize_trouble};
use crate::api::ContainerType;
use crate::case::{Attribution, Ledger, immediate_workload, top_workload};
use crate::facts::{Container, EventFacts, ObjectKey, Phase, PodFacts, ProbeKind, Resources, Timestamp, WorkloadKey};
use crate::outbox::Stream;
use crate::state::compressed::Compressor;
use crate::state::pool::Pool;

#[derive(Debug, Default)]
pub(in crate::state) struct Pods {
    pod_index: PodIndex,
    /// A list takes less memory than a set, and no node has more than a few hundred pods.
    by_node: HashMap<Arc<str>, Vec<Slot>>,
    /// Pods that are not scheduled and not terminated.
    waiting: HashSet<Slot>,
    siblings_of_workload: Pool<SiblingPods>,
    node_names: Pool<Arc<str>>,
    compressor: Compressor,
    /// UIDs of the static pods, by the UID of their mirror pod.
    statics: HashMap<Arc<str>, Arc<str>>,
    /// Pods that the current relist has not contained yet.
    unlisted: Option<HashSet<Slot>>,
}

#[derive(Debug)]
pub(in crate::state) enum Pod {
    Slim(Place),
    UnhealthyPod(Box<UnhealthyPod>),
}

/// The slim entry kept for every pod: its node, workload, requests and readiness. There is one for each pod, so common
/// fields are shared.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::state) struct Place {
    name: Name,
    pub(in crate::state) siblings_of_workload: Arc<SiblingPods>,
    /// Shared by the pods of a node. The pointer is thin: that of an `Arc<str>` takes 8 bytes more for each pod.
    pub(in crate::state) node: Option<Arc<Arc<str>>>,
    pub(in crate::state) ready: bool,
    /// Succeeded or Failed: the pod uses no capacity and is no endpoint.
    pub(in crate::state) over: bool,
    /// The pod is being deleted.
    pub(in crate::state) deleting: bool,
}

/// Fields shared by the pods of one template.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::state) struct SiblingPods {
    pub(in crate::state) namespace: Arc<str>,
    /// The controller (such as a ReplicaSet); `workload` is its top-level owner.
    pub(in crate::state) owner: Option<Arc<str>>,
    pub(in crate::state) workload: Option<WorkloadKey>,
    pub(in crate::state) requests: Resources,
}

/// A pod's name. Most start with their controller's name and add a short suffix.
#[derive(Debug, Clone, PartialEq)]
enum Name {
    /// The suffix after the controller's name and a hyphen, with its length.
    Own(u8, [u8; Self::FEW]),
    Whole(Box<Arc<str>>),
}

impl Name {
    /// Keeps the enum at 16 bytes. A ReplicaSet's pods have a suffix of five letters, a StatefulSet's an ordinal.
    const FEW: usize = 14;

    fn of(name: &Arc<str>, maker: Option<&Arc<str>>) -> Self {
        let own = maker.and_then(|maker| name.strip_prefix(&**maker)?.strip_prefix('-'));
        let own = own.map(str::as_bytes).filter(|own| own.len() <= Self::FEW);
        let Some((own, len)) = own.and_then(|own| Some((own, u8::try_from(own.len()).ok()?))) else {
            return Self::Whole(Box::new(name.clone()));
        };
        let mut bytes = [0; Self::FEW];
        bytes[..own.len()].copy_from_slice(own);
        Self::Own(len, bytes)
    }

    /// The parts of the name, to be concatenated.
    fn parts<'a>(&'a self, maker: Option<&'a Arc<str>>) -> [&'a str; 3] {
        match self {
            Self::Whole(name) => [name, "", ""],
            Self::Own(len, bytes) => {
                let own = std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default();
                [maker.map_or("", |maker| &**maker), "-", own]
            }
        }
    }
}

impl Place {
    pub(in crate::state) fn key(&self) -> ObjectKey {
        let name = match &self.name {
            Name::Whole(name) => Arc::clone(name),
            own @ Name::Own(..) => own.parts(self.siblings_of_workload.owner.as_ref()).concat().into(),
        };
        ObjectKey { namespace: self.siblings_of_workload.namespace.clone(), name }
    }

    /// Whether this is the pod's key.
    pub(in crate::state) fn is(&self, key: &ObjectKey) -> bool {
        let parts = self.name.parts(self.siblings_of_workload.owner.as_ref());
        let rest = parts.into_iter().try_fold(&*key.name, |rest, part| rest.strip_prefix(part));
        rest == Some("") && self.siblings_of_workload.namespace == key.namespace
    }
}

/// A change of a pod's entry. `before` is `None` for a new pod, `after` for a removed one.
#[derive(Debug)]
pub(in crate::state) struct Moved {
    pub(in crate::state) before: Option<Place>,
    pub(in crate::state) after: Option<Place>,
    pub(in crate::state) is_unhealthy: bool,
}

impl Moved {
    /// Whether the pod has just succeeded or failed.
    pub(in crate::state) fn has_just_terminated(&self) -> bool {
        self.is_newly_terminated() && self.before.is_some()
    }

    /// Whether the pod is terminated and was not known to be. It may have been created and terminated between two
    /// lists.
    pub(in crate::state) fn is_newly_terminated(&self) -> bool {
        self.after.as_ref().is_some_and(|p| p.over) && self.before.as_ref().is_none_or(|p| !p.over)
    }
}

impl Pods {
    /// Adds the restart history stored in a diagnosis to the pod.
    pub(in crate::state) fn remember(&mut self, uid: &str, past: Ledger) {
        let Some(mut pod) = self.full(uid).filter(|_| !past.runs.is_empty()) else { return };
        ledger::merge(&mut pod.ledger, past);
        self.keep(&pod);
    }

    pub(in crate::state) fn kept(&self) -> usize {
        self.pod_index.len() + self.by_node.len() + self.waiting.len() + self.statics.len()
    }

    pub(in crate::state) fn put(
        &mut self,
        facts: PodFacts,
        keep: bool,
        past: Ledger,
        at_start: bool,
        now: Timestamp,
    ) -> Moved {
        if let Some(static_uid) = &facts.static_uid {
            self.statics.insert(facts.uid.clone(), static_uid.clone());
        }
        let place = self.place_of(&facts);
        let (slot, known) = self.pod_index.put(&facts.uid, &facts.key, Pod::Slim(place.clone()));
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&slot);
        }
        let before = known.as_ref().map(|pod| pod.place().clone());
        let is_unhealthy = keep || !is_healthy(&facts);
        if let Some(pod) = self.pod_index.get_mut(slot).filter(|_| is_unhealthy) {
            let full = Full::new(facts, known.as_ref(), past, at_start, now);
            *pod = Pod::UnhealthyPod(Box::new(UnhealthyPod::new(&full, place.clone(), &mut self.compressor)));
        }
        if place.node.is_none() && !place.over {
            self.waiting.insert(slot);
        } else {
            self.waiting.remove(&slot);
        }
        let moved = Moved { before, after: Some(place), is_unhealthy };
        self.reindex_node(slot, &moved);
        moved
    }

    pub(in crate::state) fn remove(&mut self, uid: &str) -> Option<(ObjectKey, Moved)> {
        let (slot, pod) = self.pod_index.remove(uid)?;
        self.statics.remove(uid);
        self.waiting.remove(&slot);
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&slot);
        }
        let place = pod.place().clone();
        let key = place.key();
        let moved = Moved { before: Some(place), after: None, is_unhealthy: false };
        self.reindex_node(slot, &moved);
        Some((key, moved))
    }

    fn place_of(&mut self, facts: &PodFacts) -> Place {
        let siblings_of_workload = SiblingPods {
            namespace: facts.key.namespace.clone(),
            owner: immediate_workload(facts).map(|w| w.name.clone()),
            workload: top_workload(facts, None),
            requests: facts.effective_requests(),
        };
        Place {
            name: Name::of(&facts.key.name, siblings_of_workload.owner.as_ref()),
            siblings_of_workload: self.siblings_of_workload.share(siblings_of_workload),
            node: facts.node_name.clone().map(|name| self.node_names.share(name)),
            ready: facts.is_ready() && facts.deletion.is_none(),
            over: facts.is_over(),
            deleting: facts.deletion.is_some(),
        }
    }

    fn reindex_node(&mut self, slot: Slot, moved: &Moved) {
        let node = |place: &Option<Place>| place.as_ref().and_then(|p| p.node.as_deref().cloned());
        let (before, after) = (node(&moved.before), node(&moved.after));
        if before == after {
            return;
        }
        if let Some(name) = before
            && let Some(slots) = self.by_node.get_mut(&name)
        {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.by_node.remove(&name);
            }
        }
        if let Some(name) = after {
            self.by_node.entry(name).or_default().push(slot);
        }
    }

    pub(in crate::state) fn begin_list(&mut self) {
        self.unlisted = Some(self.pod_index.all().map(|(slot, _)| slot).collect());
    }

    /// Ends the list and returns the UIDs that it did not contain.
    pub(in crate::state) fn end_list(&mut self) -> Vec<Arc<str>> {
        let unlisted = self.unlisted.take();
        unlisted.into_iter().flatten().filter_map(|slot| self.pod_index.uid(slot)).collect()
    }

    fn get(&self, uid: &str) -> Option<&Pod> {
        self.pod_index.get(self.pod_index.slot(uid)?)
    }

    fn unhealthy(&self, uid: &str) -> Option<&UnhealthyPod> {
        match self.get(uid)? {
            Pod::UnhealthyPod(unhealthy) => Some(unhealthy),
            Pod::Slim(_) => None,
        }
    }

    /// With which other pods an unhealthy pod takes turns.
    pub(in crate::state) fn stream(&self, uid: &str) -> Stream {
        self.unhealthy(uid).map_or_else(Stream::default, |pod| Stream {
            failure: pod.failure(),
            workload: Arc::as_ptr(&pod.place().siblings_of_workload).addr() as u64,
        })
    }

    /// All facts of an unhealthy pod.
    pub(in crate::state) fn full(&self, uid: &str) -> Option<Full> {
        self.unhealthy(uid)?.decompress()
    }

    pub(in crate::state) fn is_full(&self, uid: &str) -> bool {
        self.unhealthy(uid).is_some()
    }

    pub(in crate::state) fn is_slim(&self, uid: &str) -> bool {
        matches!(self.get(uid), Some(Pod::Slim(_)))
    }

    pub(in crate::state) fn contains(&self, uid: &str) -> bool {
        self.pod_index.slot(uid).is_some()
    }

    /// Whether the pod is the mirror of a static pod.
    pub(in crate::state) fn is_mirror(&self, uid: &str) -> bool {
        self.statics.contains_key(uid)
    }

    pub(in crate::state) fn len(&self) -> usize {
        self.pod_index.len()
    }

    /// UIDs of the unhealthy pods.
    pub(in crate::state) fn unhealthy_uids(&self) -> impl Iterator<Item = Arc<str>> {
        let unhealthy = self.pod_index.all().filter(|(_, pod)| matches!(pod, Pod::UnhealthyPod(_)));
        unhealthy.filter_map(|(slot, _)| self.pod_index.uid(slot))
    }

    fn slots_on(&self, node: &str) -> impl Iterator<Item = Slot> {
        self.by_node.get(node).into_iter().flatten().copied()
    }

    pub(in crate::state) fn on_node(&self, name: &str) -> impl Iterator<Item = Arc<str>> {
        self.slots_on(name).filter_map(|slot| self.pod_index.uid(slot))
    }

    pub(in crate::state) fn place(&self, uid: &str) -> Option<&Place> {
        self.get(uid).map(Pod::place)
    }

    pub(in crate::state) fn places_on(&self, name: &str) -> impl Iterator<Item = &Place> {
        self.slots_on(name).filter_map(|slot| self.pod_index.get(slot)).map(Pod::place)
    }

    pub(in crate::state) fn any_slim_on(&self, name: &str) -> bool {
        let is_slim = |slot| matches!(self.pod_index.get(slot), Some(Pod::Slim(place)) if !place.over);
        self.slots_on(name).any(is_slim)
    }

    pub(in crate::state) fn unscheduled(&self) -> impl Iterator<Item = Arc<str>> {
        self.waiting.iter().filter_map(|slot| self.pod_index.uid(*slot))
    }

    /// The UID of the pod that an Event is about. `None` if the Event names a pod of another namespace, which any
    /// client with access to Events could forge. The node controller writes no UID, so the name decides. For static
    /// pods the kubelet writes the static UID, while we see the mirror pod.
    pub(in crate::state) fn uid_for(&self, event: &EventFacts) -> Option<Arc<str>> {
        let named = &event.regarding.uid;
        // A client with access to Events in one namespace can use the UID of a pod in another.
        if let Some(place) = self.place(named) {
            return is_of(event, &place.key()).then(|| named.clone());
        }
        let key = ObjectKey { namespace: event.regarding.namespace.clone(), name: event.regarding.name.clone() };
        let of_name = self.pod_index.named(&key).and_then(|slot| self.pod_index.uid(slot));
        if named.is_empty() {
            return of_name;
        }
        let is_mirror = |uid: &Arc<str>| self.statics.get(uid).is_some_and(|of| event.is_of_static_pod(of));
        Some(of_name.filter(is_mirror).unwrap_or_else(|| named.clone()))
    }

    fn unhealthy_mut(&mut self, uid: &str) -> Option<(&mut UnhealthyPod, &mut Compressor)> {
        match self.pod_index.get_mut(self.pod_index.slot(uid)?)? {
            Pod::UnhealthyPod(unhealthy) => Some((unhealthy, &mut self.compressor)),
            Pod::Slim(_) => None,
        }
    }

    /// Marks a Failed pod as superseded: its workload reached its desired state without it.
    pub(in crate::state) fn supersede(&mut self, uid: &str) {
        if let Some((unhealthy, _)) = self.unhealthy_mut(uid) {
            unhealthy.supersede();
        }
    }

    /// Sets the causes of the last terminations.
    pub(in crate::state) fn attribute(&mut self, pod: &mut Full, attributions: &[Attribution]) {
        if ledger::attribute(&mut pod.ledger, attributions) {
            self.keep(pod);
        }
    }

    /// Stores the changed ledger of a pod.
    pub(in crate::state) fn keep(&mut self, pod: &Full) {
        if let Some((unhealthy, compressor)) = self.unhealthy_mut(&pod.facts.uid) {
            unhealthy.keep(pod, compressor);
        }
    }
}

impl Pod {
    pub(in crate::state) fn place(&self) -> &Place {
        match self {
            Self::Slim(place) => place,
            Self::UnhealthyPod(unhealthy) => unhealthy.place(),
        }
    }
}

/// Whether the pod is ready and never restarted, or completed normally. A slim entry then suffices.
fn is_healthy(facts: &PodFacts) -> bool {
    if facts.deletion.is_some() {
        return false;
    }
    let never_restarted = facts.containers.iter().all(|c| c.restart_count == 0);
    match facts.phase {
        Phase::Running => {
            let are_containers_healthy = facts.containers.iter().all(is_container_healthy);
            facts.is_ready() && never_restarted && are_containers_healthy && resize_trouble(facts).is_none()
        }
        // Only an Event would show that a probe killed it.
        Phase::Succeeded => {
            let probed = |c: &Container| c.probe(ProbeKind::Liveness).or(c.probe(ProbeKind::Startup)).is_some();
            never_restarted && !facts.containers.iter().any(probed)
        }
        Phase::Pending | Phase::Failed | Phase::Unknown => false,
    }
}

fn is_container_healthy(container: &Container) -> bool {
    match container.kind {
        ContainerType::App | ContainerType::Sidecar => container.is_running() && container.ready,
        ContainerType::Init | ContainerType::Ephemeral => true,
    }
}
