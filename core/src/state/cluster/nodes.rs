//! Nodes with the resource requests of their pods and the history of their Ready condition.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::pods::{Moved, Place};
use crate::case::Thresholds;
use crate::facts::{
    EventFacts, NodeComplaint, NodeFacts, NodeState, ReadyTransition, Reboot, Remaining, Resources, SystemOom,
    Timestamp, seconds_between,
};
use crate::message::text;
use crate::rules::node;

/// Most Ready transitions kept per node.
const HISTORY: usize = 16;
/// Most `SystemOOM` and `Rebooted` Events kept per node, and most bytes of a message.
const SYSTEM_OOMS: usize = 8;
const REBOOTS: usize = 4;
const MESSAGE_MAX: usize = 128;
/// Most unknown nodes whose Events are kept.
const UNKNOWN_NODES: usize = 1000;
/// Most complaints kept per node. An agent chooses the reasons of its Events.
const COMPLAINTS: usize = 16;
/// Most bytes of a complaint.
const COMPLAINT_MAX: usize = 256;

#[derive(Debug, Default)]
pub(in crate::state) struct Nodes {
    /// Boxed: a B-tree that is filled in order is half empty.
    by_name: BTreeMap<Arc<str>, Box<NodeState>>,
    /// Requests of pods whose node is unknown. They are added when it appears.
    orphaned: HashMap<Arc<str>, Resources>,
    unlisted: Option<HashSet<Arc<str>>>,
    /// Restored Ready histories of nodes that are not listed yet.
    restored_histories: HashMap<Arc<str>, Vec<ReadyTransition>>,
    /// `NodeNotReady` Events of each node: their number and the time of the last one.
    not_ready: HashMap<Arc<str>, (u32, Option<Timestamp>)>,
    /// `SystemOOM` Events of unknown nodes.
    early_ooms: HashMap<Arc<str>, Vec<SystemOom>>,
    /// `Rebooted` Events of unknown nodes.
    early_reboots: HashMap<Arc<str>, Vec<Reboot>>,
    /// The nodes also run pods that we may not list.
    some_pods_only: bool,
}

/// What a new version of a Node changes for its pods and for pods waiting to be scheduled.
#[derive(Debug, Default)]
pub(in crate::state) struct Effect {
    pub(in crate::state) readiness_changed: bool,
    pub(in crate::state) offer_changed: bool,
}

impl Nodes {
    pub(in crate::state) fn kept(&self) -> usize {
        let early = self.early_ooms.len() + self.early_reboots.len() + self.restored_histories.len();
        self.by_name.len() + self.orphaned.len() + self.not_ready.len() + early
    }

