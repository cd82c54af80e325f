//! Page of one pod, workload or node.

mod node;
mod pod;
mod workload;

use crate::cli::found::NodeOrWorkload;
use askama::Template;
use shindan_core::api::{
    Confidence, DiagnosisState, Evidence, Head, OtherFinding, Remedy, ServiceImpact, Severity, Weight,
};
use shindan_core::facts::Timestamp;
use shindan_core::language::{Language, phrase, translate};
use shindan_core::rules::known;

use super::link::Subject;
use super::readiness::Readiness;
use super::timeline::Timeline;
use super::words::{When, badge, class, clean, clean_lines};
use super::{Frame, Seen};
use crate::cli::found::OfPod;
use crate::cli::sentences;

#[derive(Debug, Template)]
#[template(path = "diagnosis.html")]
pub(in crate::cli::ui) struct Page {
    pub(in crate::cli::ui) frame: Frame,
    kind: String,
    name: String,
    /// The overview of its namespace.
    namespace: Option<Link>,
    badge: &'static str,
    class: &'static str,
    cause: String,
    summary: String,
    facts: Vec<Fact>,
    meaning: Option<Meaning>,
    remedies: Vec<Step>,
    timeline: Option<Timeline>,
    /// The object with the restarts, if it has another page.
    timeline_of: Option<Link>,
    readiness: Option<Readiness>,
    /// Termination message or log tail. For a node: the last message of the kubelet.
    last_message: Option<Quote>,
    impact_lines: Vec<ImpactLine>,
    evidence: Vec<Proof>,
    others: Vec<Finding>,
    pods: Vec<PodRow>,
    /// Pods whose diagnosis has ended, which are shown on request, and their number as text.
    ended_pods: Vec<PodRow>,
    ended: String,
    affected: Vec<Affected>,
    changes: Vec<Change>,
    templates: Vec<Ledger>,
    /// Further information, one line each.
    remarks: Vec<String>,
}

/// Page of an object without a diagnosis.
#[derive(Debug, Template)]
#[template(path = "nothing.html")]
pub(in crate::cli::ui) struct Nothing {
    pub(in crate::cli::ui) frame: Frame,
    namespace: Option<Link>,
    text: String,
}

/// Text with an optional link.
#[derive(Debug, Clone)]
pub(in crate::cli::ui) struct Link {
    words: String,
    href: Option<String>,
}

#[derive(Debug)]
struct Fact {
    term: &'static str,
    value: Link,
    /// The exact time, if the text is a time.
    when: Option<When>,
}

/// Texts of the cause, as `shindan explain` prints them.
#[derive(Debug)]
struct Meaning {
    words: String,
    distinguish: String,
    action: String,
    source: String,
    family: &'static str,
}

#[derive(Debug)]
struct Step {
    kind: &'static str,
    text: String,
    /// Words before a command that only reads.
    before_command: Option<&'static str>,
    command: Option<String>,
    patch: Option<String>,
    /// What the API server answers to a dry run of the command.
    dry_run: Option<String>,
}

#[derive(Debug)]
struct Quote {
    text: String,
    when: Option<When>,
}

#[derive(Debug)]
struct ImpactLine {
    class: &'static str,
    text: String,
}

#[derive(Debug)]
struct Proof {
    source: String,
    value: String,
    when: Option<When>,
    is_against: bool,
}

#[derive(Debug)]
struct Finding {
    cause: String,
    container: String,
    summary: String,
    meaning: String,
}

#[derive(Debug)]
struct PodRow {
    href: String,
    name: String,
    class: &'static str,
    badge: &'static str,
    cause: String,
    container: String,
    pod_status: String,
    restarts: String,
    node: Option<Link>,
    since: Option<When>,
}

#[derive(Debug)]
struct Affected {
    workload: Link,
    namespace: String,
    pods: String,
}

#[derive(Debug)]
struct Change {
    field: String,
    before: Option<String>,
    after: Option<String>,
}

#[derive(Debug)]
struct Ledger {
    template: String,
    failed: String,
    restarts: u32,
    cause: String,
    last: Option<When>,
}

