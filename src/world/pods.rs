//! Pods by UID: a few words for those that are well, all facts for the others.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use super::events::is_of;
use super::ledger;
use super::packed::Packer;
use super::roll::{Number, Roll};
use super::unwell::{Full, Unwell, resize_trouble};
use crate::api::ContainerType;
use crate::diagnosis::{Attribution, Ledger, immediate_workload, top_workload};
use crate::facts::{Container, EventFacts, ObjectKey, Phase, PodFacts, ProbeKind, Resources, Timestamp, WorkloadKey};

#[derive(Debug, Default)]
pub(super) struct Pods {
    roll: Roll,
    by_node: HashMap<Arc<str>, HashSet<Number>>,
    /// Not over, and bound to no node.
    waiting: HashSet<Number>,
    kin: Pool<Kin>,
    packer: Packer,
    /// The static pods' UIDs of mirrors.
    statics: HashMap<Arc<str>, Arc<str>>,
    /// Those that a running relist has not named yet.
    unlisted: Option<HashSet<Number>>,
}

#[derive(Debug)]
pub(super) enum Pod {
    Slim(Place),
    Unwell(Box<Unwell>),
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
    /// It is being deleted.
    pub(super) going: bool,
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
    Whole(Box<Arc<str>>),
}

impl Name {
    /// All of it is 16 bytes then; a ReplicaSet's pods have five letters, a StatefulSet's a number.
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
            Name::Whole(name) => Arc::clone(name),
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
        self.is_met_over() && self.before.is_some()
    }

    /// Whether it is over, and was not known to be: it may have been made and ended between two lists.
    pub(super) fn is_met_over(&self) -> bool {
        self.after.as_ref().is_some_and(|p| p.over) && self.before.as_ref().is_none_or(|p| !p.over)
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
    pub(super) fn kept(&self) -> usize {
        self.roll.len() + self.by_node.len() + self.waiting.len() + self.statics.len()
    }

    pub(super) fn put(&mut self, facts: PodFacts, keep: bool, past: Ledger, at_start: bool, now: Timestamp) -> Moved {
        if let Some(static_uid) = &facts.static_uid {
            self.statics.insert(facts.uid.clone(), static_uid.clone());
        }
        let place = self.place_of(&facts);
        let (number, known) = self.roll.put(&facts.uid, &facts.key, Pod::Slim(place.clone()));
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&number);
        }
        let before = known.as_ref().map(|pod| pod.place().clone());
        let is_unwell = keep || !is_well(&facts);
        if let Some(pod) = self.roll.get_mut(number).filter(|_| is_unwell) {
            let full = Full::new(facts, known.as_ref(), past, at_start, now);
            *pod = Pod::Unwell(Box::new(Unwell::new(&full, place.clone(), &mut self.packer)));
        }
        if place.node.is_none() && !place.over {
            self.waiting.insert(number);
        } else {
            self.waiting.remove(&number);
        }
        let moved = Moved { before, after: Some(place), is_unwell };
        self.reindex_node(number, &moved);
        moved
    }

    pub(super) fn remove(&mut self, uid: &str) -> Option<(ObjectKey, Moved)> {
        let (number, pod) = self.roll.remove(uid)?;
        self.statics.remove(uid);
        self.waiting.remove(&number);
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&number);
        }
        let place = pod.place().clone();
        let key = place.key();
        let moved = Moved { before: Some(place), after: None, is_unwell: false };
        self.reindex_node(number, &moved);
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
            going: facts.deletion.is_some(),
        }
    }

    fn reindex_node(&mut self, number: Number, moved: &Moved) {
        let node = |place: &Option<Place>| place.as_ref().and_then(|p| p.node.clone());
        let (before, after) = (node(&moved.before), node(&moved.after));
        if before == after {
            return;
        }
        if let Some(name) = before
            && let Some(set) = self.by_node.get_mut(&name)
        {
            set.remove(&number);
            if set.is_empty() {
                self.by_node.remove(&name);
            }
        }
        if let Some(name) = after {
            self.by_node.entry(name).or_default().insert(number);
        }
    }

    pub(super) fn begin_list(&mut self) {
        self.unlisted = Some(self.roll.all().map(|(number, _)| number).collect());
    }

    /// The UIDs that the list did not name.
    pub(super) fn end_list(&mut self) -> Vec<Arc<str>> {
        let unlisted = self.unlisted.take();
        unlisted.into_iter().flatten().filter_map(|number| self.roll.uid(number)).collect()
    }

    fn get(&self, uid: &str) -> Option<&Pod> {
        self.roll.get(self.roll.number(uid)?)
    }

    fn unwell(&self, uid: &str) -> Option<&Unwell> {
        match self.get(uid)? {
            Pod::Unwell(unwell) => Some(unwell),
            Pod::Slim(_) => None,
        }
    }

    /// All that is known of a pod that is not well.
    pub(super) fn full(&self, uid: &str) -> Option<Full> {
        self.unwell(uid)?.open()
    }

    pub(super) fn is_full(&self, uid: &str) -> bool {
        self.unwell(uid).is_some()
    }

    pub(super) fn is_slim(&self, uid: &str) -> bool {
        matches!(self.get(uid), Some(Pod::Slim(_)))
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.roll.number(uid).is_some()
    }

    /// Whether it mirrors a static pod.
    pub(super) fn is_mirror(&self, uid: &str) -> bool {
        self.statics.contains_key(uid)
    }

    pub(super) fn len(&self) -> usize {
        self.roll.len()
    }

    /// The UIDs of those that are not well.
    pub(super) fn all_unwell(&self) -> impl Iterator<Item = Arc<str>> {
        let unwell = self.roll.all().filter(|(_, pod)| matches!(pod, Pod::Unwell(_)));
        unwell.filter_map(|(number, _)| self.roll.uid(number))
    }

    fn numbers_on(&self, node: &str) -> impl Iterator<Item = Number> {
        self.by_node.get(node).into_iter().flatten().copied()
    }

    pub(super) fn on_node(&self, name: &str) -> impl Iterator<Item = Arc<str>> {
        self.numbers_on(name).filter_map(|number| self.roll.uid(number))
    }

    pub(super) fn place(&self, uid: &str) -> Option<&Place> {
        self.get(uid).map(Pod::place)
    }

    pub(super) fn places_on(&self, name: &str) -> impl Iterator<Item = &Place> {
        self.numbers_on(name).filter_map(|number| self.roll.get(number)).map(Pod::place)
    }

    pub(super) fn any_slim_on(&self, name: &str) -> bool {
        let is_slim = |number| matches!(self.roll.get(number), Some(Pod::Slim(place)) if !place.over);
        self.numbers_on(name).any(is_slim)
    }

    pub(super) fn unscheduled(&self) -> impl Iterator<Item = Arc<str>> {
        self.waiting.iter().filter_map(|number| self.roll.uid(*number))
    }

    /// The UID that an Event is about; `None` where it names a pod of another namespace than its own, which anybody can write
    /// who may create Events in his own. The node controller writes no UID; then the name decides. The kubelet writes that of
    /// a static pod, of which we see the mirror.
    pub(super) fn uid_for(&self, event: &EventFacts) -> Option<Arc<str>> {
        let named = &event.regarding.uid;
        // Whoever writes Events in one namespace may put the UID of a pod of another into them.
        if let Some(place) = self.place(named) {
            return is_of(event, &place.key()).then(|| named.clone());
        }
        let key = ObjectKey { namespace: event.regarding.namespace.clone(), name: event.regarding.name.clone() };
        let of_name = self.roll.named(&key).and_then(|number| self.roll.uid(number));
        if named.is_empty() {
            return of_name;
        }
        let is_mirror = |uid: &Arc<str>| self.statics.get(uid).is_some_and(|of| event.is_of_static_pod(of));
        Some(of_name.filter(is_mirror).unwrap_or_else(|| named.clone()))
    }

    fn unwell_mut(&mut self, uid: &str) -> Option<(&mut Unwell, &mut Packer)> {
        match self.roll.get_mut(self.roll.number(uid)?)? {
            Pod::Unwell(unwell) => Some((unwell, &mut self.packer)),
            Pod::Slim(_) => None,
        }
    }

    /// Remembers that the workload of a Failed pod has what it wants without it.
    pub(super) fn supersede(&mut self, uid: &str) {
        if let Some((unwell, _)) = self.unwell_mut(uid) {
            unwell.supersede();
        }
    }

    /// Puts the last runs of containers down to a cause.
    pub(super) fn attribute(&mut self, pod: &mut Full, attributions: &[Attribution]) {
        if ledger::attribute(&mut pod.ledger, attributions) {
            self.keep(pod);
        }
    }

    /// Keeps what was learnt of a pod's runs.
    pub(super) fn keep(&mut self, pod: &Full) {
        if let Some((unwell, packer)) = self.unwell_mut(&pod.facts.uid) {
            unwell.keep(pod, packer);
        }
    }
}

impl Pod {
    pub(super) fn place(&self) -> &Place {
        match self {
            Self::Slim(place) => place,
            Self::Unwell(unwell) => unwell.place(),
        }
    }
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
