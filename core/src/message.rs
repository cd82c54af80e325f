//! Parsing of error messages. [`Message`] is the one parser for the texts of Events, states and conditions: it splits
//! them into clauses. `between` and `quoted_after` read a value at a known place.

mod chain;
mod class;
mod cloud;
mod code;
mod deferred;
mod lines;
#[cfg(test)]
mod nested;
mod object;
mod phrases;
#[cfg(test)]
mod properties;
mod serialized;
mod shorten;
mod split;
mod summary;
pub mod text;
pub(crate) mod windows;
#[cfg(test)]
mod wordings;
mod wrapper;
pub mod yaml;

pub use chain::Message;
pub use class::Class;
pub use code::{Codes, Grpc};
pub use deferred::is_deferred;
pub(crate) use lines::is_klog;
pub use object::{Object, ObjectKind};
pub(crate) use serialized::without_objects;
pub(crate) use shorten::{cut_quote, error_line, fit_line, value};
pub use shorten::{fit, name};

/// An error in one clean line of at most `most` characters. If the text is longer, it is reduced to the error itself: the
/// clauses that wrap it give way, and its end, which states why, stays.
pub fn fit_error(text: &str, most: usize) -> String {
    let line = text::line(text, usize::MAX);
    if shorten::fits(&line, most) {
        return line;
    }
    let error = Message::parse(text).summary(most, &[]);
    if error.is_empty() {
        return fit_line(&line, most);
    }
    // The object at the beginning is not only a wrapper.
    let Some((object, _)) = line.split_once(": ").filter(|(start, _)| error.starts_with('…') && is_object(start))
    else {
        return error;
    };
    let whole = format!("{object}: {error}");
    if shorten::fits(&whole, most) {
        return whole;
    }
    let last = error.rsplit(": ").next().unwrap_or_default();
    Some(fit_line(&line, most))
        .filter(|fitting| fitting.starts_with(object) && fitting.ends_with(last))
        .unwrap_or(error)
}

/// Whether a clause is `Kind name` or `Kind "name" is invalid`.
fn is_object(clause: &str) -> bool {
    clause.trim_end_matches(" is invalid").split_once(' ').is_some_and(|(kind, name)| {
        let name = name.trim_matches('"');
        kind.starts_with(|c: char| c.is_ascii_uppercase()) && !name.is_empty() && leading_name(name) == name
    })
}

/// The part of `text` between two markers, without surrounding quotes and spaces.
pub(crate) fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let at = text.find(start)? + start.len();
    let rest = text.get(at..)?;
    let stop = rest.find(end)?;
    let found = rest.get(..stop)?.trim_matches(|c: char| c == '"' || c == '`' || c == '\\' || c.is_whitespace());
    (!found.is_empty()).then_some(found)
}

/// The word after `mark`, up to a blank, a quote or a comma. Empty if the text has no such mark.
pub(crate) fn word_after<'t>(text: &'t str, mark: &str) -> &'t str {
    let rest = text.split_once(mark).map_or("", |(_, rest)| rest);
    rest.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ',' | ';' | ')'))
        .next()
        .unwrap_or_default()
}

/// The text in double quotes directly after `mark`.
pub(crate) fn quoted_after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let at = text.find(mark)? + mark.len();
    let rest = text.get(at..)?.trim_start().trim_start_matches('\\').strip_prefix('"')?;
    let stop = rest.find(['"', '\\'])?;
    rest.get(..stop).filter(|found| !found.is_empty())
}

/// The characters at the start of `text` that the name of an object can have.
pub(crate) fn leading_name(text: &str) -> &str {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    text.find(|c: char| !is_of_name(c)).map_or(text, |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::leading_name;

    #[test]
    fn name_of_an_object_ends_at_the_first_other_character() {
        assert_eq!(leading_name("compute-resources, requested: pods=1"), "compute-resources");
        assert_eq!(leading_name("team.a password=x"), "team.a");
        assert_eq!(leading_name("=x"), "");
    }
}
