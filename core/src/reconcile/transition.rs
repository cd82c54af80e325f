//! Transitions of diagnoses, the same for all kinds: a failure begins, changes and ends, and its object is deleted.

use super::past_failures::{self, Ending};
use super::{
    Action, Announcement, Composition, DiagnosisKey, Intent, Object, Plan, Policy, Record, Reference, Write,
    conditions, note,
};
use crate::api::{API_VERSION, DiagnosisKind, DiagnosisState, EndedBy, reason_of, short_hash};
use crate::facts::{ObjectKey, Timestamp, after, seconds_between};
use crate::language::Language;

/// How long a pending Event is worth emitting, in seconds. A later one would confuse readers.
const EVENT_DEADLINE: i64 = 600;

/// Whether a write is a transition of the diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Only details change.
    None,
    /// State, cause, container or severity change, with or without an Event.
    Transition { announce: bool },
}

/// Completes a write: transition, conditions, size and Event.
pub(super) fn write(
    last: Option<&Record>,
    key: DiagnosisKey,
    (mut object, composition): (Object, Composition),
    change: Change,
    (language, now): (Language, Timestamp),
) -> Write {
    let before = last.map(|record| record.object.head());
    let head = object.head_mut();
    match change {
        Change::Transition { announce } => {
            head.transition = before.map_or(0, |before| before.transition) + 1;
            head.last_transition = Some(now);
            head.event_owed = announce;
            head.announced |= announce;
        }
        // The Event of the last transition may still be in flight.
        Change::None => head.event_owed = before.is_some_and(|before| before.event_owed),
    }
    let previous = before.map(|before| before.conditions.as_slice()).unwrap_or_default();
    let gone = match key.kind {
        DiagnosisKind::Pod => "PodDeleted",
        DiagnosisKind::Node => "NodeDeleted",
        DiagnosisKind::Workload => "WorkloadDeleted",
    };
    let input = conditions::ConditionInput { state: head.state, cause: &head.cause, summary: &head.summary, gone };
    head.conditions = conditions::of(input, previous, now);
    object.shrink();
    let announcement = (change == Change::Transition { announce: true }).then(|| {
        let episode = last.filter(|record| record.is_active_of(object.subject_uid()));
        let known = episode.map(|record| record.object.head()).filter(|head| head.announced);
        let action = match object.head().state {
            DiagnosisState::Recovered => Action::Recovered,
            _ if known.is_some() => Action::Changed,
            // A failure that was not announced before begins for readers of Events now.
            _ => Action::Diagnosed,
        };
        let announced = last.and_then(|record| record.announced.as_deref());
        let mut announcement = announcement(language, &key, &object, action, announced);
        let head = object.head();
        if let Some(known) = known.filter(|known| known.cause == head.cause && head.severity < known.severity) {
            announcement.note = note::with_severity(language, &announcement.note, known.severity, head.severity);
        }
        announcement
    });
    let resource_version = last.map(|r| r.resource_version.clone()).filter(|version| !version.is_empty());
    Write { key, object, composition, resource_version, announcement }
}

/// Plans for a deleted subject: an Active diagnosis ends without an Event.
pub fn gone(last: Option<&Record>, policy: &Policy, now: Timestamp) -> Plan {
    let Some(record) = last.filter(|record| record.is_active()) else {
        return kept_for(last, policy.retention, now);
    };
    let mut object = record.object.clone();
    object.head_mut().state = DiagnosisState::Gone;
    match &mut object {
        Object::Pod(_, status) => status.restarts.iter_mut().for_each(|restarts| restarts.next_restart_time = None),
        Object::Node(..) => {}
        Object::Workload(spec, status) => {
            let ending = Ending { by: EndedBy::WorkloadDeleted, ..Ending::default() };
            past_failures::add(spec, status, ending, now);
        }
    }
    let change = Change::Transition { announce: false };
    let planned = (object, record.composition.clone());
    Plan::write(write(last, record.key.clone(), planned, change, (policy.language, now)))
}

