//! All that fails: a row for each workload, each node and each pod whose workload has nothing to tell.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::filter::{Filter, States};
use super::link::Subject;
use super::words::{When, badge, class, clean, count};
use super::{Frame, Seen};
use crate::api::{DiagnosisState, Head, Severity};
use crate::cli::found::{OfOuter, OfPod};
use crate::facts::{Timestamp, WorkloadKey};
use crate::plan::Outer;

/// Rows of one page: more than anybody reads, and less than stops a browser.
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
    /// Where there is no row: why.
    nothing: String,
    /// Rows beside those that are shown.
    beside: usize,
    is_filtered: bool,
}

#[derive(Debug)]
struct Choice {
    value: String,
    label: String,
    is_chosen: bool,
}

/// How many there are of a severity, and the way to them.
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
    kind: String,
    name: String,
    namespace: String,
    cause: String,
    container: String,
    summary: String,
    /// `Recovered`, say.
    badge: &'static str,
    class: &'static str,
    /// `0/1 ready`, `3 pods suffer`.
    ready: String,
    since: Option<When>,
    seen: Option<Timestamp>,
    pub(super) of_severity: Severity,
    pub(super) is_active: bool,
    /// As filters have them.
    pub(super) in_namespace: String,
    pub(super) causes: BTreeSet<String>,
    /// What is searched, in lower case.
    pub(super) words: String,
}

pub(in crate::cli::ui) fn of(frame: Frame, seen: Seen<'_>, filter: &Filter) -> Overview {
    let rows = rows(seen);
    let frame = Frame { title: title(&rows), ..frame };
    let (namespaces, causes) = (namespaces(&rows, filter), causes(&rows, filter));
    let total = rows.len();
    let (rows, hidden): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| filter.takes_but_severity(row));
    let counts = counts(&rows, filter);
    let mut rows: Vec<Row> = rows.into_iter().filter(|row| filter.takes_severity(row)).collect();
    rows.sort_by(|a, b| a.order().cmp(&b.order()));
    let nothing = match (rows.is_empty(), total, hidden.is_empty()) {
        (false, ..) => "",
        (true, 0, _) => "Nothing fails.",
        (true, _, false) if filter.is_none() => "Nothing fails now.",
        (true, ..) => "Nothing of this kind fails.",
    };
    let beside = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let chosen = |value: &str, of: States| Choice {
        value: of.value().to_owned(),
        label: value.to_owned(),
        is_chosen: of == filter.states,
    };
    Overview {
        frame,
        search: filter.search.clone(),
        severity: filter.severity.map(|severity| severity.as_str().to_ascii_lowercase()).unwrap_or_default(),
        namespaces,
        causes,
        states: States::ALL.iter().map(|(states, label)| chosen(label, *states)).collect(),
        counts,
        groups: groups(rows),
        nothing: nothing.to_owned(),
        beside,
        is_filtered: !filter.is_none(),
    }
}

fn title(rows: &[Row]) -> String {
    let failing = rows.iter().filter(|row| row.is_active && row.of_severity != Severity::Info).count();
    if failing == 0 { "Nothing fails".to_owned() } else { format!("{failing} failing") }
}

fn rows(seen: Seen<'_>) -> Vec<Row> {
    let mut pods: BTreeMap<WorkloadKey, Vec<&OfPod>> = BTreeMap::new();
    let mut bare = Vec::new();
    for pod in &seen.found.pods {
        match &pod.spec.workload {
            Some(own) => pods.entry(WorkloadKey::of(own, &pod.key.namespace)).or_default().push(pod),
            None => bare.push(pod),
        }
    }
    let mut rows = Vec::new();
    for of in &seen.found.outers {
        let own = match &of.object {
            Outer::Workload(spec, _) => pods.remove(&WorkloadKey::of(&spec.workload, &of.key.object.namespace)),
            Outer::Node(..) => None,
        };
        rows.push(Row::of_outer(of, &own.unwrap_or_default(), seen.now));
    }
    // Of a workload that is not diagnosed itself, its pods are told.
    let alone = pods.into_values().flatten().chain(bare);
    rows.extend(alone.map(|pod| Row::of_pod(pod, seen.now)));
    rows
}

