//! The diagnoses of nodes, or those of workloads, as last acknowledged.

use std::collections::{HashMap, HashSet};

use super::Touched;
use super::brief::OuterBrief;
use super::custody::{Custody, Repair};
use super::packed::{Packed, Packer};
use crate::api::DiagnosisState;
use crate::diagnosis::Language;
use crate::facts::{Timestamp, WorkloadKey};
use crate::outbox::{Lane, Subject};
use crate::plan::{DiagnosisKey, Intent, Outer, OuterRecord, OuterWrite, Plan, outer};

#[derive(Debug, Default)]
pub(super) struct Outers {
    by_key: HashMap<DiagnosisKey, Kept>,
    packer: Packer,
    /// What an earlier run left to be told.
    owing: HashSet<DiagnosisKey>,
    custody: Custody<DiagnosisKey>,
}

/// One of them: what is often asked for, and the record.
#[derive(Debug)]
struct Kept {
    brief: OuterBrief,
    subject: Subject,
    uid: Box<str>,
    resource_version: String,
    event_owed: bool,
    record: Packed<OuterRecord>,
}

impl Outers {
    pub(super) fn kept(&self) -> usize {
        self.by_key.len() + self.owing.len() + self.custody.kept()
    }

    pub(super) fn restore(&mut self, record: OuterRecord) {
        if record.object.head().event_owed {
            self.owing.insert(record.key.clone());
        }
        self.insert(record);
    }

    fn insert(&mut self, record: OuterRecord) {
        let head = record.object.head();
        let kept = Kept {
            brief: OuterBrief::of(head),
            event_owed: head.event_owed,
            subject: subject_of(&record.object, &record.key),
            record: self.packer.pack(&head.cause, &record),
            uid: record.uid.into(),
            resource_version: record.resource_version,
        };
        self.by_key.insert(record.key, kept);
    }

    pub(super) fn get(&self, key: &DiagnosisKey) -> Option<OuterRecord> {
        let kept = self.by_key.get(key)?;
        let record = kept.record.open()?;
        let (uid, resource_version) = (kept.uid.to_string(), kept.resource_version.clone());
        let mut record = OuterRecord { key: key.clone(), uid, resource_version, ..record };
        if !kept.event_owed {
            record.object.announced(kept.brief.transition);
        }
        Some(record)
    }

    pub(super) fn brief(&self, key: &DiagnosisKey) -> Option<&OuterBrief> {
        self.by_key.get(key).map(|kept| &kept.brief)
    }

    /// What this object is about.
    pub(super) fn subject(&self, key: &DiagnosisKey) -> Option<&Subject> {
        self.by_key.get(key).map(|kept| &kept.subject)
    }

    pub(super) fn is_active(&self, key: &DiagnosisKey) -> bool {
        self.brief(key).is_some_and(|brief| brief.state == DiagnosisState::Active)
    }

    pub(super) fn contains(&self, key: &DiagnosisKey) -> bool {
        self.by_key.contains_key(key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&DiagnosisKey, &OuterBrief)> {
        self.by_key.iter().map(|(key, kept)| (key, &kept.brief))
    }

    /// The workloads that these objects are about.
    pub(super) fn workloads(&self) -> impl Iterator<Item = WorkloadKey> {
        self.by_key.values().filter_map(|kept| match &kept.subject {
            Subject::Workload(key) => Some(key.clone()),
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
    pub(super) fn overdue(&self, key: &DiagnosisKey, language: Language, now: Timestamp) -> Option<Plan> {
        match self.custody.repair(key, now) {
            Repair::None => {}
            Repair::NotBefore(due) => return Some(Plan { intent: None, wake: Some(due) }),
            Repair::Now(version) => {
                return Some(Plan { intent: Some(outer::repaired(&self.get(key)?, version)), wake: None });
            }
        }
        if !self.owing.contains(key) {
            return None;
        }
        let owed = outer::owed(&self.get(key)?, language, now)?;
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
        let record = OuterRecord::after(self.get(&write.key).as_ref(), write, uid, resource_version, now);
        let ended = record.object.head().state != DiagnosisState::Active;
        let subject = subject_of(&record.object, &record.key);
        self.insert(record);
        // An ended one is kept for a while, and that is to be remembered.
        if again || ended { vec![(subject, Lane::Resync)] } else { Vec::new() }
    }

    pub(super) fn not_written(&mut self, key: &DiagnosisKey) -> Touched {
        let again = self.custody.written(key, None);
        if !self.contains(key) {
            self.custody.forget(key);
        }
        self.touched(key, again)
    }

    /// The watch shows one of ours.
    pub(super) fn seen(&mut self, key: &DiagnosisKey, version: &str) -> Touched {
        let ours = self.by_key.get(key).map(|record| record.resource_version.as_str());
        let look = self.custody.seen(key, ours, version);
        self.touched(key, look)
    }

    pub(super) fn deleted(&mut self, key: &DiagnosisKey) -> Touched {
        let Some(kept) = self.by_key.get_mut(key) else {
            if self.is_writing(key) {
                // It is gone before its first write was acknowledged, or an earlier one of that name is.
                self.custody.missing(key);
            }
            return Vec::new();
        };
        if kept.brief.state != DiagnosisState::Active {
            // An ended one that a person cleaned up stays away.
            self.remove(key);
            return Vec::new();
        }
        kept.resource_version.clear();
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
        if let Some(kept) = self.by_key.get_mut(key).filter(|kept| kept.brief.transition == transition) {
            kept.event_owed = false;
        }
    }

    /// After a conflict: what the API server has.
    pub(super) fn conflicted(&mut self, key: &DiagnosisKey, current: Option<(String, String)>) {
        let Some(kept) = self.by_key.get_mut(key) else { return };
        match current {
            Some((uid, version)) => {
                self.custody.reread(key, &version);
                kept.uid = uid.into();
                kept.resource_version = version;
            }
            None if kept.brief.state != DiagnosisState::Active => self.remove(key),
            None => {
                kept.resource_version.clear();
                self.custody.missing(key);
            }
        }
    }

    fn touched(&self, key: &DiagnosisKey, look: bool) -> Touched {
        let kept = self.by_key.get(key).filter(|_| look);
        kept.map(|kept| (kept.subject.clone(), Lane::Resync)).into_iter().collect()
    }
}

/// What an object is about, as the outbox names it.
pub(super) fn subject_of(object: &Outer, key: &DiagnosisKey) -> Subject {
    match object {
        Outer::Node(..) => Subject::Node(key.object.name.as_ref().into()),
        Outer::Workload(spec, _) => Subject::Workload(WorkloadKey::of(&spec.workload, &key.object.namespace)),
    }
}
