//! Our own objects, as last acknowledged, and the caps on them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Touched;
use super::brief::Brief;
use super::custody::{Custody, Repair};
use super::packed::{Packed, Packer};
use crate::api::{Confidence, DiagnosisState, PodDiagnosisSpec, PodDiagnosisStatus};
use crate::diagnosis::{Category, Diagnosis, Ledger, PastRun, rules};
use crate::facts::{ObjectKey, PodFacts, Timestamp, WorkloadKey, seconds_between};
use crate::outbox::{Lane, Subject};
use crate::plan::{self, Intent, ObjectWrite, Plan, Policy, Record, Shown};

/// How many objects there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub per_namespace: usize,
    /// Ended ones of the same workload, container and cause.
    pub ended_per_failure: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { per_namespace: 500, ended_per_failure: 3 }
    }
}

/// An object as it was read back at start.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    pub key: ObjectKey,
    pub uid: String,
    pub resource_version: String,
    pub spec: PodDiagnosisSpec,
    pub status: PodDiagnosisStatus,
}

/// One of our objects: what is often asked for, and the record.
#[derive(Debug)]
struct Kept {
    brief: Brief,
    uid: Box<str>,
    resource_version: String,
    event_owed: bool,
    record: Packed<Record>,
}

#[derive(Debug)]
pub(super) struct Records {
    caps: Caps,
    /// Boxed, as the table is twice as large as what is in it.
    by_key: HashMap<ObjectKey, Box<Kept>>,
    packer: Packer,
    by_namespace: HashMap<Arc<str>, HashSet<ObjectKey>>,
    custody: Custody<ObjectKey>,
    /// Evicted by a cap.
    doomed: HashSet<ObjectKey>,
    /// Those that an end under way will stand for, once it is acknowledged.
    inherited: HashMap<ObjectKey, Vec<ObjectKey>>,
    /// Failures without an object: the pod's UID, the cause, and whether its Event is there.
    unrecorded: HashMap<Arc<str>, (String, bool)>,
}

impl Records {
    pub(super) fn kept(&self) -> usize {
        let ending = self.doomed.len() + self.inherited.len();
        self.by_key.len() + self.by_namespace.len() + self.unrecorded.len() + ending + self.custody.kept()
    }

    pub(super) fn new(caps: Caps) -> Self {
        Self {
            caps,
            by_key: HashMap::new(),
            packer: Packer::default(),
            by_namespace: HashMap::new(),
            custody: Custody::default(),
            doomed: HashSet::new(),
            inherited: HashMap::new(),
            unrecorded: HashMap::new(),
        }
    }

    pub(super) fn caps(&self) -> Caps {
        self.caps
    }

    pub(super) fn restore(&mut self, stored: Stored) -> ObjectKey {
        let written_at = stored.status.last_transition.unwrap_or(Timestamp::UNIX_EPOCH);
        let mut told = vec![(stored.status.cause.clone(), stored.status.container.clone())];
        let history = stored.status.restarts.iter().flat_map(|r| &r.history);
        for run in history.filter(|_| stored.status.state == DiagnosisState::Active) {
            let earlier = (run.cause.clone().unwrap_or_default(), Some(run.container.clone()));
            if run.cause.is_some() && !told.contains(&earlier) {
                told.push(earlier);
            }
        }
        let shown = Shown::of(&stored.status);
        let key = stored.key.clone();
        self.insert(Record {
            key: stored.key,
            uid: stored.uid,
            resource_version: stored.resource_version,
            spec: stored.spec,
            status: stored.status,
            written_at,
            told,
            shown,
            summary_is_behind: false,
        });
        key
    }

    fn insert(&mut self, record: Record) {
        self.by_namespace.entry(record.key.namespace.clone()).or_default().insert(record.key.clone());
        let kept = Kept {
            brief: Brief::of(&record),
            event_owed: record.status.event_owed,
            record: self.packer.pack(&record.status.cause, &record),
            uid: record.uid.into(),
            resource_version: record.resource_version,
        };
        self.by_key.insert(record.key, Box::new(kept));
    }

