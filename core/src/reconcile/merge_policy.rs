//! Merge policy: which changes of an Active diagnosis are written.
//!
//! Cause, container and highest severity are kept: a pod looks healthy between two crashes, and its diagnosis stays. A
//! more specific cause replaces a vaguer one. Two alternating causes are announced once each.

use super::transition::Change;
use super::{Plan, PodRecord, Policy, compose};
use crate::api::{PodDiagnosisStatus, Severity};
use crate::case::{Case, Category, Diagnosis, Recovery, Specificity, top_workload};
use crate::facts::{Timestamp, after};
use crate::rules;
use crate::rules::{Rule, node};

/// How long the first impact waits for all its lookups, in seconds, so that it is written once.
const IMPACT_WITHIN: i64 = 10;
/// A container that runs this long has its restart written before it terminates, in seconds. A shorter run is written
/// with its failure, so that count and summary agree.
const LASTING_RUN: i64 = 60;
/// How long the STATUS column may differ from the written one, in seconds. The pull error between two attempts of the
/// kubelet lasts 10 to 15.
const OTHER_STATUS: i64 = 20;
/// The same for a STATUS that was already written since the last restart, so that alternating values are not followed.
const STATUS_AGAIN: i64 = 120;
/// After this many terminations in a row with another cause, that cause replaces the recorded one.
const SETTLED_RUNS: usize = 3;

/// Plans for a pod that still fails.
pub(super) fn still_failing(
    record: PodRecord<'_>,
    case: &Case<'_>,
    diagnosis: &Diagnosis,
    ended_recently: bool,
    policy: &Policy,
) -> Plan {
    let same = record.record.is_same_failure(diagnosis);
    let is_node_healthy = is_of_node(&record.status.head.cause) && !is_of_node(diagnosis.cause) && !has_incident(case);
    let is_newer = record.record.has_newer_rule(diagnosis.cause);
    let keeps_cause = !same && !is_node_healthy && !is_newer && !is_better(record, case, diagnosis);
    let severity = match case.pod.deletion {
        // A pod that is being deleted is not ready for that reason alone.
        Some(_) if diagnosis.category != Category::Lifecycle => record.status.head.severity,
        _ if is_newer => diagnosis.severity,
        _ => record.status.head.severity.min(diagnosis.severity),
    };
    let is_transition = severity < record.status.head.severity || (!same && !keeps_cause);
    if !is_transition && keeps_cause {
        return between_failures(record, case, policy);
    }
    // If the start of the failure was not announced, its last cause is not announced either.
    let was_reported = record.record.causes.contains(&cause_and_container(diagnosis));
    let is_news = (record.status.head.announced || !ended_recently) && (same || !was_reported);
    let announce = is_transition && !diagnosis.quiet && is_news;
    if keeps_cause {
        return Plan::write(compose::worsened(record, case, severity, announce));
    }
    let change = if is_transition { Change::Transition { announce } } else { Change::None };
    let write = compose::changed(record, case, diagnosis, severity, change);
    let Some(status) = write.object.pod_status().filter(|_| !is_transition) else { return Plan::write(write) };
    match when_due(record, status, case, policy) {
        Some(due) if due <= case.now => Plan::write(write),
        Some(due) => Plan::wake(due),
        None => Plan::default(),
    }
}

/// Plans for a pod that looks healthy, or fails with an already announced cause. Only the restarts may have changed.
pub(super) fn between_failures(record: PodRecord<'_>, case: &Case<'_>, policy: &Policy) -> Plan {
    let write = compose::with_restarts(record, case);
    let Some(status) = write.object.pod_status() else { return Plan::default() };
    let due = if restarts(status) == restarts(record.status) {
        match status_due(record, status, case, policy) {
            Some(due) => due,
            None => return Plan::default(),
        }
    } else {
        let lasting = after(case.observed.situation_since, LASTING_RUN);
        after(record.record.written_at, restart_interval(status, policy)).max(lasting)
    };
    if due <= case.now { Plan::write(write) } else { Plan::wake(due) }
}

fn restarts(status: &PodDiagnosisStatus) -> u32 {
    status.restarts.as_ref().map_or(0, |r| r.count)
}

fn restart_interval(status: &PodDiagnosisStatus, policy: &Policy) -> i64 {
    if restarts(status) > policy.busy_restarts { policy.busy_interval } else { 0 }
}

/// When a changed STATUS column is written: once it has differed from the written one for long enough, whatever its
/// values in between. `None` if it is unchanged.
fn status_due(record: PodRecord<'_>, new: &PodDiagnosisStatus, case: &Case<'_>, policy: &Policy) -> Option<Timestamp> {
    let written = &record.status.pod_status;
    if new.pod_status == *written {
        return None;
    }
    let stood = case.status_before.iter().find(|(status, _)| compose::cut_status(status) == *written);
    let differs_since = stood.map_or(case.observed.first, |(_, until)| *until);
    let delay = match restart_interval(new, policy) {
        // In a settled crash loop no STATUS lasts this long. It is written along with the restarts, as rarely.
        busy if busy > 0 => busy,
        _ if record.record.shown.has_status_of(new) => STATUS_AGAIN,
        // Most pods that become ready stay so, and their recovery is written anyway.
        _ if case.pod.is_ready() => LASTING_RUN,
        _ => OTHER_STATUS,
    };
    Some(after(differs_since, delay))
}

