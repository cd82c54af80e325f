//! The backend of a path: Service, port, selector, targetPort, endpoints.

use super::{INCOMPLETE, SETTLES, STARTS, target_port};
use crate::api::Evidence;
use crate::case::{BrokenHop, Hop, evidence};
use crate::facts::route::{BackendPod, BackendRef, BackendService, Network, NetworkKind, PortRef, ServicePort};
use crate::facts::{Labelled, Labels, nearest};

/// The first of the broken paths of an object that has `count` paths.
pub(super) fn first_of(mut broken: impl Iterator<Item = BrokenHop>, count: usize) -> Option<BrokenHop> {
    let first = broken.next()?;
    let others = broken.count();
    Some(BrokenHop { others, is_total: others + 1 >= count, ..first })
}

/// Follows a backend of an object in the namespace `from`.
pub(super) fn follow(network: &Network, from: &str, backend: &BackendRef) -> Option<BrokenHop> {
    if backend.kind != "Service" || backend.weight <= 0 {
        return None;
    }
    let namespace = &*backend.service.namespace;
    let broken = BrokenHop {
        namespace: namespace.to_owned(),
        is_elsewhere: namespace != from,
        service: backend.service.name.to_string(),
        at: backend.at.clone(),
        port: backend.port.as_ref().map(PortRef::to_string).unwrap_or_default(),
        grace: SETTLES,
        ..BrokenHop::default()
    };
    let Some(service) = network.services.get(&backend.service) else {
        let names = || network.services_in(namespace).map(|known| &*known.key.name);
        let near = nearest(&broken.service, names()).unwrap_or_default().to_owned();
        let is_missing = network.listed.has(NetworkKind::Service, namespace);
        let evidence = vec![evidence::field(dotted(&broken.at), &broken.service)];
        return is_missing.then_some(BrokenHop { hop: Hop::Service, near, evidence, ..broken });
    };
    // Its name is resolved outside of the cluster.
    if service.is_external {
        return None;
    }
    let port = match &backend.port {
        Some(expected) if !service.ports.is_empty() => {
            let Some(port) = service.port(expected) else { return Some(without_port(service, expected, broken)) };
            Some(port)
        }
        _ => service.ports.first(),
    };
    to_pods(network, service, port, broken)
}

/// From a Service to its pods. `broken` has what is known of the path.
pub(super) fn to_pods(
    network: &Network,
    service: &BackendService,
    port: Option<&ServicePort>,
    broken: BrokenHop,
) -> Option<BrokenHop> {
    let namespace = &*service.key.namespace;
    if service.selector.is_empty() {
        return endpoints(service, &[], broken);
    }
    if !network.listed.has(NetworkKind::Pod, namespace) {
        let mut selected = network.workloads_in(namespace).filter(|of| service.selects(&of.labels)).peekable();
        let is_scaled_down = selected.peek().is_some() && selected.all(|workload| workload.desired <= 0);
        return if is_scaled_down { None } else { endpoints(service, &[], broken) };
    }
    let pods: Vec<&BackendPod> = network.pods_of(service).collect();
    if pods.is_empty() {
        return nothing_selected(network, service, broken);
    }
    if let Some(port) = port
        && let Some(broken) = target_port::check(service, port, &pods, &broken)
    {
        return Some(broken);
    }
    endpoints(service, &pods, broken)
}

fn without_port(service: &BackendService, expected: &PortRef, broken: BrokenHop) -> BrokenHop {
    let names = || service.ports.iter().map(|port| port.name.as_str()).filter(|name| !name.is_empty());
    let only = match service.ports.as_slice() {
        [only] => Some(only.number.to_string()),
        _ => None,
    };
    let near = match expected {
        PortRef::Name(name) => nearest(name, names()).map(str::to_owned).or(only),
        PortRef::Number(_) => only,
    };
    let ports: Vec<String> = service.ports.iter().map(described).collect();
    BrokenHop {
        hop: Hop::Port,
        near: near.unwrap_or_default(),
        evidence: vec![
            evidence::field(dotted(&broken.at), format!("port {expected}")),
            evidence::field(format!("service/{}.spec.ports", service.key.name), ports.join(", ")),
        ],
        ports,
        ..broken
    }
}

/// A JSON pointer in the form of other evidence: `spec.rules[0].backendRefs[1]`.
pub(super) fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for step in pointer.split('/').filter(|step| !step.is_empty()) {
        if step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push('[');
            path.push_str(step);
            path.push(']');
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(step);
        }
    }
    path
}

/// `80 (http)`.
fn described(port: &ServicePort) -> String {
    if port.name.is_empty() { port.number.to_string() } else { format!("{} ({})", port.number, port.name) }
}

