//! Containers that end: by a signal, by an exit code, by memory, or well where they should have gone on.

pub(super) mod command;
pub(super) mod doubt;
pub(super) mod end;
mod exit;
pub(super) mod last_words;
mod node_memory;
pub(super) mod said;
mod seccomp;
mod slow;
#[cfg(test)]
mod tests;

use self::end::{settled_crash, who};
pub(super) use self::exit::{ended, ended_with, log_remedy};
use crate::api::{Confidence, ContainerType, Remedy};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, restarts, target,
};
use crate::facts::{Container, Phase, ProbeKind, RestartPolicy, State, Terminated, after, format_bytes};

pub(super) const RULES: &[Rule] = &[
    node_memory::RULE,
    Rule {
        cause: "OOMKilled",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(oom_killed),
        remedies: oom_remedies,
        explain: Explain {
            meaning: "The kernel killed a process of the container because its memory ran out.",
            told_apart: "The runtime reports the reason OOMKilled from the cgroup's own counter; exit code 137 alone is no \
                         proof. With another exit code a child process was killed. Without a limit, the node ran short; where                          the Node says so too, it is OOMKilledByNode.",
            action: "Early in each run: the limit is too low for the start. After hours: look for a leak. Without a limit: \
                     set request and limit, and look at the node's memory.",
            source: "containerd internal/cri/server/events.go (TaskOOM); kernel memory cgroup, memory.events oom_kill",
        },
    },
    seccomp::RULE,
    Rule {
        cause: "NativeCrash",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(native_crash),
        remedies: native_remedies,
        explain: Explain {
            meaning: "The process was ended by a signal of its own making: an invalid access, an abort, a forbidden call.",
            told_apart: "Exit codes 132 to 136, 139, 141 and 159 stand for such signals. 137 (SIGKILL) and 143 (SIGTERM) come \
                         from outside and are other causes.",
            action: "Read the last lines of its log (stack trace, failed assertion). 132: the CPU lacks an instruction that \
                     the build uses. 135: /dev/shm may be full. 139: wrong libc or architecture, or a bug. 159: seccomp.",
            source: "kernel signals, as exit code 128 + n in containerd and runc",
        },
    },
    Rule {
        cause: "ExecFormatError",
        category: Category::Start,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| not_executed(case, c, "exec format error")),
        remedies: exec_format_remedies,
        explain: Explain {
            meaning: "The kernel cannot execute the container's program: it is built for another architecture, or it is a script \
                      without a first line that names its interpreter.",
            told_apart: "The run ends at once with 255 (or 1), and its last words are `exec /X: exec format error`. The container \
                         did start, so it is no StartError.",
            action: "Compare the image's architecture with the node's; build the image for both, or select fitting nodes. For a \
                     script add `#!/bin/sh` as its first line.",
            source: "runc libcontainer/standard_init_linux.go (execve after the start handshake)",
        },
    },
    Rule {
        cause: "InterpreterMissing",
        category: Category::Start,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| not_executed(case, c, "no such file or directory")),
        remedies: interpreter_remedies,
        explain: Explain {
            meaning: "The program is there, but what must load it is not: the interpreter of a script, or the loader of a binary.",
            told_apart: "The run ends at once, and its last words are `exec /X: no such file or directory`. Where the program itself \
                         is missing the container never starts (ExecutableNotFound).",
            action: "Check the first line of the script (also for Windows line ends), or use an image with the libc that the binary \
                     was built for (glibc on musl images is the usual case).",
            source: "runc libcontainer/standard_init_linux.go (execve after the start handshake)",
        },
    },
    Rule {
        cause: "ExitCommandNotFound",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| exit_code(case, c, 127)),
        remedies: |case, finding| script_remedies(case, finding, "is in the image and in $PATH"),
        explain: Explain {
            meaning: "A shell started, but the command that it should run does not exist (exit code 127).",
            told_apart: "The container did start: where the container's own command is missing, it is ExecutableNotFound and \
                         nothing ran. A loader that misses a shared library ends with 127 too.",
            action: "Read the log for the name that was not found; install it, or correct the script or PATH.",
            source: "POSIX shells: exit status 127; ld.so for a missing shared library",
        },
    },
    Rule {
        cause: "ExitCommandNotExecutable",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| exit_code(case, c, 126)),
        remedies: |case, finding| script_remedies(case, finding, "has its execute bit and is built for this machine"),
        explain: Explain {
            meaning: "A shell started, but the file that it should run cannot be executed (exit code 126).",
            told_apart: "The container did start: where the container's own command lacks the permission, it is \
                         ExecutablePermissionDenied and nothing ran.",
            action: "Set the execute bit in the image, check for a noexec mount and for the right architecture.",
            source: "POSIX shells: exit status 126",
        },
    },
    Rule {
        cause: "ContainerStatusUnknown",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| lost(case, c, "ContainerStatusUnknown")),
        remedies: lost_remedies,
        explain: Explain {
            meaning: "The kubelet no longer found the container when it had to report its end; the exit code is made up.",
            told_apart: "The reason is ContainerStatusUnknown with exit code 137 and no times. Nothing is known of a signal \
                         or of memory. An evicted pod has its own reason, which is then the cause.",
            action: "Look at the node: was it rebooted, cut off, or was the container removed by hand?",
            source: "kubernetes pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses; pkg/kubelet/status/status_manager.go",
        },
    },
    Rule {
        cause: "RuntimeLostExit",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| lost(case, c, "Unknown")),
        remedies: lost_remedies,
        explain: Explain {
            meaning: "The runtime lost the container, most often by a reboot or a restart of the runtime, and does not know \
                      how it ended.",
            told_apart: "The reason is Unknown with exit code 255 (or -1). A process that ends with 255 itself has the reason \
                         Error. Where the container runs again, it is no failure.",
            action: "Look for a reboot of the node at that time, and for why the container does not come back.",
            source: "containerd internal/cri/server/restart.go (unknownContainerStatus)",
        },
    },
    Rule {
        cause: "OOMReportedAsError",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| sigkilled(case, c, true)),
        remedies: oom_remedies,
        explain: Explain {
            meaning: "The container was killed with SIGKILL at an unknown hand; it has a memory limit, and its runtime is \
                      known to miss out-of-memory kills.",
            told_apart: "Exit code 137 with reason Error, a memory limit, no Killing Event of a probe, no deletion and no \
                         eviction. It is a suspicion: nothing proves it.",
            action: "Compare its memory use with the limit just before the end, and look for `Memory cgroup out of memory` \
                     in the node's kernel log.",
            source: "containerd before 2.3: the TaskOOM event may come after the exit (internal/cri/server/events.go)",
        },
    },
    Rule {
        cause: "SigKilledNotOom",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| sigkilled(case, c, false)),
        remedies: sigkill_remedies,
        explain: Explain {
            meaning: "The container was killed with SIGKILL, and the runtime does not say that memory was the reason.",
            told_apart: "Exit code 137 with reason Error: not OOMKilled, no Killing Event of a probe, no failed postStart hook, \
                         no SystemOOM of the node, no deletion, no eviction, no preemption. What sent the signal is not in the \
                         cluster's data; what speaks against an unknown hand (a failed preStop hook, a run as long as a \
                         probe allows) is listed as contradicting.",
            action: "Look in the node's kernel log for the out-of-memory killer, and for whoever kills processes there \
                     (a supervisor inside the container, an agent on the node).",
            source: "kernel SIGKILL, as exit code 137 in containerd and runc",
        },
    },
    Rule {
        cause: "SigTermExit",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(sigterm),
        remedies: sigterm_remedies,
        explain: Explain {
            meaning: "The container ends again and again on SIGTERM (exit code 143) that neither a probe nor a deletion sent.",
            told_apart: "No Killing Event explains it and the pod is not being deleted. Once alone it is normal and no \
                         finding.",
            action: "Find what sends it: a supervisor or script inside the container, a parent process that ends its \
                     children, or somebody on the node.",
            source: "kernel SIGTERM, as exit code 143 in containerd and runc",
        },
    },
    Rule {
        cause: "CompletedButRestarted",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(completed),
        remedies: completed_remedies,
        explain: Explain {
            meaning: "The container's main process ends with 0, but the pod's restart policy is Always, so it is started \
                      again with a growing back-off.",
            told_apart: "Reason Completed and exit code 0 under Always, with no Killing Event of a probe. Under OnFailure or \
                         Never the same end is a success.",
            action: "Keep the main process in the foreground (no `&`, no daemon mode). If it is a task that should end, run \
                     it as a Job.",
            source: "kubernetes pkg/kubelet/container/helpers.go ShouldContainerBeRestarted; kuberuntime_manager.go doBackOff",
        },
    },
    Rule {
        cause: "Exit255",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Umbrella,
        scope: Scope::Container(exit_255),
        remedies: app_remedies,
        explain: Explain {
            meaning: "The process ended with 255: exit(-1), or the kernel could not execute the file at all.",
            told_apart: "Reason Error. With the reason Unknown the runtime lost the container (RuntimeLostExit); with `exec \
                         format error` in its message it is ExecFormatError.",
            action: "Read its log. Where it ends at once with `exec ...: exec format error`, the image is for another \
                     architecture or the script lacks its first line (`#!`).",
            source: "the process itself; runc 1.2 and later for a failed execve (libcontainer/standard_init_linux.go)",
        },
    },
    Rule {
        cause: "AppError",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Umbrella,
        scope: Scope::Container(app_error),
        remedies: app_remedies,
        explain: Explain {
            meaning: "The process ended by itself with an error code.",
            told_apart: "Reason Error, an exit code that stands for no signal, and no Killing Event. What it means is the \
                         program's own business: its log tells.",
            action: "Read the log of the ended run. At once after each start it is configuration or a missing dependency; \
                     after a long run rather a bug or a lost connection.",
            source: "the process itself; kubernetes pkg/kubelet/kuberuntime for reason and message",
        },
    },
    slow::RULE,
];

