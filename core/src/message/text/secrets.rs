//! Masks secrets: passwords that a name or a position identifies, and tokens with the prefixes of well-known providers.
//! A long random word alone is not masked, except base64 of the length of a key, because diagnoses need digests, UIDs
//! and template hashes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};
use regex::{Captures, Regex};

use crate::message::code;

const MASK: &str = "***";
/// Minimum length of a key in base64.
const LONG_WORD: usize = 60;

/// Pattern of a kind of secret.
struct Shape {
    /// The pattern is tried only if the text contains one of these markers (case-insensitively). Without markers, it is
    /// tried on every text with a long word.
    marks: &'static [&'static str],
    /// Quick check of the text after the marker. If it returns false, the pattern cannot match.
    behind: fn(&str) -> bool,
    /// The first group is kept, the rest is masked.
    pattern: &'static str,
    /// Whether the matched text is really a secret.
    is_secret: fn(&str) -> bool,
}

/// Defaults of the fields.
const SHAPE: Shape = Shape { marks: &[], behind: |_| true, pattern: "", is_secret: |_| true };

/// Names of secrets, with an optional prefix: `DB_PASSWORD`.
macro_rules! names {
    () => {
        "(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|credentials?)"
    };
}

/// A value: the text in quotes, or all characters up to a delimiter.
macro_rules! value {
    () => {
        r#"(?:\\?"(?:[^"\\]|\\[^"])+\\?"|'[^']+'|[^\s"',;&]{3,})"#
    };
}

const NAMED: &[&str] = &["passw", "passphrase", "pwd", "secret", "token", "key", "credential"];

const SHAPES: &[Shape] = &[
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
    // "clientSecret": "..." in JSON, with any prefix before the name
    Shape {
        marks: NAMED,
        behind: is_given_a_value,
        pattern: concat!(r#"(?i)(["'][0-9A-Za-z_.-]*"#, names!(), r#"\\?["']\s*:\s*)"#, value!()),
        is_secret: is_no_word,
    },
    Shape {
        marks: &["auth"],
        behind: |behind| behind.trim_start_matches('\\').starts_with(['"', '\'']),
        pattern: r#"((?:"auth\\?"|'auth')\s*:\s*)\\?["'][^"'\\]{3,}\\?["']"#,
        is_secret: |_| true,
    },
    // password=..., "token": "...", api_key: ..., dbPassword: ...
    Shape {
        marks: NAMED,
        behind: is_given_a_value,
        pattern: concat!(
            r#"(?i)((?:^|[^/.0-9A-Za-z_-])["']?(?:[0-9A-Za-z_-]*[_-])?"#,
            names!(),
            r#"["']?\s*[=:]\s*)"#,
            value!()
        ),
        is_secret: is_no_word,
    },
    Shape {
        marks: NAMED,
        behind: is_given_a_value,
        pattern: concat!(
            r#"((?:^|[^/.0-9A-Za-z_-])[a-z][0-9A-Za-z_-]*(?:Password|Passwd|Passphrase|Secret|Token|ApiKey|AccessKey|PrivateKey)["']?\s*[=:]\s*)"#,
            value!()
        ),
        is_secret: is_no_word,
    },
    // With `=` it is an assignment at any position: in a path, after a dot, in a connection string.
    Shape {
        marks: &["password=", "passwd=", "passphrase=", "pwd=", "secret=", "token=", "key=", "signature=", "sig="],
        pattern: concat!(
            r#"(?i)((?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|signature|[?&;\s]sig)=)"#,
            r#"(?:\\?"[^"\\]+\\?"|'[^']+'|[^\s"',;&*]{3,})"#
        ),
        is_secret: is_no_word,
        ..SHAPE
    },
    // --password hunter2
    Shape {
        marks: &["--"],
        behind: is_flag_of_secret,
        pattern: r#"(?i)(--[0-9A-Za-z_-]*(?:password|passwd|passphrase|token|api[_-]?key|access[_-]?key)\s+)[^\s"'-][^\s"']{2,}"#,
        is_secret: is_no_word,
    },
    // JSON web tokens
    Shape {
        marks: &["eyj"],
        pattern: r"()eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*",
        is_secret: |_| true,
        ..SHAPE
    },
    // Provider keys
    Shape {
        marks: &["akia", "asia", "abia", "acca"],
        behind: |behind| begins_with(behind, 16, |b| b.is_ascii_alphanumeric()),
        pattern: r"()(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}",
        is_secret: |_| true,
    },
    Shape {
        marks: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "npm_", "hf_", "dckr_pat_", "glsa_", "shp"],
        pattern: r"()(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}|glsa_[A-Za-z0-9_]{30,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{30,})",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "pypi-", "xox", "xapp-",
        ],
        pattern: r"()(?:gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_.-]{20,}|pypi-[A-Za-z0-9_-]{50,}|xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,})",
        is_secret: has_digit,
        ..SHAPE
    },
    Shape {
        marks: &["k_live_", "k_test_", "whsec_", "do_v1_", "doo_v1_", "dop_v1_", "dor_v1_"],
        pattern: r"()(?:[prs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}|do[opr]?_v1_[a-f0-9]{40,})",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["aiza", "ya29.", "gocspx-", "hvs.", "hvb.", "sg.", "age-secret-key-"],
        pattern: r"()(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|hv[sb]\.[A-Za-z0-9_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|AGE-SECRET-KEY-[A-Z0-9]{20,})",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["sk-"],
        behind: |behind| begins_with(behind, 20, is_of_name),
        pattern: r"()(?-u:\b)sk-[A-Za-z0-9_-]{20,}",
        is_secret: |value| is_mixed(value.as_bytes()),
    },
    Shape {
        marks: &["hooks.slack.com/", "/webhooks/"],
        pattern: r"((?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks)/)[A-Za-z0-9/_-]{20,}",
        is_secret: |_| true,
        ..SHAPE
    },
    // Private keys: in PEM (also the remaining part of a truncated key) and in base64
    Shape {
        marks: &["private key"],
        pattern: r"()-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|.*)",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["private key"],
        pattern: r"(^|[^A-Za-z0-9+/=\\])[A-Za-z0-9+/=\s\\]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["ls0tls1crudjti"],
        pattern: r"()LS0tLS1CRUdJTi[A-Za-z0-9+/]*={0,2}",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape { marks: &[], pattern: r#"(^|[\s"'=:,])[A-Za-z0-9+/]{60,}={0,2}"#, is_secret: is_base64, ..SHAPE },
];

/// Compiled patterns, in the order of `SHAPES`. Each is compiled when it is first needed. The tests find patterns that
/// do not compile.
static PATTERNS: [OnceLock<Option<Regex>>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];

fn pattern(n: usize) -> Option<&'static Regex> {
    PATTERNS.get(n)?.get_or_init(|| Regex::new(SHAPES.get(n)?.pattern).ok()).as_ref()
}

