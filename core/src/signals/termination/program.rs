//! Programs that the kernel or the dynamic linker refuses to start in a created container.

use super::{library, log_line};
use crate::case::Case;
use crate::facts::{Container, Terminated};

/// Errors with which the kernel refuses to execute a program.
const REFUSALS: [&str; 2] = ["exec format error", "no such file or directory"];

/// The log line of runc for a program that the kernel did not execute.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal<'a> {
    pub(super) error: &'static str,
    pub(super) line: &'a str,
    pub(super) in_log: bool,
}

impl<'a> Refusal<'a> {
    /// The program in the line.
    pub(super) fn program(&self) -> Option<&'a str> {
        let (path, _) = self.line.strip_prefix("exec ")?.rsplit_once(": ")?;
        Some(path)
    }
}

pub(super) fn refusal<'a>(case: &Case<'a>, container: &Container, run: &'a Terminated) -> Option<Refusal<'a>> {
    if !matches!(run.exit_code, 1 | 255) {
        return None;
    }
    log_line::all(case, container, run).find_map(|(line, in_log)| {
        let error = REFUSALS.into_iter().find(|error| is_refusal(line, error))?;
        Some(Refusal { error, line, in_log })
    })
}

/// Whether a line is runc's own error for a program that could not be executed: `exec /X: exec format error`, and
/// before runc 1.1 `standard_init_linux.go:228: exec user process caused: exec format error`, with or without quotes.
fn is_refusal(line: &str, refusal: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let Some(cause) = lower.trim_end_matches('"').strip_suffix(refusal) else { return false };
    let cause = cause.trim_end_matches('"').trim_end();
    (lower.starts_with("exec ") && cause.ends_with(':'))
        || (lower.starts_with("standard_init_linux.go:")
            && cause.trim_end_matches(':').ends_with("exec user process caused"))
}

/// What the dynamic linker did not find: `cLibrary` (a version of it), `sharedLibrary`, or empty.
pub(super) fn missing_library(case: &Case<'_>, container: &Container, run: &Terminated) -> &'static str {
    let line = log_line::line(case, container, run);
    match line.as_ref().and_then(|line| library::missing(&line.text)) {
        Some(library) if library.is_version => "cLibrary",
        Some(_) => "sharedLibrary",
        None => "",
    }
}