fn oom_killed(case: &Case<'_>, container: &Container) -> Verdict {
    let Some(run) = end::crash(case, container).filter(|run| run.reason == end::OOM_KILLED) else {
        return Verdict::No;
    };
    if node_memory::is_to_blame(case, container, run) {
        return Verdict::No;
    }
    let who = who(container);
    let when = exit::when(case, container);
    let tail = restarts::tail(case, container);
    let is_child = run.exit_code != 137;
    let victim = if is_child { format!("a process in {who} was") } else { format!("{who} is") };
    let summary = match container.limits.memory {
        Some(limit) => format!("{victim} killed for memory at its limit of {}{when}{tail}", format_bytes(limit)),
        None => format!(
            "{victim} killed for memory{when}; it has no memory limit, so the node (or a limit of the pod) ran out{tail}"
        ),
    };
    let mut finding =
        end_evidence(container, run, Finding::of_container(container, summary)).with(memory_limit(container));
    if is_child {
        finding = finding.with(evidence::field(
            format!("{}.exitCode", container.last_end_path()),
            format!("{}: the main process was not the one killed", run.exit_code),
        ));
    }
    for probe in [ProbeKind::Liveness, ProbeKind::Startup] {
        if let Some(event) = end::killings(case, container, probe).find(|event| end::in_run(event, run)) {
            finding = finding.with(evidence::contradicting(evidence::event(event))).consequence(
                end::kill_cause(probe),
                Some(&container.name),
                "the probe failed in the same run, which is what a process short of memory looks like",
            );
            finding.confidence = Confidence::Likely;
        }
    }
    let otherwise =
        case.ledger.of(&container.name).filter(|past| &*past.reason != end::OOM_KILLED && past.exit_code != 0).count();
    if otherwise > 0 {
        finding = finding.with(evidence::field(
            "status.restarts.history",
            format!("{otherwise} of the known runs ended otherwise than OOMKilled"),
        ));
    }
    // The main process did its work all the same.
    if run.exit_code == 0 && case.pod.phase == Phase::Succeeded {
        finding = finding.noted();
    }
    end::judged(case, finding)
}