/// The page of a subject. `None`: it has no diagnosis.
pub(in crate::cli::ui) fn of(frame: Frame, seen: Seen<'_>, subject: &Subject) -> Option<Page> {
    if let Some(pod) = seen.pod(subject) {
        return Some(pod::page(frame, seen, pod));
    }
    let of = seen.node_or_workload(subject)?;
    Some(match &of.object {
        NodeOrWorkload::Node(spec, status) => node::page(frame, seen, spec, status),
        NodeOrWorkload::Workload(spec, status) => workload::page(frame, seen, &of.key.object.namespace, spec, status),
    })
}

/// The diagnosis of a subject, if it is active.
pub(in crate::cli::ui) fn active<'s>(seen: Seen<'s>, subject: &Subject) -> Option<&'s Head> {
    let head = match seen.pod(subject) {
        Some(pod) => &pod.status.head,
        None => match &seen.node_or_workload(subject)?.object {
            NodeOrWorkload::Node(_, status) => &status.head,
            NodeOrWorkload::Workload(_, status) => &status.head,
        },
    };
    Some(head).filter(|head| head.state == DiagnosisState::Active)
}

/// The page of an object without a diagnosis. `unready` is what it lacks to be healthy, with what is seen so far.
pub(in crate::cli::ui) fn nothing(frame: Frame, subject: &Subject, unready: &[String]) -> Nothing {
    let (kind, name) = (clean(&subject.kind()), clean(subject.name()));
    let text = if unready.is_empty() {
        translate!(
            frame.language,
            "No diagnosis of {kind} {name}: it is healthy, or it does not exist.",
            "{kind} {name} について伝えることはない: 正常か、存在しない。",
            kind,
            name
        )
    } else {
        let states = clean(&unready.join(". "));
        translate!(frame.language, "Not failing yet. {states}.", "まだ失敗していない。{states}。", states)
    };
    let frame = Frame { title: format!("{kind} {name}"), ..frame };
    Nothing { frame, namespace: in_namespace(subject.namespace()), text }
}

/// The fields common to all kinds of diagnoses.
struct Gist<'a> {
    state: DiagnosisState,
    severity: Severity,
    cause: &'a str,
    summary: &'a str,
    confidence: Confidence,
    first_seen: Option<Timestamp>,
    remedies: &'a [Remedy],
    evidence: &'a [Evidence],
}

