//! Long words that are secrets by their own form: tokens with a known prefix, and random words that nothing beside them
//! explains as an identifier, such as the ID of a container or a checksum.

use std::borrow::Cow;

use super::words::{is_mixed, turns};
use super::{MASK, tokens};

/// Minimum length of a word that is judged.
const LONG: usize = 20;
/// Minimum length of a word that is judged as base64, which may have few digits.
const BASE64: usize = 60;
/// Hexadecimal numbers up to this length are often checksums, commits or UIDs without hyphens, so they are masked only
/// as the value of a name.
const COMMIT: usize = 40;
/// Bytes before and after a number that can explain it.
const NEAR: usize = 100;
/// Bytes of the padded part of a token.
const LONGEST: usize = 400;

/// Masks the long words of a line that are secrets.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some((start, end)) = next(text.as_bytes(), from) {
        from = end;
        for (start, end) in secrets(text, start, end) {
            out.push_str(&text[kept..start.max(kept)]);
            out.push_str(MASK);
            let padding = text[end..].bytes().take_while(|b| *b == b'=').count();
            kept = end + padding;
        }
        from = from.max(kept);
    }
    if kept == 0 {
        return text.into();
    }
    out.push_str(&text[kept..]);
    out.into()
}

fn is_of_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'_' | b'-' | b'.' | b'~' | b'%')
}

/// The next word of at least [`LONG`] bytes. It has a byte at every multiple of its minimum length, so most of the text
/// is not read.
fn next(bytes: &[u8], mut from: usize) -> Option<(usize, usize)> {
    loop {
        let (before, behind) = bytes.get(from..)?.split_at_checked(LONG - 1)?;
        let start = before.iter().rposition(|b| !is_of_word(*b)).map_or(0, |blank| blank + 1);
        let end = LONG - 1 + behind.iter().position(|b| !is_of_word(*b)).unwrap_or(behind.len());
        if end - start >= LONG {
            return Some((from + start, from + end));
        }
        from += end;
        if end == LONG - 1 {
            from += 1;
        }
    }
}

/// The parts of a word that are secrets.
fn secrets(text: &str, mut start: usize, end: usize) -> Vec<(usize, usize)> {
    let word = &text[start..end];
    // The n of an escaped line break.
    if text[..start].ends_with('\\') && word.starts_with(['n', 'r', 't']) {
        start += 1;
    }
    let word = text[start..end].trim_end_matches(['.', '-']);
    let end = start + word.len();
    if !word.bytes().any(|b| b.is_ascii_digit()) && !tokens::is_token(word) {
        return Vec::new();
    }
    if word.contains('/') {
        // A path or a URL
        let mut found = Vec::new();
        let mut at = start;
        for name in word.split('/') {
            if name.len() >= LONG && tokens::is_token(name) {
                found.push((at, at + name.len()));
            }
            at += name.len() + 1;
        }
        if !found.is_empty() {
            return found;
        }
    }
    let (before, after) = (&text[..start], &text[end..]);
    // Some tokens have the padding of base64 inside; `=` ends a name as well.
    let is_of_padded = |b: &u8| *b == b'=' || is_of_word(*b);
    let bytes = text.as_bytes();
    let head = start - bytes[..start].iter().rev().take(NEAR).take_while(|b| is_of_padded(b)).count();
    let tail = end + bytes[end..].iter().take(LONGEST).take_while(|b| is_of_padded(b)).count();
    let inner = text[head..start].match_indices('=').map(|(at, _)| head + at + 1);
    if let Some(at) = [head].into_iter().chain(inner).find(|at| tokens::is_token(&text[*at..tail])) {
        return vec![(at, tail)];
    }
    let is_secret = match hex_digits(word) {
        Some(digits) => is_secret_number(digits, before, after),
        None => !before.ends_with('@') && !after.starts_with('@') && is_random(word) && !is_explained(before),
    };
    if is_secret { vec![(start, end)] } else { Vec::new() }
}

/// The number of digits of a hexadecimal number that is long enough for a key.
fn hex_digits(word: &str) -> Option<usize> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let has = |is: fn(&u8) -> bool| digits.as_bytes().iter().any(is);
    let is_hex = digits.len() >= 24 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    // In capitals or in small letters: another word is no number.
    (is_hex && has(u8::is_ascii_uppercase) != has(u8::is_ascii_lowercase)).then_some(digits.len())
}

