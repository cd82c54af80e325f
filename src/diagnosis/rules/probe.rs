//! Probes: kills by liveness and startup probes, and readiness that never comes or is lost.
//!
//! A kill shows only in a Normal `Killing` Event; the status never names the probe, and the exit code says nothing:
//! 0, 137, 143 and the process's own codes all occur.

mod starting;
mod words;

use self::words::{Trouble, handler_text, handler_yaml, trouble};
use crate::api::{Confidence, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::doubt;
use crate::diagnosis::signals::termination::end::{self, Kill, Proof};
use crate::diagnosis::signals::termination::exit_code::log_remedy;
use crate::diagnosis::{
    Case, Category, Explain, Finding, Language, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy,
    restarts, target, text,
};
use crate::facts::{
    Container, EventFacts, IGNORE, Phase, Probe, ProbeHandler, ProbeKind, State, Terminated, Timestamp, after,
    format_cpu, seconds_between,
};

pub const STARTUP: &str = "StartupProbeFailed";
pub(super) const READINESS: &str = "ReadinessProbeFailed";

pub(super) const RULES: &[Rule] = &[
    Rule {
        cause: STARTUP,
        category: Category::Probe,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, container| killed(case, container, ProbeKind::Startup)),
        remedies: |case, finding| kill_remedies(case, finding, ProbeKind::Startup),
        explain: Explain {
            meaning: "The container did not pass its startup probe in time, so the kubelet killed it and starts it anew.",
            told_apart: "A Normal Killing Event says `failed startup probe`. A crash has no such Event; a liveness kill \
                         names the liveness probe; while the startup probe fails, the other probes are not run at all. Before \
                         the kill it counts only where its Deployment has stopped waiting (progressDeadlineSeconds).",
            action: "Look at what the probe got (the Unhealthy Event). Raise failureThreshold x periodSeconds above the \
                     slowest start, or correct the probe's port, path or command.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions; pkg/kubelet/prober",
        },
    },
    Rule {
        cause: "LivenessProbeFailed",
        category: Category::Probe,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, container| killed(case, container, ProbeKind::Liveness)),
        remedies: |case, finding| kill_remedies(case, finding, ProbeKind::Liveness),
        explain: Explain {
            meaning: "The kubelet kills the container because its liveness probe failed failureThreshold times in a row.",
            told_apart: "A Normal Killing Event says `failed liveness probe`, whatever the exit code: 143 ended on SIGTERM, \
                         137 outlived its grace period (reason Error, not OOMKilled), 0 ended well and is still a failure.",
            action: "Read the probe's own words. Refused: nothing listens on that port. Timeout: the process is busy or \
                     the CPU limit throttles it. Slow start: add a startupProbe. Keep dependencies out of liveness.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions; pkg/kubelet/prober",
        },
    },
    Rule {
        cause: READINESS,
        category: Category::Probe,
        recovery: Recovery::Restarting,
        specificity: Specificity::Symptom,
        scope: Scope::Container(not_ready),
        remedies: readiness_remedies,
        explain: Explain {
            meaning: "The container runs, but its readiness probe does not succeed, so the pod gets no traffic.",
            told_apart: "No restart comes of it: the container keeps running with ready=false. Failures within the \
                         threshold or while the startup probe has not yet passed are no finding.",
            action: "Read what the probe got. If a dependency is down, mend that. If the port or path is wrong, correct \
                     the probe.",
            source: "kubernetes pkg/kubelet/prober/worker.go; pkg/kubelet/status/generate.go GenerateContainersReadyCondition",
        },
    },
];

/// What is known of a container that a probe ended or is ending.
struct Killed<'a, 'c> {
    kill: Kill<'a>,
    /// The run that was ended; `None` while the container still has its grace period, or where its end is not recorded.
    run: Option<&'c Terminated>,
    started: Option<Timestamp>,
}

impl Killed<'_, '_> {
    /// Whether the container still has its grace period.
    fn goes_on(&self) -> bool {
        self.run.is_none() && !matches!(self.kill.proof, Proof::Unrecorded(_))
    }
}

/// What a probe got last: a failure, else that it could not be run.
fn log_line<'a>(case: &Case<'a>, container: &Container, kind: ProbeKind) -> Option<&'a EventFacts> {
    end::unhealthy(case, container, kind).or_else(|| end::errored(case, container, kind))
}

fn killed(case: &Case<'_>, container: &Container, kind: ProbeKind) -> Verdict {
    if case.events.is_empty() && case.ledger.runs.is_empty() {
        return Verdict::No;
    }
    let Some(killed) = find_kill(case, container) else {
        return if kind == ProbeKind::Startup { starting::never_started(case, container) } else { Verdict::No };
    };
    if killed.kill.probe != kind {
        return Verdict::No;
    }
    if matches!(killed.kill.proof, Proof::Inferred | Proof::Silent) {
        // The Killing Event may still come.
        if let Err(at) = case.events_settled() {
            return Verdict::NotBefore(at);
        }
    }
    let finding = kill_finding(case, container, &killed);
    // What a probe killed and its Job counts as done is not done.
    if killed.run.is_some_and(|run| run.exit_code == 0) {
        return Verdict::Yes(Box::new(finding));
    }
    end::judged(case, finding)
}

