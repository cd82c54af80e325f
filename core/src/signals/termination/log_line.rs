//! Selects the line of a terminated run that explains its termination, from the termination message (with
//! `FallbackToLogsOnError` the last part of the log) and from the log, if reading it is allowed.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

mod feature;
mod prefix;
mod record;
mod special;
mod structured;
#[cfg(test)]
mod tests;

use self::feature::{Features, NOISE, is_error};
pub(crate) use self::prefix::bare;
use super::end;
use crate::api::Evidence;
pub(crate) use crate::case::Line;
use crate::case::{Case, evidence};
use crate::facts::{Container, LogKey, Lookup, Terminated};
use crate::message;
use crate::signals::mounted;

/// Maximum number of lines that are examined, from the last.
const MAX_LINES: usize = 60;

/// Prefixes of lines that follow an exception besides [`NOISE`].
const TRAILERS: [&str; 6] = ["... ", "^", "~", "#", "stack trace:", "thrown in "];
const INFO_LEVELS: [&str; 4] = ["INFO", "DEBUG", "TRACE", "note:"];

/// The line that explains the termination. The message in the status precedes the log, unless the log has a line that
/// names more: the message may be a last word of the program, such as `exiting`.
pub(crate) fn line<'a>(case: &Case<'a>, container: &Container, run: &'a Terminated) -> Option<Line> {
    case.line_of(run, || chosen(case, container, run))
}

fn chosen(case: &Case<'_>, container: &Container, run: &Terminated) -> Option<Line> {
    let of_status = record::decisive(&run.message);
    let of_log = case.surroundings.logs.get(&container.name).and_then(|log| record::decisive(log));
    let is_better = |log: &record::Chosen| of_status.as_ref().is_none_or(|status| log.score > status.score);
    match of_log.filter(is_better) {
        Some(chosen) => Some(Line { text: chosen.text, in_log: true }),
        None => of_status.map(|chosen| Line { text: chosen.text, in_log: false }),
    }
}

/// The line of an output that explains why the program that wrote it failed.
pub(crate) fn decisive(output: &str) -> Option<String> {
    record::decisive(output).map(|chosen| chosen.text)
}

/// The line of a terminated run, if it states a condition and its object: for a run that something else ended, such as a probe.
pub(crate) fn stated_error(case: &Case<'_>, container: &Container, run: &Terminated) -> Option<Line> {
    let is_stated = |features: Features| features.is_error && features.condition && features.object;
    line(case, container, run).filter(|line| is_stated(Features::of(&line.text, None)))
}

/// The lines that report an error, last first.
pub(crate) fn error_lines<'a>(
    case: &Case<'a>,
    container: &Container,
    run: &'a Terminated,
) -> impl Iterator<Item = Line> + use<'a> {
    let mut lines: Vec<_> = all(case, container, run).collect();
    lines.drain(..lines.len().saturating_sub(MAX_LINES));
    let chosen = lines.into_iter().rev().filter(|(line, _)| is_error(line));
    chosen.map(|(line, in_log)| Line { text: line.to_owned(), in_log })
}

/// The few lines above a line, the nearest first.
pub(crate) fn lines_above<'a>(
    case: &Case<'a>,
    container: &Container,
    run: &'a Terminated,
    line: &Line,
) -> impl Iterator<Item = Line> + use<'a> {
    const NEAR: usize = 5;
    let lines: Vec<_> = all(case, container, run).collect();
    let at = lines.iter().rposition(|(other, _)| !other.is_empty() && line.text.contains(other)).unwrap_or_default();
    let above = lines.into_iter().take(at).rev().take(NEAR);
    above.map(|(line, in_log)| Line { text: bare(line).to_owned(), in_log })
}

/// All known lines, in order.
pub(crate) fn all<'a>(
    case: &Case<'a>,
    container: &Container,
    run: &'a Terminated,
) -> impl Iterator<Item = (&'a str, bool)> {
    let log = case.surroundings.logs.get(&container.name).map_or("", |log| &**log);
    let trimmed = |words: &'a str, in_log| words.lines().map(move |line| (line.trim(), in_log));
    trimmed(&run.message, false).chain(trimmed(log, true))
}

/// Whether only stack frames and informational lines follow `line`. Then the program terminated because of it and did
/// not continue after it.
pub(crate) fn ends_log(case: &Case<'_>, container: &Container, run: &Terminated, line: &str) -> bool {
    // Python exits with 1 on an uncaught exception, and flushes its buffered stdout after the stack.
    const KEPT: usize = 5;
    let lines: Vec<_> = all(case, container, run).map(|(line, _)| line).collect();
    let below = lines.iter().rev().take_while(|other| other.is_empty() || !line.contains(**other));
    let others = below.filter(|line| !follows(line)).count();
    let of_python = || run.exit_code == 1 && lines.iter().any(|line| line.starts_with("Traceback (most recent call"));
    others == 0 || (others <= KEPT && of_python())
}

