//! Selection of diagnosed pods, by namespace and label. Other pods are still watched: they count toward node capacity
//! and as siblings and evidence, but get no diagnosis.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Settings, World};
use crate::facts::{LabelSelector, Labels, ObjectKey};
use crate::outbox::Subject;
use crate::reconcile;
use crate::reconcile::{DiagnosisKey, Plan};

/// The objects that get a diagnosis. The default selects all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Namespaces without diagnoses.
    pub excluded: BTreeSet<Arc<str>>,
    /// Selects pods, and workloads by the labels of their template.
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
    /// Plans for a pod that is not selected.
    pub(super) fn plan_unselected_pod(&mut self, uid: &Arc<str>, key: &ObjectKey) -> Plan {
        self.cluster.lookups.forget(&Subject::Pod(uid.clone()));
        self.reported.capacity.forget_pod(uid);
        self.plan_unselected(&DiagnosisKey::of_pod(key.clone()))
    }

    /// Plans to remove a diagnosis that is not selected, whatever its state.
    pub(super) fn plan_unselected(&mut self, key: &DiagnosisKey) -> Plan {
        if self.reported.records(key.kind).is_deleted(&key.object) {
            self.removed(key);
            return Plan::default();
        }
        self.reported.records(key.kind).get(&key.object).map(|record| reconcile::removed(&record)).unwrap_or_default()
    }
}

impl Settings {
    /// Restricts diagnoses to this selection. Existing diagnoses of other objects are removed without an Event.
    pub fn restrict_to(&mut self, selection: Selection) {
        self.selection = selection;
    }

    pub(super) fn is_excluded(&self, namespace: &str) -> bool {
        self.selection.excludes(namespace)
    }

    /// Whether pods with these labels in this namespace are diagnosed.
    pub(super) fn is_selected(&self, namespace: &str, labels: &Labels) -> bool {
        self.selection.covers(namespace, labels)
    }
}
