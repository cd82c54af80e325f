//! Pods by UID: a few words for those that are well, all facts for the others.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::ledger;
use super::names::Names;
use crate::api::ContainerType;
use crate::diagnosis::{Attribution, Ledger, Observed, immediate_workload, pod_status, top_workload};
use crate::facts::{
    Condition, Container, EventFacts, ObjectKey, Phase, PodFacts, ProbeKind, Resources, State, Timestamp, WorkloadKey,
};

#[derive(Debug, Default)]
pub(super) struct Pods {
    by_uid: HashMap<Arc<str>, Pod>,
    names: Names,
    by_node: HashMap<Arc<str>, HashSet<Arc<str>>>,
    /// Not over, and bound to no node.
    waiting: HashSet<Arc<str>>,
    kin: Pool<Kin>,
    /// The static pods' UIDs of mirrors.
    statics: HashMap<Arc<str>, Arc<str>>,
    /// UIDs that a running relist has not named yet.
    unlisted: Option<HashSet<Arc<str>>>,
}

#[derive(Debug)]
pub(super) enum Pod {
    Slim(Place),
    Full(Box<Full>),
}

/// A pod with all its facts.
#[derive(Debug)]
pub(super) struct Full {
    pub(super) facts: PodFacts,
    pub(super) ledger: Ledger,
    pub(super) observed: Observed,
    /// What kubectl printed under STATUS before, each until when.
    pub(super) status_before: Vec<(String, Timestamp)>,
    /// It was seen that its workload has what it wants without it: what has failed for good is no failure again when
    /// the workload has another one.
    pub(super) superseded: bool,
    situation: Situation,
    place: Place,
}

/// What is counted of every pod: where it is, whose it is, what it takes and whether it serves. There are as many as pods,
/// so what they have in common stands elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    name: Name,
    pub(super) kin: Arc<Kin>,
    pub(super) node: Option<Arc<str>>,
    pub(super) ready: bool,
    /// Succeeded or Failed: takes no room and does not serve.
    pub(super) over: bool,
}

/// What the pods of one template have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Kin {
    pub(super) namespace: Arc<str>,
    /// The controller itself (a ReplicaSet) and the workload on top of it.
    pub(super) owner: Option<Arc<str>>,
    pub(super) workload: Option<WorkloadKey>,
    pub(super) requests: Resources,
}

/// A pod's name: most begin with their maker's, and only a few random letters are their own.
#[derive(Debug, Clone, PartialEq)]
enum Name {
    /// After the maker's name and a hyphen: so many bytes.
    Own(u8, [u8; Self::FEW]),
    Whole(Arc<str>),
}

impl Name {
    /// Room in the place of an `Arc`; a ReplicaSet's pods have five letters, a StatefulSet's a number.
    const FEW: usize = 14;

    fn of(name: &Arc<str>, maker: Option<&Arc<str>>) -> Self {
        let own = maker.and_then(|maker| name.strip_prefix(&**maker)?.strip_prefix('-'));
        let own = own.map(str::as_bytes).filter(|own| own.len() <= Self::FEW);
        let Some((own, len)) = own.and_then(|own| Some((own, u8::try_from(own.len()).ok()?))) else {
            return Self::Whole(name.clone());
        };
        let mut bytes = [0; Self::FEW];
        bytes[..own.len()].copy_from_slice(own);
        Self::Own(len, bytes)
    }

    /// In parts that make it up when they are put together.
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
    pub(super) fn key(&self) -> ObjectKey {
        let name = match &self.name {
            Name::Whole(name) => name.clone(),
            own @ Name::Own(..) => own.parts(self.kin.owner.as_ref()).concat().into(),
        };
        ObjectKey { namespace: self.kin.namespace.clone(), name }
    }

    /// Whether this is its key.
    pub(super) fn is(&self, key: &ObjectKey) -> bool {
        let parts = self.name.parts(self.kin.owner.as_ref());
        let rest = parts.into_iter().try_fold(&*key.name, |rest, part| rest.strip_prefix(part));
        rest == Some("") && self.kin.namespace == key.namespace
    }
}