fn follows(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let is_rest = NOISE.iter().chain(&TRAILERS).any(|noise| lower.starts_with(noise));
    line.is_empty()
        || is_rest
        || INFO_LEVELS.iter().any(|level| line.contains(level))
        || Features::of(line, None).is_announcement()
}

/// Whether one of the few stack frames around the last `line` contains `part`, ignoring case.
pub(crate) fn has_frame_with(case: &Case<'_>, container: &Container, run: &Terminated, line: &str, part: &str) -> bool {
    const FRAME: usize = 3;
    let lines: Vec<_> = all(case, container, run).map(|(line, _)| line).collect();
    let Some(at) = lines.iter().rposition(|other| *other == line) else { return false };
    let above = lines.iter().take(at).skip(at.saturating_sub(FRAME));
    let below = lines.iter().skip(at + 1).take(FRAME).take_while(|frame| frame.starts_with("at "));
    above.chain(below).any(|frame| frame.to_ascii_lowercase().contains(part))
}

impl Line {
    /// Joins this line with another that gives more detail.
    pub(crate) fn after(self, above: &Self) -> Self {
        Self { text: format!("{} {}", above.text, self.text), ..self }
    }

    /// Formats the line for a summary: `: "..."`.
    fn quoted(&self, most: usize) -> String {
        format!(": \"{}\"", shown(&self.text, most))
    }

    pub(crate) fn evidence(&self, container: &Container) -> Evidence {
        source(container, &self.text, self.in_log)
    }
}

pub(crate) fn source(container: &Container, line: &str, in_log: bool) -> Evidence {
    if in_log {
        evidence::field(format!("log/{}", container.name), line)
    } else {
        evidence::field(format!("{}.message", container.last_end_path()), line)
    }
}

/// Advice that follows an error in the same line. An error names its object before it.
static ADVICE: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(ADVICES).ok());

const ADVICES: [&str; 22] = [
    ": make a backup ",
    ". Create ",
    ". Ensure ",
    ". Also ",
    ". To ",
    ". Please ",
    ". See ",
    ". Use ",
    ". You ",
    ". Ask ",
    ". Check ",
    ". Consider ",
    ". For more",
    "; for more information",
    ". Remove ",
    ". Available ",
    ". Try ",
    // ClickHouse
    ", Stack trace (when ",
    " from query ",
    // Laravel adds the query of the failed connection.
    " (Connection: ",
    " (SQL: ",
    " (valid values: ",
];

/// The message of a line, for a summary.
pub(crate) fn shown(line: &str, most: usize) -> String {
    let line = bare(line);
    let line = match ADVICE.as_ref().and_then(|advice| advice.find(line)).map(|advice| advice.start()) {
        Some(end) if end > 20 && !names_file_only_in(line, end) => line.get(..end).unwrap_or(line),
        _ => line,
    };
    message::error_line(line.trim_end_matches(':'), most)
}

/// Whether the advice from this place on names the file that the error is about, and the error itself names no object:
/// `A server is already running. Check /app/tmp/pids/server.pid.`
fn names_file_only_in(line: &str, end: usize) -> bool {
    let (error, advice) = line.split_at_checked(end).unwrap_or((line, ""));
    mounted::paths(advice).next().is_some() && !Features::of(error, None).object
}

/// Formats the decisive line for a summary: `: "..."`; empty if there is none.
pub(crate) fn quoted(case: &Case<'_>, container: &Container, run: &Terminated, most: usize) -> String {
    line(case, container, run).map_or_else(String::new, |line| line.quoted(most))
}

pub(crate) fn line_evidence(case: &Case<'_>, container: &Container, run: &Terminated) -> Option<Evidence> {
    line(case, container, run).map(|line| line.evidence(container))
}

/// Whether an uncaught exception of a managed runtime (.NET) terminated a run. The runtime then aborts itself, so it is
/// no crash of native code.
pub(crate) fn is_managed_exception(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    all(case, container, run).any(|(line, _)| line.starts_with("Unhandled exception. "))
}

/// Whether an uncaught exception or panic terminated a run, regardless of how the runtime exited.
pub(crate) fn is_uncaught_exception(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    const NATIVE: [&str; 2] = ["terminate called after throwing", "' panicked at "];
    let is_native = |line: &str| NATIVE.iter().any(|words| line.contains(words));
    is_managed_exception(case, container, run) || all(case, container, run).any(|(line, _)| is_native(line))
}

/// Returns the log lookup for a failed container: the log of a run that terminated by itself and left no message.
pub(crate) fn needed(case: &Case<'_>, container: &Container) -> Option<Lookup> {
    let run = end::crash(case, container).filter(|run| run.reason != end::OOM_KILLED)?;
    let is_silent = run.message.trim().is_empty();
    is_silent.then(|| LogKey::of(case.pod, container).map(|key| Lookup::Log(Box::new(key)))).flatten()
}