fn find_kill<'a, 'c>(case: &Case<'a>, container: &'c Container) -> Option<Killed<'a, 'c>> {
    if case.pod.deletion.is_none()
        && let State::Running { started_at: Some(started) } = container.state
    {
        let now = [ProbeKind::Startup, ProbeKind::Liveness].into_iter().find_map(|probe| {
            let event = end::killings(case, container, probe).find(|event| {
                // Not the kill that ended the run before, in the same second.
                event.last.is_some_and(|at| at >= started)
                    && container.last.as_ref().is_none_or(|run| !end::in_run(event, run))
            })?;
            Some(Kill { probe, proof: Proof::Event(event) })
        });
        if let Some(kill) = now {
            return Some(Killed { kill, run: None, started: Some(started) });
        }
    }
    let Some(run) = end::counted(case, container) else {
        return Some(Killed { kill: end::unrecorded_kill(case, container)?, run: None, started: None });
    };
    Some(Killed { kill: end::kill(case, container, run)?, run: Some(run), started: run.started_at })
}

fn kill_finding(case: &Case<'_>, container: &Container, killed: &Killed<'_, '_>) -> Finding {
    let kind = killed.kill.probe;
    let said = end::unhealthy(case, container, kind);
    let heard = said.map(|event| trouble(&event.message));
    let probe = container.probe(kind);
    let who = end::who(container);
    let what = describe(case.language(), container, probe, heard.as_ref());
    let when = rhythm(case, container, killed).map_or_else(String::new, |words| format!(" {words}"));
    let tail = restarts::tail(case, container);
    let as_success = killed.run.is_some_and(|run| run.exit_code == 0)
        && (case.pod.phase == Phase::Succeeded || matches!(container.state, State::Terminated(_)))
        && container.effective_restart_policy(case.pod.restart_policy) != crate::facts::RestartPolicy::Always;
    let name = kind.lower();
    let summary = if as_success {
        say!(
            case,
            "{who} was killed by its {name} probe{what}{when}, but ended with 0 and is recorded as success",
            who,
            name,
            what,
            when
        )
    } else if killed.goes_on() {
        say!(case, "{who} is being killed by its {name} probe{what}{when}{tail}", who, name, what, when, tail)
    } else if matches!(killed.kill.proof, Proof::Silent) {
        say!(case, "{who} is perhaps killed by its {name} probe{what}{when}{tail}", who, name, what, when, tail)
    } else {
        say!(case, "{who} is killed by its {name} probe{what}{when}{tail}", who, name, what, when, tail)
    };
    let mut finding = Finding::of_container(container, summary);
    if killed.goes_on() {
        finding = finding.goes_on();
    }
    finding = match killed.kill.proof {
        Proof::Event(event) => finding.proven().with(evidence::event(event)),
        Proof::Inherited => finding.proven().with(evidence::field(
            "status.restarts.history",
            format!("an earlier run ended alike, and a Killing Event named its {name} probe"),
        )),
        Proof::Earlier(event) => finding.proven().with(evidence::event(event)).with(evidence::field(
            "event/Killing",
            "of an earlier run that ended alike; the kubelet limits how many Events it sends of a pod",
        )),
        Proof::Unrecorded(event) => finding.proven().with(evidence::event(event)).with(evidence::contradicting(
            evidence::field(container.last_end_path(), "empty: how the run ended is not recorded"),
        )),
        Proof::Silent => finding.confidence(Confidence::Possible).with(evidence::contradicting(evidence::field(
            "event/Killing",
            format!(
                "no Event of the pod is known; the run ended as late as its {name} probe ends runs, and in such a way"
            ),
        ))),
        Proof::Inferred => finding.confidence(Confidence::Likely).with(evidence::contradicting(evidence::field(
            "event/Killing",
            format!("none is known, but the {name} probe failed until the end and the exit code is that of a kill"),
        ))),
    };
    finding = finding.with_all(said.map(evidence::event));
    if let Some(run) = killed.run {
        finding = with_end(case, container, run, finding);
        if matches!(killed.kill.proof, Proof::Silent) {
            finding = with_other_reading(case, container, run, finding);
        }
        if matches!(killed.kill.proof, Proof::Event(_) | Proof::Inferred) {
            finding = with_failed_pre_stop(case, container, killed, run, finding);
            finding = with_ignored_sigterm(case, container, killed, run, finding);
        }
    }
    if let Some(probe) = probe {
        finding = finding.with(evidence::field(
            format!("{}.{name}Probe", container.spec_path()),
            format!(
                "{}, initialDelaySeconds {}, periodSeconds {}, timeoutSeconds {}, failureThreshold {}",
                probe_text(case.language(), container, probe),
                probe.initial_delay,
                probe.period,
                probe.timeout,
                probe.failure_threshold
            ),
        ));
    }
    if kind == ProbeKind::Liveness
        && !container.ready
        && let Some(readiness) = end::unhealthy(case, container, ProbeKind::Readiness)
    {
        let alike = heard.is_some_and(|t| t.same_kind(&trouble(&readiness.message)));
        let why = if alike { phrase!(case, "fails for the same reason, so") } else { phrase!(case, "fails too, so") };
        finding = finding.consequence(
            "ReadinessProbeFailed",
            Some(&container.name),
            say!(case, "{why} the pod gets no traffic", why),
        );
    }
    finding
}

