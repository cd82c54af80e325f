//! What changes in an Active diagnosis, and what does not deserve a write.
//!
//! Cause, container and highest severity are latched: between two crashes a pod looks well and its diagnosis stays. A
//! better answer replaces a vaguer one; two causes that alternate are each told once.

use super::compose::{self, Transition};
use super::{Plan, Policy, Record};
use crate::api::PodDiagnosisStatus;
use crate::diagnosis::{Case, Diagnosis, Rule, Specificity, rules};
use crate::facts::{Timestamp, after};

/// The pod fails, and did so already.
pub(super) fn still_failing(record: &Record, case: &Case<'_>, diagnosis: &Diagnosis, policy: &Policy) -> Plan {
    let same = record.is_same_failure(diagnosis);
    if !same && !is_better(record, diagnosis) {
        return between_failures(record, case, policy);
    }
    let severity = record.status.severity.min(diagnosis.severity);
    let is_transition = !same || severity < record.status.severity;
    let number = record.status.transition + u32::from(is_transition);
    let announce = is_transition && !diagnosis.quiet;
    let write = compose::changed(record, case, diagnosis, severity, Transition { number, announce }, is_transition);
    if is_transition {
        return Plan::write(write);
    }
    when_due(record, &write.status, policy, case.now).unwrap_or_else(|| Plan::write(write))
}

/// The pod looks well, or fails in a way that was told before: only the restarts may be news.
pub(super) fn between_failures(record: &Record, case: &Case<'_>, policy: &Policy) -> Plan {
    let write = compose::with_restarts(record, case);
    when_due(record, &write.status, policy, case.now).unwrap_or_else(|| Plan::write(write))
}

/// `None`: write now. Else there is nothing to write, or it can wait.
fn when_due(record: &Record, new: &PodDiagnosisStatus, policy: &Policy, now: Timestamp) -> Option<Plan> {
    let old = &record.status;
    let restarts = |s: &PodDiagnosisStatus| s.restarts.as_ref().map_or(0, |r| r.count);
    let interval = if restarts(new) != restarts(old) {
        if restarts(new) > policy.busy_restarts { policy.busy_interval } else { 0 }
    } else if new.impact != old.impact {
        // The first impact follows the first write at once; later ones come with what was looked up anew.
        if old.impact.as_ref().is_none_or(|i| i.workload.is_none() && i.services.is_empty()) {
            0
        } else {
            policy.minor_interval
        }
    } else if is_better_told(old, new) {
        policy.minor_interval
    } else {
        return Some(Plan::default());
    };
    let due = after(record.written_at, interval);
    (now < due).then(|| Plan::wake(due))
}

/// Whether a reader would learn something: other evidence, another side finding, more or less certainty.
fn is_better_told(old: &PodDiagnosisStatus, new: &PodDiagnosisStatus) -> bool {
    let sources = |s: &PodDiagnosisStatus| {
        let mut all: Vec<String> = s.evidence.iter().map(|e| e.source.clone()).collect();
        all.sort();
        all
    };
    let others = |s: &PodDiagnosisStatus| {
        s.other_findings.iter().map(|o| (o.cause.clone(), o.container.clone())).collect::<Vec<_>>()
    };
    old.confidence != new.confidence || sources(old) != sources(new) || others(old) != others(new)
}

/// Whether another cause than the latched one takes over.
fn is_better(record: &Record, diagnosis: &Diagnosis) -> bool {
    let old = rules::find(&record.status.cause);
    let new = rules::find(diagnosis.cause);
    let vagueness = |rule: Option<&Rule>| rule.map_or(Specificity::LastResort, |r| r.specificity);
    if vagueness(new) < vagueness(old) {
        return true;
    }
    let told = (diagnosis.cause.to_owned(), diagnosis.container.as_deref().map(str::to_owned));
    if record.told.contains(&told) {
        return false;
    }
    // The old cause still holds beside the new one: it was there first.
    let still_holds = diagnosis
        .other_findings
        .iter()
        .any(|o| o.cause == record.status.cause && o.container == record.status.container);
    vagueness(new) == vagueness(old) && !still_holds && diagnosis.confidence <= record.status.confidence
}