/// How a pod's place changed; `None` where it was not there before, or is not any more.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) before: Option<Place>,
    pub(super) after: Option<Place>,
    pub(super) is_unwell: bool,
}

impl Moved {
    /// Whether the pod has succeeded or failed just now.
    pub(super) fn has_ended(&self) -> bool {
        self.after.as_ref().is_some_and(|p| p.over) && self.before.as_ref().is_some_and(|p| !p.over)
    }
}

/// What many pods have in common, one copy of each.
#[derive(Debug)]
struct Pool<T> {
    known: HashSet<Arc<T>>,
    /// How many there may be before those of no pod are forgotten.
    most: usize,
}

impl<T> Pool<T> {
    const FEW: usize = 256;
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { known: HashSet::new(), most: Self::FEW }
    }
}

impl<T: Eq + Hash> Pool<T> {
    fn share(&mut self, value: T) -> Arc<T> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if self.known.len() >= self.most {
            self.known.retain(|known| Arc::strong_count(known) > 1);
            self.most = (self.known.len() * 2).max(Self::FEW);
        }
        let shared = Arc::new(value);
        self.known.insert(shared.clone());
        shared
    }
}

impl Pods {
    pub(super) fn put(&mut self, facts: PodFacts, keep: bool, past: Ledger, at_start: bool, now: Timestamp) -> Moved {
        let (uid, key) = (facts.uid.clone(), facts.key.clone());
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&uid);
        }
        if let Some(static_uid) = &facts.static_uid {
            self.statics.insert(uid.clone(), static_uid.clone());
        }
        let known = self.by_uid.remove(&uid);
        let place = self.place_of(&facts);
        let before = known.as_ref().map(|pod| pod.place().clone());
        let is_unwell = keep || !is_well(&facts);
        let pod = if is_unwell {
            Pod::Full(Box::new(Full::new(facts, known, past, place.clone(), at_start, now)))
        } else {
            Pod::Slim(place.clone())
        };
        self.by_uid.insert(uid.clone(), pod);
        self.names.put(&key, &uid, &self.by_uid);
        if place.node.is_none() && !place.over {
            self.waiting.insert(uid.clone());
        } else {
            self.waiting.remove(&uid);
        }
        let moved = Moved { before, after: Some(place), is_unwell };
        self.reindex_node(&uid, &moved);
        moved
    }

    pub(super) fn remove(&mut self, uid: &Arc<str>) -> Option<(ObjectKey, Moved)> {
        let pod = self.by_uid.remove(uid)?;
        self.statics.remove(uid);
        self.waiting.remove(uid);
        let place = pod.place().clone();
        let key = place.key();
        self.names.remove(&key, uid);
        let moved = Moved { before: Some(place), after: None, is_unwell: false };
        self.reindex_node(uid, &moved);
        Some((key, moved))
    }

    fn place_of(&mut self, facts: &PodFacts) -> Place {
        let kin = Kin {
            namespace: facts.key.namespace.clone(),
            owner: immediate_workload(facts).map(|w| w.name.clone()),
            workload: top_workload(facts, None),
            requests: facts.effective_requests(),
        };
        Place {
            name: Name::of(&facts.key.name, kin.owner.as_ref()),
            kin: self.kin.share(kin),
            node: facts.node_name.clone(),
            ready: facts.is_ready() && facts.deletion.is_none(),
            over: facts.is_over(),
        }
    }

    fn reindex_node(&mut self, uid: &Arc<str>, moved: &Moved) {
        let node = |place: &Option<Place>| place.as_ref().and_then(|p| p.node.clone());
        let (before, after) = (node(&moved.before), node(&moved.after));
        if before == after {
            return;
        }
        if let Some(name) = before
            && let Some(set) = self.by_node.get_mut(&name)
        {
            set.remove(uid);
            if set.is_empty() {
                self.by_node.remove(&name);
            }
        }
        if let Some(name) = after {
            self.by_node.entry(name).or_default().insert(uid.clone());
        }
    }

    pub(super) fn begin_list(&mut self) {
        self.unlisted = Some(self.by_uid.keys().cloned().collect());
    }

    /// The UIDs that the list did not name.
    pub(super) fn end_list(&mut self) -> Vec<Arc<str>> {
        self.unlisted.take().into_iter().flatten().collect()
    }

    pub(super) fn full(&self, uid: &str) -> Option<&Full> {
        match self.by_uid.get(uid)? {
            Pod::Full(full) => Some(full),
            Pod::Slim(_) => None,
        }
    }

    pub(super) fn is_full(&self, uid: &str) -> bool {
        self.full(uid).is_some()
    }

    pub(super) fn is_slim(&self, uid: &str) -> bool {
        matches!(self.by_uid.get(uid), Some(Pod::Slim(_)))
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.by_uid.contains_key(uid)
    }

    pub(super) fn len(&self) -> usize {
        self.by_uid.len()
    }

    pub(super) fn unwell(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_uid.iter().filter(|(_, pod)| matches!(pod, Pod::Full(_))).map(|(uid, _)| uid)
    }

    pub(super) fn on_node(&self, name: &str) -> impl Iterator<Item = Arc<str>> {
        self.by_node.get(name).into_iter().flatten().cloned()
    }

    pub(super) fn place(&self, uid: &str) -> Option<&Place> {
        self.by_uid.get(uid).map(Pod::place)
    }

    pub(super) fn places_on(&self, name: &str) -> impl Iterator<Item = &Place> {
        self.by_node.get(name).into_iter().flatten().filter_map(|uid| self.by_uid.get(uid)).map(Pod::place)
    }

    pub(super) fn any_slim_on(&self, name: &str) -> bool {
        let is_slim = |uid: &Arc<str>| matches!(self.by_uid.get(uid), Some(Pod::Slim(place)) if !place.over);
        self.by_node.get(name).into_iter().flatten().any(is_slim)
    }

    pub(super) fn unscheduled(&self) -> impl Iterator<Item = Arc<str>> {
        self.waiting.iter().cloned()
    }

    /// The UID that an Event is about. The node controller writes no UID; then the name decides. The kubelet writes that of
    /// a static pod, of which we see the mirror.
    pub(super) fn uid_for(&self, event: &EventFacts) -> Option<Arc<str>> {
        let named = &event.regarding.uid;
        if self.by_uid.contains_key(named) {
            return Some(named.clone());
        }
        let key = ObjectKey { namespace: event.regarding.namespace.clone(), name: event.regarding.name.clone() };
        let of_name = self.names.get(&key, &self.by_uid);
        if named.is_empty() {
            return of_name.cloned();
        }
        let is_mirror = |uid: &&Arc<str>| self.statics.get(*uid).is_some_and(|of| event.is_of_static_pod(of));
        Some(of_name.filter(is_mirror).unwrap_or(named).clone())
    }

    /// Remembers that the workload of a Failed pod has what it wants without it.
    pub(super) fn supersede(&mut self, uid: &str) {
        if let Some(Pod::Full(full)) = self.by_uid.get_mut(uid) {
            full.superseded = true;
        }
    }

    /// Puts the last runs of containers down to a cause.
    pub(super) fn attribute(&mut self, uid: &str, attributions: &[Attribution]) {
        if let Some(Pod::Full(full)) = self.by_uid.get_mut(uid) {
            ledger::attribute(&mut full.ledger, attributions);
        }
    }
}

