//! How a container terminated: exit code, signal, what killed it, and its last log line.

pub(crate) mod command;
pub(crate) mod doubt;
pub(crate) mod end;
pub(crate) mod exit_code;
pub(crate) mod hook;
pub(crate) mod library;
pub(crate) mod log_line;
mod lost;
mod memory_sign;
mod node_shortage;
mod program;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use self::node_shortage::Shortage;
use self::program::Refusal;
use super::{Matched, PodSignal, Source, mounted, of_containers, restarts, signal};
use crate::api::{Confidence, ContainerType, Evidence};
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, EventFacts, Phase, ProbeKind, RestartPolicy, State, Terminated, Timestamp};
use crate::message::{text, windows};

/// Adds reason, exit code and uptime of a run as evidence.
pub(crate) fn end_evidence(container: &Container, run: &Terminated, finding: Finding) -> Finding {
    let path = container.last_end_path();
    let finding = finding
        .with(evidence::field_at(format!("{path}.reason"), &run.reason, run.finished_at))
        .with(evidence::field(format!("{path}.exitCode"), run.exit_code.to_string()));
    match &container.state {
        State::Waiting { reason, message } if !reason.is_empty() => finding.with(evidence::field(
            format!("{}.state.waiting", container.status_path()),
            format!("{reason}: {message}"),
        )),
        _ => finding,
    }
}