/// Plans for a diagnosis that has ended: it is deleted after the retention period. That of a workload which recovered has
/// its past failures and is kept longer.
pub fn ended(last: Option<&Record>, policy: &Policy, now: Timestamp) -> Plan {
    let has_past_failures = |record: &Record| match &record.object {
        Object::Workload(_, status) => {
            status.head.state == DiagnosisState::Recovered && !status.past_failures.is_empty()
        }
        Object::Pod(..) | Object::Node(..) => false,
    };
    let is_kept_longer = last.is_some_and(has_past_failures);
    kept_for(last, if is_kept_longer { policy.past_failures_kept() } else { policy.retention }, now)
}

/// Plans to delete an ended diagnosis this many seconds after its end.
fn kept_for(last: Option<&Record>, seconds: i64, now: Timestamp) -> Plan {
    let Some(record) = last.filter(|record| !record.is_active()) else { return Plan::default() };
    let due = after(record.object.head().last_transition.unwrap_or(record.written_at), seconds);
    if now < due { Plan::wake(due) } else { removed(record) }
}

/// Plans to delete a diagnosis.
pub fn removed(record: &Record) -> Plan {
    let (key, resource_version) = (record.key.clone(), record.resource_version.clone());
    Plan { intent: Some(Intent::Delete { key, resource_version }), wake: None }
}

/// The Event that is still pending after a restart or a change of the leader, unless it is too old.
pub fn owed(record: &Record, language: Language, now: Timestamp) -> Option<Announcement> {
    let head = record.object.head();
    let age = seconds_between(head.last_transition?, now);
    let action = match (head.state, head.transition) {
        (DiagnosisState::Recovered, _) => Action::Recovered,
        (_, 1) => Action::Diagnosed,
        _ => Action::Changed,
    };
    (head.event_owed && age < EVENT_DEADLINE)
        .then(|| announcement(language, &record.key, &record.object, action, record.announced.as_deref()))
}

/// The name of the Event of an object's last transition. It is the same for each retry and each replica.
pub fn event_key(key: &DiagnosisKey, object: &Object) -> ObjectKey {
    let (head, regarding) = (object.head(), object.regarding(key));
    let time = head.last_transition.unwrap_or(Timestamp::UNIX_EPOCH);
    let identity = format!("{}/{}/{}", object.subject_uid(), head.transition, time.as_second());
    note::event_name(regarding.namespace(), &regarding.key.name, &short_hash(&identity))
}

/// A write that restores an object as last acknowledged, after an external edit or deletion.
pub fn repaired(record: &Record, resource_version: Option<String>) -> Intent {
    let (key, object, composition) = (record.key.clone(), record.object.clone(), record.composition.clone());
    Intent::Apply(Box::new(Write { key, object, composition, resource_version, announcement: None }))
}

