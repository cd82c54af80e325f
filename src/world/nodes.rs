//! Nodes, what their pods request, and the history of their Ready condition.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::pods::{Moved, Place};
use crate::diagnosis::{Thresholds, node, text};
use crate::facts::{
    EventFacts, NodeFacts, NodeState, ReadyTransition, Reboot, Resources, SystemOom, Timestamp, after, seconds_between,
};
use crate::plan::{self, Plan};

/// Transitions kept a node.
const HISTORY: usize = 16;
/// `SystemOOM` and `Rebooted` Events kept a node, and the most bytes of what each says.
const SYSTEM_OOMS: usize = 8;
const REBOOTS: usize = 4;
const SAID_MAX: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Nodes {
    by_name: BTreeMap<Arc<str>, NodeState>,
    /// Requests of pods whose node is not known (yet): counted when it comes.
    orphaned: HashMap<Arc<str>, Resources>,
    unlisted: Option<HashSet<Arc<str>>>,
    /// The incident that was told of each node.
    told: HashMap<Arc<str>, Told>,
    /// `NodeNotReady` Events of each node: how many, and when the last one was.
    not_ready: HashMap<Arc<str>, (u32, Option<Timestamp>)>,
    /// `SystemOOM` Events of nodes that are not known yet.
    early_ooms: HashMap<Arc<str>, Vec<SystemOom>>,
    /// The same of `Rebooted` Events.
    early_reboots: HashMap<Arc<str>, Vec<Reboot>>,
}

/// An incident of which an Event told, or is about to.
#[derive(Debug, Clone)]
struct Told {
    identity: String,
    cause: String,
    stage: Stage,
}

/// How far an incident has been told.
#[derive(Debug, Clone)]
enum Stage {
    /// The Event is not acknowledged yet.
    Beginning,
    /// Users know of it.
    Begun,
    /// An earlier run of the operator told of it. Whether the node has been restless since is not known, so a flapping
    /// node has to be stable as long as any.
    Inherited { flapping: bool },
    /// It is over; the Event that says so is not acknowledged yet.
    Ending(Box<plan::Announcement>),
}

/// What a new version of a Node changes for its pods, and for those that wait for a place.
#[derive(Debug, Default)]
pub(super) struct Effect {
    pub(super) readiness_changed: bool,
    pub(super) offer_changed: bool,
}

