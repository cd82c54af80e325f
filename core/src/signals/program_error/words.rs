//! Extracts the address, the path and the variable from a decisive log line.

use std::sync::LazyLock;

use regex::Regex;

use crate::api::ContainerType;
use crate::case::Case;
use crate::facts::Container;
use crate::message::text;
use crate::signals::mounted;
use crate::signals::termination::log_line;

/// Patterns of a host name or address with an optional port. The first match is the unreachable endpoint. A pattern is
/// tried only if the line contains one of its markers (lower case, separated by bars).
static ENDPOINTS: LazyLock<Vec<(Vec<&str>, Regex)>> = LazyLock::new(|| {
    [
        // Go: the looked-up name precedes the address of the name server.
        ("lookup ", r"lookup (?<host>[A-Za-z0-9._-]+)"),
        ("dial ", r"dial (?:tcp|udp)[46]? (?<host>\[[0-9a-f:]+\]|[A-Za-z0-9._-]+):(?<port>[0-9]+)"),
        // Node
        (
            "econnrefused |etimedout |ehostunreach ",
            r"(?:ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH) (?<host>[0-9a-f:.]+):(?<port>[0-9]+)",
        ),
        ("enotfound |eai_again ", r"(?:ENOTFOUND|EAI_AGAIN) (?<host>[A-Za-z0-9._-]+)"),
        // libpq
        (r#"server at ""#, r#"server at "(?<host>[^"]+)"(?: \([^)]*\))?, port (?<port>[0-9]+)"#),
        (r#"running on host ""#, r#"running on host "(?<host>[^"]+)"(?:.{0,80}? on port (?<port>[0-9]+))?"#),
        (r#"translate host name ""#, r#"translate host name "(?<host>[^"]+)""#),
        // Prisma
        ("server at `", r"server at `(?<host>[^`:]+)(?::(?<port>[0-9]+))?`"),
        // Python's urllib3, wait-for-it, Kafka
        ("connectionpool(host='", r"ConnectionPool\(host='(?<host>[^']+)', port=(?<port>[0-9]+)"),
        (
            "timeout occurred after waiting ",
            r"timeout occurred after waiting [0-9]+ seconds for (?<host>[A-Za-z0-9._-]+):(?<port>[0-9]+)",
        ),
        // rsync
        ("failed to connect to ", r"failed to connect to (?<host>[A-Za-z0-9._-]+) \("),
        ("resolve server ", r"resolve server (?<host>[A-Za-z0-9._-]+):(?<port>[0-9]+)"),
        // PHP
        ("getaddrinfo for ", r"getaddrinfo for (?<host>[A-Za-z0-9._-]+) failed"),
        // Python's asyncio
        ("connect call failed ", r"Connect call failed \('(?<host>[^']+)', (?<port>[0-9]+)"),
        // Ruby
        ("connect(2) for ", r#"connect\(2\) for "?(?<host>[A-Za-z0-9._-]+)"? port (?<port>[0-9]+)"#),
        // MySQL
        ("server on '", r"server on '(?<host>[^':]+)(?::(?<port>[0-9]+))?'"),
        // HAProxy
        ("resolve address '", r"resolve address '(?<host>[A-Za-z0-9._-]+)'"),
        // Varnish
        ("backend host '", r#"Backend host '"?(?<host>[A-Za-z0-9._-]+)"?'"#),
        // nginx, HAProxy
        (r#"upstream ""#, r#"upstream "(?<host>[A-Za-z0-9._-]+)(?::(?<port>[0-9]+))?"#),
        // Java
        ("unknownhostexception: ", r"UnknownHostException: (?<host>[A-Za-z0-9._-]+)"),
        // curl, busybox
        ("connect to ", r"connect to (?<host>[A-Za-z0-9._-]+) port (?<port>[0-9]+)"),
        ("resolve host: ", r"resolve host: (?<host>[A-Za-z0-9._-]+)"),
        ("bad address '", r"bad address '(?<host>[A-Za-z0-9._-]+)(?::(?<port>[0-9]+))?'"),
        // gRPC
        ("ipv4:", r"ipv4:(?<host>[0-9.]+):(?<port>[0-9]+)"),
        ("remote host (", r"remote host \((?<host>[0-9a-f:.]+)\)"),
        // Redis and PostgreSQL clients, and programs that log the address in full
        (
            "connect",
            r"(?i)connect(?:ing|ion)?(?: refused)? (?:to|at|with) (?:[a-z]+ )?(?<host>[A-Za-z0-9._-]+)[:/ ](?<port>[0-9]+)",
        ),
        ("://", r"://(?:[^@/\s]*@)?(?<host>[A-Za-z0-9._-]+)(?::(?<port>[0-9]+))?"),
        (
            ":0|:1|:2|:3|:4|:5|:6|:7|:8|:9",
            r"(?-u:\b)(?<host>[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+):(?<port>[0-9]{2,5})(?-u:\b)",
        ),
    ]
    .iter()
    .filter_map(|(marks, pattern)| Some((marks.split('|').collect(), Regex::new(pattern).ok()?)))
    .collect()
});

/// Number of trailing patterns that match any URL or `host:port`, which a line may also mention incidentally.
const IN_PASSING: usize = 2;

static PORT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(?::|(?-u:\b)port[ =:,]+)([0-9]{1,5})(?-u:\b)").ok());
static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*(?-u:\b)").ok());

/// The unreachable endpoint in the line: `db:5432`, or the host alone.
pub(super) fn endpoint(line: &str) -> Option<String> {
    first_of(&ENDPOINTS, line).map(|found| named(line, found))
}

/// The endpoint with its port, if only the command of the container names it: `--database=orders-db:5432`.
pub(super) fn with_port(endpoint: String, container: &Container) -> String {
    if endpoint.contains(':') {
        return endpoint;
    }
    let line = container.command.iter().chain(&container.args).map(String::as_str).collect::<Vec<_>>().join(" ");
    let port = line.match_indices(&endpoint).find_map(|(at, _)| {
        let (before, after) = (line.get(..at)?, line.get(at + endpoint.len()..)?);
        // `nc db 5432`
        let rest = after.strip_prefix([':', ' '])?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_whole = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
        rest.get(..digits).filter(|port| is_whole && digits > 1 && port.parse::<u16>().is_ok())
    });
    port.map_or_else(|| endpoint.clone(), |port| format!("{endpoint}:{port}"))
}

/// The endpoint by the name that the line has for it: `failed to connect to db.shop.svc:5432: dial tcp 10.96.3.9:5432`.
fn named(line: &str, found: String) -> String {
    let Some((host, port)) = found.rsplit_once(':') else { return found };
    if host.contains(|c: char| c.is_ascii_alphabetic()) || host.starts_with('[') {
        return found;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let with_port = format!(":{port}");
    let mut names = line
        .match_indices(&with_port)
        .filter(|(at, _)| !line[at + with_port.len()..].starts_with(|c: char| c.is_ascii_digit()));
    let names = names.find_map(|(at, _)| {
        let name = line[..at].rsplit(|c: char| !is_part(c)).next()?;
        name.starts_with(|c: char| c.is_ascii_lowercase()).then_some(name)
    });
    names.map_or_else(|| found.clone(), |name| format!("{name}:{port}"))
}

/// Like [`endpoint`], but only from the error of a client, and only outside the pod.
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
    let mut found = fit.flat_map(|(_, pattern)| pattern.captures_iter(line)).filter(|found| !is_source(line, found));
    let found = found.next()?;
    let host = found.name("host")?.as_str().trim_end_matches('.');
    Some(found.name("port").map_or_else(|| host.to_owned(), |port| format!("{host}:{}", port.as_str())))
}

/// Whether the apparent `host:port` is a source location, such as `main.rs:12`, or the end of one: `_ssl.c:1006`.
fn is_source(line: &str, found: &regex::Captures<'_>) -> bool {
    const ENDINGS: [&str; 12] =
        [".rs", ".go", ".py", ".js", ".ts", ".mjs", ".java", ".kt", ".rb", ".cs", ".cpp", ".php"];
    found.name("host").is_some_and(|host| {
        let is_part = line.get(..host.start()).is_some_and(|before| before.ends_with(['.', '_']));
        is_part || ENDINGS.iter().any(|ending| host.as_str().ends_with(ending))
    })
}

/// Markers of failed connections.
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

/// Markers of exceptions that contain no endpoint, with the server's product (if known) and the kind of failure.
const UNNAMED: [(&str, (&str, &str)); 22] = [
    ("nobrokersavailable", ("Kafka", "refused")),
    ("can't contact ldap server", ("LDAP", "refused")),
    ("timed out waiting for a node assignment", ("Kafka", "timeout")),
    ("sqlstate[hy000] [2002]", ("MySQL", "refused")),
    ("amqpconnectionerror", ("AMQP", "refused")),
    ("zookeeperclienttimeoutexception", ("ZooKeeper", "timeout")),
    ("no resolvable bootstrap urls", ("Kafka", "nameNotFound")),
    ("communications link failure", ("MySQL", "refused")),
    ("name or service not known", ("", "nameNotFound")),
    ("name does not resolve", ("", "nameNotFound")),
    (":nxdomain", ("", "nameNotFound")),
    ("server misbehaving", ("", "lookupFailed")),
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

/// An exception, a panic, or the error of a client in the format in which it terminates a program.
static EXCEPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let class = r"(?:[A-Za-z_][0-9A-Za-z_.$]*(?:[Ee]rror|Exception|NoBrokersAvailable|SERVER_DOWN)|curl: \([0-9]+\)|ldap[a-z_]*)";
    Regex::new(&format!(
        r#"^(?:Caused by: |Exception in thread "[^"]*" |Unhandled exception[.:] |(?:PHP )?Fatal error: +Uncaught |---> )?{class}(?:[:,; (]|$)|^thread '[^']*' .*panicked at |^panic: |Unhandled exception|SQLSTATE\[HY000\] \[2002\]"#
    ))
    .ok()
});

/// The product of a client library in a line of a stack.
pub(super) fn driver(line: &str) -> Option<&'static str> {
    const DRIVERS: [(&str, &str); 14] = [
        ("com.mysql.", "MySQL"),
        ("org.mariadb.jdbc", "MariaDB"),
        ("org.postgresql.", "PostgreSQL"),
        ("/psycopg", "PostgreSQL"),
        ("/asyncpg/", "PostgreSQL"),
        ("/pymysql/", "MySQL"),
        ("redis.clients.jedis", "Redis"),
        ("io.lettuce.core", "Redis"),
        ("/redis/connection.py", "Redis"),
        ("com.mongodb.", "MongoDB"),
        ("/pymongo/", "MongoDB"),
        ("com.rabbitmq.client", "RabbitMQ"),
        ("/pika/", "RabbitMQ"),
        ("/kafka/", "Kafka"),
    ];
    DRIVERS.iter().find(|(part, _)| line.contains(part)).map(|(_, product)| *product)
}

/// Server product and kind of failure of an exception without an endpoint.
pub(super) fn unnamed(line: &str) -> Option<(&'static str, &'static str)> {
    EXCEPTION.as_ref()?.find(line)?;
    let lower = line.to_ascii_lowercase();
    UNNAMED.iter().find(|(sign, _)| lower.contains(sign)).map(|(_, what)| *what)
}

/// Whether the line reports a connection attempt. Its result may follow below.
pub(super) fn is_connection_attempt(line: &str) -> bool {
    text::has_any(line, &["connect to ", "connecting to "])
}

/// Whether the line is about an address that the program itself listens on. A bind of LDAP is a login.
pub(super) fn is_about_listening(line: &str) -> bool {
    const LISTENING: [&str; 12] = [
        "bind(",
        "bind:",
        "bind to",
        "bind on",
        "to bind",
        "bindexception",
        "not bind",
        "listen ",
        "listening socket",
        "socket server",
        "listener",
        "error binding",
    ];
    text::has_any(line, &LISTENING) && !text::has_any(line, &["initandlisten", "ldap"])
}

pub(super) fn is_refusal(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    // A refused login means that the server was reached.
    !["access_refused", "accessrefused", "login was refused"].iter().any(|words| lower.contains(words))
        && REFUSALS.iter().any(|words| lower.contains(words))
}

/// Whether the line reports a refused connection without its endpoint.
pub(super) fn is_unnamed_refusal(line: &str) -> bool {
    is_refusal(line) && endpoint(line).is_none()
}

/// The host of an [`endpoint`].
pub(super) fn host(endpoint: &str) -> &str {
    endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host)
}

/// The port that the program tried to listen on: the last one in the line.
pub(super) fn port(line: &str) -> Option<i32> {
    // Skip the column number of a panic location.
    let found = PORT.as_ref()?.captures_iter(log_line::bare(line)).last()?;
    found.get(1)?.as_str().parse().ok().filter(|port| (1..=65_535).contains(port))
}

/// The port of an option in the command: `-p 8080`, `--port=8080`, `--listen :8080`; `None` if there are several.
pub(super) fn port_of_command(container: &Container) -> Option<i32> {
    static OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?: -p|port|listen\S*|bind\S*|addr\S*)[ =]+[^ ]*?(?-u:\b)([0-9]{2,5})(?:$|[ ;])").ok()
    });
    let line = container.command.iter().chain(&container.args).map(String::as_str).collect::<Vec<_>>().join(" ");
    let mut ports =
        OPTION.as_ref()?.captures_iter(&line).filter_map(|found| found.get(1)?.as_str().parse::<i32>().ok());
    let first = ports.next().filter(|port| (1..=65_535).contains(port))?;
    ports.all(|port| port == first).then_some(first)
}

