//! Services, EndpointSlices and pods as the path of a request needs them.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::ContainerType;
use crate::facts::route::{BackendPod, BackendService, ContainerPort, Endpoints as EndpointFacts};
use crate::facts::{ObjectKey, PodFacts, ProbeHandler};
use crate::wire::service::{EndpointSlice, Endpoints, Service};

/// The Services with their endpoints. Where no slice and no Endpoints object of a namespace is known, the endpoints of
/// its Services are not known either.
pub fn backend_services(
    services: &[Service],
    slices: &[EndpointSlice],
    endpoints: &[Endpoints],
) -> Vec<BackendService> {
    let mut own: BTreeMap<ObjectKey, Vec<&EndpointSlice>> = BTreeMap::new();
    for slice in slices {
        own.entry(slice.service().unwrap_or_default()).or_default().push(slice);
    }
    let old: BTreeMap<ObjectKey, &Endpoints> = endpoints.iter().map(|old| (old.key(), old)).collect();
    let listed: BTreeSet<&str> =
        slices.iter().map(EndpointSlice::namespace).chain(old.keys().map(|key| &*key.namespace)).collect();
    let mut all: Vec<BackendService> = services.iter().filter_map(Service::backend).collect();
    for service in &mut all {
        service.endpoints = match (own.get(&service.key), old.get(&service.key)) {
            (Some(slices), _) => Some(readiness(slices)),
            (None, Some(old)) => Some(old.readiness()),
            (None, None) => listed.contains(&*service.key.namespace).then(EndpointFacts::default),
        };
    }
    all
}

/// Several slices (one for each IP family) can contain the same endpoint.
fn readiness(slices: &[&EndpointSlice]) -> EndpointFacts {
    let mut ready = BTreeSet::new();
    let mut unready = BTreeSet::new();
    for (name, is_ready) in slices.iter().flat_map(|slice| slice.endpoints()) {
        if is_ready {
            ready.insert(name);
        } else {
            unready.insert(name);
        }
    }
    let unready = unready.difference(&ready).map(|name| (*name).to_owned()).collect();
    EndpointFacts { ready: ready.len(), unready }
}

/// A pod that a Service can select; `None` if it has ended or is being deleted.
pub fn backend_pod(pod: &PodFacts) -> Option<BackendPod> {
    if pod.is_over() || pod.deletion.is_some() {
        return None;
    }
    let ports = pod.containers.iter().flat_map(|container| &container.ports);
    let probes =
        pod.containers.iter().flat_map(|container| [&container.liveness, &container.readiness, &container.startup]);
    let serves =
        pod.containers.iter().filter(|container| matches!(container.kind, ContainerType::App | ContainerType::Sidecar));
    let has_undeclared = serves.clone().count() > 1 && serves.clone().any(|container| container.ports.is_empty());
    let probed = probes.filter_map(|probe| match &probe.as_ref()?.handler {
        ProbeHandler::Http { port, .. } | ProbeHandler::Tcp { port } => port.parse().ok(),
        ProbeHandler::Grpc { port, .. } => Some(i64::from(*port)),
        ProbeHandler::Exec { .. } | ProbeHandler::None => None,
    });
    let ready = pod.condition("Ready");
    Some(BackendPod {
        key: ObjectKey::new(pod.key.namespace.clone(), pod.key.name.clone()),
        labels: pod.labels.clone(),
        is_ready: pod.is_ready(),
        since: ready.and_then(|ready| ready.last_transition).or(pod.created),
        ports: ports
            .map(|port| ContainerPort {
                name: port.name.clone(),
                number: port.number.into(),
                protocol: if port.protocol.is_empty() { "TCP".to_owned() } else { port.protocol.clone() },
            })
            .collect(),
        has_undeclared,
        probed: probed.collect(),
        cause: None,
    })
}
