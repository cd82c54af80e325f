//! Pods as the path of a request, autoscalers and disruption budgets need them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Affected, NetworkState};

use crate::api::ContainerType;
use crate::case::top_workload;
use crate::facts::route::{BackendPod, ContainerPort, NetworkKind, NetworkObject, PodCause, PodPorts};
use crate::facts::{ObjectKey, Phase, PodFacts, ProbeHandler};

impl NetworkState {
    /// Registers a new version of a pod. `cause`: its diagnosis.
    pub(in crate::state) fn pod(&mut self, facts: &PodFacts, cause: Option<PodCause>) -> Affected {
        let Some(mut pod) = backend_pod(facts) else { return self.pod_removed(&facts.uid, &facts.key) };
        pod.cause = cause.map(Box::new);
        let of_namespace = self.network.pods.entry(pod.key.namespace.clone()).or_default();
        let known = of_namespace.get(&pod.key.name);
        if known == Some(&pod) {
            return Affected::new();
        }
        match known {
            Some(known) if known.ports == pod.ports => pod.ports = known.ports.clone(),
            _ => pod.ports = self.ports.share(Arc::unwrap_or_clone(pod.ports)),
        }
        let before = of_namespace.insert(pod.key.name.clone(), pod.clone());
        let mut affected = self.reached_by(&pod);
        if let Some(before) = before.filter(|before| {
            before.labels != pod.labels || before.pending_of != pod.pending_of || before.claims != pod.claims
        }) {
            affected.extend(self.reached_by(&before));
        }
        affected
    }

    /// Forgets a pod that has ended or was deleted. A pod with its name and another UID stays.
    pub(in crate::state) fn pod_removed(&mut self, uid: &str, key: &ObjectKey) -> Affected {
        let Some(of_namespace) = self.network.pods.get_mut(&key.namespace) else { return Affected::new() };
        if of_namespace.get(&key.name).is_none_or(|pod| *pod.uid != *uid) {
            return Affected::new();
        }
        let Some(pod) = of_namespace.remove(&key.name) else { return Affected::new() };
        if of_namespace.is_empty() {
            self.network.pods.remove(&key.namespace);
        }
        self.reached_by(&pod)
    }

    /// The diagnosis of a pod has changed.
    pub(in crate::state) fn pod_diagnosed(&mut self, key: &ObjectKey, cause: Option<PodCause>) -> Affected {
        let pod = self.network.pods.get_mut(&key.namespace).and_then(|all| all.get_mut(&key.name));
        let Some(pod) = pod else { return Affected::new() };
        let cause = cause.filter(|_| !pod.is_ready).map(Box::new);
        if pod.cause == cause {
            return Affected::new();
        }
        pod.cause = cause;
        let pod = pod.clone();
        self.reached_by(&pod)
    }

    pub(in crate::state) fn unready_pods(&self) -> impl Iterator<Item = &ObjectKey> {
        let pods = self.network.pods.values().flat_map(BTreeMap::values);
        pods.filter(|pod| !pod.is_ready).map(|pod| &pod.key)
    }

    /// The objects whose state depends on a pod: Services that select it with their users, budgets and autoscalers.
    fn reached_by(&self, pod: &BackendPod) -> Affected {
        let namespace = &pod.key.namespace;
        let mut affected = self.of_services(namespace, |service| service.selects(&pod.labels));
        let of_kind =
            |kind| self.objects.get(&kind).into_iter().flatten().filter(|(key, _)| key.namespace == *namespace);
        for (key, object) in of_kind(NetworkKind::PodDisruptionBudget) {
            if matches!(object, NetworkObject::Budget(budget) if budget.selects(&pod.labels)) {
                affected.insert((NetworkKind::PodDisruptionBudget, key.clone()));
            }
        }
        affected.extend(self.of_claims(namespace, pod.claims.iter().map(|claim| &**claim)));
        for (key, object) in of_kind(NetworkKind::HorizontalPodAutoscaler) {
            if matches!(object, NetworkObject::Autoscaler(of) if pod.pending_of.as_ref().is_some_and(|w| of.targets(w)))
            {
                affected.insert((NetworkKind::HorizontalPodAutoscaler, key.clone()));
            }
        }
        affected
    }

    /// The claims with these names.
    pub(super) fn of_claims<'c>(&self, namespace: &Arc<str>, names: impl Iterator<Item = &'c str>) -> Affected {
        let keys = names.map(|name| ObjectKey::new(namespace.clone(), name));
        let known = keys.filter(|key| self.object(NetworkKind::PersistentVolumeClaim, key).is_some());
        known.map(|key| (NetworkKind::PersistentVolumeClaim, key)).collect()
    }
}

/// A pod that a Service can select; `None` if it has ended or is being deleted.
fn backend_pod(pod: &PodFacts) -> Option<BackendPod> {
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