/// The version of Java for which a class was compiled, and that of the runtime, as a refused class names them.
pub(super) fn java_versions(line: &str) -> [Option<u32>; 2] {
    let version = |words: &str| {
        let class_file = line.split_once(words)?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()?;
        // Class files have version 45 since Java 1.
        class_file.checked_sub(44)
    };
    [version("class file version "), version("class file versions up to ")]
}

/// Another container of the pod that declares this port. Containers of a pod share one network namespace.
pub(super) fn port_owner<'a>(case: &Case<'a>, container: &Container, port: Option<i32>) -> Option<&'a str> {
    let port = port?;
    let listens = |other: &&Container| {
        other.name != container.name
            && matches!(other.kind, ContainerType::App | ContainerType::Sidecar)
            && other.ports.iter().any(|p| p.number == port)
    };
    case.pod.containers.iter().find(listens).map(|other| &*other.name)
}

/// What is wrong where the line is one of a tool that migrates a database.
pub(super) fn migration_problem(line: &str) -> &'static str {
    const UNKNOWN: [&str; 5] =
        ["locate revision", "no migration found", "not applied to database", "missing migrations", "nodenotfound"];
    let line = line.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|words| line.contains(words));
    match () {
        () if has(&UNKNOWN) => "unknownRevision",
        () if has(&["checksum mismatch", "failed validation"]) => "changed",
        () if has(&["lock"]) => "locked",
        () if has(&["pending", "not up to date"]) => "pending",
        () => "failed",
    }
}

