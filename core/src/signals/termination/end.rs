//! Determines which terminations of a container count as failures. Shared by all signals about terminations.

use super::hook;
use crate::api::{ContainerType, Severity};
use crate::case::ownership::{JobState, is_first_failed_try, job_state};
use crate::case::{Case, Finding, Verdict};
use crate::facts::{Container, EventFacts, Phase, ProbeKind, RestartPolicy, State, Terminated, after, seconds_between};
use crate::message::text;

/// Seconds by which an Event and the status of the same kubelet may differ.
pub(crate) const SLACK: i64 = 2;

/// Killing Events that mark a termination as intended.
const INTENDED: [&str; 3] = ["definition changed", "resize requires restart", "stopping container"];
/// Killing Event for a failed hook. The kubelet also emits it for a hook that was interrupted by the termination.
const FAILED_HOOK: &str = "failedpoststarthook";

/// Reasons that other rules cover: the container never ran, or all containers were restarted on purpose.
const NOT_A_CRASH: [&str; 3] = ["StartError", "ContainerCannotRun", "RestartingAllContainers"];

/// The termination that is still relevant: the current state, or the last run of a container that waits for its restart
/// or has not run for long enough since.
pub(crate) fn counted<'c>(case: &Case<'_>, container: &'c Container) -> Option<&'c Terminated> {
    let grace = case.thresholds.recovered_restarting;
    let end = match &container.state {
        State::Terminated(end) => Some(end),
        State::Running { started_at } => {
            container.last.as_ref().filter(|_| started_at.is_some_and(|at| case.age(at) <= grace))
        }
        State::Waiting { reason, .. } => match reason.as_str() {
            "CrashLoopBackOff" => container.last.as_ref(),
            "" | "ContainerCreating" | "PodInitializing" | "RestartingAllContainers" => {
                container.last.as_ref().filter(|end| end.finished_at.is_some_and(|at| case.age(at) <= grace))
            }
            hook::HOOK_KILL if hook::ended_before_hook(container) => container.last.as_ref(),
            // The current reason of the wait matters, not how an earlier run terminated.
            _ => None,
        },
    };
    end.filter(|end| {
        !NOT_A_CRASH.contains(&&*end.reason) && !is_by_rule(case, container, end) && !is_explained(case, container, end)
    })
}

/// Whether a restart rule of the container expects this exit code, and the container does not loop. A run that lasts longer
/// than a recovery takes does not count as a loop.
pub(crate) fn is_by_rule(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    const FEW: u32 = 1;
    let is_loop =
        container.restart_count > FEW && end.ran_for().is_none_or(|ran| ran < case.thresholds.recovered_restarting);
    container.is_restarted_by_rule(end.exit_code) && !has_known_reason(end) && !is_loop && !case.pod.is_over()
}

/// A termination that is a failure in itself: a non-zero exit code, out of memory, or an exit of a container that
/// should keep running. Kills by probes are excluded, as the signal `probe` covers them.
pub(crate) fn crash<'c>(case: &Case<'_>, container: &'c Container) -> Option<&'c Terminated> {
    let end = counted(case, container)?;
    let failed = end.exit_code != 0
        || end.reason == OOM_KILLED
        || (container.kind != ContainerType::Init
            && container.effective_restart_policy(case.pod.restart_policy) == RestartPolicy::Always
            && !case.pod.is_over());
    (failed && !has_recovered(case, container, end) && kill(case, container, end).is_none()).then_some(end)
}

/// Seconds that a run must last beyond twice the duration of the previous run to count as different.
const LONGER_BY: i64 = 5;

/// Whether a snapshot shows a container that has recovered from one failure. A snapshot holds nothing newer than the
/// restart, so it cannot show how long ago that was. Crash loops and out-of-memory kills do not count as recovered,
/// unless the current run is ready and much longer than the previous one.
fn has_recovered(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    // An init container is never Ready; all that is known is that it is running again.
    let is_init = container.kind == ContainerType::Init;
    let is_healthy = container.is_running() && (is_init || (container.ready && case.pod.is_ready()));
    let resets = case.thresholds.recovered_restarting;
    let runs = match container.state {
        State::Running { started_at } => started_at.map_or(0, |at| case.age(at)),
        State::Waiting { .. } | State::Terminated(_) => 0,
    };
    let is_alike = |ran: i64| ran < resets && runs <= 2 * ran + LONGER_BY;
    let is_loop = container.restart_count > 1 && end.ran_for().is_none_or(is_alike);
    !case.thresholds.patient && is_healthy && !is_loop && end.reason != OOM_KILLED
}