signal! {
    /// The end of a container's run that is a failure: an error exit, exit code 0 of a container that is to run on, a kill,
    /// or an end that neither the runtime nor the kubelet saw. Ends that a probe, a deletion, an eviction or the end of the pod explains are not in it.
    /// Source: containerStatuses[].state.terminated, else lastState.terminated.
    pub(crate) struct Termination<'a> as "termination" {
        case: &'a Case<'a>,
        container: &'a Container,
        run: &'a Terminated,
        shortage: OnceCell<Option<Shortage<'a>>>,
        refusal: OnceCell<Option<Refusal<'a>>>,
        line: OnceCell<Option<log_line::Line>>,
    }
    reason: |of| &of.run.reason, message: &of.run.message;

    /// Exit code. Source: state.terminated.exitCode.
    "exitCode": fn exit_code(&self) -> i32 { self.run.exit_code }

    /// What the exit code commonly means, such as `general error`; empty where it has no common meaning.
    "exitMeaning": fn exit_meaning(&self) -> String {
        let language = self.case.language();
        let meaning = exit_code::meaning_of(language, self.run).map(str::to_owned);
        meaning.or_else(|| exit_code::windows_words(self.run.exit_code)).unwrap_or_default()
    }

    /// Name of the Windows status that the program ended with, such as `STATUS_DLL_NOT_FOUND`; empty for other exit codes.
    /// Source: state.terminated.exitCode, ntstatus.h.
    "windowsStatus": fn windows_status(&self) -> &'static str {
        windows::of_exit(self.run.exit_code).map_or("", |status| status.name)
    }

    /// That status with its code and meaning: `0xC0000135 STATUS_DLL_NOT_FOUND, a DLL is missing`.
    "windowsExit": fn windows_exit(&self) -> String {
        exit_code::windows_words(self.run.exit_code).unwrap_or_default()
    }

    /// Signal that the process caused itself, such as `SIGSEGV`; empty for an exit code of its own, for SIGKILL and SIGTERM,
    /// and where an uncaught .NET exception ended it. On Windows the status of a crash, such as
    /// `0xC0000005 STATUS_ACCESS_VIOLATION`. Source: state.terminated.exitCode (128 + n) and signal; ntstatus.h.
    "nativeSignal": fn native_signal(&self) -> &'static str { self.own_signal().map_or("", |signal| signal.name) }

    /// What that signal means, such as `an invalid memory access`.
    "nativeSignalMeaning": fn native_signal_meaning(&self) -> &'static str {
        self.own_signal().map_or("", |signal| signal.meaning)
    }

    /// Error by which the kernel refused to execute the program: `exec format error` or `no such file or directory`; empty
    /// where it executed it. Source: the line `exec /X: ...` that runc logs.
    "execError": fn exec_error(&self) -> &'static str { self.refusal().map_or("", |refusal| refusal.error) }

    /// Program of the container: the one that this line names, else the first word of the command. Empty where the program is
    /// that of the image. Source: the log; spec.containers[].command.
    "program": fn program(&self) -> &str {
        let named = self.refusal().and_then(|refusal| refusal.program());
        named.or(self.container.command.first().map(String::as_str)).unwrap_or_default()
    }

    /// Whether the command of the container is named like a shell script. Source: spec.containers[].command.
    "isScript": fn is_script(&self) -> bool {
        self.container.command.first().is_some_and(|program| program.to_ascii_lowercase().ends_with(".sh"))
    }

    /// What the dynamic linker did not find: `cLibrary` (a newer version of it) or `sharedLibrary`; empty where it logged
    /// neither.
    "missingLibrary": fn missing_library(&self) -> &'static str {
        program::missing_library(self.case, self.container, self.run)
    }

    /// Why the command of the container exits: `background`, `daemon`, `initScript`, `idleShell`, `defaultShell` (of the
    /// image) or `script`; empty where the command does not show it. Source: spec.containers[].command, args and image.
    "commandEnds": fn command_ends(&self) -> &'static str { command::ends(self.container).map_or("", |ends| ends.name()) }

    /// Server of the command that makes itself a daemon, such as `nginx`.
    "daemon": fn daemon(&self) -> &'static str { command::daemon(self.container).0 }

    /// Command that keeps this server in the foreground.
    "foregroundCommand": fn foreground_command(&self) -> &'static str { command::daemon(self.container).1 }

    /// The command of the container, changed so that its server stays in the foreground, as a JSON list; empty if the pod has
    /// no command, or if the change is not certain. Source: spec.containers[].command.
    "foregroundList": fn foreground_list(&self) -> String {
        command::in_foreground(self.container).map(|words| serde_json::json!(words).to_string()).unwrap_or_default()
    }

    /// The volume of a ConfigMap or Secret with a file that the command or its script runs; empty if there is none.
    /// Source: spec.containers[].command, args, volumeMounts.
    "scriptVolume": fn script_volume(&self) -> &str { command::script_volume(self.case.pod, self.container).unwrap_or_default() }

    /// Whether the postStart hook may have failed at once and ended a server that exits on SIGTERM: the run was that short,
    /// and no Event of the pod is known. Source: spec.containers[].lifecycle.postStart.
    "mayBeHook": fn may_be_hook(&self) -> bool {
        let is_short = self.run.ran_for().is_none_or(|ran| ran <= hook::AT_ONCE);
        self.container.post_start.is_some() && is_short && self.case.events.is_empty()
    }

    /// Whether it is an init container that exits before the others start (a sidecar does not).
    /// Source: spec.initContainers[].restartPolicy.
    "isOfInitContainer": fn is_of_init_container(&self) -> bool { self.container.kind == ContainerType::Init }

    /// Whether the pod failed because this container is not started again. Source: status.phase, spec.restartPolicy.
    "endedPod": fn ended_pod(&self) -> bool { end::has_ended_its_pod(self.case, self.container) }

    /// Whether the container stays terminated while the others run on. Source: restartPolicy Never.
    "staysTerminated": fn stays_terminated(&self) -> bool {
        let container = self.container;
        let never = container.effective_restart_policy(self.case.pod.restart_policy) == RestartPolicy::Never;
        never && matches!(&container.state, State::Terminated(end) if !container.is_restarted_by_rule(end.exit_code))
    }

    /// Reason that the runtime reports, such as `Error` or `OOMKilled`. Source: state.terminated.reason.
    "reason": fn reason_of_run(&self) -> &str { &self.run.reason }

    /// Whether the runtime reports that the kernel killed a process of the container for memory.
    /// Source: state.terminated.reason OOMKilled.
    "oomKilled": fn oom_killed(&self) -> bool { self.run.reason == end::OOM_KILLED }

    /// Whether the process ended by SIGKILL and the runtime does not report why: exit code 137 with reason Error.
    "isSilentKill": fn is_silent_kill(&self) -> bool {
        self.run.exit_code == 137 && matches!(self.run.reason.as_str(), "Error" | "")
    }

    /// Whether the runtime reports a kill by seccomp. Source: state.terminated.reason `seccomp killed` (CRI-O).
    "seccompKilled": fn seccomp_killed(&self) -> bool { end::is_seccomp_kill(self.run) }

    /// How long the run took, in seconds. Source: startedAt and finishedAt of state.terminated.
    "ranForSeconds": fn ran_for_seconds(&self) -> Option<i64> { self.run.ran_for() }

    /// Whether the run took less than 30 seconds.
    "endedAtStart": fn ended_at_start(&self) -> bool { self.run.ran_for().is_some_and(|seconds| seconds < 30) }

    /// The decisive line of the termination message or log, at most 130 characters; empty where there is none.
    "line": fn line(&self) -> String {
        self.decisive_line().map_or_else(String::new, |line| log_line::shown(&line.text, 130))
    }

    /// The file in a ConfigMap, a Secret or a claim that the decisive line names; empty if it names none.
    /// Source: the log; spec.containers[].volumeMounts.
    "file": fn file(&self) -> &str { self.mounted().map_or("", |mounted| mounted.file) }

    /// Kind of the object that holds this file: `ConfigMap`, `Secret` or `PersistentVolumeClaim`. Source: spec.volumes.
    "fileKind": fn file_kind(&self) -> &'static str { self.mounted().map_or("", |mounted| mounted.kind) }

    /// Name of that object. Source: spec.volumes.
    "fileSource": fn file_source(&self) -> &str { self.mounted().map_or("", |mounted| mounted.name) }

    /// Where its volume is mounted. Source: spec.containers[].volumeMounts[].mountPath.
    "mountPath": fn mount_path(&self) -> &str { self.mounted().map_or("", |mounted| &mounted.mount.path) }

    /// File with the process ID of a server that the decisive line reports as running; empty if it names none.
    /// Source: the log.
    "pidFile": fn pid_file(&self) -> &str {
        let line = self.decisive_line().map_or("", |line| &line.text);
        let is_running = text::has_any(line, &["already running", "still running"]);
        mounted::paths(line).find(|path| is_running && path.rsplit_once('.').is_some_and(|(_, kind)| kind == "pid")).unwrap_or_default()
    }

    /// Folder of that file.
    "pidFolder": fn pid_folder(&self) -> &str { self.pid_file().rsplit_once('/').map_or("", |(folder, _)| folder) }

    /// Whether the container fails again and again: it is in back-off, or it was restarted more than once.
    "isLoop": fn is_loop(&self) -> bool {
        let container = self.container;
        let ended_again = container.restart_count > 0 && matches!(container.state, State::Terminated(_));
        !self.case.pod.is_over()
            && (ended_again || container.restart_count > 1 || restarts::back_off(container).is_some())
    }

    /// Whether the container's postStart hook failed and ended it. Source: Event FailedPostStartHook, or what is inferred.
    "byHook": fn by_hook(&self) -> bool { hook::ended_by_hook(self.case, self.container, self.run).is_some() }

    /// Whether the container's preStop hook failed while the kubelet stopped it. Source: Event FailedPreStopHook.
    "preStopFailed": fn pre_stop_failed(&self) -> bool {
        doubt::pre_stop_failed(self.case, self.container, self.run).is_some()
    }

    /// Whether the liveness probe failed in the same run. Source: Event Killing.
    "livenessFailed": fn liveness_failed(&self) -> bool { self.killing(ProbeKind::Liveness).is_some() }

    /// Whether the startup probe failed in the same run. Source: Event Killing.
    "startupFailed": fn startup_failed(&self) -> bool { self.killing(ProbeKind::Startup).is_some() }

    /// Whether the runtime reports each out-of-memory kill (containerd since 2.3).
    /// Source: node status.nodeInfo.containerRuntimeVersion.
    "reportsOom": fn reports_oom(&self) -> bool { reports_oom_reliably(self.case) }

    /// What suggests that the container was out of memory, though the runtime reports no such kill: `log` (its last lines are
    /// about memory), `earlierRun` or `otherContainer` (OOMKilled); empty where nothing does. SIGKILL alone shows nothing:
    /// a user, an agent on the node and a forced deletion send it too.
    "memorySign": fn memory_sign(&self) -> &'static str { memory_sign::of(self.case, self.container, self.run) }

    /// What shows that the node as a whole was out of memory: `systemOOM` (Event) or `memoryPressure` (condition of the
    /// Node); empty where nothing does.
    "nodeShortage": fn node_shortage(&self) -> &'static str { self.shortage().map_or("", |shortage| shortage.kind()) }

    /// How certain it is that this ended the run: `Certain`, `Likely` or `Possible`; empty where there is no shortage.
    "nodeShortageConfidence": fn node_shortage_confidence(&self) -> &'static str {
        self.shortage().map_or("", |shortage| match shortage.confidence {
            Confidence::Certain => "Certain",
            Confidence::Likely => "Likely",
            Confidence::Possible => "Possible",
        })
    }

    /// Whether neither the runtime nor the kubelet saw how the run ended.
    /// Source: state.terminated.reason Unknown or ContainerStatusUnknown.
    "isLost": fn is_lost(&self) -> bool { end::is_lost(self.run) }

    /// Whether the node rebooted when the container was lost. Source: Event Rebooted of the Node.
    "nodeRebooted": fn node_rebooted(&self) -> bool { lost::reboot(self.case, self.run).is_some() }

    /// Whether the status has the time of the end. Source: state.terminated.finishedAt.
    "hasEndTime": fn has_end_time(&self) -> bool { self.run.finished_at.is_some() }

    /// Whether the kubelet is to start the container again. Source: spec.restartPolicy.
    "isRestarted": fn is_restarted(&self) -> bool { lost::is_restarted(self.case, self.container) }

    /// Whether the pod completed all the same. Source: status.phase Succeeded.
    "podSucceeded": fn pod_succeeded(&self) -> bool { self.case.pod.phase == Phase::Succeeded }
}