/// When a change that is no transition is written. `None` if nothing changed.
fn when_due(record: PodRecord<'_>, new: &PodDiagnosisStatus, case: &Case<'_>, policy: &Policy) -> Option<Timestamp> {
    let old = record.status;
    let busy = restart_interval(new, policy);
    if restarts(new) != restarts(old) || record.record.summary_is_behind {
        return Some(after(record.record.written_at, busy));
    }
    // All texts of an object should be in one language.
    if record.record.composition.language != case.language() {
        return Some(after(record.record.written_at, policy.minor_interval.max(busy)));
    }
    let (was, is) = (&old.head, &new.head);
    let differs = (was.severity, &was.summary, &was.remedies) != (is.severity, &is.summary, &is.remedies);
    if differs && record.record.has_newer_rule(&is.cause) {
        return Some(case.now);
    }
    let affected = |s: &PodDiagnosisStatus| s.impact.clone().map(|i| (i.healthy_containers, i.services, i.workload));
    let is_first =
        |s: &PodDiagnosisStatus| s.impact.as_ref().is_none_or(|i| i.workload.is_none() && i.services.is_empty());
    // The first write may include the Services already, if another pod of the namespace had just requested them.
    let workload = |s: &PodDiagnosisStatus| s.impact.as_ref().is_some_and(|i| i.workload.is_some());
    if is_first(old) && !is_first(new) || !workload(old) && workload(new) {
        // The first impact is written at once and completely.
        let began = old.head.last_transition.unwrap_or(record.record.written_at);
        return Some(if has_all_lookups(case) { case.now } else { after(began, IMPACT_WITHIN) });
    }
    let impact =
        (affected(new) != affected(old)).then(|| after(record.record.written_at, policy.impact_interval.max(busy)));
    // After a restart the workload is unknown at first, and so are the remedies that need it.
    let has_another_remedy = || has_all_lookups(case) && !record.record.shown.has_remedy_of(new);
    let is_improved =
        new.head.confidence < old.head.confidence || !record.record.shown.has_all_of(new) || has_another_remedy();
    let better = is_improved.then(|| after(record.record.written_at, policy.minor_interval.max(busy)));
    impact.into_iter().chain(better).chain(status_due(record, new, case, policy)).min()
}

/// Whether all lookups around the pod have a result.
fn has_all_lookups(case: &Case<'_>) -> bool {
    let around = case.surroundings;
    let top = top_workload(case.pod, around.known_job());
    around.services.is_some() && (around.workload.is_some() || !top.is_some_and(|top| top.is_known()))
}

fn cause_and_container(diagnosis: &Diagnosis) -> (String, Option<String>) {
    (diagnosis.cause.to_owned(), diagnosis.container.as_deref().map(str::to_owned))
}

fn is_of_node(cause: &str) -> bool {
    rules::find(cause).is_some_and(|rule| rule.category == Category::Node)
}

/// Whether the pod's node is down now. A node that is Ready, even between two outages, does not explain failures of its
/// pods.
fn has_incident(case: &Case<'_>) -> bool {
    case.node.is_some_and(|state| node::is_down(state, case.thresholds, case.now))
}

/// Whether the recorded cause kept the container from running and the container has run since, so that the new cause is
/// a separate failure.
fn is_overcome(record: PodRecord<'_>, old: Rule, diagnosis: &Diagnosis) -> bool {
    let concerns_it =
        record.status.container.is_none() || record.status.container.as_deref() == diagnosis.container.as_deref();
    let has_run = diagnosis.container.is_some()
        && matches!(diagnosis.category, Category::Crash | Category::Probe | Category::Lifecycle);
    old.recovery == Recovery::NeverStarted && concerns_it && has_run
}

/// Whether enough terminations in a row had the new cause to replace the recorded one, however specific that was.
fn has_settled(case: &Case<'_>, diagnosis: &Diagnosis) -> bool {
    let Some(container) = diagnosis.container.as_deref() else { return false };
    let mut causes = case.ledger.of(container).rev().filter_map(|run| run.cause.as_deref());
    (0..SETTLED_RUNS).all(|_| causes.next() == Some(diagnosis.cause))
}

/// Whether the new cause replaces the recorded one.
fn is_better(record: PodRecord<'_>, case: &Case<'_>, diagnosis: &Diagnosis) -> bool {
    // A finding of severity Info is replaced by any Warning or Critical one, and replaces none.
    match (record.status.head.severity, diagnosis.severity) {
        (Severity::Info, Severity::Critical | Severity::Warning) => return true,
        (Severity::Critical | Severity::Warning, Severity::Info) => return false,
        _ => {}
    }
    let old = rules::find(&record.status.head.cause);
    let new = rules::find(diagnosis.cause);
    let vagueness = |rule: Option<Rule>| rule.map_or(Specificity::LastResort, |r| r.specificity);
    if vagueness(new) < vagueness(old) {
        return true;
    }
    // The recorded cause still holds along with the new one, so it keeps precedence.
    let still_holds = diagnosis
        .other_findings
        .iter()
        .any(|o| o.cause == record.status.head.cause && o.container == record.status.container);
    if !still_holds && old.is_some_and(|old| is_overcome(record, old, diagnosis)) {
        return true;
    }
    // The scheduler reports all present reasons, so reasons that it no longer names are over.
    let is_scheduling = |rule: Option<Rule>| rule.is_some_and(|rule| rule.category == Category::Scheduling);
    if !still_holds && is_scheduling(old) && is_scheduling(new) {
        return vagueness(new) == vagueness(old);
    }
    if record.status.container.as_deref() == diagnosis.container.as_deref() && has_settled(case, diagnosis) {
        return true;
    }
    if record.record.causes.contains(&cause_and_container(diagnosis)) {
        return false;
    }
    // Unless the new cause is more certain: the sender of a kill is unknown until its Event arrives.
    let is_surer = diagnosis.confidence < record.status.head.confidence;
    let is_as_sure = diagnosis.confidence == record.status.head.confidence;
    vagueness(new) == vagueness(old) && (is_surer || (is_as_sure && !still_holds))
}
