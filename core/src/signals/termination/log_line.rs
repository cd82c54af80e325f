//! Selects the line of a terminated run that explains its termination, from the termination message (with
//! `FallbackToLogsOnError` the last part of the log) and from the log, if reading it is allowed.

use std::sync::LazyLock;

use regex::Regex;

use super::end;
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{Container, LogKey, Lookup, Terminated};
use crate::message;

/// Maximum number of lines that are examined, from the last.
const MAX_LINES: usize = 60;

/// Markers of a line that reports a failure.
const ERROR_MARKERS: [&str; 42] = [
    "error",
    "fatal",
    "panic",
    "exception",
    "failed",
    "failure",
    "cannot",
    "can't",
    "could not",
    "unable to",
    "denied",
    "refused",
    "not found",
    "no such",
    "no module",
    "no route",
    "in use",
    "out of memory",
    "heap space",
    "insufficient memory",
    "too low",
    "temporarily unavailable",
    "too many open files",
    "no space left",
    "read-only",
    "not set",
    "must be set",
    "unbound variable",
    "not specified",
    "missing",
    "required",
    "timed out",
    "timeout occurred",
    "bad address",
    "can't reach",
    "not defined",
    "unknown ",
    "unrecognized",
    "already running",
    "invalid",
    "illegal",
    "forbidden",
];

/// Prefixes of lines with such a marker but no information: stack frames, and wrappers of another failure.
const NOISE: [&str; 20] = [
    "at ",
    "from ",
    "goroutine ",
    "panic(",
    "created by ",
    "throw ",
    "npm err!",
    "npm error",
    "nginx: configuration file ",
    "--- end of",
    "node.js v",
    "emitted 'error' event",
    "error command failed with exit code",
    "error: command failed with exit code",
    "code: ",
    "codename: ",
    "errno: ",
    "note: run with",
    "exit status ",
    "(background on this error at",
];

/// Messages of launchers and supervisors about the termination of another program, which has logged the reason before;
/// and references to further documentation.
const SUPERVISOR_MESSAGES: [&str; 33] = [
    "for further information visit",
    "an error report file with more information",
    "worker failed to boot",
    "shutting down: master",
    "exited with code",
    "did not exit normally",
    "exited unexpectedly, with exit code",
    "for more details run the same command",
    "fpm initialization failed",
    "failed to post process the configuration",
    "failed to load configuration file '/usr/local/etc/php-fpm.conf'",
    "unable to create mmap-ed active query log",
    "application run failed",
    "aborted (core dumped)",
    "to see the full stack trace",
    "failed to start component",
    "exiting due to fatal exception",
    "aborting startup due to",
    "could not create the java virtual machine",
    "a fatal exception has occurred",
    "still could not bind()",
    "[server] aborting",
    "contains errors",
    "validation error count",
    // Controllers that may not read the objects that they watch, or whose kind does not exist.
    "caches to sync",
    "cache to sync",
    "failed listening on port",
    "aborting after fassert() failure",
    "\"msg\":\"fatal assertion\"",
    "data dictionary initialization failed",
    "failed to initialize dd storage engine",
    "bootstrap checks failed",
    "elasticsearch died while starting up",
];

/// Prefixes of npm messages. They count only if the program that npm ran logged nothing.
const NPM: [&str; 2] = ["npm err!", "npm error"];

/// Prefixes of lines that follow an exception besides [`NOISE`].
const TRAILERS: [&str; 6] = ["... ", "^", "~", "#", "stack trace:", "thrown in "];
const INFO_LEVELS: [&str; 4] = ["INFO", "DEBUG", "TRACE", "note:"];

/// The most informative line of a terminated run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// The line comes from the log, not from the status.
    in_log: bool,
}

