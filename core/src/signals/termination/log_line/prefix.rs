//! Removes what precedes the message of a log line: time, level, source.

use std::sync::LazyLock;

use regex::Regex;

/// Prefixes of a message, removed one after the other: time, level and source.
static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let prefixes = [
        // klog
        r"[IWEF][0-9]{4} [0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9]+ +[0-9]+ \S+:[0-9]+\] ",
        // glog without a time
        r"[IWEF] \S+\.(?:cc|cpp|h):[0-9]+\] ",
        // Calico
        r"\[[A-Z]+\]\[[0-9]+\] \S+ [0-9]+: ",
        // Redis: process, role, time, level
        r"[0-9]+:[A-Z] [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:.]+ [*#.-] ",
        // ZooKeeper
        r"\[myid:[0-9]*\] - [A-Z]+ +\[.*@[0-9]+\] - ",
        // Rust's tracing
        r"\[ *[0-9.]+s\] +[A-Z]+ ThreadId\([0-9]+\) [A-Za-z0-9_:]+: ",
        // Ruby: place of an exception
        r"/\S+\.rb:[0-9]+:in [`'][^']*': +",
        // Time
        r"\[?[0-9]{4}[-/.][0-9][0-9][-/.][0-9][0-9][T ] ?[0-9]{1,2}:[0-9][0-9]:[0-9][0-9](?:[.,][0-9]+)?(?: ?(?:Z|UTC|[+-][0-9][0-9]:?[0-9][0-9]))?\]?[:, \t][ \t]*",
        r"\[?[0-9]{2}-[A-Z][a-z]{2}-[0-9]{4} [0-9:.]+\]? ",
        // Nest
        r"\[Nest\] [0-9]+ +- +[0-9/]+, [0-9:]+ [AP]M +[A-Z]+ (?:\[[A-Za-z]+\] )?",
        // Logback's source
        r"[A-Za-z]+\.(?:java|scala|kt):[0-9]+ - ",
        // Envoy
        r"\[[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9:.]+\]\[[0-9]+\]\[[0-9A-Za-z_]+\]\[[0-9A-Za-z_]+\] (?:\[\S+\] )?",
        // libpq, for a response of the server
        r#"(?:\S+: )?(?:\(\S+\) )?connection to server at "[^"]*"(?: \([^)]*\))?, port [0-9]+ failed: FATAL: +"#,
        // Istio: level and scope; the component of Envoy
        r"(?:error|warn|warning|fatal|critical)\t+",
        r"[a-z]+\t+",
        r"envoy [a-z]+ external/\S+\t+",
        // MySQL: connection, level, code, subsystem
        r"[0-9]+ \[[A-Za-z]+\] (?:\[[A-Z]+-[0-9]+\] )?(?:\[[A-Za-z]+\] )?",
        // ClickHouse: thread, query, level, logger
        r"\[ [0-9]+ \] \{[^}]*\} <[A-Z][a-z]+> (?:[A-Za-z]+: )?",
        // ClickHouse: step and code
        r"(?:[A-Z][a-z ]+: )?Code: [0-9]+\. (?:DB::[A-Za-z]+: )+",
        // Erlang's process
        r"<[0-9.]+> +",
        // nginx without a log file
        r"nginx: \[[a-z]+\] ",
        // initdb, after a step that it reports
        r"[a-z][^:]* \.\.\. initdb: error: ",
        r"initdb: error: ",
        // .NET
        r"(?:Unhandled exception\. |---> )",
        // The JVM's own
        r"# ",
        // Spring Boot, after its level
        r"[A-Z]+ +[0-9]+ --- (?:\[[^\]]*\] )*\S+ *: ",
        // Level
        r"\[(?i:error|fatal|critical|severe|emerg|alert|panic|warn|warning)\] +",
        r"(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|WARN|WARNING|LOG)(?:: +|/[A-Za-z]+\] | +\[[A-Za-z][0-9A-Za-z_.$/-]*\] )",
        // nginx's process ID, or another in brackets
        r"[0-9]+#[0-9]+: ",
        r"\[[0-9]+\] ",
        // Logger and thread
        r"\[[A-Za-z][0-9A-Za-z_.$/-]*\]:? ",
        r"\([0-9A-Za-z_-]+\) (?:: )?(?:config : )?",
        r"thread '[^']*' (?:\([0-9]+\) )?panicked at \S+: ",
    ];
    Regex::new(&format!("^(?:{})", prefixes.join("|"))).ok()
});

/// A level that the message follows without a colon.
static LEVEL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:ERROR|FATAL|CRITICAL|SEVERE|WARN|ERR|FTL|PNC|WRN) +[A-Za-z]").ok());

/// What Elasticsearch writes before each check that failed, behind all other prefixes. It is no part of [`PREFIX`], as the
/// search for that would then read each line to its end.
static CHECK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"bootstrap check failure \[[0-9]+\] of \[[0-9]+\]: ").ok());

/// The message of a line without its prefixes, for a summary.
pub(crate) fn bare(line: &str) -> &str {
    bare_message(without_prefix(line))
}

/// The same, for a line without time, level, source.
pub(super) fn bare_message(message: &str) -> &str {
    without_package(without_term(without_thread(without_source(message))))
}

/// The text of an Erlang term that ends on this line: `"Node a disagrees"}}`.
fn without_term(line: &str) -> &str {
    let text = line.strip_prefix('"').and_then(|text| text.trim_end_matches(['}', ']']).strip_suffix('"'));
    text.filter(|text| !text.contains('"')).unwrap_or(line)
}

/// The exception of a JVM without its thread: `Exception in thread "main" java.lang.OutOfMemoryError: ...`.
fn without_thread(line: &str) -> &str {
    let exception = line.strip_prefix("Exception in thread \"").and_then(|rest| rest.split_once("\" "));
    exception.map_or(line, |(_, exception)| exception)
}

/// The line without the class that logged it: `(kafka.server.KafkaServer)`.
fn without_source(line: &str) -> &str {
    let class = line.strip_suffix(')').and_then(|line| line.rsplit_once(" ("));
    match class {
        Some((message, class)) if class.contains('.') && !class.contains([' ', '/', ':', '(', '"', '\'']) => message,
        _ => line,
    }
}

/// A line without time, level, source.
pub(super) fn without_prefix(line: &str) -> &str {
    let check = CHECK.as_ref().and_then(|check| check.find(line));
    let mut rest = check.and_then(|check| line.get(check.end()..)).unwrap_or(line);
    while let Some(head) = PREFIX.as_ref().and_then(|prefix| prefix.find(rest)) {
        match rest.get(head.end()..).map(str::trim_start) {
            // A level alone, or one that is part of the sentence, is not a prefix.
            Some(shorter) if shorter.split_whitespace().count() > 1 => rest = shorter,
            _ => break,
        }
    }
    let level = LEVEL.as_ref().and_then(|level| level.find(rest));
    level.and_then(|level| rest.get(level.end() - 1..)).unwrap_or(rest)
}

/// The exception without its package: `IllegalStateException: no token` of `java.lang.IllegalStateException: no token`.
fn without_package(line: &str) -> &str {
    if !line.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') {
        return line;
    }
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
