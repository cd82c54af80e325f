//! Which end of a container's run counts as a failure, shared by the families that judge ends.

use super::hook;
use crate::api::{ContainerType, Severity};
use crate::diagnosis::ownership::{JobState, is_first_failed_try, job_state};
use crate::diagnosis::{Case, Finding, Verdict, text};
use crate::facts::{Container, EventFacts, Phase, ProbeKind, RestartPolicy, State, Terminated, after, seconds_between};

/// What clocks and whole seconds may differ by between an Event and the status of the same kubelet.
pub(crate) const SLACK: i64 = 2;

/// Killing Events that explain an end as intended.
const INTENDED: [&str; 3] = ["definition changed", "resize requires restart", "stopping container"];
/// The same where the hook failed; it says so too of a hook that only fell with the run.
const FOR_ITS_HOOK: &str = "failedpoststarthook";

/// Reasons of an ended run that other rules own: it never ran, or all containers were restarted on purpose.
const NOT_A_CRASH: [&str; 3] = ["StartError", "ContainerCannotRun", "RestartingAllContainers"];

/// The end of a container's run that still matters now: its present state, or the last run of one that is waiting to be
/// restarted or has not yet run long enough again.
pub(crate) fn counted<'c>(case: &Case<'_>, container: &'c Container) -> Option<&'c Terminated> {
    let patience = case.thresholds.recovered_restarting;
    let end = match &container.state {
        State::Terminated(end) => Some(end),
        State::Running { started_at } => {
            container.last.as_ref().filter(|_| started_at.is_some_and(|at| case.age(at) <= patience))
        }
        State::Waiting { reason, .. } => match reason.as_str() {
            "CrashLoopBackOff" => container.last.as_ref(),
            "" | "ContainerCreating" | "PodInitializing" | "RestartingAllContainers" => {
                container.last.as_ref().filter(|end| end.finished_at.is_some_and(|at| case.age(at) <= patience))
            }
            hook::HOOK_KILL if hook::ended_before_hook(container) => container.last.as_ref(),
            // Whatever it waits for now is the trouble, not how an earlier run ended.
            _ => None,
        },
    };
    end.filter(|end| !NOT_A_CRASH.contains(&&*end.reason) && !is_excused(case, container, end))
}

/// The end of a run that is a failure by itself: an exit code other than 0, memory, or an end where none was wanted.
/// Ends by a probe's hand are not here: the probe's rules own them.
pub(crate) fn crash<'c>(case: &Case<'_>, container: &'c Container) -> Option<&'c Terminated> {
    let end = counted(case, container)?;
    let failed = end.exit_code != 0
        || end.reason == OOM_KILLED
        || (container.kind != ContainerType::Init
            && container.effective_restart_policy(case.pod.restart_policy) == RestartPolicy::Always
            && !case.pod.is_over());
    (failed && !is_past(case, container, end) && kill(case, container, end).is_none()).then_some(end)
}

/// For how many seconds a run must go on, beyond twice the time of the run before, to be another kind of run.
const OUTLIVED: i64 = 5;

/// Whether a snapshot shows a container that is well again after one bad end: how long ago that was it cannot say, since
/// nothing in it may be newer than the start that followed. A loop, or memory that ran out, is another matter; but a loop
/// ends with a run that is ready and has long outlived the one before.
fn is_past(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    // An init container is never ready: that it runs again is all that can be said of it.
    let is_init = container.kind == ContainerType::Init;
    let is_well = container.is_running() && (is_init || (container.ready && case.pod.is_ready()));
    let resets = case.thresholds.recovered_restarting;
    let runs = match container.state {
        State::Running { started_at } => started_at.map_or(0, |at| case.age(at)),
        State::Waiting { .. } | State::Terminated(_) => 0,
    };
    let is_alike = |ran: i64| ran < resets && runs <= 2 * ran + OUTLIVED;
    let is_loop = container.restart_count > 1 && end.ran_for().is_none_or(is_alike);
    !case.thresholds.patient && is_well && !is_loop && end.reason != OOM_KILLED
}

