//! Detects signs that a container was out of memory when SIGKILL ended it without a report of the runtime.

use super::{end, log_line};
use crate::case::Case;
use crate::facts::{Container, State, Terminated};
use crate::message::text;

/// Words of a log about a shortage of memory.
const WORDS: [&str; 9] = [
    "out of memory",
    "outofmemory",
    "cannot allocate memory",
    "can't allocate memory",
    "memory allocation",
    "memory limit",
    "low memory",
    "gc overhead",
    "memory pressure",
];

/// Lines at the end of a log that count.
const LAST_LINES: usize = 20;

/// Whether a line is about memory of the container, and not that of a GPU.
fn is_about_memory(line: &str) -> bool {
    text::has_any(line, &WORDS) && !text::has_any(line, &["cuda", "gpu"])
}

/// The sign, or an empty text.
pub(super) fn of(case: &Case<'_>, container: &Container, run: &Terminated) -> &'static str {
    let lines: Vec<&str> = log_line::all(case, container, run).map(|(line, _)| line).collect();
    if lines.iter().rev().take(LAST_LINES).any(|line| is_about_memory(line)) {
        return "log";
    }
    if case.ledger.of(&container.name).any(|past| &*past.reason == end::OOM_KILLED) {
        return "earlierRun";
    }
    let is_killed = |state: &State| matches!(state, State::Terminated(run) if run.reason == end::OOM_KILLED);
    let others = case.pod.containers.iter().filter(|other| other.name != container.name);
    let mut ends = others.filter(|other| {
        is_killed(&other.state) || other.last.as_ref().is_some_and(|last| last.reason == end::OOM_KILLED)
    });
    if ends.next().is_some() { "otherContainer" } else { "" }
}
