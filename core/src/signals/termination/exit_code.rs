//! Descriptions of exit codes, signals and final log lines.

use super::end::display_name;
use super::log_line;
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{Container, Terminated, format_bytes};
use crate::language::{Language, phrase, translate};
use crate::message::windows;
use crate::signals::restarts;

/// A signal that a process causes itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

pub(crate) fn native_signal(language: Language, number: i32) -> Option<Signal> {
    let (name, meaning) = match number {
        4 => ("SIGILL", phrase!(language, "an instruction that this CPU does not know")),
        5 => ("SIGTRAP", phrase!(language, "a trap of its own")),
        6 => ("SIGABRT", phrase!(language, "it aborted itself")),
        7 => ("SIGBUS", phrase!(language, "memory behind a mapping was gone")),
        8 => ("SIGFPE", phrase!(language, "an arithmetic error")),
        11 => ("SIGSEGV", phrase!(language, "an invalid memory access")),
        13 => ("SIGPIPE", phrase!(language, "it wrote to a closed pipe")),
        31 => ("SIGSYS", phrase!(language, "a system call that seccomp forbids")),
        _ => return None,
    };
    Some(Signal { name, meaning })
}

/// The common meaning of an exit code.
fn meaning(language: Language, code: i32) -> Option<&'static str> {
    Some(match code {
        1 => phrase!(language, "general error"),
        2 => phrase!(language, "wrong usage, or a Go panic"),
        64 => phrase!(language, "wrong usage"),
        65 => phrase!(language, "bad input data"),
        66 => phrase!(language, "input missing"),
        69 => phrase!(language, "a service is unavailable"),
        70 => phrase!(language, "internal error"),
        71 => phrase!(language, "operating system error"),
        73 => phrase!(language, "cannot create a file"),
        74 => phrase!(language, "input/output error"),
        77 => phrase!(language, "permission denied"),
        78 => phrase!(language, "configuration error"),
        124 => phrase!(language, "timed out"),
        126 => phrase!(language, "a command is not executable"),
        127 => phrase!(language, "a command or library was not found"),
        128 => phrase!(language, "an invalid exit code"),
        129 => "SIGHUP",
        130 => "SIGINT",
        131 => "SIGQUIT",
        137 => "SIGKILL",
        143 => "SIGTERM",
        255 => phrase!(language, "exit(-1), or a file that cannot be executed"),
        _ => return None,
    })
}

/// The common meaning of the run's exit code, or the name of its signal.
pub(crate) fn meaning_of(language: Language, run: &Terminated) -> Option<&'static str> {
    let signal = || Some(native_signal(language, run.ending_signal()?)?.name);
    meaning(language, run.exit_code).or_else(signal)
}

/// A Windows status in words: `0xC0000135 STATUS_DLL_NOT_FOUND, a DLL is missing`.
pub(crate) fn windows_words(language: Language, code: i32) -> Option<String> {
    let status = windows::of_exit(code)?;
    Some(format!("{}, {}", status.title, language.of(status.meaning)))
}

/// Formats the exit code: `code 1 (general error)`.
pub(crate) fn ended_with(language: Language, run: &Terminated) -> String {
    let meaning = meaning_of(language, run).map(str::to_owned);
    match meaning.or_else(|| windows_words(language, run.exit_code)) {
        Some(meaning) => translate!(language, "code {code} ({meaning})", code = run.exit_code, meaning),
        None => translate!(language, "code {code}", code = run.exit_code),
    }
}

/// Formats the time: ` 9 s after each start`, with its leading space.
fn when(case: &Case<'_>, container: &Container) -> String {
    restarts::rhythm(case, container).map_or_else(String::new, |words| format!(" {words}"))
}

/// Formats the termination: `web exits with code 1 (general error) 3 s after each start: "..."; 7 restarts, back-off
/// 5m`.
pub(crate) fn ended(case: &Case<'_>, container: &Container, run: &Terminated) -> String {
    translate!(
        case,
        "{container} exits with {end}{when}{line}{tail}",
        container = display_name(container),
        end = ended_with(case.language(), run),
        when = when(case, container),
        line = log_line::quoted(case, container, run, 130),
        tail = restarts::tail(case, container)
    )
}

/// The container's memory limit, as evidence.
pub(crate) fn memory_limit(container: &Container) -> Evidence {
    evidence::field(
        format!("{}.resources.limits.memory", container.spec_path()),
        container.limits.memory.map_or_else(|| "none".to_owned(), format_bytes),
    )
}