/// Whether a snapshot that knows nothing newer than a container's last start shows it Ready, after a failure that need not
/// be one of a loop: one or two ends in the pod's first minutes, as of a program that does not wait for what it needs, or
/// memory that ran out once in a long run. Whether it fails again such a snapshot cannot say.
fn is_perhaps_over(case: &Case<'_>, finding: &Finding) -> bool {
    const FEW: u32 = 2;
    const FIRST_MINUTES: i64 = 300;
    let container = finding.container.as_deref().and_then(|name| case.pod.container(name));
    let Some((container, end)) = container.and_then(|c| Some((c, c.last.as_ref()?))) else { return false };
    let State::Running { started_at: Some(started) } = container.state else { return false };
    let is_newest = !case.thresholds.patient && case.age(started) <= SLACK;
    let is_well = container.ready && case.pod.is_ready() && container.restart_count <= FEW;
    let is_early = || case.pod.created.is_some_and(|made| seconds_between(made, started) <= FIRST_MINUTES);
    let is_once =
        || container.restart_count == 1 && end.ran_for().is_some_and(|ran| ran >= case.thresholds.recovered_restarting);
    is_newest && is_well && if end.reason == OOM_KILLED { is_once() } else { is_early() }
}

/// Like [`crash`], but only once the Events that might explain the end have had time to come.
pub(crate) fn settled_crash<'c>(case: &Case<'_>, container: &'c Container) -> Result<Option<&'c Terminated>, Verdict> {
    let Some(end) = crash(case, container) else { return Ok(None) };
    let may_be_killed =
        matches!(end.exit_code, 0 | 137 | 143) || container.liveness.is_some() || container.startup.is_some();
    if may_be_killed && !says_why(end) {
        let settled =
            if looks_killed(case, container, end) { case.expected_events_settled() } else { case.events_settled() };
        settled.map_err(Verdict::NotBefore)?;
    }
    Ok(Some(end))
}

/// Whether a run ended as one that a probe ends, and nobody has told yet how runs of this container end.
fn looks_killed(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let mut told = case.ledger.runs.iter().filter(|run| run.container == container.name && run.cause.is_some());
    told.next().is_none()
        && [ProbeKind::Liveness, ProbeKind::Startup]
            .into_iter()
            .any(|kind| ended_within_budget(case, container, end, kind))
}

/// Whether the pod has failed because this container is not started again. Where it would have been, it was its deletion that
/// ended the pod.
pub(crate) fn has_ended_its_pod(case: &Case<'_>, container: &Container) -> bool {
    let pod = case.pod;
    let is_restarted = container.effective_restart_policy(pod.restart_policy) != RestartPolicy::Never;
    pod.has_failed() && !(pod.deletion.is_some() && is_restarted)
}

pub(crate) const OOM_KILLED: &str = "OOMKilled";

/// Whether the runtime puts the end of a run down to seccomp.
pub(crate) fn is_seccomps(run: &Terminated) -> bool {
    run.reason.eq_ignore_ascii_case("seccomp killed")
}

/// Whether neither the runtime nor the kubelet saw how the run ended.
pub(crate) fn is_lost(run: &Terminated) -> bool {
    matches!(run.reason.as_str(), "Unknown" | "ContainerStatusUnknown")
}

/// Whether the runtime itself tells what ended the run, so that no Event is needed to explain it.
fn says_why(end: &Terminated) -> bool {
    end.reason == OOM_KILLED || is_seccomps(end)
}

/// Who ended the pod from outside, by its own condition: the API's eviction, a taint, preemption, garbage collection.
pub(crate) fn disruption<'a>(case: &Case<'a>) -> Option<&'a crate::facts::Condition> {
    case.pod.condition("DisruptionTarget").filter(|c| c.status == "True")
}

/// Whether something that is known explains the end: it was wanted, or it is the pod's own end.
fn is_excused(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let pod = case.pod;
    // Evicted, shut down, preempted, past its deadline: the pod's reason is the cause.
    if pod.phase == Phase::Failed && (!pod.reason.is_empty() || disruption(case).is_some()) {
        return true;
    }
    // `deletionTimestamp` is the request plus the grace period.
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
    let is_meant = |event: &EventFacts| {
        INTENDED.iter().any(|words| text::has(&event.message, &[words]))
            || text::has(&event.message, &[FOR_ITS_HOOK]) && hook::ended_by_hook(case, container, end).is_some()
    };
    case.container_events(container, "Killing").any(|event| is_meant(event) && in_run(event, end))
        && stopped_by_probe(case, container, end).is_none()
}

