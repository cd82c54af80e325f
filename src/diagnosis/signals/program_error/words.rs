//! Names within a program's decisive log line: the address, the path, the variable that it is about.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::api::ContainerType;
use crate::diagnosis::Case;
use crate::diagnosis::signals::termination::log_line;
use crate::facts::Container;

/// A host's name or address, and a port after it. The first pattern that fits names what could not be reached.
/// Without one of its marks (in lower case, parted by bars) in the line it need not be tried.
static ENDPOINTS: LazyLock<Vec<(Vec<&str>, Regex)>> = LazyLock::new(|| {
    [
        // Go, with the name that was looked up before the address of the name server
        ("lookup ", r"lookup (?<host>[A-Za-z0-9._-]+)"),
        ("dial ", r"dial (?:tcp|udp)[46]? (?<host>\[[0-9a-f:]+\]|[A-Za-z0-9._-]+):(?<port>\d+)"),
        // Node
        (
            "econnrefused |etimedout |ehostunreach ",
            r"(?:ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH) (?<host>[0-9a-f:.]+):(?<port>\d+)",
        ),
        ("enotfound |eai_again ", r"(?:ENOTFOUND|EAI_AGAIN) (?<host>[A-Za-z0-9._-]+)"),
        // libpq
        (r#"server at ""#, r#"server at "(?<host>[^"]+)"(?: \([^)]*\))?, port (?<port>\d+)"#),
        (r#"running on host ""#, r#"running on host "(?<host>[^"]+)""#),
        (r#"translate host name ""#, r#"translate host name "(?<host>[^"]+)""#),
        // Prisma
        ("server at `", r"server at `(?<host>[^`:]+)(?::(?<port>\d+))?`"),
        // Python's urllib3, wait-for-it, Kafka
        ("connectionpool(host='", r"ConnectionPool\(host='(?<host>[^']+)', port=(?<port>\d+)"),
        (
            "timeout occurred after waiting ",
            r"timeout occurred after waiting \d+ seconds for (?<host>[A-Za-z0-9._-]+):(?<port>\d+)",
        ),
        ("resolve server ", r"resolve server (?<host>[A-Za-z0-9._-]+):(?<port>\d+)"),
        // PHP
        ("getaddrinfo for ", r"getaddrinfo for (?<host>[A-Za-z0-9._-]+) failed"),
        // Python's asyncio
        ("connect call failed ", r"Connect call failed \('(?<host>[^']+)', (?<port>\d+)"),
        // Ruby
        ("connect(2) for ", r#"connect\(2\) for "?(?<host>[A-Za-z0-9._-]+)"? port (?<port>\d+)"#),
        // MySQL
        ("server on '", r"server on '(?<host>[^':]+)(?::(?<port>\d+))?'"),
        // nginx, HAProxy
        (r#"upstream ""#, r#"upstream "(?<host>[A-Za-z0-9._-]+)(?::(?<port>\d+))?"#),
        // Java
        ("unknownhostexception: ", r"UnknownHostException: (?<host>[A-Za-z0-9._-]+)"),
        // curl, busybox
        ("connect to ", r"connect to (?<host>[A-Za-z0-9._-]+) port (?<port>\d+)"),
        ("resolve host: ", r"resolve host: (?<host>[A-Za-z0-9._-]+)"),
        ("bad address '", r"bad address '(?<host>[A-Za-z0-9._-]+)(?::(?<port>\d+))?'"),
        ("remote host (", r"remote host \((?<host>[0-9a-f:.]+)\)"),
        // Redis and PostgreSQL clients, and whoever writes it out
        (
            "connect",
            r"(?i)connect(?:ing|ion)?(?: refused)? (?:to|at|with) (?:host )?(?<host>[A-Za-z0-9._-]+)[:/ ](?<port>\d+)",
        ),
        ("://", r"://(?:[^@/\s]*@)?(?<host>[A-Za-z0-9._-]+)(?::(?<port>\d+))?"),
        (
            ":0|:1|:2|:3|:4|:5|:6|:7|:8|:9",
            r"\b(?<host>[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*|\d+\.\d+\.\d+\.\d+):(?<port>\d{2,5})\b",
        ),
    ]
    .iter()
    .filter_map(|(marks, pattern)| Some((marks.split('|').collect(), Regex::new(pattern).ok()?)))
    .collect()
});

/// The last patterns: any URL and anything like `host:port`, which a line may as well name in passing.
const IN_PASSING: usize = 2;

static PORT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)(?::|\bport[ =:]+)(\d{1,5})\b").ok());
static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?:^|[\s"'`(=:])(/[A-Za-z0-9._@+/-]+)"#).ok());
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\b").ok());

/// `db:5432`, or the name alone: what the line says could not be reached.
pub(super) fn endpoint(line: &str) -> Option<String> {
    first_of(&ENDPOINTS, line)
}

/// The same where it stands in the words of a client that tells of a connection, and is not in the pod itself.
pub(super) fn certain_endpoint(line: &str) -> Option<String> {
    let of_clients = ENDPOINTS.get(..ENDPOINTS.len().saturating_sub(IN_PASSING)).unwrap_or_default();
    first_of(of_clients, line).filter(|endpoint| !is_of_pod(endpoint) && !is_of_pod(host(endpoint)))
}

fn is_of_pod(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    matches!(host, "localhost" | "::1" | "0.0.0.0" | "::") || host.starts_with("127.")
}

fn first_of(patterns: &[(Vec<&str>, Regex)], line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let fit = patterns.iter().filter(|(marks, _)| marks.iter().any(|mark| lower.contains(mark)));
    let mut found = fit.flat_map(|(_, pattern)| pattern.captures_iter(line)).filter(|found| !is_source(found));
    let found = found.next()?;
    let host = found.name("host")?.as_str().trim_end_matches('.');
    Some(found.name("port").map_or_else(|| host.to_owned(), |port| format!("{host}:{}", port.as_str())))
}

/// Whether what looks like `host:port` is a place in a program: `main.rs:12`.
fn is_source(found: &regex_lite::Captures<'_>) -> bool {
    const ENDINGS: [&str; 12] =
        [".rs", ".go", ".py", ".js", ".ts", ".mjs", ".java", ".kt", ".rb", ".cs", ".cpp", ".php"];
    found.name("host").is_some_and(|host| ENDINGS.iter().any(|ending| host.as_str().ends_with(ending)))
}

/// Words of a connection that did not come about.
const REFUSALS: [&str; 14] = [
    "connection refused",
    "refused",
    "econnrefused",
    "connectexception",
    "timed out",
    "unreachable",
    "could not translate host",
    "unknownhost",
    "can't reach",
    "couldn't resolve server",
    "name or service not known",
    "name resolution",
    "amqpconnectionerror",
    "no resolvable bootstrap urls",
];

/// Words of exceptions that name no server: its product, where they name that, and how the connection failed.
const UNNAMED: [(&str, (&str, &str)); 18] = [
    ("timed out waiting for a node assignment", ("Kafka", "timeout")),
    ("sqlstate[hy000] [2002]", ("MySQL", "refused")),
    ("amqpconnectionerror", ("AMQP", "refused")),
    ("zookeeperclienttimeoutexception", ("ZooKeeper", "timeout")),
    ("no resolvable bootstrap urls", ("Kafka", "nameNotFound")),
    ("communications link failure", ("MySQL", "refused")),
    ("name or service not known", ("", "nameNotFound")),
    ("name does not resolve", ("", "nameNotFound")),
    ("temporary failure in name resolution", ("", "lookupFailed")),
    ("unknownhostexception", ("", "nameNotFound")),
    ("[errno 111]", ("", "refused")),
    ("econnrefused", ("", "refused")),
    ("connectionrefused", ("", "refused")),
    ("connection refused", ("", "refused")),
    ("no route to host", ("", "noRoute")),
    ("connect timed out", ("", "timeout")),
    ("connection timed out", ("", "timeout")),
    ("etimedout", ("", "timeout")),
];

/// An exception or panic, as the one that ends a program is written.
static EXCEPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let class = r"[A-Za-z_][\w.$]*(?:[Ee]rror|Exception)";
    Regex::new(&format!(
        r#"^(?:Caused by: |Exception in thread "[^"]*" |Unhandled exception[.:] |(?:PHP )?Fatal error: +Uncaught |---> )?{class}(?:[:,; (]|$)|^thread '[^']*' .*panicked at |^panic: |Unhandled exception|SQLSTATE\[HY000\] \[2002\]"#
    ))
    .ok()
});

/// Product of the server and kind of the failure, of an exception that names no endpoint.
pub(super) fn unnamed(line: &str) -> Option<(&'static str, &'static str)> {
    EXCEPTION.as_ref()?.find(line)?;
    let lower = line.to_ascii_lowercase();
    UNNAMED.iter().find(|(sign, _)| lower.contains(sign)).map(|(_, what)| *what)
}

/// Whether the line tells of a try to connect; what came of it may stand below.
pub(super) fn is_try(line: &str) -> bool {
    line.to_ascii_lowercase().contains("failed to connect to ")
}

pub(super) fn is_refusal(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    // Who refuses a login was reached.
    !["access_refused", "accessrefused", "login was refused"].iter().any(|words| lower.contains(words))
        && REFUSALS.iter().any(|words| lower.contains(words))
}

/// Whether the line tells of a refusal and not by whom.
pub(super) fn is_unnamed_refusal(line: &str) -> bool {
    is_refusal(line) && endpoint(line).is_none()
}

/// The host of an [`endpoint`].
pub(super) fn host(endpoint: &str) -> &str {
    endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host)
}

/// The port that a program wanted to listen on: the last that the line names.
pub(super) fn port(line: &str) -> Option<i32> {
    // Not the column of the place where it panicked.
    let found = PORT.as_ref()?.captures_iter(log_line::bare(line)).last()?;
    found.get(1)?.as_str().parse().ok().filter(|port| (1..=65_535).contains(port))
}

/// Another container of the pod that declares this port: they share one network.
pub(super) fn port_owner<'a>(case: &Case<'a>, container: &Container, port: Option<i32>) -> Option<&'a str> {
    let port = port?;
    let listens = |other: &&Container| {
        other.name != container.name
            && matches!(other.kind, ContainerType::App | ContainerType::Sidecar)
            && other.ports.iter().any(|p| p.number == port)
    };
    case.pod.containers.iter().find(listens).map(|other| &*other.name)
}

