//! Builds the specs and statuses of pod diagnoses.

use super::transition::{self, Change};
use super::{Composition, DiagnosisKey, Object, PodRecord, Write};
use crate::api::{DiagnosisState, Head, Impact, PodDiagnosisSpec, PodDiagnosisStatus, Severity, WorkloadRef};
use crate::case::{Case, Diagnosis, Summary, pod_status};
use crate::facts::{Timestamp, WorkloadKey};
use crate::message::text;
use crate::signals::restarts;

/// Builds the object for a new failure.
pub(super) fn diagnosed(
    last: Option<PodRecord<'_>>,
    case: &Case<'_>,
    diagnosis: &Diagnosis,
    announce: bool,
    first_seen: Timestamp,
    repeats: u32,
) -> Write {
    let mut status = status_of(case, diagnosis, diagnosis.severity);
    status.head.first_seen = Some(first_seen);
    status.repeats = repeats;
    let spec = spec_of(case, diagnosis.workload.as_ref());
    let key = DiagnosisKey::of_pod(case.pod.key.clone());
    let last = last.map(|last| last.record);
    transition::write(
        last,
        key,
        (Object::Pod(spec, status), composition_of(case, diagnosis)),
        Change::Transition { announce },
        (case.language(), case.now),
    )
}

/// Builds the object for a changed diagnosis of the same episode.
pub(super) fn changed(
    record: PodRecord<'_>,
    case: &Case<'_>,
    diagnosis: &Diagnosis,
    severity: Severity,
    change: Change,
) -> Write {
    let mut status = status_of(case, diagnosis, severity);
    let mut composition = composition_of(case, diagnosis);
    if change == Change::None && !record.record.has_newer_rule(diagnosis.cause) && has_more_details(record, diagnosis) {
        keep_texts(record, &mut status, &mut composition, case);
    }
    status.head.first_seen = record.status.head.first_seen;
    status.repeats = record.status.repeats;
    status.head.announced = record.status.head.announced;
    status.head.transition = record.status.head.transition;
    status.head.last_transition = record.status.head.last_transition;
    status.impact = Some(keep_known(status.impact.take(), record.status.impact.as_ref(), case));
    let spec = spec_of(case, diagnosis.workload.as_ref());
    again(record, spec, (status, composition), change, case)
}

/// Whether the former summary is the same with an added reason. The kubelet drops the message of a failed hook once it
/// backs off.
fn has_more_details(old: PodRecord<'_>, new: &Diagnosis) -> bool {
    let (statement, detail) = old.record.composition.summary.statement_and_detail(&old.status.head.summary);
    old.record.is_same_failure(new)
        && new.summary.parts.statement_and_detail(new.summary.text()) == (statement, "")
        && !detail.is_empty()
        && old.status.head.confidence <= new.confidence
}

fn keep_texts(old: PodRecord<'_>, new: &mut PodDiagnosisStatus, composition: &mut Composition, case: &Case<'_>) {
    new.head.confidence = old.status.head.confidence;
    new.head.remedies.clone_from(&old.status.head.remedies);
    new.head.evidence.clone_from(&old.status.head.evidence);
    new.head.summary.clone_from(&old.status.head.summary);
    composition.clone_from(&old.record.composition);
    count_restarts(new, composition, case);
}

/// Builds the recorded object with updated restarts.
pub(super) fn with_restarts(record: PodRecord<'_>, case: &Case<'_>) -> Write {
    again(record, record.spec.clone(), brought_up_to_date(record, case), Change::None, case)
}

/// Builds the recorded object with a higher severity.
pub(super) fn worsened(record: PodRecord<'_>, case: &Case<'_>, severity: Severity, announce: bool) -> Write {
    let (mut status, composition) = brought_up_to_date(record, case);
    status.head.severity = severity;
    again(record, record.spec.clone(), (status, composition), Change::Transition { announce }, case)
}