/// Whether a hexadecimal number is a key: a long one unless a word around it explains it, and a shorter one only as the
/// value of a name that does not explain it.
fn is_secret_number(digits: usize, before: &str, after: &str) -> bool {
    // The tag of an image, or `sha256:`.
    if before.ends_with([':', '@']) {
        return false;
    }
    if digits > COMMIT {
        return !is_explained(before) && !around(before, after).any(|word| NEARBY.contains(&word));
    }
    let assigned = before.trim_end_matches(['"', '\'', '\\']);
    let is_quoted = assigned.len() < before.len();
    let is_value = assigned.ends_with('=') || is_quoted && assigned.trim_end().ends_with([':', '=', '>']);
    is_value && !is_explained(before)
}

/// The words near a number.
fn around<'a>(before: &'a str, after: &'a str) -> impl Iterator<Item = &'a str> {
    let from = (before.len().saturating_sub(NEAR)..before.len()).find(|at| before.is_char_boundary(*at));
    let to = (0..=after.len().min(NEAR)).rev().find(|at| after.is_char_boundary(*at));
    let near = [&before[from.unwrap_or(before.len())..], &after[..to.unwrap_or(0)]];
    near.into_iter().flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()))
}

/// Whether the name or the word directly before it explains a number or a random word: `id: x`, `requestId="x"`, also
/// `clusterId Some(x)` in Scala.
fn is_explained(before: &str) -> bool {
    let named = before.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let mut words = named.rsplit(|c: char| !c.is_ascii_alphanumeric()).filter(|word| *word != "Some");
    named.len() + 6 >= before.len() && words.next().is_some_and(is_explanation)
}

/// Words that explain a number although others stand between: messages of runtimes and registries.
const NEARBY: [&str; 21] = [
    "container",
    "containers",
    "containerd",
    "Container",
    "cri",
    "crio",
    "docker",
    "sandbox",
    "image",
    "layer",
    "snapshot",
    "blob",
    "manifest",
    "digest",
    "checksum",
    "sha256",
    "shim",
    "exec",
    "task",
    "fingerprint",
    "reserved",
];

/// Whether a word states what a number identifies: `containerID`, `commit`, `sha256`.
fn is_explanation(word: &str) -> bool {
    const WORDS: [&str; 32] = [
        "id",
        "ids",
        "uid",
        "uuid",
        "guid",
        "cid",
        "hash",
        "sum",
        "sha",
        "sha1",
        "sha512",
        "md5",
        "etag",
        "commit",
        "revision",
        "rev",
        "ref",
        "trace",
        "traceparent",
        "span",
        "request",
        "serial",
        "version",
        "build",
        "tag",
        "head",
        "cursor",
        "node",
        "pod",
        "name",
        "oid",
        "tree",
    ];
    const ENDINGS: [&str; 12] =
        ["ID", "Id", "UID", "Uid", "Hash", "Digest", "Sha", "SHA", "sum", "Sum", "Commit", "Number"];
    let is_known = |known: &&str| word.eq_ignore_ascii_case(known);
    WORDS.iter().any(is_known) || NEARBY.iter().any(is_known) || ENDINGS.iter().any(|end| word.ends_with(end))
}

/// Whether letters and digits alternate as in a random word. Names and paths have long parts of only one of them.
fn is_random(word: &str) -> bool {
    let is_base64 = || {
        word.len() >= BASE64
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
            && is_mixed(word.as_bytes())
            && word.matches('/').count() <= word.len() / 12
    };
    // Hosts and files have dots, and names of objects are in lower case.
    let is_whole = || {
        word.len() >= 24
            && !word.contains('.')
            && (!word.contains('/') || word.len() >= COMMIT && !word.contains(['-', '_']))
            && (!word.starts_with('/') || word.len() == COMMIT)
            && is_mixed(word.as_bytes())
            && alternates(word)
    };
    let is_part = |part: &str| part.len() >= LONG && hex_digits(part).is_none() && alternates(part);
    // The UUID of a GPU or of a volume
    let hex = |part: &str, len| part.len() == len && part.bytes().all(|b| b.is_ascii_hexdigit());
    let has_uuid = || word.split('-').any(|part| hex(part, 8)) && word.split('-').any(|part| hex(part, 12));
    !has_uuid()
        && (is_base64()
            || is_whole()
            || !word.contains(['/', '.']) && word.split(|c: char| !c.is_ascii_alphanumeric()).any(is_part))
}

/// Whether letters and digits alternate as often as in a random word. Capitals after small letters are part of names,
/// so a word with both needs more.
fn alternates(word: &str) -> bool {
    let most = if is_mixed(word.as_bytes()) { 4 } else { 5 };
    turns(word) * most >= word.len() && word.bytes().filter(u8::is_ascii_digit).count() >= 2
}
