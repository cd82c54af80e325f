//! The diagnoses of nodes, or those of workloads, as last acknowledged.

use std::collections::{HashMap, HashSet};

use super::Touched;
use super::custody::{Custody, Repair};
use crate::api::DiagnosisState;
use crate::facts::{Timestamp, WorkloadKey};
use crate::outbox::{Lane, Subject};
use crate::plan::{DiagnosisKey, Intent, Outer, OuterRecord, OuterWrite, Plan, outer};

#[derive(Debug, Default)]
pub(super) struct Outers {
    by_key: HashMap<DiagnosisKey, OuterRecord>,
    /// What an earlier run left to be told.
    owing: HashSet<DiagnosisKey>,
    custody: Custody<DiagnosisKey>,
}

impl Outers {
    pub(super) fn restore(&mut self, record: OuterRecord) {
        if record.object.head().event_owed {
            self.owing.insert(record.key.clone());
        }
        self.by_key.insert(record.key.clone(), record);
    }

    pub(super) fn get(&self, key: &DiagnosisKey) -> Option<&OuterRecord> {
        self.by_key.get(key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &OuterRecord> {
        self.by_key.values()
    }

    /// The workloads that these objects are about.
    pub(super) fn workloads(&self) -> impl Iterator<Item = WorkloadKey> {
        self.all().filter_map(|record| match subject_of(&record.object, &record.key) {
            Subject::Workload(key) => Some(key),
            _ => None,
        })
    }

    pub(super) fn is_writing(&self, key: &DiagnosisKey) -> bool {
        self.custody.is_writing(key)
    }

    pub(super) fn begin_write(&mut self, key: &DiagnosisKey, now: Timestamp) {
        self.custody.begin_write(key, now);
    }

    /// Whether somebody else deleted it, and it was not put back yet.
    pub(super) fn is_deleted(&self, key: &DiagnosisKey) -> bool {
        self.custody.is_deleted(key)
    }

    /// What goes before any new judgement: an Event that is owed, an object that another hand touched.
    pub(super) fn overdue(&self, key: &DiagnosisKey, now: Timestamp) -> Option<Plan> {
        let record = self.by_key.get(key)?;
        match self.custody.repair(key, now) {
            Repair::None => {}
            Repair::NotBefore(due) => return Some(Plan { intent: None, wake: Some(due) }),
            Repair::Now(version) => return Some(Plan { intent: Some(outer::repaired(record, version)), wake: None }),
        }
        let owed = outer::owed(record, now).filter(|_| self.owing.contains(key))?;
        Some(Plan { intent: Some(Intent::Announce(Box::new(owed))), wake: Some(now) })
    }

    pub(super) fn acknowledged(
        &mut self,
        write: &OuterWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Touched {
        let again = self.custody.written(&write.key, Some(&resource_version));
        let record = OuterRecord::after(self.by_key.get(&write.key), write, uid, resource_version, now);
        let ended = record.object.head().state != DiagnosisState::Active;
        let subject = subject_of(&record.object, &record.key);
        self.by_key.insert(record.key.clone(), record);
        // An ended one is kept for a while, and that is to be remembered.
        if again || ended { vec![(subject, Lane::Resync)] } else { Vec::new() }
    }

    pub(super) fn not_written(&mut self, key: &DiagnosisKey) -> Touched {
        let again = self.custody.written(key, None);
        self.touched(key, again)
    }

    /// The watch shows one of ours.
    pub(super) fn seen(&mut self, key: &DiagnosisKey, version: &str) -> Touched {
        let ours = self.by_key.get(key).map(|record| record.resource_version.as_str());
        let look = self.custody.seen(key, ours, version);
        self.touched(key, look)
    }

    pub(super) fn deleted(&mut self, key: &DiagnosisKey) -> Touched {
        let Some(record) = self.by_key.get_mut(key) else { return Vec::new() };
        if record.object.head().state != DiagnosisState::Active {
            // An ended one that a person cleaned up stays away.
            self.remove(key);
            return Vec::new();
        }
        record.resource_version.clear();
        let look = self.custody.missing(key);
        self.touched(key, look)
    }

    pub(super) fn remove(&mut self, key: &DiagnosisKey) {
        self.custody.written(key, None);
        self.custody.forget(key);
        self.by_key.remove(key);
    }

    pub(super) fn begin_list(&mut self) {
        self.custody.begin_list(self.by_key.keys());
    }

    pub(super) fn end_list(&mut self) -> Touched {
        let missing = self.custody.end_list();
        missing.iter().flat_map(|key| self.deleted(key)).collect()
    }

    /// The Event of its last transition is there.
    pub(super) fn announced(&mut self, key: &DiagnosisKey, transition: u32) {
        self.owing.remove(key);
        if let Some(record) = self.by_key.get_mut(key) {
            record.object.announced(transition);
        }
    }

    /// After a conflict: what the API server has.
    pub(super) fn conflicted(&mut self, key: &DiagnosisKey, current: Option<(String, String)>) {
        let Some(record) = self.by_key.get_mut(key) else { return };
        match current {
            Some((uid, version)) => {
                self.custody.reread(key, &version);
                record.uid = uid;
                record.resource_version = version;
            }
            None if record.object.head().state != DiagnosisState::Active => self.remove(key),
            None => {
                record.resource_version.clear();
                self.custody.missing(key);
            }
        }
    }

    fn touched(&self, key: &DiagnosisKey, look: bool) -> Touched {
        let record = self.by_key.get(key).filter(|_| look);
        record.map(|record| (subject_of(&record.object, key), Lane::Resync)).into_iter().collect()
    }
}

/// What an object is about, as the outbox names it.
pub(super) fn subject_of(object: &Outer, key: &DiagnosisKey) -> Subject {
    match object {
        Outer::Node(..) => Subject::Node(key.object.name.as_ref().into()),
        Outer::Workload(spec, _) => Subject::Workload(WorkloadKey::of(&spec.workload, &key.object.namespace)),
    }
}
