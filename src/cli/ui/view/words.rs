//! Words and times as a page has them.

use crate::api::{DiagnosisState, Severity};
use crate::cli::print;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, text};
use crate::facts::Timestamp;

/// The most characters of any text from the cluster in one place.
const TEXT_MAX: usize = 2000;

/// Text from the cluster, which may be anybody's: no control characters, and an end. The templates escape it.
pub(in crate::cli::ui) fn clean(text: &str) -> String {
    text::line(text, TEXT_MAX)
}

/// A text of several lines, whose indentation is part of it.
pub(super) fn clean_lines(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let (blank, rest) = line.split_at(line.len() - line.trim_start_matches(' ').len());
        format!("{blank}{}", clean(rest))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A moment: how long ago, and exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli::ui) struct When {
    pub(in crate::cli::ui) age: String,
    /// For people.
    pub(in crate::cli::ui) exact: String,
    /// For programs.
    pub(in crate::cli::ui) iso: String,
}

impl When {
    pub(in crate::cli::ui) fn of(time: Timestamp, now: Timestamp) -> Self {
        Self { age: print::age(time, now), exact: exact(time), iso: time.to_string() }
    }

    /// `5m ago`.
    pub(super) fn ago(&self, language: Language) -> String {
        say!(language, "{age} ago", age = self.age)
    }
}

pub(super) fn exact(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The class by which a style sheet knows it. What has ended has no severity any more.
pub(super) fn class(state: DiagnosisState, severity: Severity) -> &'static str {
    match (state, severity) {
        (DiagnosisState::Active, Severity::Critical) => "critical",
        (DiagnosisState::Active, Severity::Warning) => "warning",
        (DiagnosisState::Active, Severity::Info) => "info",
        _ => "ended",
    }
}

/// `Critical`, or `Recovered`.
pub(super) fn badge(state: DiagnosisState, severity: Severity) -> &'static str {
    if state == DiagnosisState::Active { severity.as_str() } else { state.as_str() }
}

/// `1 pod`, `3 pods`.
pub(super) fn pods(n: u32, language: Language) -> String {
    match n {
        1 => phrase!(language, "1 pod").to_owned(),
        n => say!(language, "{n} pods", n),
    }
}

pub(super) fn workloads(n: u32, language: Language) -> String {
    match n {
        1 => phrase!(language, "1 workload").to_owned(),
        n => say!(language, "{n} workloads", n),
    }
}

pub(super) fn restarts(n: u32, language: Language) -> String {
    match n {
        1 => phrase!(language, "1 restart").to_owned(),
        n => say!(language, "{n} restarts", n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_cluster_is_one_line_and_a_patch_keeps_its_own() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}\nc"), "ab c");
        assert_eq!(clean_lines("spec:\n  a: \u{7}1\n    b: 2"), "spec:\n  a: 1\n    b: 2");
    }

    #[test]
    fn a_moment_is_told_as_an_age_and_exactly() {
        let when = When::of(Timestamp::UNIX_EPOCH, crate::facts::after(Timestamp::UNIX_EPOCH, 720));
        assert_eq!((&*when.age, &*when.exact, &*when.iso), ("12m", "1970-01-01 00:00:00 UTC", "1970-01-01T00:00:00Z"));
    }
}