/// The end of the run as evidence, and runs of the past that ended otherwise.
fn with_end(case: &Case<'_>, container: &Container, run: &Terminated, finding: Finding) -> Finding {
    let path = container.last_end_path();
    let reason = if run.reason == "Error" { "Error (not OOMKilled)".to_owned() } else { run.reason.clone() };
    let out_of_memory = case.ledger.of(&container.name).filter(|past| &*past.reason == end::OOM_KILLED).count();
    let mut finding = finding
        .with(evidence::field_at(format!("{path}.exitCode"), run.exit_code.to_string(), run.finished_at))
        .with(evidence::field(format!("{path}.reason"), reason));
    if out_of_memory > 0 {
        finding = finding.with(evidence::contradicting(evidence::field(
            "status.restarts.history",
            format!("{out_of_memory} of the known runs were OOMKilled: memory may be the root of both"),
        )));
        finding.confidence = Confidence::Likely;
    }
    finding
}

/// What else an end may mean that no Event puts down to a probe.
fn with_other_reading(case: &Case<'_>, container: &Container, run: &Terminated, finding: Finding) -> Finding {
    let (cause, words) = match run.exit_code {
        0 => ("CompletedButRestarted", phrase!(case, "if no probe killed it, its main process ends by itself with 0")),
        143 => ("SigTermExit", phrase!(case, "if no probe killed it, something else sends SIGTERM")),
        _ if container.limits.memory.is_some() => (
            "OOMReportedAsError",
            phrase!(case, "if no probe killed it, perhaps its memory limit did, which the runtime did not report"),
        ),
        _ => ("SigKilledNotOom", phrase!(case, "if no probe killed it, something else sends SIGKILL")),
    };
    finding.consequence(cause, Some(&container.name), words)
}

/// A preStop hook that failed at the kill, or that was still at work when the grace period was over.
fn with_failed_pre_stop(
    case: &Case<'_>,
    container: &Container,
    killed: &Killed<'_, '_>,
    run: &Terminated,
    finding: Finding,
) -> Finding {
    let Some(failed) = doubt::pre_stop_failed(case, container, run) else { return finding };
    let grace = end::grace(case, container, killed.kill.probe);
    let took = match killed.kill.proof {
        Proof::Event(kill) => kill.last.zip(failed.last).map(|(from, to)| seconds_between(from, to)),
        _ => None,
    };
    let words = if took.is_some_and(|took| took >= grace - 1) {
        say!(
            case,
            "was still at work after the grace period of {grace} s: the process itself has about 2 s left to end",
            grace
        )
    } else {
        phrase!(case, "fails at each kill, so what it should bring to an end is cut off").to_owned()
    };
    finding.with(evidence::event(failed)).consequence("PreStopHookFailed", Some(&container.name), words)
}

/// Exit code 137 after a kill that took the whole grace period.
fn with_ignored_sigterm(
    case: &Case<'_>,
    container: &Container,
    killed: &Killed<'_, '_>,
    run: &Terminated,
    finding: Finding,
) -> Finding {
    if run.exit_code != 137 {
        return finding;
    }
    let grace = end::grace(case, container, killed.kill.probe);
    let took = match (killed.kill.proof, run.finished_at) {
        (Proof::Event(event), Some(finished)) => event.last.map(|at| seconds_between(at, finished)),
        _ => None,
    };
    if took.is_some_and(|took| took < grace - 2) && !container.has_pre_stop {
        return finding;
    }
    finding.consequence(
        "SigTermIgnored",
        Some(&container.name),
        say!(
            case,
            "did not end within its {grace} s grace period, so each kill takes {grace} s and ends with 137",
            grace
        ),
    )
}

/// ` (tcp 6379: connection refused)`.
fn describe(language: Language, container: &Container, probe: Option<&Probe>, heard: Option<&Trouble>) -> String {
    let heard = heard.map(|heard| heard.in_words(language));
    let target = probe.map(|p| probe_text(language, container, p)).filter(|t| !t.is_empty());
    match (target, heard) {
        (Some(target), Some(heard)) => format!(" ({target}: {heard})"),
        (Some(one), None) => format!(" ({one})"),
        (None, Some(heard)) => format!(" ({heard})"),
        (None, None) => String::new(),
    }
}

