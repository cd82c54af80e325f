//! The signal `sandbox`.

use crate::api::ContainerType;
use crate::diagnosis::Case;
use crate::facts::{EventFacts, State};

const EVENTS: [&str; 7] = [
    "FailedCreatePodSandBox",
    "NetworkNotReady",
    "FailedCreatePodContainer",
    "FailedPrepareDynamicResources",
    "FailedPodSandBoxStatus",
    "FailedSync",
    "Failed",
];

/// The newest Event that states why the pod's sandbox cannot be created, while it has none.
pub(crate) fn failure<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    let of_pod = |e: &&EventFacts| {
        EVENTS.contains(&&*e.reason)
            && match &*e.reason {
                "Failed" => e.message.contains("error making pod data directories"),
                "FailedSync" => false,
                _ => true,
            }
    };
    let newest = case.events.iter().filter(of_pod).max_by_key(|e| e.last)?;
    is_being_set_up(case).then_some(newest)
}

/// Whether the pod is bound to a node and none of its containers was created yet, or again after its sandbox went away.
pub(crate) fn is_being_set_up(case: &Case<'_>) -> bool {
    let pod = case.pod;
    if pod.is_over() || pod.deletion.is_some() || pod.node_name.is_none() {
        return false;
    }
    let mut own = pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral);
    match pod.condition("PodReadyToStartContainers").map(|c| c.status.as_str()) {
        Some("True") => false,
        Some("False") => !own.any(|c| c.is_running() || c.ready),
        _ => own.all(|c| match &c.state {
            State::Waiting { reason, .. } => matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing"),
            _ => false,
        }),
    }
}