/// All markers, for a search in one pass.
struct Marks {
    finder: AhoCorasick,
    /// For each marker, the shapes that use it, as a bit set.
    shapes: Vec<u64>,
    /// Shapes without markers.
    unmarked: u64,
    /// Bytes of the longest marker.
    longest: usize,
}

static MARKS: LazyLock<Option<Marks>> = LazyLock::new(|| {
    let mut shapes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut unmarked = 0;
    for (n, shape) in SHAPES.iter().enumerate() {
        shape.marks.iter().for_each(|mark| *shapes.entry(mark).or_default() |= 1 << n);
        unmarked |= u64::from(shape.marks.is_empty()) << n;
    }
    // Every text that is reported goes through it, so it is worth the memory of a DFA.
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(shapes.keys())
        .ok()?;
    let longest = shapes.keys().map(|mark| mark.len()).max().unwrap_or_default();
    Some(Marks { finder, shapes: shapes.into_values().collect(), unmarked, longest })
});
// The bit sets have 64 bits.
const _: () = assert!(SHAPES.len() <= 64);

/// The shapes that can match a text, as a bit set. Most texts have none, and the search for markers takes a hundredth
/// of the time of a pattern.
fn suspects(text: &str) -> u64 {
    let Some(marks) = &*MARKS else { return u64::MAX };
    let mut found = if has_long_word(text) { marks.unmarked } else { 0 };
    // The search for the first one to end is faster, and most texts have none. Others may begin before it.
    let Some(first) = marks.finder.find(text) else { return found };
    let from = first.end().saturating_sub(marks.longest);
    for mark in marks.finder.find_overlapping_iter(Input::new(text).range(from..)) {
        let mut asked = marks.shapes[mark.pattern().as_usize()] & !found;
        while asked != 0 {
            let shape = asked.trailing_zeros();
            asked &= asked - 1;
            if (SHAPES[shape as usize].behind)(&text[mark.end()..]) {
                found |= 1 << shape;
            }
        }
    }
    found
}

