//! Causes that are told apart by words: one row a cause, one matcher for a family.
//!
//! A family sees one text (what the kubelet, the runtime or the registry said) and asks its rows in order; the first that
//! recognises it is the cause, so that no text is ever two causes.

use std::cell::OnceCell;

use crate::api::{ContainerType, Remedy, Root};
use crate::diagnosis::{Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, roots, text};
use crate::facts::{Container, EventFacts, Timestamp, after, seconds_between};

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

/// The words that a family found, and where.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    /// The reason of the state or Event.
    pub(in crate::diagnosis) reason: &'a str,
    pub(in crate::diagnosis) text: &'a str,
    /// The text in lower case, made when first asked for: most rows are ruled out by the reason alone.
    pub(in crate::diagnosis) lower: OnceCell<String>,
    /// The Event that holds the text, where none of the status does.
    pub(in crate::diagnosis) event: Option<&'a EventFacts>,
    /// Name of the container, where the text is about one.
    pub(in crate::diagnosis) container: Option<&'a Container>,
    /// Field path of the text within the container's status, where that holds it.
    pub(in crate::diagnosis) path: Option<&'static str>,
}

impl<'a> Seen<'a> {
    /// Words about the pod as a whole.
    pub(in crate::diagnosis) fn in_event(event: &'a EventFacts) -> Self {
        Self {
            reason: &event.reason,
            text: &event.message,
            lower: OnceCell::new(),
            event: Some(event),
            container: None,
            path: None,
        }
    }

    pub(in crate::diagnosis) fn has(&self, part: &str) -> bool {
        self.lower.get_or_init(|| self.text.to_ascii_lowercase()).contains(part)
    }
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

/// The same of a cause that counts after so many seconds.
pub(super) fn lasts(
    case: &Case<'_>,
    cause: &str,
    threshold: i64,
    since: Timestamp,
    times: u32,
) -> Result<(), Timestamp> {
    match case.thresholds.chosen(cause) {
        Some(chosen) => has_been(case, since, chosen),
        None => has_lasted(case, since, threshold, times),
    }
}

/// Whether it is so long since; else when it will be.
fn has_been(case: &Case<'_>, since: Timestamp, seconds: i64) -> Result<(), Timestamp> {
    let due = after(since, seconds);
    if case.now >= due { Ok(()) } else { Err(due) }
}

/// Whether what began at `since` has lasted, or happened again; else when to ask again.
pub(super) fn has_lasted(case: &Case<'_>, since: Timestamp, patience: i64, times: u32) -> Result<(), Timestamp> {
    if patience == 0 || !case.thresholds.patient || times > 1 || seconds_between(since, case.now) >= patience {
        Ok(())
    } else {
        Err(after(since, patience))
    }
}

/// When an Event first told of it: its own first time, never later than now.
pub(super) fn first_told(case: &Case<'_>, event: &EventFacts) -> Timestamp {
    event.first.or(event.last).map_or(case.observed.situation_since, |t| t.min(case.now))
}

/// The part of `text` between two marks, without quotes and blanks around it.
pub(in crate::diagnosis) fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let at = text.find(start)? + start.len();
    let rest = text.get(at..)?;
    let stop = rest.find(end)?;
    let found = rest.get(..stop)?.trim_matches(|c: char| c == '"' || c == '`' || c == '\\' || c.is_whitespace());
    (!found.is_empty()).then_some(found)
}

/// What stands in double quotes right after `mark`.
pub(in crate::diagnosis) fn quoted_after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let at = text.find(mark)? + mark.len();
    let rest = text.get(at..)?.trim_start().trim_start_matches('\\').strip_prefix('"')?;
    let stop = rest.find(['"', '\\'])?;
    rest.get(..stop).filter(|found| !found.is_empty())
}

/// `text` of at most `most` characters, the middle left out: both ends of a path or an image tell.
pub(in crate::diagnosis) fn middle_cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    // Half a secret is one that no pattern knows: it is masked while it is whole.
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

/// What an API of a cloud says, without the marks of the request that follow it (AWS) or stand around it (Azure).
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

/// The last of the errors that a runtime nests with `: `, at most `most` characters: what actually went wrong.
pub(in crate::diagnosis) fn innermost(text: &str, most: usize) -> String {
    let trimmed = text.trim().trim_end_matches(": unknown").trim_end_matches('.');
    // dockershim tells of its failed clean-up after the failure itself.
    let trimmed = trimmed.split(", failed to clean up sandbox").next().unwrap_or(trimmed);
    let trimmed = trimmed.rsplit(" desc = ").next().unwrap_or(trimmed);
    // runc's flags of a mount tell nothing: `mount A:B (via /proc/self/fd/6), flags: 0x5001: not a directory`.
    let trimmed =
        trimmed.rsplit_once(", flags: 0x").and_then(|(_, rest)| Some(rest.split_once(": ")?.1)).unwrap_or(trimmed);
    let trimmed = without_request(trimmed);
    let mut start = 0;
    for (at, _) in trimmed.match_indices(": ") {
        if trimmed.len() - start <= most {
            break;
        }
        // What stands in brackets belongs together.
        let before = trimmed.get(start..at).unwrap_or_default();
        if before.matches('(').count() <= before.matches(')').count() {
            start = at + 2;
        }
    }
    let found = trimmed.get(start..).unwrap_or(trimmed);
    // A quote that was opened in what was left out.
    let found = if found.matches('"').count() % 2 == 1 { found.trim_matches(['"', '\\']) } else { found };
    middle_cut(found, most)
}

#[cfg(test)]
mod tests {
    use super::middle_cut;

    #[test]
    fn both_ends_are_kept_and_no_half_of_a_secret() {
        assert_eq!(middle_cut("registry.example.com/team/web:1.2.3", 21), "registry.e…/web:1.2.3");
        assert_eq!(middle_cut("short", 21), "short");
        let token = "ghp_".to_owned() + &"Ab1".repeat(12);
        for most in 10..60 {
            let cut = middle_cut(&format!("docker.io/push-{token}/web:{}", "1".repeat(30)), most);
            assert!(!cut.contains("Ab1"), "{cut}");
        }
    }
}
