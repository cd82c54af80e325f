//! What changes in an Active diagnosis, and what does not deserve a write.
//!
//! Cause, container and highest severity are latched: between two crashes a pod looks well and its diagnosis stays. A
//! better answer replaces a vaguer one; two causes that alternate are each told once.

use super::compose::{self, Transition};
use super::{Plan, Policy, Record};
use crate::api::{PodDiagnosisStatus, Severity};
use crate::diagnosis::{Case, Category, Diagnosis, Language, Recovery, Rule, Specificity, node, rules, top_workload};
use crate::facts::{Timestamp, after};

/// How long the first impact may wait for all that was asked for, in seconds, so that it is written once.
const IMPACT_WITHIN: i64 = 10;
/// A run that lasts this long is told of before it ends, in seconds; a shorter one with the failure that ends it, so
/// that count and summary agree.
const LASTING_RUN: i64 = 60;
/// How long the word under STATUS may differ from the written one, in seconds. The pull error between two tries of the
/// kubelet lasts 10 to 15.
const OTHER_STATUS: i64 = 20;
/// The same for a word that was written since the last restart already: words that take turns are not followed.
const STATUS_AGAIN: i64 = 120;
/// So many runs in a row that ended of another cause are no exception any more.
const SETTLED_RUNS: usize = 3;

/// The pod fails, and did so already.
pub(super) fn still_failing(
    record: &Record,
    case: &Case<'_>,
    diagnosis: &Diagnosis,
    told_lately: bool,
    policy: &Policy,
) -> Plan {
    let same = record.is_same_failure(diagnosis);
    let node_is_well = is_of_node(&record.status.cause) && !is_of_node(diagnosis.cause) && !has_incident(case);
    let is_latched = !same && !node_is_well && !is_better(record, case, diagnosis);
    let severity = match case.pod.deletion {
        // On its way out it is not ready for that alone.
        Some(_) if diagnosis.category != Category::Lifecycle => record.status.severity,
        _ => record.status.severity.min(diagnosis.severity),
    };
    let is_transition = severity < record.status.severity || (!same && !is_latched);
    if !is_transition && is_latched {
        return between_failures(record, case, policy);
    }
    let number = record.status.transition + u32::from(is_transition);
    // Where its beginning was no news, neither is what the last time ended with.
    let was_told = record.told.contains(&cause_and_container(diagnosis));
    let is_news = (record.status.announced || !told_lately) && (same || !was_told);
    let announce = is_transition && !diagnosis.quiet && is_news;
    let transition = Transition { number, announce };
    if is_latched {
        return Plan::write(compose::worsened(record, case, severity, transition));
    }
    let write = compose::changed(record, case, diagnosis, severity, transition, is_transition);
    if is_transition {
        return Plan::write(write);
    }
    match when_due(record, &write.status, case, policy) {
        Some(due) if due <= case.now => Plan::write(write),
        Some(due) => Plan::wake(due),
        None => Plan::default(),
    }
}

/// The pod looks well, or fails in a way that was told before: only the restarts may be news.
pub(super) fn between_failures(record: &Record, case: &Case<'_>, policy: &Policy) -> Plan {
    let write = compose::with_restarts(record, case);
    let due = if restarts(&write.status) == restarts(&record.status) {
        match status_due(record, &write.status, case, policy) {
            Some(due) => due,
            None => return Plan::default(),
        }
    } else {
        let lasting = after(case.observed.situation_since, LASTING_RUN);
        after(record.written_at, restart_interval(&write.status, policy)).max(lasting)
    };
    if due <= case.now { Plan::write(write) } else { Plan::wake(due) }
}

fn restarts(status: &PodDiagnosisStatus) -> u32 {
    status.restarts.as_ref().map_or(0, |r| r.count)
}

fn restart_interval(status: &PodDiagnosisStatus, policy: &Policy) -> i64 {
    if restarts(status) > policy.busy_restarts { policy.busy_interval } else { 0 }
}

/// When the word under STATUS deserves a write of its own: once it has differed from the written one for long enough,
/// whatever other words it took meanwhile. `None`: it is the written one.
fn status_due(record: &Record, new: &PodDiagnosisStatus, case: &Case<'_>, policy: &Policy) -> Option<Timestamp> {
    let written = &record.status.pod_status;
    if new.pod_status == *written {
        return None;
    }
    let stood = case.status_before.iter().find(|(word, _)| compose::shown_word(word) == *written);
    let differs_since = stood.map_or(case.observed.first, |(_, until)| *until);
    let patience = match restart_interval(new, policy) {
        // No word of a settled loop stays for so long: it is followed with the restarts, which are written as seldom.
        busy if busy > 0 => busy,
        _ if record.shown.has_word_of(new) => STATUS_AGAIN,
        // Most that get well stay so, which is written anyhow.
        _ if case.pod.is_ready() => LASTING_RUN,
        _ => OTHER_STATUS,
    };
    Some(after(differs_since, patience))
}