/// When the kill comes, counted from the start: the grace period after it is not the probe's.
fn rhythm(case: &Case<'_>, container: &Container, killed: &Killed<'_, '_>) -> Option<String> {
    let started = killed.started?;
    let event_at = match killed.kill.proof {
        Proof::Event(event) => event.last,
        _ => None,
    };
    let Some(run) = killed.run else {
        return restarts::phrase(case.language(), &[seconds_between(started, event_at?)], 0, true);
    };
    let length = run.ran_for()?;
    // How long the kill itself took: known from the Event, else the whole grace period where it ended with 137.
    let grace = end::grace(case, container, killed.kill.probe);
    let kill_took = match event_at.filter(|at| run.finished_at.is_some_and(|finished| *at <= finished)) {
        Some(at) => length - seconds_between(started, at),
        None if run.exit_code == 137 && length > grace => grace,
        None => 0,
    };
    let runs = restarts::runs(case, container);
    let alike = runs.iter().filter(|past| past.exit_code == run.exit_code && past.reason == run.reason);
    let are_all = alike.clone().count() == runs.len();
    let lengths: Vec<i64> = alike.filter_map(restarts::run_length).map(|length| (length - kill_took).max(0)).collect();
    restarts::phrase(case.language(), &lengths, container.restart_count, are_all)
}

/// The probe as its author wrote it, and who asks.
fn probe_text(language: Language, container: &Container, probe: &Probe) -> String {
    let text = handler_text(language, container, &probe.handler);
    if probe.by_istio { say!(language, "{text}, asked by Istio's agent", text) } else { text }
}

/// Where Istio's agent asks in the kubelet's stead, its answer hides the container's own.
fn istio_remedies(
    language: Language,
    container: &Container,
    probe: &Probe,
    kind: ProbeKind,
    heard: Option<&Trouble>,
) -> Option<Vec<Remedy>> {
    let (name, who, place) = (kind.lower(), &container.name, handler_text(language, container, &probe.handler));
    match heard.filter(|_| probe.by_istio)? {
        Trouble::Refused => Some(vec![remedy::fix(phrase!(
            language,
            "Istio's agent, which the kubelet asks instead of the container, does not answer: look at the container istio-proxy."
        ))]),
        Trouble::Status(500) => Some(vec![remedy::fix(say!(
            language,
            "Istio's agent asks {who} for its {name} probe ({place}) and gets no good answer; what it gets is hidden behind its 500. Check that {who} serves that.",
            who,
            name,
            place
        ))]),
        _ => None,
    }
}

/// A budget for the start that many a program needs more than, in seconds.
const SHORT_BUDGET: i64 = 30;

fn kill_remedies(case: &Case<'_>, finding: &Finding, kind: ProbeKind) -> Vec<Remedy> {
    let Some(container) = finding.container.as_deref().and_then(|name| case.pod.container(name)) else {
        return Vec::new();
    };
    let heard = log_line(case, container, kind).map(|event| trouble(&event.message));
    let ran = long_well(case, container, finding, kind);
    let mut remedies = remedies_after(case, container, kind, heard.as_ref(), ran);
    if matches!(heard, Some(Trouble::CannotRun(_))) && container.is_running() {
        return remedies;
    }
    let target = target::of(case);
    let may_be_slow = !heard.as_ref().is_some_and(Trouble::outlasts_patience);
    if let Some(probe) = container.probe(kind).filter(|_| may_be_slow) {
        if kind == ProbeKind::Startup && find_kill(case, container).is_none() {
            remedies.push(starting::longer(&target, container, probe));
        } else if kind == ProbeKind::Startup {
            let threshold = probe.failure_threshold.max(1) * 4;
            let text = say!(
                case,
                "If it only needs longer to start than {budget} s, raise failureThreshold (now {threshold}).",
                budget = probe.budget(),
                threshold = probe.failure_threshold
            );
            remedies.push(target.with_container_patch(
                remedy::fix(text),
                Some(container),
                &format!("startupProbe:\n  failureThreshold: {threshold}\n"),
            ));
        } else if let Some(ran) = long_well(case, container, finding, kind) {
            remedies.push(remedy::fix(say!(
                case,
                "It ran for {ran} before: look for what makes it hang or busy with time (a lock, a full pool, memory).",
                ran = text::duration(ran)
            )));
        } else if container.startup.is_none()
            && let Some(handler) = handler_yaml(&probe.handler)
        {
            // One that nothing answers yet, ended as soon as its probe may: most likely it is only slow.
            let most = probe.budget() + case.pod.termination_grace_seconds + 5;
            let at_once =
                container.last_end().and_then(crate::facts::Terminated::ran_for).is_some_and(|ran| ran <= most);
            let port = words::port_number(container, &probe.handler);
            let is_declared = container.ports.is_empty() || container.ports.iter().any(|p| Some(p.number) == port);
            let is_refused = matches!(heard, Some(Trouble::Refused)) && is_declared;
            let is_short = probe.budget() < SHORT_BUDGET && is_refused && at_once;
            let budget = probe.budget();
            // The Event has room for the first remedy only, and that it listens elsewhere looks the same.
            let text = match port.filter(|_| is_short) {
                Some(port) => say!(
                    case,
                    "Nothing listens on {port} in {container} within {budget} s of its start. If it does later, add a startupProbe: liveness waits for it (initialDelaySeconds is now {delay}). If it never does, correct the port.",
                    port,
                    container = container.name,
                    budget,
                    delay = probe.initial_delay
                ),
                None => say!(
                    case,
                    "If it needs longer than {budget} s to start, add a startupProbe: liveness waits for it (initialDelaySeconds is now {delay}).",
                    budget,
                    delay = probe.initial_delay
                ),
            };
            let fields = format!("startupProbe:\n{handler}  periodSeconds: 2\n  failureThreshold: 60\n");
            let slower = target.with_container_patch(remedy::fix(text), Some(container), &fields);
            remedies.insert(if is_short { 0 } else { remedies.len() }, slower);
        }
    }
    remedies.push(log_remedy(case, container));
    remedies.truncate(5);
    remedies
}

