//! Our own diagnoses of one kind, as last acknowledged.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::drift::{DriftDetection, Repair};
use super::ended::Ended;
use super::summary_entry::SummaryEntry;
use crate::api::{Confidence, DiagnosisKind, Head, Root};
use crate::case::{Category, Diagnosis, Ledger, PastRun};
use crate::facts::{ObjectKey, PodFacts, Timestamp, WorkloadKey, WorkloadName, seconds_between};
use crate::language::Language;
use crate::outbox::Lane;
use crate::reconcile::{DiagnosisKey, Intent, Plan, Policy, Record, Write};
use crate::state::Touched;
use crate::state::compressed::{Compressed, Compressor};
use crate::state::pool::Pool;
use crate::state::steps;
use crate::{reconcile, rules};

#[derive(Debug)]
pub(in crate::state) struct Records {
    kind: DiagnosisKind,
    /// Boxed, because a hash table allocates up to twice the size of its entries.
    by_key: HashMap<ObjectKey, Box<Kept>>,
    /// Number of diagnoses in each namespace.
    by_namespace: HashMap<Arc<str>, usize>,
    compressor: Compressor,
    /// Names of the workloads that the summary entries have in common.
    workloads: Pool<WorkloadName>,
    /// Roots that the summary entries have in common.
    roots: Pool<Root>,
    /// Diagnoses with a pending Event of an earlier run.
    owing: HashSet<ObjectKey>,
    ended: Ended,
    drift: DriftDetection,
}

/// A diagnosis: the fields that are read often, and the compressed record.
#[derive(Debug)]
struct Kept {
    summary_entry: SummaryEntry,
    uid: Box<str>,
    resource_version: String,
    event_owed: bool,
    record: Compressed<Record>,
}

impl Records {
    pub(in crate::state) fn new(kind: DiagnosisKind) -> Self {
        Self {
            kind,
            by_key: HashMap::new(),
            by_namespace: HashMap::new(),
            compressor: Compressor::default(),
            workloads: Pool::default(),
            roots: Pool::default(),
            owing: HashSet::new(),
            ended: Ended::default(),
            drift: DriftDetection::default(),
        }
    }

    pub(in crate::state) fn kept(&self) -> usize {
        self.by_key.len() + self.by_namespace.len() + self.owing.len() + self.ended.kept() + self.drift.kept()
    }

    pub(in crate::state) fn restore(&mut self, record: Record) {
        if record.object.head().event_owed {
            self.owing.insert(record.key.object.clone());
        }
        self.insert(record);
    }

    /// Stores a record. Returns the summary of the one that it replaces.
    fn insert(&mut self, record: Record) -> Option<SummaryEntry> {
        let key = record.key.object.clone();
        let head = record.object.head();
        let kept = Kept {
            summary_entry: SummaryEntry::of(&record, &mut self.workloads, &mut self.roots),
            event_owed: head.event_owed,
            record: self.compressor.compress(&head.cause, &record),
            uid: record.uid.into(),
            resource_version: record.resource_version,
        };
        match self.by_key.get(&key) {
            Some(before) => self.ended.remove(&before.summary_entry),
            None => *self.by_namespace.entry(key.namespace.clone()).or_default() += 1,
        }
        self.ended.add(&kept.summary_entry);
        self.by_key.insert(key, Box::new(kept)).map(|before| before.summary_entry)
    }

    /// The full record. The summary entry is much cheaper where it suffices.
    pub(in crate::state) fn get(&self, key: &ObjectKey) -> Option<Record> {
        let kept = self.by_key.get(key)?;
        let (uid, resource_version) = (kept.uid.to_string(), kept.resource_version.clone());
        let key = DiagnosisKey { kind: self.kind, object: key.clone() };
        let mut record = Record { key, uid, resource_version, ..kept.record.decompress()? };
        record.object.head_mut().event_owed = kept.event_owed;
        Some(record)
    }

    pub(in crate::state) fn contains(&self, key: &ObjectKey) -> bool {
        self.by_key.contains_key(key)
    }

    pub(in crate::state) fn summary_entry(&self, key: &ObjectKey) -> Option<&SummaryEntry> {
        steps::count();
        self.by_key.get(key).map(|kept| &kept.summary_entry)
    }

    pub(in crate::state) fn all(&self) -> impl Iterator<Item = &SummaryEntry> {
        self.by_key.values().inspect(|_| steps::count()).map(|kept| &kept.summary_entry)
    }

    pub(in crate::state) fn active(&self) -> impl Iterator<Item = &SummaryEntry> {
        self.all().filter(|summary_entry| summary_entry.is_active())
    }

    pub(in crate::state) fn number_in_namespace(&self, namespace: &str) -> usize {
        self.by_namespace.get(namespace).copied().unwrap_or(0)
    }

    /// The ended diagnoses of the pods of a workload.
    pub(in crate::state) fn ended_of(&self, workload: &WorkloadName) -> impl Iterator<Item = &SummaryEntry> {
        self.ended.of_workload(workload).filter_map(|key| self.summary_entry(key))
    }

