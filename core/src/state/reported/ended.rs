//! Ended diagnoses of pods, by namespace and by workload, so that no decision reads all diagnoses of a namespace.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::summary_entry::SummaryEntry;
use crate::facts::{ObjectKey, Timestamp, WorkloadName};

#[derive(Debug, Default)]
pub(in crate::state) struct Ended {
    /// Those that no cap evicts, oldest first.
    by_namespace: HashMap<Arc<str>, BTreeSet<(Option<Timestamp>, ObjectKey)>>,
    by_workload: HashMap<OfWorkload, BTreeSet<ObjectKey>>,
    /// Those that a cap evicts, by namespace.
    evicted: HashMap<Arc<str>, HashSet<ObjectKey>>,
}

/// Namespace, kind and name of a workload. Pods may refer to different versions of its API.
type OfWorkload = (Arc<str>, Arc<str>, Arc<str>);

fn of_workload(workload: &WorkloadName) -> OfWorkload {
    (workload.namespace.clone(), workload.kind.clone(), workload.name.clone())
}

impl Ended {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_namespace.len() + self.by_workload.len() + self.evicted.values().map(HashSet::len).sum::<usize>()
    }

    /// Adds a diagnosis, if it has ended.
    pub(in crate::state) fn add(&mut self, entry: &SummaryEntry) {
        if entry.is_active() {
            return;
        }
        let key = &entry.key;
        if !self.is_evicted(key) {
            let oldest_first = self.by_namespace.entry(key.namespace.clone()).or_default();
            oldest_first.insert((entry.last_transition, key.clone()));
        }
        if let Some(workload) = &entry.workload {
            self.by_workload.entry(of_workload(workload)).or_default().insert(key.clone());
        }
    }

    /// Removes a diagnosis that was replaced or deleted.
    pub(in crate::state) fn remove(&mut self, entry: &SummaryEntry) {
        if entry.is_active() {
            return;
        }
        self.remove_from_namespace(entry);
        let Some(workload) = entry.workload.as_ref().map(|key| of_workload(key)) else { return };
        if let Some(keys) = self.by_workload.get_mut(&workload) {
            keys.remove(&entry.key);
            if keys.is_empty() {
                self.by_workload.remove(&workload);
            }
        }
    }

    fn remove_from_namespace(&mut self, entry: &SummaryEntry) {
        let namespace = &entry.key.namespace;
        if let Some(oldest_first) = self.by_namespace.get_mut(namespace) {
            oldest_first.remove(&(entry.last_transition, entry.key.clone()));
            if oldest_first.is_empty() {
                self.by_namespace.remove(namespace);
            }
        }
    }

    /// The ended diagnoses of the pods of a workload.
    pub(in crate::state) fn of_workload(&self, workload: &WorkloadName) -> impl Iterator<Item = &ObjectKey> {
        self.by_workload.get(&of_workload(workload)).into_iter().flatten()
    }

    /// The diagnosis of the namespace that ended first and is not evicted.
    pub(in crate::state) fn oldest(&self, namespace: &str) -> Option<&ObjectKey> {
        self.by_namespace.get(namespace)?.first().map(|(_, key)| key)
    }

    /// Marks a diagnosis for eviction, until it is removed or Active again.
    pub(in crate::state) fn evict(&mut self, entry: &SummaryEntry) {
        self.remove_from_namespace(entry);
        self.evicted.entry(entry.key.namespace.clone()).or_default().insert(entry.key.clone());
    }

    pub(in crate::state) fn keep(&mut self, key: &ObjectKey) {
        if let Some(evicted) = self.evicted.get_mut(&key.namespace) {
            evicted.remove(key);
            if evicted.is_empty() {
                self.evicted.remove(&key.namespace);
            }
        }
    }

    pub(in crate::state) fn is_evicted(&self, key: &ObjectKey) -> bool {
        self.evicted.get(&key.namespace).is_some_and(|evicted| evicted.contains(key))
    }

    pub(in crate::state) fn number_of_evicted(&self, namespace: &str) -> usize {
        self.evicted.get(namespace).map_or(0, HashSet::len)
    }
}
