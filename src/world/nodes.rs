//! Nodes, what their pods request, and the history of their Ready condition.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::pods::{Moved, Place};
use crate::diagnosis::{Thresholds, node, text};
use crate::facts::{
    EventFacts, NodeComplaint, NodeFacts, NodeState, ReadyTransition, Reboot, Resources, SystemOom, Timestamp,
    seconds_between,
};

/// Transitions kept a node.
const HISTORY: usize = 16;
/// `SystemOOM` and `Rebooted` Events kept a node, and the most bytes of what each says.
const SYSTEM_OOMS: usize = 8;
const REBOOTS: usize = 4;
const SAID_MAX: usize = 128;
/// Nodes that are not known (yet) of which Events are kept.
const STRANGERS: usize = 1000;
/// The most bytes of what the kubelet complains of.
const COMPLAINT_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Nodes {
    by_name: BTreeMap<Arc<str>, NodeState>,
    /// Requests of pods whose node is not known (yet): counted when it comes.
    orphaned: HashMap<Arc<str>, Resources>,
    unlisted: Option<HashSet<Arc<str>>>,
    /// What our own object remembers of a node that was not listed yet.
    inherited: HashMap<Arc<str>, Vec<ReadyTransition>>,
    /// `NodeNotReady` Events of each node: how many, and when the last one was.
    not_ready: HashMap<Arc<str>, (u32, Option<Timestamp>)>,
    /// `SystemOOM` Events of nodes that are not known yet.
    early_ooms: HashMap<Arc<str>, Vec<SystemOom>>,
    /// The same of `Rebooted` Events.
    early_reboots: HashMap<Arc<str>, Vec<Reboot>>,
}

/// What a new version of a Node changes for its pods, and for those that wait for a place.
#[derive(Debug, Default)]
pub(super) struct Effect {
    pub(super) readiness_changed: bool,
    pub(super) offer_changed: bool,
}

impl Nodes {
    pub(super) fn kept(&self) -> usize {
        let early = self.early_ooms.len() + self.early_reboots.len() + self.inherited.len();
        self.by_name.len() + self.orphaned.len() + self.not_ready.len() + early
    }

    pub(super) fn put(&mut self, facts: NodeFacts, now: Timestamp) -> Effect {
        let name = facts.name.clone();
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&name);
        }
        let Some(known) = self.by_name.get_mut(&name) else {
            let mut fresh = NodeState::new(facts);
            fresh.requested = self.orphaned.remove(&name).unwrap_or_default();
            fresh.system_ooms = self.early_ooms.remove(&name).unwrap_or_default();
            fresh.ready_history = self.inherited.remove(&name).unwrap_or_default();
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
        self.inherited.clear();
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
        fn spot(place: Option<&Place>) -> Option<(&Option<Arc<str>>, &Resources)> {
            place.filter(|p| !p.over).map(|p| (&p.node, &p.kin.requests))
        }
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
            change(&mut node.requested, &place.kin.requests);
            return;
        }
        let sum = self.orphaned.entry(name.clone()).or_default();
        change(sum, &place.kin.requests);
        if !is_asked_for(sum) {
            self.orphaned.remove(name);
        }
    }

    /// An Event about a Node: how often it was not ready before we looked, that it ran out of memory, or was rebooted.
    /// Whether that may explain the end of a container there.
    pub(super) fn event(&mut self, event: &EventFacts) -> bool {
        let told = self.not_ready.len() + self.early_ooms.len() + self.early_reboots.len();
        if !self.by_name.contains_key(&event.regarding.name) && told >= self.by_name.len() + STRANGERS {
            return false;
        }
        match &*event.reason {
            "NodeNotReady" => self.was_not_ready(event),
            "SystemOOM" => return self.ran_out_of_memory(event),
            "Rebooted" => return self.was_rebooted(event),
            reason if node::is_complaint(reason) => self.complained(event),
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
        let oom = SystemOom { at, message: text::beginning(&event.message, SAID_MAX).into() };
        keep_newest(told, oom, SYSTEM_OOMS, |oom| (oom.at, oom.message.clone()))
    }

    fn was_rebooted(&mut self, event: &EventFacts) -> bool {
        let Some(at) = event.last.or(event.first) else { return false };
        let name = &event.regarding.name;
        let told = match self.by_name.get_mut(name) {
            Some(node) => &mut node.reboots,
            None => self.early_reboots.entry(name.clone()).or_default(),
        };
        let reboot = Reboot { at, message: text::beginning(&event.message, SAID_MAX).into() };
        keep_newest(told, reboot, REBOOTS, |reboot| (reboot.at, reboot.message.clone()))
    }

    fn was_not_ready(&mut self, event: &EventFacts) {
        let (count, last) = self.not_ready.entry(event.regarding.name.clone()).or_default();
        *count = (*count).max(event.count.max(1));
        *last = event.last.max(*last);
    }

    /// What the kubelet says of its node beside its conditions: the newest of each reason.
    fn complained(&mut self, event: &EventFacts) {
        let (Some(last), Some(node)) = (event.last.or(event.first), self.by_name.get_mut(&event.regarding.name)) else {
            return;
        };
        let reason = event.reason.clone();
        let known = node.complaints.iter().position(|c| c.reason == reason).map(|at| node.complaints.remove(at));
        let before = known.filter(|known| known.last > last);
        node.complaints.push(before.unwrap_or_else(|| NodeComplaint {
            reason,
            message: text::beginning(&event.message, COMPLAINT_MAX).into(),
            count: event.count.max(1),
            last,
        }));
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

    /// What is wrong with a node now, if anything.
    pub(super) fn judged(&mut self, name: &str, thresholds: &Thresholds, now: Timestamp) -> Option<node::Judgement> {
        self.count_not_ready(name, now);
        Some(node::judgement(self.by_name.get(name)?, thresholds, now))
    }

    /// Takes back what an earlier run of the operator remembered of a node, before it is listed.
    pub(super) fn restore(&mut self, name: &str, history: Vec<ReadyTransition>) {
        self.inherited.insert(name.into(), history);
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