/// A Service that selects no pod.
fn nothing_selected(network: &Network, service: &BackendService, broken: BrokenHop) -> Option<BrokenHop> {
    // The endpoints are older or newer than the list of pods.
    if service.endpoints.as_ref().is_some_and(|endpoints| endpoints.ready > 0) {
        return None;
    }
    let workloads = network.workloads_in(&service.key.namespace);
    let mut selected = workloads.filter(|workload| service.selects(&workload.labels)).peekable();
    if selected.peek().is_some() {
        // Its pods are missing, not its labels. A workload that is scaled to 0 has none on purpose.
        let workload = selected.find(|workload| workload.desired > 0)?;
        let evidence = vec![evidence::field(format!("service/{}.endpoints", service.key.name), "none")];
        let workload = display(workload);
        return Some(BrokenHop { hop: Hop::Endpoints, workload, grace: INCOMPLETE, evidence, ..broken });
    }
    let (selected_label, pod_label, workload) = one_label_away(network, service)
        .map_or((None, None, String::new()), |(expected, has, workload)| (Some(expected), has, workload));
    let selector: Vec<String> = service.selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let selector = selector.join(",");
    Some(BrokenHop {
        hop: Hop::Selector,
        selected_label: selected_label.or_else(|| {
            let mut labels = service.selector.iter();
            let only = labels.next()?;
            labels.next().is_none().then(|| (only.0.to_owned(), only.1.to_owned()))
        }),
        pod_label,
        since: service.created,
        // A Service may be created before its pods.
        grace: if workload.is_empty() { INCOMPLETE } else { SETTLES },
        workload,
        evidence: vec![evidence::field(format!("service/{}.spec.selector", service.key.name), selector)],
        ..broken
    })
}

type Label = (String, String);

/// The label in which the pods of the only workload nearby differ from the selector, and what they have instead.
fn one_label_away(network: &Network, service: &BackendService) -> Option<(Label, Option<Label>, String)> {
    let of_workloads = network.workloads_in(&service.key.namespace).filter(|workload| workload.desired > 0);
    let mut near = of_workloads.filter_map(|workload| {
        let (expected, has) = difference(service, &workload.labels)?;
        // With a single label nothing else shows that the workload is meant.
        let is_meant = service.selector.iter().count() > 1 || has.is_some() && is_named_alike(service, workload);
        is_meant.then(|| (expected, has, display(workload)))
    });
    let first = near.next()?;
    near.next().is_none().then_some(first)
}

fn is_named_alike(service: &BackendService, workload: &Labelled) -> bool {
    service.key.name == workload.key.name
}

/// The only label of the selector that these labels do not have, and the value that they have.
fn difference(service: &BackendService, labels: &Labels) -> Option<(Label, Option<Label>)> {
    let mut apart = service.selector.iter().filter(|(key, value)| labels.get(key) != Some(*value));
    let (key, value) = apart.next()?;
    let has = labels.get(key).map(|has| (key.to_owned(), has.to_owned()));
    apart.next().is_none().then(|| ((key.to_owned(), value.to_owned()), has))
}

/// `Deployment web`.
fn display(workload: &Labelled) -> String {
    format!("{} {}", workload.key.kind, workload.key.name)
}

/// Endpoints, none of which is ready.
fn endpoints(service: &BackendService, pods: &[&BackendPod], broken: BrokenHop) -> Option<BrokenHop> {
    let name = &service.key.name;
    let is_down = match &service.endpoints {
        Some(endpoints) => endpoints.ready == 0,
        // Without EndpointSlices, the selected pods show it.
        None => !pods.is_empty() && pods.iter().all(|pod| !pod.is_ready),
    };
    // The endpoints follow the pods within a moment.
    if !is_down || pods.iter().any(|pod| pod.is_ready) {
        return None;
    }
    let lead = pods.iter().find(|pod| pod.cause.is_some()).or(pods.first());
    let cause = lead.and_then(|pod| pod.cause.as_ref());
    let listed = service.endpoints.as_ref().map(|endpoints| endpoints.unready.as_slice()).unwrap_or_default();
    let unready = if pods.is_empty() { listed.len() } else { pods.len() };
    let mut all: Vec<Evidence> =
        vec![evidence::field(format!("service/{name}.endpoints"), format!("0 ready, {unready} not ready"))];
    if let (Some(pod), Some(cause)) = (lead, cause) {
        all.push(evidence::field(format!("pod/{}", pod.key.name), &cause.summary));
    }
    Some(BrokenHop {
        hop: Hop::Endpoints,
        pod: lead.map(|pod| pod.key.name.to_string()).or(listed.first().cloned()).unwrap_or_default(),
        pod_cause: cause.map(|cause| cause.cause.clone()).unwrap_or_default(),
        pod_summary: cause.map(|cause| cause.summary.clone()).unwrap_or_default(),
        unready,
        is_confirmed: service.endpoints.is_some(),
        grace: if pods.is_empty() || cause.is_some() { broken.grace } else { STARTS },
        // The path is broken since the last pod lost its readiness.
        since: pods.iter().filter_map(|pod| pod.since).max().or(service.created),
        evidence: all,
        ..broken
    })
}

#[cfg(test)]
mod tests {
    use super::dotted;

    #[test]
    fn a_pointer_is_shown_as_a_path() {
        assert_eq!(dotted("/spec/rules/0/backendRefs/12"), "spec.rules[0].backendRefs[12]");
        assert_eq!(dotted("/spec/defaultBackend/service"), "spec.defaultBackend.service");
    }
}
