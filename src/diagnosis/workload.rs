//! Which workload a pod belongs to.

use std::sync::Arc;

use crate::facts::{PodFacts, WorkloadFacts, WorkloadKey};

/// The controller of the pod itself: its ReplicaSet, its Job. Mirror pods have none (their owner is the Node).
pub fn immediate(pod: &PodFacts) -> Option<WorkloadKey> {
    let owner = pod.owner.as_ref().filter(|owner| !pod.mirror && &*owner.kind != "Node")?;
    Some(WorkloadKey {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        namespace: pod.key.namespace.clone(),
        name: owner.name.clone(),
    })
}

/// The controller that a person knows by name. A Deployment's name is its ReplicaSet's less the `pod-template-hash`, so
/// nothing needs to be read for it; a CronJob is known once the pod's Job has been looked up.
pub fn top(pod: &PodFacts, job: Option<&WorkloadFacts>) -> Option<WorkloadKey> {
    let own = immediate(pod)?;
    if &*own.kind == "ReplicaSet" {
        let deployment = pod
            .labels
            .get("pod-template-hash")
            .and_then(|hash| own.name.strip_suffix(hash.as_str()))
            .and_then(|name| name.strip_suffix('-'))
            .map(Arc::<str>::from);
        if let Some(name) = deployment {
            return Some(WorkloadKey { kind: "Deployment".into(), name, ..own });
        }
    }
    if let Some(owner) = job.and_then(|j| j.owner.as_ref()).filter(|_| &*own.kind == "Job") {
        return Some(WorkloadKey {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            ..own
        });
    }
    Some(own)
}
