//! Sanitizing of text from the cluster: it is cleaned, masked and cut before it is written to an object, an Event, a
//! log or a terminal.

mod secrets;

use std::borrow::Cow;
use std::sync::Arc;

use super::shorten;

pub use secrets::without_keys;

/// Maximum length of a summary in characters.
pub const SUMMARY_MAX: usize = 200;
/// Maximum length of one value of evidence in characters.
pub const EVIDENCE_MAX: usize = 400;
/// Bytes kept from the end of a log.
const LOG_MAX: usize = 4 << 10;

/// Bytes read of one text: far more than is ever reported, and few enough that no text takes long.
const READ_MAX: usize = 16 << 10;

/// Makes one line of the text: replaces control characters and line breaks by single spaces, masks secrets, and cuts it
/// to `most` characters with an ellipsis.
pub fn line(text: &str, most: usize) -> String {
    cut(&secrets::mask(&one_line(beginning(text, READ_MAX))), most)
}

/// The beginning of a text with its lines apart, each cleaned, and with its secrets masked.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    let read = beginning(text, READ_MAX);
    if !read.contains(['\n', '\u{85}', '\u{2028}', '\u{2029}']) {
        return masked(one_line(read));
    }
    let read = without_keys(read);
    let lines: Vec<Cow<'_, str>> = read.lines().map(one_line).collect();
    masked(lines.join("\n").into())
}

/// The text with its secrets masked and otherwise as it is, with its lines and their indentation, so that a diagnosis
/// reads it as the original. Of a very long text, the middle is left out.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let read = both_ends(text, READ_MAX);
    let read = without_keys(&read);
    let lines: Vec<Cow<'_, str>> = read.split('\n').map(line_without_secrets).collect();
    // Some secrets stand in the line after their name.
    let masked = masked(lines.join("\n").into());
    if *masked == *text { text.into() } else { masked.into_owned().into() }
}

fn line_without_secrets(line: &str) -> Cow<'_, str> {
    let clean = one_line(line);
    let is_hidden = |c: char| (c.is_control() && c != '\t') || is_invisible(c);
    match secrets::mask(&clean) {
        // Spaces matter: a stack trace is recognized by its indentation.
        Cow::Borrowed(_) if !line.contains(is_hidden) => line.into(),
        masked => {
            let rest = line.trim_start_matches([' ', '\t']);
            format!("{}{masked}", &line[..line.len() - rest.len()]).into()
        }
    }
}

fn masked(text: Cow<'_, str>) -> Cow<'_, str> {
    match secrets::mask(&text) {
        Cow::Owned(masked) => masked.into(),
        Cow::Borrowed(_) => text,
    }
}

/// The first bytes of an unmasked text, at most `most`. The last word is dropped, because no pattern recognizes a part
/// of a secret.
pub fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let read = &text[..end];
    read.rfind(char::is_whitespace).map_or(read, |word| &read[..word])
}

/// The beginning and the end of a long unmasked message, each at most half of `most` bytes: its end states the error. No word
/// is cut, because no pattern recognizes a part of a secret.
pub fn both_ends(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let half = most / 2;
    let start = (text.len() - half..text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len());
    let end = text[start..].find(char::is_whitespace).map_or("", |word| text[start + word..].trim_start());
    format!("{} … {end}", beginning(text, half)).into()
}

/// Shortens a long message of an Event to its beginning and its end.
pub fn shorten_event(message: &mut Arc<str>) {
    if let Cow::Owned(short) = both_ends(message, 2 << 10) {
        *message = short.into();
    }
}

fn one_line(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = after_sequence(rest) {
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c.is_whitespace() || c.is_control() || is_invisible(c) {
            space = !out.is_empty();
        } else {
            if std::mem::take(&mut space) {
                out.push(' ');
            }
            out.push(c);
        }
    }
    out.into()
}

/// Whether the text is already one clean line: printable ASCII without repeated spaces. Most texts are.
fn is_plain(text: &str) -> bool {
    // Without an early end, so that the compiler can take many bytes at once.
    let is_printable = text.bytes().fold(true, |all, b| all & matches!(b, b' '..=b'~'));
    is_printable && !text.starts_with(' ') && !text.ends_with(' ') && !text.contains("  ")
}

/// The rest of a text after a leading terminal control sequence: colors and cursor moves (CSI), and strings that set a
/// title, a link or the clipboard (OSC and similar), which end with BEL or ST. An unterminated string does not count as
/// a sequence, because the rest of the text would be lost.
fn after_sequence(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    let kind = match chars.next()? {
        '\u{1b}' => chars.next()?,
        '\u{9b}' => '[',
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => ']',
        _ => return None,
    };
    let rest = chars.as_str();
    match kind {
        '[' => {
            let rest =
                rest.trim_start_matches(|c| matches!(c, '0'..='?')).trim_start_matches(|c| matches!(c, '!'..='/'));
            Some(rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest))
        }
        ']' | 'P' | 'X' | '^' | '_' => {
            let ends = ["\u{7}", "\u{1b}\\", "\u{9c}"];
            let (at, end) = ends.iter().filter_map(|end| Some((rest.find(end)?, end))).min()?;
            rest.get(at + end.len()..)
        }
        // Selection of a character set.
        '(' | ')' | '*' | '+' => Some(rest.strip_prefix(|c: char| c.is_ascii_alphanumeric()).unwrap_or(rest)),
        _ => None,
    }
}