/// Whether the text contains a word that can be a key in base64.
fn has_long_word(text: &str) -> bool {
    let is_of_key = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    let bytes = text.as_bytes();
    // Such a word has a byte at one of these places, so most of the text need not be read.
    let mut from = 0;
    while let Some((before, behind)) = bytes.get(from..).and_then(|rest| rest.split_at_checked(LONG_WORD - 1)) {
        let start = before.iter().rposition(|b| !is_of_key(b)).map_or(0, |blank| blank + 1);
        let end = LONG_WORD - 1 + behind.iter().position(|b| !is_of_key(b)).unwrap_or(behind.len());
        let word = &bytes[from + start..from + end];
        if word.len() >= LONG_WORD && is_mixed(word) {
            return true;
        }
        from += end + 1;
    }
    false
}

fn is_of_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// Skips the rest of a name.
fn behind_name(behind: &str) -> &str {
    behind.trim_start_matches(|c: char| c.is_ascii() && is_of_name(c as u8))
}

/// Whether `=` or `:` follows the rest of the name and its quotes.
fn is_assigned(behind: &str) -> bool {
    behind_name(behind).trim_start_matches(['\\', '"', '\'']).trim_start().starts_with(['=', ':'])
}

/// Same as [`is_assigned`], followed by a value in quotes or a value that is not an ordinary word.
fn is_given_a_value(behind: &str) -> bool {
    let value = behind_name(behind).trim_start_matches(['\\', '"', '\'']).trim_start();
    let Some(value) = value.strip_prefix(['=', ':']) else { return false };
    let value = value.trim_start();
    value.starts_with(['\\', '"', '\'']) || value.split(ends_a_value).next().is_some_and(is_no_word)
}

fn ends_a_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '&')
}

/// Whether a URL contains user information.
fn has_user(behind: &str) -> bool {
    behind.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).next().is_some_and(|url| url.contains('@'))
}

/// Whether this is a flag with the name of a secret, followed by its value as a separate word.
fn is_flag_of_secret(behind: &str) -> bool {
    let value = behind_name(behind);
    let name = behind[..behind.len() - value.len()].to_ascii_lowercase();
    value.starts_with(char::is_whitespace) && NAMED.iter().any(|part| name.contains(part))
}

/// Whether the text begins with at least `count` bytes for which `is` holds.
fn begins_with(text: &str, count: usize, is: fn(u8) -> bool) -> bool {
    text.len() >= count && text.bytes().take(count).all(is)
}

/// Masks the secrets in one line.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    mask_shapes(text, suspects(text))
}

fn mask_shapes(text: &str, suspects: u64) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    if suspects == 0 {
        return out;
    }
    for (n, shape) in SHAPES.iter().enumerate().filter(|(n, _)| suspects & 1 << n != 0) {
        let Some(pattern) = pattern(n) else { continue };
        let masked = pattern.replace_all(&out, |found: &Captures<'_>| {
            let whole = found.get(0).map_or("", |m| m.as_str());
            let keep = found.get(1).map_or("", |m| m.as_str());
            let secret = &whole[keep.len()..];
            let before = found.get(1).and_then(|kept| out.get(..kept.end())).unwrap_or_default();
            let masked = if is_next_clause(before, secret) { None } else { masked(keep, secret, shape.is_secret) };
            masked.unwrap_or_else(|| whole.to_owned())
        });
        if let Cow::Owned(masked) = masked {
            out = masked.into();
        }
    }
    out
}

/// Replaces the secret and keeps the text before it, its quotes and the `@` after it.
fn masked(keep: &str, secret: &str, is_secret: fn(&str) -> bool) -> Option<String> {
    let bare = secret.trim_start_matches('\\');
    let open = &secret[..secret.len() - bare.len()];
    let quote = bare.chars().next().filter(|c| matches!(c, '"' | '\''));
    let bare = bare.trim_matches(|c| Some(c) == quote);
    if is_task(keep, bare) {
        return None;
    }
    if !is_secret(bare.trim_end_matches('\\')) || bare == MASK || is_placeholder(bare) || is_errno(bare) {
        return None;
    }
    let (quote, at) = (quote.map(String::from).unwrap_or_default(), if secret.ends_with('@') { "@" } else { "" });
    Some(format!("{keep}{open}{quote}{MASK}{open}{quote}{at}"))
}