/// The last line that reports an error, else the last line. The message in the status precedes the log, which may be
/// longer but not more precise.
pub(crate) fn line(case: &Case<'_>, container: &Container, run: &Terminated) -> Option<Line> {
    let chosen = |words: &str, in_log| decisive(words).map(|text| Line { text, in_log });
    chosen(&run.message, false).or_else(|| chosen(case.surroundings.logs.get(&container.name)?, true))
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
    line.is_empty() || is_rest || INFO_LEVELS.iter().any(|level| line.contains(level))
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
        format!(": \"{}\"", message::fit(bare(&self.text), most))
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

fn decisive(words: &str) -> Option<String> {
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines = lines.get(lines.len().saturating_sub(MAX_LINES)..).unwrap_or_default();
    if let Some(described) = spring_description(lines) {
        return Some(described.to_owned());
    }
    if let Some(described) = zod_error(lines) {
        return Some(described);
    }
    // The lines below are usage instructions.
    let usage = lines.iter().rposition(|line| line.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("usage")));
    let of_usage =
        usage.and_then(|at| at.checked_sub(1)).filter(|above| lines.get(*above).is_some_and(|line| is_error(line)));
    let chosen = of_usage.or_else(|| lines.iter().rposition(|line| is_error(line)));
    let at =
        chosen.or_else(|| lines.iter().rposition(|line| is_npm_error(line))).or_else(|| lines.len().checked_sub(1))?;
    let line = lines.get(at)?;
    let above = at.checked_sub(1).and_then(|above| lines.get(above));
    // Rust prints the message in the line below the location.
    if let Some(place) = above.filter(|line| is_place_of_panic(line)) {
        return Some(format!("{place} {line}"));
    }
    // Pydantic prints the field in the line above.
    if let Some(field) = above.filter(|_| line.starts_with("Field required")) {
        return Some(format!("{field}: {line}"));
    }
    // `thread 'main' panicked at src/main.rs:2:5:` continues in the next line; libpq names the server there.
    let goes_on = |next: &&&str| line.ends_with(':') || next.starts_with("Is the server running on host ");
    let rest = lines.get(at + 1).filter(goes_on).map_or_else(String::new, |next| format!(" {next}"));
    Some(structured_message(line).unwrap_or_else(|| format!("{line}{rest}")))
}

/// Whether a line reports an error, and not only its location.
fn is_error(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let is_noise = NOISE.iter().any(|noise| lower.starts_with(noise))
        || SUPERVISOR_MESSAGES.iter().any(|words| lower.contains(words))
        || is_native_frame(line)
        || is_go_frame(line);
    !is_noise && ERROR_MARKERS.iter().any(|sign| lower.contains(sign))
}

/// A frame of V8's own stack: `1: 0xb80c0c node::OOMErrorHandler(...)`.
fn is_native_frame(line: &str) -> bool {
    line.split_once(": 0x").is_some_and(|(number, _)| number.trim().bytes().all(|c| c.is_ascii_digit()))
}

/// A frame of a Go stack: `/usr/local/go/src/runtime/panic.go:1077 +0x5c`.
fn is_go_frame(line: &str) -> bool {
    line.starts_with('/') && line.contains(".go:") && !line.contains(": ")
}

/// Whether the line is an error message of npm itself.
fn is_npm_error(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let text = NPM.iter().find_map(|npm| lower.strip_prefix(npm)).map(str::trim_start);
    text.is_some_and(is_error)
}

/// Whether the line is a panic location of Rust since 1.73: `thread 'main' panicked at src/main.rs:2:5:`.
fn is_place_of_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains("panicked at ") && line.ends_with(':')
}

/// The text under `Description:` of Spring Boot's startup failure. Advice follows it.
fn spring_description<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let failed = lines.iter().rposition(|line| *line == "APPLICATION FAILED TO START")?;
    let rest = lines.get(failed..)?;
    let described = rest.iter().position(|line| *line == "Description:")?;
    rest.get(described + 1).copied()
}

/// The first field that zod rejects, and the message. zod prints JSON over many lines.
fn zod_error(lines: &[&str]) -> Option<String> {
    let begin = lines.iter().rposition(|line| line.starts_with("ZodError: ["))?;
    let rest = lines.get(begin + 1..)?;
    let value = |line: &&str, name: &str| Some(line.strip_prefix(name)?.trim_matches([' ', ':', '"', ',']).to_owned());
    let path = rest.iter().position(|line| line.starts_with("\"path\": ["))?;
    let field = rest.get(path + 1)?.trim_matches(['"', ',']);
    let message = rest.iter().find_map(|line| value(line, "\"message\""))?;
    Some(format!("ZodError: {field}: {message}"))
}