/// Whether a snapshot without newer data than the last start shows the container Ready after a failure that may be
/// transient: one or two terminations in the pod's first minutes (such as a program that does not wait for its
/// dependencies), or one out-of-memory kill after a long run. Such a snapshot cannot show whether it fails again.
fn may_have_recovered(case: &Case<'_>, finding: &Finding) -> bool {
    const MAX_RESTARTS: u32 = 2;
    const FIRST_MINUTES: i64 = 300;
    let container = finding.container.as_deref().and_then(|name| case.pod.container(name));
    let Some((container, end)) = container.and_then(|c| Some((c, c.last.as_ref()?))) else { return false };
    let State::Running { started_at: Some(started) } = container.state else { return false };
    let is_newest = !case.thresholds.patient && case.age(started) <= SLACK;
    let is_healthy = container.ready && case.pod.is_ready() && container.restart_count <= MAX_RESTARTS;
    let is_early = || case.pod.created.is_some_and(|made| seconds_between(made, started) <= FIRST_MINUTES);
    let is_once =
        || container.restart_count == 1 && end.ran_for().is_some_and(|ran| ran >= case.thresholds.recovered_restarting);
    is_newest && is_healthy && if end.reason == OOM_KILLED { is_once() } else { is_early() }
}

/// Like [`crash`], but waits until Events that may explain the termination had time to arrive.
pub(crate) fn settled_crash<'c>(case: &Case<'_>, container: &'c Container) -> Result<Option<&'c Terminated>, Verdict> {
    let Some(end) = crash(case, container) else { return Ok(None) };
    let may_be_killed =
        matches!(end.exit_code, 0 | 137 | 143) || container.liveness.is_some() || container.startup.is_some();
    if may_be_killed && !has_known_reason(end) {
        let settled = if looks_like_probe_kill(case, container, end) {
            case.expected_events_settled()
        } else {
            case.events_settled()
        };
        settled.map_err(Verdict::NotBefore)?;
    }
    Ok(Some(end))
}

/// Whether a run terminated like one that a probe kills, and no cause of earlier runs is known.
fn looks_like_probe_kill(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let mut explained = case.ledger.runs.iter().filter(|run| run.container == container.name && run.cause.is_some());
    explained.next().is_none()
        && [ProbeKind::Liveness, ProbeKind::Startup]
            .into_iter()
            .any(|kind| ended_within_budget(case, container, end, kind))
}

/// Whether the pod failed because this container is not restarted. If it would have been restarted, the deletion
/// terminated the pod.
pub(crate) fn has_ended_its_pod(case: &Case<'_>, container: &Container) -> bool {
    let pod = case.pod;
    let is_restarted = container.effective_restart_policy(pod.restart_policy) != RestartPolicy::Never;
    pod.has_failed() && !(pod.deletion.is_some() && is_restarted)
}

pub(crate) const OOM_KILLED: &str = "OOMKilled";

/// Whether the runtime attributes the termination to seccomp.
pub(crate) fn is_seccomp_kill(run: &Terminated) -> bool {
    run.reason.eq_ignore_ascii_case("seccomp killed")
}

/// Whether neither the runtime nor the kubelet observed how the run terminated.
pub(crate) fn is_lost(run: &Terminated) -> bool {
    matches!(run.reason.as_str(), "Unknown" | "ContainerStatusUnknown")
}

/// Whether the runtime reports the cause of the termination, so that no Event is needed to explain it.
fn has_known_reason(end: &Terminated) -> bool {
    end.reason == OOM_KILLED || is_seccomp_kill(end)
}

/// The condition that shows which external actor terminated the pod: API-initiated eviction, a taint, preemption,
/// garbage collection.
pub(crate) fn disruption<'a>(case: &Case<'a>) -> Option<&'a crate::facts::Condition> {
    case.pod.condition("DisruptionTarget").filter(|c| c.status == "True")
}

