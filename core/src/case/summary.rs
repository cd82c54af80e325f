//! Summaries. Their parts are known until the text is written, so that no decision has to read the text.

use serde::{Deserialize, Serialize};

use crate::message::{self, text};

/// A clean summary of at most [`text::SUMMARY_MAX`] characters, and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    text: String,
    pub parts: SummaryParts,
}

/// The ends of the parts of a summary, in bytes: `web exits with code 1` (the statement), `: "no such user"` (a detail)
/// and `; 7 restarts, back-off 5m` (the counts). A summary may have neither a detail nor counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummaryParts {
    statement: u16,
    head: u16,
}

impl Summary {
    /// Composes a summary. The detail and the counts may be empty.
    pub(crate) fn new(statement: &str, detail: &str, counts: &str) -> Self {
        let line = text::line(&format!("{statement}{detail}"), usize::MAX);
        let until = if detail.is_empty() {
            line.len()
        } else if line.starts_with(statement) {
            statement.len()
        } else {
            text::line(statement, usize::MAX).len()
        };
        let (statement, detail) = line.split_at_checked(until).unwrap_or((&line, ""));
        let mut text = message::fit_line(statement, text::SUMMARY_MAX);
        let statement = text.len();
        text.push_str(&message::cut_quote(detail, room(&text)));
        let head = text.len();
        // Counts of a few restarts are not worth half of their words.
        if text.len() == line.len() && counts.chars().count() <= room(&text) {
            text.push_str(counts);
        }
        Self { text, parts: SummaryParts { statement: length(statement), head: length(head) } }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_text(self) -> String {
        self.text
    }

    /// The summary without its counts, for texts that would soon be out of date with them.
    pub fn head(&self) -> &str {
        self.parts.head_of(&self.text)
    }

    /// The summary with one more clause, unless that would be too long.
    #[must_use]
    pub(crate) fn with(self, clause: &str) -> Self {
        let text = format!("{}; {clause}", self.text);
        if text.chars().count() <= text::SUMMARY_MAX { text.into() } else { self }
    }

    /// The summary with one more clause, for which it gives way if both are too long.
    #[must_use]
    pub(crate) fn with_clause(self, clause: &str) -> Self {
        /// Characters of a statement that must remain.
        const LEAST: usize = 40;
        let clause = message::fit(clause, text::SUMMARY_MAX - LEAST - 2);
        let room = text::SUMMARY_MAX - 2 - clause.chars().count();
        format!("{}; {clause}", message::fit_line(&self.text, room)).into()
    }
}

impl<T: AsRef<str>> From<T> for Summary {
    /// A summary without a detail and counts.
    fn from(text: T) -> Self {
        Self::new(text.as_ref(), "", "")
    }
}

impl SummaryParts {
    /// The parts of a summary of which only the end of its head is known.
    pub(crate) fn until(head: usize) -> Self {
        Self { statement: length(head), head: length(head) }
    }

    /// The head of the summary that these parts belong to.
    pub fn head_of(self, text: &str) -> &str {
        text.get(..self.head.into()).unwrap_or(text)
    }

    /// Whether the summary ends in counts.
    pub(crate) fn has_counts(self, text: &str) -> bool {
        usize::from(self.head) < text.len()
    }

    /// The statement and the detail of the summary that these parts belong to.
    pub(crate) fn statement_and_detail(self, text: &str) -> (&str, &str) {
        self.head_of(text).split_at_checked(self.statement.into()).unwrap_or((text, ""))
    }
}

/// Characters that are left of a summary.
fn room(text: &str) -> usize {
    text::SUMMARY_MAX.saturating_sub(text.chars().count())
}

fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_cleaning_and_cutting() {
        let parts = |statement: &str, detail: &str, counts: &str| {
            let summary = Summary::new(statement, detail, counts);
            assert!(summary.text().chars().count() <= text::SUMMARY_MAX);
            let (statement, detail) = summary.parts.statement_and_detail(summary.text());
            (statement.to_owned(), detail.to_owned(), summary.parts.has_counts(summary.text()))
        };
        let owned = |statement: &str, detail: &str, has_counts| (statement.to_owned(), detail.to_owned(), has_counts);
        assert_eq!(
            parts("web exits", ": \"再起動\n2 回\"", "; 7 restarts"),
            owned("web exits", ": \"再起動 2 回\"", true)
        );
        assert_eq!(parts("web exits", "", "; back-off 10s"), owned("web exits", "", true));
        assert_eq!(parts("web exits; 7 restarts", "", ""), owned("web exits; 7 restarts", "", false));
        let long = "診".repeat(199);
        assert_eq!(parts(&long, "", "; 7 restarts"), owned(&long, "", false));
        let (statement, detail, has_counts) = parts(&long, ": why", "; 7 restarts");
        assert_eq!((statement, has_counts), (long, false), "{detail}");
        assert_eq!(parts(&"診".repeat(300), ": why", "; 1 restart").1, "");
    }
}