/// A field of a line of key=value pairs: its name, and its value with or without quotes.
static FIELD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|\s)(msg|message|err|error)=(?:"((?:[^"\\]|\\.)*)"|(\S+))"#).ok());

/// Message and error of a line of key=value pairs (logfmt).
fn logfmt_message(line: &str) -> Option<String> {
    let is_one =
        line.contains("level=") || line.contains("lvl=") || line.starts_with("time=") || line.starts_with("ts=");
    let fields = FIELD.as_ref().filter(|_| is_one)?;
    let (mut message, mut error) = (None, None);
    for found in fields.captures_iter(line) {
        let value = found.get(2).or_else(|| found.get(3))?.as_str().replace("\\\"", "\"");
        let place = if found.get(1)?.as_str().starts_with('m') { &mut message } else { &mut error };
        *place = Some(value).filter(|value| !value.is_empty());
    }
    joined(message, error)
}

fn joined(message: Option<String>, error: Option<String>) -> Option<String> {
    match (message, error) {
        (Some(message), Some(error)) => Some(format!("{message}: {error}")),
        (one, other) => one.or(other),
    }
}

/// Message and error of a line that a program logged as JSON, or as key=value pairs.
fn structured_message(line: &str) -> Option<String> {
    if !line.starts_with('{') {
        return logfmt_message(line);
    }
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
    let first = |names: &[&str]| {
        names.iter().find_map(|name| fields.get(*name)?.as_str()).map(str::trim).filter(|text| !text.is_empty())
    };
    let message = first(&["msg", "message", "@message", "log"]);
    // MongoDB nests the details in a map.
    let of_attributes = || {
        let attributes = fields.get("attr")?.as_object()?;
        ["error", "message"].iter().find_map(|name| attributes.get(*name)?.as_str()).map(str::trim)
    };
    let error = first(&["error", "err", "exception"]).or_else(of_attributes);
    joined(message.map(str::to_owned), error.map(str::to_owned))
}

/// Prefixes of a message, removed one after the other: time, level and source.
static PREFIXES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // klog
        r"^[IWEF][0-9]{4} [0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9]+ +[0-9]+ \S+:[0-9]+\] ",
        // Time
        r"^\[?[0-9]{4}[-/][0-9][0-9][-/][0-9][0-9][T ][0-9][0-9]:[0-9][0-9]:[0-9][0-9](?:[.,][0-9]+)?(?: ?(?:Z|UTC|[+-][0-9][0-9]:?[0-9][0-9]))?\]?[:, ] *",
        // Envoy
        r"^\[[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9:.]+\]\[[0-9]+\]\[[0-9A-Za-z_]+\]\[[0-9A-Za-z_]+\] (?:\[\S+\] )?",
        // libpq, for a response of the server
        r#"^(?:\S+: )?(?:\(\S+\) )?connection to server at "[^"]*"(?: \([^)]*\))?, port [0-9]+ failed: FATAL: +"#,
        // .NET
        r"^(?:Unhandled exception\. |---> )",
        // The JVM's own
        r"^# ",
        // Spring Boot, after its level
        r"^[A-Z]+ +[0-9]+ --- (?:\[[^\]]*\] )*\S+ *: ",
        // Level
        r"^\[(?i:error|fatal|critical|severe|emerg|alert|panic|warn|warning)\] +",
        r"^(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|WARN|WARNING)(?:: +|/[A-Za-z]+\] | +\[[A-Za-z][0-9A-Za-z_.$/-]*\] )",
        // nginx's process ID, or another in brackets
        r"^[0-9]+#[0-9]+: ",
        r"^\[[0-9]+\] ",
        // Logger and thread
        r"^\[[A-Za-z][0-9A-Za-z_.$/-]*\] ",
        r"^\([0-9A-Za-z_-]+\) ",
        r"^thread '[^']*' (?:\([0-9]+\) )?panicked at \S+: ",
        // Elasticsearch
        r"^.*bootstrap check failure \[1\] of \[[0-9]+\]: ",
    ]
    .iter()
    .filter_map(|head| Regex::new(head).ok())
    .collect()
});