/// Whether an Event may belong to this run. Folded repeats stand for all the time between the first and the last.
pub(crate) fn in_run(event: &EventFacts, run: &Terminated) -> bool {
    let first = event.first.or(event.last);
    let last = event.last.or(event.first);
    let begun = run.started_at.is_none_or(|start| last.is_none_or(|at| at >= after(start, -SLACK)));
    let not_over = run.finished_at.is_none_or(|finish| first.is_none_or(|at| at <= after(finish, SLACK)));
    begun && not_over
}

/// A run that a probe ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kill<'a> {
    pub(crate) probe: ProbeKind,
    pub(crate) proof: Proof<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof<'a> {
    /// The kubelet said so.
    Event(&'a EventFacts),
    /// It said so of an earlier run that ended alike.
    Inherited,
    /// It said so of an earlier run that nobody remembers, and this one ended as this probe ends runs. (The kubelet sends
    /// 25 Events a pod and then one in 5 min: a loop outlives its Events.)
    Earlier(&'a EventFacts),
    /// It said so of a run whose end the status does not hold: its container was cleared away before the kubelet looked.
    Unrecorded(&'a EventFacts),
    /// The probe failed until the end, and the end looks like a kill.
    Inferred,
    /// No Event of the pod is known at all (they live for an hour); the run took as long and ended as this probe ends runs:
    /// by a signal, or in peace, as servers do that heed SIGTERM. Or it is one of a loop, and ended by SIGKILL when the
    /// probe may have failed.
    Silent,
}

/// The causes of kills by a probe.
pub(crate) fn kill_cause(probe: ProbeKind) -> &'static str {
    match probe {
        ProbeKind::Startup => "StartupProbeFailed",
        ProbeKind::Liveness | ProbeKind::Readiness => "LivenessProbeFailed",
    }
}

/// Whether a probe ended this run. A run that ran out of memory is told as such, whatever its probe saw.
pub(crate) fn kill<'a>(case: &Case<'a>, container: &Container, end: &Terminated) -> Option<Kill<'a>> {
    if says_why(end) || (case.events.is_empty() && case.ledger.runs.is_empty()) {
        return None;
    }
    let probes = [ProbeKind::Liveness, ProbeKind::Startup];
    let said = probes.into_iter().find_map(|probe| {
        let event = killings(case, container, probe).find(|event| in_run(event, end))?;
        Some(Kill { probe, proof: Proof::Event(event) })
    });
    said.or_else(|| {
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
        let probe = killed_in_silence(case, container, end)?;
        Some(Kill { probe, proof: Proof::Silent })
    })
}

/// Whether a container was restarted lately, and the status does not hold how the run before ended.
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

/// Whether an Event about a run that is not recorded is of late.
pub(crate) fn is_of_late(case: &Case<'_>, event: &EventFacts) -> bool {
    event.last.is_some_and(|at| case.age(at) <= case.thresholds.recovered_restarting)
}

/// The kill of a run whose end is not recorded.
pub(crate) fn unrecorded_kill<'a>(case: &Case<'a>, container: &Container) -> Option<Kill<'a>> {
    is_unrecorded(case, container).then_some(())?;
    [ProbeKind::Liveness, ProbeKind::Startup].into_iter().find_map(|probe| {
        let event = killings(case, container, probe).next().filter(|event| is_of_late(case, event))?;
        Some(Kill { probe, proof: Proof::Unrecorded(event) })
    })
}

