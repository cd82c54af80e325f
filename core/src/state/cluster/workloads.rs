//! Pod counts of each workload: ready pods, failing pods and pods lost.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::objects::Id;
use super::pods::{Moved, Place};
use crate::case::{immediate_workload, top_workload};
use crate::facts::{PodFacts, Siblings, Timestamp, WorkloadKey, seconds_between};
use crate::outbox::{Lane, Subject};
use crate::state::Touched;
use crate::state::cleanup::CleanupSchedule;

#[derive(Debug, Default)]
pub(in crate::state) struct Workloads {
    counts: HashMap<WorkloadKey, Counts>,
    /// The names of custom resources with failing pods. Their pods may refer to different versions of the API.
    custom: HashMap<Id, BTreeSet<WorkloadKey>>,
    /// The last pods that were evicted, shut down or rejected, oldest first.
    thrown_out: HashMap<WorkloadKey, VecDeque<ThrownOut>>,
    cleanup: CleanupSchedule,
}

#[derive(Debug, Default)]
struct Counts {
    total: u32,
    ready: u32,
    by_owner: HashMap<Arc<str>, OfOwner>,
    /// UIDs of the pods with an Active diagnosis.
    failing: HashSet<Arc<str>>,
    /// UIDs of the pods that are neither ready nor terminated.
    unready: HashSet<Arc<str>>,
}

/// The pods of one controller: a `ReplicaSet`, or the workload itself if it creates its pods directly.
#[derive(Debug, Default, Clone, Copy)]
struct OfOwner {
    total: u32,
    ready: u32,
}

#[derive(Debug)]
struct ThrownOut {
    at: Timestamp,
    /// The controller of the pod.
    owner: Option<Arc<str>>,
}

/// Most lost pods kept per workload.
const ENDS: usize = 4;

impl Workloads {
    pub(in crate::state) fn kept(&self) -> usize {
        self.counts.len() + self.custom.len() + self.thrown_out.len()
    }

    /// Updates the counts after a change of a pod. If the number of ready pods changed or a pod terminated, the failing
    /// siblings are returned, because their severity or recovery depends on it.
    pub(in crate::state) fn moved(&mut self, uid: &Arc<str>, moved: &Moved) -> Touched {
        let serving = |place: &Option<Place>| place.as_ref().is_some_and(|p| p.ready && !p.over);
        let changed = serving(&moved.before) != serving(&moved.after) || moved.has_just_terminated();
        self.add(uid, moved.before.as_ref(), -1);
        self.add(uid, moved.after.as_ref(), 1);
        let Some(workload) =
            moved.after.as_ref().or(moved.before.as_ref()).and_then(|p| p.siblings_of_workload.workload.as_ref())
        else {
            return Vec::new();
        };
        let Some(counts) = self.counts.get_mut(workload) else { return Vec::new() };
        if moved.after.is_none() {
            counts.failing.remove(uid);
            if counts.failing.is_empty() {
                forget_custom(&mut self.custom, workload);
            }
        }
        let deleting = |place: &Option<Place>| place.as_ref().is_some_and(|p| p.deleting);
        let has_changed_deletion = counts.failing.contains(uid) && deleting(&moved.before) != deleting(&moved.after);
        let itself = has_changed_deletion.then(|| (Subject::Workload(workload.clone()), Lane::Change));
        let others = counts.failing.iter().filter(|other| changed && *other != uid);
        others.map(|other| (Subject::Pod(other.clone()), Lane::Resync)).chain(itself).collect()
    }

    fn add(&mut self, uid: &Arc<str>, place: Option<&Place>, by: i32) {
        let Some(place) = place.filter(|p| !p.over) else { return };
        let Some(workload) = &place.siblings_of_workload.workload else { return };
        let counts = self.counts.entry(workload.clone()).or_default();
        counts.total = counts.total.saturating_add_signed(by);
        if let Some(owner) = &place.siblings_of_workload.owner {
            let of_owner = counts.by_owner.entry(owner.clone()).or_default();
            of_owner.total = of_owner.total.saturating_add_signed(by);
            if place.ready {
                of_owner.ready = of_owner.ready.saturating_add_signed(by);
            }
            if of_owner.total == 0 {
                counts.by_owner.remove(owner);
            }
        }
        if place.ready {
            counts.ready = counts.ready.saturating_add_signed(by);
        } else if by > 0 {
            counts.unready.insert(uid.clone());
        } else {
            counts.unready.remove(uid);
        }
        if counts.total == 0 && counts.failing.is_empty() {
            self.counts.remove(workload);
        }
    }

    /// UIDs of the workload's pods with an Active diagnosis.
    pub(in crate::state) fn failing(&self, workload: &WorkloadKey) -> impl Iterator<Item = &Arc<str>> {
        self.counts.get(workload).into_iter().flat_map(|counts| &counts.failing)
    }

    /// UIDs of the workload's pods that are neither ready nor terminated.
    pub(in crate::state) fn unready(&self, workload: &WorkloadKey) -> impl Iterator<Item = &Arc<str>> {
        self.counts.get(workload).into_iter().flat_map(|counts| &counts.unready)
    }

    /// Names under which pods of this custom resource fail.
    pub(in crate::state) fn of_custom(&self, object: &Id) -> impl Iterator<Item = &WorkloadKey> {
        self.custom.get(object).into_iter().flatten()
    }