    /// The diagnosis of the namespace that ended first and is not evicted yet.
    pub(in crate::state) fn oldest_ended(&self, namespace: &str) -> Option<&ObjectKey> {
        self.ended.oldest(namespace)
    }

    /// Marks an ended diagnosis for eviction, until it is removed or Active again.
    pub(in crate::state) fn evict(&mut self, key: &ObjectKey) {
        if let Some(kept) = self.by_key.get(key) {
            self.ended.evict(&kept.summary_entry);
        }
    }

    pub(in crate::state) fn is_evicted(&self, key: &ObjectKey) -> bool {
        self.ended.is_evicted(key)
    }

    pub(in crate::state) fn number_of_evicted(&self, namespace: &str) -> usize {
        self.ended.number_of_evicted(namespace)
    }

    /// The workloads that diagnoses of workloads are about.
    pub(in crate::state) fn workloads(&self) -> impl Iterator<Item = WorkloadKey> {
        self.all().filter_map(|summary_entry| summary_entry.workload.clone())
    }

    /// The stored restart history, for a pod that is seen again after a restart of the operator, or has the same name.
    pub(in crate::state) fn history(&self, key: &ObjectKey, pod_uid: &str) -> Ledger {
        let Some(record) = self.get(key) else { return Ledger::default() };
        let is_same_pod = record.object.subject_uid() == pod_uid;
        let Some(status) = record.object.pod_status() else { return Ledger::default() };
        let restarts = status.restarts.as_ref();
        let runs = restarts.into_iter().flat_map(|r| &r.history).map(|run| PastRun {
            container: run.container.as_str().into(),
            // A new pod starts a new restart count.
            number: run.number.filter(|_| is_same_pod),
            started_at: run.started_at,
            finished_at: run.finished_at,
            exit_code: run.exit_code,
            signal: run.signal,
            reason: run.reason.as_str().into(),
            cause: run.cause.as_deref().map(Arc::from),
            proven: is_proven(&status.head, run),
        });
        let culprit = status.container.as_deref().filter(|_| is_same_pod);
        let unseen = culprit.zip(restarts.map(|r| r.unseen)).filter(|(_, unseen)| *unseen > 0);
        let unseen = unseen.map(|(name, unseen)| (Arc::from(name), unseen)).into_iter().collect();
        Ledger { runs: runs.collect(), unseen }
    }

    /// Whether the same failure of the same workload, at least as severe, ended recently, in this or another pod's
    /// diagnosis.
    pub(in crate::state) fn ended_recently(
        &self,
        diagnosis: &Diagnosis,
        pod: &PodFacts,
        now: Timestamp,
        policy: &Policy,
    ) -> bool {
        let is_this_failure = |record: &SummaryEntry| {
            // A former pod of the same name whose end is not written yet ended just now.
            let is_replaced = record.key == pod.key && *record.subject_uid != *pod.uid;
            let ended_at = if record.is_active() { is_replaced.then_some(now) } else { record.last_transition };
            let lately = ended_at.is_some_and(|at| seconds_between(at, now) < policy.same_failure_quiet);
            lately && record.announced && record.is_same_failure(diagnosis) && record.severity <= diagnosis.severity
        };
        let workload = diagnosis.workload.as_ref();
        let is_same_subject = |record: &&SummaryEntry| match (&record.workload, workload) {
            (Some(a), Some(b)) => a.kind == b.kind && a.name == b.name,
            (None, None) => true,
            _ => false,
        };
        let own = self.summary_entry(&pod.key).filter(is_same_subject);
        let of_workload = workload.into_iter().flat_map(|workload| self.ended_of(workload));
        own.into_iter().chain(of_workload).any(is_this_failure)
    }

    /// The action that precedes a new diagnosis: repair an object that was edited externally, or emit a pending Event.
    pub(in crate::state) fn overdue(&self, key: &ObjectKey, language: Language, now: Timestamp) -> Option<Plan> {
        match self.drift.repair(key, now) {
            Repair::None => {}
            Repair::NotBefore(due) => return Some(Plan { intent: None, wake: Some(due) }),
            Repair::Now(version) => {
                return Some(Plan { intent: Some(reconcile::repaired(&self.get(key)?, version)), wake: None });
            }
        }
        if !self.owing.contains(key) {
            return None;
        }
        let owed = reconcile::owed(&self.get(key)?, language, now)?;
        Some(Plan { intent: Some(Intent::Announce(Box::new(owed))), wake: Some(now) })
    }

    pub(in crate::state) fn is_writing(&self, key: &ObjectKey) -> bool {
        self.drift.is_writing(key)
    }

    /// The objects that are being written for the first time.
    pub(in crate::state) fn first_writes(&self) -> impl Iterator<Item = &ObjectKey> {
        self.drift.writing().filter(|key| !self.by_key.contains_key(*key))
    }

    pub(in crate::state) fn begin_write(&mut self, key: &ObjectKey, now: Timestamp) {
        self.drift.begin_write(key, now);
    }