    pub(in crate::state) fn put(&mut self, facts: NodeFacts, now: Timestamp) -> Effect {
        let name = facts.name.clone();
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&name);
        }
        let Some(known) = self.by_name.get_mut(&name) else {
            let mut fresh = NodeState::new(facts);
            fresh.all_pods_known = !self.some_pods_only;
            fresh.requested = self.orphaned.remove(&name).unwrap_or_default();
            fresh.system_ooms = self.early_ooms.remove(&name).unwrap_or_default();
            fresh.ready_history = self.restored_histories.remove(&name).unwrap_or_default();
            fresh.reboots = self.early_reboots.remove(&name).unwrap_or_default();
            remember(&mut fresh, now);
            self.by_name.insert(name, Box::new(fresh));
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

    pub(in crate::state) fn remove(&mut self, name: &Arc<str>) {
        if let Some(gone) = self.by_name.remove(name)
            && has_pods(&gone.requested)
        {
            self.orphaned.insert(name.clone(), gone.requested);
        }
        self.not_ready.remove(name);
        self.early_ooms.remove(name);
        self.early_reboots.remove(name);
    }

    pub(in crate::state) fn know_some_pods_only(&mut self) {
        self.some_pods_only = true;
    }

    pub(in crate::state) fn begin_list(&mut self) {
        self.unlisted = Some(self.by_name.keys().cloned().collect());
    }

    pub(in crate::state) fn end_list(&mut self) -> Vec<Arc<str>> {
        // Events of nodes that do not exist are useless.
        self.early_ooms.clear();
        self.restored_histories.clear();
        self.early_reboots.clear();
        self.unlisted.take().into_iter().flatten().collect()
    }

    pub(in crate::state) fn get(&self, name: &str) -> Option<&NodeState> {
        self.by_name.get(name).map(Box::as_ref)
    }

    pub(in crate::state) fn all(&self) -> &BTreeMap<Arc<str>, Box<NodeState>> {
        &self.by_name
    }

    /// Moves the requests of a pod from its former node to its current one.
    pub(in crate::state) fn move_requests(&mut self, moved: &Moved) {
        let (before, after) = (moved.before.as_ref(), moved.after.as_ref());
        fn spot(place: Option<&Place>) -> Option<(&Option<Arc<Arc<str>>>, &Resources)> {
            place.filter(|p| !p.over).map(|p| (&p.node, &p.siblings_of_workload.requests))
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
        let Some(name) = place.node.as_deref().filter(|_| !place.over) else { return };
        if let Some(node) = self.by_name.get_mut(name) {
            change(&mut node.requested, &place.siblings_of_workload.requests);
            return;
        }
        let sum = self.orphaned.entry(name.clone()).or_default();
        change(sum, &place.siblings_of_workload.requests);
        if !has_pods(sum) {
            self.orphaned.remove(name);
        }
    }

    /// Registers an Event of a node: NotReady, out of memory, reboot or a complaint. Returns whether it may
    /// explain the termination of a container on the node.
    pub(in crate::state) fn event(&mut self, event: &EventFacts) -> bool {
        let kept = self.not_ready.len() + self.early_ooms.len() + self.early_reboots.len();
        if !self.by_name.contains_key(&event.regarding.name) && kept >= self.by_name.len() + UNKNOWN_NODES {
            return false;
        }
        match &*event.reason {
            "NodeNotReady" => self.was_not_ready(event),
            "SystemOOM" => return self.ran_out_of_memory(event),
            "Rebooted" => return self.was_rebooted(event),
            reason if node::is_complaint(reason) || node::is_of_agent(event) => self.complained(event),
            _ if event.warning => self.warned(event),
            _ => {}
        }
        false
    }

    fn ran_out_of_memory(&mut self, event: &EventFacts) -> bool {
        let Some(at) = event.last.or(event.first) else { return false };
        let name = &event.regarding.name;
        let kept = match self.by_name.get_mut(name) {
            Some(node) => &mut node.system_ooms,
            None => self.early_ooms.entry(name.clone()).or_default(),
        };
        let oom = SystemOom { at, message: text::beginning(&event.message, MESSAGE_MAX).into() };
        keep_newest(kept, oom, SYSTEM_OOMS, |oom| (oom.at, oom.message.clone()))
    }

    fn was_rebooted(&mut self, event: &EventFacts) -> bool {
        let Some(at) = event.last.or(event.first) else { return false };
        let name = &event.regarding.name;
        let kept = match self.by_name.get_mut(name) {
            Some(node) => &mut node.reboots,
            None => self.early_reboots.entry(name.clone()).or_default(),
        };
        let reboot = Reboot { at, message: text::beginning(&event.message, MESSAGE_MAX).into() };
        keep_newest(kept, reboot, REBOOTS, |reboot| (reboot.at, reboot.message.clone()))
    }

    fn was_not_ready(&mut self, event: &EventFacts) {
        let (count, last) = self.not_ready.entry(event.regarding.name.clone()).or_default();
        *count = (*count).max(event.count.max(1));
        *last = event.last.max(*last);
    }

    /// Keeps the newest Warning that no cause matches.
    fn warned(&mut self, event: &EventFacts) {
        let (Some(last), Some(node)) = (event.last.or(event.first), self.by_name.get_mut(&event.regarding.name)) else {
            return;
        };
        if node.last_warning.as_ref().is_none_or(|known| known.last <= last) {
            node.last_warning = Some(Box::new(complaint(event, last)));
        }
    }

    /// Keeps the newest complaint per problem, in addition to the conditions.
    fn complained(&mut self, event: &EventFacts) {
        let (Some(last), Some(node)) = (event.last.or(event.first), self.by_name.get_mut(&event.regarding.name)) else {
            return;
        };
        let complaint = complaint(event, last);
        let is_same =
            |known: &NodeComplaint| (&known.reason, known.problem()) == (&complaint.reason, complaint.problem());
        let known = node.complaints.iter().position(is_same).map(|at| node.complaints.remove(at));
        node.complaints.push(known.filter(|known| known.last > last).unwrap_or(complaint));
        if node.complaints.len() > COMPLAINTS {
            let oldest = node.complaints.iter().enumerate().min_by_key(|(_, complaint)| complaint.last);
            if let Some((oldest, _)) = oldest {
                node.complaints.remove(oldest);
            }
        }
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

    /// Sets the pods that a node that leaves service still has.
    pub(in crate::state) fn remain(&mut self, name: &str, remaining: Option<Box<Remaining>>) {
        if let Some(node) = self.by_name.get_mut(name) {
            node.remaining = remaining;
        }
    }

    /// The node that a pod has left or ends on, if that node leaves service.
    pub(in crate::state) fn drained(&self, moved: &Moved) -> Option<Arc<str>> {
        let before = moved.before.as_ref()?;
        let is_same = |after: &Place| (after.over, after.deleting) == (before.over, before.deleting);
        let name = before.node.as_deref().filter(|_| !moved.after.as_ref().is_some_and(is_same))?;
        self.by_name.get(name).filter(|node| node.facts.is_leaving()).map(|_| name.clone())
    }

    /// The present findings of a node.
    pub(in crate::state) fn judged(
        &mut self,
        name: &str,
        thresholds: &Thresholds,
        now: Timestamp,
    ) -> Option<node::Judgement> {
        self.count_not_ready(name, now);
        Some(node::judgement(self.by_name.get(name)?, thresholds, now))
    }

    /// Restores the Ready history of a node from its diagnosis, before the node is listed.
    pub(in crate::state) fn restore(&mut self, name: &str, history: Vec<ReadyTransition>) {
        self.restored_histories.insert(name.into(), history);
    }
}

fn complaint(event: &EventFacts, last: Timestamp) -> NodeComplaint {
    NodeComplaint {
        reason: event.reason.clone(),
        message: text::beginning(&event.message, COMPLAINT_MAX).into(),
        count: event.count.max(1),
        last,
        reporter: event.reporter.clone(),
        is_of_agent: node::is_of_agent(event),
    }
}

/// Inserts a new item in order and drops the oldest beyond `most`. Returns whether the item was new.
fn keep_newest<T: PartialEq, K: Ord>(kept: &mut Vec<T>, item: T, most: usize, order: impl Fn(&T) -> K) -> bool {
    if kept.contains(&item) {
        return false;
    }
    kept.push(item);
    kept.sort_by_key(order);
    if kept.len() > most {
        kept.remove(0);
    }
    true
}

/// Whether any pod is included in this sum.
fn has_pods(sum: &Resources) -> bool {
    sum.pods.is_some_and(|pods| pods > 0)
}

/// Records a transition of the Ready condition, and the last message of the kubelet.
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
    // Most nodes have one entry, and a vector begins with room for four.
    node.ready_history.reserve_exact(1);
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
