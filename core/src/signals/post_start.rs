//! postStart hooks that do not return. Meanwhile the kubelet starts no other container and does not report this one as
//! running.

use crate::api::ContainerType;
use crate::case::Case;
use crate::facts::{Container, EventFacts, Volume, VolumeSource};

/// The first app container whose postStart hook seems to block the pod.
pub(super) fn holder<'a>(case: &Case<'a>) -> Option<&'a Container> {
    case.pod.of_type(ContainerType::App).find(|container| is_holding(case, container))
}

/// Whether a waiting container has a postStart hook that seems to hang. A container that waits for a volume, before its
/// start, looks the same.
pub(super) fn is_holding(case: &Case<'_>, container: &Container) -> bool {
    let waits_with_hook = container.reported && container.post_start.is_some() && container.waiting().is_some();
    waits_with_hook && (started(case, container).is_some() || case.pod.volumes.iter().all(|v| claim(v).is_none()))
}

/// The Normal Event of a container's start, which precedes its hook. Only dumps include it.
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
