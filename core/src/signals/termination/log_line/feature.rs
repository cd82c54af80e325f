//! What a line of a log states, as typed features: a failure, its object, its condition, an announcement to give up.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::prefix::bare;

/// Markers of a line that reports a failure.
const ERROR_MARKERS: [&str; 47] = [
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
    "must be provided",
    "must not be",
    "not be null",
    "malformed",
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
    "mismatch",
];

/// Prefixes of lines with such a marker but no information: stack frames, and wrappers of another failure.
pub(super) const NOISE: [&str; 20] = [
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
const SUPERVISOR_MESSAGES: [&str; 39] = [
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
    "aborting because of",
    "could not read from remote repository",
    "exception encountered during startup",
    "(retry limit exceeded)",
    "('retry limit exceeded')",
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
    // musl reports each symbol of a library that it did not find.
    "error relocating ",
];

/// Prefixes of npm messages. They count only if the program that npm ran logged nothing.
const NPM: [&str; 2] = ["npm err!", "npm error"];

/// Conditions: the leaf of an error, in lower case.
const CONDITIONS: &[&str] = &[
    "eaddrinuse",
    "eacces",
    "enoent",
    "enospc",
    "erofs",
    "etimedout",
    "enotfound",
    "eai_again",
    "eperm",
    "emfile",
    "eaddrnotavail",
    "cannot allocate",
    "errno=",
    "requires a",
    "does not appear",
    "still running",
    "input/output error",
    "returned os error",
    "does not have",
    "differs from",
    "verification failed",
    "mismatch",
    "no frameworks",
    "crc check",
    "denied",
    "refused",
    "not found",
    "no such",
    "in use",
    "is using",
    "no space",
    "read-only",
    "readonly",
    "not permitted",
    "not allowed",
    "timed out",
    "timeout",
    "unreachable",
    "no route",
    "not known",
    "not resolve",
    "nxdomain",
    "reset by peer",
    "broken pipe",
    "out of memory",
    "too many",
    "too low",
    "too large",
    "too long",
    "not set",
    "must be",
    "must not",
    "must have",
    "required",
    "missing",
    "unknown",
    "unrecognized",
    "unexpected",
    "invalid",
    "illegal",
    "bad ",
    "wrong ",
    "not match",
    "doesn't match",
    "incompatible",
    "not compatible",
    "unsupported",
    "not supported",
    "corrupt",
    "not a ",
    "not readable",
    "not writable",
    "not in the form",
    "is a directory",
    "not empty",
    "not exist",
    "doesn't exist",
    "already exists",
    "already running",
    "expired",
    "not trusted",
    "self-signed",
    "self signed",
    "exceeded",
    "exhausted",
    "insufficient",
    "not defined",
    "undefined",
    "not available",
    "unavailable",
    "not enough",
    "no live",
    "forbidden",
    "unauthorized",
    "authentication",
    "noauth",
    "wrongpass",
    "uninitialized",
    "not specified",
    "not provided",
    "conflict",
    "exclusive",
    "duplicate",
    "not terminated",
    "not installed",
    "are pending",
    "could not be found",
    "cannot find",
    "could not find",
    "no default value",
    "unclosed",
    "not assign",
    "more recent version",
    "newer than",
    "older than",
    "no main manifest",
    "no readable",
    "is empty",
    "be empty",
    "be null",
    "no value",
    "malformed",
    "could not locate",
    "unbound",
    "no matches",
    "mounting",
    "syntax",
    "cycle",
    "not one of",
    "cannot be cast",
    "no enabled",
    "is locked",
    "not locked",
    "is sealed",
    "not equal",
    "disallowed",
];

/// Announcements that the program gives up. The reason stands elsewhere, unless the same line states it.
const GIVES_UP: &[&str] = &[
    "exiting",
    "aborting",
    "aborted",
    "shutting down",
    "is shut down",
    "shutdown",
    "giving up",
    "terminating",
    "terminated",
    "stopping",
    "exited",
    "quitting",
    "exit code",
    "exit status",
    "check server logs",
    "see above",
    "root cause above",
    "error starting applicationcontext",
    "errors found in",
    "unable to start server",
    "failed to start",
    "startup failed",
    "start failed",
    "do you already have another",
    "boot failed",
    "crash dump",
    "init terminating",
    "application start error",
    "dumped core",
    "check the log",
    "error during startup",
    "errors were found",
    "test failed",
];

/// Advice about what to do. It names the objects of an example.
const ADVICE: &[&str] = &[
    "to install ",
    "to force ",
    "to see ",
    "you need ",
    "ask ",
    "learn more",
    "check ",
    "remove ",
    "create the ",
    "also ",
    "hint:",
    "you must ",
    "you may ",
    "please ",
    "try ",
    "consider ",
    "for example",
    "to resolve ",
    "see http",
    "see also",
    "use --",
    "run `",
    "did you mean",
    "ensure ",
    "make sure ",
    "if you ",
    "docs",
    "action:",
    "refer to ",
    "verify that ",
    // The reason of the error above
    "this happened because ",
    // Numbers that SqlClient prints below its stack
    "error number:",
    "clientconnectionid:",
];

/// Words that follow `host`, `key` or `file` without being its name: `does not host this partition`.
const NO_NAMES: &[&str] = &[
    "host this",
    "host the",
    "host is",
    "key is",
    "key was",
    "key for",
    "file is",
    "file was",
    "file for",
    "user is",
    "user has",
    "node is",
    "class is",
    "module is",
    "version is",
    "version of",
    "property is",
    "member is",
];

/// Which of these lists a text has words of.
#[derive(Debug, Clone, Copy, Default)]
struct Words {
    error: bool,
    launcher: bool,
    condition: bool,
    gives_up: bool,
    no_name: bool,
    npm: bool,
}

/// The words of all lists, for a search in one pass.
static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(LISTS.iter().copied().flatten()).ok());

