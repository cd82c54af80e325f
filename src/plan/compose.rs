//! The objects and Events themselves.

use std::fmt::Write as _;

use super::{Action, Announcement, ObjectWrite, Record, Reference, conditions, size_of};
use crate::api::{
    API_VERSION, DiagnosisKind, DiagnosisState, Impact, PodDiagnosis, PodDiagnosisSpec, PodDiagnosisStatus, Remedy,
    Root, RootReach, Severity, WorkloadRef, short_hash,
};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Case, Diagnosis, Language, pod_status, restarts, text};
use crate::facts::{ObjectKey, Timestamp, WorkloadKey};

pub(super) type Write = ObjectWrite;

/// The most bytes of a status; an object is 8 KiB at most with its metadata.
const STATUS_MAX: usize = 7 * 1024;
/// The most bytes of an Event's note.
const NOTE_MAX: usize = 1024;

/// The number of a transition, and whether an Event tells it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transition {
    pub(super) number: u32,
    pub(super) announce: bool,
}

/// A failure that was not there before.
pub(super) fn diagnosed(
    last: Option<&Record>,
    case: &Case<'_>,
    diagnosis: &Diagnosis,
    transition: Transition,
    first_seen: Timestamp,
    repeats: u32,
) -> Write {
    let mut status = status_of(case, diagnosis, diagnosis.severity);
    status.first_seen = Some(first_seen);
    status.repeats = repeats;
    let spec = spec_of(case, diagnosis.workload.as_ref());
    finish(last, case.pod.key.clone(), spec, status, Some((transition, Action::Diagnosed)), (case.language(), case.now))
}

/// The same episode, told anew.
pub(super) fn changed(
    record: &Record,
    case: &Case<'_>,
    diagnosis: &Diagnosis,
    severity: Severity,
    transition: Transition,
    is_transition: bool,
) -> Write {
    let mut status = status_of(case, diagnosis, severity);
    if !is_transition && told_more(&record.status, &status) {
        keep_words(&record.status, &mut status, case);
    }
    status.first_seen = record.status.first_seen;
    status.repeats = record.status.repeats;
    status.announced = record.status.announced;
    status.transition = record.status.transition;
    status.last_transition = record.status.last_transition;
    status.impact = Some(keep_known(status.impact.take(), record.status.impact.as_ref(), case));
    let spec = spec_of(case, diagnosis.workload.as_ref());
    let told = is_transition.then_some((transition, Action::Changed));
    finish(Some(record), record.key.clone(), spec, status, told, (case.language(), case.now))
}

/// Whether the same was told before, and why as well: the kubelet's own words of a failed hook are gone once it backs off.
fn told_more(old: &PodDiagnosisStatus, new: &PodDiagnosisStatus) -> bool {
    let (before, now) = (restarts::without_tail(&old.summary), restarts::without_tail(&new.summary));
    let is_same = (&old.cause, &old.container) == (&new.cause, &new.container);
    is_same && before.strip_prefix(now).is_some_and(|why| why.starts_with(": ")) && old.confidence <= new.confidence
}

fn keep_words(old: &PodDiagnosisStatus, new: &mut PodDiagnosisStatus, case: &Case<'_>) {
    new.confidence = old.confidence;
    new.remedies.clone_from(&old.remedies);
    new.evidence.clone_from(&old.evidence);
    new.summary.clone_from(&old.summary);
    new.summary = summary_with_restarts(new, case);
}

/// The record as it was, with what the restarts say now.
pub(super) fn with_restarts(record: &Record, case: &Case<'_>) -> Write {
    let status = brought_up_to_date(record, case);
    finish(Some(record), record.key.clone(), record.spec.clone(), status, None, (case.language(), case.now))
}

/// The record as it was, but worse.
pub(super) fn worsened(record: &Record, case: &Case<'_>, severity: Severity, transition: Transition) -> Write {
    let mut status = brought_up_to_date(record, case);
    status.severity = severity;
    let told = Some((transition, Action::Changed));
    finish(Some(record), record.key.clone(), record.spec.clone(), status, told, (case.language(), case.now))
}

