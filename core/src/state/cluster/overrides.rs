//! Overrides: what users configure for diagnoses, by annotations of a pod or workload, or globally by a flag.

use std::collections::HashMap;

use crate::facts::{Overrides, PodFacts, WorkloadFacts, WorkloadKey};
use crate::outbox::{Lane, Subject};
use crate::state::{ClusterState, Touched};

#[derive(Debug, Default)]
pub(in crate::state) struct KnownOverrides {
    global: Overrides,
    /// Only of workloads that have overrides.
    by_workload: HashMap<WorkloadKey, Box<Overrides>>,
}

impl KnownOverrides {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_workload.len()
    }

    pub(in crate::state) fn set_global(&mut self, overrides: Overrides) {
        self.global = overrides;
    }

    pub(in crate::state) fn workloads(&self) -> impl Iterator<Item = WorkloadKey> {
        self.by_workload.keys().cloned()
    }

    /// All overrides that apply to a pod of this workload.
    pub(in crate::state) fn around(&self, pod: &PodFacts, workload: Option<&WorkloadKey>) -> Overrides {
        let mut overrides = pod.overrides.as_deref().cloned().unwrap_or_default();
        if let Some(of_workload) = workload.and_then(|key| self.by_workload.get(key)) {
            overrides.add(of_workload);
        }
        overrides.add(&self.global);
        overrides
    }

    /// Whether a cause is ignored for this workload.
    pub(in crate::state) fn ignore(&self, workload: &WorkloadKey, cause: &str) -> bool {
        self.by_workload.get(workload).is_some_and(|overrides| overrides.ignores(cause)) || self.is_ignored(cause)
    }

    /// Whether a cause is ignored globally.
    pub(in crate::state) fn is_ignored(&self, cause: &str) -> bool {
        self.global.ignores(cause)
    }

    pub(in crate::state) fn forget(&mut self, workload: &WorkloadKey) {
        self.by_workload.remove(workload);
    }
}

impl ClusterState {
    /// Applies the overrides of a workload. Returns its pods to check if they changed.
    pub(in crate::state) fn apply_overrides(&mut self, facts: &WorkloadFacts) -> Touched {
        let known = &mut self.overrides.by_workload;
        let before = match &facts.overrides {
            Some(overrides) => known.insert(facts.key.clone(), overrides.clone()),
            None => known.remove(&facts.key),
        };
        if before == facts.overrides {
            return Touched::new();
        }
        // Failing pods, and unready pods that the former overrides may have kept from failing.
        let pods = self.workloads.failing(&facts.key).chain(self.workloads.unready(&facts.key)).cloned();
        pods.map(|uid| (Subject::Pod(uid), Lane::Change)).collect()
    }
}