pub(crate) const SOURCE: Source = Source {
    definition: &Termination::DEFINITION,
    read: |case| of_containers(case, |container| read(case, container)),
};

fn read<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<Termination<'a>> {
    let run = end::counted(case, container)?;
    let run = if end::is_lost(run) {
        lost::does_not_come_back(container, run).then_some(run)
    } else {
        end::crash(case, container)
    };
    Some(Termination {
        case,
        container,
        run: run?,
        shortage: OnceCell::new(),
        refusal: OnceCell::new(),
        line: OnceCell::new(),
    })
}

impl<'a> Termination<'a> {
    fn shortage(&self) -> Option<Shortage<'a>> {
        *self.shortage.get_or_init(|| node_shortage::of(self.case, self.container, self.run))
    }

    fn refusal(&self) -> Option<Refusal<'a>> {
        *self.refusal.get_or_init(|| program::refusal(self.case, self.container, self.run))
    }

    fn decisive_line(&self) -> Option<&log_line::Line> {
        self.line.get_or_init(|| log_line::line(self.case, self.container, self.run)).as_ref()
    }

    fn mounted(&self) -> Option<mounted::Mounted<'_, 'a>> {
        mounted::of_line(self.case, self.container, &self.decisive_line()?.text)
    }

    fn line_evidence(&self) -> Option<Evidence> {
        self.decisive_line().map(|line| line.evidence(self.container))
    }

    /// The signal that the process caused itself.
    fn own_signal(&self) -> Option<exit_code::Signal> {
        let language = self.case.language();
        let of_windows = || {
            let status = windows::crash(self.run.exit_code)?;
            Some(exit_code::Signal { name: status.title, meaning: status.meaning })
        };
        let signal = self.run.ending_signal().and_then(|number| exit_code::native_signal(language, number));
        let signal = signal.or_else(of_windows)?;
        (!log_line::is_managed_exception(self.case, self.container, self.run)).then_some(signal)
    }

    /// The Event of a probe's kill in this run.
    fn killing(&self, probe: ProbeKind) -> Option<&'a EventFacts> {
        end::killings(self.case, self.container, probe).find(|event| end::in_run(event, self.run))
    }

    fn reason_path(&self) -> String {
        format!("{}.reason", self.container.last_end_path())
    }

    fn oom_evidence(&self) -> Vec<Evidence> {
        let (container, run) = (self.container, self.run);
        let mut out = vec![exit_code::memory_limit(container)];
        if run.exit_code != 137 {
            let value = format!("{}: the main process was not the one killed", run.exit_code);
            out.push(evidence::field(format!("{}.exitCode", container.last_end_path()), value));
        }
        let probes = [ProbeKind::Liveness, ProbeKind::Startup].into_iter().filter_map(|probe| self.killing(probe));
        out.extend(probes.map(|event| evidence::contradicting(evidence::event(event))));
        let past = self.case.ledger.of(&container.name);
        let otherwise = past.filter(|past| &*past.reason != end::OOM_KILLED && past.exit_code != 0).count();
        if otherwise > 0 {
            let value = format!("{otherwise} of the known runs ended otherwise than OOMKilled");
            out.push(evidence::field("status.restarts.history", value));
        }
        out
    }

    fn lost_evidence(&self) -> Vec<Evidence> {
        let mut out: Vec<Evidence> = self.line_evidence().into_iter().collect();
        if self.run.reason == "ContainerStatusUnknown" {
            out.push(evidence::contradicting(evidence::field(
                format!("{}.exitCode", self.container.last_end_path()),
                format!("{} is the kubelet's placeholder: no signal, and nothing about memory", self.run.exit_code),
            )));
        }
        out.extend(lost::reboot(self.case, self.run).map(|(node, reboot)| {
            let path = format!("node/{}/event/Rebooted", node.facts.name);
            evidence::field_at(path, &reboot.message, Some(reboot.at))
        }));
        out
    }

    fn shortage_evidence(&self, shortage: Shortage<'_>) -> Vec<Evidence> {
        let limit = exit_code::memory_limit(self.container);
        let has_limit = self.container.limits.memory.is_some();
        let limit = if has_limit { evidence::contradicting(limit) } else { limit };
        let mut out = vec![shortage.evidence(), limit];
        if !self.oom_killed() {
            let value = "Error, not OOMKilled: the runtime saw no out-of-memory kill";
            out.push(evidence::contradicting(evidence::field(self.reason_path(), value)));
        }
        out
    }

    /// Evidence for an exit code of the program itself.
    fn own_evidence(&self) -> Vec<Evidence> {
        let (container, spec) = (self.container, self.container.spec_path());
        if self.run.exit_code == 0 {
            let policy = evidence::field("spec.restartPolicy", "Always");
            let command = command::shown(container).map(|shown| evidence::field(format!("{spec}.command"), shown));
            return std::iter::once(policy).chain(command).collect();
        }
        let Some(refusal) = self.refusal() else {
            return self.line_evidence().into_iter().collect();
        };
        let arch = self.case.node.and_then(|node| node.facts.labels.get("kubernetes.io/arch"));
        let arch = arch.map(|arch| evidence::field("node/metadata.labels[kubernetes.io/arch]", arch));
        std::iter::once(log_line::source(container, refusal.line, refusal.in_log)).chain(arch).collect()
    }

    /// Evidence for a signal with an unknown sender.
    fn unexplained_evidence(&self) -> Vec<Evidence> {
        let mut out = vec![evidence::field("event/Killing", "none is known for this run")];
        if !self.is_silent_kill() {
            return out;
        }
        out.push(exit_code::memory_limit(self.container));
        if self.container.limits.memory.is_some() && !self.reports_oom() {
            out.push(evidence::contradicting(evidence::field(self.reason_path(), "Error, not OOMKilled")));
            out.extend(self.case.node.map(|node| {
                let path = format!("node/{}.status.nodeInfo.containerRuntimeVersion", node.facts.name);
                evidence::field(path, &node.facts.runtime)
            }));
        }
        out
    }
}