fn memory_limit(container: &Container) -> crate::api::Evidence {
    evidence::field(
        format!("{}.resources.limits.memory", container.spec_path()),
        container.limits.memory.map_or_else(|| "none".to_owned(), format_bytes),
    )
}

fn oom_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let target = target::of(case);
    let mut remedies = Vec::new();
    let short_runs = container.last_end().and_then(Terminated::ran_for).is_some_and(|ran| ran < 120);
    match container.limits.memory {
        Some(limit) => {
            let raised = format_bytes(limit.saturating_mul(2));
            let text = if short_runs {
                format!("{} needs more than {} to start. Raise its memory limit.", container.name, format_bytes(limit))
            } else {
                format!("Raise the memory limit of {} (now {}).", container.name, format_bytes(limit))
            };
            let fields = format!("resources:\n  requests:\n    memory: {raised}\n  limits:\n    memory: {raised}\n");
            remedies.push(target.with_container_patch(remedy::fix(text), Some(container), &fields));
        }
        None => remedies.push(remedy::fix(format!(
            "Set a memory request and limit for {}, so that it is placed where memory is and not killed for others.",
            container.name
        ))),
    }
    if !short_runs {
        remedies.push(remedy::fix("Look for a leak: it ran well for a while before memory ran out."));
    }
    remedies.push(remedy::fix(
        "Tell the runtime of its language about the limit (Java -XX:MaxRAMPercentage, Node --max-old-space-size, GOMEMLIMIT), or \
         run fewer workers.",
    ));
    remedies.push(log_remedy(case, container));
    remedies
}