/// Whether the termination has a known explanation: it was intended, or the pod itself terminated.
fn is_explained(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let pod = case.pod;
    // Evicted, shut down, preempted, past its deadline: the pod's reason is the cause.
    if pod.phase == Phase::Failed && (!pod.reason.is_empty() || disruption(case).is_some()) {
        return true;
    }
    // `deletionTimestamp` is the time of the request plus the grace period.
    let requested = pod.deletion.map(|at| after(at, -pod.termination_grace_seconds - SLACK));
    if requested.is_some_and(|at| end.finished_at.is_none_or(|finished| finished >= at)) {
        return true;
    }
    if container.kind == ContainerType::Sidecar {
        let mut apps = pod.of_type(ContainerType::App).peekable();
        let apps_over = apps.peek().is_some() && apps.all(|app| matches!(app.state, State::Terminated(_)));
        if pod.is_over() || apps_over {
            return true;
        }
    }
    let is_intended = |event: &EventFacts| {
        INTENDED.iter().any(|words| text::has(&event.message, &[words]))
            || text::has(&event.message, &[FAILED_HOOK]) && hook::ended_by_hook(case, container, end).is_some()
    };
    case.container_events(container, "Killing").any(|event| is_intended(event) && in_run(event, end))
        && stopped_by_probe(case, container, end).is_none()
}

/// Whether an Event may belong to this run. An aggregated Event covers the time from its first to its last occurrence.
pub(crate) fn in_run(event: &EventFacts, run: &Terminated) -> bool {
    let first = event.first.or(event.last);
    let last = event.last.or(event.first);
    let begun = run.started_at.is_none_or(|start| last.is_none_or(|at| at >= after(start, -SLACK)));
    let not_over = run.finished_at.is_none_or(|finish| first.is_none_or(|at| at <= after(finish, SLACK)));
    begun && not_over
}

/// A run that a probe terminated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kill<'a> {
    pub(crate) probe: ProbeKind,
    pub(crate) proof: Proof<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof<'a> {
    /// The kubelet reported it.
    Event(&'a EventFacts),
    /// The kubelet reported it for an earlier run that terminated in the same way.
    Inherited,
    /// The kubelet reported it for an earlier run that is not in the history, and this run matches the timing of this
    /// probe. (The kubelet sends 25 Events per pod and then one in 5 minutes, so a crash loop outlives its Events.)
    Earlier(&'a EventFacts),
    /// The kubelet reported it for a run whose termination is not in the status: its container was removed too early.
    Unrecorded(&'a EventFacts),
    /// The probe failed until the termination, which looks like a kill.
    Inferred,
    /// No Event of the pod is known (they expire after 1 hour and may be late), and the duration and exit code match a
    /// kill by this probe: a signal, or exit code 0 of a server that handles SIGTERM. Or the run is part of a loop, and SIGKILL
    /// ended it when the probe may have failed.
    Silent,
}

/// The cause of a kill by this probe.
pub(crate) fn kill_cause(probe: ProbeKind) -> &'static str {
    match probe {
        ProbeKind::Startup => "StartupProbeFailed",
        ProbeKind::Liveness | ProbeKind::Readiness => "LivenessProbeFailed",
    }
}

/// The kill by a probe that terminated this run. Running out of memory takes precedence over the probe.
pub(crate) fn kill<'a>(case: &Case<'a>, container: &Container, end: &Terminated) -> Option<Kill<'a>> {
    if has_known_reason(end) || (case.events.is_empty() && case.ledger.runs.is_empty()) {
        return None;
    }
    let probes = [ProbeKind::Liveness, ProbeKind::Startup];
    let proven = probes.into_iter().find_map(|probe| {
        let event = killings(case, container, probe).find(|event| in_run(event, end))?;
        Some(Kill { probe, proof: Proof::Event(event) })
    });
    proven
        .or_else(|| {
            let (probe, event) = stopped_by_probe(case, container, end)?;
            Some(Kill { probe, proof: Proof::Event(event) })
        })
        .or_else(|| {
            probes.into_iter().find_map(|probe| {
                let event = killings(case, container, probe).next()?;
                let is_alike = ended_within_budget(case, container, end, probe)
                    || probe == ProbeKind::Liveness && ended_after_a_kill(case, container, end);
                is_alike.then_some(Kill { probe, proof: Proof::Earlier(event) })
            })
        })
        .or_else(|| {
            let cause = case.ledger.proven_cause(&container.name, end)?;
            let probe = probes.into_iter().find(|probe| kill_cause(*probe) == cause)?;
            Some(Kill { probe, proof: Proof::Inherited })
        })
        .or_else(|| {
            let probe = probes.into_iter().find(|probe| failed_until_end(case, container, end, *probe))?;
            Some(Kill { probe, proof: Proof::Inferred })
        })
        .or_else(|| {
            let probe = kill_without_events(case, container, end)?;
            Some(Kill { probe, proof: Proof::Silent })
        })
}

