//! Errors of cause files: the key, what is wrong with it, and what helps.

use super::place;

/// What is wrong within one value of a cause file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The character of the text, counted from 1.
    pub(crate) at: Option<usize>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// A name that does not exist, with the names that do.
    pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Self {
        let near = crate::diagnosis::rules::nearest(name, known.clone());
        let hint = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", known.collect::<Vec<_>>().join(", ")),
        };
        Self { at: None, message: format!("unknown {what} `{name}`"), hint: Some(hint) }
    }

    /// At the first place of `part` in a text.
    pub(super) fn at_part(self, text: &str, part: &str) -> Self {
        let at = text.find(part).and_then(|at| text.get(..at)).map(|before| before.chars().count() + 1);
        Self { at, ..self }
    }
}

/// An error of a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) cause: &'static str,
    /// The keys down to the value, with numbers for places in a list: `remedies.0.when`.
    pub(crate) path: String,
    pub(crate) fault: Fault,
}

/// An error, with its place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) file: String,
    /// Line and column, counted from 1.
    pub(crate) place: (usize, usize),
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Located {
    pub(super) fn new(problem: Problem, file: &str, text: &str) -> Self {
        let place = place::find(text, &problem.path, problem.fault.at);
        Self {
            file: file.to_owned(),
            place,
            message: format!("{}: {}", problem.path, problem.fault.message),
            hint: problem.fault.hint,
        }
    }

    /// Of an error that begins with its line and column, as the parser reports it.
    pub(super) fn of_parser(file: &str, error: &str) -> Self {
        let mut parts = error.splitn(3, ':');
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        let place = number().zip(number());
        let message = if place.is_some() { parts.next().unwrap_or_default() } else { error };
        Self { file: file.to_owned(), place: place.unwrap_or((1, 1)), message: message.trim().to_owned(), hint: None }
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
