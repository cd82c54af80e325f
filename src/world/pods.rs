//! Pods by UID: a few words for those that are well, all facts for the others.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ledger;
use crate::api::ContainerType;
use crate::diagnosis::{Attribution, Ledger, Observed, immediate_workload, pod_status};
use crate::facts::{
    Condition, Container, EventFacts, ObjectKey, Phase, PodFacts, ProbeKind, Resources, State, Timestamp, WorkloadKey,
};

#[derive(Debug, Default)]
pub(super) struct Pods {
    by_uid: HashMap<Arc<str>, Pod>,
    by_key: HashMap<ObjectKey, Arc<str>>,
    by_node: HashMap<Arc<str>, HashSet<Arc<str>>>,
    /// Not over, and bound to no node.
    waiting: HashSet<Arc<str>>,
    requests: HashSet<Arc<Resources>>,
    /// How many different requests there may be before those of no pod are forgotten.
    requests_most: usize,
    /// The static pods' UIDs of mirrors.
    statics: HashMap<Arc<str>, Arc<str>>,
    /// UIDs that a running relist has not named yet.
    unlisted: Option<HashSet<Arc<str>>>,
}

#[derive(Debug)]
enum Pod {
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

/// What is counted of every pod: where it is, whose it is, what it takes and whether it serves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) key: ObjectKey,
    pub(super) node: Option<Arc<str>>,
    /// The controller itself (a ReplicaSet) and the workload on top of it.
    pub(super) owner: Option<Arc<str>>,
    pub(super) workload: Option<Arc<WorkloadKey>>,
    pub(super) requests: Arc<Resources>,
    pub(super) ready: bool,
    /// Succeeded or Failed: takes no room and does not serve.
    pub(super) over: bool,
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

impl Pods {
    pub(super) fn put(&mut self, facts: PodFacts, keep: bool, past: Ledger, at_start: bool, now: Timestamp) -> Moved {
        let uid = facts.uid.clone();
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&uid);
        }
        self.by_key.insert(facts.key.clone(), uid.clone());
        if let Some(static_uid) = &facts.static_uid {
            self.statics.insert(uid.clone(), static_uid.clone());
        }
        let known = self.by_uid.remove(&uid);
        let place = self.place_of(&facts, known.as_ref().map(Pod::place));
        let before = known.as_ref().map(|pod| pod.place().clone());
        let is_unwell = keep || !is_well(&facts);
        let pod = if is_unwell {
            Pod::Full(Box::new(Full::new(facts, known, past, place.clone(), at_start, now)))
        } else {
            Pod::Slim(place.clone())
        };
        self.by_uid.insert(uid.clone(), pod);
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
        if self.by_key.get(&place.key) == Some(uid) {
            self.by_key.remove(&place.key);
        }
        let key = place.key.clone();
        let moved = Moved { before: Some(place), after: None, is_unwell: false };
        self.reindex_node(uid, &moved);
        Some((key, moved))
    }

    fn place_of(&mut self, facts: &PodFacts, known: Option<&Place>) -> Place {
        let requests = self.shared(facts.effective_requests());
        let workload = crate::diagnosis::top_workload(facts, None);
        // One allocation a workload key is shared by a pod's successive places.
        let workload = workload.map(|key| match known.and_then(|k| k.workload.as_ref()).filter(|k| ***k == key) {
            Some(same) => same.clone(),
            None => Arc::new(key),
        });
        Place {
            key: facts.key.clone(),
            node: facts.node_name.clone(),
            owner: immediate_workload(facts).map(|w| w.name),
            workload,
            requests,
            ready: facts.is_ready() && facts.deletion.is_none(),
            over: facts.is_over(),
        }
    }

    /// Pods of one template share their requests.
    fn shared(&mut self, requests: Resources) -> Arc<Resources> {
        const FEW: usize = 256;
        if let Some(shared) = self.requests.get(&requests) {
            return shared.clone();
        }
        if self.requests.len() >= self.requests_most.max(FEW) {
            self.requests.retain(|shared| Arc::strong_count(shared) > 1);
            self.requests_most = self.requests.len() * 2;
        }
        let shared = Arc::new(requests);
        self.requests.insert(shared.clone());
        shared
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
        let of_name = self.by_key.get(&key);
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
    fn place(&self) -> &Place {
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

/// What a threshold runs on: a new situation starts it anew.
#[derive(Debug, PartialEq)]
struct Situation {
    phase: Phase,
    node: Option<Arc<str>>,
    /// A node is being cleared for the pod, or its volume made there.
    nominated: Option<Arc<str>>,
    ready: Option<(String, String)>,
    scheduled: Option<String>,
    /// Why a change of its resources is not made.
    resize: Option<String>,
    containers: Vec<(u8, String, bool, u32)>,
}

impl Situation {
    fn of(facts: &PodFacts) -> Self {
        let status = |c: &Condition| (c.status.clone(), c.reason.clone());
        Self {
            phase: facts.phase,
            node: facts.node_name.clone(),
            nominated: facts.nominated_node.clone(),
            ready: facts.condition("Ready").map(status),
            scheduled: facts.condition("PodScheduled").map(|c| c.reason.clone()),
            resize: resize_trouble(facts).map(|c| c.reason.clone()),
            containers: facts.containers.iter().map(situation_of).collect(),
        }
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

fn situation_of(container: &Container) -> (u8, String, bool, u32) {
    let (kind, reason) = match &container.state {
        // The pull error and its back-off take turns: one situation.
        State::Waiting { reason, .. } if reason == "ErrImagePull" => (0, "ImagePullBackOff".to_owned()),
        // Kubernetes 1.35 shows the run that ended for most of the back-off, and the back-off now and then.
        State::Waiting { reason, .. } if reason == "CrashLoopBackOff" => {
            (2, container.last.as_ref().map_or_else(String::new, |end| end.reason.clone()))
        }
        State::Waiting { reason, .. } => (0, reason.clone()),
        State::Running { .. } => (1, String::new()),
        State::Terminated(end) => (2, end.reason.clone()),
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