impl Row {
    fn of_outer(of: &OfOuter, pods: &[&OfPod], now: Timestamp) -> Self {
        let head = of.object.head();
        let (ready, container) = match &of.object {
            Outer::Node(_, status) if status.pods == 1 => ("1 pod suffers".to_owned(), None),
            Outer::Node(_, status) => (format!("{} suffer", count(status.pods, "pod")), None),
            // A Job's pods need never be ready.
            Outer::Workload(spec, status) if status.pods.display.is_empty() || spec.workload.kind == "Job" => {
                (String::new(), status.container.as_ref())
            }
            Outer::Workload(_, status) => (format!("{} ready", status.pods.display), status.container.as_ref()),
        };
        let container = container.cloned().unwrap_or_default();
        let subject = Subject::of_outer(of);
        let of_pods = pods.iter().flat_map(|pod| {
            let node = pod.spec.node_name.as_deref().unwrap_or_default();
            [&*pod.key.name, &pod.status.cause, &pod.status.summary, node]
        });
        let words: Vec<&str> = [&*head.summary, &container].into_iter().chain(of_pods).collect();
        let mut causes: BTreeSet<String> = pods.iter().map(|pod| clean(&pod.status.cause)).collect();
        causes.insert(clean(&head.cause));
        Self::of(&subject, head, &words, now).with(causes, &container, &ready)
    }

    fn of_pod(pod: &OfPod, now: Timestamp) -> Self {
        let status = &pod.status;
        let mut head =
            Head::active(&status.cause, &status.category, status.severity, status.confidence, status.summary.clone());
        (head.state, head.first_seen) = (status.state, status.first_seen);
        let container = status.container.clone().unwrap_or_default();
        let own = pod.spec.workload.as_ref().map(|own| &*own.display).unwrap_or_default();
        let words = [&*status.summary, &container, own, pod.spec.node_name.as_deref().unwrap_or_default()];
        Self::of(&Subject::of_pod(pod), &head, &words, now).with(
            BTreeSet::from([clean(&status.cause)]),
            &container,
            &status.pod_status,
        )
    }

    fn of(subject: &Subject, head: &Head, words: &[&str], now: Timestamp) -> Self {
        let named = [subject.kind(), subject.name(), subject.namespace(), &*head.cause];
        let words: Vec<&str> = named.iter().chain(words).copied().collect();
        Self {
            href: subject.href(),
            kind: clean(subject.kind()),
            name: clean(subject.name()),
            namespace: clean(subject.namespace()),
            cause: clean(&head.cause),
            container: String::new(),
            summary: clean(&head.summary),
            badge: badge(head.state, head.severity),
            class: class(head.state, head.severity),
            ready: String::new(),
            since: head.first_seen.map(|since| When::of(since, now)),
            seen: head.first_seen,
            of_severity: head.severity,
            is_active: head.state == DiagnosisState::Active,
            in_namespace: clean(subject.namespace()),
            causes: BTreeSet::new(),
            words: words.join("\n").to_lowercase(),
        }
    }

    fn with(self, causes: BTreeSet<String>, container: &str, ready: &str) -> Self {
        Self { causes, container: clean(container), ready: clean(ready), ..self }
    }

    /// What is worse first, of that the newest, and what has ended last.
    fn order(&self) -> (bool, Severity, Reverse<Option<Timestamp>>, &str, &str) {
        let severity = if self.is_active { self.of_severity } else { Severity::Info };
        (!self.is_active, severity, Reverse(self.seen), &self.in_namespace, &self.name)
    }
}

fn groups(rows: Vec<Row>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let title = if row.is_active { row.of_severity.as_str() } else { "Ended" };
        match groups.last_mut() {
            Some(group) if group.title == title => group.rows.push(row),
            _ => groups.push(Group { title, class: row.class, rows: vec![row] }),
        }
    }
    groups
}

/// Of each severity, how many there are under the filter; the one that is chosen leads back.
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

/// What there is, and what was chosen, though it may have passed.
fn choices<'a>(known: impl Iterator<Item = &'a str>, chosen: &'a str) -> Vec<Choice> {
    let values: BTreeSet<&str> = known.chain(Some(chosen).filter(|chosen| !chosen.is_empty())).collect();
    let choice = |value: &str| Choice { value: value.to_owned(), label: value.to_owned(), is_chosen: value == chosen };
    values.into_iter().map(choice).collect()
}
