//! Our own objects, as last acknowledged, and the caps on them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Touched;
use crate::api::{DiagnosisState, PodDiagnosisSpec, PodDiagnosisStatus};
use crate::diagnosis::{Case, Health, Outcome, PastRun};
use crate::facts::{ObjectKey, Timestamp, seconds_between};
use crate::outbox::{Lane, Subject};
use crate::plan::{self, Intent, ObjectWrite, Plan, Policy, Record};

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

#[derive(Debug)]
pub(super) struct Records {
    caps: Caps,
    by_key: HashMap<ObjectKey, Record>,
    by_namespace: HashMap<Arc<str>, HashSet<ObjectKey>>,
    /// Somebody else changed or deleted these: the version that is there now.
    foreign: HashMap<ObjectKey, Option<String>>,
    /// A write is under way: what the watch shows meanwhile may be that very write.
    writing: HashSet<ObjectKey>,
    /// Evicted by a cap.
    doomed: HashSet<ObjectKey>,
    unlisted: Option<HashSet<ObjectKey>>,
    /// Failures without an object: the pod's UID and the cause.
    unrecorded: HashSet<(String, String)>,
}

impl Records {
    pub(super) fn new(caps: Caps) -> Self {
        Self {
            caps,
            by_key: HashMap::new(),
            by_namespace: HashMap::new(),
            foreign: HashMap::new(),
            writing: HashSet::new(),
            doomed: HashSet::new(),
            unlisted: None,
            unrecorded: HashSet::new(),
        }
    }

    pub(super) fn restore(&mut self, stored: Stored) -> ObjectKey {
        let written_at = stored.status.last_transition.unwrap_or(Timestamp::UNIX_EPOCH);
        let told = vec![(stored.status.cause.clone(), stored.status.container.clone())];
        let key = stored.key.clone();
        self.insert(Record {
            key: stored.key,
            uid: stored.uid,
            resource_version: stored.resource_version,
            spec: stored.spec,
            status: stored.status,
            written_at,
            told,
        });
        key
    }