impl Pod {
    pub(super) fn place(&self) -> &Place {
        match self {
            Self::Slim(place) => place,
            Self::Full(full) => &full.place,
        }
    }
}

impl Full {
    fn new(facts: PodFacts, known: Option<Pod>, past: Ledger, place: Place, at_start: bool, now: Timestamp) -> Self {
        let situation = Situation::of(&facts);
        let (mut ledger, observed, status_before, superseded) = match known {
            Some(Pod::Full(old)) => {
                let same = old.situation == situation;
                let observed = Observed {
                    first: old.observed.first,
                    situation_since: if same { old.observed.situation_since } else { now },
                    at_start: same && old.observed.at_start,
                };
                let mut words = old.status_before;
                remember_status(&mut words, &old.facts, &facts, now);
                (old.ledger, observed, words, old.superseded && facts.is_over())
            }
            // A slim pod was seen before, but its times were not kept: what changes it, changes now.
            known => {
                let fresh = Observed { first: now, situation_since: now, at_start: at_start && known.is_none() };
                (past, fresh, Vec::new(), false)
            }
        };
        ledger::record(&mut ledger, &facts);
        Self { facts, ledger, observed, status_before, superseded, situation, place }
    }
}

/// Keeps the word under STATUS that has just gone, with the time until which it stood.
fn remember_status(words: &mut Vec<(String, Timestamp)>, old: &PodFacts, new: &PodFacts, now: Timestamp) {
    /// A loop has three: it runs, has ended, backs off.
    const WORDS: usize = 4;
    let gone = pod_status(old);
    if gone == pod_status(new) {
        return;
    }
    words.retain(|(word, _)| *word != gone);
    if words.len() == WORDS {
        words.remove(0);
    }
    words.push((gone, now));
}