fn brought_up_to_date(record: &Record, case: &Case<'_>) -> PodDiagnosisStatus {
    let mut status = record.status.clone();
    if let Some(restarts) = restarts(case, status.container.as_deref()) {
        // The whole history is there once more, and what was cut of it is counted anew.
        let kept = status.restarts.as_ref().map_or(0, |r| r.history.len());
        let cut = u32::try_from(restarts.history.len().saturating_sub(kept)).unwrap_or(u32::MAX);
        status.truncated = status.truncated.saturating_sub(cut);
        status.restarts = Some(restarts);
        status.summary = summary_with_restarts(&status, case);
    }
    status.pod_status = shown_status(case);
    status
}

/// The summary with the restarts that it ends with counted anew.
fn summary_with_restarts(status: &PodDiagnosisStatus, case: &Case<'_>) -> String {
    let head = restarts::without_tail(&status.summary);
    let culprit = status.container.as_deref().and_then(|name| case.pod.container(name));
    match culprit {
        Some(culprit) if head != status.summary && Language::of_text(head) == case.language() => {
            text::line(&format!("{head}{}", restarts::tail(case, culprit)), text::SUMMARY_MAX)
        }
        _ => status.summary.clone(),
    }
}

/// What kubectl prints; where a raw error stands for a reason, as much of it as fits.
fn shown_status(case: &Case<'_>) -> String {
    shown_word(&pod_status(case.pod))
}

pub(super) fn shown_word(status: &str) -> String {
    text::line(status, text::SUMMARY_MAX)
}

pub(super) fn recovered(record: &Record, case: &Case<'_>) -> Write {
    let mut status = brought_up_to_date(record, case);
    status.state = DiagnosisState::Recovered;
    if let Some(impact) = &mut status.impact {
        impact.pod_ready = case.pod.is_ready();
    }
    // Nothing was told when it began (a Job's retry, a node's pod): then its end is no news either.
    // Nor is it where a pod is only too old to count: its workload still loses one after the other.
    let goes_on = case.pod.is_over() && case.surroundings.siblings.are_thrown_out_again_and_again();
    let announce = record.status.announced && !goes_on;
    let transition = Transition { number: record.status.transition + 1, announce };
    finish(
        Some(record),
        record.key.clone(),
        record.spec.clone(),
        status,
        Some((transition, Action::Recovered)),
        (case.language(), case.now),
    )
}

pub(super) fn gone(record: &Record, now: Timestamp) -> Write {
    let mut status = record.status.clone();
    status.state = DiagnosisState::Gone;
    if let Some(restarts) = &mut status.restarts {
        restarts.next_restart_time = None;
    }
    let transition = Transition { number: record.status.transition + 1, announce: false };
    finish(
        Some(record),
        record.key.clone(),
        record.spec.clone(),
        status,
        Some((transition, Action::Changed)),
        (Language::English, now),
    )
}

/// The record once more, letter for letter.
pub(super) fn again(record: &Record, resource_version: Option<String>) -> Write {
    Write {
        key: record.key.clone(),
        labels: PodDiagnosis::labels_of(&record.spec, &record.status),
        spec: record.spec.clone(),
        status: record.status.clone(),
        resource_version,
        announcement: None,
    }
}

/// The Event of the record's own last transition.
pub(super) fn announcement_of(record: &Record, language: Language) -> Announcement {
    let action = match (record.status.state, record.status.transition) {
        (DiagnosisState::Recovered, _) => Action::Recovered,
        (_, 1) => Action::Diagnosed,
        _ => Action::Changed,
    };
    let time = record.status.last_transition.unwrap_or(record.written_at);
    announcement(&record.key, &record.spec, &record.status, action, (language, time))
}

fn spec_of(case: &Case<'_>, workload: Option<&WorkloadKey>) -> PodDiagnosisSpec {
    PodDiagnosisSpec {
        pod_name: case.pod.key.name.to_string(),
        pod_uid: case.pod.uid.to_string(),
        node_name: case.pod.node_name.as_deref().map(str::to_owned),
        workload: workload.map(|w| WorkloadRef {
            api_version: w.api_version.to_string(),
            kind: w.kind.to_string(),
            name: w.name.to_string(),
            display: w.to_string(),
        }),
    }
}

