//! Parsing of error messages. [`Message`] is the one parser for the texts of Events, states and conditions: it splits
//! them into clauses. [`between`] and [`quoted_after`] read a value at a known place.

mod chain;
mod cloud;
mod code;
mod lines;
mod object;
#[cfg(test)]
mod properties;
mod serialized;
mod shorten;
mod split;
mod summary;
pub mod text;
#[cfg(test)]
mod wordings;
mod wrapper;

pub use chain::Message;
pub use code::{Codes, Grpc};
pub use object::{Object, ObjectKind};
pub(crate) use shorten::cut;
pub use shorten::{fit, name};

/// The part of `text` between two markers, without surrounding quotes and spaces.
pub(crate) fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let at = text.find(start)? + start.len();
    let rest = text.get(at..)?;
    let stop = rest.find(end)?;
    let found = rest.get(..stop)?.trim_matches(|c: char| c == '"' || c == '`' || c == '\\' || c.is_whitespace());
    (!found.is_empty()).then_some(found)
}

/// The text in double quotes directly after `mark`.
pub(crate) fn quoted_after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let at = text.find(mark)? + mark.len();
    let rest = text.get(at..)?.trim_start().trim_start_matches('\\').strip_prefix('"')?;
    let stop = rest.find(['"', '\\'])?;
    rest.get(..stop).filter(|found| !found.is_empty())
}

/// Cuts the middle of `text` to at most `most` characters, because both ends of a path or an image matter.
pub(crate) fn middle_cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    // Mask secrets before the cut: no pattern recognizes a part of a secret.
    let text = text::line(text, usize::MAX);
    let count = text.chars().count();
    if count <= most {
        return text;
    }
    let half = most.saturating_sub(1) / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}…{tail}")
}

/// Removes the request IDs that cloud APIs put after a message (AWS) or around it (Azure).
fn without_request(text: &str) -> &str {
    let text = match text.find("status code: ") {
        Some(at) if text[at..].contains("request id: ") => text[..at].trim_end(),
        _ => text,
    };
    let text = text.split(" Encoded authorization failure message").next().unwrap_or(text);
    match text.rsplit_once(" Message=\"") {
        Some((before, message)) if before.contains("Code=\"") => message.split('"').next().unwrap_or(message),
        _ => text,
    }
}

/// The last of the errors that a runtime nests with `: `, in at most `most` characters. It is the actual error.
pub(crate) fn innermost(text: &str, most: usize) -> String {
    let trimmed = text.trim().trim_end_matches(": unknown").trim_end_matches('.');
    // dockershim appends a failed clean-up to the actual failure.
    let trimmed = trimmed.split(", failed to clean up sandbox").next().unwrap_or(trimmed);
    let trimmed = trimmed.rsplit(" desc = ").next().unwrap_or(trimmed);
    // runc's mount flags are noise: `mount A:B (via /proc/self/fd/6), flags: 0x5001: not a directory`.
    let trimmed =
        trimmed.rsplit_once(", flags: 0x").and_then(|(_, rest)| Some(rest.split_once(": ")?.1)).unwrap_or(trimmed);
    let trimmed = without_request(trimmed);
    let mut start = 0;
    for (at, _) in trimmed.match_indices(": ") {
        if trimmed.len() - start <= most {
            break;
        }
        // Do not split inside brackets.
        let before = trimmed.get(start..at).unwrap_or_default();
        if before.matches('(').count() <= before.matches(')').count() {
            start = at + 2;
        }
    }
    let found = trimmed.get(start..).unwrap_or(trimmed);
    // The opening quote was in the part that is cut off.
    let found = if found.matches('"').count() % 2 == 1 { found.trim_matches(['"', '\\']) } else { found };
    middle_cut(found, most)
}