    /// Stores an acknowledged write. Returns the summary of the former record and the subjects to check again.
    pub(in crate::state) fn acknowledged(
        &mut self,
        write: &Write,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> (Option<SummaryEntry>, Touched) {
        let key = &write.key.object;
        let again = self.drift.written(key, Some(&resource_version));
        let record = Record::after(self.get(key).as_ref(), write, uid, resource_version, now);
        // An ended diagnosis must be checked again when its retention ends.
        let ended = !record.is_active();
        if !ended {
            self.ended.keep(key);
        }
        let before = self.insert(record);
        (before, self.look_again(key, again || ended))
    }

    /// A planned write failed.
    pub(in crate::state) fn not_written(&mut self, key: &ObjectKey) -> Touched {
        let again = self.drift.written(key, None);
        if !self.contains(key) {
            self.drift.forget(key);
        }
        self.look_again(key, again)
    }

    /// The metadata of an object has a new version that is ours. Its spec and status are as before.
    pub(in crate::state) fn marked(&mut self, key: &ObjectKey, resource_version: Option<String>) -> Touched {
        let again = self.drift.written(key, resource_version.as_deref());
        if let (Some(kept), Some(version)) = (self.by_key.get_mut(key), resource_version) {
            kept.resource_version = version;
        }
        self.look_again(key, again)
    }

    pub(in crate::state) fn remove(&mut self, key: &ObjectKey) -> Option<SummaryEntry> {
        self.drift.written(key, None);
        self.drift.forget(key);
        self.owing.remove(key);
        self.ended.keep(key);
        let removed = self.by_key.remove(key)?.summary_entry;
        self.ended.remove(&removed);
        if let Some(number) = self.by_namespace.get_mut(&key.namespace) {
            *number -= 1;
            if *number == 0 {
                self.by_namespace.remove(&key.namespace);
            }
        }
        Some(removed)
    }

    /// The watch shows an object. A version that is not ours is an external edit.
    pub(in crate::state) fn seen(&mut self, key: &ObjectKey, resource_version: &str) -> Touched {
        let ours = self.by_key.get(key).map(|record| record.resource_version.as_str());
        let look = self.drift.seen(key, ours, resource_version);
        self.look_again(key, look)
    }

    pub(in crate::state) fn deleted(&mut self, key: &ObjectKey) -> Touched {
        let Some(summary_entry) = self.summary_entry(key) else {
            if self.is_writing(key) {
                // The object was deleted before its first write was acknowledged, or an earlier one of that name was.
                self.drift.missing(key);
            }
            return Vec::new();
        };
        if !summary_entry.is_active() {
            // An ended diagnosis that a user deleted is not recreated.
            self.remove(key);
            return Vec::new();
        }
        let look = self.is_missing(key);
        self.look_again(key, look)
    }

    /// Marks an object as deleted, so that the next write recreates it.
    fn is_missing(&mut self, key: &ObjectKey) -> bool {
        let Some(kept) = self.by_key.get_mut(key) else { return false };
        kept.resource_version.clear();
        self.drift.missing(key)
    }

    /// Whether the object was deleted externally and not recreated yet.
    pub(in crate::state) fn is_deleted(&self, key: &ObjectKey) -> bool {
        self.drift.is_deleted(key)
    }

    pub(in crate::state) fn begin_list(&mut self) {
        self.drift.begin_list(self.by_key.keys());
    }

    pub(in crate::state) fn end_list(&mut self) -> Touched {
        let missing = self.drift.end_list();
        missing.iter().flat_map(|key| self.deleted(key)).collect()
    }

    /// The pending Event of this transition was emitted.
    pub(in crate::state) fn announced(&mut self, key: &ObjectKey, transition: u32) {
        self.owing.remove(key);
        if let Some(kept) = self.by_key.get_mut(key).filter(|kept| kept.summary_entry.transition == transition) {
            kept.event_owed = false;
        }
    }

    /// Registers the current version after a conflict. `None` if the object does not exist any more.
    pub(in crate::state) fn conflicted(&mut self, key: &ObjectKey, current: Option<(String, String)>) {
        let Some(kept) = self.by_key.get_mut(key) else { return };
        match current {
            Some((uid, resource_version)) => {
                self.drift.reread(key, &resource_version);
                kept.uid = uid.into();
                kept.resource_version = resource_version;
            }
            // A user deleted an ended diagnosis.
            None if !kept.summary_entry.is_active() => {
                self.remove(key);
            }
            None => {
                self.is_missing(key);
            }
        }
    }

    fn look_again(&self, key: &ObjectKey, look: bool) -> Touched {
        let summary_entry = self.summary_entry(key).filter(|_| look);
        summary_entry.and_then(SummaryEntry::subject).map(|subject| (subject, Lane::Resync)).into_iter().collect()
    }
}

/// Whether an Event proved the cause of a termination, judging by the stored diagnosis. Only kills by the kubelet (a
/// probe or a hook) count, and only if the diagnosis was certain.
fn is_proven(head: &Head, run: &crate::api::Run) -> bool {
    let Some(cause) = run.cause.as_deref() else { return false };
    let was_sure = head.cause != cause || head.confidence == Confidence::Certain;
    was_sure && rules::find(cause).is_some_and(|rule| rule.category == Category::Probe || cause == rules::HOOK_KILL)
}