/// The message of a line without its prefixes, for a summary.
pub(crate) fn bare(line: &str) -> &str {
    let mut rest = line;
    while let Some(head) = PREFIXES.iter().find_map(|head| head.find(rest)) {
        match rest.get(head.end()..).map(str::trim_start) {
            // A level alone, or one that is part of the sentence, is not a prefix.
            Some(shorter) if shorter.split_whitespace().count() > 1 => rest = shorter,
            _ => break,
        }
    }
    without_package(rest)
}

/// The exception without its package: `IllegalStateException: no token` of `java.lang.IllegalStateException: no token`.
fn without_package(line: &str) -> &str {
    let class = line.split_once(": ").map_or("", |(class, _)| class);
    let parts = class.split('.');
    let is_package = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && part.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
    };
    let packages = parts.clone().take_while(|part| is_package(part)).count();
    let is_class = packages >= 2
        && parts.count() == packages + 1
        && class.rsplit('.').next().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
        && !class.contains(' ');
    if is_class { class.rfind('.').and_then(|at| line.get(at + 1..)).unwrap_or(line) } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(words: &str) -> Option<String> {
        decisive(words)
    }

    #[test]
    fn most_informative_line_is_chosen() {
        assert_eq!(chosen("starting\nError: no DATABASE_URL\nbye\n").as_deref(), Some("Error: no DATABASE_URL"));
        assert_eq!(chosen("one\ntwo\n\n").as_deref(), Some("two"));
        assert_eq!(chosen(" \n"), None);
    }

    #[test]
    fn zod_reports_the_field_below() {
        let zod = "ZodError: [\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \"string\",\n    \"received\": \"undefined\",\n    \
                   \"path\": [\n      \"DATABASE_URL\"\n    ],\n    \"message\": \"Required\"\n  }\n]\n    at Object.get error [as error] \
                   (/app/node_modules/zod/lib/types.js:55:31)\n\nNode.js v20.11.0\n";
        assert_eq!(chosen(zod).as_deref(), Some("ZodError: DATABASE_URL: Required"));
    }

    #[test]
    fn exception_is_shortened_to_its_class_name() {
        for (line, expected) in [
            ("java.lang.IllegalStateException: no token", "IllegalStateException: no token"),
            ("django.core.exceptions.ImproperlyConfigured: no key", "ImproperlyConfigured: no key"),
            ("db.shop.svc: no such host", "db.shop.svc: no such host"),
            ("10.0.0.1:80: refused", "10.0.0.1:80: refused"),
            ("open /a.b.C: no such file", "open /a.b.C: no such file"),
        ] {
            assert_eq!(bare(line), expected);
        }
    }

    #[test]
    fn stack_frames_are_skipped() {
        let node = "node:events:497\n      throw er; // Unhandled 'error' event\n      ^\n\n\
                    Error: listen EADDRINUSE: address already in use :::3000\n    at Server.setupListenHandle (node:net:1817:16)\n\
                    Emitted 'error' event on Server instance at:\n    at emitErrorNT (node:net:1796:8) {\n  code: 'EADDRINUSE'\n}\n\n\
                    Node.js v20.11.0\n";
        assert_eq!(chosen(node).as_deref(), Some("Error: listen EADDRINUSE: address already in use :::3000"));
        let go =
            "panic: missing config\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/main.go:8 +0x39\nexit status 2\n";
        assert_eq!(chosen(go).as_deref(), Some("panic: missing config"));
        let rust = "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds\n\
                    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        assert_eq!(chosen(rust).as_deref(), Some("thread 'main' panicked at src/main.rs:2:5: index out of bounds"));
        let unwrap = "thread 'main' panicked at src/main.rs:2:5:\ncalled `Result::unwrap()` on an `Err` value: ParseIntError\n\
                      note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let whole =
            "thread 'main' panicked at src/main.rs:2:5: called `Result::unwrap()` on an `Err` value: ParseIntError";
        assert_eq!(chosen(unwrap).as_deref(), Some(whole));
        let npm = "Error: Cannot find module 'express'\nnpm ERR! code ELIFECYCLE\nnpm ERR! Exit status 1\n";
        assert_eq!(chosen(npm).as_deref(), Some("Error: Cannot find module 'express'"));
    }

    #[test]
    fn messages_of_launchers_are_skipped() {
        let gunicorn = "ModuleNotFoundError: No module named 'shop.wsgi'\n[2026-11-23 10:00:00 +0000] [7] [INFO] Worker exiting (pid: 7)\n\
                        [2026-11-23 10:00:00 +0000] [1] [ERROR] Worker (pid:7) exited with code 3\n\
                        [2026-11-23 10:00:00 +0000] [1] [ERROR] Reason: Worker failed to boot.\n";
        assert_eq!(chosen(gunicorn).as_deref(), Some("ModuleNotFoundError: No module named 'shop.wsgi'"));
        let node = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n\
                    ----- Native stack trace -----\n\n 1: 0xb80c0c node::OOMErrorHandler(char const*) [node]\nAborted (core dumped)\n";
        assert!(chosen(node).unwrap().ends_with("JavaScript heap out of memory"));
        let spring = "APPLICATION FAILED TO START\n***************************\n\nDescription:\n\n\
                      Failed to configure a DataSource: 'url' attribute is not specified.\n\n\
                      Reason: Failed to determine a suitable driver class\n\nAction:\n\nConsider the following:\n";
        assert!(chosen(spring).unwrap().starts_with("Failed to configure a DataSource"));
        let flag = "flag provided but not defined: -metrics-adr\nUsage of /manager:\n  -kubeconfig string\n    \tPaths to a kubeconfig. Only required if out-of-cluster.\n";
        assert_eq!(chosen(flag).as_deref(), Some("flag provided but not defined: -metrics-adr"));
        for (words, line) in [
            (
                "PANIC:  could not write to file \"pg_wal/x\": No space left on device\nLOG:  aborting startup due to startup process failure\n",
                "PANIC:  could not write",
            ),
            (
                "Unrecognized VM option 'UseConcMarkSweepGC'\nError: Could not create the Java Virtual Machine.\nError: A fatal exception has occurred. Program will exit.\n",
                "Unrecognized VM option",
            ),
            (
                "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)\nnginx: [emerg] still could not bind()\n",
                "nginx: [emerg] bind() to",
            ),
        ] {
            assert!(chosen(words).unwrap().starts_with(line), "{words}");
        }
        for (words, line) in [
            (
                "E1124 04:00:00.000000       1 reflector.go:147] failed to list *v1.Node: nodes is forbidden: User \"x\" cannot list\n\
                 {\"level\":\"error\",\"msg\":\"problem running manager\",\"error\":\"failed to wait for node caches to sync: timed out\"}\n",
                "E1124 04:00:00.000000       1 reflector.go:147] failed to list",
            ),
            (
                "1:M 24 Nov 2026 04:00:00.001 # Warning: Could not create server TCP listening socket *:6379: bind: Address in use\n\
                 1:M 24 Nov 2026 04:00:00.001 # Failed listening on port 6379 (tcp), aborting.\n",
                "1:M 24 Nov 2026 04:00:00.001 # Warning: Could not create",
            ),
            (
                "MongoServerError: Authentication failed.\n    at Connection.onMessage (/app/x.js:210:30) {\n  ok: 0,\n  code: 18,\n  codeName: 'AuthenticationFailed'\n}\n",
                "MongoServerError: Authentication failed.",
            ),
            (
                "{\"s\":\"E\",\"msg\":\"WiredTiger error message\",\"attr\":{\"error\":28,\"message\":\"pwrite: failed to write: No space left on device\"}}\n\
                 {\"s\":\"F\",\"msg\":\"Fatal assertion\",\"attr\":{\"msgid\":50853}}\n\
                 {\"s\":\"F\",\"msg\":\"\\n\\n***aborting after fassert() failure\\n\\n\"}\n",
                "WiredTiger error message: pwrite: failed to write",
            ),
            (
                "1 [ERROR] [MY-012574] [InnoDB] Unable to lock ./ibdata1 error: 11\n0 [ERROR] [MY-010334] [Server] Failed to initialize DD Storage Engine\n\
                 0 [ERROR] [MY-010020] [Server] Data Dictionary initialization failed.\n0 [ERROR] [MY-010119] [Server] Aborting\n",
                "1 [ERROR] [MY-012574] [InnoDB] Unable to lock ./ibdata1",
            ),
        ] {
            assert!(chosen(words).unwrap().starts_with(line), "{words}");
        }
        let pydantic =
            "1 validation error for Settings\ndatabase_url\n  Field required [type=missing, input_value={}]\n";
        assert_eq!(chosen(pydantic).as_deref(), Some("database_url: Field required [type=missing, input_value={}]"));
    }

    #[test]
    fn prefixes_of_a_message_are_removed() {
        for (line, rest) in [
            (
                "E1123 10:00:00.000000       1 leaderelection.go:330] error retrieving resource lock",
                "error retrieving resource lock",
            ),
            ("2026/11/23 10:00:00 [emerg] 1#1: mkdir() failed", "mkdir() failed"),
            (
                "2026-11-23 22:05:01,002 ERROR [org.keycloak.Handler] (main) Strict hostname resolution",
                "Strict hostname resolution",
            ),
            ("[2026-11-23 10:00:00 +0000] [1] [ERROR] Reason: it failed", "Reason: it failed"),
            ("2026-11-23T10:00:00.123Z ERROR 1 --- [main] o.s.boot.SpringApplication : it failed", "it failed"),
            ("thread 'main' panicked at src/main.rs:2:5: index out of bounds", "index out of bounds"),
            (
                "[2026-11-23 10:00:00,000: CRITICAL/MainProcess] Unrecoverable error: AccessRefused(403)",
                "Unrecoverable error: AccessRefused(403)",
            ),
            ("ERROR 1045 (28000): Access denied for user 'shop'", "ERROR 1045 (28000): Access denied for user 'shop'"),
            ("FATAL:  database \"shop\" does not exist", "database \"shop\" does not exist"),
            (
                "psycopg2.OperationalError: connection to server at \"db\" (10.96.3.9), port 5432 failed: FATAL:  the database system is starting up",
                "the database system is starting up",
            ),
            (
                "sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to server at \"10.96.3.9\", port 5432 failed: FATAL:  sorry, too many clients already",
                "sorry, too many clients already",
            ),
            (
                "[2026-11-24 04:00:00.000][1][critical][main] [source/server/server.cc:131] error initializing configuration",
                "error initializing configuration",
            ),
            ("Error: listen EADDRINUSE", "Error: listen EADDRINUSE"),
            ("ERROR: failed", "ERROR: failed"),
        ] {
            assert_eq!(bare(line), rest, "{line}");
        }
    }

    #[test]
    fn npm_error_is_chosen_if_the_program_logs_nothing() {
        for npm in ["npm ERR!", "npm error"] {
            let script = format!(
                "{npm} Missing script: \"start\"\n{npm} \n{npm} To see a list of scripts, run:\n{npm}   npm run\n"
            );
            assert_eq!(chosen(&script), Some(format!("{npm} Missing script: \"start\"")));
        }
    }

    #[test]
    fn nginx_configuration_error_is_chosen() {
        let nginx = "nginx: [emerg] unknown directive \"servr\" in /etc/nginx/nginx.conf:12\n\
                     nginx: configuration file /etc/nginx/nginx.conf test failed\n";
        let chosen = chosen(nginx);
        assert_eq!(chosen.as_deref(), Some("nginx: [emerg] unknown directive \"servr\" in /etc/nginx/nginx.conf:12"));
    }

    #[test]
    fn message_and_error_of_a_json_line_are_joined() {
        let line = r#"{"level":"fatal","ts":1,"msg":"cannot start","error":"listen tcp :80: bind: permission denied"}"#;
        assert_eq!(chosen(line).as_deref(), Some("cannot start: listen tcp :80: bind: permission denied"));
        assert_eq!(chosen("{not json: error}").as_deref(), Some("{not json: error}"));
        let pairs = r#"ts=2026-11-23T10:00:00Z caller=main.go:1 level=error msg="Error loading config" file=/etc/a.yml err="open \"/etc/a.yml\": no such file or directory""#;
        assert_eq!(
            chosen(pairs).as_deref(),
            Some(r#"Error loading config: open "/etc/a.yml": no such file or directory"#)
        );
    }
}
