//! Splits a line into clauses at colons, and leaves alone what stands in quotes or brackets.

/// A closed pair of quotes or brackets: the bytes of its two marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) open: usize,
    pub(super) close: usize,
}

/// The outermost closed pairs of a text, in order. Marks without a partner are ordinary characters. Takes linear time.
pub(super) fn pairs(text: &str) -> Vec<Pair> {
    let bytes = text.as_bytes();
    let mut open: Vec<(u8, usize)> = Vec::new();
    // How many marks of each kind are open: " ' ` ( [ {
    let mut counts = [0_usize; 6];
    let mut found: Vec<Pair> = Vec::new();
    for (at, &byte) in bytes.iter().enumerate() {
        let Some((kind, is_closing)) = role(bytes, at, byte, &counts) else { continue };
        if !is_closing {
            counts[kind_index(kind)] += 1;
            open.push((kind, at));
            continue;
        }
        if counts[kind_index(kind)] == 0 {
            continue;
        }
        // Marks that are still open inside of this pair have no partner.
        while let Some((last, start)) = open.pop() {
            counts[kind_index(last)] -= 1;
            if last == kind {
                while found.last().is_some_and(|inner| inner.open > start) {
                    found.pop();
                }
                found.push(Pair { open: start, close: at });
                break;
            }
        }
    }
    found
}

/// The kind of a mark, by its opening form, and whether it closes here; `None` for ordinary characters.
fn role(bytes: &[u8], at: usize, byte: u8, counts: &[usize; 6]) -> Option<(u8, bool)> {
    match byte {
        b'(' | b'[' | b'{' => Some((byte, false)),
        b')' => Some((b'(', true)),
        b']' => Some((b'[', true)),
        b'}' => Some((b'{', true)),
        b'"' | b'\'' | b'`' => {
            let before = at.checked_sub(1).map(|i| bytes[i]);
            let after = bytes.get(at + 1).copied();
            let is_space = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_whitespace());
            let follows_word = before.is_some_and(|b| b.is_ascii_alphanumeric());
            let precedes_word = after.is_some_and(|b| b.is_ascii_alphanumeric() || b >= 0x80);
            // The apostrophe of `didn't` and of `pods' `.
            if byte == b'\'' && follows_word && (precedes_word || counts[kind_index(byte)] == 0) {
                return None;
            }
            let is_open = counts[kind_index(byte)] > 0;
            let closes = is_open && !is_space(before) && (!precedes_word || follows_word);
            let opens = !is_space(after) && !follows_word;
            if closes { Some((byte, true)) } else { opens.then_some((byte, false)) }
        }
        _ => None,
    }
}

fn kind_index(kind: u8) -> usize {
    match kind {
        b'"' => 0,
        b'\'' => 1,
        b'`' => 2,
        b'(' => 3,
        b'[' => 4,
        _ => 5,
    }
}

/// Words that begin another error after a comma or a semicolon.
const NEXT_ERROR: &[&str] = &["failed to ", "failed: ", "unable to ", "rpc error: "];

/// A part of a line: a clause, and what separates it from the part before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) end: usize,
    /// It begins another error, beside the one before: `failed to X: a, failed to Y: b`.
    pub(super) is_next_error: bool,
}

/// The parts of a line: it is divided at `: ` and where another error begins, but not in quotes and brackets.
pub(super) fn parts(line: &str) -> Vec<Part> {
    let bytes = line.as_bytes();
    let pairs = pairs(line);
    let mut pairs = pairs.iter().peekable();
    let mut found = Vec::new();
    let mut part = Part { start: 0, end: 0, is_next_error: false };
    let (mut at, mut comma) = (0, usize::MAX);
    while at < bytes.len() {
        if let Some(pair) = pairs.next_if(|pair| pair.open <= at) {
            at = at.max(pair.close + 1);
            continue;
        }
        if let Some(length) = failed_with(&bytes[at..]) {
            found.push(Part { end: at + FAILED.len(), ..part });
            at += length;
            part = Part { start: at, end: 0, is_next_error: false };
            continue;
        }
        let next = bytes.get(at + 1).copied();
        if bytes[at] == b',' {
            comma = at;
        }
        let ends = match bytes[at] {
            b':' if comma < at && comma > part.start && is_detail(line, comma, at) => false,
            b':' => next.is_none_or(|b| b == b' '),
            b',' | b';' => next == Some(b' ') && (starts_error(&bytes[at + 2..]) || starts_cause(&bytes[at + 2..])),
            b'\n' => true,
            _ => false,
        };
        if ends {
            found.push(Part { end: at, ..part });
            let is_next_error = matches!(bytes[at], b',' | b';') && starts_error(&bytes[at + 2..]);
            part = Part { start: (at + 1).min(bytes.len()), end: 0, is_next_error };
            comma = usize::MAX;
        }
        at += 1;
    }
    found.push(Part { end: bytes.len(), ..part });
    found
}

