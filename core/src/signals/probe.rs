//! The signal `probe`.

mod answer;
pub(crate) mod handler;
mod kill;
#[cfg(test)]
mod tests;

use self::answer::{Answer, answer};
use self::handler::{handler_text, port_name, port_number, probe_text};
use self::kill::{Killed, PreStop};
use super::termination::end::{self, Proof};
use super::termination::log_line;
use super::{Matched, PodSignal, Source, signal};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, Finding, Thresholds, Verdict, evidence};
use crate::facts::{
    Container, EventFacts, Port, Probe, ProbeHandler, ProbeKind, State, Terminated, Timestamp, after, format_cpu,
    seconds_between,
};
use crate::message::text;

pub const STARTUP: &str = "StartupProbeFailed";

/// Seconds of a start budget that is too short for many programs.
const SHORT_BUDGET: i64 = 30;

/// Seconds of being Ready that prove that a container has passed its probe.
const SERVED_FOR: i64 = 120;

signal! {
    /// A probe of a container that failed: the kubelet killed the container for it (liveness, startup), or the container does
    /// not count as started or ready. Source: Events Killing and Unhealthy, containerStatuses[], the probes of the spec.
    pub(crate) struct ProbeFailure<'a> as "probe" {
        case: &'a Case<'a>,
        container: &'a Container,
        kind: ProbeKind,
        outcome: Outcome<'a>,
        unhealthy: Option<&'a EventFacts>,
        answer: Option<Answer>,
    }
    reason: |of| of.unhealthy.map_or("", |event| &event.reason), message: of.unhealthy.map_or("", |event| &event.message);

    /// Which probe: `startup`, `liveness` or `readiness`.
    "name": fn name(&self) -> &'static str { self.kind.lower() }

    /// What follows: `killed`, `beingKilled` (in its grace period), `notStarted`, `neverStarts` (the probe cannot be run, so
    /// it has no result) or `notReady`. Source: Events Killing, containerStatuses[].
    "outcome": fn outcome(&self) -> &'static str {
        match &self.outcome {
            Outcome::Killed(killed) if killed.goes_on() => "beingKilled",
            Outcome::Killed(_) => "killed",
            Outcome::NotStarted { has_result: true } => "notStarted",
            Outcome::NotStarted { has_result: false } => "neverStarts",
            Outcome::NotReady { .. } => "notReady",
        }
    }

    /// What shows that the probe ended the run: `event`, a Killing Event; `earlier` or `inherited`, such an Event of an earlier
    /// run that ended in the same way; `unrecorded`, an Event of a run whose end the status does not hold; `inferred`, the probe
    /// failed until the end; `silent`, only the length of the run. Empty if nothing was killed.
    "proof": fn proof(&self) -> &'static str { self.killed().map_or("", Killed::proof) }

    /// Whether the run ended with exit code 0 and is not started again. Source: state.terminated, restartPolicy.
    "recordedAsSuccess": fn recorded_as_success(&self) -> bool {
        self.killed().is_some_and(|killed| killed.is_recorded_as_success(self.case, self.container))
    }

    /// When the kill comes, such as `30 s after each start`; empty if that is not known.
    /// Source: Event Killing; state, lastState, earlier runs.
    "rhythm": fn rhythm(&self) -> String {
        self.killed().and_then(|killed| killed.rhythm(self.case, self.container)).unwrap_or_default()
    }

    /// Exit code of the run that was ended. Source: lastState.terminated.exitCode.
    "exitCode": fn exit_code(&self) -> Option<i32> { Some(self.run()?.exit_code) }

    /// Error that the killed run logged, at most 90 characters; empty if it logged none. Source: lastState.terminated.message;
    /// the log, where the operator may read it.
    "loggedError": fn logged_error(&self) -> String {
        let line = self.run().and_then(|run| log_line::stated_error(self.case, self.container, run));
        line.map_or_else(String::new, |line| log_line::shown(&line.text, 90))
    }

    /// Number of earlier runs of the container that were OOMKilled. Source: lastState, earlier runs.
    "outOfMemoryRuns": fn out_of_memory_runs(&self) -> i64 {
        let runs = self.killed().map_or(0, |killed| killed.out_of_memory_runs(self.case, self.container));
        i64::try_from(runs).unwrap_or(i64::MAX)
    }

    /// Seconds from the kill to SIGKILL. Source: terminationGracePeriodSeconds of the probe, else of the pod.
    "graceSeconds": fn grace_seconds(&self) -> i64 { end::grace(self.case, self.container, self.kind) }

    /// Result of the preStop hook at the kill: `failed`, or `cutOff` at the end of the grace period; empty if it did not
    /// fail. Source: Event FailedPreStopHook.
    "preStopHook": fn pre_stop_hook(&self) -> &'static str {
        match self.killed().and_then(|killed| killed.pre_stop(self.case, self.container)) {
            None => "",
            Some(PreStop::Failed) => "failed",
            Some(PreStop::CutOff) => "cutOff",
        }
    }

    /// Whether the run did not end on SIGTERM but with 137 after its grace period.
    /// Source: Event Killing; lastState.terminated.
    "ignoresSigterm": fn ignores_sigterm(&self) -> bool {
        self.killed().is_some_and(|killed| killed.ignored_sigterm(self.case, self.container))
    }

    /// Whether the container has a memory limit. Source: resources.limits.memory.
    "hasMemoryLimit": fn has_memory_limit(&self) -> bool { self.container.limits.memory.is_some() }

    /// Whether the readiness probe of a killed container fails too: `sameAnswer`, `otherAnswer`, or empty.
    /// Source: Event Unhealthy.
    "readiness": fn readiness(&self) -> &'static str {
        let event = end::unhealthy(self.case, self.container, ProbeKind::Readiness);
        let event = event.filter(|_| self.kind == ProbeKind::Liveness && !self.container.ready);
        let handler = self.container.probe(ProbeKind::Readiness).map(|probe| &probe.handler);
        match (event.map(|event| answer(&event.message, handler)), &self.answer) {
            (None, _) => "",
            (Some(other), Some(own)) if own.same_kind(&other) => "sameAnswer",
            _ => "otherAnswer",
        }
    }

    /// What the probe asks and gets, such as `tcp 6379: connection refused`. Source: the probe; Event Unhealthy.
    "check": fn check(&self) -> String {
        let language = self.case.language();
        let asked = self.spec().map(|probe| probe_text(language, self.container, probe)).filter(|text| !text.is_empty());
        let got = self.answer.as_ref().map(|answer| answer.describe(language, self.timeout_seconds()));
        asked.into_iter().chain(got).collect::<Vec<_>>().join(": ")
    }

    /// What the probe asks, such as `http :8080/healthz` or `exec cat /tmp/ok`. Source: the probe.
    "target": fn target(&self) -> String {
        self.spec().map_or_else(String::new, |probe| handler_text(self.case.language(), self.container, &probe.handler))
    }

    /// `httpGet`, `tcpSocket`, `grpc` or `exec`; empty if it is not known. Source: the probe.
    "handler": fn handler(&self) -> &'static str {
        match self.spec().map(|probe| &probe.handler) {
            Some(ProbeHandler::Http { .. }) => "httpGet",
            Some(ProbeHandler::Tcp { .. }) => "tcpSocket",
            Some(ProbeHandler::Grpc { .. }) => "grpc",
            Some(ProbeHandler::Exec { .. }) => "exec",
            Some(ProbeHandler::None) | None => "",
        }
    }

    /// Whether Istio's agent asks the container in place of the kubelet. Source: the probe as Istio rewrites it.
    "byIstio": fn by_istio(&self) -> bool { self.spec().is_some_and(|probe| probe.by_istio) }

    /// `host` of the probe, if it is an address of the node itself and not of the pod, such as 127.0.0.1; empty otherwise.
    /// Source: httpGet.host, tcpSocket.host of the probe.
    "loopbackHost": fn loopback_host(&self) -> &str {
        let host = self.spec().and_then(|probe| probe.host.as_deref()).unwrap_or_default();
        let is_loopback = host.starts_with("127.") || matches!(host, "localhost" | "::1" | "[::1]");
        // On the network of the node, a pod is reached there.
        if is_loopback && !self.case.pod.host_network { host } else { "" }
    }

    /// Number of the port that the probe asks, else what it asks. Source: the probe.
    "endpoint": fn endpoint(&self) -> String {
        let port = self.spec().and_then(|probe| port_number(self.container, &probe.handler));
        port.map_or_else(|| self.target(), |port| port.to_string())
    }

    /// The only port that the container declares, if the probe asks another; null otherwise. Source: ports[].containerPort.
    "otherPort": fn other_port(&self) -> Option<i32> {
        let own = self.spec().and_then(|probe| port_number(self.container, &probe.handler));
        match self.container.ports.as_slice() {
            [port] if Some(port.number) != own => Some(port.number),
            _ => None,
        }
    }

    /// The name by which the probe asks for a port and which no port has; empty for any other probe.
    /// Source: the probe; ports[].name.
    "missingPortName": fn missing_port_name(&self) -> String {
        if let Some(Answer::NoSuchPort(name)) = &self.answer {
            return name.clone();
        }
        let name = self.spec().and_then(|probe| port_name(&probe.handler));
        name.filter(|name| self.container.ports.iter().all(|port| port.name != *name)).unwrap_or_default().to_owned()
    }

    /// Name of the container's port whose name is most like the missing one; empty if no port has a name.
    /// Source: ports[].name.
    "namedPort": fn named_port(&self) -> &str { self.similar_port().map_or("", |port| port.name.as_str()) }

    /// Number of that port. Source: ports[].containerPort.
    "namedPortNumber": fn named_port_number(&self) -> Option<i32> {
        Some(self.similar_port()?.number)
    }

    /// What the probe got: `refused`, `timeout`, `status` (HTTP), `serverSpeaksHttps` or `serverSpeaksHttp` (the probe speaks the
    /// other), `redirected`, `grpcUnimplemented`, `grpcNotServing`, `grpcNoAnswer`, `noSuchPort`, `cannotRun` or `other`; empty if it is
    /// not known. Source: Event Unhealthy.
    "answer": fn answer(&self) -> &'static str {
        match &self.answer {
            // The kubelet treats a name without a matching port as a number.
            Some(Answer::CannotRun(_)) if !self.missing_port_name().is_empty() => "noSuchPort",
            answer => answer.as_ref().map_or("", Answer::name),
        }
    }

    /// HTTP status of the answer. Source: Event Unhealthy.
    "status": fn status(&self) -> Option<i64> {
        match self.answer {
            Some(Answer::Status(status)) => Some(status.into()),
            _ => None,
        }
    }

    /// Whether the answer stays the same however long the probe waits: the probe, or what it asks for, is wrong.
    "isPermanent": fn is_permanent(&self) -> bool { self.answer.as_ref().is_some_and(Answer::is_permanent) }

    /// First word of the command of an exec probe. Source: exec.command.
    "program": fn program(&self) -> &str {
        match self.spec().map(|probe| &probe.handler) {
            Some(ProbeHandler::Exec { command }) => command.first().map_or("", String::as_str),
            _ => "",
        }
    }

    /// Source: timeoutSeconds of the probe.
    "timeoutSeconds": fn timeout_seconds(&self) -> Option<i64> { Some(self.spec()?.timeout) }

    /// Source: failureThreshold of the probe.
    "failureThreshold": fn failure_threshold(&self) -> Option<i64> { Some(self.spec()?.failure_threshold) }

    /// Source: initialDelaySeconds of the probe.
    "initialDelaySeconds": fn initial_delay_seconds(&self) -> Option<i64> { Some(self.spec()?.initial_delay) }

    /// Seconds from the start until the probe has failed permanently: initialDelaySeconds + periodSeconds x failureThreshold.
    "budgetSeconds": fn budget_seconds(&self) -> Option<i64> { Some(self.spec()?.budget()) }

    /// The same as text, such as `5 min`.
    "budget": fn budget(&self) -> Option<String> { Some(text::duration(self.spec()?.budget())) }

    /// The CPU limit of the container; empty if it has none. Source: resources.limits.cpu.
    "cpuLimit": fn cpu_limit(&self) -> String { self.container.limits.cpu.map(format_cpu).unwrap_or_default() }

    /// Whether the container runs now. Source: state.running.
    "isRunning": fn is_running(&self) -> bool { self.container.is_running() }

    /// How long the container passed the probe before, such as `2 h`; empty if it may never have passed it.
    /// Source: state, lastState, condition Ready.
    "passedFor": fn passed_for(&self) -> String { self.passed_seconds().map(text::duration).unwrap_or_default() }

    /// Whether nothing listens on a declared port, and the probe ends each run within less than 30 s of its start, before the
    /// program may listen. Source: the probe; lastState.
    "endsShortStart": fn ends_short_start(&self) -> bool {
        let Some(probe) = self.spec() else { return false };
        // If nothing listens yet and each kill comes as early as possible, the program is most likely only slow.
        let most = probe.budget() + self.case.pod.termination_grace_seconds + 5;
        let at_once = self.container.last_end().and_then(Terminated::ran_for).is_some_and(|ran| ran <= most);
        let port = port_number(self.container, &probe.handler);
        let ports = &self.container.ports;
        let is_declared = ports.is_empty() || ports.iter().any(|declared| Some(declared.number) == port);
        let is_refused = matches!(self.answer, Some(Answer::Refused)) && port.is_some() && is_declared;
        probe.budget() < SHORT_BUDGET && is_refused && at_once
    }

    /// Whether the container was Ready before. Source: condition Ready of the pod.
    "wasReady": fn was_ready(&self) -> bool { lost_at(self.case, self.container).is_some() }

    /// Whether another pod with the same template is Ready. Source: the pods of the workload.
    "siblingIsReady": fn sibling_is_ready(&self) -> bool { self.case.surroundings.siblings.same_template_ready > 0 }
}

