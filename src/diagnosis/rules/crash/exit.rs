//! Exit codes, signals and last words, for people.

use super::end::who;
use super::last_words;
use crate::api::{Evidence, Remedy};
use crate::diagnosis::{Case, evidence, remedy, restarts, target, undo};
use crate::facts::{Container, Terminated, format_bytes};

/// A signal that a process brings upon itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signal {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) advice: &'static str,
}

pub(super) fn native_signal(number: i32) -> Option<Signal> {
    let (name, meaning, advice) = match number {
        4 => (
            "SIGILL",
            "an instruction that this CPU does not know",
            "Use a build for this node's CPU (no AVX-512 or newer x86-64 level than it has), or move the pod to other nodes.",
        ),
        5 => (
            "SIGTRAP",
            "a trap of its own",
            "Its runtime hit a check of its own (V8, Swift, a debugger trap): read the last lines of the log.",
        ),
        6 => (
            "SIGABRT",
            "it aborted itself",
            "A failed assertion, an uncaught exception, or its language's heap limit (Node: JavaScript heap out of memory): the log's last lines say which.",
        ),
        7 => (
            "SIGBUS",
            "memory behind a mapping was gone",
            "Check /dev/shm (64 MiB unless an emptyDir with medium Memory is mounted there) and the disk behind mapped files: full is the usual reason.",
        ),
        8 => (
            "SIGFPE",
            "an arithmetic error",
            "A division by zero or overflow in native code: read the stack trace in the log.",
        ),
        11 => (
            "SIGSEGV",
            "an invalid memory access",
            "A bug in native code, or a library of another libc (musl and glibc mixed): get a core dump or try the version before.",
        ),
        13 => (
            "SIGPIPE",
            "it wrote to a closed pipe",
            "The reader of its output went away: handle SIGPIPE, or keep the reader alive.",
        ),
        31 => (
            "SIGSYS",
            "a system call that seccomp forbids",
            "Its seccomp profile forbids a call that it makes: use RuntimeDefault or a profile that allows it.",
        ),
        _ => return None,
    };
    Some(Signal { name, meaning, advice })
}

/// What an exit code commonly stands for.
pub(super) fn meaning(code: i32) -> Option<&'static str> {
    Some(match code {
        1 => "general error",
        2 => "wrong usage, or a Go panic",
        64 => "wrong usage",
        65 => "bad input data",
        66 => "input missing",
        69 => "a service is unavailable",
        70 => "internal error",
        71 => "operating system error",
        73 => "cannot create a file",
        74 => "input/output error",
        77 => "permission denied",
        78 => "configuration error",
        124 => "timed out",
        126 => "a command is not executable",
        127 => "a command or library was not found",
        128 => "an invalid exit code",
        129 => "SIGHUP",
        130 => "SIGINT",
        131 => "SIGQUIT",
        137 => "SIGKILL",
        143 => "SIGTERM",
        255 => "exit(-1), or a file that cannot be executed",
        _ => return None,
    })
}

/// `code 1 (general error)`.
pub(in crate::diagnosis::rules) fn ended_with(run: &Terminated) -> String {
    let signal = run.ending_signal().and_then(native_signal).map(|s| s.name);
    match meaning(run.exit_code).or(signal) {
        Some(meaning) => format!("code {} ({meaning})", run.exit_code),
        None => format!("code {}", run.exit_code),
    }
}

/// ` 9 s after each start`, with its leading space.
pub(super) fn when(case: &Case<'_>, container: &Container) -> String {
    restarts::rhythm(case, container).map_or_else(String::new, |words| format!(" {words}"))
}

/// `web exits with code 1 (general error) 3 s after each start: "..."; 7 restarts, back-off 5m`.
pub(in crate::diagnosis::rules) fn ended(case: &Case<'_>, container: &Container, run: &Terminated) -> String {
    format!(
        "{} exits with {}{}{}{}",
        who(container),
        ended_with(run),
        when(case, container),
        last_words::quoted(case, container, run, 80),
        restarts::tail(case, container)
    )
}

/// How to read what the ended run wrote.
pub(in crate::diagnosis::rules) fn log_remedy(case: &Case<'_>, container: &Container) -> Remedy {
    // The run that ended is the present one until the container is started again; a first run has none before it.
    let is_first = container.is_running() && container.last.is_none();
    let is_over = matches!(container.state, crate::facts::State::Terminated(_));
    let previous = if is_first || is_over { "" } else { " --previous" };
    remedy::command(
        remedy::fix(format!("Read the last lines that {} wrote.", container.name)),
        format!(
            "{} logs {} -c {}{previous} --tail=50",
            target::of(case).command_prefix(),
            case.pod.key.name,
            container.name
        ),
    )
}

/// For a failure that a rollout may have brought.
pub(super) fn go_back(case: &Case<'_>) -> Option<Remedy> {
    undo::of_pod(case, "If it began with a new version,")
}

/// What the container may use, as evidence.
pub(super) fn memory_limit(container: &Container) -> Evidence {
    evidence::field(
        format!("{}.resources.limits.memory", container.spec_path()),
        container.limits.memory.map_or_else(|| "none".to_owned(), format_bytes),
    )
}
