//! Ends by the kernel's hand, for memory at the container's own limit or without one.

use super::node_memory;
use crate::api::{Confidence, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, who};
use crate::diagnosis::signals::termination::exit_code::{self, log_remedy, memory_limit};
use crate::diagnosis::signals::termination::{blamed, end_evidence};
use crate::diagnosis::{Case, Finding, Verdict, evidence, remedy, restarts, target};
use crate::facts::{Container, Phase, ProbeKind, Terminated, format_bytes};

pub(super) fn oom_killed(case: &Case<'_>, container: &Container) -> Verdict {
    let Some(run) = end::crash(case, container).filter(|run| run.reason == end::OOM_KILLED) else {
        return Verdict::No;
    };
    if node_memory::is_to_blame(case, container, run) {
        return Verdict::No;
    }
    let who = who(container);
    let when = exit_code::when(case, container);
    let tail = restarts::tail(case, container);
    let is_child = run.exit_code != 137;
    let victim = if is_child { say!(case, "a process in {who} was", who) } else { say!(case, "{who} is", who) };
    let summary = match container.limits.memory {
        Some(limit) => say!(
            case,
            "{victim} killed for memory at its limit of {limit}{when}{tail}",
            victim,
            limit = format_bytes(limit),
            when,
            tail
        ),
        None => say!(
            case,
            "{victim} killed for memory{when}; it has no memory limit, so the node (or a limit of the pod) ran out{tail}",
            victim,
            when,
            tail
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
                phrase!(case, "the probe failed in the same run, which is what a process short of memory looks like"),
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

pub(super) fn oom_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let target = target::of(case);
    let mut remedies = Vec::new();
    let short_runs = container.last_end().and_then(Terminated::ran_for).is_some_and(|ran| ran < 30);
    match container.limits.memory {
        Some(limit) => {
            let raised = format_bytes(limit.saturating_mul(2));
            let text = if short_runs {
                say!(case, "{container} needs more than {limit} to start. Raise its memory limit.", container = container.name, limit = format_bytes(limit))
            } else {
                say!(case, "Raise the memory limit of {container} (now {limit}).", container = container.name, limit = format_bytes(limit))
            };
            let fields = format!("resources:\n  requests:\n    memory: {raised}\n  limits:\n    memory: {raised}\n");
            remedies.push(target.with_container_patch(remedy::fix(text), Some(container), &fields));
        }
        None => remedies.push(remedy::fix(say!(case, "Set a memory request and limit for {container}, so that it is placed where memory is and not killed for others.", container = container.name))),
    }
    if !short_runs {
        remedies.push(remedy::fix(phrase!(case, "Look for a leak: it ran well for a while before memory ran out.")));
    }
    remedies.push(remedy::fix(
        phrase!(case, "Tell the runtime of its language about the limit (Java -XX:MaxRAMPercentage, Node --max-old-space-size, GOMEMLIMIT), or run fewer workers."),
    ));
    remedies.push(log_remedy(case, container));
    remedies
}