    /// The record, whole. Where the brief will do, that is cheaper by far.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<Record> {
        let kept = self.by_key.get(key)?;
        let (uid, resource_version) = (kept.uid.to_string(), kept.resource_version.clone());
        let mut record = Record { key: key.clone(), uid, resource_version, ..kept.record.open()? };
        record.status.event_owed = kept.event_owed;
        Some(record)
    }

    pub(super) fn brief(&self, key: &ObjectKey) -> Option<&Brief> {
        self.by_key.get(key).map(|kept| &kept.brief)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Brief> {
        self.by_key.values().map(|kept| &kept.brief)
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &Brief> {
        self.all().filter(|brief| brief.is_active())
    }

    pub(super) fn beyond_caps(&self) -> usize {
        self.unrecorded.len()
    }

    /// The runs that an object remembers, for a pod that takes it up again after a restart of the operator, or under the
    /// same name.
    pub(super) fn history(&self, key: &ObjectKey, pod_uid: &str) -> Ledger {
        let Some(record) = self.get(key) else { return Ledger::default() };
        let is_same_pod = record.spec.pod_uid == pod_uid;
        let restarts = record.status.restarts.as_ref();
        let runs = restarts.into_iter().flat_map(|r| &r.history).map(|run| PastRun {
            container: run.container.as_str().into(),
            // Another pod counts its runs anew.
            number: run.number.filter(|_| is_same_pod),
            started_at: run.started_at,
            finished_at: run.finished_at,
            exit_code: run.exit_code,
            signal: run.signal,
            reason: run.reason.as_str().into(),
            cause: run.cause.as_deref().map(Arc::from),
            proven: is_proven(&record, run),
        });
        let culprit = record.status.container.as_deref().filter(|_| is_same_pod);
        let unseen = culprit.zip(restarts.map(|r| r.unseen)).filter(|(_, unseen)| *unseen > 0);
        let unseen = unseen.map(|(name, unseen)| (Arc::from(name), unseen)).into_iter().collect();
        Ledger { runs: runs.collect(), unseen }
    }

    /// Whether the same failure of the same workload, as bad as this, ended a short while ago: in this object or in
    /// another pod's.
    pub(super) fn told_lately(&self, diagnosis: &Diagnosis, pod: &PodFacts, now: Timestamp, policy: &Policy) -> bool {
        let workload = diagnosis.workload.as_ref();
        self.in_namespace(&pod.key.namespace).any(|record| {
            let same_subject = match (&record.workload, workload) {
                (Some(a), Some(b)) => a.kind == b.kind && a.name == b.name,
                (None, None) => record.key == pod.key,
                _ => false,
            };
            // The pod before this one of the same name, whose end nobody has written yet, ended just now.
            let is_replaced = record.key == pod.key && *record.pod_uid != *pod.uid;
            let ended_at = if record.is_active() { is_replaced.then_some(now) } else { record.last_transition };
            let lately = ended_at.is_some_and(|at| seconds_between(at, now) < policy.same_failure_quiet);
            lately
                && record.announced
                && same_subject
                && record.is_same_failure(diagnosis)
                && record.severity <= diagnosis.severity
        })
    }

    pub(super) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Brief> {
        self.by_namespace.get(namespace).into_iter().flatten().filter_map(|key| self.brief(key))
    }

    /// A pod is gone, or well: it has no failure without an object any more.
    pub(super) fn forget_pod(&mut self, uid: &str) {
        self.unrecorded.remove(uid);
    }

    /// The Event of a failure without an object is there.
    pub(super) fn told_unrecorded(&mut self, uid: &str) {
        if let Some((_, told)) = self.unrecorded.get_mut(uid) {
            *told = true;
        }
    }

    /// Whether this is the failure of a pod without an object, and all were told of it who will be.
    pub(super) fn is_told(&self, plan: &Plan) -> bool {
        let Some(Intent::Apply(write)) = &plan.intent else { return false };
        let known = self.unrecorded.get(write.spec.pod_uid.as_str());
        known.is_some_and(|(cause, told)| *told && *cause == write.status.cause)
    }

    /// Keeps a plan within the caps, and tells which others are to be looked at for it. `folded`: other Events stand for
    /// its own.
    pub(super) fn within_caps(&mut self, mut plan: Plan, folded: bool) -> (Plan, Touched) {
        let Some(Intent::Apply(write)) = &mut plan.intent else { return (plan, Vec::new()) };
        if self.by_key.contains_key(&write.key) {
            if write.status.state != DiagnosisState::Active {
                self.stand_for_others(write);
            }
            return (plan, Vec::new());
        }
        self.room_for_another(plan, folded)
    }

    /// A new object in a full namespace: the oldest ended one makes room; where all are Active, the failure gets its
    /// Event only.
    fn room_for_another(&mut self, mut plan: Plan, folded: bool) -> (Plan, Touched) {
        let is_told = folded || self.is_told(&plan);
        let Some(Intent::Apply(write)) = &mut plan.intent else { return (plan, Vec::new()) };
        let namespace = &write.key.namespace;
        let there = self.by_namespace.get(namespace).map_or(0, HashSet::len);
        // Doomed ones are as good as gone, and those whose first write is under way are as good as there.
        let going = self.doomed.iter().filter(|key| key.namespace == *namespace).count();
        let coming =
            self.custody.writing().filter(|k| k.namespace == *namespace && !self.by_key.contains_key(k)).count();
        if there + coming - going.min(there) < self.caps.per_namespace {
            self.unrecorded.remove(write.spec.pod_uid.as_str());
            return (plan, Vec::new());
        }
        let oldest = self
            .in_namespace(namespace)
            .filter(|brief| !brief.is_active() && !self.doomed.contains(&brief.key))
            .min_by_key(|brief| brief.last_transition)
            .map(|r| r.key.clone());
        if let Some(key) = oldest {
            self.unrecorded.remove(write.spec.pod_uid.as_str());
            self.doomed.insert(key.clone());
            return (plan, vec![(Subject::Object(key), Lane::Resync)]);
        }
        let uid: Arc<str> = write.spec.pod_uid.as_str().into();
        let announcement = write.announcement.take().filter(|_| !is_told);
        self.unrecorded.insert(uid, (write.status.cause.clone(), is_told));
        plan.intent = announcement.map(|mut announcement| {
            announcement.related = None;
            Intent::Announce(Box::new(announcement))
        });
        (plan, Vec::new())
    }

    /// The next version of an object, and which others are to be looked at for it.
    pub(super) fn acknowledged(
        &mut self,
        write: &ObjectWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Touched {
        let status = &write.status;
        let ended = status.state != DiagnosisState::Active;
        let same_episode = self.get(&write.key).filter(|old| old.is_active_of(&write.spec.pod_uid));
        let count = |status: &PodDiagnosisStatus| status.restarts.as_ref().map_or(0, |r| r.count);
        let summary_is_behind = same_episode.as_ref().is_some_and(|old| {
            old.status.summary == status.summary && (old.summary_is_behind || count(&old.status) != count(status))
        });
        let (mut told, mut shown) = same_episode.map_or_else(Default::default, |old| (old.told, old.shown));
        let this = (status.cause.clone(), status.container.clone());
        if !told.contains(&this) {
            told.push(this);
        }
        shown.add(status);
        if ended {
            told = Vec::new();
            shown = Shown::default();
        }
        let record = Record {
            key: write.key.clone(),
            uid,
            resource_version,
            spec: write.spec.clone(),
            status: status.clone(),
            written_at: now,
            told,
            shown,
            summary_is_behind,
        };
        let mut touched = self.written(&record.key, Some(&record.resource_version));
        self.insert(record);
        if ended {
            let mut others = self.inherited.remove(&write.key).unwrap_or_default();
            // Somebody else may have deleted one meanwhile.
            others.retain(|key| self.by_key.contains_key(key));
            touched.extend(others.iter().map(|key| (Subject::Object(key.clone()), Lane::Resync)));
            self.doomed.extend(others);
            touched.push((Subject::Object(write.key.clone()), Lane::Resync));
        } else {
            self.doomed.remove(&write.key);
        }
        touched
    }

    pub(super) fn is_writing(&self, key: &ObjectKey) -> bool {
        self.custody.is_writing(key)
    }

    pub(super) fn begin_write(&mut self, key: &ObjectKey, now: Timestamp) {
        self.custody.begin_write(key, now);
    }

    /// A write has ended: with this version, or without success.
    pub(super) fn written(&mut self, key: &ObjectKey, version: Option<&str>) -> Touched {
        let again = self.custody.written(key, version);
        if version.is_none() {
            self.inherited.remove(key);
            if !self.by_key.contains_key(key) {
                self.custody.forget(key);
                return Vec::new();
            }
        }
        look_again(key, again)
    }

    /// Where there would be too many ended ones of the same failure, this one stands for the oldest.
    fn stand_for_others(&mut self, write: &mut ObjectWrite) {
        let namespace = &write.key.namespace;
        let Some(workload) = write.spec.workload.as_ref().map(|own| WorkloadKey::of(own, namespace)) else { return };
        let taken = |key: &ObjectKey| self.doomed.contains(key) || self.inherited.values().flatten().any(|k| k == key);
        let mut ended: Vec<&Brief> = self
            .in_namespace(namespace)
            .filter(|other| {
                !other.is_active()
                    && other.key != write.key
                    && other.workload.as_ref() == Some(&workload)
                    && other.cause == write.status.cause
                    && other.container.as_deref() == write.status.container.as_deref()
                    && !taken(&other.key)
            })
            .collect();
        ended.sort_by_key(|other| other.last_transition);
        let excess = (ended.len() + 1).saturating_sub(self.caps.ended_per_failure).min(ended.len());
        let others = &ended[..excess];
        write.status.repeats += others.iter().map(|other| other.repeats + 1).sum::<u32>();
        // Who looks here within the hour finds that it was told.
        write.status.announced |= others.iter().any(|other| other.announced);
        let others: Vec<ObjectKey> = others.iter().map(|other| other.key.clone()).collect();
        if !others.is_empty() {
            self.inherited.insert(write.key.clone(), others);
        }
    }

    /// What another hand or a cap makes necessary for an object, before anything else.
    pub(super) fn repair_or_removal(&self, key: &ObjectKey, now: Timestamp) -> Option<Plan> {
        let brief = self.brief(key)?;
        if self.doomed.contains(key) && !brief.is_active() {
            return Some(plan::removed(&self.get(key)?));
        }
        match self.custody.repair(key, now) {
            Repair::None => None,
            Repair::NotBefore(due) => Some(Plan { intent: None, wake: Some(due) }),
            Repair::Now(version) => Some(Plan { intent: Some(plan::repaired(&self.get(key)?, version)), wake: None }),
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Brief> {
        self.doomed.remove(key);
        self.custody.forget(key);
        if let Some(keys) = self.by_namespace.get_mut(&key.namespace) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_namespace.remove(&key.namespace);
            }
        }
        self.by_key.remove(key).map(|kept| kept.brief)
    }

    /// The watch shows an object. A version that is not ours is somebody else's edit.
    pub(super) fn seen(&mut self, key: &ObjectKey, resource_version: &str) -> Touched {
        let ours = self.by_key.get(key).map(|record| record.resource_version.as_str());
        let look = self.custody.seen(key, ours, resource_version);
        look_again(key, look)
    }

    pub(super) fn deleted(&mut self, key: &ObjectKey) -> Touched {
        let Some(brief) = self.brief(key) else {
            if self.is_writing(key) {
                // It is gone before its first write was acknowledged, or an earlier one of that name is.
                self.custody.missing(key);
            }
            return Vec::new();
        };
        if !brief.is_active() {
            // An ended one that a person cleaned up stays away.
            self.remove(key);
            return Vec::new();
        }
        let look = self.is_missing(key);
        look_again(key, look)
    }

    /// It is not there: the next write makes it anew.
    fn is_missing(&mut self, key: &ObjectKey) -> bool {
        let Some(kept) = self.by_key.get_mut(key) else { return false };
        kept.resource_version.clear();
        self.custody.missing(key)
    }

    /// Whether somebody else deleted the object, and it was not put back yet.
    pub(super) fn is_deleted(&self, key: &ObjectKey) -> bool {
        self.custody.is_deleted(key)
    }

    pub(super) fn begin_list(&mut self) {
        self.custody.begin_list(self.by_key.keys());
    }

    pub(super) fn end_list(&mut self) -> Touched {
        let missing = self.custody.end_list();
        missing.iter().flat_map(|key| self.deleted(key)).collect()
    }

    /// The Event that an object owed for this transition is there.
    pub(super) fn announced(&mut self, key: &ObjectKey, transition: u32) {
        if let Some(kept) = self.by_key.get_mut(key).filter(|kept| kept.brief.transition == transition) {
            kept.event_owed = false;
        }
    }

    /// After a conflict: the version to build on, or `None` where the object is not there any more.
    pub(super) fn conflicted(&mut self, key: &ObjectKey, current: Option<(String, String)>) {
        let Some(kept) = self.by_key.get_mut(key) else { return };
        match current {
            Some((uid, resource_version)) => {
                self.custody.reread(key, &resource_version);
                kept.uid = uid.into();
                kept.resource_version = resource_version;
            }
            // A person cleaned up what had ended.
            None if !kept.brief.is_active() => {
                self.remove(key);
            }
            None => {
                self.is_missing(key);
            }
        }
    }
}

fn look_again(key: &ObjectKey, look: bool) -> Touched {
    if look { vec![(Subject::Object(key.clone()), Lane::Resync)] } else { Vec::new() }
}

/// Whether an Event proved what a run was put down to, as far as the object tells. Only the kubelet's own kills, for a probe
/// or a hook, are inherited by later runs, and only where the diagnosis was sure.
fn is_proven(record: &Record, run: &crate::api::Run) -> bool {
    let Some(cause) = run.cause.as_deref() else { return false };
    let was_sure = record.status.cause != cause || record.status.confidence == Confidence::Certain;
    was_sure && rules::find(cause).is_some_and(|rule| rule.category == Category::Probe || cause == rules::HOOK_KILL)
}
