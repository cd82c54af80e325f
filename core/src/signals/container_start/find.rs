//! Finds why a container or a sandbox cannot start: the state, the last termination or the Event with the error.

use super::{ContainerStart, HOOK_EVENT, NEVER_RAN};
use crate::case::Case;
use crate::facts::{Container, EventFacts, State};
use crate::signals::Seen;
use crate::signals::termination::hook;
use crate::signals::termination::hook::HookProof;

/// Waiting reasons of the kubelet's `startContainer` after the image pull.
const WAITING: [&str; 6] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "PostStartHookError",
];

/// Builds the signal for a sandbox. Its memory limit is that of the pod, which equals that of the only container with a
/// limit.
pub(super) fn of_sandbox<'a>(case: &'a Case<'a>, event: &'a EventFacts) -> ContainerStart<'a> {
    let mut limited = case.pod.containers.iter().filter(|container| container.limits.memory.is_some());
    let only = limited.next().filter(|_| limited.next().is_none());
    let (reason, text) = (&*event.reason, &*event.message);
    let seen = Seen::new(reason, text, Some(event), None, None);
    ContainerStart { case, container: only, proof: None, seen }
}

/// Why a container that is not running cannot start.
pub(super) fn of_container<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<ContainerStart<'a>> {
    if hook::ended_before_hook(container) {
        return None;
    }
    let failed = container.waiting().and_then(|(reason, message)| start_error(reason, message));
    let (reason, message, path) = match &container.state {
        State::Waiting { .. } if failed.is_some() => failed?,
        State::Waiting { reason, .. } => {
            // Accept only the back-off of a failed start: a container that waits for anything else has not failed.
            let is_backing_off = reason == "CrashLoopBackOff" || reason.is_empty();
            match container.last.as_ref().filter(|l| is_backing_off && NEVER_RAN.contains(&l.reason.as_str())) {
                Some(last) => (last.reason.as_str(), last.message.as_str(), "lastState.terminated.message"),
                None => return if is_backing_off { after_hook(case, container) } else { None },
            }
        }
        State::Terminated(end) if NEVER_RAN.contains(&end.reason.as_str()) => {
            (end.reason.as_str(), end.message.as_str(), "state.terminated.message")
        }
        State::Running { .. } | State::Terminated(_) => return after_hook(case, container),
    };
    let event = if message.is_empty() { last_error(case, container) } else { None };
    let text = event.map_or(message, |e| &*e.message);
    let path = (event.is_none() && !text.is_empty()).then_some(path);
    let seen = Seen::new(reason, text, event, Some(container), path);
    Some(ContainerStart { case, container: Some(container), proof: None, seen })
}

/// Reason, message and message field of a wait after a failed start. Kubelets before 1.6 wrote both texts into the
/// reason; even earlier ones wrote the error into the reason and the failed step into the message.
fn start_error<'a>(reason: &'a str, message: &'a str) -> Option<(&'a str, &'a str, &'static str)> {
    let step = match message {
        "Generate Container Config Failed" => Some("CreateContainerConfigError"),
        "Create Container Failed" => Some("CreateContainerError"),
        "Start Container Failed" => Some("RunContainerError"),
        _ => None,
    };
    if let Some(step) = step.filter(|_| reason.contains(' ')) {
        return Some((step, reason, "state.waiting.reason"));
    }
    let (known, rest) = reason.split_once(": ").unwrap_or((reason, ""));
    let found = if message.is_empty() && !rest.is_empty() {
        (known, rest, "state.waiting.reason")
    } else {
        (known, message, "state.waiting.message")
    };
    WAITING.contains(&known).then_some(found)
}

/// The failed hook of a container that was killed for it. The kill leaves an ordinary termination in the status.
fn after_hook<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<ContainerStart<'a>> {
    let end = container.last_end()?;
    let proof = hook::ended_by_hook(case, container, end).filter(|_| !container.ready)?;
    let event = match proof {
        HookProof::Event(event) => Some(event),
        HookProof::Remembered => None,
        HookProof::Silent => {
            case.expected_events_settled().ok()?;
            None
        }
    };
    let text = event.map_or("", |event| &event.message);
    let seen = Seen::new(HOOK_EVENT, text, event, Some(container), None);
    Some(ContainerStart { case, container: Some(container), proof: Some(proof), seen })
}

/// The last `Failed` Event of a container that is not about its image.
fn last_error<'a>(case: &Case<'a>, container: &'a Container) -> Option<&'a EventFacts> {
    let own = |e: &&EventFacts| {
        e.regarding.container.is_some() && e.message.contains("Error: ") && !e.message.contains("ImagePull")
    };
    case.container_events(container, "Failed").rev().find(own)
}
