//! Errors of cause files, each with the key and a hint.

use super::file::ParseError;
use super::place;
use crate::message::yaml;
use crate::rules;

/// An error within one value of a cause file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Position of the character in the text, counted from 1.
    pub(crate) at: Option<usize>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// An unknown name, with the known names as a hint.
    pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self { at: None, message: format!("unknown {what} `{name}`"), hint: Some(nearest(name, known)) }
    }

    /// Sets the position to the first occurrence of `part` in a text.
    pub(super) fn at_part(self, text: &str, part: &str) -> Self {
        let at = text.find(part).and_then(|at| text.get(..at)).map(|before| before.chars().count() + 1);
        Self { at, ..self }
    }
}

/// The known name that is nearest to an unknown one, else all of them.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match rules::nearest(name, known.clone()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// An error of a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) cause: String,
    /// The path to the value, with indexes of lists: `remedies.0.when`.
    pub(crate) path: String,
    pub(crate) fault: Fault,
}

/// An error with its position in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    pub file: String,
    /// Line and column, counted from 1.
    pub place: (usize, usize),
    pub message: String,
    pub hint: Option<String>,
}

impl Located {
    pub(super) fn new(path: &str, fault: Fault, file: &str, text: &str) -> Self {
        let place = place::find(text, path, fault.at);
        let line = text.lines().nth(place.0.saturating_sub(1)).unwrap_or_default();
        let of_tag =
            || "quote the text: YAML takes a first word with `!` as a tag, and not as part of the text".to_owned();
        Self {
            file: file.to_owned(),
            place,
            message: format!("{path}: {}", fault.message),
            hint: if yaml::begins_with_tag(line) { Some(of_tag()) } else { fault.hint },
        }
    }

    /// A syntax error, in plain words.
    pub(super) fn of_parser(file: &str, text: &str, error: &ParseError) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(1);
        let of_name = error.unknown.as_ref().map(|(name, known)| nearest(name, known.iter().copied()));
        let mistake = yaml::mistake(&error.message);
        let place = (number(error.place.0), number(error.place.1));
        // The parser reports a tab at the end of the line before.
        let is_tab = |line: &str| line.trim_start_matches(' ').starts_with('\t');
        let below = text.lines().enumerate().skip(place.0.saturating_sub(1));
        let tab = below.take(2).find(|(_, line)| error.message.contains("tab") && is_tab(line));
        Self {
            file: file.to_owned(),
            place: tab.map_or(place, |(at, _)| (at + 1, 1)),
            message: mistake.message,
            hint: of_name.or(mistake.hint.map(ToOwned::to_owned)),
        }
    }

    /// An error of the whole file.
    pub(super) fn of_file(file: &str, message: String) -> Self {
        Self { file: file.to_owned(), place: (1, 1), message, hint: None }
    }
}

impl std::fmt::Display for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (line, column) = self.place;
        write!(f, "{}:{line}:{column}: {}", self.file, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}