fn native_crash(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) => run,
        Ok(None) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let Some(signal) = run.ending_signal().and_then(exit::native_signal) else { return Verdict::No };
    if seccomp::is_to_blame(run) {
        return Verdict::No;
    }
    let name = who(container);
    let when = exit::when(case, container);
    let line = last_words::quoted(case, container, run, 80);
    let summary = format!(
        "{name} crashes with {} ({}){when}{line}{}",
        signal.name,
        signal.meaning,
        restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary));
    end::judged(case, finding)
}

fn native_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let signal = container.last_end().and_then(Terminated::ending_signal).and_then(exit::native_signal);
    let mut remedies = vec![log_remedy(case, container)];
    remedies.extend(signal.map(|s| remedy::fix(s.advice)));
    let target = target::of(case);
    if let Some(undo) = target.undo_command() {
        remedies.push(remedy::command(
            remedy::mitigate("If it began with a new version, go back to the one before."),
            undo,
        ));
    }
    remedies
}

fn exit_code(case: &Case<'_>, container: &Container, code: i32) -> Verdict {
    match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == code && run.reason != end::OOM_KILLED => {
            let finding = Finding::of_container(container, ended(case, container, run));
            end::judged(
                case,
                end_evidence(container, run, finding).with_all(last_words::line_evidence(case, container, run)),
            )
        }
        Ok(_) => Verdict::No,
        Err(not_yet) => not_yet,
    }
}