/// What the probe's own words ask for, of a run that went well for so many seconds first.
fn remedies_after(
    case: &Case<'_>,
    container: &Container,
    kind: ProbeKind,
    heard: Option<&Trouble>,
    ran: Option<i64>,
) -> Vec<Remedy> {
    let probe = container.probe(kind).filter(|probe| !probe.by_istio);
    match (heard, probe.zip(ran)) {
        (Some(Trouble::Status(404)), Some((probe, ran))) => vec![no_longer_served(case, container, probe, kind, ran)],
        (Some(Trouble::Refused), Some((probe, ran))) if !matches!(probe.handler, ProbeHandler::Exec { .. }) => {
            vec![listens_no_more(case, container, probe, ran)]
        }
        _ => probe_remedies(case, container, kind, heard),
    }
}

/// For a port that must have been open for as long as the run went well.
fn listens_no_more(case: &Case<'_>, container: &Container, probe: &Probe, ran: i64) -> Remedy {
    let place = words::port_number(container, &probe.handler)
        .map_or_else(|| handler_text(case.language(), container, &probe.handler), |port| port.to_string());
    remedy::fix(say!(
        case,
        "{who} must have listened on {place} at first, for it was well for {ran}, and does not any more, though it runs: look in its log for what ended its server (a child that died, a listener that was closed, a shutdown that does not end).",
        who = container.name,
        place,
        ran = text::duration(ran)
    ))
}

/// For a path that must have been there for as long as the run went well.
fn no_longer_served(case: &Case<'_>, container: &Container, probe: &Probe, kind: ProbeKind, ran: i64) -> Remedy {
    remedy::fix(say!(
        case,
        "{who} must have served {place} at first, for it ran for {ran}, and now says 404: look at what takes that path away (a reload, a file that goes, an application that is undeployed). A {name} probe should not hang on it.",
        who = container.name,
        place = handler_text(case.language(), container, &probe.handler),
        ran = text::duration(ran),
        name = kind.lower()
    ))
}

/// How long the run lasted that a finding is about, where that is much longer than a run that never passes its probes.
fn long_well(case: &Case<'_>, container: &Container, finding: &Finding, kind: ProbeKind) -> Option<i64> {
    let ran = match container.state {
        State::Running { started_at } if finding.goes_on => case.age(started_at?),
        _ => container.last_end()?.ran_for()?,
    };
    let patience = end::patience(case, container, kind)? + container.startup.as_deref().map_or(0, Probe::budget);
    (ran > 2 * patience).then_some(ran)
}

fn grpc_remedy(language: Language, trouble: &Trouble, who: &str, name: &str, place: &str) -> Remedy {
    remedy::fix(match trouble {
        Trouble::GrpcUnimplemented => {
            say!(
                language,
                "{who} does not serve grpc.health.v1.Health. Register the health service, or use a tcpSocket probe.",
                who
            )
        }
        Trouble::GrpcNoAnswer => say!(
            language,
            "Nothing speaks gRPC where the {name} probe asks ({place}): let {who} serve gRPC there, point the probe at the port that does, or use an httpGet or tcpSocket probe.",
            name,
            place,
            who
        ),
        _ => say!(language, "{who} reports itself as not serving over gRPC health. Read its log for why.", who),
    })
}

/// A port that the container does declare by a name, and the lines of a probe that uses it.
fn named_port(container: &Container, handler: &ProbeHandler) -> Option<(String, String)> {
    let port = container.ports.iter().find(|port| !port.name.is_empty())?;
    let field = if matches!(handler, ProbeHandler::Tcp { .. }) { "tcpSocket" } else { "httpGet" };
    Some((format!("{} ({})", port.name, port.number), format!("  {field}:\n    port: {}\n", port.name)))
}

fn cannot_run(language: Language, container: &Container, handler: &ProbeHandler, name: &str) -> Vec<Remedy> {
    let program = match handler {
        ProbeHandler::Exec { command } => command.first().map_or(phrase!(language, "its command"), String::as_str),
        _ => phrase!(language, "the probe"),
    };
    vec![
        remedy::fix(say!(
            language,
            "Give {container} a {name} probe that can be run: {program} is not in image {image}, or is not executable there.",
            container = container.name,
            name,
            program,
            image = container.image
        )),
        remedy::fix(phrase!(
            language,
            "For gRPC, use the grpc probe of Kubernetes itself: it needs no program in the image."
        )),
    ]
}