impl Page {
    fn of(frame: Frame, seen: Seen<'_>, subject: &Subject, gist: &Gist<'_>) -> Self {
        let (kind, name) = (clean(&subject.kind()), clean(subject.name()));
        let cause = clean(gist.cause);
        let mut facts = vec![Fact::words(phrase!(seen.language, "Confidence", "確度"), gist.confidence.as_str())];
        facts.extend(
            gist.first_seen.map(|since| Fact::since(phrase!(seen.language, "First seen", "最初に見た時"), since, seen)),
        );
        Self {
            frame: Frame { title: format!("{name}: {cause}"), ..frame },
            kind,
            name,
            namespace: in_namespace(subject.namespace()),
            badge: badge(gist.state, gist.severity),
            class: class(gist.state, gist.severity),
            cause,
            summary: clean(gist.summary),
            facts,
            meaning: meaning(gist.cause, seen.language),
            remedies: gist.remedies.iter().map(|remedy| Step::of(remedy, seen.language)).collect(),
            timeline: None,
            timeline_of: None,
            readiness: None,
            last_message: None,
            impact_lines: Vec::new(),
            evidence: gist.evidence.iter().map(|evidence| Proof::of(evidence, seen.now)).collect(),
            others: Vec::new(),
            pods: Vec::new(),
            ended_pods: Vec::new(),
            ended: String::new(),
            affected: Vec::new(),
            changes: Vec::new(),
            templates: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// With the answers of the API server to dry runs of the remedies, in their order.
    pub(in crate::cli::ui) fn with_dry_runs(mut self, answers: &[Option<String>]) -> Self {
        for (step, answer) in self.remedies.iter_mut().zip(answers) {
            step.dry_run = answer.as_deref().map(clean);
        }
        self
    }

    fn fact(&mut self, term: &'static str, words: &str) {
        if !words.is_empty() {
            self.facts.push(Fact::words(term, words));
        }
    }
}

fn in_namespace(namespace: &str) -> Option<Link> {
    let filter = super::filter::Filter { namespace: clean(namespace), ..Default::default() };
    Some(Link { words: clean(namespace), href: Some(filter.href()) }).filter(|_| !namespace.is_empty())
}

fn meaning(cause: &str, language: Language) -> Option<Meaning> {
    let rule = known().find(|rule| rule.cause == cause)?;
    let explain = rule.explain(language);
    Some(Meaning {
        words: explain.meaning,
        distinguish: explain.distinguish,
        action: explain.action,
        source: explain.source,
        family: rule.category.as_str(),
    })
}

impl Fact {
    fn words(term: &'static str, words: &str) -> Self {
        Self { term, value: Link { words: clean(words), href: None }, when: None }
    }

    fn link(term: &'static str, value: Link) -> Self {
        Self { term, value, when: None }
    }

    fn since(term: &'static str, since: Timestamp, seen: Seen<'_>) -> Self {
        let when = When::of(since, seen.now);
        Self { term, value: Link { words: when.ago(seen.language), href: None }, when: Some(when) }
    }
}

impl Step {
    fn of(remedy: &Remedy, language: Language) -> Self {
        Self {
            kind: sentences::remedy(remedy.kind, language),
            text: clean(&remedy.text),
            before_command: sentences::before_command(remedy, language),
            command: remedy.command.as_deref().map(clean),
            patch: remedy.patch.as_deref().map(clean_lines),
            dry_run: None,
        }
    }
}

impl Proof {
    fn of(evidence: &Evidence, now: Timestamp) -> Self {
        Self {
            source: clean(&evidence.source),
            value: clean(&evidence.value),
            when: evidence.time.map(|time| When::of(time, now)),
            is_against: evidence.weight == Weight::Contradicts,
        }
    }
}

impl Finding {
    fn of(other: &OtherFinding, language: Language) -> Self {
        Self {
            cause: clean(&other.cause),
            container: other.container.as_deref().map(clean).unwrap_or_default(),
            summary: clean(&other.summary),
            meaning: meaning(&other.cause, language).map_or_else(String::new, |meaning| meaning.words),
        }
    }
}

impl ImpactLine {
    fn of(service: &ServiceImpact, language: Language) -> Self {
        let class = if service.ready_endpoints == 0 { "critical" } else { "warning" };
        let text = clean(&sentences::service(service, language));
        Self { class, text }
    }
}

impl PodRow {
    fn of(pod: &OfPod, seen: Seen<'_>) -> Self {
        let status = &pod.status;
        let node = pod.spec.node_name.as_ref().map(|name| {
            let href = seen.href(&Subject::Node { name: name.clone() });
            Link { words: clean(name), href }
        });
        let restarts = status.restarts.as_ref().filter(|of| of.count > 0);
        Self {
            href: Subject::of_pod(pod).href(),
            name: clean(&pod.key.name),
            class: class(status.head.state, status.head.severity),
            badge: badge(status.head.state, status.head.severity),
            cause: clean(&status.head.cause),
            container: status.container.as_deref().map(clean).unwrap_or_default(),
            pod_status: clean(&status.pod_status),
            restarts: restarts.map(|of| super::words::restarts(of.count, seen.language)).unwrap_or_default(),
            node,
            since: status.head.first_seen.map(|since| When::of(since, seen.now)),
        }
    }

    /// Failing pods first, by severity.
    fn all<'p>(pods: impl Iterator<Item = &'p OfPod>, seen: Seen<'_>) -> Vec<Self> {
        let mut pods: Vec<&OfPod> = pods.collect();
        pods.sort_by_key(|pod| (pod.status.head.state, pod.status.head.severity, pod.key.clone()));
        pods.into_iter().map(|pod| Self::of(pod, seen)).collect()
    }
}