/// A program that the kernel refused to execute once the container was there: its only words are `exec /X: ...`.
fn not_executed(case: &Case<'_>, container: &Container, refusal: &str) -> Verdict {
    let Some(run) = end::crash(case, container).filter(|run| matches!(run.exit_code, 1 | 255)) else {
        return Verdict::No;
    };
    let mut lines = last_words::all(case, container, run);
    let Some((said, in_log)) = lines.find(|(line, _)| is_refusal(line, refusal)) else {
        return Verdict::No;
    };
    let own_program = container.command.first().map_or("its program", String::as_str);
    let program =
        said.strip_prefix("exec ").and_then(|rest| rest.rsplit_once(": ")).map_or(own_program, |(path, _)| path);
    let what = if refusal.starts_with("exec") {
        "is not built for this machine, or is a script without #! line"
    } else {
        "is there, but its interpreter or loader is not"
    };
    let arch = case.node.and_then(|node| node.facts.labels.get("kubernetes.io/arch"));
    let on = arch.map_or_else(String::new, |arch| format!(" (node: {arch})"));
    let summary = format!("{} cannot run: {program} {what}{on}{}", who(container), restarts::tail(case, container));
    let finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(last_words::source(container, said, in_log))
        .with_all(arch.map(|arch| evidence::field("node/metadata.labels[kubernetes.io/arch]", arch)));
    end::judged(case, finding)
}

/// Whether a line is runc's own word that the program could not be executed: `exec /X: exec format error`, and before
/// runc 1.1 `standard_init_linux.go:228: exec user process caused: exec format error`, with or without quotes.
fn is_refusal(line: &str, refusal: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let Some(cause) = lower.trim_end_matches('"').strip_suffix(refusal) else { return false };
    let cause = cause.trim_end_matches('"').trim_end();
    (lower.starts_with("exec ") && cause.ends_with(':'))
        || (lower.starts_with("standard_init_linux.go:")
            && cause.trim_end_matches(':').ends_with("exec user process caused"))
}

fn exec_format_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let arch = case.node.and_then(|node| node.facts.labels.get("kubernetes.io/arch"));
    let arch = arch.map_or("the node's architecture", String::as_str);
    vec![
        remedy::fix(format!("Use an image of {} that is built for {arch}.", container.image)),
        remedy::fix("If the program is a script, let its first line name the interpreter (#!/bin/sh)."),
    ]
}

fn interpreter_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    vec![
        remedy::fix(format!(
            "Check the first line of the script in {}: the interpreter must be in the image, and the line must not end with a \
             carriage return.",
            container.name
        )),
        remedy::fix("For a binary, build it for the image's libc (static, or musl for Alpine)."),
    ]
}

fn script_remedies(case: &Case<'_>, finding: &Finding, check: &str) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    vec![
        log_remedy(case, container),
        remedy::fix(format!("Check that what {}'s script calls {check}.", container.name)),
    ]
}

/// Ends that the runtime or the kubelet did not see.
fn lost(case: &Case<'_>, container: &Container, reason: &str) -> Verdict {
    let Some(run) = end::counted(case, container).filter(|run| run.reason == reason) else { return Verdict::No };
    if container.is_running() || (reason == "Unknown" && !matches!(run.exit_code, 255 | -1)) {
        return Verdict::No;
    }
    // After a reboot all containers of a node look like this for a moment.
    let restarted =
        container.effective_restart_policy(case.pod.restart_policy) != RestartPolicy::Never && !case.pod.is_over();
    if restarted {
        let due = after(case.held_since(run.finished_at), case.thresholds.creating);
        // In a snapshot nobody will see whether it comes back, and the kubelet puts off only what has ended before.
        let is_put_off = container.waiting().is_some_and(|(reason, _)| reason == "CrashLoopBackOff");
        if case.now < due && (case.thresholds.patient || !is_put_off) {
            return Verdict::NotBefore(due);
        }
    }
    let who = who(container);
    let summary = if restarted {
        format!(
            "the runtime lost {who}, most likely when its node or runtime restarted, and it has not come back since"
        )
    } else {
        format!("the runtime lost {who}, most likely when its node or runtime restarted; how it ended is not known")
    };
    let mut finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with_all(last_words::line_evidence(case, container, run));
    if reason == "ContainerStatusUnknown" {
        finding = finding.with(evidence::contradicting(evidence::field(
            format!("{}.exitCode", container.last_end_path()),
            format!("{} is the kubelet's placeholder: no signal, and nothing about memory", run.exit_code),
        )));
    }
    end::judged(case, finding)
}