fn status_of(case: &Case<'_>, diagnosis: &Diagnosis, severity: Severity) -> PodDiagnosisStatus {
    PodDiagnosisStatus {
        state: DiagnosisState::Active,
        cause: diagnosis.cause.to_owned(),
        category: diagnosis.category.as_str().to_owned(),
        severity,
        confidence: diagnosis.confidence,
        container: diagnosis.container.as_deref().map(str::to_owned),
        container_type: diagnosis.container_type,
        pod_status: shown_status(case),
        summary: diagnosis.summary.clone(),
        remedies: diagnosis.remedies.clone(),
        evidence: diagnosis.evidence.clone(),
        other_findings: diagnosis.other_findings.clone(),
        root: diagnosis.root.clone(),
        restarts: Some(restarts(case, diagnosis.container.as_deref()).unwrap_or_default()),
        impact: Some(diagnosis.impact.clone()),
        first_seen: None,
        last_transition: None,
        transition: 0,
        event_owed: false,
        announced: false,
        repeats: 0,
        truncated: 0,
        conditions: Vec::new(),
    }
}

/// What was looked up before is not lost because it is not known at the moment.
fn keep_known(new: Option<Impact>, old: Option<&Impact>, case: &Case<'_>) -> Impact {
    let mut impact = new.unwrap_or_default();
    if let Some(old) = old {
        if case.surroundings.workload.is_none() {
            impact.workload.clone_from(&old.workload);
        }
        if case.surroundings.services.is_none() {
            impact.services.clone_from(&old.services);
        }
    }
    impact
}

/// Condition, size, labels and Event: what every write has in common.
fn finish(
    last: Option<&Record>,
    key: ObjectKey,
    spec: PodDiagnosisSpec,
    mut status: PodDiagnosisStatus,
    told: Option<(Transition, Action)>,
    (language, now): (Language, Timestamp),
) -> Write {
    match told {
        Some((transition, _)) => {
            status.transition = transition.number;
            status.last_transition = Some(now);
            status.event_owed = transition.announce;
            status.announced |= transition.announce;
        }
        // The Event of the last transition may still be on its way.
        None => status.event_owed = last.is_some_and(|r| r.status.event_owed),
    }
    let previous = last.map(|r| r.status.conditions.as_slice()).unwrap_or_default();
    let words =
        conditions::Told { state: status.state, cause: &status.cause, summary: &status.summary, gone: "PodDeleted" };
    status.conditions = conditions::of(words, previous, now);
    shrink(&mut status);
    // To those who read Events, what nobody was told of yet begins now.
    let is_known = last.is_some_and(|record| record.status.announced);
    let announcement = told.filter(|(transition, _)| transition.announce).map(|(_, action)| {
        let action = if action == Action::Changed && !is_known { Action::Diagnosed } else { action };
        announcement(&key, &spec, &status, action, (language, now))
    });
    Write {
        labels: PodDiagnosis::labels_of(&spec, &status),
        resource_version: last.map(|r| r.resource_version.clone()).filter(|version| !version.is_empty()),
        key,
        spec,
        status,
        announcement,
    }
}

/// Cuts in this order until it fits: history, patches, evidence. Says how much was cut.
fn shrink(status: &mut PodDiagnosisStatus) {
    while size_of(status) > STATUS_MAX {
        let history = status.restarts.as_mut().map(|r| &mut r.history).filter(|h| h.len() > 1);
        if let Some(history) = history {
            history.remove(0);
        } else if let Some(remedy) = status.remedies.iter_mut().rev().find(|r| r.patch.is_some()) {
            remedy.patch = None;
        } else if status.evidence.len() > 1 {
            status.evidence.pop();
        } else if status.other_findings.pop().is_none() && !names_fewer(status) && status.remedies.pop().is_none() {
            return;
        }
        status.truncated += 1;
    }
}

/// Leaves out one of those that suffer with it; whether there was any.
fn names_fewer(status: &mut PodDiagnosisStatus) -> bool {
    let Some(impact) = &mut status.impact else { return false };
    impact.healthy_containers.pop().is_some() || impact.services.pop().is_some()
}

fn announcement(
    key: &ObjectKey,
    spec: &PodDiagnosisSpec,
    status: &PodDiagnosisStatus,
    action: Action,
    (language, time): (Language, Timestamp),
) -> Announcement {
    let recovered = action == Action::Recovered;
    Announcement {
        key: event_key(key, spec, status.transition, time),
        regarding: Reference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            key: key.clone(),
            uid: Some(spec.pod_uid.clone()),
        },
        related: Some(Reference {
            api_version: API_VERSION.into(),
            kind: DiagnosisKind::Pod.as_str().into(),
            key: key.clone(),
            uid: None,
        }),
        warning: !recovered,
        reason: if recovered { "Recovered".to_owned() } else { status.cause.clone() },
        action,
        note: note(language, &status.cause, &status.summary, &status.remedies, action),
        time,
    }
}