pub(crate) const SOURCE: Source = Source { definition: &ProbeFailure::DEFINITION, read };

/// The consequence of a failed probe.
#[derive(Debug)]
pub(crate) enum Outcome<'a> {
    Killed(Killed<'a>),
    /// The container is running, and its startup probe has not passed.
    NotStarted {
        /// False if the probe cannot be run.
        has_result: bool,
    },
    NotReady {
        /// When the pod lost Ready, if it had been Ready.
        lost_at: Option<Timestamp>,
    },
}

fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let containers = case.pod.containers.iter().filter(|container| container.kind != ContainerType::Ephemeral);
    let found = containers.flat_map(|container| {
        [kill(case, container).or_else(|| not_started(case, container)), not_ready(case, container)]
    });
    found.flatten().map(|failure| Box::new(failure) as Box<dyn PodSignal<'a> + 'a>).collect()
}

/// The latest probe failure, or else the latest error of running the probe.
fn last_unhealthy<'a>(case: &Case<'a>, container: &Container, kind: ProbeKind) -> Option<&'a EventFacts> {
    end::unhealthy(case, container, kind).or_else(|| end::errored(case, container, kind))
}

fn failure<'a>(
    case: &'a Case<'a>,
    container: &'a Container,
    kind: ProbeKind,
    outcome: Outcome<'a>,
    unhealthy: Option<&'a EventFacts>,
) -> ProbeFailure<'a> {
    let handler = container.probe(kind).map(|probe| &probe.handler);
    let answer = unhealthy.map(|event| answer(&event.message, handler));
    ProbeFailure { case, container, kind, outcome, unhealthy, answer }
}

