//! What people ask of diagnoses: of one pod or workload by its annotations, of all by a flag.

use std::collections::HashMap;

use super::{Touched, World};
use crate::facts::{PodFacts, Wishes, WorkloadFacts, WorkloadKey};
use crate::outbox::{Lane, Subject};

#[derive(Debug, Default)]
pub(super) struct KnownWishes {
    for_all: Wishes,
    /// Of the few workloads that have any.
    by_workload: HashMap<WorkloadKey, Box<Wishes>>,
}

impl KnownWishes {
    pub(super) fn kept(&self) -> usize {
        self.by_workload.len()
    }

    pub(super) fn hold_for_all(&mut self, wishes: Wishes) {
        self.for_all = wishes;
    }

    pub(super) fn workloads(&self) -> impl Iterator<Item = WorkloadKey> {
        self.by_workload.keys().cloned()
    }

    /// All that holds for a pod of this workload.
    pub(super) fn around(&self, pod: &PodFacts, workload: Option<&WorkloadKey>) -> Wishes {
        let mut wishes = pod.wishes.as_deref().cloned().unwrap_or_default();
        if let Some(of_workload) = workload.and_then(|key| self.by_workload.get(key)) {
            wishes.add(of_workload);
        }
        wishes.add(&self.for_all);
        wishes
    }

    /// Whether a cause is not to be told of this workload itself.
    pub(super) fn ignore(&self, workload: &WorkloadKey, cause: &str) -> bool {
        self.by_workload.get(workload).is_some_and(|wishes| wishes.ignores(cause)) || self.is_ignored(cause)
    }

    /// Whether a cause is not to be told of anything.
    pub(super) fn is_ignored(&self, cause: &str) -> bool {
        self.for_all.ignores(cause)
    }

    pub(super) fn forget(&mut self, workload: &WorkloadKey) {
        self.by_workload.remove(workload);
    }
}

impl World {
    /// Takes in what a workload asks for, and tells which of its pods are to be looked at because that has changed.
    pub(super) fn hear_wishes(&mut self, facts: &WorkloadFacts) -> Touched {
        let known = &mut self.wishes.by_workload;
        let before = match &facts.wishes {
            Some(wishes) => known.insert(facts.key.clone(), wishes.clone()),
            None => known.remove(&facts.key),
        };
        if before == facts.wishes {
            return Touched::new();
        }
        // Those that fail, and those that would if it were not for what was asked before.
        let pods = self.workloads.failing(&facts.key).chain(self.workloads.unready(&facts.key)).cloned();
        pods.map(|uid| (Subject::Pod(uid), Lane::Change)).collect()
    }
}