/// For a command that is refused a connection, or is not done in time: it is no port itself, and no server.
fn about_command(
    language: Language,
    container: &Container,
    probe: &Probe,
    name: &str,
    place: &str,
    heard: &Trouble,
    patched: &dyn Fn(String, String) -> Remedy,
) -> Option<Remedy> {
    let who = &container.name;
    match heard {
        _ if !matches!(probe.handler, ProbeHandler::Exec { .. }) => None,
        Trouble::Refused => Some(remedy::fix(say!(
            language,
            "The command of the {name} probe ({place}) is refused a connection in {who}: check that the process listens where the command asks, and what else it says.",
            name,
            place,
            who
        ))),
        Trouble::Other(words) if words.contains("timed out") => Some(patched(
            say!(
                language,
                "The command of the {name} probe ({place}) takes longer than timeoutSeconds ({timeout}) in {who}. Give it more time.",
                name,
                place,
                timeout = probe.timeout,
                who
            ),
            format!("  timeoutSeconds: {}\n", (probe.timeout * 5).max(5)),
        )),
        _ => None,
    }
}

/// The name by which a probe asks for its port.
fn named_by(handler: &ProbeHandler) -> Option<&str> {
    match handler {
        ProbeHandler::Http { port, .. } | ProbeHandler::Tcp { port } => {
            Some(port.as_str()).filter(|port| port.parse::<i32>().is_err())
        }
        _ => None,
    }
}

/// For a server that answers, and says that it is not well.
fn not_well(language: Language, who: &str, kind: ProbeKind, status: u16) -> Remedy {
    let advice = match kind {
        ProbeKind::Readiness => phrase!(language, "what it depends on may be down."),
        ProbeKind::Liveness | ProbeKind::Startup => {
            phrase!(language, "a liveness path should not depend on other services.")
        }
    };
    remedy::fix(say!(
        language,
        "{who} answers its {name} probe with status {status}: it says itself that it is not well. Read its log; {advice}",
        who,
        name = kind.lower(),
        status,
        advice
    ))
}

/// What the probe's own words ask for.
#[allow(clippy::too_many_lines, reason = "a list for each answer; each sentence takes several lines")]
fn probe_remedies(case: &Case<'_>, container: &Container, kind: ProbeKind, heard: Option<&Trouble>) -> Vec<Remedy> {
    let Some(probe) = container.probe(kind) else { return Vec::new() };
    let (name, language) = (kind.lower(), case.language());
    let who = &container.name;
    let target = target::of(case);
    let place = handler_text(language, container, &probe.handler);
    if let Some(remedies) = istio_remedies(language, container, probe, kind, heard) {
        return remedies;
    }
    let patched = |text: String, fields: String| {
        target.with_container_patch(remedy::fix(text), Some(container), &format!("{name}Probe:\n{fields}"))
    };
    if let Some(remedy) =
        heard.and_then(|heard| about_command(language, container, probe, name, &place, heard, &patched))
    {
        return vec![remedy];
    }
    let unnamed = named_by(&probe.handler).filter(|name| container.ports.iter().all(|port| port.name != *name));
    let no_such_port = |wanted: &str| match named_port(container, &probe.handler) {
        Some((declared, fields)) => patched(
            say!(
                case,
                "{who} declares {declared}, and no port named {wanted}: let the {name} probe use that.",
                who,
                declared,
                wanted,
                name
            ),
            fields,
        ),
        None => remedy::fix(say!(
            case,
            "Give a port of {who} the name {wanted}, or let the {name} probe use a number.",
            who,
            wanted,
            name
        )),
    };
    match heard {
        // The kubelet takes a name that no port has for a number.
        Some(Trouble::CannotRun(_)) if unnamed.is_some() => unnamed.map(no_such_port).into_iter().collect(),
        Some(Trouble::CannotRun(_)) => cannot_run(language, container, &probe.handler, name),
        Some(Trouble::Refused) => {
            let port = words::port_number(container, &probe.handler);
            let port_text = port.map_or_else(|| place.clone(), |p| p.to_string());
            let others: Vec<i32> =
                container.ports.iter().map(|p| p.number).filter(|number| Some(*number) != port).collect();
            let text = say!(
                case,
                "Nothing listens on {port_text} in {who}. Make the process listen there (on all addresses, not only 127.0.0.1), or point the {name} probe at the port it uses.",
                port_text,
                who,
                name
            );
            match (&probe.handler, others.as_slice()) {
                (ProbeHandler::Tcp { .. }, [other]) => vec![patched(
                    say!(case, "{text} The container declares {other}.", text, other),
                    format!("  tcpSocket:\n    port: {other}\n"),
                )],
                (ProbeHandler::Http { .. }, [other]) => vec![patched(
                    say!(case, "{text} The container declares {other}.", text, other),
                    format!("  httpGet:\n    port: {other}\n"),
                )],
                _ => vec![remedy::fix(text)],
            }
        }
        Some(Trouble::Timeout) => {
            let longer = (probe.timeout * 5).max(5);
            let mut remedies = vec![patched(
                say!(
                    case,
                    "{who} answers later than timeoutSeconds ({timeout}). Give the {name} probe more time.",
                    who,
                    timeout = probe.timeout,
                    name
                ),
                format!("  timeoutSeconds: {longer}\n"),
            )];
            if let Some(cpu) = container.limits.cpu {
                remedies.push(remedy::fix(say!(
                    case,
                    "Its CPU limit is {cpu}: if it is throttled, raise or remove the limit.",
                    cpu = format_cpu(cpu)
                )));
            }
            remedies
        }
        Some(Trouble::Status(404)) => {
            vec![remedy::fix(say!(
                case,
                "{who} knows no such path ({place}). Point the {name} probe at one that it serves.",
                who,
                place,
                name
            ))]
        }
        Some(Trouble::Status(status @ (401 | 403))) => vec![remedy::fix(say!(
            case,
            "{who} asks the probe for credentials (status {status}). Let the path be read without them, or probe another.",
            who,
            status
        ))],
        Some(Trouble::Status(status)) => vec![not_well(language, who, kind, *status)],
        Some(Trouble::Tls { server_speaks_tls }) => {
            let (speaks, scheme) =
                if *server_speaks_tls { ("HTTPS", "HTTPS") } else { (phrase!(case, "plain HTTP"), "HTTP") };
            vec![patched(
                say!(
                    case,
                    "{who} speaks {speaks} on that port. Set the scheme of the {name} probe to {scheme}.",
                    who,
                    speaks,
                    name,
                    scheme
                ),
                format!("  httpGet:\n    scheme: {scheme}\n"),
            )]
        }
        Some(Trouble::NoSuchPort(wanted)) => vec![no_such_port(wanted)],
        Some(trouble @ (Trouble::GrpcUnimplemented | Trouble::GrpcNoAnswer | Trouble::GrpcNotServing(_))) => {
            vec![grpc_remedy(language, trouble, who, name, &place)]
        }
        Some(Trouble::Other(_)) | None => match &probe.handler {
            ProbeHandler::Exec { .. } => vec![remedy::fix(say!(
                case,
                "The command of the {name} probe ({place}) fails in {who}. Run it in the container by hand, and correct it or what it checks.",
                name,
                place,
                who
            ))],
            _ => {
                vec![remedy::fix(say!(case, "Check that {who} answers its {name} probe ({place}).", who, name, place))]
            }
        },
    }
}

