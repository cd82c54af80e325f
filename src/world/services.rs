//! Services, and whether they reach a pod: one whose selector is off by a label fails in silence.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::{Decision, Source, Touched, World, earliest, lookups};
use crate::diagnosis::{StrayService, stray_services, strays_due};
use crate::facts::{Labelled, ObjectKey, ServiceFacts, Timestamp, Want, WorkloadKey, WorkloadKind};
use crate::outbox::{Lane, Subject};

#[derive(Debug, Default)]
pub(super) struct Services {
    by_namespace: HashMap<Arc<str>, Vec<ServiceFacts>>,
    /// Workloads that Services may reach, well or not.
    workloads: HashMap<Arc<str>, HashMap<WorkloadKey, Labelled>>,
    /// Services that reach nobody, each with the workload that it is meant for.
    strays: HashMap<Arc<str>, Vec<StrayService>>,
    /// Namespaces with Services of which all that was known at some time.
    judged: HashSet<Arc<str>>,
    unlisted: Option<HashSet<ObjectKey>>,
}

impl Services {
    pub(super) fn kept(&self) -> usize {
        self.by_namespace.len() + self.workloads.len() + self.strays.len() + self.judged.len()
    }

    pub(super) fn begin_list(&mut self) {
        let key =
            |namespace: &Arc<str>, service: &ServiceFacts| ObjectKey::new(namespace.clone(), service.name.clone());
        let all = self.by_namespace.iter();
        self.unlisted = Some(all.flat_map(|(namespace, all)| all.iter().map(move |s| key(namespace, s))).collect());
    }

    pub(super) fn end_list(&mut self) -> HashSet<ObjectKey> {
        self.unlisted.take().unwrap_or_default()
    }

    /// Whether it is another than before. One that selects nothing is of no interest.
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

    /// A workload as Services see it now; whether that is another than before.
    pub(super) fn workload(&mut self, key: &WorkloadKey, labelled: Option<Labelled>) -> bool {
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

    pub(super) fn strays_of(&self, workload: &WorkloadKey) -> Vec<StrayService> {
        let all = self.strays.get(&workload.namespace).into_iter().flatten();
        all.filter(|stray| stray.workload == *workload).cloned().collect()
    }

    /// Workloads that a Service is meant to reach and does not.
    pub(super) fn strayed(&self) -> impl Iterator<Item = WorkloadKey> {
        self.strays.values().flatten().map(|stray| stray.workload.clone())
    }

    fn labelled(&self, namespace: &str) -> Vec<Labelled> {
        self.workloads.get(namespace).into_iter().flat_map(HashMap::values).cloned().collect()
    }
}

impl World {
    pub(super) fn service(&mut self, namespace: &Arc<str>, service: ServiceFacts) -> Touched {
        if self.services.put(namespace, service) { self.look_at_services(namespace) } else { Vec::new() }
    }

    pub(super) fn service_deleted(&mut self, key: &ObjectKey) -> Touched {
        if self.services.remove(&key.namespace, &key.name) { self.look_at_services(&key.namespace) } else { Vec::new() }
    }

    /// Before everything is listed once nothing can be said.
    pub(super) fn look_at_services(&self, namespace: &Arc<str>) -> Touched {
        let subject = (Subject::Services(namespace.clone()), Lane::Resync);
        if self.knows_what_services_see() { vec![subject] } else { Vec::new() }
    }

    pub(super) fn all_served(&self) -> Touched {
        if !self.knows_what_services_see() {
            return Vec::new();
        }
        self.services.by_namespace.keys().map(|name| (Subject::Services(name.clone()), Lane::Resync)).collect()
    }

    fn knows_what_services_see(&self) -> bool {
        const SERVING: [WorkloadKind; 3] =
            [WorkloadKind::Deployment, WorkloadKind::StatefulSet, WorkloadKind::DaemonSet];
        self.is_listed(Source::Services) && SERVING.iter().all(|kind| self.is_listed(Source::Workloads(*kind)))
    }

    /// Which Services of a namespace reach nobody. What is watched names those that may; only for them pods are read.
    pub(super) fn decide_services(&mut self, namespace: &Arc<str>, now: Timestamp) -> Decision {
        if self.is_excluded(namespace) {
            return Decision::default();
        }
        let subject = Subject::Services(namespace.clone());
        let services = self.services.by_namespace.get(namespace).cloned().unwrap_or_default();
        let workloads = self.services.labelled(namespace);
        let mut decision = Decision::default();
        decision.plan.wake = strays_due(&services, now);
        let suspected = stray_services(&services, &std::iter::empty(), &workloads, now);
        if suspected.is_empty() {
            self.lookups.forget(&subject);
            decision.touched = self.set_strays(namespace, Vec::new());
            if services.is_empty() {
                // Namespaces come and go: of one without Services nothing is kept.
                self.services.judged.remove(namespace);
            }
            return decision;
        }
        let want = Want::Reached(namespace.clone());
        self.lookups.asked(&subject, std::slice::from_ref(&want));
        if let Some(reached) = self.lookups.reached(&want) {
            let mut strays = stray_services(&reached.services, &reached.pods.iter(), &workloads, now);
            // What was read is older than what is watched: a Service that was corrected since is none of them.
            strays.retain(|stray| suspected.iter().any(|suspect| suspect.service == stray.service));
            decision.touched = self.set_strays(namespace, strays);
        }
        match self.lookups.next(&want, Timestamp::UNIX_EPOCH, now) {
            lookups::Next::Now => decision.wants.push(want),
            lookups::Next::At(at) => decision.plan.wake = earliest(decision.plan.wake, Some(at)),
        }
        decision
    }

    /// Whether it was looked at once which Services of this namespace reach nobody, if it has any.
    pub(super) fn are_services_judged(&self, namespace: &str) -> bool {
        let services = &self.services;
        let has_none = self.knows_what_services_see() && !services.by_namespace.contains_key(namespace);
        has_none || services.judged.contains(namespace)
    }

    fn set_strays(&mut self, namespace: &Arc<str>, strays: Vec<StrayService>) -> Touched {
        self.services.judged.insert(namespace.clone());
        let before = self.services.strays.remove(namespace).unwrap_or_default();
        if before == strays {
            if !strays.is_empty() {
                self.services.strays.insert(namespace.clone(), strays);
            }
            return Vec::new();
        }
        let concerned: BTreeSet<_> = before.iter().chain(&strays).map(|stray| stray.workload.clone()).collect();
        if !strays.is_empty() {
            self.services.strays.insert(namespace.clone(), strays);
        }
        concerned.into_iter().map(|key| (Subject::Workload(key), Lane::Change)).collect()
    }
}