/// Whether a container was restarted recently, and the status lacks the termination of the previous run.
pub(crate) fn is_unrecorded(case: &Case<'_>, container: &Container) -> bool {
    let is_late = match &container.state {
        State::Running { started_at } => {
            started_at.is_some_and(|at| case.age(at) <= case.thresholds.recovered_restarting)
        }
        State::Waiting { reason, .. } => reason == "CrashLoopBackOff",
        State::Terminated(_) => false,
    };
    is_late && container.restart_count > 0 && container.last.is_none() && case.pod.deletion.is_none()
}

/// Whether an Event about an unrecorded run is recent.
pub(crate) fn is_recent(case: &Case<'_>, event: &EventFacts) -> bool {
    event.last.is_some_and(|at| case.age(at) <= case.thresholds.recovered_restarting)
}

/// The kill of a run whose termination is not recorded.
pub(crate) fn unrecorded_kill<'a>(case: &Case<'a>, container: &Container) -> Option<Kill<'a>> {
    is_unrecorded(case, container).then_some(())?;
    [ProbeKind::Liveness, ProbeKind::Startup].into_iter().find_map(|probe| {
        let event = killings(case, container, probe).next().filter(|event| is_recent(case, event))?;
        Some(Kill { probe, proof: Proof::Unrecorded(event) })
    })
}

/// Most restarts for which the kubelet has sent an Event of each: it sends 25 Events per pod and then one in 5 minutes.
const EVENTS_LAST: u32 = 4;

/// Whether a Killing Event for this run may be missing: it was dropped, has expired after 1 hour, or is still to come.
pub(crate) fn events_may_be_missing(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    container.restart_count >= EVENTS_LAST || !has_event_since(case, run)
}

/// Whether an Event from this run or later is known. The kubelet sends Events one by one and in order. If the API
/// server does not accept one, the others wait for up to two minutes, and a missing one proves nothing until then.
/// An Event in the second in which the run started may be about the run before it.
fn has_event_since(case: &Case<'_>, run: &Terminated) -> bool {
    case.events.iter().any(|event| event.last.zip(run.started_at).is_none_or(|(at, start)| at > start))
}

/// The probe that may have terminated a run, if no Event of the pod is known, or none from this run or later of the
/// first few.
fn kill_without_events(case: &Case<'_>, container: &Container, end: &Terminated) -> Option<ProbeKind> {
    let is_late = || container.restart_count < EVENTS_LAST && !has_event_since(case, end);
    if !case.events.is_empty() && !is_late() {
        return None;
    }
    // Until the startup probe has passed, the kubelet does not run the liveness probe.
    let as_startup = || ended_at_budget(case, container, end, ProbeKind::Startup).then_some(ProbeKind::Startup);
    let within = |probe: &ProbeKind| ended_within_budget(case, container, end, *probe);
    as_startup()
        .or_else(|| [ProbeKind::Liveness, ProbeKind::Startup].into_iter().find(within))
        .or_else(|| outlived_a_kill(case, container, end).then_some(ProbeKind::Liveness))
}

/// Whether a run lasted exactly as long as this probe allows a run that never passes it. Exit code 137 includes the
/// grace period.
fn ended_at_budget(case: &Case<'_>, container: &Container, end: &Terminated, kind: ProbeKind) -> bool {
    let Some(probe) = container.probe(kind).filter(|_| matches!(end.exit_code, 0 | 137 | 143)) else { return false };
    let kill_takes = if end.exit_code == 137 { grace(case, container, kind) } else { 0 };
    let least = probe.initial_delay + probe.period * (probe.failure_threshold.max(1) - 1) + kill_takes;
    let most = probe.budget() + probe.timeout * probe.failure_threshold.max(1) + kill_takes + SLACK;
    end.ran_for().is_some_and(|ran| (least..=most).contains(&ran))
}