fn not_ready(case: &Case<'_>, container: &Container) -> Verdict {
    let State::Running { started_at } = container.state else { return Verdict::No };
    let Some(probe) = container.readiness.as_ref().filter(|_| !container.ready) else { return Verdict::No };
    if case.pod.deletion.is_some() || case.pod.is_over() {
        return Verdict::No;
    }
    // While the startup probe has its say, readiness is not even asked.
    if container.startup.is_some() && container.started == Some(false) {
        return Verdict::No;
    }
    let restarting =
        container.last.is_some() && started_at.is_some_and(|at| case.age(at) <= case.thresholds.recovered_restarting);
    if restarting {
        return Verdict::No;
    }
    let lost_at = lost_at(case, container);
    let due = if lost_at.is_some() {
        after(case.held_since(lost_at), case.thresholds.of(READINESS, case.thresholds.readiness_lost))
    } else {
        let startup = container.startup.as_deref().map_or(0, Probe::budget);
        let budget = startup + probe.initial_delay + probe.period * probe.success_threshold.max(1);
        after(case.held_since(started_at), case.never_ready(READINESS) + budget)
    };
    let said = log_line(case, container, ProbeKind::Readiness);
    let heard = said.map(|event| trouble(&event.message));
    // A snapshot will never tell more than it does now; but who asks for patience knows why.
    let is_set = case.surroundings.wishes.never_ready.is_some()
        || case.thresholds.never_ready != crate::diagnosis::Thresholds::default().never_ready;
    let is_wished = lost_at.is_none() && is_set;
    let is_chosen = is_wished || case.thresholds.chosen(READINESS).is_some();
    let has_lasted = !case.thresholds.patient
        && !is_chosen
        && said.zip(heard.as_ref()).is_some_and(|(event, heard)| lasts(probe, event, heard));
    if case.now < due && !has_lasted {
        return Verdict::NotBefore(due);
    }
    let what = describe(case.language(), container, Some(probe), heard.as_ref());
    let who = end::who(container);
    let summary = if lost_at.is_some() {
        say!(
            case,
            "{who} runs but its readiness probe fails{what}: the pod was ready before and gets no traffic now",
            who,
            what
        )
    } else {
        say!(
            case,
            "{who} runs but has not been ready since its start: its readiness probe fails{what}, so the pod gets no traffic",
            who,
            what
        )
    };
    let status = container.status_path();
    let mut finding = Finding::of_container(container, summary)
        .with_all(said.map(evidence::event))
        .with(evidence::field(format!("{status}.ready"), "false"))
        .with(evidence::field_at(format!("{status}.state.running.startedAt"), "running", started_at))
        .with_all(case.pod.condition("ContainersReady").map(evidence::condition));
    if said.is_none() {
        finding = finding.confidence(Confidence::Likely);
    }
    Verdict::Yes(Box::new(finding))
}