/// What an Event says: the summary, then the first remedy.
pub(super) fn note(language: Language, cause: &str, summary: &str, remedies: &[Remedy], action: Action) -> String {
    let recovered = action == Action::Recovered;
    let mut note = match summary {
        _ if !recovered => without_stop(summary).to_owned(),
        "" => say!(language, "Well again after {cause}", cause),
        _ => say!(language, "Well again after {cause}: {summary}", cause, summary),
    };
    if let Some(remedy) = remedies.first().filter(|_| !recovered) {
        let _ = write!(note, ". {}", remedy.text);
        if let Some(command) = &remedy.command {
            let _ = write!(note, " ({command})");
        }
    }
    text::cut_bytes(&note, NOTE_MAX)
}

/// A note that says as well how many Events of pods it stands for.
pub(super) fn with_folded(language: Language, note: &str, folded: u32) -> String {
    match folded {
        0 => note.to_owned(),
        1 => with_tail(note, phrase!(language, "1 further Event of a pod is folded into this one")),
        _ => with_tail(note, &say!(language, "{folded} further Events of pods are folded into this one", folded)),
    }
}

/// A note that says as well who else fails of the root, as far as it is known by then.
pub(super) fn with_reach(language: Language, note: &str, reach: Option<&RootReach>) -> String {
    let Some(reach) = reach.filter(|reach| reach.workloads > 1) else { return note.to_owned() };
    let pods = match reach.pods {
        0 => String::new(),
        1 => phrase!(language, "1 pod and ").to_owned(),
        pods => say!(language, "{pods} pods and ", pods),
    };
    let spread = if reach.namespaces > 1 {
        say!(language, " in {namespaces} namespaces", namespaces = reach.namespaces)
    } else {
        String::new()
    };
    let Root { kind, name } = &reach.root;
    let name = text::cut_bytes(name, NOTE_MAX / 4);
    with_tail(
        note,
        &say!(
            language,
            "{pods}{workloads} workloads{spread} fail of {kind} {name} so far",
            pods,
            workloads = reach.workloads,
            spread,
            kind,
            name
        ),
    )
}

/// The note, cut where there is no room, with another sentence.
fn with_tail(note: &str, tail: &str) -> String {
    let kept = text::cut_bytes(note, NOTE_MAX.saturating_sub(tail.len() + 2));
    format!("{}. {tail}", without_stop(&kept))
}

/// A sentence that another one follows.
fn without_stop(sentence: &str) -> &str {
    sentence.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(sentence)
}

/// The name of the Event of a transition: the same whoever posts it, and however often.
pub(super) fn event_key(key: &ObjectKey, spec: &PodDiagnosisSpec, transition: u32, time: Timestamp) -> ObjectKey {
    let hash = short_hash(&format!("{}/{transition}/{}", spec.pod_uid, time.as_second()));
    event_name(&key.namespace, &key.name, &hash)
}