const LISTS: [&[&str]; 6] = [&ERROR_MARKERS, &SUPERVISOR_MESSAGES, CONDITIONS, GIVES_UP, NO_NAMES, &NPM];

impl Words {
    /// The lists with words in a text in lower case.
    fn of(lower: &str) -> Self {
        let mut found = Self::default();
        for hit in WORDS.iter().flat_map(|words| words.find_overlapping_iter(lower)) {
            let mut place = hit.pattern().as_usize();
            for (list, of_list) in LISTS.iter().zip(found.each_mut()) {
                let Some(rest) = place.checked_sub(list.len()) else {
                    *of_list = true;
                    break;
                };
                place = rest;
            }
        }
        found
    }

    /// In the order of [`LISTS`].
    fn each_mut(&mut self) -> [&mut bool; 6] {
        let Self { error, launcher, condition, gives_up, no_name, npm } = self;
        [error, launcher, condition, gives_up, no_name, npm]
    }
}

/// What an object looks like: a path, a quote, a port, an environment variable, an IP address.
static OBJECT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"(?:^|[\s"'`(=:])\.{0,2}/[A-Za-z0-9._-]+"#,
        r#""[^"]{2,}"|'[^']{2,}'|`[^`]{2,}`|\[[^\]]*[a-z0-9][^\]]*\]"#,
        r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|(?i:port:?) [0-9]+|[*a-z]:[0-9]{2,5}(?-u:\b)",
        r"(?-u:\b)[A-Z][A-Z0-9]*_[A-Z0-9_]+(?-u:\b)",
        r"[a-z][a-z0-9-]*(?:\.[A-Za-z0-9-]+)+(?-u:\b)",
        r"[A-Za-z0-9_]+-[0-9]+(?-u:\b)",
        r"(?i:host|member|node|file|class|module|version|property|relation|key|user) [\S]*[a-z0-9]",
    ];
    Regex::new(&patterns.join("|")).ok()
});