/// When the pod ceased to be ready, where that was after the container had started: it had been ready.
fn lost_at(case: &Case<'_>, container: &Container) -> Option<Timestamp> {
    let State::Running { started_at: Some(started) } = container.state else { return None };
    let ready = case.pod.condition("Ready").filter(|condition| condition.status == "False")?;
    ready.last_transition.filter(|at| *at > after(started, 1))
}

/// For how long a container that runs was ready, where it was so for more than a moment.
fn ready_for(case: &Case<'_>, container: &Container) -> Option<i64> {
    const A_WHILE: i64 = 120;
    let State::Running { started_at: Some(started) } = container.state else { return None };
    Some(seconds_between(started, lost_at(case, container)?)).filter(|ran| *ran >= A_WHILE)
}

/// Whether a probe has failed so often that its pod is not just starting: beyond its threshold though no answer of the program
/// could mend it, or many times for two minutes.
fn lasts(probe: &Probe, event: &EventFacts, heard: &Trouble) -> bool {
    const OFTEN: u32 = 10;
    const LONG: i64 = 120;
    let threshold = u32::try_from(probe.failure_threshold).unwrap_or(u32::MAX);
    let span = event.first.zip(event.last).map_or(0, |(first, last)| seconds_between(first, last));
    (heard.is_about_the_probe() && event.count > threshold) || (event.count >= OFTEN && span >= LONG)
}

fn readiness_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = finding.container.as_deref().and_then(|name| case.pod.container(name)) else {
        return Vec::new();
    };
    let heard = log_line(case, container, ProbeKind::Readiness).map(|event| trouble(&event.message));
    let ran = ready_for(case, container);
    let mut remedies = remedies_after(case, container, ProbeKind::Readiness, heard.as_ref(), ran);
    remedies.push(remedy::command(
        remedy::fix(phrase!(case, "Read what the process says: a dependency that it waits for is the usual reason.")),
        format!("{} logs {} -c {} --tail=50", target::of(case).command_prefix(), case.pod.key.name, container.name),
    ));
    remedies.extend(standby(case).filter(|_| !heard.is_some_and(|heard| heard.is_about_the_probe())));
    remedies
}

/// Of several pods with a leader some say by their probe that they are not it, and are as they should be.
fn standby(case: &Case<'_>) -> Option<Remedy> {
    let target = target::of(case);
    (case.surroundings.siblings.same_template_ready > 0 && target.is_patchable()).then(|| {
        let text = say!(
            case,
            "Another pod of {target} is ready: if this one is a standby that waits for its turn (leader election), let its readiness not be told of.",
            target = target.display()
        );
        let annotate = format!("{} annotate {} {IGNORE}={READINESS}", target.command_prefix(), target.argument());
        remedy::command(remedy::mitigate(text), annotate)
    })
}

#[cfg(test)]
mod tests {
    use crate::diagnosis::testing::Scenario;
    use crate::diagnosis::{Health, diagnose};

    #[test]
    fn who_asks_for_a_wrong_path_is_not_told_to_wait_for_it() {
        let scenario = Scenario::from_yaml(include_str!("../../../tests/causes/LivenessProbeFailed/http-404.yaml"));
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        let text = format!("{:?}", found.remedies);
        assert!(text.contains("knows no such path") && !text.contains("startupProbe"), "{text}");
    }

    #[test]
    fn what_was_ready_for_a_while_did_serve_what_its_probe_asks_for() {
        for (case, never, once) in [
            ("http-404", "knows no such path", "must have served"),
            ("tcp-refused", "Nothing listens on", "must have listened on"),
        ] {
            let path = format!("tests/causes/ReadinessProbeFailed/{case}.yaml");
            let text = std::fs::read_to_string(path).unwrap();
            let first = |text: &str| {
                let scenario = Scenario::from_yaml(text).later(600);
                let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
                found.remedies[0].text.clone()
            };
            assert!(first(&text).contains(never), "{}", first(&text));
            let scenario = Scenario::from_yaml(&text);
            let lost = scenario.pods[0].condition("Ready").unwrap().last_transition.unwrap();
            let mut long_ready = Scenario::from_yaml(&text).later(600);
            for condition in &mut long_ready.pods[0].conditions {
                condition.last_transition = Some(crate::facts::after(lost, 300));
            }
            let Health::Failing(found) = diagnose(&long_ready.case()).health else { panic!("it fails") };
            assert!(found.remedies[0].text.contains(once), "{}", found.remedies[0].text);
        }
    }

    #[test]
    fn a_path_that_was_served_for_long_was_taken_away() {
        let text = include_str!("../../../tests/causes/LivenessProbeFailed/http-404.yaml");
        let started = "startedAt: \"2026-11-21T16:16:21Z\"";
        assert!(text.contains(started), "the fixture was recorded anew");
        let later = text.replace(started, "startedAt: \"2026-11-21T15:16:21Z\"");
        let Health::Failing(found) = diagnose(&Scenario::from_yaml(&later).case()).health else { panic!("it fails") };
        let first = &found.remedies[0].text;
        assert!(first.contains("must have served") && !first.contains("knows no such path"), "{first}");
    }
}
