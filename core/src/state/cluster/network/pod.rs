//! Pods as the path of a request, autoscalers and disruption budgets need them.

use std::sync::Arc;

use crate::api::ContainerType;
use crate::case::top_workload;
use crate::facts::route::{BackendPod, ContainerPort, PodPorts};
use crate::facts::{ObjectKey, Phase, PodFacts, ProbeHandler};

/// A pod that a Service can select; `None` if it has ended or is being deleted.
pub(super) fn backend_pod(pod: &PodFacts) -> Option<BackendPod> {
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
    let declared = ports.map(|port| ContainerPort {
        name: port.name.clone(),
        number: port.number.into(),
        protocol: if port.protocol.is_empty() { "TCP".to_owned() } else { port.protocol.clone() },
    });
    Some(BackendPod {
        key: ObjectKey::new(pod.key.namespace.clone(), pod.key.name.clone()),
        uid: pod.uid.clone(),
        labels: pod.labels.clone(),
        node: pod.node_name.clone(),
        is_ready: pod.is_ready(),
        since: ready.and_then(|ready| ready.last_transition).or(pod.created),
        claims: pod.claims().map(Arc::from).collect(),
        pending_of: if pod.phase == Phase::Pending { top_workload(pod, None) } else { None },
        ports: Arc::new(PodPorts { declared: declared.collect(), has_undeclared, probed: probed.collect() }),
        cause: None,
    })
}