/// `announced`: the cause in the last Warning Event.
fn announcement(
    language: Language,
    key: &DiagnosisKey,
    object: &Object,
    action: Action,
    announced: Option<&str>,
) -> Announcement {
    let head = object.head();
    let is_end = action == Action::Recovered;
    let mut text = match announced.filter(|cause| is_end && *cause != head.cause) {
        // The final cause of a node or workload may never have been announced.
        Some(cause) if key.kind != DiagnosisKind::Pod => note::of(language, cause, "", &[], action),
        _ => note::of(language, &head.cause, &head.summary, &head.remedies, action),
    };
    if let Object::Workload(_, status) = object {
        text = note::with_reach(language, &text, status.root.as_ref().filter(|_| !is_end));
        text = note::with_recurrence(&text, past_failures::repeated(status, language).as_deref());
        text = note::with_aggregated(language, &text, status.folded_events);
    }
    let kind = object.kind().as_str().into();
    Announcement {
        key: event_key(key, object),
        regarding: object.regarding(key),
        related: Some(Reference { api_version: API_VERSION.into(), kind, key: key.object.clone(), uid: None }),
        warning: !is_end,
        reason: if is_end { "Recovered" } else { reason_of(&head.cause) }.to_owned(),
        action,
        note: text,
        time: head.last_transition.unwrap_or(Timestamp::UNIX_EPOCH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{
        Confidence, Evidence, Head, PodDiagnosisSpec, PodDiagnosisStatus, Remedy, RemedyKind, Restarts, Run, Severity,
        Weight, WorkloadRef,
    };

    fn status(history: usize, patch: usize, evidence: usize) -> PodDiagnosisStatus {
        let run = |i: usize| Run { container: format!("app-{i}"), reason: "Error".repeat(8), ..Run::default() };
        let (severity, confidence) = (Severity::Critical, Confidence::Certain);
        let mut head = Head::active("OOMKilled", "Crash", severity, confidence, "s".repeat(200));
        head.remedies = vec![Remedy {
            kind: RemedyKind::Fix,
            text: "t".repeat(500),
            command: Some("c".repeat(500)),
            patch: Some("p".repeat(patch)),
        }];
        head.evidence = (0..evidence)
            .map(|i| Evidence {
                source: format!("source-{i}"),
                value: "v".repeat(500),
                time: None,
                weight: Weight::Supports,
            })
            .collect();
        PodDiagnosisStatus {
            head,
            container: None,
            container_type: None,
            pod_status: "CrashLoopBackOff".to_owned(),
            other_findings: Vec::new(),
            root: None,
            restarts: Some(Restarts { count: 9, history: (0..history).map(run).collect(), ..Restarts::default() }),
            impact: None,
            repeats: 0,
        }
    }

    fn write(pod: &str, status: PodDiagnosisStatus) -> Write {
        let workload = WorkloadRef { kind: "Deployment".to_owned(), name: pod.to_owned(), ..WorkloadRef::default() };
        let spec = PodDiagnosisSpec {
            pod_name: pod.to_owned(),
            pod_uid: "8c8a1c1e-3b0e-4b6c-9a70-2f8f3d9c1c11".to_owned(),
            node_name: Some("node1".to_owned()),
            workload: Some(workload),
        };
        let (key, change) = (DiagnosisKey::of_pod(ObjectKey::new("demo", pod)), Change::Transition { announce: true });
        super::write(
            None,
            key,
            (Object::Pod(spec, status), Composition::default()),
            change,
            (Language::English, Timestamp::UNIX_EPOCH),
        )
    }

    #[test]
    fn object_is_cut_to_eight_kib_history_first_then_patches_then_evidence() {
        let size = |write: &Write| serde_json::to_vec(&(write.object.labels(), &write.object)).unwrap().len();
        let kept = |write: &Write| {
            let history = write.object.pod_status().unwrap().restarts.as_ref().unwrap().history.len();
            let head = write.object.head();
            let patches = head.remedies.iter().filter(|r| r.patch.is_some()).count();
            (history, patches, head.evidence.len(), head.truncated)
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
    fn event_name_is_derived_from_the_transition_and_valid_for_long_pod_names() {
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
            next.object.head_mut().transition = 2;
            assert_ne!(event_key(&next.key, &next.object), first.key, "another transition, another Event");
        }
    }

    #[test]
    fn labels_are_valid_and_distinct_for_long_names() {
        let labels = |name: &str| write(name, status(0, 0, 0)).object.labels();
        let (a, b) = (labels(&format!("{}-a", "n".repeat(80))), labels(&format!("{}-b", "n".repeat(80))));
        assert_ne!(a["shindan.dev/workload-name"], b["shindan.dev/workload-name"]);
        assert!(a.values().chain(b.values()).all(|value| value.len() <= 63 && !value.ends_with(['-', '.', '_'])));
    }
}
