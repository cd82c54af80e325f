//! Secrets in URLs, in connection strings without a scheme, and in HTTP headers.

use super::words::{has_digit, is_no_port, is_no_word, is_random};
use super::{SHAPE, Shape, begins_with, is_assigned};

pub(super) const SHAPES: &[Shape] = &[
    // user:password@host in a URL, also if the password contains an @ or an unescaped /
    Shape {
        marks: &["://"],
        behind: has_user,
        pattern: r#"([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@"']*:)[^\s"'<>@/]+(?:@[^\s"'<>@/,]*)*@"#,
        is_secret: |_| true,
    },
    Shape {
        marks: &["://"],
        behind: has_user,
        pattern: r#"([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@"']*:)[^\s"'<>@]*/[^\s"'<>@]*@"#,
        is_secret: is_no_port,
    },
    // A token as the user: https://TOKEN@host.
    Shape { marks: &["://"], behind: has_user, pattern: r"(://)[A-Za-z0-9_~%-]{20,}@", is_secret: has_digit },
    Shape { marks: &["://"], behind: has_user, pattern: r"(?i)(https?://)[a-z0-9_~%-]{8,}@", is_secret: has_digit },
    // The same without a scheme: app:hunter2@tcp(db:3306)/shop in Go, app:hunter2@db:5432/shop, and system/hunter2@//db of
    // Oracle.
    Shape {
        marks: &["@tcp", "@udp", "@unix"],
        behind: |behind| behind.trim_start_matches(['4', '6']).starts_with('('),
        pattern: r#"([A-Za-z0-9_.%$+-]+:)[^\s"']+?(@(?:tcp|udp|unix)[46]?\()"#,
        is_secret: |_| true,
    },
    Shape {
        marks: &["@"],
        behind: is_host,
        pattern: r#"((?:^|[\s"'=(\[])[A-Za-z_][A-Za-z0-9_.%-]*:)[^\s"':]{3,}(@[A-Za-z0-9-][A-Za-z0-9.-]*(?::[0-9]{2,5}(?:[/?,:;)\s"']|$)|/))"#,
        is_secret: |value| !value.starts_with('/') && is_no_port(value),
    },
    Shape {
        marks: &["jdbc:oracle:", "sqlplus"],
        pattern: r#"(?i)((?:jdbc:oracle:(?:thin|oci8?):|sqlplus(?:\s+-[a-z]+)*\s+)["']?[a-z0-9_$#.]+/)[^\s"']{2,}(@)"#,
        is_secret: |_| true,
        ..SHAPE
    },
    // A line of a .pgpass file: host:port:database:user:password
    Shape {
        marks: &[":5432:", ":5433:", ":6432:", ":26257:", ":*:"],
        pattern: r#"((?:^|[\s"'])[A-Za-z0-9.*_-]+:(?:[0-9]{2,5}|\*):[^\s:"']+:[^\s:"']+:)[^\s"']{2,}"#,
        is_secret: is_no_word,
        ..SHAPE
    },
    // HTTP headers
    Shape {
        marks: &["bearer", "basic"],
        behind: |behind| begins_with(behind.trim_start(), 8, |b| b.is_ascii_graphic()),
        pattern: r"(?i)(?-u:\b)((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}",
        is_secret: is_random,
    },
    Shape {
        marks: &["authorization"],
        behind: is_assigned,
        pattern: r#"(?i)(authorization\\?["']?\s*[:=]\s*\\?["']?(?:[a-z0-9-]+\s+)?)[^\s"'\\]{8,}"#,
        is_secret: is_random,
    },
    // After a known scheme, the value is always a secret, even if it looks like a word.
    Shape {
        marks: &["authorization"],
        behind: is_assigned,
        pattern: r#"(?i)(authorization\\?["']?\s*[:=]\s*\\?["']?(?:bearer|basic|token|negotiate|digest|apikey)\s+)[^\s"'\\]{3,}"#,
        is_secret: |value| is_no_word(value) && !value.to_ascii_lowercase().starts_with("auth"),
    },
    Shape { marks: &["cookie:"], pattern: r"(?i)(cookie:\s*)\S.*", is_secret: |_| true, ..SHAPE },
    Shape {
        marks: &["cookie\""],
        pattern: r#"(?i)("(?:set-)?cookie"\s*:\s*\[?\s*)"[^"]{3,}""#,
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["sess"],
        behind: |behind| super::behind_name(behind).starts_with('='),
        pattern: r#"(?i)([a-z_.]*sess(?:ion)?(?:_?id)?=)[^\s"';,&]{16,}"#,
        is_secret: is_random,
    },
    // Webhooks and bots: the path is the secret.
    Shape {
        marks: &["hooks.slack.com/", "/webhooks/", "webhook.office.com/"],
        pattern: r"((?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|webhook\.office\.com/webhookb2)/)[A-Za-z0-9/_@+-]{20,}",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &[":a"],
        behind: |behind| begins_with(behind, 32, super::is_of_name),
        pattern: r"((?:^|[^0-9])[0-9]{5,16}:)A[A-Za-z0-9_-]{32,}",
        is_secret: |_| true,
    },
];

/// Whether a URL contains user information.
fn has_user(behind: &str) -> bool {
    behind.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).next().is_some_and(|url| url.contains('@'))
}

/// Whether a host follows, and its port or a path.
fn is_host(behind: &str) -> bool {
    let port = behind.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    port.len() < behind.len()
        && (port.starts_with('/')
            || port.strip_prefix(':').is_some_and(|port| begins_with(port, 2, |b| b.is_ascii_digit())))
}