/// Whether this is a command of Rails, and not a value: `bin/rails credentials:edit`.
fn is_task(before: &str, value: &str) -> bool {
    let task = value.trim_end_matches(['`', '\'', '"', '.']);
    before.ends_with("credentials:") && matches!(task, "edit" | "show" | "diff" | "fetch")
}

/// Whether the value is the next clause of an error: `failed to retrieve credentials: operation error STS`.
fn is_next_clause(before: &str, value: &str) -> bool {
    const FAILURES: [&str; 6] = ["failed to ", "cannot ", "can't ", "could not ", "couldn't ", "unable to "];
    const VERBS: [&str; 15] = [
        "retrieve", "fetch", "get", "obtain", "load", "read", "find", "verify", "parse", "validate", "decode",
        "refresh", "request", "resolve", "acquire",
    ];
    // `Invalid credentials: MINIO_ROOT_USER length should be at least 3`.
    if before.ends_with("nvalid credentials: ") && is_variable(value) {
        return true;
    }
    let Some(clause) = before.strip_suffix(": ").filter(|_| value.bytes().all(|b| b.is_ascii_lowercase())) else {
        return false;
    };
    let clause = clause.rsplit([':', '\n', ';']).next().unwrap_or(clause).to_ascii_lowercase();
    let verb = |failure: &&str| clause.rsplit_once(*failure).and_then(|(_, rest)| rest.split(' ').next());
    FAILURES.iter().filter_map(verb).any(|verb| VERBS.contains(&verb))
}

/// Whether this is the name of an environment variable of several words.
fn is_variable(value: &str) -> bool {
    value.split('_').count() > 1
        && value.split('_').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase()))
}

/// Whether this is a value of a command that the reader fills in: `<PASSWORD>`, and in JSON `'<PASSWORD>'`, between the
/// quotes that end and begin the argument of the shell.
fn is_placeholder(value: &str) -> bool {
    let name = value.trim_matches('\'').strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'-'))
}

/// Whether this is the name of an error of the system, as Erlang and Node.js print it: `/var/lib/x/.cookie: eacces`.
fn is_errno(value: &str) -> bool {
    let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
    let is_whole = value[end..].bytes().next().is_none_or(|b| matches!(b, b'"' | b'\'' | b',' | b')' | b'}' | b']'));
    is_whole && code::is_errno(&value[..end])
}

/// Replaces each private key in a text of several lines by one line, `***`. Logs are cut at the beginning: if only the
/// end of a key is left, the lines above it that look like a key are removed too.
pub fn without_keys(text: &str) -> Cow<'_, str> {
    const MARK: &str = "PRIVATE KEY";
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        let is_mark = |word: &str| line.contains(word) && line.contains(MARK);
        let (begins, ends) = (is_mark("-----BEGIN "), is_mark("-----END "));
        if begins {
            within = !ends;
            kept.push(mask(line).into_owned().into());
        } else if ends {
            if !std::mem::take(&mut within) {
                while kept.last().is_some_and(|above| is_of_key(above)) {
                    kept.pop();
                }
                kept.push(MASK.into());
            }
        } else if !(within && is_of_key(line)) {
            within = false;
            kept.push(line.into());
        }
    }
    kept.join("\n").into()
}

/// Whether the line can be part of a key: base64, a header (`Proc-Type: 4,ENCRYPTED`), or the blank line after the
/// headers.
fn is_of_key(line: &str) -> bool {
    let line = line.trim();
    let is_base64 =
        !line.contains(' ') && line.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
    is_base64 || ["Proc-Type:", "DEK-Info:"].iter().any(|header| line.starts_with(header))
}

/// Rejects the part after the colon in `host:5000/image@sha256`.
fn is_no_port(value: &str) -> bool {
    let first = value.split('/').next().unwrap_or_default();
    first.is_empty() || !first.bytes().all(|b| b.is_ascii_digit())
}

fn has_digit(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}

/// Whether there are upper-case letters, lower-case letters and digits. No name in Kubernetes has all of them.
fn is_mixed(value: &[u8]) -> bool {
    [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase].iter().all(|is| value.iter().any(is))
}