/// The file or directory in the line.
pub(super) fn path(line: &str) -> Option<&str> {
    mounted::paths(line).next()
}

/// The parent directory of a path, unless it is the root.
pub(super) fn folder(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(folder, _)| folder).filter(|folder| !folder.is_empty())
}

/// The environment variable in the line: upper case, with an underscore unless the context shows that it is a variable.
/// Names of log levels are excluded.
pub(super) fn variable(line: &str) -> Option<&str> {
    const LEVELS: [&str; 12] =
        ["ERROR", "FATAL", "PANIC", "CRITICAL", "WARN", "WARNING", "INFO", "DEBUG", "EMERG", "ALERT", "SEVERE", "ENV"];
    // Rails and Laravel read these settings from variables.
    if line.contains("Missing `secret_key_base`") {
        return Some("SECRET_KEY_BASE");
    }
    if line.contains("No application encryption key has been specified") {
        return Some("APP_KEY");
    }
    if let Some(parameter) = shell_parameter(line).or_else(|| pydantic_field(line)) {
        return Some(parameter);
    }
    // Spring resolves placeholders from the environment and from files, so only the name shows which was meant.
    let line = line.split_once("resolve placeholder '").and_then(|(_, rest)| rest.split('\'').next()).unwrap_or(line);
    let lower = line.to_ascii_lowercase();
    let is_about_variables =
        ["environment", "env var", "env:", "unbound variable", "parameter not set", "parameter null"]
            .iter()
            .any(|words| lower.contains(words));
    VARIABLE
        .as_ref()?
        .find_iter(line)
        // Not a part of a path: `/data/PG_VERSION`.
        .filter(|found| !line[..found.start()].ends_with('/') && !line[found.end()..].starts_with('/'))
        .map(|found| found.as_str())
        .find(|word| word.len() > 2 && !LEVELS.contains(word) && (is_about_variables || word.contains('_')))
}

