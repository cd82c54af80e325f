//! Services that no route needs to lead to: those that clients in the cluster connect to.
//!
//! Services without ready pods follow from their pods, and those that select nothing may do so on purpose; a workload
//! reports the latter if they are meant for it. Here remains a targetPort that no container has.

use super::{SETTLES, target_port};
use crate::case::BrokenHop;
use crate::facts::route::{BackendPod, BackendService, Network, NetworkKind, PortRef};

/// The broken hop of a Service, if none of its ports leads to a port of its pods.
pub fn walk(network: &Network, service: &BackendService) -> Option<BrokenHop> {
    let is_followed = !service.is_external && !service.selector.is_empty();
    if !is_followed || !network.listed.has(NetworkKind::Pod, &service.key.namespace) {
        return None;
    }
    // The workload reports names, and has a cause for them.
    if service.ports.iter().all(|port| matches!(port.target, Some(PortRef::Name(_)))) {
        return None;
    }
    let pods: Vec<&BackendPod> = network.pods_of(service).collect();
    let known = BrokenHop {
        namespace: service.key.namespace.to_string(),
        service: service.key.name.to_string(),
        is_total: true,
        grace: SETTLES,
        ..BrokenHop::default()
    };
    let broken = service.ports.iter().map(|port| {
        let known = BrokenHop { port: port.number.to_string(), ..known.clone() };
        target_port::check(service, port, &pods, &known)
    });
    let broken: Option<Vec<BrokenHop>> = broken.collect();
    broken.filter(|_| !pods.is_empty())?.into_iter().next()
}
