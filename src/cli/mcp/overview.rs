//! The answer of `list_failures`, and of `diagnose_manifest_dump` for a whole dump.

use serde::Serialize;
use shindan_core::api::{DiagnosisState, Severity};
use shindan_core::case::Category;
use shindan_core::facts::Timestamp;

use super::answer::{self, Counts, OVERVIEW, Subject, clean, moment};
use crate::cli::found::{Entry, Found, NodeOrWorkload};

/// Maximum number of listed failures.
const ROWS: usize = 25;
/// Maximum characters of a summary.
const SUMMARY: usize = 140;
/// Maximum number of notes, and of their characters.
const NOTES: (usize, usize) = (5, 160);
/// Maximum number of causes and namespaces that are counted one by one.
const COUNTED: usize = 10;

/// Which failures are listed. `None`: all.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    pub(super) severity: Option<Severity>,
    pub(super) category: Option<Category>,
    pub(super) cause: Option<String>,
}

impl Filter {
    fn takes(&self, entry: &Entry<'_>, subject: &Subject<'_>) -> bool {
        let head = subject.head;
        let has_cause = |cause: &String| match entry {
            Entry::NodeOrWorkload(_, pods) => {
                head.cause == *cause || pods.iter().any(|pod| pod.status.head.cause == *cause)
            }
            Entry::Pod(_) => head.cause == *cause,
        };
        head.state == DiagnosisState::Active
            && self.severity.is_none_or(|severity| head.severity == severity)
            && self.category.is_none_or(|category| head.category == category.as_str())
            && self.cause.as_ref().is_none_or(has_cause)
    }
}

/// What the diagnoses are, and where they come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) found: &'a Found,
    pub(super) reported_by: &'static str,
    pub(super) now: Timestamp,
    /// What could not be read, and the consequence.
    pub(super) notes: &'a [String],
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Overview<'a> {
    failures: usize,
    failing_pods: usize,
    by_severity: Counts,
    by_category: Counts,
    by_cause: Counts,
    reported_by: &'static str,
    as_of: String,
    listed: &'a [Row],
    left_out: usize,
    next: &'static str,
    untrusted: Surroundings<'a>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Surroundings<'a> {
    #[serde(skip_serializing_if = "Counts::is_empty")]
    by_namespace: Counts,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    severity: &'static str,
    cause: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// Ready and desired pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<String>,
    untrusted: Named,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    object: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    summary: String,
    source: String,
}

/// The failures: counts first, then as many as fit.
pub(super) fn answer(seen: Seen<'_>, filter: &Filter) -> anyhow::Result<String> {
    let entries = seen.found.entries();
    let mut all: Vec<(Entry<'_>, Subject<'_>)> = entries
        .into_iter()
        .map(|entry| {
            let subject = Subject::of(&entry, seen.found);
            (entry, subject)
        })
        .collect();
    all.retain(|(entry, subject)| filter.takes(entry, subject));
    all.sort_by_cached_key(|(entry, subject)| order(entry, subject));
    let rows: Vec<Row> = all.iter().take(ROWS).map(|(entry, subject)| Row::of(entry, subject)).collect();
    let (most, length) = NOTES;
    let notes: Vec<String> = seen.notes.iter().take(most).map(|note| clean(note, length)).collect();
    let heads = || all.iter().map(|(_, subject)| subject.head);
    let category = |name: &str| Category::named(name).map_or("Other", Category::as_str);
    let whole = Overview {
        failures: all.len(),
        failing_pods: all.iter().map(|(entry, _)| failing_pods(entry)).sum(),
        by_severity: Counts::of(heads().map(|head| head.severity.as_str()), COUNTED),
        by_category: Counts::of(heads().map(|head| category(&head.category)), COUNTED),
        by_cause: Counts::of(heads().map(|head| answer::cause(&head.cause)), COUNTED),
        reported_by: seen.reported_by,
        as_of: moment(seen.now),
        listed: &rows,
        left_out: 0,
        next: "",
        untrusted: Surroundings {
            by_namespace: Counts::of(
                all.iter().map(|(_, subject)| subject.namespace).filter(|namespace| !namespace.is_empty()),
                COUNTED,
            ),
            notes: &notes,
        },
    };
    let form = |shown: usize| Overview {
        listed: &rows[..shown],
        left_out: all.len() - shown,
        next: next(all.len(), shown),
        ..whole.clone()
    };
    answer::first_that_fits(OVERVIEW, (0..=rows.len()).rev().map(form))
}

const fn next(all: usize, shown: usize) -> &'static str {
    if all == 0 {
        "Nothing fails. Notes, if there are any, state what could not be read."
    } else if shown == all {
        "explain_failure explains one object."
    } else {
        "Not all failures are listed: call again with a namespace, severity, category, cause or kind of the counts. \
         explain_failure explains one object."
    }
}

/// Sort key: severity first, then nodes, then what has the most failing pods.
fn order(entry: &Entry<'_>, subject: &Subject<'_>) -> (Severity, bool, std::cmp::Reverse<usize>, String, String) {
    let is_node = matches!(entry, Entry::NodeOrWorkload(of, _) if matches!(of.object, NodeOrWorkload::Node(..)));
    let names = (subject.namespace.to_owned(), subject.object.clone());
    (subject.head.severity, !is_node, std::cmp::Reverse(failing_pods(entry)), names.0, names.1)
}

fn failing_pods(entry: &Entry<'_>) -> usize {
    match entry {
        Entry::Pod(_) => 1,
        Entry::NodeOrWorkload(of, pods) => match &of.object {
            NodeOrWorkload::Node(..) => 0,
            NodeOrWorkload::Workload(_, status) => {
                pods.len().max(usize::try_from(status.pods.failing).unwrap_or(usize::MAX))
            }
        },
    }
}

impl Row {
    fn of(entry: &Entry<'_>, subject: &Subject<'_>) -> Self {
        let head = subject.head;
        let ready = match entry {
            Entry::NodeOrWorkload(of, _) => match &of.object {
                NodeOrWorkload::Workload(_, status) if status.pods.desired > 0 => {
                    Some(format!("{}/{}", status.pods.ready, status.pods.desired))
                }
                _ => None,
            },
            Entry::Pod(_) => None,
        };
        let cause = answer::cause(&head.cause);
        Self {
            severity: head.severity.as_str(),
            cause,
            since: head.first_seen.map(moment),
            ready,
            untrusted: Named {
                object: subject.object.clone(),
                namespace: clean(subject.namespace, answer::LABEL),
                cause: (cause == answer::OF_A_RULE).then(|| clean(&head.cause, answer::NAME)),
                summary: clean(&head.summary, SUMMARY),
                source: subject.source.clone(),
            },
        }
    }
}