/// Characters that reorder or hide text in a terminal: bidirectional controls, zero-width characters, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Characters of a line of JSON in a log.
const JSON_LINE_MAX: usize = LOG_MAX * 3 / 4;

/// The last lines of a log, each masked and shortened; at most 4 KiB in total.
pub fn log_tail(log: &str) -> String {
    let mut room = LOG_MAX;
    let mut kept: Vec<String> = Vec::new();
    // A key is recognized only by its first and last line, so it is removed before the lines are split.
    let log = without_keys(end(log));
    for line in log.lines().rev() {
        // The error of a line of JSON may stand anywhere in it.
        let most = if line.trim_start().starts_with('{') { JSON_LINE_MAX } else { EVIDENCE_MAX };
        // The end of a long line states why.
        let line = shorten::both_ends(&self::line(line, usize::MAX), most);
        let Some(left) = room.checked_sub(line.len() + 1) else { break };
        room = left;
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

/// The part of a log that is read: its end, from the start of a line.
fn end(log: &str) -> &str {
    const EXAMINED: usize = 16 * LOG_MAX;
    let from = log.len().saturating_sub(EXAMINED);
    let tail = (from..=log.len()).find_map(|at| log.get(at..)).unwrap_or_default();
    if from == 0 { tail } else { tail.split_once('\n').map_or(tail, |(_, lines)| lines) }
}

/// Cuts to at most `most` characters; the last one is an ellipsis if something was cut.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().count() <= most {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(most.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Cuts to at most `most` bytes at a character boundary.
pub fn cut_bytes(text: &str, most: usize) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(ELLIPSIS.len());
    let end = (0..=room).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}{ELLIPSIS}", &text[..end])
}

/// Formats seconds: `9 s`, `5 min`, `2 h`.
pub fn duration(seconds: i64) -> String {
    match seconds {
        s if s < 120 => format!("{s} s"),
        s if s < 7200 => format!("{} min", s / 60),
        s if s < 172_800 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

/// Whether `text` contains all `parts`, case-insensitively (runtimes differ). `parts` must be in lower case.
pub fn has(text: &str, parts: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    parts.iter().all(|part| lower.contains(part))
}

/// Whether `text` contains any of `parts`, like [`has`].
pub fn has_any(text: &str, parts: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    parts.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_a_single_line_without_secrets() {
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
    fn text_without_secrets_keeps_its_lines() {
        for (text, expected) in [
            ("Traceback:\n  File \"a.py\"\n    raise  Error", "Traceback:\n  File \"a.py\"\n    raise  Error"),
            ("a\n\ttoken=abcdef12345\nb", "a\n\ttoken=***\nb"),
            ("pass\u{200b}word=hunter2 \u{1b}[31mred", "pass word=hunter2 red"),
            ("password:\u{1b}[0m hunter2", "password: ***"),
        ] {
            assert_eq!(without_secrets(text), expected, "{text:?}");
        }
        let long = format!("{} token=abc{} end", "x ".repeat(20_000), "d".repeat(99));
        let short = without_secrets(&long);
        assert!(short.len() < 17_000 && short.ends_with("token=*** end"), "{short}");
    }

    #[test]
    fn terminal_sequences_are_removed() {
        for (text, expected) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("see \u{1b}]8;;https://evil.example/\u{1b}\\here\u{1b}]8;;\u{1b}\\", "see here"),
            ("clip\u{1b}]52;c;ZXZpbA==\u{7}board", "clipboard"),
            ("\u{1b}P+q544e\u{1b}\\dcs", "dcs"),
            ("\u{1b}]0;without an end", "]0;without an end"),
            ("\u{9b}2Jone byte \u{9d}0;x\u{9c}each", "one byte each"),
            ("\u{1b}(Bset \u{1b}creset", "set creset"),
            ("\u{1b}[2", ""),
            ("up\u{8}\u{8}\rdown\u{7f}", "up down"),
            ("abc\u{202e}dcba \u{2066}x\u{61c}\u{ad}y\u{e0041}z", "abc dcba x y z"),
            ("first\u{85}second\u{2028}third\u{2029}fourth", "first second third fourth"),
        ] {
            assert_eq!(line(text, 99), expected, "{text:?}");
        }
    }

    #[test]
    fn long_text_is_cut_to_its_beginning() {
        let long = format!("{} token=abc{}", "é".repeat(6000), "d".repeat(1 << 20));
        assert!(line(&long, 20).starts_with("éé"));
        let masked = line(&format!("password={} {}", "x".repeat(READ_MAX - 30), "y".repeat(99)), 99);
        assert_eq!(masked, "password=***");
    }

    #[test]
    fn private_key_in_a_log_is_removed_completely() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let log = format!(
            "starting\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\nshort==\n-----END RSA PRIVATE KEY-----\nerror: bad key"
        );
        assert_eq!(log_tail(&log), "starting\n***\nerror: bad key");
        let cut = format!("{body}\n{body}\nQh8=\n-----END PRIVATE KEY-----\nerror: bad key");
        assert_eq!(log_tail(&cut), "***\nerror: bad key");
        let unended = format!("key:\n-----BEGIN EC PRIVATE KEY-----\n{body}\npanic: bad key");
        assert_eq!(log_tail(&unended), "key:\n***\npanic: bad key");
        assert_eq!(log_tail(&format!("last line\n{body}")), "last line\n***");
    }

    #[test]
    fn cut_keeps_characters_whole() {
        assert_eq!(cut("ありがとう", 3), "あり…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
