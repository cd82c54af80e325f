//! The answer of `explain_failure`, and of `diagnose_manifest_dump` for one object.

use serde::Serialize;
use shindan_core::api::{DiagnosisState, Evidence, OtherFinding, Remedy, ServiceImpact, Weight};
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::reconcile::past_failures;

use super::answer::{self, LABEL, NAME, ONE, Subject, clean, moment};
use super::healthy;
use super::overview::Seen;
use crate::cli::found::{Entry, NodeOrWorkload, OfNodeOrWorkload, OfPod};
use crate::cli::sentences;

/// How much of a diagnosis an answer has: numbers of entries, and characters of a text.
#[derive(Debug, Clone, Copy)]
struct Limits {
    evidence: usize,
    value: usize,
    remedies: usize,
    text: usize,
    /// A longer command is left out, because a part of it would do something else.
    command: usize,
    others: usize,
}

/// From the longest form of an answer to the shortest.
const FORMS: [Limits; 6] = [
    Limits { evidence: 8, value: 400, remedies: 5, text: 400, command: 700, others: 5 },
    Limits { evidence: 6, value: 250, remedies: 4, text: 300, command: 500, others: 4 },
    Limits { evidence: 5, value: 180, remedies: 3, text: 220, command: 400, others: 3 },
    Limits { evidence: 4, value: 140, remedies: 3, text: 180, command: 250, others: 2 },
    Limits { evidence: 3, value: 100, remedies: 2, text: 120, command: 150, others: 1 },
    Limits { evidence: 2, value: 60, remedies: 1, text: 80, command: 0, others: 0 },
];

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    state: &'static str,
    severity: &'static str,
    confidence: &'static str,
    cause: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pods: Option<Pods>,
    reported_by: &'static str,
    as_of: String,
    /// Entries that the diagnosis has and this answer has not.
    #[serde(skip_serializing_if = "LeftOut::is_none")]
    left_out: LeftOut,
    next: &'static str,
    untrusted: Facts,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Pods {
    desired: u32,
    ready: u32,
    failing: u32,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct LeftOut {
    evidence: usize,
    remedies: usize,
    commands: usize,
    others: usize,
}

impl LeftOut {
    const fn is_none(&self) -> bool {
        self.evidence + self.remedies + self.commands + self.others == 0
    }
}

/// Everything that contains text from the cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    object: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    summary: String,
    /// How often it has failed with this cause before, and how that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    recurrence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restarts: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    impact: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<String>,
    evidence: Vec<Cited>,
    remedies: Vec<Step>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Evidence from one object.
#[derive(Debug, Serialize)]
struct Cited {
    source: String,
    facts: Vec<Proof>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Proof {
    /// A field path of the object, `event/REASON`, or a condition.
    field: String,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    contradicts: bool,
}

#[derive(Debug, Serialize)]
struct Step {
    number: usize,
    kind: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

/// The answer for the object that was asked for. `unready` is what it lacks to be healthy, if nothing is reported of it.
pub(super) fn answer(seen: Seen<'_>, asked: &str, unready: &[String]) -> anyhow::Result<String> {
    let mut entries = seen.found.entries();
    // A workload before its pods.
    entries.sort_by_cached_key(|entry| {
        let head = Subject::of(entry, seen.found).head;
        (head.state, matches!(entry, Entry::Pod(_)), head.severity)
    });
    let Some((first, others)) = entries.split_first() else { return healthy::answer(seen, asked, unready) };
    answer::first_that_fits(ONE, FORMS.iter().map(|limits| explanation(seen, first, others, limits)))
}

fn explanation(seen: Seen<'_>, entry: &Entry<'_>, others: &[Entry<'_>], limits: &Limits) -> Explanation {
    let subject = Subject::of(entry, seen.found);
    let head = subject.head;
    let mut left_out = LeftOut::default();
    let evidence = evidence(seen, entry, &subject, limits, &mut left_out);
    let remedies = steps(&head.remedies, limits, &mut left_out);
    let others = other_failures(seen, entry, others, limits, &mut left_out);
    let cause = answer::cause(&head.cause);
    let parts = Parts::of(entry, seen.now);
    let pods = parts.pods;
    let fits = |texts: &[String]| -> Vec<String> {
        texts.iter().take(limits.others.max(1)).map(|text| clean(text, limits.value)).collect()
    };
    Explanation {
        state: head.state.as_str(),
        severity: head.severity.as_str(),
        confidence: head.confidence.as_str(),
        cause,
        meaning: answer::meaning(&head.cause),
        since: head.first_seen.map(moment),
        pods,
        reported_by: seen.reported_by,
        as_of: moment(seen.now),
        left_out,
        next: next(head.state, &head.remedies),
        untrusted: Facts {
            object: subject.object.clone(),
            namespace: clean(subject.namespace, LABEL),
            source: subject.source.clone(),
            cause: (cause == answer::OF_A_RULE).then(|| clean(&head.cause, NAME)),
            container: parts.container.map(|name| clean(name, LABEL)),
            node: parts.node.map(|name| clean(name, NAME)),
            summary: clean(&head.summary, limits.text),
            recurrence: parts.recurrence.map(|text| clean(&text, limits.value)),
            restarts: parts.restarts.map(|text| clean(&text, limits.value)),
            impact: fits(&parts.impact),
            changed: fits(&parts.changed),
            evidence,
            remedies,
            others,
            notes: fits(seen.notes),
        },
    }
}

const fn next(state: DiagnosisState, remedies: &[Remedy]) -> &'static str {
    match state {
        DiagnosisState::Active if remedies.is_empty() => "explain_cause explains the cause.",
        DiagnosisState::Active => "check_fix tries the remedies without a change. explain_cause explains the cause.",
        _ => "It has ended.",
    }
}

/// The parts that differ by kind.
#[derive(Debug, Default)]
struct Parts<'f> {
    container: Option<&'f str>,
    node: Option<&'f str>,
    pods: Option<Pods>,
    recurrence: Option<String>,
    restarts: Option<String>,
    impact: Vec<String>,
    changed: Vec<String>,
}

impl<'f> Parts<'f> {
    fn of(entry: &Entry<'f>, now: Timestamp) -> Self {
        match entry {
            Entry::Pod(pod) => Self::of_pod(pod, now),
            Entry::NodeOrWorkload(of, pods) => Self::of_node_or_workload(of, pods.first().copied(), now),
        }
    }

    fn of_pod(pod: &'f OfPod, now: Timestamp) -> Self {
        let status = &pod.status;
        let restarts = status.restarts.as_ref().filter(|restarts| restarts.count > 0);
        let own = status.impact.as_ref();
        let mut impact = services(own.iter().flat_map(|impact| &impact.services));
        if let Some(own) = pod.spec.workload.as_ref() {
            impact.push(format!("It is a pod of {}.", crate::cli::fix::argument(own)));
        }
        Self {
            container: status.container.as_deref(),
            node: pod.spec.node_name.as_deref(),
            pods: own.and_then(|impact| impact.workload.as_ref()).map(|of| Pods {
                desired: of.desired,
                ready: of.updated_ready + of.old_ready,
                failing: of.failing,
            }),
            restarts: restarts.map(|restarts| sentences::restarts(restarts, now, Language::English)),
            impact,
            ..Self::default()
        }
    }

    fn of_node_or_workload(of: &'f OfNodeOrWorkload, pod: Option<&'f OfPod>, now: Timestamp) -> Self {
        match &of.object {
            NodeOrWorkload::Node(_, status) => {
                let affected = status.affected.iter();
                let impact = affected.map(|of| format!("{}/{}: {} pods on it", of.namespace, of.workload, of.pods));
                Self { impact: impact.collect(), ..Self::default() }
            }
            NodeOrWorkload::Workload(_, status) => {
                let none = "(none)".to_owned();
                let changed = status.template_changes.iter().map(|change| {
                    let (before, after) = (change.before.as_ref(), change.after.as_ref());
                    format!("{}: {} -> {}", change.field, before.unwrap_or(&none), after.unwrap_or(&none))
                });
                let of_pod = pod.map(|pod| Self::of_pod(pod, now)).unwrap_or_default();
                Self {
                    container: status.container.as_deref(),
                    pods: Some(Pods {
                        desired: status.pods.desired,
                        ready: status.pods.ready,
                        failing: status.pods.failing,
                    }),
                    recurrence: past_failures::recurrence(status, Language::English),
                    restarts: of_pod.restarts,
                    impact: services(status.serving.iter().flat_map(|serving| &serving.services)),
                    changed: changed.collect(),
                    node: None,
                }
            }
        }
    }
}

fn services<'s>(all: impl Iterator<Item = &'s ServiceImpact>) -> Vec<String> {
    all.map(|service| sentences::service(service, Language::English)).collect()
}

/// The evidence of the object, and that of one of its pods.
fn evidence(
    seen: Seen<'_>,
    entry: &Entry<'_>,
    subject: &Subject<'_>,
    limits: &Limits,
    left_out: &mut LeftOut,
) -> Vec<Cited> {
    let mut room = limits.evidence;
    let mut cited = |source: &str, evidence: Vec<&Evidence>| {
        let shown = evidence.len().min(room);
        room -= shown;
        left_out.evidence += evidence.len() - shown;
        let facts: Vec<Proof> = evidence.iter().take(shown).map(|of| Proof::of(of, limits)).collect();
        (!facts.is_empty()).then(|| Cited { source: source.to_owned(), facts })
    };
    // Evidence from pods is cited from the pods.
    let pod = match entry {
        Entry::NodeOrWorkload(of, pods) if matches!(of.object, NodeOrWorkload::Workload(..)) => pods.first(),
        _ => None,
    };
    let is_own = |of: &&Evidence| pod.is_none() || !of.source.starts_with("pod/");
    let own = cited(&subject.source, subject.head.evidence.iter().filter(is_own).collect());
    let of_pod = pod.and_then(|pod| {
        let of = Subject::of(&Entry::Pod(pod), seen.found);
        cited(&of.source, of.head.evidence.iter().collect())
    });
    own.into_iter().chain(of_pod).collect()
}

impl Proof {
    fn of(evidence: &Evidence, limits: &Limits) -> Self {
        Self {
            field: clean(&evidence.source, 120),
            value: clean(&evidence.value, limits.value),
            time: evidence.time.map(moment),
            contradicts: evidence.weight == Weight::Contradicts,
        }
    }
}

fn steps(remedies: &[Remedy], limits: &Limits, left_out: &mut LeftOut) -> Vec<Step> {
    let shown = remedies.len().min(limits.remedies);
    left_out.remedies = remedies.len() - shown;
    let mut step = |(place, remedy): (usize, &Remedy)| {
        let command = remedy.command.as_ref().map(|command| clean(command, usize::MAX));
        let is_short = command.as_ref().is_none_or(|command| command.chars().count() <= limits.command);
        left_out.commands += usize::from(!is_short);
        Step {
            number: place + 1,
            kind: remedy.kind.as_str(),
            text: clean(&remedy.text, limits.text),
            command: command.filter(|_| is_short),
        }
    };
    remedies.iter().take(shown).enumerate().map(&mut step).collect()
}

/// Other problems of the object, and what fails because of it, one line each.
fn other_failures(
    seen: Seen<'_>,
    entry: &Entry<'_>,
    others: &[Entry<'_>],
    limits: &Limits,
    left_out: &mut LeftOut,
) -> Vec<String> {
    let of_itself: &[OtherFinding] = match entry {
        Entry::Pod(pod) => &pod.status.other_findings,
        Entry::NodeOrWorkload(of, _) => match &of.object {
            NodeOrWorkload::Node(_, status) => &status.other_findings,
            NodeOrWorkload::Workload(..) => &[],
        },
    };
    let of_itself = of_itself.iter().map(|other| format!("{}: {}", other.cause, other.summary));
    let of_others = others.iter().map(|entry| {
        let Subject { head, object, namespace, .. } = Subject::of(entry, seen.found);
        format!("{object} in {namespace}: {}: {}", head.cause, head.summary)
    });
    let all: Vec<String> = of_itself.chain(of_others).collect();
    let shown = all.len().min(limits.others);
    left_out.others = all.len() - shown;
    all.iter().take(shown).map(|text| clean(text, limits.value)).collect()
}