fn kill<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<ProbeFailure<'a>> {
    let killed = Killed::find(case, container)?;
    let kind = killed.kill.probe;
    Some(failure(case, container, kind, Outcome::Killed(killed), last_unhealthy(case, container, kind)))
}

/// A startup probe that cannot be run, or one that still fails after its Deployment has exceeded its progress deadline.
fn not_started<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<ProbeFailure<'a>> {
    let waits = container.is_running() && container.startup.is_some() && container.started == Some(false);
    if !waits || case.pod.deletion.is_some() || case.pod.is_over() {
        return None;
    }
    let errored = end::errored(case, container, ProbeKind::Startup);
    let failed = || end::unhealthy(case, container, ProbeKind::Startup).filter(|_| case.surroundings.is_given_up);
    let event = errored.or_else(failed)?;
    let outcome = Outcome::NotStarted { has_result: errored.is_none() };
    Some(failure(case, container, ProbeKind::Startup, outcome, Some(event)))
}

/// A running container that does not pass its readiness probe.
fn not_ready<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<ProbeFailure<'a>> {
    let State::Running { started_at } = container.state else { return None };
    if container.readiness.is_none() || container.ready || case.pod.deletion.is_some() || case.pod.is_over() {
        return None;
    }
    // The kubelet runs no readiness probe before the startup probe has passed.
    if container.startup.is_some() && container.started == Some(false) {
        return None;
    }
    let restarting =
        container.last.is_some() && started_at.is_some_and(|at| case.age(at) <= case.thresholds.recovered_restarting);
    if restarting {
        return None;
    }
    let outcome = Outcome::NotReady { lost_at: lost_at(case, container) };
    let unhealthy = last_unhealthy(case, container, ProbeKind::Readiness);
    Some(failure(case, container, ProbeKind::Readiness, outcome, unhealthy))
}