fn brought_up_to_date(record: PodRecord<'_>, case: &Case<'_>) -> (PodDiagnosisStatus, Composition) {
    let (mut status, mut composition) = (record.status.clone(), record.record.composition.clone());
    if let Some(restarts) = restarts::of(case, status.container.as_deref()) {
        // The full history is available again, so the number of cut entries is recounted.
        let kept = status.restarts.as_ref().map_or(0, |r| r.history.len());
        let cut = u32::try_from(restarts.history.len().saturating_sub(kept)).unwrap_or(u32::MAX);
        status.head.truncated = status.head.truncated.saturating_sub(cut);
        status.restarts = Some(restarts);
        count_restarts(&mut status, &mut composition, case);
    }
    status.pod_status = shown_status(case);
    (status, composition)
}

/// Updates the restart count at the end of the summary.
fn count_restarts(status: &mut PodDiagnosisStatus, composition: &mut Composition, case: &Case<'_>) {
    let summary = &status.head.summary;
    let is_counted = composition.summary.has_counts(summary) && composition.language == case.language();
    let culprit = status.container.as_deref().and_then(|name| case.pod.container(name));
    if let Some(culprit) = culprit.filter(|_| is_counted) {
        let (statement, detail) = composition.summary.statement_and_detail(summary);
        let counted = Summary::new(statement, detail, &restarts::tail(case, culprit));
        composition.summary = counted.parts;
        status.head.summary = counted.into_text();
    }
}

/// The STATUS column of kubectl, cut to the length of a summary.
fn shown_status(case: &Case<'_>) -> String {
    cut_status(&pod_status(case.pod))
}

pub(super) fn cut_status(status: &str) -> String {
    text::line(status, text::SUMMARY_MAX)
}

pub(super) fn recovered(record: PodRecord<'_>, case: &Case<'_>) -> Write {
    let (mut status, composition) = brought_up_to_date(record, case);
    status.head.state = DiagnosisState::Recovered;
    if let Some(impact) = &mut status.impact {
        impact.pod_ready = case.pod.is_ready();
    }
    // If the start was not announced (a retry of a Job, a pod of a failed node), neither is the end. The same applies
    // if the workload continues to lose pods and this one is merely too old to count.
    let goes_on = case.pod.is_over() && case.surroundings.siblings.are_thrown_out_again_and_again();
    let announce = record.status.head.announced && !goes_on;
    again(record, record.spec.clone(), (status, composition), Change::Transition { announce }, case)
}

/// A write of a recorded object with another spec or status.
fn again(
    record: PodRecord<'_>,
    spec: PodDiagnosisSpec,
    (status, composition): (PodDiagnosisStatus, Composition),
    change: Change,
    case: &Case<'_>,
) -> Write {
    let planned = (Object::Pod(spec, status), composition);
    transition::write(Some(record.record), record.record.key.clone(), planned, change, (case.language(), case.now))
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

fn composition_of(case: &Case<'_>, diagnosis: &Diagnosis) -> Composition {
    let operations = diagnosis.remedies.iter().map(|remedy| remedy.operation).collect();
    Composition { language: case.language(), summary: diagnosis.summary.parts, operations, exceeded: String::new() }
}

fn status_of(case: &Case<'_>, diagnosis: &Diagnosis, severity: Severity) -> PodDiagnosisStatus {
    let (cause, category) = (diagnosis.cause, diagnosis.category.as_str());
    let head = Head::active(cause, category, severity, diagnosis.confidence, diagnosis.summary.text().to_owned());
    let remedies = diagnosis.remedies.iter().cloned().map(Into::into).collect();
    PodDiagnosisStatus {
        head: Head { remedies, evidence: diagnosis.evidence.clone(), ..head },
        container: diagnosis.container.as_deref().map(str::to_owned),
        container_type: diagnosis.container_type,
        pod_status: shown_status(case),
        other_findings: diagnosis.other_findings.clone(),
        root: diagnosis.root.clone(),
        restarts: Some(restarts::of(case, diagnosis.container.as_deref()).unwrap_or_default()),
        impact: Some(diagnosis.impact.clone()),
        repeats: 0,
    }
}

/// Keeps the known impact if it is not looked up at the moment.
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