impl<'a> PodSignal<'a> for Termination<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    /// Events of a kill may still arrive; then the exit code is not the reason.
    fn settled(&self) -> Result<(), Timestamp> {
        if self.is_lost() || self.refusal().is_some() {
            return Ok(());
        }
        match end::settled_crash(self.case, self.container) {
            Err(Verdict::NotBefore(at)) => Err(at),
            _ => Ok(()),
        }
    }

    fn due(&self, _: &Matched) -> Result<(), Timestamp> {
        if self.is_lost() { lost::due(self.case, self.container, self.run) } else { Ok(()) }
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        let finding = end_evidence(self.container, self.run, finding);
        let finding = if self.is_lost() {
            finding.with_all(self.lost_evidence())
        } else if let Some(shortage) = self.shortage() {
            finding.with_all(self.shortage_evidence(shortage))
        } else if self.oom_killed() {
            finding.with_all(self.oom_evidence())
        } else if self.seccomp_killed() || !matches!(self.run.exit_code, 0 | 137 | 143) {
            finding.with_all(self.own_evidence())
        } else if self.run.exit_code == 0 {
            let finding = finding.with_all(self.own_evidence());
            let finding = if self.may_be_hook() {
                doubt::with_contradictions(self.case, self.container, self.run, finding)
            } else {
                finding
            };
            // Exit code 0 is a failure only for a container that should keep running, so there is no Job to consider.
            return Verdict::Yes(Box::new(finding));
        } else {
            let finding = finding.with_all(self.unexplained_evidence());
            doubt::with_contradictions(self.case, self.container, self.run, finding)
        };
        end::judged(self.case, finding)
    }
}

/// Whether the runtime reports every out-of-memory kill, as containerd does since 2.3.0.
fn reports_oom_reliably(case: &Case<'_>) -> bool {
    let version = case.node.and_then(|node| node.facts.runtime.strip_prefix("containerd://"));
    let mut parts =
        version.into_iter().flat_map(|v| v.trim_start_matches('v').split('.')).map_while(|p| p.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(2), Some(3))
}