/// The field that Pydantic's settings read from a variable of the same name, in any case:
/// `database_url: Field required [type=missing, input_value={}]`.
fn pydantic_field(line: &str) -> Option<&str> {
    let (field, rest) = line.split_once(": ")?;
    (rest.starts_with("Field required [type=missing") && !field.contains(' ')).then_some(field)
}

/// The parameter for which a shell reports the message of `${NAME:?message}`: `sh: NAME: message`, with the number of the
/// line in `bash: line 1: ` and `/bin/sh: 1: `.
fn shell_parameter(line: &str) -> Option<&str> {
    const SHELLS: [&str; 5] = ["sh", "bash", "ash", "dash", "ksh"];
    let mut parts = line.split(": ");
    let program = parts.next()?.rsplit('/').next()?.trim_start_matches('-');
    if !SHELLS.contains(&program) && program.strip_suffix(".sh").is_none() {
        return None;
    }
    let is_number = |part: &&str| part.strip_prefix("line ").unwrap_or(part).bytes().all(|b| b.is_ascii_digit());
    let name = parts.find(|part| !is_number(part))?;
    let is_name = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    (is_name && name.len() > 1 && parts.next().is_some()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_name_the_parameter_that_is_required() {
        for (line, expected) in [
            ("sh: BUCKET: must be set", Some("BUCKET")),
            ("/bin/sh: 1: BUCKET: must be set", Some("BUCKET")),
            ("bash: line 1: BUCKET: must be set", Some("BUCKET")),
            ("/app/start.sh: line 12: DATABASE_URL: is required", Some("DATABASE_URL")),
            ("sh: curl: not found", None),
            ("backup: BUCKET: must be set", None),
        ] {
            assert_eq!(variable(line), expected, "{line}");
        }
    }

    #[test]
    fn incidental_and_local_endpoints_are_not_certain() {
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
    fn port_of_an_endpoint_is_that_of_the_command() {
        let scenario = crate::testing::Scenario::from_yaml(
            "{kind: Pod, metadata: {name: a, namespace: n, uid: u}, spec: {containers: [{name: app, image: 'a:1', args: ['--db=postgres://u@orders-db:5432/x', '--cache=my-redis:6379']}]}}",
        );
        let case = scenario.case();
        for (host, expected) in
            [("orders-db", "orders-db:5432"), ("redis", "redis"), ("orders-db:1", "orders-db:1"), ("other", "other")]
        {
            assert_eq!(with_port(host.to_owned(), &case.pod.containers[0]), expected);
        }
    }

    #[test]
    fn unreachable_endpoint_is_parsed() {
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
            ("rsync: failed to connect to backup.shop (10.0.0.9): Connection refused (111)", "backup.shop"),
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
        for line in ["main.rs:120: connection refused", "certificate verify failed (_ssl.c:1006)"] {
            assert_eq!(endpoint(line), None, "a place in a program: {line}");
        }
        assert_eq!(endpoint("connection refused"), None);
        assert_eq!(endpoint("12:30:11 connection refused"), None, "a time of day is no address");
    }

    #[test]
    fn exceptions_without_endpoint_differ_from_incidental_text() {
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
    fn finds_ports_paths_and_variables() {
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
            ("File \"/var/lib/postgresql/data/PG_VERSION\" is missing.", None),
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
