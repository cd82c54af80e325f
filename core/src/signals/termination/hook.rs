//! Detects runs that were terminated because their postStart hook failed. The kubelet kills such a container, which
//! leaves an ordinary termination in the status.

use super::end::{self, SLACK};
use crate::case::Case;
use crate::facts::{Container, EventFacts, State, Terminated, after};

/// The cause of a kill after a failed hook.
pub const HOOK_KILL: &str = "PostStartHookError";

/// Lifetime of an Event in seconds. The kubelet sends 25 Events per pod and then one in 5 minutes, of any kind, so a
/// crash loop outlives the Events of its hook.
const LOOP_OUTLIVES_EVENTS: i64 = 3600;
/// Maximum seconds of a run whose server handles SIGTERM, if the hook fails at once.
pub(crate) const AT_ONCE: i64 = 3;

#[derive(Debug, Clone, Copy)]
pub(crate) enum HookProof<'a> {
    /// The kubelet reported it, for this run or for an earlier one that terminated in the same way.
    Event(&'a EventFacts),
    /// The kubelet reported it for a run of which only the termination is recorded, and this run terminated in the same
    /// way.
    Remembered,
    /// No Event of the pod is known; the run lasted exactly the grace period.
    Silent,
}

pub(crate) fn ended_by_hook<'a>(case: &Case<'a>, container: &Container, run: &Terminated) -> Option<HookProof<'a>> {
    // A first termination with exit code 0 is not a failure yet: the container may not be restarted.
    if container.post_start.is_none() || (run.exit_code == 0 && container.restart_count == 0) {
        return None;
    }
    if ended_before_hook(container) {
        return None;
    }
    let event = case.container_events(container, "FailedPostStartHook").next_back();
    if let Some(event) = event.filter(|event| matches_run(case, container, run, event)) {
        return Some(HookProof::Event(event));
    }
    if case.ledger.proven_cause(&container.name, run) == Some(HOOK_KILL) {
        return Some(HookProof::Remembered);
    }
    matches_without_events(case, container, run).then_some(HookProof::Silent)
}

/// Whether the exit code is the program's own, and rarely the result of SIGTERM.
fn is_own_code(code: i32) -> bool {
    !matches!(code, 0 | 137 | 143)
}

/// Whether the kubelet could not run the hook because the container had already terminated.
pub(crate) fn ended_before_hook(container: &Container) -> bool {
    const GONE: [&str; 6] = [
        "in a stopped state",
        "stopped container",
        "container_exited",
        "not running",
        "container not found",
        "task not found",
    ];
    let end = container.last_end();
    // A kill by the kubelet itself is never reported as OOMKilled.
    if end.is_some_and(|end| end.reason == end::OOM_KILLED) {
        return true;
    }
    let by_own_code = end.is_some_and(|end| is_own_code(end.exit_code));
    let message =
        container.waiting().filter(|(reason, _)| *reason == HOOK_KILL).map(|(_, message)| message.to_lowercase());
    message.is_some_and(|message| {
        GONE.iter().any(|words| message.contains(words)) || (by_own_code && message.contains("exited with 137"))
    })
}

/// Whether the hook's failure terminated this run. An Event long before the termination belongs to another run; then
/// this run must match the kubelet's kill: a signal or exit code 0, and as early as the hook allows. A run that
/// terminated before the hook failed did so by itself.
fn matches_run(case: &Case<'_>, container: &Container, run: &Terminated, event: &EventFacts) -> bool {
    let Some((reported, ended)) = event.last.zip(run.finished_at) else { return true };
    let is_of_next_run = matches!(container.state, State::Running { started_at: Some(start) } if start <= reported);
    // The kubelet aggregates its Events, and reports the next run only after that has terminated too.
    let is_repeated = event.count > 1 && event.first.is_some_and(|first| first <= ended);
    // In the same second, a process with an exit code of its own has rather interrupted its hook.
    let is_before = if is_own_code(run.exit_code) { ended <= reported } else { after(ended, SLACK) < reported };
    let kill_takes = case.pod.termination_grace_seconds + 60;
    let later = ended.as_second() - reported.as_second();
    let longest = match run.exit_code {
        137 | 143 => Some(kill_takes),
        0 => Some(AT_ONCE),
        _ => None,
    };
    let is_alike = longest.is_some_and(|longest| run.ran_for().is_some_and(|ran| ran <= longest));
    if is_before && !is_of_next_run {
        return is_repeated && is_alike;
    }
    later <= kill_takes || (is_alike && later <= LOOP_OUTLIVES_EVENTS)
}

/// Whether a run lasted for the grace period without any known Event: the pattern of a process that ignores SIGTERM
/// after its hook failed at once.
fn matches_without_events(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    let grace = case.pod.termination_grace_seconds;
    let is_killed = run.exit_code == 137 && run.reason == "Error" && container.restart_count > 0;
    is_killed
        && case.events.is_empty()
        && run.ran_for().is_some_and(|ran| (grace - 1..=grace + SLACK).contains(&ran))
        && end::kill(case, container, run).is_none()
}