/// A shell's report of a signal: `/entrypoint.sh: line 12:    25 Killed`.
static SHELL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let ends = "Killed|Illegal instruction|Segmentation fault|Aborted|Terminated|Bus error|Trace/breakpoint trap";
    Regex::new(&format!(r": line [0-9]+: +[0-9]+ (?:{ends})")).ok()
});

/// An exception at the beginning of a line: `KafkaException: `, `java.lang.IllegalStateException: `, `Error: `.
static EXCEPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let class = r"[A-Za-z_][0-9A-Za-z_.$]*(?:[Ee]rror|Exception|Throwable|Failure)";
    let heads = r#"Caused by: |Exception in thread "[^"]*" |Unhandled exception[.:] |Uncaught |panic: |fatal error: "#;
    Regex::new(&format!(r"^(?:{heads}|(?:{class})(?: \[[^\]]*\])?(?::|$| \())")).ok()
});

/// Start of the line of an exception that the one above encloses. Source: Java's Throwable.printStackTrace.
pub(super) const CAUSED_BY: &str = "Caused by: ";

/// The level of a line, as far as it names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Info,
    Warning,
    /// Also where a line names no level.
    Error,
    Fatal,
}

/// Names of levels at the head of a line.
const LEVELS: [&str; 22] = [
    "emerg", "alert", "fatal", "critical", "crit", "panic", "severe", "error", "warning", "warn", "notice", "note",
    "info", "debug", "trace", "pnc", "ftl", "err", "wrn", "inf", "dbg", "trc",
];

/// Characters at the beginning of a line among which a level is searched.
const HEAD: usize = 60;

impl Level {
    /// A level by its name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match &*name.to_ascii_lowercase() {
            "emerg" | "emergency" | "alert" | "fatal" | "critical" | "crit" | "panic" | "severe" | "f" | "dpanic"
            | "ftl" | "pnc" => Self::Fatal,
            "error" | "err" | "e" => Self::Error,
            "warning" | "warn" | "w" | "wrn" => Self::Warning,
            "notice" | "note" | "info" | "information" | "debug" | "trace" | "i" | "d" | "verbose" | "inf" | "dbg"
            | "trc" => Self::Info,
            _ => return None,
        })
    }

    /// The level in the head of a line.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let bytes = line.as_bytes();
        // klog
        if bytes.len() > 5 && bytes[1..5].iter().all(u8::is_ascii_digit) && bytes[5] == b' ' {
            return Self::of_name(line.get(..1)?);
        }
        // Redis: `1:M 21 Nov 2026 08:59:00.123 # message`; `*`, `-` and `.` are informational.
        if bytes.first().is_some_and(u8::is_ascii_digit)
            && let Some((head, _)) = line.split_once(" * ").or_else(|| line.split_once(" - "))
            && head.len() < 40
            && head.contains(':')
        {
            return Some(Self::Info);
        }
        let head = line.char_indices().take(HEAD + 1);
        let mut words = head.filter(|(_, c)| matches!(c, '[' | ' ' | '|' | '(' | '/' | ':' | '.'));
        words.find_map(|(at, _)| Self::at_start(&line[at + 1..])).or_else(|| Self::at_start(line))
    }

    /// The level that a text begins with: `[error]`, `FATAL `, `warning:`.
    fn at_start(text: &str) -> Option<Self> {
        let text = text.strip_prefix(['[', '<']).unwrap_or(text);
        let end = text.bytes().position(|b| !b.is_ascii_alphabetic())?;
        let (word, rest) = text.split_at(end);
        let is_level = || LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
        match rest.as_bytes().first()? {
            // PostgreSQL logs the steps before a FATAL or PANIC at this level.
            b':' if word == "LOG" && rest.starts_with(": ") => Some(Self::Warning),
            b']' | b'>' | b':' if is_level() => Self::of_name(word),
            b' ' | b']' | b'|' | b'/' if word.bytes().all(|b| b.is_ascii_uppercase()) && is_level() => {
                Self::of_name(word)
            }
            _ => None,
        }
    }
}

