//! The signal `containerCreation`.

use super::probe::handler::handler_text;
use super::{Matched, PodSignal, Source, lasting, post_start, signal, warning};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, Phase, PullQueue, State, Timestamp, after};

signal! {
    /// A pod on a node whose containers have not been created, while nothing reports an error.
    /// Source: status.phase Pending; containerStatuses[].state.waiting.
    pub(crate) struct ContainerCreation<'a> as "containerCreation" { case: &'a Case<'a>, waiting: &'a Container }
    reason: |of| of.waiting.waiting().map_or("", |(reason, _)| reason), message: "";

    /// The first container that waits. Source: containerStatuses[].state.waiting.
    "container": fn first(&self) -> &str { &self.waiting.name }

    /// How often the pod's sandbox had to be created again; not known if it never was. Source: Event SandboxChanged.
    "sandboxChanges": fn sandbox_changes(&self) -> Option<i64> {
        self.case.events_with("SandboxChanged").map(|event| i64::from(event.count.max(1))).max()
    }

    /// Its image. Source: spec.containers[].image.
    "image": fn image(&self) -> &str { &self.waiting.image }

    /// Whether its image is being pulled: the last Event is `Pulling`. Source: Events.
    "isPulling": fn is_pulling(&self) -> bool { self.case.events.last().is_some_and(|event| &*event.reason == "Pulling") }

    /// Whether the kubelet has reported a status of the container. Source: containerStatuses.
    "isReported": fn is_reported(&self) -> bool { self.waiting.reported }

    /// The container whose postStart hook seems not to end; empty if there is none.
    /// Source: containerStatuses[].state.waiting; spec.containers[].lifecycle.postStart.
    "hookContainer": fn hook_container(&self) -> &str { post_start::holder(self.case).map_or("", |c| &c.name) }

    /// Whether an Event shows that this container was started. Source: Event Started.
    "hookIsStarted": fn hook_is_started(&self) -> bool {
        post_start::holder(self.case).is_some_and(|c| post_start::started(self.case, c).is_some())
    }

    /// What this hook does, such as `exec sh -c ...` or `http :8080/init`; empty if there is none.
    /// Source: spec.containers[].lifecycle.postStart.
    "hook": fn hook(&self) -> String {
        let holder = post_start::holder(self.case);
        let handler = holder.and_then(|c| Some((c, c.post_start.as_deref()?)));
        handler.map_or_else(String::new, |(container, handler)| handler_text(self.case.language(), container, handler))
    }

    /// The registry that does not answer pulls of other pods, which this pod most likely waits behind; empty if there is
    /// none. Source: the diagnoses of those pods.
    "queuedRegistry": fn queued_registry(&self) -> &str { self.queue().map_or("", |queue| &queue.registry.name) }

    /// Whether those are pods of the same workload; else they are on the same node. Source: the diagnoses of those pods.
    "queueIsOfWorkload": fn queue_is_of_workload(&self) -> bool { self.queue().is_some_and(|queue| queue.of_workload) }

    /// The same registry, whether or not the pod's own image is being pulled; empty if there is none.
    /// Source: the diagnoses of those pods.
    "silentRegistry": fn silent_registry(&self) -> &str { self.known_queue().map_or("", |queue| &queue.registry.name) }

    /// Reason and error of the newest Warning Event since the pod has a node, whatever its reason; empty if there is none.
    /// Source: Events.
    "warning": fn warning(&self) -> String { warning::newest_text(self.case.events, self.since()) }

    /// The PersistentVolumeClaims that the pod mounts. Source: spec.volumes[].persistentVolumeClaim.
    "claims": fn claims(&self) -> Vec<String> {
        self.case.pod.volumes.iter().filter_map(post_start::claim).map(str::to_owned).collect()
    }

    /// Whether the pod mounts a PersistentVolumeClaim. Source: spec.volumes[].persistentVolumeClaim.
    "hasClaims": fn has_claims(&self) -> bool {
        self.case.pod.volumes.iter().any(|volume| post_start::claim(volume).is_some())
    }
}

pub(crate) const SOURCE: Source =
    Source { definition: &ContainerCreation::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for ContainerCreation<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        let usual = if self.is_pulling() { case.thresholds.creating_pulling } else { cause.threshold };
        let due = after(case.held_since(self.since()), case.grace(cause.name, usual));
        // The pods of a new node wait for its network and its drivers.
        let due = lasting::joining_until(case).map_or(due, |joined| due.max(joined));
        if case.now < due { Err(due) } else { Ok(()) }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let (reason, message) = self.waiting.waiting().unwrap_or_default();
        let path = format!("{}.state.waiting", self.waiting.status_path());
        let sandbox = self.case.pod.condition("PodReadyToStartContainers").filter(|_| self.queue().is_none());
        let waiting = evidence::field(path, format!("{reason} {message}").trim());
        let last = self.case.events.last();
        let warning = warning::newest(self.case.events, self.since()).filter(|event| last != Some(event));
        let events = warning.into_iter().chain(last).map(evidence::event);
        std::iter::once(waiting).chain(sandbox.map(evidence::condition)).chain(events).collect()
    }

    /// Downgrades the finding while the pod waits for image pulls of other pods. Pulls of the same workload have their
    /// own cause; for others, the finding is only noted until it is overdue.
    fn complete(&self, _: &Matched, mut finding: Finding) -> Verdict {
        let (case, pulling) = (self.case, self.case.thresholds.creating_pulling);
        let overdue = after(case.held_since(self.since()), pulling);
        finding = match self.queue() {
            Some(queue) if queue.of_workload => finding.noted().until(after(case.now, pulling)),
            Some(_) if case.now < overdue => finding.noted().until(overdue),
            Some(_) => finding,
            None => match post_start::holder(case).filter(|_| !self.is_pulling()) {
                Some(hooked) => {
                    Finding { container: Some(hooked.name.clone()), container_type: Some(hooked.kind), ..finding }
                }
                None => finding,
            },
        };
        Verdict::Yes(Box::new(finding))
    }
}

impl<'a> ContainerCreation<'a> {
    fn since(&self) -> Option<Timestamp> {
        let pod = self.case.pod;
        pod.start_time.or_else(|| pod.condition("PodScheduled").and_then(|c| c.last_transition))
    }

    /// The stalled pulls of other pods, unless another reason for the delay is known.
    fn known_queue(&self) -> Option<&'a PullQueue> {
        self.case.surroundings.queue.as_ref().filter(|_| post_start::holder(self.case).is_none())
    }

    /// The stalled pulls, if the pod's own image has not been tried yet.
    fn queue(&self) -> Option<&'a PullQueue> {
        self.known_queue().filter(|_| !self.is_pulling() && self.waiting.reported)
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    let pod = case.pod;
    if pod.node_name.is_none() || pod.phase != Phase::Pending || pod.deletion.is_some() {
        return None;
    }
    let mut waiting = None;
    for container in pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral) {
        match &container.state {
            State::Waiting { reason, .. }
                if matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing") =>
            {
                waiting = waiting.or(Some(container));
            }
            // A completed init container, a running app container, or a started sidecar does not delay the pod.
            State::Terminated(run) if run.exit_code == 0 => {}
            State::Running { .. } if container.kind == ContainerType::App => {}
            State::Running { .. } if container.kind == ContainerType::Sidecar && container.started == Some(true) => {}
            // This container is running or failing, and the others wait for it.
            _ => return None,
        }
    }
    Some(Box::new(ContainerCreation { case, waiting: waiting? }))
}