/// The file or folder that the line is about.
pub(super) fn path(line: &str) -> Option<&str> {
    paths(line).next()
}

/// The folder that a path lies in, where that is not the root.
pub(super) fn folder(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(folder, _)| folder).filter(|folder| !folder.is_empty())
}

/// All files and folders that the line names.
pub(super) fn paths(line: &str) -> impl Iterator<Item = &str> {
    let found = PATH.iter().flat_map(|pattern| pattern.captures_iter(line));
    found.filter_map(|found| Some(found.get(1)?.as_str().trim_end_matches(['.', ':'])))
}

/// The environment variable that the line names: in capitals, and with an underscore where nothing else says that it is
/// one. The words for a log's level are none.
pub(super) fn variable(line: &str) -> Option<&str> {
    const LEVELS: [&str; 12] =
        ["ERROR", "FATAL", "PANIC", "CRITICAL", "WARN", "WARNING", "INFO", "DEBUG", "EMERG", "ALERT", "SEVERE", "ENV"];
    // Spring looks for a placeholder in the environment and in files: only the name tells which was meant.
    let line = line.split_once("resolve placeholder '").and_then(|(_, rest)| rest.split('\'').next()).unwrap_or(line);
    let lower = line.to_ascii_lowercase();
    let says_so = ["environment", "env var", "env:", "unbound variable", "parameter not set", "parameter null"]
        .iter()
        .any(|words| lower.contains(words));
    VARIABLE
        .as_ref()?
        .find_iter(line)
        .map(|found| found.as_str())
        .find(|word| word.len() > 2 && !LEVELS.contains(word) && (says_so || word.contains('_')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_names_in_passing_and_what_is_in_the_pod_itself_is_not_certain() {
        for (line, certain) in [
            ("dial tcp 10.96.0.10:5432: connect: connection refused", Some("10.96.0.10:5432")),
            ("failed to connect to rabbit:5672: connection refused", Some("rabbit:5672")),
            ("Error: connect ECONNREFUSED 127.0.0.1:6379", None),
            ("Error: connect ECONNREFUSED ::1:6379", None),
            ("dial tcp [::1]:6379: connect: connection refused", None),
            ("failed to connect to localhost:5672: connection refused", None),
            ("wget: can't connect to remote host (::1): Connection refused", None),
            ("main.go:120: connection refused", None),
            ("connection refused, see https://docs.example.com", None),
        ] {
            assert_eq!(certain_endpoint(line).as_deref(), certain, "{line}");
        }
    }

    #[test]
    fn what_could_not_be_reached_is_named() {
        for (line, named) in [
            ("dial tcp 10.96.0.10:5432: connect: connection refused", "10.96.0.10:5432"),
            ("dial tcp: lookup postgres on 10.96.0.10:53: no such host", "postgres"),
            ("dial tcp: lookup db.prod.svc.cluster.local: no such host", "db.prod.svc.cluster.local"),
            ("Error: connect ECONNREFUSED 127.0.0.1:6379", "127.0.0.1:6379"),
            ("Error: connect ECONNREFUSED ::1:6379", "::1:6379"),
            ("Error: getaddrinfo ENOTFOUND redis", "redis"),
            ("connection to server at \"db\" (10.0.0.9), port 5432 failed: Connection refused", "db:5432"),
            ("could not translate host name \"db\" to address: Name or service not known", "db"),
            ("ERROR 2002 (HY000): Can't connect to MySQL server on 'mysql' (115)", "mysql"),
            ("nginx: [emerg] host not found in upstream \"backend:8080\" in /etc/nginx/nginx.conf:9", "backend:8080"),
            ("Caused by: java.net.UnknownHostException: kafka: Name or service not known", "kafka"),
            ("curl: (7) Failed to connect to api port 80 after 0 ms: Connection refused", "api:80"),
            ("curl: (6) Could not resolve host: api", "api"),
            ("wget: bad address 'api:80'", "api:80"),
            ("php_network_getaddresses: getaddrinfo for mysql failed: Temporary failure in name resolution", "mysql"),
            ("OSError: [Errno 111] Connect call failed ('10.96.0.20', 5432)", "10.96.0.20:5432"),
            ("wget: can't connect to remote host (10.0.0.9): Connection refused", "10.0.0.9"),
            ("redis.exceptions.ConnectionError: Error 111 connecting to redis:6379. Connection refused.", "redis:6379"),
            ("Connection to db:5432 refused. Check that the hostname and port are correct", "db:5432"),
            ("Get \"http://auth.default.svc:8080/keys\": connection refused", "auth.default.svc:8080"),
            ("failed to connect to rabbit:5672: connection refused", "rabbit:5672"),
            (
                "ConnectionError: HTTPConnectionPool(host='backend', port=8080): Max retries exceeded with url: /api (Caused by \
                 NewConnectionError('[Errno 111] Connection refused'))",
                "backend:8080",
            ),
            ("connect: Connection refused - connect(2) for \"db\" port 5432 (Errno::ECONNREFUSED)", "db:5432"),
            ("wait-for-it.sh: timeout occurred after waiting 15 seconds for db:5432", "db:5432"),
            ("WARN Couldn't resolve server kafka:9092 from bootstrap.servers as DNS resolution failed", "kafka:9092"),
        ] {
            assert_eq!(endpoint(line).as_deref(), Some(named), "{line}");
        }
        assert_eq!(endpoint("main.rs:120: connection refused"), None, "a place in a program");
        assert_eq!(endpoint("connection refused"), None);
        assert_eq!(endpoint("12:30:11 connection refused"), None, "a time of day is no address");
    }

    #[test]
    fn an_exception_that_names_no_server_is_told_from_words_by_the_way() {
        for (line, what) in [
            ("ConnectionRefusedError: [Errno 111] Connection refused", Some(("", "refused"))),
            ("urllib.error.URLError: <urlopen error [Errno 111] Connection refused>", Some(("", "refused"))),
            ("socket.gaierror: [Errno -2] Name or service not known", Some(("", "nameNotFound"))),
            ("Caused by: java.net.ConnectException: Connection refused (Connection refused)", Some(("", "refused"))),
            ("pika.exceptions.AMQPConnectionError", Some(("AMQP", "refused"))),
            (
                "PHP Fatal error:  Uncaught PDOException: SQLSTATE[HY000] [2002] Connection refused in /app/db.php:12",
                Some(("MySQL", "refused")),
            ),
            (
                "Unhandled exception. System.Net.Sockets.SocketException (5): Name or service not known",
                Some(("", "nameNotFound")),
            ),
            ("Error: connection refused by policy: quota used up", None),
            ("warning: metrics not sent: [Errno 111] Connection refused", None),
            ("ERROR:root:metrics not sent: [Errno 111] Connection refused", None),
            ("ValueError: invalid literal for int()", None),
        ] {
            assert_eq!(unnamed(line), what, "{line}");
        }
    }

    #[test]
    fn ports_paths_and_variables_are_found() {
        assert_eq!(
            port("thread 'main' panicked at src/main.rs:33:10: Os { code: 98, message: \"Address already in use\" }"),
            None
        );
        assert_eq!(port("listen tcp :8080: bind: address already in use"), Some(8080));
        assert_eq!(port("Error: listen EADDRINUSE: address already in use :::3000"), Some(3000));
        assert_eq!(port("Web server failed to start. Port 8080 was already in use."), Some(8080));
        assert_eq!(port("bind() to 0.0.0.0:80 failed (98: Address already in use)"), Some(80));
        assert_eq!(port("OSError: [Errno 98] Address already in use"), None);
        assert_eq!(path("mkdir: can't create directory '/data/x': Read-only file system"), Some("/data/x"));
        assert_eq!(path("open /var/run/app.pid: read-only file system"), Some("/var/run/app.pid"));
        for (line, name) in [
            ("KeyError: 'DATABASE_URL'", Some("DATABASE_URL")),
            ("FATAL: DATABASE_URL is not set", Some("DATABASE_URL")),
            ("required environment variable PORT is missing", Some("PORT")),
            ("/run.sh: line 3: TOKEN: unbound variable", Some("TOKEN")),
            ("ERROR: config file is required", None),
            ("KeyError: 'name'", None),
            ("Could not resolve placeholder 'DB_URL' in value \"${DB_URL}\"", Some("DB_URL")),
            ("Could not resolve placeholder 'db.url' in value \"${db.url} of MY_APP\"", None),
        ] {
            assert_eq!(variable(line), name, "{line}");
        }
    }
}
