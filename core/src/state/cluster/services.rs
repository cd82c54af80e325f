//! Services whose selector matches no pod. A selector with a wrong label causes no error elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::case::UnmatchedService;
use crate::facts::{Labelled, ObjectKey, ServiceFacts, WorkloadKey, WorkloadKind};
use crate::outbox::{Lane, Subject};
use crate::state::{ClusterState, Source, Touched};

#[derive(Debug, Default)]
pub(in crate::state) struct Services {
    pub(in crate::state) by_namespace: HashMap<Arc<str>, Vec<ServiceFacts>>,
    /// Workloads that Services may select, healthy or not.
    workloads: HashMap<Arc<str>, HashMap<WorkloadKey, Labelled>>,
    /// Services without matching pods, each with the workload that it is probably meant for.
    unmatched: HashMap<Arc<str>, Vec<UnmatchedService>>,
    /// Namespaces whose Services were checked at least once with complete data.
    pub(in crate::state) judged: HashSet<Arc<str>>,
    unlisted: Option<HashSet<ObjectKey>>,
}

impl Services {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_namespace.len() + self.workloads.len() + self.unmatched.len() + self.judged.len()
    }

    pub(in crate::state) fn begin_list(&mut self) {
        let key =
            |namespace: &Arc<str>, service: &ServiceFacts| ObjectKey::new(namespace.clone(), service.name.clone());
        let all = self.by_namespace.iter();
        self.unlisted = Some(all.flat_map(|(namespace, all)| all.iter().map(move |s| key(namespace, s))).collect());
    }

    pub(in crate::state) fn end_list(&mut self) -> HashSet<ObjectKey> {
        self.unlisted.take().unwrap_or_default()
    }

    /// Registers a Service. Returns whether it changed. Services without a selector are not kept.
    fn put(&mut self, namespace: &Arc<str>, service: ServiceFacts) -> bool {
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(&ObjectKey::new(namespace.clone(), service.name.clone()));
        }
        if service.external || service.selector.is_empty() {
            return self.remove(namespace, &service.name);
        }
        let all = self.by_namespace.entry(namespace.clone()).or_default();
        match all.iter_mut().find(|known| known.name == service.name) {
            Some(known) if *known == service => false,
            Some(known) => {
                *known = service;
                true
            }
            None => {
                all.push(service);
                true
            }
        }
    }

    fn remove(&mut self, namespace: &str, name: &str) -> bool {
        let Some(all) = self.by_namespace.get_mut(namespace) else { return false };
        let before = all.len();
        all.retain(|service| *service.name != *name);
        let removed = all.len() < before;
        if all.is_empty() {
            self.by_namespace.remove(namespace);
        }
        removed
    }

    /// Registers the labels of a workload. Returns whether they changed.
    pub(in crate::state) fn workload(&mut self, key: &WorkloadKey, labelled: Option<Labelled>) -> bool {
        let Some(labelled) = labelled else {
            let Some(all) = self.workloads.get_mut(&key.namespace) else { return false };
            let removed = all.remove(key).is_some();
            if all.is_empty() {
                self.workloads.remove(&key.namespace);
            }
            return removed;
        };
        let all = self.workloads.entry(key.namespace.clone()).or_default();
        if all.get(key) == Some(&labelled) {
            return false;
        }
        all.insert(key.clone(), labelled);
        true
    }

    pub(in crate::state) fn unmatched_services_of(&self, workload: &WorkloadKey) -> Vec<UnmatchedService> {
        let all = self.unmatched.get(&workload.namespace).into_iter().flatten();
        all.filter(|found| found.workload == *workload).cloned().collect()
    }

    /// Workloads that a Service is meant to select but does not.
    pub(in crate::state) fn workloads_of_unmatched_services(&self) -> impl Iterator<Item = WorkloadKey> {
        self.unmatched.values().flatten().map(|found| found.workload.clone())
    }

    pub(in crate::state) fn labelled(&self, namespace: &str) -> Vec<Labelled> {
        self.workloads.get(namespace).into_iter().flat_map(HashMap::values).cloned().collect()
    }
}

impl ClusterState {
    pub(in crate::state) fn service(&mut self, namespace: &Arc<str>, service: ServiceFacts) -> Touched {
        if self.services.put(namespace, service) { self.look_at_services(namespace) } else { Vec::new() }
    }

    pub(in crate::state) fn service_deleted(&mut self, key: &ObjectKey) -> Touched {
        if self.services.remove(&key.namespace, &key.name) { self.look_at_services(&key.namespace) } else { Vec::new() }
    }

    /// Returns no subject before everything is listed once.
    pub(in crate::state) fn look_at_services(&self, namespace: &Arc<str>) -> Touched {
        let subject = (Subject::Services(namespace.clone()), Lane::Resync);
        if self.knows_what_services_see() { vec![subject] } else { Vec::new() }
    }

    pub(in crate::state) fn all_served(&self) -> Touched {
        if !self.knows_what_services_see() {
            return Vec::new();
        }
        self.services.by_namespace.keys().map(|name| (Subject::Services(name.clone()), Lane::Resync)).collect()
    }

    pub(in crate::state) fn knows_what_services_see(&self) -> bool {
        const SERVING: [WorkloadKind; 3] =
            [WorkloadKind::Deployment, WorkloadKind::StatefulSet, WorkloadKind::DaemonSet];
        self.is_listed(Source::Services) && SERVING.iter().all(|kind| self.is_listed(Source::Workloads(*kind)))
    }

    /// Whether the Services of this namespace were checked once, or it has none.
    pub(in crate::state) fn are_services_judged(&self, namespace: &str) -> bool {
        let services = &self.services;
        let has_none = self.knows_what_services_see() && !services.by_namespace.contains_key(namespace);
        has_none || services.judged.contains(namespace)
    }

    pub(in crate::state) fn set_unmatched_services(
        &mut self,
        namespace: &Arc<str>,
        unmatched: Vec<UnmatchedService>,
    ) -> Touched {
        self.services.judged.insert(namespace.clone());
        let before = self.services.unmatched.remove(namespace).unwrap_or_default();
        if before == unmatched {
            if !unmatched.is_empty() {
                self.services.unmatched.insert(namespace.clone(), unmatched);
            }
            return Vec::new();
        }
        let concerned: BTreeSet<_> = before.iter().chain(&unmatched).map(|found| found.workload.clone()).collect();
        if !unmatched.is_empty() {
            self.services.unmatched.insert(namespace.clone(), unmatched);
        }
        concerned.into_iter().map(|key| (Subject::Workload(key), Lane::Change)).collect()
    }
}