/// What a threshold runs on, as a hash: a new situation starts it anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Situation(u64);

impl Situation {
    fn of(facts: &PodFacts) -> Self {
        let mut hasher = DefaultHasher::new();
        facts.phase.hash(&mut hasher);
        facts.node_name.hash(&mut hasher);
        // A node is being cleared for the pod, or its volume made there.
        facts.nominated_node.hash(&mut hasher);
        facts.condition("Ready").map(|c| (&c.status, &c.reason)).hash(&mut hasher);
        facts.condition("PodScheduled").map(|c| &c.reason).hash(&mut hasher);
        // Why a change of its resources is not made.
        resize_trouble(facts).map(|c| &c.reason).hash(&mut hasher);
        facts.containers.iter().for_each(|container| situation_of(container).hash(&mut hasher));
        Self(hasher.finish())
    }
}

/// What keeps the resources of a running pod from being changed as somebody asked.
fn resize_trouble(facts: &PodFacts) -> Option<&Condition> {
    let is_trouble = |c: &&Condition| match c.kind.as_str() {
        "PodResizePending" => c.status == "True",
        "PodResizeInProgress" => c.status == "True" && c.reason == "Error",
        _ => false,
    };
    facts.conditions.iter().find(is_trouble)
}

fn situation_of(container: &Container) -> (u8, &str, bool, u32) {
    let (kind, reason) = match &container.state {
        // The pull error and its back-off take turns: one situation.
        State::Waiting { reason, .. } if reason == "ErrImagePull" => (0, "ImagePullBackOff"),
        // Kubernetes 1.35 shows the run that ended for most of the back-off, and the back-off now and then.
        State::Waiting { reason, .. } if reason == "CrashLoopBackOff" => {
            (2, container.last.as_ref().map_or("", |end| &end.reason))
        }
        State::Waiting { reason, .. } => (0, reason.as_str()),
        State::Running { .. } => (1, ""),
        State::Terminated(end) => (2, end.reason.as_str()),
    };
    (kind, reason, container.ready, container.restart_count)
}

/// Ready and never restarted, or finished as it should: a few words will do.
fn is_well(facts: &PodFacts) -> bool {
    if facts.deletion.is_some() {
        return false;
    }
    let never_restarted = facts.containers.iter().all(|c| c.restart_count == 0);
    match facts.phase {
        Phase::Running => {
            let runs_well = facts.containers.iter().all(runs_well);
            facts.is_ready() && never_restarted && runs_well && resize_trouble(facts).is_none()
        }
        // A probe that killed it would show in an Event only.
        Phase::Succeeded => {
            let probed = |c: &Container| c.probe(ProbeKind::Liveness).or(c.probe(ProbeKind::Startup)).is_some();
            never_restarted && !facts.containers.iter().any(probed)
        }
        Phase::Pending | Phase::Failed | Phase::Unknown => false,
    }
}

fn runs_well(container: &Container) -> bool {
    match container.kind {
        ContainerType::App | ContainerType::Sidecar => container.is_running() && container.ready,
        ContainerType::Init | ContainerType::Ephemeral => true,
    }
}