/// The probe that may have ended a run, where no Event of the pod is known at all.
fn killed_in_silence(case: &Case<'_>, container: &Container, end: &Terminated) -> Option<ProbeKind> {
    if !case.events.is_empty() {
        return None;
    }
    // Until the startup probe has passed, the liveness probe is not asked.
    let as_startup = || ended_at_budget(case, container, end, ProbeKind::Startup).then_some(ProbeKind::Startup);
    let within = |probe: &ProbeKind| ended_within_budget(case, container, end, *probe);
    as_startup()
        .or_else(|| [ProbeKind::Liveness, ProbeKind::Startup].into_iter().find(within))
        .or_else(|| outlived_a_kill(case, container, end).then_some(ProbeKind::Liveness))
}

/// Whether a run was as long as this probe's patience with one that never passes it, and not only about as long; 137 comes
/// when the grace period is over.
fn ended_at_budget(case: &Case<'_>, container: &Container, end: &Terminated, kind: ProbeKind) -> bool {
    let Some(probe) = container.probe(kind).filter(|_| matches!(end.exit_code, 0 | 137 | 143)) else { return false };
    let kill_takes = if end.exit_code == 137 { grace(case, container, kind) } else { 0 };
    let least = probe.initial_delay + probe.period * (probe.failure_threshold.max(1) - 1) + kill_takes;
    let most = probe.budget() + probe.timeout * probe.failure_threshold.max(1) + kill_takes + SLACK;
    end.ran_for().is_some_and(|ran| (least..=most).contains(&ran))
}

/// Whether runs of a loop pass their liveness probe for a while, and then end by a SIGKILL that is not put down to memory.
fn outlived_a_kill(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let is_short = end.ran_for().is_some_and(|ran| ran < case.thresholds.recovered_restarting);
    is_short && container.limits.memory.is_none() && ended_after_a_kill(case, container, end)
}

/// Whether a run of a loop ended by SIGKILL as what follows a liveness probe's SIGTERM that nobody heeds: not before the
/// earliest kill and the grace period.
fn ended_after_a_kill(case: &Case<'_>, container: &Container, end: &Terminated) -> bool {
    let Some(probe) = container.liveness.as_ref() else { return false };
    let earliest = probe.initial_delay
        + probe.period * (probe.failure_threshold.max(1) - 1)
        + grace(case, container, ProbeKind::Liveness);
    let is_killed = end.exit_code == 137 && end.reason == "Error";
    let is_loop = container.restart_count > 1;
    is_killed && is_loop && end.ran_for().is_some_and(|ran| ran >= earliest)
}

/// What a container has from this probe's kill to SIGKILL, in seconds.
pub(crate) fn grace(case: &Case<'_>, container: &Container, probe: ProbeKind) -> i64 {
    let own = container.probe(probe).and_then(|p| p.termination_grace);
    own.unwrap_or(case.pod.termination_grace_seconds)
}

/// The Killing Event of a probe's kill that does not name the probe. Where a pod's only container is killed and is not
/// restarted, the kubelet stops the whole pod, and its Event reads `Stopping container`: as for a deletion, but nobody
/// deleted it, and the last failure of the probe comes with it.
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
    // A busy kubelet takes a while from the failure to the kill; no later one clears the probe.
    const BUSY: i64 = 10;
    let with_it = |failure: &EventFacts| {
        let apart = failure.last.zip(event.last).map(|(failed, killed)| seconds_between(failed, killed));
        apart.is_some_and(|apart| (-SLACK..=BUSY).contains(&apart))
    };
    let probe = [ProbeKind::Liveness, ProbeKind::Startup]
        .into_iter()
        .find(|probe| container.probe(*probe).is_some() && unhealthy(case, container, *probe).is_some_and(with_it))?;
    Some((probe, event))
}

/// Killing Events that name this container and this probe, latest first.
pub(crate) fn killings<'a>(
    case: &Case<'a>,
    container: &Container,
    probe: ProbeKind,
) -> impl Iterator<Item = &'a EventFacts> {
    let name = container.name.clone();
    case.events_with("Killing").rev().filter(move |e| is_about(e, &name) && tells_of_kill(&e.message, &name, probe))
}

