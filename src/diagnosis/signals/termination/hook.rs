//! Whether a run ended because its postStart hook failed: the kubelet kills such a container, and the kill leaves an ordinary
//! end in the status.

use super::end::{self, SLACK};
use crate::diagnosis::Case;
use crate::facts::{Container, EventFacts, State, Terminated, after};

/// The cause of what the kubelet kills for its hook.
pub const HOOK_KILL: &str = "PostStartHookError";

/// As long as an Event lives, in seconds. The kubelet sends 25 Events of a pod, then one in 5 min, of whatever kind: a loop
/// outlives those of its hook.
const LOOP_OUTLIVES_EVENTS: i64 = 3600;
/// So short is the run of a server that heeds SIGTERM, where the hook fails at once.
pub(crate) const AT_ONCE: i64 = 3;

#[derive(Debug, Clone, Copy)]
pub(crate) enum HookProof<'a> {
    /// The kubelet said so, of this run or of one before it that it ended alike.
    Event(&'a EventFacts),
    /// It said so of a run of which only the end is remembered, and this one ended alike.
    Remembered,
    /// No Event of the pod is known at all; the run took just the grace period.
    Silent,
}

pub(crate) fn ended_by_hook<'a>(case: &Case<'a>, container: &Container, run: &Terminated) -> Option<HookProof<'a>> {
    // A first end in peace is no failure yet: perhaps nobody starts it again.
    if !container.has_post_start || (run.exit_code == 0 && container.restart_count == 0) {
        return None;
    }
    if ended_before_hook(container) {
        return None;
    }
    let event = case.container_events(container, "FailedPostStartHook").next_back();
    if let Some(event) = event.filter(|event| tells_of(case, container, run, event)) {
        return Some(HookProof::Event(event));
    }
    if case.ledger.proven_cause(&container.name, run) == Some(HOOK_KILL) {
        return Some(HookProof::Remembered);
    }
    is_silent(case, container, run).then_some(HookProof::Silent)
}

/// Whether a process ends so by itself, and seldom where it is told to end.
fn is_own_code(code: i32) -> bool {
    !matches!(code, 0 | 137 | 143)
}

/// Whether the kubelet could not run the hook because the container had ended already: then the hook fails of that.
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
    // The kubelet's own kill is no OOMKilled.
    if end.is_some_and(|end| end.reason == end::OOM_KILLED) {
        return true;
    }
    let by_own_code = end.is_some_and(|end| is_own_code(end.exit_code));
    let said = container.waiting().filter(|(reason, _)| *reason == HOOK_KILL).map(|(_, said)| said.to_lowercase());
    said.is_some_and(|said| {
        GONE.iter().any(|words| said.contains(words)) || (by_own_code && said.contains("exited with 137"))
    })
}

/// Whether the hook's failure ended this run too. An Event long before the end is about another run, and then this one must
/// have ended as the kubelet ends those: by a signal or in peace, and as soon as the hook allows. What ended before it failed
/// ended of itself.
fn tells_of(case: &Case<'_>, container: &Container, run: &Terminated, event: &EventFacts) -> bool {
    let Some((told, ended)) = event.last.zip(run.finished_at) else { return true };
    let is_of_next_run = matches!(container.state, State::Running { started_at: Some(start) } if start <= told);
    // In the same second a process that ends by a code of its own has rather taken its hook with it than the other way round.
    let is_before = if is_own_code(run.exit_code) { ended <= told } else { after(ended, SLACK) < told };
    if is_before && !is_of_next_run {
        return false;
    }
    let kill_takes = case.pod.termination_grace_seconds + 60;
    let later = ended.as_second() - told.as_second();
    let longest = match run.exit_code {
        137 | 143 => Some(kill_takes),
        0 => Some(AT_ONCE),
        _ => None,
    };
    let is_alike = longest.is_some_and(|longest| run.ran_for().is_some_and(|ran| ran <= longest));
    later <= kill_takes || (is_alike && later <= LOOP_OUTLIVES_EVENTS)
}

/// Whether a run lasted for the grace period, and no Event of the pod is known: so it is with a process that does not heed
/// SIGTERM, where the hook fails at once.
fn is_silent(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    let grace = case.pod.termination_grace_seconds;
    let is_killed = run.exit_code == 137 && run.reason == "Error" && container.restart_count > 0;
    is_killed
        && case.events.is_empty()
        && run.ran_for().is_some_and(|ran| (grace - 1..=grace + SLACK).contains(&ran))
        && end::kill(case, container, run).is_none()
}