/// What a line states.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub(super) is_error: bool,
    /// Names an object: a path, an address, a quoted name.
    pub(super) object: bool,
    /// States a condition, such as `permission denied`.
    pub(super) condition: bool,
    pub(super) exception: bool,
    /// An exception that another one encloses.
    is_root: bool,
    /// Its words report no error, only its level.
    by_level: bool,
    gives_up: bool,
    is_advice: bool,
    is_launcher: bool,
    /// A title in capitals, or between asterisks. The failure stands below.
    is_banner: bool,
    /// At most four words, such as `95: Permission denied`. A line above has the rest.
    is_short: bool,
    pub(super) level: Option<Level>,
}

impl Features {
    pub(super) fn of(text: &str, level: Option<Level>) -> Self {
        Self::with_bare(text, bare(text), level)
    }

    /// The same, for a text whose bare message is known.
    pub(super) fn with_bare(text: &str, bare: &str, level: Option<Level>) -> Self {
        let lower = bare.to_ascii_lowercase();
        let words = Words::of(&lower);
        let bare_reports = reports_error(bare, &lower, words);
        let is_launcher = words.launcher
            || is_erlang_report(bare)
            || words.npm
            || SHELL.as_ref().is_some_and(|shell| shell.is_match(text));
        let has_level = level.is_some_and(|level| level >= Level::Error);
        Self {
            is_error: is_launcher
                || has_level
                || (if bare.len() == text.len() { bare_reports } else { is_error(text) }),
            by_level: level == Some(Level::Error) && !bare_reports,
            object: names_object(without_class(bare), words.no_name),
            condition: words.condition,
            exception: EXCEPTION.as_ref().is_some_and(|exception| exception.is_match(bare)),
            is_root: bare.starts_with(CAUSED_BY),
            gives_up: words.gives_up,
            is_advice: ADVICE.iter().any(|words| lower.starts_with(words)),
            is_launcher,
            is_banner: bare.starts_with("***")
                || bare.starts_with('/') && bare.contains(".rb:") && bare.ends_with(')')
                || !bare.contains(|c: char| c.is_ascii_lowercase()),
            is_short: bare.split_whitespace().nth(4).is_none(),
            level,
        }
    }

    /// Whether the line only announces the end, or is the message of a launcher.
    pub(super) fn is_announcement(self) -> bool {
        self.is_launcher || self.gives_up && !(self.condition && self.object)
    }

    /// How much the line explains: more for one that names an object and a condition, less for one that only announces
    /// the end.
    pub(super) fn score(self) -> i32 {
        let mut score = 0;
        score += if self.condition { 3 } else { 0 };
        score += if self.object { 2 } else { 0 };
        score += i32::from(self.exception) + i32::from(self.is_root);
        score += match self.level {
            Some(Level::Fatal) => i32::from(self.object || !self.is_short),
            Some(Level::Error) | None => 0,
            Some(Level::Warning) => -2,
            Some(Level::Info) => -6,
        };
        score -= match (self.gives_up, self.condition, self.object) {
            (false, ..) | (true, true, true) => 0,
            (true, true, false) => 2,
            (true, false, _) => 4,
        };
        score -= match (self.by_level && !self.condition, self.object) {
            (false, _) => 0,
            (true, true) => 2,
            (true, false) => 3,
        };
        score -= match (self.is_error, self.condition) {
            (true, _) => 0,
            (false, true) => 4,
            (false, false) => 6,
        };
        score -= if self.is_advice { 8 } else { 0 };
        score -= if self.is_banner { 5 } else { 0 };
        score - if self.is_launcher { 12 } else { 0 }
    }
}