/// When the pod lost Ready, if that was after the container had started.
fn lost_at(case: &Case<'_>, container: &Container) -> Option<Timestamp> {
    let State::Running { started_at: Some(started) } = container.state else { return None };
    let ready = case.pod.condition("Ready").filter(|condition| condition.status == "False")?;
    ready.last_transition.filter(|at| *at > after(started, 1))
}

impl<'a> PodSignal<'a> for ProbeFailure<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        match &self.outcome {
            // The Killing Event may still arrive.
            Outcome::Killed(killed) if matches!(killed.kill.proof, Proof::Inferred | Proof::Silent) => {
                self.case.events_settled()
            }
            Outcome::Killed(_) => Ok(()),
            Outcome::NotStarted { .. } => {
                let usual = self.case.never_ready(cause.name) + self.spec().map_or(0, Probe::budget);
                self.is_past(self.started_at(), self.case.grace(cause.name, usual))
            }
            Outcome::NotReady { lost_at } => self.not_ready_due(cause, *lost_at),
        }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let unhealthy = self.unhealthy.map(evidence::event);
        let status = self.container.status_path();
        match &self.outcome {
            Outcome::Killed(killed) => {
                let mut evidence = killed.evidence_of_kill(self.container);
                evidence.extend(unhealthy);
                evidence.extend(killed.evidence_of_end(self.case, self.container));
                evidence.extend(self.evidence_of_spec());
                evidence
            }
            Outcome::NotStarted { .. } => {
                unhealthy.into_iter().chain([evidence::field(format!("{status}.started"), "false")]).collect()
            }
            Outcome::NotReady { .. } => unhealthy
                .into_iter()
                .chain([
                    evidence::field(format!("{status}.ready"), "false"),
                    evidence::field_at(format!("{status}.state.running.startedAt"), "running", self.started_at()),
                ])
                .chain(self.case.pod.condition("ContainersReady").map(evidence::condition))
                .collect(),
        }
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        match &self.outcome {
            Outcome::Killed(killed) => {
                let finding = if killed.goes_on() { finding.goes_on() } else { finding };
                let is_proven = !matches!(killed.kill.proof, Proof::Inferred | Proof::Silent);
                let finding = if is_proven { finding.proven() } else { finding };
                // A Job counts exit code 0 as success, although the probe interrupted the work.
                if killed.run.is_some_and(|run| run.exit_code == 0) {
                    return Verdict::Yes(Box::new(finding));
                }
                end::judged(self.case, finding)
            }
            Outcome::NotStarted { .. } => Verdict::Yes(Box::new(finding.goes_on())),
            Outcome::NotReady { .. } => Verdict::Yes(Box::new(finding)),
        }
    }
}

