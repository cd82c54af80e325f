//! Masks secrets: values that a name, a flag of a known client or a position identifies, tokens of well-known providers,
//! and long random words that nothing beside them explains. Digests, UIDs, commits and template hashes stay, because
//! diagnoses need them.

mod commands;
mod keys;
mod long;
mod named;
mod tokens;
mod urls;
mod words;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};
use regex::{Captures, Regex};

pub use keys::without_keys;

const MASK: &str = "***";

/// Pattern of a kind of secret.
struct Shape {
    /// The pattern is tried only if the text contains one of these markers (case-insensitively).
    marks: &'static [&'static str],
    /// Quick check of the text after the marker. If it returns false, the pattern cannot match.
    behind: fn(&str) -> bool,
    /// The first group is kept, and the second if there is one. What is between or behind them is masked.
    pattern: &'static str,
    /// Whether the matched text is really a secret.
    is_secret: fn(&str) -> bool,
}

/// Defaults of the fields.
const SHAPE: Shape = Shape { marks: &[], behind: |_| true, pattern: "", is_secret: |_| true };

/// A shape whose pattern is compiled when it is first needed. The tests find patterns that do not compile.
struct Tried {
    shape: &'static Shape,
    pattern: OnceLock<Option<Regex>>,
}

impl Tried {
    fn pattern(&self) -> Option<&Regex> {
        self.pattern.get_or_init(|| Regex::new(self.shape.pattern).ok()).as_ref()
    }
}

/// All shapes, in the order in which they are tried.
static SHAPES: LazyLock<Vec<Tried>> = LazyLock::new(|| {
    let topics = [urls::SHAPES, named::SHAPES, commands::SHAPES, tokens::SHAPES];
    topics.into_iter().flatten().map(|shape| Tried { shape, pattern: OnceLock::new() }).collect()
});

/// A set of shapes, with a bit for each.
type Set = u128;

/// Quick checks of a shape in one text. Each can read the rest of the text, so a text with more markers is searched with
/// the pattern, which takes linear time.
const MOST_CHECKS: u8 = 20;

/// All markers, for a search in one pass.
struct Marks {
    finder: AhoCorasick,
    /// For each marker, the shapes that use it.
    shapes: Vec<Set>,
    /// Bytes of the longest marker.
    longest: usize,
}

static MARKS: LazyLock<Option<Marks>> = LazyLock::new(|| {
    let mut shapes: BTreeMap<&str, Set> = BTreeMap::new();
    for (n, tried) in SHAPES.iter().enumerate() {
        tried.shape.marks.iter().for_each(|mark| *shapes.entry(mark).or_default() |= 1 << n);
    }
    // Every text that is reported goes through it, so it is worth the memory of a DFA.
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(shapes.keys())
        .ok()?;
    let longest = shapes.keys().map(|mark| mark.len()).max().unwrap_or_default();
    Some(Marks { finder, shapes: shapes.into_values().collect(), longest })
});

/// The shapes that can match a text. Most texts have none, and the search for markers takes a hundredth of the time of a
/// pattern.
fn suspects(text: &str) -> Set {
    let Some(marks) = &*MARKS else { return Set::MAX };
    let mut found = 0;
    // The search for the first one to end is faster, and most texts have none. Others may begin before it.
    let Some(first) = marks.finder.find(text) else { return found };
    let from = first.end().saturating_sub(marks.longest);
    let mut checks = [0; Set::BITS as usize];
    for mark in marks.finder.find_overlapping_iter(Input::new(text).range(from..)) {
        let mut asked = marks.shapes[mark.pattern().as_usize()] & !found;
        while asked != 0 {
            let shape = asked.trailing_zeros() as usize;
            asked &= asked - 1;
            checks[shape] += 1;
            if checks[shape] > MOST_CHECKS || (SHAPES[shape].shape.behind)(&text[mark.end()..]) {
                found |= 1 << shape;
            }
        }
    }
    found
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

/// Whether the text begins with at least `count` bytes for which `is` holds.
fn begins_with(text: &str, count: usize, is: fn(u8) -> bool) -> bool {
    text.len() >= count && text.bytes().take(count).all(is)
}

/// Searches of one text. The second finds nothing, except in texts that are made to confuse.
const MOST_SEARCHES: usize = 8;

/// Masks the secrets in one line. A text that changed is searched again: where a mask replaced a word, others can stand
/// beside a name.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    let mut out = mask_once(text);
    for _ in 1..MOST_SEARCHES {
        let Cow::Owned(once) = &out else { break };
        let again = mask_once(once).into_owned();
        if again == *once {
            break;
        }
        out = again.into();
    }
    out
}

fn mask_once(text: &str) -> Cow<'_, str> {
    match mask_shapes(text, suspects(text)) {
        Cow::Borrowed(text) => long::mask(text),
        Cow::Owned(masked) => match long::mask(&masked) {
            Cow::Owned(masked) => masked.into(),
            Cow::Borrowed(_) => masked.into(),
        },
    }
}

fn mask_shapes(text: &str, suspects: Set) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    if suspects == 0 {
        return out;
    }
    for (_, tried) in SHAPES.iter().enumerate().filter(|(n, _)| suspects & 1 << n != 0) {
        let Some(pattern) = tried.pattern() else { continue };
        let masked = pattern.replace_all(&out, |found: &Captures<'_>| {
            let group = |n| found.get(n).map_or("", |m| m.as_str());
            let (whole, keep, end) = (group(0), group(1), group(2));
            let secret = &whole[keep.len()..whole.len() - end.len()];
            let before = found.get(1).and_then(|kept| out.get(..kept.end())).unwrap_or_default();
            let is_other = words::is_next_clause(before, secret) || words::is_resource(before);
            let masked = if is_other { None } else { masked(keep, secret, tried.shape.is_secret) };
            masked.map_or_else(|| whole.to_owned(), |masked| masked + end)
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
    let quote = bare.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let bare = bare.trim_matches(|c| Some(c) == quote);
    if words::is_task(keep, bare) {
        return None;
    }
    let is_masked = bare.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '*') == MASK;
    if is_masked || !is_secret(bare.trim_end_matches('\\')) || words::is_placeholder(bare) || words::is_errno(bare) {
        return None;
    }
    let (quote, at) = (quote.map(String::from).unwrap_or_default(), if secret.ends_with('@') { "@" } else { "" });
    Some(format!("{keep}{open}{quote}{MASK}{open}{quote}{at}"))
}