/// Whether a text names an object. `has_no_name`: it has one of [`NO_NAMES`], which look like one.
fn names_object(text: &str, has_no_name: bool) -> bool {
    let Some(object) = OBJECT.as_ref() else { return false };
    let is_name = |found: &str| !NO_NAMES.iter().any(|words| found.eq_ignore_ascii_case(words));
    // The search for all of them takes twice as long.
    if has_no_name { object.find_iter(text).any(|found| is_name(found.as_str())) } else { object.is_match(text) }
}

/// A message without the class of its exception.
fn without_class(text: &str) -> &str {
    let text = text.strip_prefix(CAUSED_BY).unwrap_or(text);
    let text = match text.strip_prefix("Exception in thread \"") {
        Some(rest) => rest.split_once("\" ").map_or(rest, |(_, rest)| rest),
        None => text,
    };
    match text.split_once(": ") {
        Some((class, rest)) if !class.contains([' ', '/', '"']) && class.contains('.') => rest,
        _ => text,
    }
}

/// Whether a message only announces the end of the program.
pub(super) fn announces_end(message: &str) -> bool {
    let features = Features::of(message, None);
    features.gives_up && !features.condition && !features.object
}

/// Whether a line reports an error, and not only its location.
pub(super) fn is_error(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    reports_error(line, &lower, Words::of(&lower))
}

/// The same, for a line whose words are known.
fn reports_error(line: &str, lower: &str, words: Words) -> bool {
    let is_of_npm = || words.npm && NPM.iter().any(|npm| lower.starts_with(npm));
    words.error && !words.launcher && !is_of_npm() && !is_frame(line)
}

/// Whether a line is a part of a stack, or a location.
pub(super) fn is_frame(line: &str) -> bool {
    let begins = |noise: &&str| line.get(..noise.len()).is_some_and(|head| head.eq_ignore_ascii_case(noise));
    NOISE.iter().any(|noise| begins(noise) && !is_npm_error(&line.to_ascii_lowercase()))
        || is_native_frame(line)
        || is_go_frame(line)
}

/// Whether a message is a part of an Erlang crash report. It repeats the error as a term; a line above states it in words.
fn is_erlang_report(bare: &str) -> bool {
    const FIELDS: [&str; 8] = [
        "crasher:",
        "initial call: ",
        "exception exit: ",
        "exception error: ",
        "Supervisor: {",
        "Kernel pid terminated",
        "{\"Kernel pid terminated",
        "{\"init terminating",
    ];
    FIELDS.iter().any(|field| bare.starts_with(field))
        || bare.starts_with("Application ") && bare.contains(" exited with reason: ")
}

/// A frame of V8's own stack: `1: 0xb80c0c node::OOMErrorHandler(...)`.
fn is_native_frame(line: &str) -> bool {
    let begins = line.starts_with(|c: char| c.is_ascii_digit());
    begins && line.split_once(": 0x").is_some_and(|(number, _)| number.trim().bytes().all(|c| c.is_ascii_digit()))
}

/// Whether a line is the function of a Go stack, whose place is on the next line: `main.main`.
pub(super) fn is_go_function(line: &str, next: &str) -> bool {
    next.starts_with(char::is_whitespace)
        && is_go_frame(next.trim_start())
        && line.contains('.')
        && !line.contains(": ")
}

/// A frame of a Go stack: `/usr/local/go/src/runtime/panic.go:1077 +0x5c`.
fn is_go_frame(line: &str) -> bool {
    line.starts_with('/') && line.contains(".go:") && !line.contains(": ")
}

/// Whether a line in lower case is an error message of npm itself.
fn is_npm_error(lower: &str) -> bool {
    let text = NPM.iter().find_map(|npm| lower.strip_prefix(npm)).map(str::trim_start);
    text.is_some_and(|text| ERROR_MARKERS.iter().any(|sign| text.contains(sign)) && !text.starts_with("code "))
}
