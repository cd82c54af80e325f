//! postStart hooks that do not end: the kubelet starts nothing else meanwhile, and does not even report the container as
//! running.

use crate::api::ContainerType;
use crate::diagnosis::Case;
use crate::facts::{Container, EventFacts, Volume, VolumeSource};

/// The first app container whose postStart hook seems to hold up the pod.
pub(super) fn holder<'a>(case: &Case<'a>) -> Option<&'a Container> {
    case.pod.of_type(ContainerType::App).find(|container| is_holding(case, container))
}

/// Whether a container that waits has a postStart hook that seems not to end. A container waits as silently for a volume,
/// before it is started.
pub(super) fn is_holding(case: &Case<'_>, container: &Container) -> bool {
    let waits_with_hook = container.reported && container.has_post_start && container.waiting().is_some();
    waits_with_hook && (started(case, container).is_some() || case.pod.volumes.iter().all(|v| claim(v).is_none()))
}

/// The Normal Event that a container was started comes before its hook. Only dumps hold it.
pub(super) fn started<'a>(case: &Case<'a>, container: &Container) -> Option<&'a EventFacts> {
    case.container_events(container, "Started").next_back()
}

/// The claim of a volume.
pub(super) fn claim(volume: &Volume) -> Option<&str> {
    match &volume.source {
        VolumeSource::Claim { name, .. } => Some(name),
        _ => None,
    }
}
