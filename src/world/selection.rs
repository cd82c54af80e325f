//! What is watched and not told: the pods of some namespaces, and those without certain labels. They take room on nodes, they
//! are siblings and evidence, and nothing is written of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::World;
use crate::facts::{LabelSelector, Labels, ObjectKey};
use crate::outbox::Subject;
use crate::plan::{self, DiagnosisKey, Plan, outer};

/// Of what diagnoses are made; of everything, if nothing else is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Namespaces in which nothing is told.
    pub excluded: BTreeSet<Arc<str>>,
    /// Of pods, and of the templates of workloads.
    pub labels: LabelSelector,
}

impl Selection {
    pub(super) fn excludes(&self, namespace: &str) -> bool {
        self.excluded.contains(namespace)
    }

    fn covers(&self, namespace: &str, labels: &Labels) -> bool {
        !self.excludes(namespace) && self.labels.matches(labels)
    }
}

impl World {
    /// From now on only of these something is told. What has been told of others before goes, without an Event.
    pub fn tell_only_of(&mut self, selection: Selection) {
        self.selection = selection;
    }

    pub(super) fn is_excluded(&self, namespace: &str) -> bool {
        self.selection.excludes(namespace)
    }

    /// Whether something is told of pods with these labels there.
    pub(super) fn tells_of(&self, namespace: &str, labels: &Labels) -> bool {
        self.selection.covers(namespace, labels)
    }

    /// Plans for a pod that nothing is told of.
    pub(super) fn leave_out_pod(&mut self, uid: &Arc<str>, key: &ObjectKey) -> Plan {
        self.lookups.forget(&Subject::Pod(uid.clone()));
        self.records.forget_pod(uid);
        self.leave_out_object(key)
    }

    /// Plans for what was told of such a pod, whatever has become of it since.
    pub(super) fn leave_out_object(&mut self, key: &ObjectKey) -> Plan {
        if self.records.is_deleted(key) {
            self.removed(&DiagnosisKey::of_pod(key.clone()));
            return Plan::default();
        }
        self.records.get(key).map(|record| plan::removed(&record)).unwrap_or_default()
    }

    /// Plans for a workload in a namespace in which nothing is told.
    pub(super) fn leave_out_workload(&mut self, object: &DiagnosisKey) -> Plan {
        if self.workload_objects.is_deleted(object) {
            self.removed(object);
            return Plan::default();
        }
        outer::left_out(self.workload_objects.get(object).as_ref())
    }
}