    /// Workloads with a pod that has an Active diagnosis.
    pub(in crate::state) fn that_fail(&self) -> impl Iterator<Item = &WorkloadKey> {
        self.counts.iter().filter(|(_, counts)| !counts.failing.is_empty()).map(|(key, _)| key)
    }

    /// Number of Ready pods by controller. `None` if the workload has no pods.
    pub(in crate::state) fn ready_by_owner(&self, workload: &WorkloadKey) -> Option<Vec<(Arc<str>, u32)>> {
        let counts = self.counts.get(workload).filter(|counts| counts.total > 0)?;
        let some_ready = counts.by_owner.iter().filter(|(_, of)| of.ready > 0);
        let mut ready: Vec<_> = some_ready.map(|(owner, of)| (owner.clone(), of.ready)).collect();
        ready.sort();
        Some(ready)
    }

    /// Number of pods of each workload that are not terminated.
    pub(in crate::state) fn totals(&self) -> impl Iterator<Item = (&WorkloadKey, u32)> {
        self.counts.iter().map(|(key, counts)| (key, counts.total))
    }

    /// Registers that a pod of this workload and controller was evicted, shut down or rejected.
    pub(in crate::state) fn thrown_out(
        &mut self,
        workload: WorkloadKey,
        owner: Option<Arc<str>>,
        at: Timestamp,
        now: Timestamp,
    ) {
        let is_recent = |at: Timestamp| seconds_between(at, now) < Siblings::LATELY;
        if self.cleanup.is_due(now) {
            self.thrown_out.retain(|_, times| times.back().is_some_and(|last| is_recent(last.at)));
        }
        if !is_recent(at) {
            return;
        }
        // Pods found at startup arrive in any order.
        let times = self.thrown_out.entry(workload).or_default();
        let place = times.partition_point(|known| known.at <= at);
        times.insert(place, ThrownOut { at, owner });
        if times.len() > ENDS {
            times.pop_front();
        }
    }

    /// Whether the workload loses pods repeatedly.
    pub(in crate::state) fn repeatedly_removed(&self, workload: &WorkloadKey, now: Timestamp) -> bool {
        let (thrown_out_lately, thrown_out_since) = self.thrown_out_lately(workload, now);
        Siblings { thrown_out_lately, thrown_out_since, ..Siblings::default() }.are_thrown_out_again_and_again()
    }

    /// Number of pods that the workload lost recently, as far as they are kept, and the time of the first. Pods of a
    /// replaced template are not counted.
    fn thrown_out_lately(&self, workload: &WorkloadKey, now: Timestamp) -> (u32, Option<Timestamp>) {
        let there = self.counts.get(workload).map(|counts| &counts.by_owner).filter(|there| !there.is_empty());
        let is_there = |owner: &Arc<str>| there.is_none_or(|there| there.contains_key(owner));
        let counts = |end: &&ThrownOut| {
            seconds_between(end.at, now) < Siblings::LATELY && end.owner.as_ref().is_none_or(is_there)
        };
        let mut ends = self.thrown_out.get(workload).into_iter().flatten().filter(counts).map(|end| end.at);
        let first = ends.next();
        (u32::try_from(ends.count()).unwrap_or(u32::MAX).saturating_add(u32::from(first.is_some())), first)
    }

    pub(in crate::state) fn siblings(&self, pod: &PodFacts, now: Timestamp) -> Siblings {
        let Some(key) = top_workload(pod, None) else { return Siblings::default() };
        let (thrown_out_lately, thrown_out_since) = self.thrown_out_lately(&key, now);
        let Some(counts) = self.counts.get(&key) else {
            return Siblings { thrown_out_lately, thrown_out_since, ..Siblings::default() };
        };
        let same = immediate_workload(pod).and_then(|own| counts.by_owner.get(&own.name)).map_or(0, |of| of.ready);
        let failing = u32::try_from(counts.failing.len()).unwrap_or(u32::MAX);
        Siblings {
            total: counts.total,
            ready: counts.ready,
            same_template_ready: same,
            other_template_ready: counts.ready.saturating_sub(same),
            failing: failing + u32::from(!counts.failing.contains(&pod.uid)),
            thrown_out_lately,
            thrown_out_since,
        }
    }

    /// Counts a pod with an Active diagnosis.
    pub(in crate::state) fn set_failing(&mut self, key: &WorkloadKey, uid: &str) {
        self.counts.entry(key.clone()).or_default().failing.insert(Arc::from(uid));
        if key.is_custom() {
            self.custom.entry(Id::of(key)).or_default().insert(key.clone());
        }
    }

    /// The diagnosis of the pod is no longer Active.
    pub(in crate::state) fn unset_failing(&mut self, key: &WorkloadKey, uid: &str) {
        let Some(counts) = self.counts.get_mut(key) else { return };
        counts.failing.remove(uid);
        if counts.failing.is_empty() {
            forget_custom(&mut self.custom, key);
        }
        if counts.total == 0 && counts.failing.is_empty() {
            self.counts.remove(key);
        }
    }
}

fn forget_custom(custom: &mut HashMap<Id, BTreeSet<WorkloadKey>>, key: &WorkloadKey) {
    if !key.is_custom() {
        return;
    }
    let id = Id::of(key);
    if let Some(names) = custom.get_mut(&id) {
        names.remove(key);
        if names.is_empty() {
            custom.remove(&id);
        }
    }
}