impl Nodes {
    pub(super) fn put(&mut self, facts: NodeFacts, now: Timestamp) -> Effect {
        let name = facts.name.clone();
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&name);
        }
        let Some(known) = self.by_name.get_mut(&name) else {
            let mut fresh = NodeState::new(facts);
            fresh.requested = self.orphaned.remove(&name).unwrap_or_default();
            fresh.system_ooms = self.early_ooms.remove(&name).unwrap_or_default();
            fresh.reboots = self.early_reboots.remove(&name).unwrap_or_default();
            remember(&mut fresh, now);
            self.by_name.insert(name, fresh);
            return Effect { readiness_changed: true, offer_changed: true };
        };
        let before = std::mem::replace(&mut known.facts, facts);
        let ready = |f: &NodeFacts| f.condition("Ready").map(|c| (c.status.clone(), c.message.clone()));
        let effect = Effect {
            readiness_changed: ready(&before) != ready(&known.facts),
            offer_changed: before.taints != known.facts.taints
                || before.unschedulable != known.facts.unschedulable
                || before.labels != known.facts.labels
                || before.allocatable != known.facts.allocatable,
        };
        remember(known, now);
        effect
    }

    pub(super) fn remove(&mut self, name: &Arc<str>) {
        if let Some(gone) = self.by_name.remove(name)
            && is_asked_for(&gone.requested)
        {
            self.orphaned.insert(name.clone(), gone.requested);
        }
        self.told.remove(name);
        self.not_ready.remove(name);
        self.early_ooms.remove(name);
        self.early_reboots.remove(name);
    }

    pub(super) fn begin_list(&mut self) {
        self.unlisted = Some(self.by_name.keys().cloned().collect());
    }

    pub(super) fn end_list(&mut self) -> Vec<Arc<str>> {
        // What was told of nodes that are not there is of no use.
        self.early_ooms.clear();
        self.early_reboots.clear();
        self.unlisted.take().into_iter().flatten().collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<&NodeState> {
        self.by_name.get(name)
    }

    pub(super) fn all(&self) -> &BTreeMap<Arc<str>, NodeState> {
        &self.by_name
    }

    /// Moves a pod's requests from the node where it was to the node where it is.
    pub(super) fn move_requests(&mut self, moved: &Moved) {
        let (before, after) = (moved.before.as_ref(), moved.after.as_ref());
        let spot = |place: Option<&Place>| place.filter(|p| !p.over).map(|p| (p.node.clone(), p.requests.clone()));
        if spot(before) == spot(after) {
            return;
        }
        if let Some(place) = before {
            self.requested_on(place, Resources::subtract);
        }
        if let Some(place) = after {
            self.requested_on(place, Resources::add);
        }
    }

    fn requested_on(&mut self, place: &Place, change: impl Fn(&mut Resources, &Resources)) {
        let Some(name) = place.node.as_ref().filter(|_| !place.over) else { return };
        if let Some(node) = self.by_name.get_mut(name) {
            change(&mut node.requested, &place.requests);
            return;
        }
        let sum = self.orphaned.entry(name.clone()).or_default();
        change(sum, &place.requests);
        if !is_asked_for(sum) {
            self.orphaned.remove(name);
        }
    }

    /// An Event about a Node: how often it was not ready before we looked, that it ran out of memory, or was rebooted.
    /// Whether that may explain the end of a container there.
    pub(super) fn event(&mut self, event: &EventFacts) -> bool {
        match &*event.reason {
            "NodeNotReady" => self.was_not_ready(event),
            "SystemOOM" => return self.ran_out_of_memory(event),
            "Rebooted" => return self.was_rebooted(event),
            _ => {}
        }
        false
    }

    fn ran_out_of_memory(&mut self, event: &EventFacts) -> bool {
        let Some(at) = event.last.or(event.first) else { return false };
        let name = &event.regarding.name;
        let told = match self.by_name.get_mut(name) {
            Some(node) => &mut node.system_ooms,
            None => self.early_ooms.entry(name.clone()).or_default(),
        };
        let oom = SystemOom { at, message: text::cut_bytes(&event.message, SAID_MAX).into() };
        keep_newest(told, oom, SYSTEM_OOMS, |oom| (oom.at, oom.message.clone()))
    }

    fn was_rebooted(&mut self, event: &EventFacts) -> bool {
        let Some(at) = event.last.or(event.first) else { return false };
        let name = &event.regarding.name;
        let told = match self.by_name.get_mut(name) {
            Some(node) => &mut node.reboots,
            None => self.early_reboots.entry(name.clone()).or_default(),
        };
        let reboot = Reboot { at, message: text::cut_bytes(&event.message, SAID_MAX).into() };
        keep_newest(told, reboot, REBOOTS, |reboot| (reboot.at, reboot.message.clone()))
    }

    fn was_not_ready(&mut self, event: &EventFacts) {
        let (count, last) = self.not_ready.entry(event.regarding.name.clone()).or_default();
        *count = (*count).max(event.count.max(1));
        *last = event.last.max(*last);
    }

    fn count_not_ready(&mut self, name: &str, now: Timestamp) {
        const WINDOW: i64 = 3600;
        let is_old = |last: Option<Timestamp>| last.is_some_and(|last| seconds_between(last, now) > WINDOW);
        if self.not_ready.get(name).is_some_and(|(_, last)| is_old(*last)) {
            self.not_ready.remove(name);
        }
        let count = self.not_ready.get(name).map_or(0, |(count, _)| *count);
        if let Some(node) = self.by_name.get_mut(name) {
            node.not_ready_events = count;
        }
    }

    /// What to tell of a node: one Event when an incident begins, one when it is over.
    pub(super) fn decide(&mut self, name: &Arc<str>, thresholds: &Thresholds, now: Timestamp) -> Plan {
        self.count_not_ready(name, now);
        let Some(state) = self.by_name.get(name) else { return Plan::default() };
        let judged = node::judge(state, thresholds, now);
        let mut wake = judged.wake;
        let told = self.told.get(name).cloned();
        let announcement = match (judged.incident, told) {
            // One after the other: what ended is told before what begins.
            (incident, Some(Told { stage: Stage::Ending(end), .. })) => {
                wake = incident.map(|_| now).or(wake);
                Some(*end)
            }
            (Some(incident), None) => {
                // An incident that was over, and turns out to be the beginning of a flapping one, began with it.
                let kind = if incident.flapping.is_some() { "/flapping" } else { "" };
                let identity = format!("{}{kind}", incident.identity(state));
                let told = Told { identity, cause: incident.cause.to_owned(), stage: Stage::Beginning };
                let out = plan::node_incident(&state.facts, &incident, &told.identity, now);
                self.told.insert(name.clone(), told);
                Some(out)
            }
            (Some(incident), Some(Told { identity, stage: Stage::Beginning, .. })) => {
                Some(plan::node_incident(&state.facts, &incident, &identity, now))
            }
            // Over before anybody was told.
            (None, Some(Told { stage: Stage::Beginning, .. })) => {
                self.told.remove(name);
                None
            }
            (None, Some(told)) if state.facts.is_ready() => {
                let stable = match told.stage {
                    Stage::Inherited { flapping: true } => stable_at(state, thresholds).filter(|at| now < *at),
                    _ => None,
                };
                if stable.is_some() {
                    wake = wake.into_iter().chain(stable).min();
                    None
                } else {
                    let out = plan::node_recovered(&state.facts, &told.cause, &told.identity, now);
                    let stage = Stage::Ending(Box::new(out.clone()));
                    self.told.insert(name.clone(), Told { stage, ..told });
                    Some(out)
                }
            }
            _ => None,
        };
        Plan { intent: announcement.map(|a| plan::Intent::Announce(Box::new(a))), wake }
    }

    /// The Event of a node was acknowledged.
    pub(super) fn told(&mut self, name: &Arc<str>) {
        match self.told.get_mut(name).map(|told| (matches!(told.stage, Stage::Ending(_)), told)) {
            Some((true, _)) => {
                self.told.remove(name);
            }
            Some((false, told)) if matches!(told.stage, Stage::Beginning) => told.stage = Stage::Begun,
            _ => {}
        }
    }

    /// The newest Event of ours on each Node says whether an incident was told and not yet ended.
    pub(super) fn restore(&mut self, events: &[EventFacts]) {
        let mut newest: HashMap<&Arc<str>, &EventFacts> = HashMap::new();
        for event in events.iter().filter(|e| &*e.regarding.kind == "Node") {
            let slot = newest.entry(&event.regarding.name).or_insert(event);
            if event.last > slot.last {
                *slot = event;
            }
        }
        for (name, event) in newest.into_iter().filter(|(_, e)| e.warning) {
            let told = Told {
                identity: format!("restored/{}", event.last.map_or(0, crate::facts::Timestamp::as_second)),
                cause: event.reason.to_string(),
                stage: Stage::Inherited { flapping: event.message.contains(" is flapping ") },
            };
            self.told.insert(name.clone(), told);
        }
    }
}

