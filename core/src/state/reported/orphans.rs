//! Orphaned objects: objects of our kinds that the leader neither wrote nor restored. Another client created them, or a
//! late write of a former leader did. They are deleted because they describe no current diagnosis.

use std::collections::HashSet;

use crate::outbox::{Lane, Subject, UnknownObject};
use crate::reconcile::{DiagnosisKey, Intent, Plan};
use crate::state::{Reported, Touched};

/// Objects that a newer version of the operator may have written. They are kept.
#[derive(Debug, Default)]
pub(in crate::state) struct Spared(HashSet<DiagnosisKey>);

impl Spared {
    pub(in crate::state) fn kept(&self) -> usize {
        self.0.len()
    }

    pub(in crate::state) fn forget(&mut self, key: &DiagnosisKey) {
        self.0.remove(key);
    }
}

impl Reported {
    /// Keeps these objects unchanged until their subject fails.
    pub fn spare(&mut self, objects: impl IntoIterator<Item = DiagnosisKey>) {
        self.spared.0.extend(objects);
    }

    /// The subject to check if the watch shows an unknown object.
    pub(in crate::state) fn orphan_seen(&mut self, key: DiagnosisKey, resource_version: String) -> Touched {
        if self.is_orphaned(&key) {
            let object = UnknownObject { key, resource_version };
            vec![(Subject::UnknownObject(object.into()), Lane::Resync)]
        } else {
            Vec::new()
        }
    }

    /// Deletes an orphaned object at this version only. The watch also shows any later version.
    pub(in crate::state) fn decide_orphaned_object(&mut self, object: &UnknownObject) -> Plan {
        if !self.is_orphaned(&object.key) {
            return Plan::default();
        }
        let UnknownObject { key, resource_version } = object.clone();
        Plan { intent: Some(Intent::Delete { key, resource_version }), wake: None }
    }

    pub(in crate::state) fn is_orphaned(&mut self, key: &DiagnosisKey) -> bool {
        let records = self.records(key.kind);
        let is_ours = records.contains(&key.object) || records.is_writing(&key.object);
        !is_ours && !self.spared.0.contains(key)
    }
}
