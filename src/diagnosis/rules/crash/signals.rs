//! Ends by a signal: of the process itself, or from a hand that nobody names.

use super::node_memory;
use crate::api::{Confidence, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, settled_crash, who};
use crate::diagnosis::signals::termination::exit_code::{self, go_back, log_remedy, memory_limit};
use crate::diagnosis::signals::termination::{blamed, doubt, end_evidence, hook, log_line};
use crate::diagnosis::{Case, Finding, Verdict, evidence, remedy, restarts};
use crate::facts::{Container, State, Terminated, format_bytes};

pub(super) fn native_crash(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) => run,
        Ok(None) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let Some(signal) = run.ending_signal().and_then(|number| exit_code::native_signal(case.language(), number)) else {
        return Verdict::No;
    };
    if end::is_seccomps(run) || log_line::is_of_managed_code(case, container, run) {
        return Verdict::No;
    }
    let name = who(container);
    let when = exit_code::when(case, container);
    let line = log_line::quoted(case, container, run, 80);
    let summary = say!(
        case,
        "{container} crashes with {signal} ({meaning}){when}{line}{tail}",
        container = name,
        signal = signal.name,
        meaning = signal.meaning,
        when,
        line,
        tail = restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary));
    end::judged(case, finding)
}

pub(super) fn native_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let signal = container.last_end().and_then(Terminated::ending_signal);
    let signal = signal.and_then(|number| exit_code::native_signal(case.language(), number));
    let mut remedies = vec![log_remedy(case, container)];
    remedies.extend(signal.map(|s| remedy::fix(s.advice)));
    remedies.extend(go_back(case));
    remedies
}

pub(super) fn sigkilled(case: &Case<'_>, container: &Container, suspect_memory: bool) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == 137 && matches!(run.reason.as_str(), "Error" | "") => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    if hook::ended_by_hook(case, container, run).is_some() || node_memory::is_to_blame(case, container, run) {
        return Verdict::No;
    }
    let suspect = container.limits.memory.is_some() && !reports_oom_reliably(case);
    if suspect != suspect_memory {
        return Verdict::No;
    }
    let name = who(container);
    let when = exit_code::when(case, container);
    let tail = restarts::tail(case, container);
    let limit = container.limits.memory.map(format_bytes);
    let summary = match limit.filter(|_| suspect) {
        Some(limit) => say!(
            case,
            "{name} gets SIGKILL (137){when}, not by a probe; perhaps its memory limit of {limit}, which the runtime did not report{tail}",
            name,
            when,
            limit,
            tail
        ),
        None if doubt::pre_stop_failed(case, container, run).is_some() => say!(
            case,
            "{name} was stopped by the kubelet and killed (137){when}, after its preStop hook failed; what for is not known{tail}",
            name,
            when,
            tail
        ),
        None => say!(
            case,
            "{name} gets SIGKILL (137){when}; neither memory, a probe nor a deletion is reported{tail}",
            name,
            when,
            tail
        ),
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
pub(super) fn reports_oom_reliably(case: &Case<'_>) -> bool {
    let version = case.node.and_then(|node| node.facts.runtime.strip_prefix("containerd://"));
    let mut parts =
        version.into_iter().flat_map(|v| v.trim_start_matches('v').split('.')).map_while(|p| p.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(2), Some(3))
}

pub(super) fn sigkill_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let mut remedies = vec![log_remedy(case, container)];
    if let Some(node) = &case.pod.node_name {
        remedies.push(remedy::fix(say!(
            case,
            "Look in the kernel log of {node} for `Out of memory: Killed process` at that time.",
            node
        )));
    }
    remedies.push(remedy::fix(phrase!(
        case,
        "Look for what sends SIGKILL inside the container: a supervisor, a watchdog, `kill -9`."
    )));
    remedies
}

pub(super) fn sigterm(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code == 143 => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    // Once is what a stop looks like.
    let ended_again = container.restart_count > 0 && matches!(container.state, State::Terminated(_));
    let looping = ended_again || container.restart_count > 1 || restarts::back_off(container).is_some();
    if case.pod.is_over() || !looping || hook::ended_by_hook(case, container, run).is_some() {
        return Verdict::No;
    }
    let summary = say!(
        case,
        "{container} ends on SIGTERM (143){when}, sent by neither a probe nor a deletion{tail}",
        container = who(container),
        when = exit_code::when(case, container),
        tail = restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(evidence::field("event/Killing", "none is known for this run"))
        .confidence(Confidence::Likely);
    end::judged(case, doubt::with_doubts(case, container, run, finding))
}

pub(super) fn sigterm_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    vec![
        log_remedy(case, container),
        remedy::fix(phrase!(
            case,
            "Look for what sends SIGTERM inside the container: a supervisor, a script's trap, `kill`, a timeout wrapper."
        )),
    ]
}
