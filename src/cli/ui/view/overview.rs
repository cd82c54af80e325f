//! Overview of all failures: a row for each workload, node, and pod whose workload has no diagnosis.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::cli::found::NodeOrWorkload;
use askama::Template;
use shindan_core::api::{DiagnosisState, Head, Severity};
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};

use super::filter::{Filter, States};
use super::link::Subject;
use super::section::Section;
use super::words::{When, badge, class, clean};
use super::{Frame, Seen};
use crate::cli::found::{Entry, OfNodeOrWorkload, OfPod};

/// Maximum number of rows, which keeps the page usable.
const MOST: usize = 500;

#[derive(Debug, Template)]
#[template(path = "overview.html")]
pub(in crate::cli::ui) struct Overview {
    pub(in crate::cli::ui) frame: Frame,
    search: String,
    severity: String,
    namespaces: Vec<Choice>,
    causes: Vec<Choice>,
    states: Vec<Choice>,
    counts: Vec<Count>,
    groups: Vec<Group>,
    /// Why there are no rows. Empty if there are.
    nothing: String,
    /// Number of rows that are not shown. Empty if none.
    beside: String,
    is_filtered: bool,
}

#[derive(Debug)]
struct Choice {
    value: String,
    label: String,
    is_chosen: bool,
}

/// Number of rows of a severity, with the link that filters by it.
#[derive(Debug)]
struct Count {
    word: &'static str,
    class: String,
    rows: usize,
    href: String,
    is_chosen: bool,
}

#[derive(Debug)]
struct Group {
    title: &'static str,
    class: &'static str,
    rows: Vec<Row>,
}

#[derive(Debug)]
pub(super) struct Row {
    href: String,
    name: String,
    /// `Deployment in shop`, `Node`.
    place: String,
    cause: String,
    container: String,
    summary: String,
    /// How often an active failure of a workload occurred before.
    recurrence: String,
    /// For example `Recovered`, where the title of the group does not state it.
    badge: &'static str,
    class: &'static str,
    /// `0/1 ready`, `3 pods are affected`.
    ready: String,
    since: Option<When>,
    seen: Option<Timestamp>,
    section: Section,
    pub(super) of_severity: Severity,
    pub(super) is_active: bool,
    /// Value for the filter.
    pub(super) in_namespace: String,
    pub(super) causes: BTreeSet<String>,
    /// Lower-case text for the search.
    pub(super) words: String,
}

pub(in crate::cli::ui) fn of(frame: Frame, seen: Seen<'_>, filter: &Filter) -> Overview {
    let rows = rows(seen);
    let frame = Frame { title: title(&rows, seen.language), ..frame };
    let (namespaces, causes) = (namespaces(&rows, filter), causes(&rows, filter));
    let total = rows.len();
    let (rows, hidden): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| filter.takes_but_severity(row));
    let counts = counts(&rows, filter);
    let mut rows: Vec<Row> = rows.into_iter().filter(|row| filter.takes_severity(row)).collect();
    rows.sort_by(|a, b| a.order().cmp(&b.order()));
    let nothing = match (rows.is_empty(), total, hidden.is_empty()) {
        (false, ..) => "",
        (true, 0, _) => phrase!(seen.language, "Nothing fails.", "失敗しているものはない。"),
        (true, _, false) if filter.is_none() => {
            phrase!(seen.language, "Nothing fails now.", "現在失敗しているものはない。")
        }
        (true, ..) => phrase!(seen.language, "Nothing of this kind fails.", "条件に合う失敗はない。"),
    };
    let beside = match rows.len().saturating_sub(MOST) {
        0 => String::new(),
        n => translate!(seen.language, "{n} more: filter, or search.", "他に {n} 件: 絞り込むか検索する。", n),
    };
    rows.truncate(MOST);
    let choice = |of: States| Choice {
        value: of.value().to_owned(),
        label: of.label(seen.language).to_owned(),
        is_chosen: of == filter.states,
    };
    Overview {
        frame,
        search: filter.search.clone(),
        severity: filter.severity.map(|severity| severity.as_str().to_ascii_lowercase()).unwrap_or_default(),
        namespaces,
        causes,
        states: States::ALL.into_iter().map(choice).collect(),
        counts,
        groups: groups(rows, seen.language),
        nothing: nothing.to_owned(),
        beside,
        is_filtered: !filter.is_none(),
    }
}

fn title(rows: &[Row], language: Language) -> String {
    let failing = rows.iter().filter(|row| row.is_active && row.of_severity != Severity::Info).count();
    match failing {
        0 => phrase!(language, "Nothing fails", "失敗しているものはない").to_owned(),
        failing => translate!(language, "{failing} failing", "{failing} 件が失敗中", failing),
    }
}

fn rows(seen: Seen<'_>) -> Vec<Row> {
    let row = |entry| match entry {
        Entry::NodeOrWorkload(of, pods) => Row::of_node_or_workload(of, &pods, seen),
        Entry::Pod(pod) => Row::of_pod(pod, seen),
    };
    seen.found.entries().into_iter().map(row).collect()
}