const FAILED: &[u8] = b" failed";

/// Bytes of ` failed with ` before a cause: `attach of X failed with why`. A status of a command is no cause.
fn failed_with(rest: &[u8]) -> Option<usize> {
    let cause = rest.strip_prefix(FAILED)?.strip_prefix(b" with ")?;
    let is_status = [&b"exit"[..], b"status", b"code", b"signal", b"error", b"err:", b"statuscode", b"HTTP"];
    let begins = |words: &&[u8]| cause.starts_with(words);
    let is_cause = !is_status.iter().any(begins) && !cause.first().is_none_or(u8::is_ascii_digit);
    is_cause.then_some(rest.len() - cause.len())
}

/// Longest key of a detail, in bytes.
const KEY_MAX: usize = 20;

/// Whether the colon belongs to a detail of the same clause: `only directories are supported, path: "a/b", flags: 0`.
fn is_detail(line: &str, comma: usize, colon: usize) -> bool {
    let key = line[comma + 1..colon].trim_start();
    let is_key = (1..=KEY_MAX).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let value = line[colon + 1..].trim_start();
    let starts = value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '"' | '/' | '[' | '{'));
    let word = value.split(' ').next().unwrap_or_default();
    is_key && colon + 1 < line.len() && (starts || word.len() > 1 && word.ends_with(','))
}

/// Whether the cause follows: `failed to X, err: why`.
fn starts_cause(rest: &[u8]) -> bool {
    ["err: ", "error: ", "caused by: ", "reason: ", "stderr: ", "output: "]
        .iter()
        .any(|words| rest.starts_with(words.as_bytes()))
}

fn starts_error(rest: &[u8]) -> bool {
    // The kubelet's list of volumes goes on: `unmounted volumes=[a], failed to process volumes=[a]: why`.
    !rest.starts_with(b"failed to process volumes")
        && NEXT_ERROR
            .iter()
            .any(|words| rest.len() >= words.len() && rest[..words.len()].eq_ignore_ascii_case(words.as_bytes()))
        || starts_with_field(rest)
}

/// Whether the error of another field follows, as the API server lists them: `spec.ports[0].nodePort: Invalid value`.
fn starts_with_field(rest: &[u8]) -> bool {
    let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'[' | b']')).count();
    let (path, after) = rest.split_at(length);
    let is_path = path.first().is_some_and(u8::is_ascii_lowercase) && path.iter().any(|b| matches!(b, b'.' | b'['));
    is_path && after.starts_with(b": ")
}

/// The content of a text that is a single pair of these quotes or brackets.
pub(super) fn unwrapped(text: &str, marks: &[u8]) -> Option<(usize, usize)> {
    let first = *text.as_bytes().first()?;
    if !marks.contains(&first) {
        return None;
    }
    match pairs(text).as_slice() {
        [Pair { open: 0, close }] if close + 1 == text.len() => Some((1, *close)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<&str> {
        parts(line).iter().map(|part| line[part.start..part.end].trim()).collect()
    }

    #[test]
    fn colons_in_quotes_brackets_and_addresses_do_not_split() {
        for (line, expected) in [
            (r#"failed to X "a: b": c"#, vec![r#"failed to X "a: b""#, "c"]),
            (
                "dial tcp 10.0.0.1:443: connect: connection refused",
                vec!["dial tcp 10.0.0.1:443", "connect", "connection refused"],
            ),
            ("unable to X (limit: 1, usage: 2): y", vec!["unable to X (limit: 1, usage: 2)", "y"]),
            (r#"Get "https://x:10250/y": EOF"#, vec![r#"Get "https://x:10250/y""#, "EOF"]),
            ("the node(s) didn't match: the pod's own: x", vec!["the node(s) didn't match", "the pod's own", "x"]),
            (r#"a "b: c"#, vec![r#"a "b"#, "c"]),
            (r#"caused "exec: "run": not found": unknown"#, vec![r#"caused "exec: "run": not found""#, "unknown"]),
            ("no key 'a: b' in x: y", vec!["no key 'a: b' in x", "y"]),
            ("a, failed to clean up b: c", vec!["a", "failed to clean up b", "c"]),
            ("attach of a failed with no luns", vec!["attach of a failed", "no luns"]),
            ("hook failed with exit code 1", vec!["hook failed with exit code 1"]),
            (r#"object "default"/"app: x" not registered"#, vec![r#"object "default"/"app: x" not registered"#]),
        ] {
            assert_eq!(split(line), expected, "{line}");
        }
    }

    #[test]
    fn only_a_text_that_is_one_pair_is_unwrapped() {
        assert_eq!(unwrapped(r#""a: b""#, b"\""), Some((1, 5)));
        assert_eq!(unwrapped(r#""a" and "b""#, b"\""), None);
        assert_eq!(unwrapped("[a, b]", b"["), Some((1, 5)));
    }
}