fn lost_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if let Some(node) = &case.pod.node_name {
        remedies.push(remedy::command(
            remedy::fix("See whether the node was rebooted or its runtime restarted."),
            format!("kubectl describe node {node}"),
        ));
    }
    remedies.push(remedy::command(
        remedy::fix("Delete the pod, so that a new one is made (a bare pod must be applied again)."),
        format!("kubectl -n {} delete pod {}", case.pod.key.namespace, case.pod.key.name),
    ));
    remedies
}

fn sigkilled(case: &Case<'_>, container: &Container, suspect_memory: bool) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == 137 && matches!(run.reason.as_str(), "Error" | "") => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    if doubt::post_start_failed(case, container, run) || node_memory::is_to_blame(case, container, run) {
        return Verdict::No;
    }
    let suspect = container.limits.memory.is_some() && !reports_oom_reliably(case);
    if suspect != suspect_memory {
        return Verdict::No;
    }
    let name = who(container);
    let when = exit::when(case, container);
    let tail = restarts::tail(case, container);
    let limit = container.limits.memory.map(format_bytes);
    let summary = match limit.filter(|_| suspect) {
        Some(limit) => format!(
            "{name} gets SIGKILL (137){when}, not by a probe; perhaps its memory limit of {limit}, which the runtime did not report{tail}"
        ),
        None if doubt::pre_stop_failed(case, container, run).is_some() => format!(
            "{name} was stopped by the kubelet and killed (137){when}, after its preStop hook failed; what for is not known{tail}"
        ),
        None => format!("{name} gets SIGKILL (137){when}; neither memory, a probe nor a deletion is reported{tail}"),
    };
    let mut finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(evidence::field("event/Killing", "none is known for this run"))
        .with(memory_limit(container));
    finding.confidence = if suspect { Confidence::Possible } else { Confidence::Likely };
    if suspect {
        finding = finding.with(evidence::contradicting(evidence::field(
            format!("{}.reason", container.last_end_path()),
            "Error, not OOMKilled",
        )));
        if let Some(node) = case.node {
            finding = finding.with(evidence::field(
                format!("node/{}.status.nodeInfo.containerRuntimeVersion", node.facts.name),
                &node.facts.runtime,
            ));
        }
    }
    end::judged(case, doubt::with_doubts(case, container, run, finding))
}

/// containerd reports every out-of-memory kill since 2.3.0.
fn reports_oom_reliably(case: &Case<'_>) -> bool {
    let version = case.node.and_then(|node| node.facts.runtime.strip_prefix("containerd://"));
    let mut parts =
        version.into_iter().flat_map(|v| v.trim_start_matches('v').split('.')).map_while(|p| p.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(2), Some(3))
}

fn sigkill_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let mut remedies = vec![log_remedy(case, container)];
    if let Some(node) = &case.pod.node_name {
        remedies.push(remedy::fix(format!(
            "Look in the kernel log of {node} for `Out of memory: Killed process` at that time."
        )));
    }
    remedies
        .push(remedy::fix("Look for what sends SIGKILL inside the container: a supervisor, a watchdog, `kill -9`."));
    remedies
}

fn sigterm(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == 143 => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    // Once is what a stop looks like.
    let ended_again = container.restart_count > 0 && matches!(container.state, State::Terminated(_));
    let looping = ended_again || container.restart_count > 1 || restarts::back_off(container).is_some();
    if case.pod.is_over() || !looping || doubt::post_start_failed(case, container, run) {
        return Verdict::No;
    }
    let summary = format!(
        "{} ends on SIGTERM (143){}, sent by neither a probe nor a deletion{}",
        who(container),
        exit::when(case, container),
        restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(evidence::field("event/Killing", "none is known for this run"))
        .confidence(Confidence::Likely);
    end::judged(case, doubt::with_doubts(case, container, run, finding))
}

fn sigterm_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    vec![
        log_remedy(case, container),
        remedy::fix(
            "Look for what sends SIGTERM inside the container: a supervisor, a script's trap, `kill`, a timeout wrapper.",
        ),
    ]
}