/// Whether the value is not a natural word: it contains a digit, inner capitals or base64 padding.
fn is_random(value: &str) -> bool {
    let inner =
        || value.bytes().skip(1).any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase());
    is_no_word(value) && (has_digit(value) || inner() || value.ends_with('='))
}

/// Whether the value is base64 and not a path, which has many slashes.
fn is_base64(value: &str) -> bool {
    is_mixed(value.as_bytes()) && value.matches('/').count() <= value.len() / 12
}

/// Rejects words that follow `password:` in a sentence, and the start of an error that `failed to fetch token:` wraps.
fn is_no_word(value: &str) -> bool {
    const WORDS: &str = " not no yes is was must has have does cannot can't missing required invalid expired unset empty unable failed \
        authentication unexpected serviceaccount serviceaccounts rpc error context dial request unauthorized forbidden denied \
        access illegal could couldn't the got timeout get post put eof null nil none undefined true false permission connection \
        open read unknown wrong bad file secret secrets token key keys password value found only too neither either ";
    // References that a shell or Kubernetes expands are not secrets: $DB_PASSWORD, ${TOKEN}, $(TOKEN).
    let is_reference = value.starts_with("$(") || value.starts_with("${");
    let word = value.trim_end_matches([':', '.', '!', '?', ')']).to_ascii_lowercase();
    let is_known = || WORDS.split_ascii_whitespace().any(|known| known == word);
    !(is_reference || word.is_empty() || is_known())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_patterns_compile() {
        assert!((0..SHAPES.len()).all(|n| pattern(n).is_some()));
    }

    /// Secrets are split in two parts, so that scanners do not report this file as a leak.
    #[test]
    fn secrets_are_masked() {
        let hex = "0123456789abcdef0123456789abcdef";
        for (before, secret, behind) in [
            // URLs and connection strings
            ("postgres://app:", "hunter2", "@db:5432/x: refused"),
            ("postgres://app:", "p@ss@w0rd", "@db:5432/x"),
            ("postgres://app:", "p/a:s", "@db:5432/x"),
            ("redis://:", "hunter2", "@cache:6379"),
            ("mongodb+srv://u:", "hunter2", "@c.example.net/db?x=1"),
            ("https://", &["gto", "ken0123456789abcdef"].concat(), "@git.example.com/a.git"),
            ("https://", "tok3nvalue", "@github.example.com/a.git"),
            ("sqlserver://sa@db:1433?database=x&password=", "hunter2", "&encrypt=true"),
            ("SharedAccessSignature sig=", "c2VjcmV0%3D", "&se=2"),
            ("Server=tcp:db,1433;User ID=sa;Password=", "hunter2", ";Encrypt=True"),
            ("Host=db;Pwd=", "hunter2", ";"),
            ("AccountName=a;AccountKey=", "c2VjcmV0c2VjcmV0==", ";EndpointSuffix=core.windows.net"),
            ("Endpoint=sb://x/;SharedAccessKey=", "c2VjcmV0c2VjcmV0=", ""),
            ("https://x.blob.core.windows.net/c?sv=1&sig=", "c2VjcmV0%3D", "&se=2"),
            ("https://b.s3.amazonaws.com/k?X-Amz-Signature=", hex, " 403"),
            // Identified by their names
            ("DB_PASSWORD=", "hunter2", " MY"),
            ("MY-API_KEY: ", "zzz1234", ""),
            ("dbPassword: ", "hunter2", ""),
            ("{\"clientSecret\": \"", "a b c d", "\", \"n\": 1}"),
            ("{\\\"password\\\":\\\"", "hunter2", "\\\"}"),
            ("password=\"", "two words", "\" ok"),
            ("password: '", "two words", "' ok"),
            ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
            ("{\"auths\":{\"r.io\":{\"auth\":\"", "dXNlcjpwYXNz", "\"}}}"),
            ("usage: app --password ", "hunter2", " --port 80"),
            ("//registry.npmjs.org/:_authToken=", "abcdef0123", ""),
            // Headers
            ("Authorization: Bearer ", "abcdefgh12345", ""),
            ("\"Authorization\":\"Basic ", "dXNlcjpwYXNz", "\""),
            ("authorization: Negotiate ", "YIIabcdefgh123", ""),
            ("curl -H 'Authorization: Bearer ", "ghijklmnopqrstuvwxyz", "' failed"),
            ("authorization: bearer ", "s3cr3t", ""),
            ("\"Authorization\": \"Bearer ", "mytokenxyz", "\""),
            ("\\\"Authorization\\\": \\\"Bearer ", "abc.def.ghi", "\\\""),
            ("X-Vault-Token: ", "abcdef", ""),
            ("Cookie: ", "session=abcdef; id=5", ""),
            // Tokens
            ("key ", &["AKIA", "IOSFODNN7EXAMPLE"].concat(), " denied"),
            ("x_", &["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"].concat(), " expired"),
            ("", &["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"].concat(), ""),
            ("", &["ghp", "_0123456789abcdefghijklmnopqrstuvwxyz"].concat(), ""),
            ("", &["github", "_pat_0123456789abcdefghij_klmnopqrstuvwxyz"].concat(), ""),
            ("", &["glpat", "-0123456789abcdefghij"].concat(), " no access"),
            ("", &["xox", "b-123456789012-abcdefABCDEF"].concat(), ""),
            ("post https://hooks.slack.com/services/", "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", " 404"),
            ("", &["sk", "_live_0123456789abcdefABCDEF"].concat(), ""),
            ("", &["rk", "_test_0123456789abcdefABCDEF"].concat(), ""),
            ("", &["AIza", "SyA0123456789abcdefghijklmnopqrstuv"].concat(), ""),
            ("", &["ya29", ".a0Af_0123456789abcdefghij"].concat(), ""),
            ("", &["npm", "_0123456789abcdefghijklmnopqrstuvwxyz"].concat(), ""),
            ("", &["pypi", "-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAw"].concat(), ""),
            ("", &["sk", "-proj-0123456789abcdefABCDEF"].concat(), ""),
            ("", &["hvs", ".CAESIJ0123456789abcdefghij"].concat(), ""),
            // Keys
            (
                "got ",
                &["-----BEGIN RSA PRIVATE", " KEY----- MIIE abc= -----END RSA PRIVATE KEY-----"].concat(),
                " and more",
            ),
            ("got ", &["-----BEGIN PRIVATE", " KEY-----\\nMIIE\\nabc="].concat(), ""),
            ("tls.key: ", "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUU=", " bad"),
            ("", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", " bad"),
        ] {
            assert_eq!(mask(&format!("{before}{secret}{behind}")), format!("{before}{MASK}{behind}"), "{secret}");
        }
        assert_eq!(mask(&["MIIE abc= -----END PRIVATE", " KEY----- bad"].concat()), "*** bad");
    }

    #[test]
    fn text_that_resembles_secrets_is_kept() {
        for text in [
            "secret \"db\" not found",
            "couldn't find key token in Secret demo/db",
            "references non-existent secret key: tls.crt",
            "http://10.0.0.1:8080/healthz",
            "https://user@example.com/path",
            "mkdir /etc/passwd: not a directory",
            "DB_PASSWORD: not set",
            "Access denied for user 'app'@'10.0.0.1' (using password: YES)",
            "DB_PASSWORD must be set",
            "token: expired",
            "ExpiredToken: The security token included in the request is expired",
            "failed to fetch token: serviceaccounts \"x\" not found",
            "failed to fetch oauth token: unexpected status: 403 Forbidden",
            "failed to get token: Get \"https://auth.example.com/token\": EOF",
            "open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory",
            "open /run/secrets/db_password: permission denied",
            "Error when reading /var/lib/rabbitmq/.erlang.cookie: eacces",
            r#"{"Error when reading /var/lib/rabbitmq/.erlang.cookie: eacces",[{auth,init_cookie,0}]}"#,
            "Missing key for 'production' environment, set this string with `bin/rails credentials:edit`",
            "Invalid credentials: MINIO_ROOT_USER length should be at least 3",
            "Basic authentication failed",
            "Basic configuration is missing",
            "WWW-Authenticate: Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\"",
            "no Authorization header; authorization: permission denied",
            "authorization: bearer token required; Authorization: Basic authentication failed",
            "password=$(DB_PASSWORD) token=${TOKEN}",
            // Identifiers that diagnoses need
            "docker.io/library/nginx@sha256:2834dc507516af02784808c5f48b7cbe38b8ed5d0f4837f16e78d00deb7e7767",
            "docker-pullable://registry.example.com:5000/team/app@sha256:2834dc507516af02784808c5f48b7cbe38b8ed5d0f4837f16e78d00deb7e7767",
            "containerd://0f5c8e2b9d3a4c6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6",
            "pod web-5d4f8c7b9d-x2x4z_shop(6f0c4f4e-8a0e-4d38-9a4e-4a6f6d9a1b2c)",
            "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated=gpu}, {key=value}",
            "volume \"kube-api-access-7xk2p\"",
            "pods \"sk-learn-training-pipeline-worker-0\" is forbidden",
            "release-npm_config_cache and pypi-mirror-service.example.svc",
            "revision 5d4f8c7b9d, resourceVersion 123456789012345678901234567890",
            "/var/lib/kubelet/pods/6f0c4f4e/volumes/kubernetes.io~csi/pvc-3a4c6e7f/mount",
            "cgroup /kubepods/burstable/pod6f0c4f4e8a0e4d389a4e4a6f6d9a1b2c/0f5c8e2b9d3a4c6e7f8091a2b3c4d5e6",
            "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#detailed-behavior",
            "com.example.DatabaseConnectionPoolInitializationFailedBeforeStartException: no route to host",
            "arn:aws:iam::123456789012:role/eksctl-cluster-nodegroup-NodeInstanceRole-1ABCDEFGHIJKL",
            "unknown flag: --token-file /etc/token",
            "-----BEGIN CERTIFICATE----- is expected",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    proptest! {
        /// The quick checks must not miss a secret that a pattern finds.
        #[test]
        fn quick_checks_miss_no_secret(pieces in prop::collection::vec(piece(), 1..12)) {
            let text = pieces.concat();
            prop_assert_eq!(mask(&text), mask_shapes(&text, u64::MAX));
        }
    }

    /// Separated by bars.
    const AROUND: &str = "=|:|: | |\t|\"|'|\\|\\\"|@|/|;|,|&|-|_|--|.|é|Api|access|token|account_|private-|word|ord|hrase|s|bearer |Basic |\
        KEY|-----BEGIN |-----END | KEY-----|://";

    /// Markers, text around them, and values.
    fn piece() -> impl Strategy<Value = String> {
        let marks: Vec<&str> = SHAPES.iter().flat_map(|shape| shape.marks).copied().collect();
        let shouted: Vec<String> = marks.iter().map(|mark| mark.to_uppercase()).collect();
        prop_oneof![
            prop::sample::select(marks).prop_map(ToOwned::to_owned),
            prop::sample::select(shouted),
            prop::sample::select(AROUND.split('|').collect::<Vec<_>>()).prop_map(ToOwned::to_owned),
            "[A-Za-z0-9+/]{3,70}",
            "[A-Z0-9]{16,20}",
            "[a-z0-9_.-]{8,40}",
        ]
    }

    #[test]
    fn placeholder_in_a_command_stays() {
        let command = r#"kubectl patch secret db -p '{"stringData":{"passwd":"'<VALUE>'"}}'"#;
        assert_eq!(mask(command), command);
        assert_eq!(mask(&command.replace("'<VALUE>'", "hunter2x")), command.replace("'<VALUE>'", "***"));
    }

    #[test]
    fn reason_after_a_wrapped_error_is_no_secret() {
        for text in [
            "failed to retrieve credentials: operation error STS: AssumeRole",
            "cannot verify token: signed by unknown issuer https://login.example.com",
            "auth: failed to parse API key: illegal base64 data",
        ] {
            assert_eq!(mask(text), text);
        }
        for text in ["failed to set password: hunter", "cannot verify token: abc123", "got password: hunter"] {
            assert!(mask(text).ends_with(MASK), "{text}");
        }
    }

    #[test]
    fn placeholder_of_a_command_is_not_masked() {
        assert_eq!(mask("create --docker-password=<PASSWORD>"), "create --docker-password=<PASSWORD>");
        assert_eq!(mask("create --docker-password=<pa55word>"), "create --docker-password=***");
    }

    #[test]
    fn masking_is_idempotent() {
        for text in
            ["password=hunter2", "{\"password\": \"x y z\"}", "a://b:c@d", "Authorization: Bearer abcdefgh12345"]
        {
            let once = mask(text);
            assert_eq!(mask(&once), once);
        }
    }
}
