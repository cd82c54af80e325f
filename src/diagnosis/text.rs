//! Text from the cluster is data: it is cleaned, masked and cut before it reaches an object, an Event, a log or a terminal.

mod secrets;

use std::borrow::Cow;

pub use secrets::without_keys;

/// The most characters of a summary.
pub const SUMMARY_MAX: usize = 200;
/// The most characters of one value of evidence.
pub const EVIDENCE_MAX: usize = 400;
/// What is kept of a log, in bytes from its end.
const LOG_MAX: usize = 4 << 10;

/// What is looked at of one text, in bytes: far more than is ever told, and little enough that no text costs much time.
const READ_MAX: usize = 16 << 10;

/// One line: control characters and line breaks become single spaces, secrets are masked, and it is cut at `most`
/// characters with an ellipsis.
pub fn line(text: &str, most: usize) -> String {
    cut(&secrets::mask(&one_line(beginning(text, READ_MAX))), most)
}

/// The beginning of a text that is not masked yet, at most so many bytes. A word at its end may be half a secret, which no pattern
/// knows: it is left out.
pub fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let read = &text[..end];
    read.rfind(char::is_whitespace).map_or(read, |word| &read[..word])
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

/// Whether it is one line already, as most texts are: printable ASCII with single spaces within.
fn is_plain(text: &str) -> bool {
    let mut before = b' ';
    let each = text.bytes().all(|b| {
        let is_doubled = b == b' ' && before == b' ';
        before = b;
        matches!(b, b' '..=b'~') && !is_doubled
    });
    each && (text.is_empty() || before != b' ')
}

/// What follows a terminal's control sequence that the text begins with: colours and moves (CSI), and the strings that set
/// a title, a link or the clipboard (OSC and its like), which end with BEL or ST. Without its end a string is no sequence:
/// all that follows would be lost.
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
        // The choice of a set of characters.
        '(' | ')' | '*' | '+' => Some(rest.strip_prefix(|c: char| c.is_ascii_alphanumeric()).unwrap_or(rest)),
        _ => None,
    }
}

/// Marks that reorder or hide text in a terminal: bidirectional controls, characters without width, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The last lines of a log: each masked and cut, all of them 4 KiB at most.
pub fn log_tail(log: &str) -> String {
    let mut room = LOG_MAX;
    let mut kept: Vec<String> = Vec::new();
    // A key is known by its first and its last line only: it is taken out before the lines part.
    let log = without_keys(end(log));
    for line in log.lines().rev() {
        let line = self::line(line, EVIDENCE_MAX);
        let Some(left) = room.checked_sub(line.len() + 1) else { break };
        room = left;
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

/// What is looked at of a log: its end, from a whole line on.
fn end(log: &str) -> &str {
    const LOOKED_AT: usize = 16 * LOG_MAX;
    let from = log.len().saturating_sub(LOOKED_AT);
    let tail = (from..=log.len()).find_map(|at| log.get(at..)).unwrap_or_default();
    if from == 0 { tail } else { tail.split_once('\n').map_or(tail, |(_, lines)| lines) }
}

/// At most `most` characters, the last an ellipsis where something was cut.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().count() <= most {
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
    fn no_sequence_of_a_terminal_is_left() {
        for (text, told) in [
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
            assert_eq!(line(text, 99), told, "{text:?}");
        }
    }

    #[test]
    fn a_text_of_any_length_is_told_by_its_beginning() {
        let long = format!("{} token=abc{}", "é".repeat(6000), "d".repeat(1 << 20));
        assert!(line(&long, 20).starts_with("éé"));
        let told = line(&format!("password={} {}", "x".repeat(READ_MAX - 30), "y".repeat(99)), 99);
        assert_eq!(told, "password=***");
    }

    #[test]
    fn a_key_in_a_log_is_taken_out_with_all_its_lines() {
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
    fn a_cut_keeps_characters_whole() {
        assert_eq!(cut("ありがとう", 3), "あり…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
