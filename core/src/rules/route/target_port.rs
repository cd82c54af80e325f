//! The targetPort of a Service, which must lead to a port of a container.
//!
//! A name must exist in a pod. A number need not be declared: containers can listen on ports that they do not declare.
//! It counts as wrong only if the pods declare exactly one port, to which no port of the Service leads, and each
//! container declares a port.

use crate::case::{BrokenHop, Hop, evidence};
use crate::facts::nearest;
use crate::facts::route::{BackendPod, BackendService, ContainerPort, PortRef, ServicePort};

/// Names of ports that containers declare for other purposes than requests.
const BESIDE: [&str; 8] = ["metrics", "prom", "health", "admin", "debug", "probe", "pprof", "jmx"];

/// The broken hop if no pod has the port that the Service leads to. `broken` has what is known of the path.
pub(super) fn check(
    service: &BackendService,
    port: &ServicePort,
    pods: &[&BackendPod],
    broken: &BrokenHop,
) -> Option<BrokenHop> {
    // Connections to a headless Service go to the pods directly.
    if service.is_headless {
        return None;
    }
    let of_protocol = |pod: &&BackendPod| -> Vec<ContainerPort> {
        pod.ports.declared.iter().filter(|has| has.protocol == port.protocol).cloned().collect()
    };
    let mut declared: Vec<ContainerPort> = pods.iter().flat_map(of_protocol).collect();
    declared.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
    declared.dedup();
    let near = match &port.target {
        Some(PortRef::Name(name)) => {
            if declared.iter().any(|has| has.name == *name) {
                return None;
            }
            let names = || declared.iter().map(|has| has.name.as_str()).filter(|name| !name.is_empty());
            nearest(name, names()).map(str::to_owned).or_else(|| only(&declared))
        }
        Some(PortRef::Number(number)) => Some(undeclared(service, *number, &declared, pods)?),
        None => Some(undeclared(service, port.number, &declared, pods)?),
    };
    let target = port.target.as_ref().map_or_else(|| port.number.to_string(), PortRef::to_string);
    let index = service.ports.iter().position(|of| of == port).unwrap_or_default();
    let ports: Vec<String> = declared.iter().map(described).collect();
    Some(BrokenHop {
        hop: Hop::TargetPort,
        near: near.unwrap_or_default(),
        evidence: vec![
            evidence::field(format!("service/{}.spec.ports[{index}].targetPort", service.key.name), &target),
            evidence::field(
                "spec.containers[].ports of the pods",
                if ports.is_empty() { "none".to_owned() } else { ports.join(", ") },
            ),
        ],
        target_port: target,
        service_port: port.number,
        port_index: index,
        ports,
        since: service.created,
        ..broken.clone()
    })
}

/// The port that the pods declare instead of this number, if the number is certainly wrong.
fn undeclared(
    service: &BackendService,
    number: i64,
    declared: &[ContainerPort],
    pods: &[&BackendPod],
) -> Option<String> {
    let [only] = declared else { return None };
    let is_beside = BESIDE.iter().any(|word| only.name.contains(word));
    let leads_to = |port: &ServicePort| match &port.target {
        Some(PortRef::Number(target)) => *target == only.number,
        Some(PortRef::Name(name)) => *name == only.name,
        None => port.number == only.number,
    };
    let is_used = service.ports.iter().any(leads_to);
    let is_probed = pods.iter().any(|pod| pod.ports.probed.contains(&number));
    let may_be_elsewhere = pods.iter().any(|pod| pod.ports.has_undeclared);
    (only.number != number && !may_be_elsewhere && !is_beside && !is_used && !is_probed)
        .then(|| only.number.to_string())
}

fn only(declared: &[ContainerPort]) -> Option<String> {
    match declared {
        [only] => Some(if only.name.is_empty() { only.number.to_string() } else { only.name.clone() }),
        _ => None,
    }
}

/// `8080 (http)`.
fn described(port: &ContainerPort) -> String {
    if port.name.is_empty() { port.number.to_string() } else { format!("{} ({})", port.number, port.name) }
}
