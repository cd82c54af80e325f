//! Formats texts and times for the pages.

use shindan_core::api::{DiagnosisState, Severity};
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};
use shindan_core::message::text;

use crate::cli::print;

/// Maximum characters of a text from the cluster.
const TEXT_MAX: usize = 2000;

/// Cleans text from the cluster, which is untrusted: removes control characters and limits the length. The templates
/// escape it.
pub(in crate::cli::ui) fn clean(text: &str) -> String {
    text::line(text, TEXT_MAX)
}

/// Like [`clean`], for several lines. Indentation is kept.
pub(super) fn clean_lines(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let (blank, rest) = line.split_at(line.len() - line.trim_start_matches(' ').len());
        format!("{blank}{}", clean(rest))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A time, as an age and exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli::ui) struct When {
    pub(in crate::cli::ui) age: String,
    /// For display.
    pub(in crate::cli::ui) exact: String,
    /// In ISO 8601, for the browser.
    pub(in crate::cli::ui) iso: String,
}

impl When {
    pub(in crate::cli::ui) fn of(time: Timestamp, now: Timestamp) -> Self {
        Self { age: print::age(time, now), exact: exact(time), iso: time.to_string() }
    }

    /// `5m ago`.
    pub(super) fn ago(&self, language: Language) -> String {
        translate!(language, "{age} ago", "{age} 前", age = self.age)
    }
}

pub(super) fn exact(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// CSS class of a state. Only active diagnoses show their severity.
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
        1 => phrase!(language, "1 pod", "1 Pod").to_owned(),
        n => translate!(language, "{n} pods", "{n} Pod", n),
    }
}

pub(super) fn workloads(n: u32, language: Language) -> String {
    match n {
        1 => phrase!(language, "1 workload", "1 ワークロード").to_owned(),
        n => translate!(language, "{n} workloads", "{n} ワークロード", n),
    }
}

pub(super) fn restarts(n: u32, language: Language) -> String {
    match n {
        1 => phrase!(language, "1 restart", "再起動 1 回").to_owned(),
        n => translate!(language, "{n} restarts", "再起動 {n} 回", n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_text_is_one_line_and_a_patch_keeps_its_lines() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}\nc"), "ab c");
        assert_eq!(clean_lines("spec:\n  a: \u{7}1\n    b: 2"), "spec:\n  a: 1\n    b: 2");
    }

    #[test]
    fn a_time_is_shown_as_an_age_and_exactly() {
        let when = When::of(Timestamp::UNIX_EPOCH, shindan_core::facts::after(Timestamp::UNIX_EPOCH, 720));
        assert_eq!((&*when.age, &*when.exact, &*when.iso), ("12m", "1970-01-01 00:00:00 UTC", "1970-01-01T00:00:00Z"));
    }
}