/// `Container web failed liveness probe, will be restarted`; of old `Killing container with id docker://web:Container failed
/// liveness probe.. Container will be killed and recreated.`
fn tells_of_kill(message: &str, container: &str, probe: ProbeKind) -> bool {
    let (message, container) = (message.to_ascii_lowercase(), container.to_ascii_lowercase());
    let Some((told_of, _)) = message.split_once(failed(probe)) else { return false };
    let (told_of, before) = match told_of.strip_suffix(":container") {
        Some(id) => (id, "://"),
        None => (told_of, "container "),
    };
    told_of.strip_suffix(&*container).is_some_and(|rest| rest.ends_with(before))
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

/// The latest `Unhealthy` Event of a probe. `errored` ones have no result and are none.
pub(crate) fn unhealthy<'a>(case: &Case<'a>, container: &Container, probe: ProbeKind) -> Option<&'a EventFacts> {
    let begin = format!("{} probe failed", probe.title());
    case.events_with("Unhealthy").rev().find(|e| is_about(e, &container.name) && e.message.contains(&begin))
}

/// The latest `Unhealthy` Event of a probe that could not even be run, such as a command that is not in the image: it has
/// no result, so the container is neither killed nor ever ready for it.
pub(crate) fn errored<'a>(case: &Case<'a>, container: &Container, probe: ProbeKind) -> Option<&'a EventFacts> {
    let begin = format!("{} probe errored", probe.title());
    case.events_with("Unhealthy").rev().find(|e| is_about(e, &container.name) && e.message.contains(&begin))
}

/// Whether a probe went on failing until a run was ended by SIGTERM or SIGKILL.
fn failed_until_end(case: &Case<'_>, container: &Container, end: &Terminated, kind: ProbeKind) -> bool {
    let Some(probe) = container.probe(kind).filter(|_| matches!(end.exit_code, 137 | 143)) else { return false };
    let Some(event) = unhealthy(case, container, kind).filter(|event| in_run(event, end)) else { return false };
    let (Some(at), Some(finished)) = (event.last, end.finished_at) else { return false };
    let near_end = seconds_between(at, finished) <= grace(case, container, kind) + 2 * probe.period + SLACK;
    let tries = probe.failure_threshold.max(1);
    near_end && (ended_within_budget(case, container, end, kind) || i64::from(event.count) >= tries)
}

/// Whether a run was as long as one that this probe ends, and ended as a kill can end it: by the signal, or in peace.
pub(crate) fn ended_within_budget(case: &Case<'_>, container: &Container, end: &Terminated, kind: ProbeKind) -> bool {
    let Some(probe) = container.probe(kind).filter(|_| matches!(end.exit_code, 0 | 137 | 143)) else { return false };
    let least = probe.initial_delay + probe.period * (probe.failure_threshold.max(1) - 1);
    let most = patience(case, container, kind);
    end.ran_for().zip(most).is_some_and(|(ran, most)| (least..=most).contains(&ran))
}

/// The seconds that a run takes at most which never passes this probe, with the end that it is given.
pub(crate) fn patience(case: &Case<'_>, container: &Container, kind: ProbeKind) -> Option<i64> {
    let probe = container.probe(kind)?;
    Some(
        probe.budget()
            + probe.timeout * probe.failure_threshold.max(1)
            + probe.period
            + grace(case, container, kind)
            + SLACK,
    )
}

/// The verdict on an end of a run, with what its Job makes of it: a Job that is complete is well, and one with retries left
/// is no alarm, at its first failed try not even a warning.
pub(crate) fn judged(case: &Case<'_>, finding: Finding) -> Verdict {
    let finding = match job_state(case) {
        JobState::Complete => return Verdict::No,
        JobState::Retries if is_first_failed_try(case) => finding.noted(),
        JobState::None | JobState::Failed if is_perhaps_over(case, &finding) => finding.noted(),
        JobState::Retries | JobState::Unknown => finding.severity(Severity::Warning).quiet(),
        JobState::None | JobState::Failed => finding,
    };
    Verdict::Yes(Box::new(finding))
}

/// The container as a summary names it.
pub(crate) fn who(container: &Container) -> String {
    match container.kind {
        ContainerType::Init => format!("init container {}", container.name),
        ContainerType::Sidecar => format!("sidecar {}", container.name),
        ContainerType::App | ContainerType::Ephemeral => container.name.to_string(),
    }
}