/// When what is new deserves a write that is no transition. `None`: nothing is new.
fn when_due(record: &Record, new: &PodDiagnosisStatus, case: &Case<'_>, policy: &Policy) -> Option<Timestamp> {
    let old = &record.status;
    let busy = restart_interval(new, policy);
    if restarts(new) != restarts(old) || record.summary_is_behind {
        return Some(after(record.written_at, busy));
    }
    // Whoever reads it is to read one language.
    if Language::of_text(&new.summary) != Language::of_text(&old.summary) {
        return Some(after(record.written_at, policy.minor_interval.max(busy)));
    }
    let suffers = |s: &PodDiagnosisStatus| s.impact.clone().map(|i| (i.healthy_containers, i.services, i.workload));
    let is_first =
        |s: &PodDiagnosisStatus| s.impact.as_ref().is_none_or(|i| i.workload.is_none() && i.services.is_empty());
    // The first write may hold the Services already, where another pod of the namespace had just asked for them.
    let workload = |s: &PodDiagnosisStatus| s.impact.as_ref().is_some_and(|i| i.workload.is_some());
    if is_first(old) && !is_first(new) || !workload(old) && workload(new) {
        // The first impact follows the first write at once, and whole.
        let began = old.last_transition.unwrap_or(record.written_at);
        return Some(if all_answered(case) { case.now } else { after(began, IMPACT_WITHIN) });
    }
    let impact = (suffers(new) != suffers(old)).then(|| after(record.written_at, policy.impact_interval.max(busy)));
    // After a restart the workload is not known at once, and with it what can be done.
    let has_another_remedy = || all_answered(case) && !record.shown.has_remedy_of(new);
    let is_better_told = new.confidence < old.confidence || !record.shown.has_all_of(new) || has_another_remedy();
    let better = is_better_told.then(|| after(record.written_at, policy.minor_interval.max(busy)));
    impact.into_iter().chain(better).chain(status_due(record, new, case, policy)).min()
}

/// Whether everything around the pod that can be looked up has been.
fn all_answered(case: &Case<'_>) -> bool {
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

/// Whether the pod's node is in trouble now. A node that is Ready, be it between two outages, explains nothing any more:
/// whatever keeps the pod down from then on is its own.
fn has_incident(case: &Case<'_>) -> bool {
    case.node.is_some_and(|state| node::is_down(state, case.thresholds, case.now))
}

/// Whether the latched cause kept the container from running, and it has run since: what ails it now is another matter.
fn is_overcome(record: &Record, old: &Rule, diagnosis: &Diagnosis) -> bool {
    let concerns_it =
        record.status.container.is_none() || record.status.container.as_deref() == diagnosis.container.as_deref();
    let has_run = diagnosis.container.is_some()
        && matches!(diagnosis.category, Category::Crash | Category::Probe | Category::Lifecycle);
    old.recovery == Recovery::NeverStarted && concerns_it && has_run
}

/// Whether the runs of the container ended of the new cause for long enough that it is no exception: what the first one
/// ended of is history then, however well that was told.
fn has_settled(case: &Case<'_>, diagnosis: &Diagnosis) -> bool {
    let Some(container) = diagnosis.container.as_deref() else { return false };
    let mut causes = case.ledger.of(container).rev().filter_map(|run| run.cause.as_deref());
    (0..SETTLED_RUNS).all(|_| causes.next() == Some(diagnosis.cause))
}

/// Whether another cause than the latched one takes over.
fn is_better(record: &Record, case: &Case<'_>, diagnosis: &Diagnosis) -> bool {
    // What was only noted gives way to any alarm, and takes over from none.
    match (record.status.severity, diagnosis.severity) {
        (Severity::Info, Severity::Critical | Severity::Warning) => return true,
        (Severity::Critical | Severity::Warning, Severity::Info) => return false,
        _ => {}
    }
    let old = rules::find(&record.status.cause);
    let new = rules::find(diagnosis.cause);
    let vagueness = |rule: Option<&Rule>| rule.map_or(Specificity::LastResort, |r| r.specificity);
    if vagueness(new) < vagueness(old) {
        return true;
    }
    // The old cause still holds beside the new one: it was there first.
    let still_holds = diagnosis
        .other_findings
        .iter()
        .any(|o| o.cause == record.status.cause && o.container == record.status.container);
    if !still_holds && old.is_some_and(|old| is_overcome(record, old, diagnosis)) {
        return true;
    }
    // The scheduler says what keeps the pod away now, and all of it: what it named before is over.
    let is_scheduling = |rule: Option<&Rule>| rule.is_some_and(|rule| rule.category == Category::Scheduling);
    if !still_holds && is_scheduling(old) && is_scheduling(new) {
        return vagueness(new) == vagueness(old);
    }
    if record.status.container.as_deref() == diagnosis.container.as_deref() && has_settled(case, diagnosis) {
        return true;
    }
    if record.told.contains(&cause_and_container(diagnosis)) {
        return false;
    }
    // Unless it is surer: a kill looks like nobody's until its Event comes.
    let is_surer = diagnosis.confidence < record.status.confidence;
    let is_as_sure = diagnosis.confidence == record.status.confidence;
    vagueness(new) == vagueness(old) && (is_surer || (is_as_sure && !still_holds))
}