/// Whether runs of a loop pass their liveness probe for a while, and SIGKILL then ends them for a reason other than
/// memory.
fn outlived_a_kill(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let is_short = end.ran_for().is_some_and(|ran| ran < case.thresholds.recovered_restarting);
    is_short && container.limits.memory.is_none() && ended_after_a_kill(case, container, end)
}

/// Whether SIGKILL ended a run of a loop after a liveness probe's SIGTERM was ignored: not before the earliest possible
/// kill plus the grace period.
fn ended_after_a_kill(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let Some(probe) = container.liveness.as_ref() else { return false };
    let earliest = probe.initial_delay
        + probe.period * (probe.failure_threshold.max(1) - 1)
        + grace(case, container, ProbeKind::Liveness);
    let is_killed = end.exit_code == 137 && end.reason == "Error";
    let is_loop = container.restart_count > 1;
    is_killed && is_loop && end.ran_for().is_some_and(|ran| ran >= earliest)
}

/// Seconds from this probe's kill to SIGKILL.
pub(crate) fn grace(case: &Case<'_>, container: &Container, probe: ProbeKind) -> i64 {
    let own = container.probe(probe).and_then(|p| p.termination_grace);
    own.unwrap_or(case.pod.termination_grace_seconds)
}

/// The Killing Event of a probe's kill that does not name the probe. If the pod's only container is killed and not
/// restarted, the kubelet stops the whole pod with an Event `Stopping container`, as for a deletion. Without a
/// deletion, a probe failure close to it shows the cause.
fn stopped_by_probe<'a>(
    case: &Case<'a>,
    container: &Container,
    end: &Terminated,
) -> Option<(ProbeKind, &'a EventFacts)> {
    let never = container.effective_restart_policy(case.pod.restart_policy) == RestartPolicy::Never;
    if !never || case.pod.deletion.is_some() || !case.pod.reason.is_empty() {
        return None;
    }
    let event = case.events_with("Killing").rev().find(|event| {
        is_about(event, &container.name) && text::has(&event.message, &["stopping container"]) && in_run(event, end)
    })?;
    // A busy kubelet delays the kill after the failure. No later Event exonerates the probe.
    const KILL_DELAY: i64 = 10;
    let is_close = |failure: &EventFacts| {
        let apart = failure.last.zip(event.last).map(|(failed, killed)| seconds_between(failed, killed));
        apart.is_some_and(|apart| (-SLACK..=KILL_DELAY).contains(&apart))
    };
    let probe = [ProbeKind::Liveness, ProbeKind::Startup]
        .into_iter()
        .find(|probe| container.probe(*probe).is_some() && unhealthy(case, container, *probe).is_some_and(is_close))?;
    Some((probe, event))
}

/// Killing Events for this container and this probe, latest first.
pub(crate) fn killings<'a>(
    case: &Case<'a>,
    container: &Container,
    probe: ProbeKind,
) -> impl Iterator<Item = &'a EventFacts> {
    let name = container.name.clone();
    case.events_with("Killing").rev().filter(move |e| is_about(e, &name) && reports_kill(&e.message, &name, probe))
}

/// Whether the message reports this probe's kill: `Container web failed liveness probe, will be restarted`, or in old
/// versions `Killing container with id docker://web:Container failed liveness probe.. Container will be killed and
/// recreated.`
fn reports_kill(message: &str, container: &str, probe: ProbeKind) -> bool {
    let (message, container) = (message.to_ascii_lowercase(), container.to_ascii_lowercase());
    let Some((subject, _)) = message.split_once(failed(probe)) else { return false };
    let (subject, before) = match subject.strip_suffix(":container") {
        Some(id) => (id, "://"),
        None => (subject, "container "),
    };
    subject.strip_suffix(&*container).is_some_and(|rest| rest.ends_with(before))
}

const fn failed(probe: ProbeKind) -> &'static str {
    match probe {
        ProbeKind::Startup => " failed startup probe",
        ProbeKind::Liveness => " failed liveness probe",
        ProbeKind::Readiness => " failed readiness probe",
    }
}

