//! Causes that are told apart by words: one row a cause, one matcher for a family.
//!
//! A family sees one text (what the kubelet, the runtime or the registry said) and asks its rows in order; the first that
//! recognises it is the cause, so that no text is ever two causes.

use crate::api::{ContainerType, Remedy, Root};
use crate::diagnosis::{Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, roots};
use crate::facts::{Container, Timestamp};

pub(super) use crate::diagnosis::message::{between, innermost, middle_cut, quoted_after};
pub(super) use crate::diagnosis::signals::Seen;
pub(super) use crate::diagnosis::signals::lasting::lasts;

/// Alternatives; each is a list of parts that the text must hold together. In lower case.
pub(super) type Words = &'static [&'static [&'static str]];

/// One cause of a family.
pub(super) struct Row {
    pub(super) cause: &'static str,
    /// State or Event reasons that this row is about; empty: any that the family sees.
    pub(super) reasons: &'static [&'static str],
    /// Empty: any text.
    pub(super) words: Words,
    /// What must not be in the text.
    pub(super) not: &'static [&'static str],
    /// Whatever else must hold.
    pub(super) also: Option<fn(&Case<'_>, &Seen<'_>) -> bool>,
    /// For how many seconds it must last (or fail a second time) before it counts; 0: it is definite.
    pub(super) patience: i64,
    pub(super) specificity: Specificity,
    /// The summary, with places such as `{image}` that the family fills.
    pub(super) says: &'static str,
    /// What it lies in, where that is outside the pod.
    pub(super) root: fn(&Case<'_>, &Seen<'_>) -> Option<Root>,
    pub(super) remedies: fn(&Case<'_>, &Finding) -> Vec<Remedy>,
    pub(super) explain: Explain,
}

/// What most rows are; a row names what differs.
pub(super) const ROW: Row = Row {
    cause: "",
    reasons: &[],
    words: &[],
    not: &[],
    also: None,
    patience: 0,
    specificity: Specificity::Specific,
    says: "",
    root: the_pod_itself,
    remedies: nothing_to_do,
    explain: Explain { meaning: "", told_apart: "", action: "", source: "" },
};

fn the_pod_itself(_: &Case<'_>, _: &Seen<'_>) -> Option<Root> {
    None
}

/// The root of what the pod's node fails at.
pub(super) fn its_node(case: &Case<'_>, _: &Seen<'_>) -> Option<Root> {
    roots::node(case)
}

fn nothing_to_do(_: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    Vec::new()
}

impl Row {
    fn recognises(&self, case: &Case<'_>, seen: &Seen<'_>) -> bool {
        (self.reasons.is_empty() || self.reasons.contains(&seen.reason))
            && (self.words.is_empty() || self.words.iter().any(|all| all.iter().all(|part| seen.has(part))))
            && !self.not.iter().any(|part| seen.has(part))
            && self.also.is_none_or(|also| also(case, seen))
    }
}

/// The first row that recognises what was seen, and its place.
pub(super) fn first<'r>(rows: &'r [Row], case: &Case<'_>, seen: &Seen<'_>) -> Option<(usize, &'r Row)> {
    rows.iter().enumerate().find(|(_, row)| row.recognises(case, seen))
}

/// Asks about each container but the ephemeral ones: a debug container's failure is not the pod's.
pub(super) fn ask_containers<'c>(
    case: &Case<'c>,
    ask: impl FnMut(&'c Container) -> Option<(usize, Verdict)>,
) -> Vec<(usize, Verdict)> {
    case.pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral).filter_map(ask).collect()
}

/// The rules of a family's rows, which are asked together.
pub(super) const fn rules<const N: usize>(rows: &[Row], category: Category, recovery: Recovery) -> [Rule; N] {
    assert!(rows.len() == N, "each row is a rule");
    let mut rules = [rule(&rows[0], category, recovery, Scope::Family); N];
    let mut at = 1;
    while at < N {
        rules[at] = rule(&rows[at], category, recovery, Scope::Family);
        at += 1;
    }
    rules
}

/// The rule of a row.
pub(super) const fn rule(row: &Row, category: Category, recovery: Recovery, scope: Scope) -> Rule {
    Rule {
        cause: row.cause,
        category,
        recovery,
        specificity: row.specificity,
        scope,
        remedies: row.remedies,
        explain: Explain {
            meaning: row.explain.meaning,
            told_apart: row.explain.told_apart,
            action: row.explain.action,
            source: row.explain.source,
        },
    }
}

/// Causes of rows that do not count at once.
pub(super) fn patient(rows: &'static [Row]) -> impl Iterator<Item = &'static str> {
    rows.iter().filter(|row| row.patience > 0).map(|row| row.cause)
}

/// Whether what a row is about began so long ago, or happened so often, that it counts; else when to ask again. Where
/// somebody chose a time for its cause, only that counts.
pub(super) fn counts(case: &Case<'_>, row: &Row, since: Timestamp, times: u32) -> Result<(), Timestamp> {
    lasts(case, row.cause, row.patience, since, times)
}