    fn insert(&mut self, record: Record) {
        self.by_namespace.entry(record.key.namespace.clone()).or_default().insert(record.key.clone());
        self.by_key.insert(record.key.clone(), record);
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Record> {
        self.by_key.get(key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.by_key.values()
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &Record> {
        self.all().filter(|r| r.status.state == DiagnosisState::Active)
    }

    pub(super) fn beyond_caps(&self) -> usize {
        self.unrecorded.len()
    }

    /// The runs that an object remembers, for a pod that takes it up again after a restart of the operator, or under the
    /// same name.
    pub(super) fn history(&self, key: &ObjectKey) -> Vec<PastRun> {
        let Some(record) = self.get(key) else { return Vec::new() };
        let runs = record.status.restarts.iter().flat_map(|r| &r.history);
        runs.map(|run| PastRun {
            container: run.container.as_str().into(),
            started_at: run.started_at,
            finished_at: run.finished_at,
            exit_code: run.exit_code,
            signal: run.signal,
            reason: run.reason.as_str().into(),
            cause: run.cause.as_deref().map(Arc::from),
            // What was written down as the cause was the best answer then; later runs like it inherit it.
            proven: run.cause.is_some(),
        })
        .collect()
    }

    /// Whether the same failure of the same workload ended a short while ago, in this object or in another pod's.
    pub(super) fn told_lately(&self, outcome: &Outcome, case: &Case<'_>, policy: &Policy) -> bool {
        let Health::Failing(diagnosis) = &outcome.health else { return false };
        let workload = diagnosis.workload.as_ref().map(ToString::to_string);
        self.in_namespace(&case.pod.key.namespace).any(|record| {
            let same_subject = match (&record.spec.workload, &workload) {
                (Some(a), Some(b)) => a.display == *b,
                (None, None) => record.key == case.pod.key,
                _ => false,
            };
            let ended = record.status.state != DiagnosisState::Active;
            let lately = record
                .status
                .last_transition
                .is_some_and(|at| seconds_between(at, case.now) < policy.same_failure_quiet);
            ended && lately && record.status.announced && same_subject && record.is_same_failure(diagnosis)
        })
    }

    fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Record> {
        self.by_namespace.get(namespace).into_iter().flatten().filter_map(|key| self.by_key.get(key))
    }

    /// A pod is gone: it has no failure without an object any more.
    pub(super) fn forget_pod(&mut self, uid: &str) {
        self.unrecorded.retain(|(pod, _)| pod != uid);
    }

    /// Keeps a new object within the namespace's cap: the oldest ended one makes room; where all are Active, the failure
    /// gets its Event only.
    pub(super) fn within_caps(&mut self, mut plan: Plan) -> Plan {
        let Some(Intent::Apply(write)) = &mut plan.intent else { return plan };
        let namespace = write.key.namespace.clone();
        let full = self.by_namespace.get(&namespace).is_some_and(|keys| keys.len() >= self.caps.per_namespace);
        if self.by_key.contains_key(&write.key) || !full {
            return plan;
        }
        let oldest = self
            .in_namespace(&namespace)
            .filter(|r| r.status.state != DiagnosisState::Active && !self.doomed.contains(&r.key))
            .min_by_key(|r| r.status.last_transition)
            .map(|r| r.key.clone());
        if let Some(key) = oldest {
            self.doomed.insert(key);
            return plan;
        }
        // The same Event again would be refused as a conflict; it is not even tried.
        let is_news = self.unrecorded.insert((write.spec.pod_uid.clone(), write.status.cause.clone()));
        let announcement = write.announcement.take().filter(|_| is_news);
        plan.intent = announcement.map(|a| Intent::Announce(Box::new(a)));
        plan
    }

    /// The next version of an object, and which others are to be looked at for it.
    pub(super) fn acknowledged(
        &mut self,
        write: &ObjectWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Touched {
        let mut told = match self.by_key.get(&write.key) {
            Some(old) if old.spec.pod_uid == write.spec.pod_uid && old.status.state == DiagnosisState::Active => {
                old.told.clone()
            }
            _ => Vec::new(),
        };
        let this = (write.status.cause.clone(), write.status.container.clone());
        if !told.contains(&this) {
            told.push(this);
        }
        let mut record = Record {
            key: write.key.clone(),
            uid,
            resource_version,
            spec: write.spec.clone(),
            status: write.status.clone(),
            written_at: now,
            told,
        };
        let ended = record.status.state != DiagnosisState::Active;
        if ended {
            // Only what a successor needs: who, what, when and the ledger.
            record.status.evidence = Vec::new();
        }
        let mut touched = self.written(&record.key, Some(&record.resource_version));
        self.insert(record);
        if ended {
            touched.extend(self.over_the_ended_cap(&write.key));
        }
        touched.extend(self.doomed.iter().map(|key| (Subject::Object(key.clone()), Lane::Resync)));
        if ended {
            touched.push((Subject::Object(write.key.clone()), Lane::Resync));
        }
        touched
    }

    pub(super) fn is_writing(&self, key: &ObjectKey) -> bool {
        self.writing.contains(key)
    }

    pub(super) fn begin_write(&mut self, key: &ObjectKey) {
        self.writing.insert(key.clone());
    }

    /// A write has ended: with this version, or without success. What the watch showed meanwhile is somebody else's only
    /// if it is newer still.
    pub(super) fn written(&mut self, key: &ObjectKey, version: Option<&str>) -> Touched {
        self.writing.remove(key);
        let ours = |seen: &Option<String>| match (seen, version) {
            (Some(seen), Some(version)) => !is_newer(seen, version),
            (None, Some(_)) | (_, None) => false,
        };
        if self.foreign.get(key).is_some_and(ours) {
            self.foreign.remove(key);
        }
        if self.foreign.contains_key(key) { vec![(Subject::Object(key.clone()), Lane::Resync)] } else { Vec::new() }
    }

    /// Dooms the oldest of too many ended ones of the same failure.
    fn over_the_ended_cap(&mut self, key: &ObjectKey) -> Touched {
        let Some(record) = self.by_key.get(key) else { return Vec::new() };
        if record.spec.workload.is_none() {
            return Vec::new();
        }
        let same = |r: &&Record| {
            r.status.state != DiagnosisState::Active
                && r.spec.workload == record.spec.workload
                && r.status.cause == record.status.cause
                && r.status.container == record.status.container
        };
        let mut ended: Vec<&Record> = self.in_namespace(&key.namespace).filter(same).collect();
        ended.sort_by_key(|r| r.status.last_transition);
        let excess = ended.len().saturating_sub(self.caps.ended_per_failure);
        let doomed: Vec<ObjectKey> = ended.iter().take(excess).map(|r| r.key.clone()).collect();
        self.doomed.extend(doomed.iter().cloned());
        doomed.into_iter().map(|key| (Subject::Object(key), Lane::Resync)).collect()
    }

    /// What another hand or a cap makes necessary for an object, before anything else.
    pub(super) fn repair_or_removal(&self, key: &ObjectKey) -> Option<Plan> {
        let record = self.by_key.get(key)?;
        if self.doomed.contains(key) && record.status.state != DiagnosisState::Active {
            return Some(plan::removed(record));
        }
        let version = self.foreign.get(key)?;
        Some(Plan { intent: Some(plan::repaired(record, version.clone())), wake: None })
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Record> {
        self.doomed.remove(key);
        self.foreign.remove(key);
        self.writing.remove(key);
        if let Some(keys) = self.by_namespace.get_mut(&key.namespace) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_namespace.remove(&key.namespace);
            }
        }
        self.by_key.remove(key)
    }

    /// The watch shows an object. A version that is not ours is somebody else's edit.
    pub(super) fn seen(&mut self, key: &ObjectKey, resource_version: &str) -> Touched {
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(key);
        }
        let Some(record) = self.by_key.get(key) else { return Vec::new() };
        if !is_newer(resource_version, &record.resource_version) {
            return Vec::new();
        }
        self.foreign.insert(key.clone(), Some(resource_version.to_owned()));
        self.foreign_now(key)
    }

    pub(super) fn deleted(&mut self, key: &ObjectKey) -> Touched {
        if !self.by_key.contains_key(key) {
            return Vec::new();
        }
        if self.by_key.get(key).is_some_and(|r| r.status.state != DiagnosisState::Active) {
            // An ended one that a person cleaned up stays away.
            self.remove(key);
            return Vec::new();
        }
        self.foreign.insert(key.clone(), None);
        self.foreign_now(key)
    }

    fn foreign_now(&self, key: &ObjectKey) -> Touched {
        if self.is_writing(key) { Vec::new() } else { vec![(Subject::Object(key.clone()), Lane::Resync)] }
    }

    pub(super) fn begin_list(&mut self) {
        self.unlisted = Some(self.by_key.keys().cloned().collect());
    }

    pub(super) fn end_list(&mut self) -> Touched {
        let missing: Vec<ObjectKey> = self.unlisted.take().into_iter().flatten().collect();
        missing.iter().flat_map(|key| self.deleted(key)).collect()
    }

    /// The Event that an object owed is there.
    pub(super) fn announced(&mut self, key: &ObjectKey) {
        if let Some(record) = self.by_key.get_mut(key) {
            record.status.event_owed = false;
        }
    }

    /// After a conflict: the version to build on, or `None` where the object is not there any more.
    pub(super) fn conflicted(&mut self, key: &ObjectKey, current: Option<(String, String)>) {
        match (self.by_key.get_mut(key), current) {
            (Some(record), Some((uid, resource_version))) => {
                record.uid = uid;
                record.resource_version = resource_version;
            }
            (Some(_), None) => {
                self.foreign.insert(key.clone(), None);
            }
            (None, _) => {}
        }
    }
}

/// Whether a watch shows a later version than ours. Resource versions of one resource may be compared as numbers
/// (Kubernetes 1.35 says so, and it has always been true); one that is no number counts as foreign if it differs.
fn is_newer(theirs: &str, ours: &str) -> bool {
    match (theirs.parse::<u64>(), ours.parse::<u64>()) {
        (Ok(theirs), Ok(ours)) => theirs > ours,
        _ => theirs != ours,
    }
}