impl Row {
    fn of_node_or_workload(of: &OfNodeOrWorkload, pods: &[&OfPod], seen: Seen<'_>) -> Self {
        let (head, language) = (of.object.head(), seen.language);
        let (ready, container) = match &of.object {
            NodeOrWorkload::Node(_, status) if status.pods == 1 => {
                (phrase!(language, "1 pod is affected", "1 Pod に影響").to_owned(), None)
            }
            NodeOrWorkload::Node(_, status) => {
                (translate!(language, "{pods} pods are affected", "{pods} Pod に影響", pods = status.pods), None)
            }
            // The pods of a Job need not become ready.
            NodeOrWorkload::Workload(spec, status) if status.pods.display.is_empty() || spec.workload.kind == "Job" => {
                (String::new(), status.container.as_ref())
            }
            NodeOrWorkload::Workload(_, status) => (
                translate!(language, "{ready} ready", "{ready} Ready", ready = status.pods.display),
                status.container.as_ref(),
            ),
        };
        let container = container.cloned().unwrap_or_default();
        let subject = Subject::of_node_or_workload(of);
        let of_pods = pods.iter().flat_map(|pod| {
            let node = pod.spec.node_name.as_deref().unwrap_or_default();
            [&*pod.key.name, &pod.status.head.cause, &pod.status.head.summary, node]
        });
        let words: Vec<&str> = [&*head.summary, &container].into_iter().chain(of_pods).collect();
        let mut causes: BTreeSet<String> = pods.iter().map(|pod| clean(&pod.status.head.cause)).collect();
        causes.insert(clean(&head.cause));
        let recurrence = of.object.recurrence(language).filter(|_| head.state == DiagnosisState::Active);
        let recurrence = recurrence.map(|text| clean(&text)).unwrap_or_default();
        Self { recurrence, ..Self::of(&subject, head, &words, seen).with(causes, &container, &ready) }
    }

    fn of_pod(pod: &OfPod, seen: Seen<'_>) -> Self {
        let status = &pod.status;
        let mut head = Head::active(
            &status.head.cause,
            &status.head.category,
            status.head.severity,
            status.head.confidence,
            status.head.summary.clone(),
        );
        (head.state, head.first_seen) = (status.head.state, status.head.first_seen);
        let container = status.container.clone().unwrap_or_default();
        let own = pod.spec.workload.as_ref().map(|own| &*own.display).unwrap_or_default();
        let words = [&*status.head.summary, &container, own, pod.spec.node_name.as_deref().unwrap_or_default()];
        Self::of(&Subject::of_pod(pod), &head, &words, seen).with(
            BTreeSet::from([clean(&status.head.cause)]),
            &container,
            &status.pod_status,
        )
    }

    fn of(subject: &Subject, head: &Head, words: &[&str], seen: Seen<'_>) -> Self {
        let kind = subject.kind();
        let named = [&*kind, subject.name(), subject.namespace(), &*head.cause];
        let words: Vec<&str> = named.iter().chain(words).copied().collect();
        let (kind, namespace) = (clean(&kind), clean(subject.namespace()));
        let is_active = head.state == DiagnosisState::Active;
        let section = if is_active { Section::of(subject) } else { Section::Ended };
        let place = match &*namespace {
            "" => kind,
            namespace => translate!(seen.language, "{kind} in {namespace}", "{namespace} の {kind}", kind, namespace),
        };
        Self {
            href: subject.href(),
            name: clean(subject.name()),
            place,
            cause: clean(&head.cause),
            container: String::new(),
            summary: clean(&head.summary),
            recurrence: String::new(),
            badge: if section == Section::Workloads { "" } else { badge(head.state, head.severity) },
            class: class(head.state, head.severity),
            ready: String::new(),
            since: head.first_seen.map(|since| When::of(since, seen.now)),
            seen: head.first_seen,
            section,
            of_severity: head.severity,
            is_active,
            in_namespace: namespace,
            causes: BTreeSet::new(),
            words: words.join("\n").to_lowercase(),
        }
    }

    fn with(self, causes: BTreeSet<String>, container: &str, ready: &str) -> Self {
        Self { causes, container: clean(container), ready: clean(ready), ..self }
    }

    /// Sort key: section and severity first, then newest first.
    fn order(&self) -> (Section, Severity, Reverse<Option<Timestamp>>, &str, &str) {
        let severity = if self.is_active { self.of_severity } else { Severity::Info };
        (self.section, severity, Reverse(self.seen), &self.in_namespace, &self.name)
    }
}

fn groups(rows: Vec<Row>, language: Language) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let title = row.section.title(language).unwrap_or(row.of_severity.as_str());
        match groups.last_mut() {
            Some(group) if group.title == title => group.rows.push(row),
            _ => groups.push(Group { title, class: row.section.class().unwrap_or(row.class), rows: vec![row] }),
        }
    }
    groups
}

/// Filtered rows by severity. The link of the selected one removes the filter.
fn counts(rows: &[Row], filter: &Filter) -> Vec<Count> {
    [Severity::Critical, Severity::Warning, Severity::Info]
        .into_iter()
        .map(|severity| {
            let is_chosen = filter.severity == Some(severity);
            let to = Filter { severity: (!is_chosen).then_some(severity), ..filter.clone() };
            Count {
                word: severity.as_str(),
                class: severity.as_str().to_ascii_lowercase(),
                rows: rows.iter().filter(|row| row.is_active && row.of_severity == severity).count(),
                href: to.href(),
                is_chosen,
            }
        })
        .collect()
}

fn namespaces(rows: &[Row], filter: &Filter) -> Vec<Choice> {
    let known = rows.iter().map(|row| &*row.in_namespace).filter(|namespace| !namespace.is_empty());
    choices(known, &filter.namespace)
}

fn causes(rows: &[Row], filter: &Filter) -> Vec<Choice> {
    choices(rows.iter().flat_map(|row| row.causes.iter().map(|cause| &**cause)), &filter.cause)
}

/// The known values, and the selected one even if no row has it any more.
fn choices<'a>(known: impl Iterator<Item = &'a str>, chosen: &'a str) -> Vec<Choice> {
    let values: BTreeSet<&str> = known.chain(Some(chosen).filter(|chosen| !chosen.is_empty())).collect();
    let choice = |value: &str| Choice { value: value.to_owned(), label: value.to_owned(), is_chosen: value == chosen };
    values.into_iter().map(choice).collect()
}