impl<'a> ProbeFailure<'a> {
    fn similar_port(&self) -> Option<&Port> {
        let missing = self.missing_port_name();
        let named = self.container.ports.iter().filter(|port| !port.name.is_empty());
        named.min_by_key(|port| strsim::osa_distance(&missing, &port.name))
    }

    fn spec(&self) -> Option<&'a Probe> {
        self.container.probe(self.kind)
    }

    fn killed(&self) -> Option<&Killed<'a>> {
        match &self.outcome {
            Outcome::Killed(killed) => Some(killed),
            Outcome::NotStarted { .. } | Outcome::NotReady { .. } => None,
        }
    }

    fn run(&self) -> Option<&'a Terminated> {
        self.killed()?.run
    }

    fn started_at(&self) -> Option<Timestamp> {
        match self.container.state {
            State::Running { started_at } => started_at,
            State::Waiting { .. } | State::Terminated(_) => None,
        }
    }

    fn is_past(&self, since: Option<Timestamp>, seconds: i64) -> Result<(), Timestamp> {
        super::lasting::has_been(self.case, self.case.held_since(since), seconds)
    }

    fn not_ready_due(&self, cause: &Matched, lost_at: Option<Timestamp>) -> Result<(), Timestamp> {
        let (case, thresholds) = (self.case, self.case.thresholds);
        let Some(probe) = self.spec() else { return Ok(()) };
        let due = if lost_at.is_some() {
            self.is_past(lost_at, thresholds.of(cause.name, cause.threshold))
        } else {
            let startup = self.container.startup.as_deref().map_or(0, Probe::budget);
            let budget = startup + probe.initial_delay + probe.period * probe.success_threshold.max(1);
            self.is_past(self.started_at(), case.never_ready(cause.name) + budget)
        };
        // A snapshot never shows more, so its data is enough. But a threshold that the user chose still applies.
        let is_set = case.surroundings.overrides.never_ready.is_some()
            || thresholds.never_ready != Thresholds::default().never_ready;
        let is_chosen = lost_at.is_none() && is_set || thresholds.chosen(cause.name).is_some();
        if !thresholds.patient && !is_chosen && self.has_failed_often(probe) { Ok(()) } else { due }
    }

    /// Whether the probe has failed too often for a pod that is just starting: beyond its threshold if the probe itself
    /// is wrong, or many times within 2 minutes.
    fn has_failed_often(&self, probe: &Probe) -> bool {
        const OFTEN: u32 = 10;
        const LONG: i64 = 120;
        let Some((event, answer)) = self.unhealthy.zip(self.answer.as_ref()) else { return false };
        let threshold = u32::try_from(probe.failure_threshold).unwrap_or(u32::MAX);
        let seen = event.first.zip(event.last).map_or(0, |(first, last)| seconds_between(first, last));
        // An Event of the API events.k8s.io, or one that was merged, may lack the time of the first failure.
        let span = seen.max(i64::from(event.count.saturating_sub(1)) * probe.period);
        (answer.is_about_the_probe() && event.count > threshold) || (event.count >= OFTEN && span >= LONG)
    }

    /// For how many seconds the container passed the probe, if that is much longer than a run that never passes it.
    fn passed_seconds(&self) -> Option<i64> {
        if let Outcome::NotReady { lost_at } = self.outcome {
            return Some(seconds_between(self.started_at()?, lost_at?)).filter(|ran| *ran >= SERVED_FOR);
        }
        let goes_on = self.killed().is_none_or(Killed::goes_on);
        let (started, ran) = match self.container.state {
            State::Running { started_at } if goes_on => (started_at, self.case.age(started_at?)),
            _ => {
                let run = self.container.last_end()?;
                (run.started_at, run.ran_for()?)
            }
        };
        // A busy kubelet kills late: the first failure of the run counts.
        let first = self.unhealthy.and_then(|event| event.first).zip(started).filter(|(first, start)| first >= start);
        let passed = first.map_or(ran, |(first, start)| seconds_between(start, first));
        let startup = self.container.startup.as_deref().map_or(0, Probe::budget);
        let longest = end::max_run_seconds(self.case, self.container, self.kind)? + startup;
        (passed > 2 * longest).then_some(passed)
    }

    /// The probe in the pod's spec.
    fn evidence_of_spec(&self) -> Option<Evidence> {
        let probe = self.spec()?;
        Some(evidence::field(
            format!("{}.{}", self.container.spec_path(), self.kind.field()),
            format!(
                "{}, initialDelaySeconds {}, periodSeconds {}, timeoutSeconds {}, failureThreshold {}",
                probe_text(self.case.language(), self.container, probe),
                probe.initial_delay,
                probe.period,
                probe.timeout,
                probe.failure_threshold
            ),
        ))
    }
}