/// Adds what was not told before, oldest first, and at most so many. Whether it was news.
fn keep_newest<T: PartialEq, K: Ord>(told: &mut Vec<T>, item: T, most: usize, order: impl Fn(&T) -> K) -> bool {
    if told.contains(&item) {
        return false;
    }
    told.push(item);
    told.sort_by_key(order);
    if told.len() > most {
        told.remove(0);
    }
    true
}

/// When a node that is Ready will have been so for long enough.
fn stable_at(state: &NodeState, thresholds: &Thresholds) -> Option<Timestamp> {
    let since = state.facts.condition("Ready")?.last_transition?;
    Some(after(since, thresholds.flapping_stable))
}

/// Whether a pod is among those that were summed up.
fn is_asked_for(sum: &Resources) -> bool {
    sum.pods.is_some_and(|pods| pods > 0)
}

/// Notes a transition of the Ready condition, and what the kubelet itself complained of.
fn remember(node: &mut NodeState, now: Timestamp) {
    const UNKNOWN: &str = "Unknown";
    let Some(ready) = node.facts.condition("Ready").cloned() else { return };
    if ready.status == "False" && !ready.message.is_empty() {
        node.last_kubelet_complaint = Some((now, ready.message.clone()));
    }
    if let Some(last) = node.ready_history.last_mut().filter(|last| last.status == ready.status) {
        if ready.status != UNKNOWN {
            last.message = ready.message;
        }
        return;
    }
    node.ready_history.push(ReadyTransition {
        at: ready.last_transition.map_or(now, |at| at.min(now)),
        status: ready.status,
        reason: ready.reason,
        message: ready.message,
    });
    if node.ready_history.len() > HISTORY {
        node.ready_history.remove(0);
    }
}
