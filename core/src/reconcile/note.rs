//! Notes and names of Events.

use std::fmt::Write as _;

use super::Action;
use crate::api::{Remedy, Root, RootReach, Severity};
use crate::facts::ObjectKey;
use crate::language::{Language, phrase, translate};
use crate::message::text;

/// Most bytes of an Event's note.
const NOTE_MAX: usize = 1024;

/// The note of an Event: the summary and the first remedy.
pub(super) fn of(language: Language, cause: &str, summary: &str, remedies: &[Remedy], action: Action) -> String {
    let recovered = action == Action::Recovered;
    let mut note = match summary {
        _ if !recovered => without_stop(summary).to_owned(),
        "" => translate!(language, "Recovered from {cause}", "{cause} から回復", cause),
        _ => translate!(language, "Recovered from {cause}: {summary}", "{cause} から回復: {summary}", cause, summary),
    };
    if let Some(remedy) = remedies.first().filter(|_| !recovered) {
        let _ = write!(note, ". {}", remedy.text);
        if let Some(command) = &remedy.command {
            let _ = write!(note, " ({command})");
        }
    }
    text::cut_bytes(&note, NOTE_MAX)
}

/// Adds a rise in severity, the only change since the last Event, to a note.
pub(super) fn with_severity(language: Language, note: &str, before: Severity, severity: Severity) -> String {
    with_tail(
        note,
        &translate!(
            language,
            "The severity has risen from {before} to {severity}",
            "重大度が {before} から {severity} に上がった",
            before,
            severity
        ),
    )
}

/// Adds to the note of a bare pod, or of an object on the path of a request, that further Events like it are suppressed.
pub(super) fn with_limit(language: Language, note: &str, is_of_pods: bool) -> String {
    let limit = if is_of_pods {
        phrase!(
            language,
            "Further bare pods of this namespace with this cause have no Event for up to 10 minutes",
            "この namespace で同じ原因の単独の Pod には、最大 10 分間 Event を出さない"
        )
    } else {
        phrase!(
            language,
            "Further Ingresses, routes and similar objects of this namespace with this cause have no Event for up to 10 minutes",
            "この namespace で同じ原因の Ingress、route などには、最大 10 分間 Event を出さない"
        )
    };
    with_tail(note, limit)
}

/// Adds the number of aggregated Events to a note.
pub(super) fn with_aggregated(language: Language, note: &str, aggregated: u32) -> String {
    match aggregated {
        0 => note.to_owned(),
        1 => with_tail(
            note,
            phrase!(language, "1 further Event of a pod is combined in this one", "Pod の Event 1 件をこれにまとめた"),
        ),
        _ => with_tail(
            note,
            &translate!(
                language,
                "{aggregated} further Events of pods are combined in this one",
                "Pod の Event {aggregated} 件をこれにまとめた",
                aggregated
            ),
        ),
    }
}

/// Adds the known impact of the root to a note.
pub(super) fn with_reach(language: Language, note: &str, reach: Option<&RootReach>) -> String {
    let Some(reach) = reach.filter(|reach| reach.workloads > 1) else { return note.to_owned() };
    let pods = match reach.pods {
        0 => String::new(),
        1 => phrase!(language, "1 pod and ", "1 Pod と ").to_owned(),
        pods => translate!(language, "{pods} pods and ", "{pods} Pod と ", pods),
    };
    let spread = if reach.namespaces > 1 {
        translate!(language, " in {namespaces} namespaces", " ({namespaces} namespace)", namespaces = reach.namespaces)
    } else {
        String::new()
    };
    let Root { kind, name } = &reach.root;
    let name = text::cut_bytes(name, NOTE_MAX / 4);
    with_tail(
        note,
        &translate!(
            language,
            "{pods}{workloads} workloads{spread} fail because of {kind} {name} so far",
            "これまでに {pods}{workloads} ワークロード{spread}が {kind} {name} のため失敗",
            pods,
            workloads = reach.workloads,
            spread,
            kind,
            name
        ),
    )
}

/// Adds to the note of a workload how often it has failed with this cause, and what ended that.
pub(super) fn with_recurrence(note: &str, recurrence: Option<&str>) -> String {
    recurrence.map_or_else(|| note.to_owned(), |recurrence| with_tail(note, recurrence))
}

/// Appends a sentence to a note, cutting the note if necessary.
fn with_tail(note: &str, tail: &str) -> String {
    let kept = text::cut_bytes(note, NOTE_MAX.saturating_sub(tail.len() + 2));
    format!("{}. {tail}", without_stop(&kept))
}

/// The sentence without its final period.
fn without_stop(sentence: &str) -> &str {
    sentence.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(sentence)
}

/// The name of an Event: the cut name of its object and a hash.
pub(super) fn event_name(namespace: &str, about: &str, hash: &str) -> ObjectKey {
    const NAME_KEPT: usize = 200;
    let about: String = about.chars().take(NAME_KEPT).collect();
    ObjectKey::new(namespace, format!("{}.{hash}", about.trim_end_matches(['.', '-'])))
}
