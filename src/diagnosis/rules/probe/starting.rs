//! A container that its startup probe neither lets in nor kills.

use super::words::trouble;
use super::{STARTUP, describe};
use crate::api::Remedy;
use crate::diagnosis::language::say;
use crate::diagnosis::signals::termination::end;
use crate::diagnosis::target::Target;
use crate::diagnosis::{Case, Finding, Verdict, evidence, remedy, text};
use crate::facts::{Container, Probe, ProbeKind, State, after};

/// A startup probe that is past its budget because it cannot be run, or that still has tries where its Deployment has none.
pub(super) fn never_started(case: &Case<'_>, container: &Container) -> Verdict {
    let (State::Running { started_at }, Some(probe)) = (&container.state, container.startup.as_deref()) else {
        return Verdict::No;
    };
    if container.started != Some(false) || case.pod.deletion.is_some() || case.pod.is_over() {
        return Verdict::No;
    }
    let errored = end::errored(case, container, ProbeKind::Startup);
    let failed = || end::unhealthy(case, container, ProbeKind::Startup).filter(|_| case.surroundings.is_given_up);
    let Some(event) = errored.or_else(failed) else { return Verdict::No };
    let patience = case.patience(STARTUP, case.never_ready(STARTUP) + probe.budget());
    let due = after(case.held_since(*started_at), patience);
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let what = describe(case.language(), container, Some(probe), Some(&trouble(&event.message)));
    let who = end::who(container);
    let summary = match errored {
        Some(_) => say!(
            case,
            "{container} runs but never counts as started: its startup probe has no result{what}, so the pod gets no traffic",
            container = who,
            what
        ),
        None => say!(
            case,
            "{who} has not started: its startup probe fails{what} and may do so for {budget}; its Deployment has already stopped waiting",
            who,
            what,
            budget = text::duration(probe.budget())
        ),
    };
    let finding = Finding::of_container(container, summary)
        .goes_on()
        .with(evidence::event(event))
        .with(evidence::field(format!("{}.started", container.status_path()), "false"));
    Verdict::Yes(Box::new(finding))
}

/// What lets a Deployment wait for as long as the probe does.
pub(super) fn longer(target: &Target, container: &Container, probe: &Probe) -> Remedy {
    let budget = probe.budget();
    let text = say!(
        target,
        "If {container} only needs long to start, let the Deployment wait for longer than the {budget} s of its startup probe: progressDeadlineSeconds.",
        container = container.name,
        budget
    );
    let seconds = budget.saturating_mul(2).max(DEADLINE);
    let patch = format!("spec:\n  progressDeadlineSeconds: {seconds}\n");
    let command = target.patch_command(&patch);
    if target.is_patchable() {
        remedy::patch(remedy::command(remedy::fix(text), command), patch)
    } else {
        remedy::fix(text)
    }
}

/// Kubernetes' own progressDeadlineSeconds.
const DEADLINE: i64 = 600;