fn is_about(event: &EventFacts, container: &str) -> bool {
    event.regarding.container.as_deref().is_none_or(|name| name == container)
}

/// The latest `Unhealthy` Event of a probe. `errored` Events have no result and are excluded.
pub(crate) fn unhealthy<'a>(case: &Case<'a>, container: &Container, probe: ProbeKind) -> Option<&'a EventFacts> {
    let begin = format!("{} probe failed", probe.title());
    case.events_with("Unhealthy").rev().find(|e| is_about(e, &container.name) && e.message.contains(&begin))
}

/// The latest `Unhealthy` Event of a probe that could not be run, such as a command that is not in the image. It has no
/// result, so the container is neither killed nor Ready.
pub(crate) fn errored<'a>(case: &Case<'a>, container: &Container, probe: ProbeKind) -> Option<&'a EventFacts> {
    let begin = format!("{} probe errored", probe.title());
    case.events_with("Unhealthy").rev().find(|e| is_about(e, &container.name) && e.message.contains(&begin))
}

/// Whether a probe kept failing until a run ended as a kill ends it: by SIGTERM or SIGKILL, or with exit code 0 of a
/// process that handles SIGTERM. The process may also exit with 0 by itself, so its run must then have lasted as long as
/// the probe allows.
fn failed_until_end(case: &Case<'_>, container: &Container, end: &Terminated, kind: ProbeKind) -> bool {
    let Some(probe) = container.probe(kind).filter(|_| matches!(end.exit_code, 0 | 137 | 143)) else { return false };
    let Some(event) = unhealthy(case, container, kind).filter(|event| in_run(event, end)) else { return false };
    let (Some(at), Some(finished)) = (event.last, end.finished_at) else { return false };
    let near_end = seconds_between(at, finished) <= grace(case, container, kind) + 2 * probe.period + SLACK;
    let is_signal = end.exit_code != 0;
    let has_failed_often = is_signal && i64::from(event.count) >= probe.failure_threshold.max(1);
    near_end && (ended_within_budget(case, container, end, kind) || has_failed_often)
}

/// Whether the duration and the exit code of a run match a kill by this probe: the signal, or exit code 0.
pub(crate) fn ended_within_budget(case: &Case<'_>, container: &Container, end: &Terminated, kind: ProbeKind) -> bool {
    let Some(probe) = container.probe(kind).filter(|_| matches!(end.exit_code, 0 | 137 | 143)) else { return false };
    let least = probe.initial_delay + probe.period * (probe.failure_threshold.max(1) - 1);
    let most = max_run_seconds(case, container, kind);
    end.ran_for().zip(most).is_some_and(|(ran, most)| (least..=most).contains(&ran))
}

/// The maximum duration in seconds of a run that never passes this probe, including its kill.
pub(crate) fn max_run_seconds(case: &Case<'_>, container: &Container, kind: ProbeKind) -> Option<i64> {
    let probe = container.probe(kind)?;
    Some(
        probe.budget()
            + probe.timeout * probe.failure_threshold.max(1)
            + probe.period
            + grace(case, container, kind)
            + SLACK,
    )
}

/// The verdict on a termination, with the state of its Job: a complete Job is healthy, and one with retries left causes
/// no alert, and for its first failed try not even a warning.
pub(crate) fn judged(case: &Case<'_>, finding: Finding) -> Verdict {
    let finding = match job_state(case) {
        JobState::Complete => return Verdict::No,
        JobState::Retries if is_first_failed_try(case) => finding.noted(),
        JobState::None | JobState::Failed if may_have_recovered(case, &finding) => finding.noted(),
        JobState::Retries | JobState::Unknown => finding.severity(Severity::Warning).quiet(),
        JobState::None | JobState::Failed => finding,
    };
    Verdict::Yes(Box::new(finding))
}

/// The name of the container in a summary.
pub(crate) fn display_name(container: &Container) -> String {
    match container.kind {
        ContainerType::Init => format!("init container {}", container.name),
        ContainerType::Sidecar => format!("sidecar {}", container.name),
        ContainerType::App | ContainerType::Ephemeral => container.name.to_string(),
    }
}
