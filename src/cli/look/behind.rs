//! What is behind requested Services, Ingresses, routes and autoscalers: where requests go, and what is scaled.

use std::collections::BTreeSet;

use shindan_core::case::top_workload;
use shindan_core::facts::route::{BackendRef, BackendService, NetworkKind, NetworkObject};
use shindan_core::facts::{ObjectKey, WorkloadFacts, WorkloadKey};
use shindan_core::wire::{Dump, Service};

use super::kind::Kind;
use super::subject::Subject;

/// The pods and workloads behind the requested objects, and the Services on the way to them.
pub(super) fn of(
    dump: &Dump,
    subjects: &[Subject],
    namespace: Option<&str>,
) -> (BTreeSet<ObjectKey>, BTreeSet<WorkloadKey>) {
    let is_in_place = |of: &str| namespace.is_none_or(|namespace| namespace == of);
    let is_asked = |key: &WorkloadKey| is_in_place(&key.namespace) && subjects.iter().any(|of| of.is_workload(key));
    let mut services: BTreeSet<ObjectKey> = BTreeSet::new();
    let (mut pods, mut workloads) = (BTreeSet::new(), BTreeSet::new());
    for subject in subjects.iter().filter(|of| of.kind == Kind::Route(NetworkKind::Service)) {
        let all = dump.services.iter().filter_map(Service::backend).map(|service| service.key);
        services.extend(all.filter(|key| *key.name == *subject.name && is_in_place(&key.namespace)));
    }
    for object in &dump.network {
        match object {
            NetworkObject::Ingress(ingress) if is_asked(&ingress.identity.key) => {
                services.extend(ingress.paths.iter().filter_map(|path| service(path.backend.as_ref()?)));
            }
            NetworkObject::Route(route) if is_asked(&route.identity.key) => {
                services.extend(route.rules.iter().flat_map(|rule| &rule.backends).filter_map(service));
            }
            NetworkObject::Autoscaler(autoscaler) if is_asked(&autoscaler.identity.key) => {
                let is_target =
                    |key: &WorkloadKey| key.namespace == autoscaler.identity.key.namespace && autoscaler.targets(key);
                workloads.extend(dump.workloads.iter().map(|facts| facts.key.clone()).filter(is_target));
                let own = dump.pods.iter().filter(|pod| top_workload(pod, None).is_some_and(|top| is_target(&top)));
                pods.extend(own.map(|pod| pod.key.clone()));
            }
            _ => {}
        }
    }
    workloads.extend(services.iter().map(|key| NetworkKind::Service.workload(key)));
    for service in dump.services.iter().filter_map(Service::backend).filter(|of| services.contains(&of.key)) {
        let selected = dump
            .pods
            .iter()
            .filter(|pod| pod.key.namespace == service.key.namespace && !pod.is_over() && service.selects(&pod.labels));
        for pod in selected {
            pods.insert(pod.key.clone());
            workloads.extend(top_workload(pod, None));
        }
        // A workload may have no pod yet.
        let without_pods = dump.workloads.iter().filter(|facts| is_selected(&service, facts));
        workloads.extend(without_pods.map(|facts| facts.key.clone()));
    }
    (pods, workloads)
}

fn service(backend: &BackendRef) -> Option<ObjectKey> {
    (backend.kind == NetworkKind::Service.as_str()).then(|| backend.service.clone())
}

/// Whether a Service selects the pods that a workload creates.
fn is_selected(service: &BackendService, facts: &WorkloadFacts) -> bool {
    facts.key.namespace == service.key.namespace
        && facts.template.as_ref().is_some_and(|template| service.selects(&template.labels))
}
