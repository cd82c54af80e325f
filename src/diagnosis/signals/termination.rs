//! How a container terminated: the exit code, the signal, what killed it, and what it logged last.

pub(crate) mod command;
pub(crate) mod doubt;
pub(crate) mod end;
pub(crate) mod exit_code;
pub(crate) mod hook;
pub(crate) mod log_line;

use crate::diagnosis::{Case, Finding, evidence};
use crate::facts::{Container, State, Terminated};

/// Reason, exit code and uptime of a run, with their paths.
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

/// The container that a finding blames.
pub(crate) fn blamed<'c>(case: &Case<'c>, finding: &Finding) -> Option<&'c Container> {
    case.pod.container(finding.container.as_deref()?)
}
