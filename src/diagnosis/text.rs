//! Text from the cluster is data: it is cleaned, masked and cut before it reaches an object, an Event, a log or a terminal.

use std::sync::LazyLock;

use regex_lite::Regex;

/// The most characters of a summary.
pub const SUMMARY_MAX: usize = 200;
/// The most characters of one value of evidence.
pub const EVIDENCE_MAX: usize = 400;
/// What is kept of a log, in bytes from its end.
const LOG_MAX: usize = 4 << 10;

/// One line: control characters and line breaks become single spaces, secrets are masked, and it is cut at `most`
/// characters with an ellipsis.
pub fn line(text: &str, most: usize) -> String {
    cut(&mask(&one_line(text)), most)
}

fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.next_if_eq(&'[').is_some() {
            // A terminal's colours: all up to the letter that ends the sequence.
            while chars.next_if(|c| matches!(c, '0'..='9' | ';' | '?')).is_some() {}
            let _ = chars.next_if(char::is_ascii_alphabetic);
        } else if c.is_whitespace() || c.is_control() || is_invisible(c) {
            space = !out.is_empty();
        } else {
            if std::mem::take(&mut space) {
                out.push(' ');
            }
            out.push(c);
        }
    }
    out
}

/// Marks that reorder or hide text in a terminal: bidirectional controls, zero-width characters.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The last lines of a log: each masked and cut, all of them 4 KiB at most.
pub fn log_tail(log: &str) -> String {
    let mut room = LOG_MAX;
    let mut kept: Vec<String> = Vec::new();
    for line in log.lines().rev() {
        let line = self::line(line, EVIDENCE_MAX);
        let Some(left) = room.checked_sub(line.len() + 1) else { break };
        room = left;
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

/// At most `most` characters, the last an ellipsis where something was cut.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(most.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// At most `most` bytes, on a character's boundary.
pub fn cut_bytes(text: &str, most: usize) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(ELLIPSIS.len());
    let end = (0..=room).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}{ELLIPSIS}", &text[..end])
}

/// What a secret looks like: a mark without which the pattern need not be tried (in lower case), and the pattern, whose
/// first group is kept.
const SECRETS: [(&[&str], &str); 10] = [
    // user:password@host in a URL
    (&["://"], r"([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?:@)"),
    // Authorization headers
    (&["bearer ", "basic "], r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"),
    // password=..., "token": "...", api_key: ...
    (
        &["passw", "pwd", "secret", "token", "key", "credential"],
        r#"(?i)((?:^|[^/.\w-])["']?(?:[\w-]*[_-])?(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)["']?\s*[=:]\s*["']?)[^\s"',;&]{3,}"#,
    ),
    // The same with `=` is an assignment wherever it stands: in a path, after a dot.
    (
        &["password=", "passwd=", "pwd=", "secret=", "token=", "key="],
        r#"(?i)((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)=["']?)[^\s"',;&*]{3,}"#,
    ),
    // JSON web tokens, and keys of the well-known providers
    (&["eyj"], r"()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    (&["akia", "asia"], r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    (&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"()\bgh[pousr]_[A-Za-z0-9]{20,}\b"),
    (&["xox"], r"()\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    (&["aiza", "sk-"], r"()\b(?:AIza[A-Za-z0-9_-]{30,}|sk-[A-Za-z0-9_-]{20,})"),
    (&["private key"], r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*"),
];

/// The patterns, each compiled once; one that does not compile would be found by the tests.
static PATTERNS: LazyLock<Vec<(&[&str], Regex)>> =
    LazyLock::new(|| SECRETS.iter().filter_map(|(marks, pattern)| Some((*marks, Regex::new(pattern).ok()?))).collect());

fn mask(text: &str) -> String {
    // Most lines hold no mark at all, and a search for one costs a hundredth of a pattern.
    let lower = text.to_ascii_lowercase();
    let suspects = PATTERNS.iter().filter(|(marks, _)| marks.iter().any(|mark| lower.contains(mark)));
    let mut out = std::borrow::Cow::Borrowed(text);
    for (_, pattern) in suspects {
        let masked = pattern.replace_all(&out, |found: &regex_lite::Captures<'_>| {
            let whole = found.get(0).map_or("", |m| m.as_str());
            let keep = found.get(1).map_or("", |m| m.as_str());
            if is_plain_word(&whole[keep.len()..]) {
                return whole.to_owned();
            }
            let tail = if whole.ends_with('@') { "@" } else { "" };
            format!("{keep}***{tail}")
        });
        if let std::borrow::Cow::Owned(masked) = masked {
            out = masked.into();
        }
    }
    out.into_owned()
}

/// What follows `password:` in a sentence, or begins the error that `failed to fetch token:` wraps, and is no secret.
fn is_plain_word(value: &str) -> bool {
    const WORDS: [&str; 34] = [
        "not",
        "is",
        "was",
        "must",
        "has",
        "does",
        "cannot",
        "missing",
        "required",
        "invalid",
        "expired",
        "unset",
        "empty",
        "unable",
        "failed",
        "authentication",
        "unexpected",
        "serviceaccount",
        "serviceaccounts",
        "rpc",
        "error",
        "context",
        "dial",
        "request",
        "unauthorized",
        "forbidden",
        "denied",
        "access",
        "illegal",
        "could",
        "couldn't",
        "the",
        "got",
        "timeout",
    ];
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Seconds for people: `9 s`, `5 min`, `2 h`.
pub fn duration(seconds: i64) -> String {
    match seconds {
        s if s < 120 => format!("{s} s"),
        s if s < 7200 => format!("{} min", s / 60),
        s if s < 172_800 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

/// Whether `text` holds all of `parts`, in any case (runtimes differ in it). `parts` are in lower case.
pub fn has(text: &str, parts: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    parts.iter().all(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_without_secrets() {
        assert_eq!(line("a\n\tb\u{1b}[31m c\u{1b}[0m \u{1b} d", 99), "a b c d");
        assert_eq!(
            line("dial postgres://app:hunter2@db:5432/x: refused", 99),
            "dial postgres://app:***@db:5432/x: refused"
        );
        assert_eq!(line("token=abcdef12345 ok", 99), "token=*** ok");
        assert_eq!(line("http :80/login/password=hunter2", 99), "http :80/login/password=***");
        assert_eq!(line("DB_PASSWORD=hunter2 MY-API_KEY: zzz1234", 99), "DB_PASSWORD=*** MY-API_KEY: ***");
        assert_eq!(line("Authorization: Bearer abcdefgh12345", 99), "Authorization: Bearer ***");
        assert_eq!(line(r#"{"password": "s3cr3t", "n": 1}"#, 99), r#"{"password": "***", "n": 1}"#);
    }

    #[test]
    fn each_pattern_compiles() {
        assert_eq!(PATTERNS.len(), SECRETS.len());
    }

    #[test]
    fn what_only_resembles_a_secret_is_kept() {
        for text in [
            "secret \"db\" not found",
            "couldn't find key token in Secret demo/db",
            "http://10.0.0.1:8080/healthz",
            "mkdir /etc/passwd: not a directory",
            "DB_PASSWORD: not set",
            "token: expired",
            "failed to fetch token: serviceaccounts \"x\" not found",
            "failed to fetch oauth token: unexpected status: 403 Forbidden",
        ] {
            assert_eq!(line(text, 99), text);
        }
    }

    #[test]
    fn a_cut_keeps_characters_whole() {
        assert_eq!(cut("ありがとう", 3), "あり…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