fn completed(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == 0 && run.reason != end::OOM_KILLED => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let why = command::why_it_ended(container).map_or_else(String::new, |why| format!(": {why}"));
    let summary = format!(
        "{} ends with 0 (Completed){}, but restartPolicy Always starts it again{why}{}",
        who(container),
        exit::when(case, container),
        restarts::tail(case, container)
    );
    let mut finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(evidence::field("spec.restartPolicy", "Always"));
    if let Some(shown) = command::shown(container) {
        finding = finding.with(evidence::field(format!("{}.command", container.spec_path()), shown));
    }
    Verdict::Yes(Box::new(finding))
}

fn completed_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let mut remedies = Vec::new();
    if let Some(advice) = command::advice(container) {
        remedies.push(remedy::fix(advice));
    }
    remedies.push(remedy::fix(format!(
        "Run the server in {} in the foreground, as the container's main process: not in the background (`&`), not as a daemon, \
         last in its script and started with `exec`.",
        container.name
    )));
    remedies.push(remedy::fix(
        "If it is a task that should end, make it a Job (or a CronJob): they take exit code 0 for success.",
    ));
    remedies.push(log_remedy(case, container));
    remedies
}

fn exit_255(case: &Case<'_>, container: &Container) -> Verdict {
    own_error(case, container, |code| code == 255)
}

fn app_error(case: &Case<'_>, container: &Container) -> Verdict {
    // 137 and 143 have rules of their own, with an eye for who sent the signal.
    own_error(case, container, |code| !matches!(code, 0 | 137 | 143 | 255))
}

/// An end by the process's own code. Init containers and pods that are not restarted have their own rules.
fn own_error(case: &Case<'_>, container: &Container, is_mine: fn(i32) -> bool) -> Verdict {
    if container.kind == ContainerType::Init || end::has_ended_its_pod(case, container) {
        return Verdict::No;
    }
    match settled_crash(case, container) {
        Ok(Some(run)) if is_mine(run.exit_code) && !is_lost(run) => {
            let never = container.effective_restart_policy(case.pod.restart_policy) == RestartPolicy::Never;
            let stays_ended = never && !container.has_restart_rules && matches!(container.state, State::Terminated(_));
            let tail = if stays_ended { "; it is not started again, and the others run on" } else { "" };
            let finding = Finding::of_container(container, format!("{}{tail}", ended(case, container, run)));
            end::judged(
                case,
                end_evidence(container, run, finding).with_all(last_words::line_evidence(case, container, run)),
            )
        }
        Ok(_) => Verdict::No,
        Err(not_yet) => not_yet,
    }
}

fn is_lost(run: &Terminated) -> bool {
    matches!(run.reason.as_str(), "Unknown" | "ContainerStatusUnknown")
}

fn app_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let mut remedies = vec![log_remedy(case, container)];
    let ran = container.last_end().and_then(Terminated::ran_for);
    if ran.is_some_and(|seconds| seconds < 10) {
        remedies.push(remedy::fix(
            "It ends at once: check its arguments, environment and config files, and that what it needs can be reached.",
        ));
    }
    if let Some(undo) = target::of(case).undo_command() {
        remedies.push(remedy::command(
            remedy::mitigate("If it began with a new version, go back to the one before."),
            undo,
        ));
    }
    remedies
}

/// Reason, exit code and uptime of a run, with their paths.
pub(super) fn end_evidence(container: &Container, run: &Terminated, finding: Finding) -> Finding {
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

/// The container that a finding blames.
pub(super) fn blamed<'c>(case: &Case<'c>, finding: &Finding) -> Option<&'c Container> {
    case.pod.container(finding.container.as_deref()?)
}
