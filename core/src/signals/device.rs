//! The signal `device`.

use super::termination::end;
use super::{Matched, PodSignal, Source, lasting, of_containers, signal};
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{Container, Timestamp, UnhealthyDevice};
use crate::message::{self, text};

signal! {
    /// A container that fails and has a device that its device plugin or driver reports as unhealthy: it exits, a probe kills it,
    /// or it is not ready. A container that runs and is ready is not in it, nor one that is killed for memory.
    /// Source: containerStatuses[].allocatedResourcesStatus (Kubernetes 1.36 and later by default).
    pub(crate) struct Device<'a> as "device" {
        case: &'a Case<'a>,
        container: &'a Container,
        unhealthy: &'a UnhealthyDevice,
        failure: Failure,
    }
    reason: |of| of.failure.as_str(), message: &of.unhealthy.message;

    /// The device: `nvidia.com/gpu GPU-5f1c`, or the ID of a DRA device, at most 100 characters.
    /// Source: allocatedResourcesStatus[].resources[].resourceID.
    "name": fn name(&self) -> String {
        let id = message::name(&self.unhealthy.id, 60);
        if self.claim().is_empty() { format!("{} {id}", self.resource()) } else { id }
    }

    /// Its resource: `nvidia.com/gpu`, or `claim:NAME/REQUEST`, at most 60 characters. Source: allocatedResourcesStatus[].name.
    "resource": fn resource(&self) -> String { message::name(&self.unhealthy.resource, 60) }

    /// Its ResourceClaim, by its name in the pod; empty for a device plugin. Source: the same.
    "claim": fn claim(&self) -> &str {
        let claim = self.unhealthy.resource.strip_prefix("claim:").unwrap_or_default();
        claim.split('/').next().unwrap_or_default()
    }

    /// What the driver reports about it, at most 100 characters; empty if it reports nothing.
    /// Source: allocatedResourcesStatus[].resources[].message.
    "message": fn error(&self) -> String { text::line(&self.unhealthy.message, 100) }

    /// How many other devices of the container are unhealthy. Source: allocatedResourcesStatus[].resources[].health.
    "others": fn others(&self) -> Option<u32> {
        let others = self.container.unhealthy_devices.len().saturating_sub(1);
        u32::try_from(others).ok().filter(|others| *others > 0)
    }

    /// How the container fails: `exit`, `probeKill` or `notReady`. Source: state.terminated, Event Killing, status.conditions.
    "failure": fn failure_name(&self) -> &'static str { self.failure.as_str() }

    /// Exit code of the container; not known if it has not exited. Source: state.terminated.exitCode, lastState.terminated.exitCode.
    "exitCode": fn exit_code(&self) -> Option<i32> {
        self.container.last_end().filter(|_| self.failure != Failure::NotReady).map(|end| end.exit_code)
    }
}

/// How the container fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Exit,
    ProbeKill,
    NotReady,
}

impl Failure {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::ProbeKill => "probeKill",
            Self::NotReady => "notReady",
        }
    }
}

pub(crate) const SOURCE: Source =
    Source { definition: &Device::DEFINITION, read: |case| of_containers(case, |container| read(case, container)) };

fn read<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<Device<'a>> {
    let unhealthy = container.unhealthy_devices.first()?;
    if case.pod.deletion.is_some() {
        return None;
    }
    Some(Device { case, container, unhealthy, failure: failure(case, container)? })
}

fn failure(case: &Case<'_>, container: &Container) -> Option<Failure> {
    if end::crash(case, container).is_some_and(|end| end.reason != end::OOM_KILLED) {
        return Some(Failure::Exit);
    }
    if end::counted(case, container).is_some_and(|run| end::kill(case, container, run).is_some()) {
        return Some(Failure::ProbeKill);
    }
    let is_unready = container.is_running() && !container.ready && container.readiness.is_some();
    (is_unready && !case.pod.is_over()).then_some(Failure::NotReady)
}

impl<'a> PodSignal<'a> for Device<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    /// A container that was just started is not ready yet.
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        if self.failure == Failure::NotReady {
            let ready = case.pod.condition("ContainersReady").and_then(|ready| ready.last_transition);
            return lasting::has_been(case, case.held_since(ready), case.thresholds.of(cause.name, cause.threshold));
        }
        let ended = self.container.last_end().and_then(|run| run.finished_at);
        let chosen = case.thresholds.chosen(cause.name).unwrap_or_default();
        lasting::has_been(case, case.held_since(ended), chosen)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let container = self.container;
        let path = format!("{}.allocatedResourcesStatus[{}]", container.status_path(), self.unhealthy.resource);
        let value = format!("{} Unhealthy {}", self.unhealthy.id, self.unhealthy.message);
        let ended = container.last_end().filter(|_| self.failure != Failure::NotReady);
        let ended = ended.map(|run| {
            let value = format!("exit code {} {}", run.exit_code, run.reason);
            evidence::field_at(container.last_end_path(), value, run.finished_at)
        });
        std::iter::once(evidence::field(path, value.trim_end())).chain(ended).collect()
    }
}