/// The name of an Event: what it is about, cut, and a hash.
pub(super) fn event_name(namespace: &str, about: &str, hash: &str) -> ObjectKey {
    const NAME_KEPT: usize = 200;
    let about: String = about.chars().take(NAME_KEPT).collect();
    ObjectKey::new(namespace, format!("{}.{hash}", about.trim_end_matches(['.', '-'])))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::api::{Confidence, Evidence, RemedyKind, Restarts, Run, Weight};
    use crate::facts::after;

    fn status(history: usize, patch: usize, evidence: usize) -> PodDiagnosisStatus {
        let run = |i: usize| Run { container: format!("app-{i}"), reason: "Error".repeat(8), ..Run::default() };
        PodDiagnosisStatus {
            state: DiagnosisState::Active,
            cause: "OOMKilled".to_owned(),
            category: "Crash".to_owned(),
            severity: Severity::Critical,
            confidence: Confidence::Certain,
            container: None,
            container_type: None,
            pod_status: "CrashLoopBackOff".to_owned(),
            summary: "s".repeat(200),
            remedies: vec![Remedy {
                kind: RemedyKind::Fix,
                text: "t".repeat(500),
                command: Some("c".repeat(500)),
                patch: Some("p".repeat(patch)),
            }],
            evidence: (0..evidence)
                .map(|i| Evidence {
                    source: format!("source-{i}"),
                    value: "v".repeat(500),
                    time: None,
                    weight: Weight::Supports,
                })
                .collect(),
            other_findings: Vec::new(),
            root: None,
            restarts: Some(Restarts { count: 9, history: (0..history).map(run).collect(), ..Restarts::default() }),
            impact: None,
            first_seen: None,
            last_transition: None,
            transition: 0,
            event_owed: false,
            announced: false,
            repeats: 0,
            truncated: 0,
            conditions: Vec::new(),
        }
    }

    fn write(pod: &str, status: PodDiagnosisStatus) -> Write {
        let spec = PodDiagnosisSpec {
            pod_name: pod.to_owned(),
            pod_uid: "6f0c".to_owned(),
            node_name: None,
            workload: Some(WorkloadRef {
                kind: "Deployment".to_owned(),
                name: pod.to_owned(),
                ..WorkloadRef::default()
            }),
        };
        let told = Some((Transition { number: 1, announce: true }, Action::Diagnosed));
        finish(None, ObjectKey::new("demo", pod), spec, status, told, (Language::English, Timestamp::UNIX_EPOCH))
    }

    #[test]
    fn an_object_is_eight_kib_at_most_and_loses_history_first_then_patches_then_evidence() {
        let size = |write: &Write| {
            let labels: BTreeMap<_, _> = write.labels.clone();
            serde_json::to_vec(&(labels, &write.spec, &write.status)).unwrap().len()
        };
        let kept = |write: &Write| {
            let history = write.status.restarts.as_ref().unwrap().history.len();
            let patches = write.status.remedies.iter().filter(|r| r.patch.is_some()).count();
            (history, patches, write.status.evidence.len(), write.status.truncated)
        };
        let whole = write("a", status(10, 100, 4));
        assert_eq!(kept(&whole), (10, 1, 4, 0));
        let less_history = write("a", status(10, 1300, 6));
        assert!(matches!(kept(&less_history), (1..10, 1, 6, 1..)), "{:?}", kept(&less_history));
        let no_patch = write("a", status(10, 3000, 6));
        assert_eq!(kept(&no_patch), (1, 0, 6, 10));
        let less_evidence = write("a", status(10, 3000, 30));
        assert!(matches!(kept(&less_evidence), (1, 0, 1..12, 25..)), "{:?}", kept(&less_evidence));
        let name = "n".repeat(253);
        for write in [whole, less_history, no_patch, less_evidence, write(&name, status(10, 3000, 30))] {
            assert!(size(&write) <= 8 * 1024, "{}", size(&write));
        }
    }

    #[test]
    fn an_events_name_follows_from_the_transition_and_is_valid_for_the_longest_pod_name() {
        for name in ["a".to_owned(), "n".repeat(253), format!("{}.-{}", "n".repeat(198), "m".repeat(50))] {
            let first = write(&name, status(0, 0, 1)).announcement.unwrap();
            let again = write(&name, status(0, 0, 1)).announcement.unwrap();
            assert_eq!(first, again);
            let event = &first.key.name;
            assert!(event.len() <= 253 && !event.contains("-.") && !event.contains(".."), "{event}");
            let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
            assert!(event.chars().all(valid) && event.ends_with(|c: char| c.is_ascii_alphanumeric()), "{event}");
            assert!(first.note.len() <= 1024, "{}", first.note.len());
            let mut next = write(&name, status(0, 0, 1));
            next.status.transition = 2;
            let time = next.status.last_transition.map(|at| after(at, 0)).unwrap();
            let next = announcement(&next.key, &next.spec, &next.status, Action::Changed, (Language::English, time));
            assert_ne!(next.key, first.key, "another transition, another Event");
        }
    }

    #[test]
    fn labels_are_valid_and_two_long_names_stay_two() {
        let labels = |name: &str| write(name, status(0, 0, 0)).labels;
        let (a, b) = (labels(&format!("{}-a", "n".repeat(80))), labels(&format!("{}-b", "n".repeat(80))));
        assert_ne!(a["shindan.dev/workload-name"], b["shindan.dev/workload-name"]);
        assert!(a.values().chain(b.values()).all(|value| value.len() <= 63 && !value.ends_with(['-', '.', '_'])));
    }
}
