//! Objects that are diagnosed by their own status, such as custom resources.
//!
//! The cause is that of the failing pods below the object, or else what its status and the status of the objects that it
//! controls show. An object whose status shows no failure is healthy, whatever its pods do.

#[cfg(test)]
mod tests;

use super::failure::{Own, Verdict, Why, build_failure};
use super::pods::Pods;
use crate::api::{Evidence, Severity};
use crate::case::{Specificity, WorkloadCase, WorkloadJudged};
use crate::facts::{Timestamp, WorkloadFacts, after};
use crate::language::translate;
use crate::rules::catalog;
use crate::signals::object::ObjectStatus;
use crate::signals::object::symptom::{Form, Health, Symptom, health, symptoms};
use crate::signals::{Context, Subject};

/// Whether the status of the object shows a failure, however short. What it controls is then reported with it.
pub fn is_failing_object(facts: &WorkloadFacts) -> bool {
    health(facts) == Health::Failing
}

/// Whether failing pods below the object are its failure.
pub fn is_explained_by_pods(facts: &WorkloadFacts) -> bool {
    matches!(health(facts), Health::Failing | Health::Unknown)
}

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let standing = health(case.workload);
    if matches!(standing, Health::Healthy | Health::Idle) {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    if let Some(group) = pods.dominant(|_| false) {
        let severity = group.lead.severity;
        let (problem, stands) = state_of(case);
        let verdict = Verdict::new(problem, severity, stands, Why::Pods(group));
        return WorkloadJudged::failing(build_failure(case, &pods, verdict));
    }
    // A part is reported on its own if nothing shows that the object suffers from it.
    let parts = if standing == Health::Failing { case.owned } else { &[] };
    let mut found: Vec<Found<'_>> = parts.iter().chain([case.workload]).flat_map(|of| in_status(case, of)).collect();
    found.sort_by_key(|found| (found.precedence, found.symptom.form));
    let Some(first) = found.iter().find(|found| found.due <= case.now) else {
        return found.iter().map(|found| found.due).min().map_or_else(WorkloadJudged::default, WorkloadJudged::later);
    };
    let signal = ObjectStatus { case, object: first.object, symptom: first.symptom };
    let evidence = evidence(case, &signal);
    let Some(own) = Own::of(case, &signal, evidence) else { return WorkloadJudged::default() };
    let problem = problem_of(first.symptom.form);
    let verdict = Verdict::new(problem, Severity::Warning, String::new(), Why::Own(own));
    WorkloadJudged::failing(build_failure(case, &pods, verdict))
}

/// A symptom with a cause.
struct Found<'a> {
    object: &'a WorkloadFacts,
    symptom: Symptom<'a>,
    precedence: Specificity,
    /// When it counts.
    due: Timestamp,
}

/// The symptoms of an object that a cause explains.
fn in_status<'a>(case: &'a WorkloadCase<'a>, object: &'a WorkloadFacts) -> Vec<Found<'a>> {
    let all = symptoms(object);
    // A detail without a time lasts as long as the failure that it explains.
    let failing_since = all.iter().find(|symptom| symptom.form != Form::Detail).and_then(|symptom| symptom.since);
    let found = all.into_iter().filter_map(|symptom| {
        let signal = ObjectStatus { case, object, symptom };
        let context = Context::new(Subject::Workload(case), None, &signal);
        let (_, cause) = catalog::first(&context)?;
        let seconds = case.thresholds.of(cause.name(), cause.threshold(case.thresholds, &context));
        // Without any time it counts from our first sight of it.
        let since = symptom.since.or(failing_since).unwrap_or(case.since).min(case.now);
        Some(Found { object, symptom, precedence: cause.precedence(), due: after(since, seconds) })
    });
    found.collect()
}

/// The part of the status that shows the cause; if it is that of a part, also that of the object.
fn evidence(case: &WorkloadCase<'_>, signal: &ObjectStatus<'_>) -> Vec<Evidence> {
    let mut evidence = vec![signal.evidence()];
    if signal.object.key != case.workload.key {
        let own = symptoms(case.workload).into_iter().next();
        evidence.extend(own.map(|symptom| ObjectStatus { case, object: case.workload, symptom }.evidence()));
    }
    evidence
}

const fn problem_of(form: Form) -> &'static str {
    match form {
        Form::Stalled | Form::Failed => "Failed",
        Form::NotReady | Form::Detail => "NotReady",
        Form::NotObserved => "NotObserved",
    }
}

/// The problem of an object whose pods fail, and its state as its status shows it.
fn state_of(case: &WorkloadCase<'_>) -> (&'static str, String) {
    let phase = case.workload.object().map_or("", |own| own.phase.as_str());
    let Some(symptom) = symptoms(case.workload).into_iter().next() else {
        return ("PartlyFailing", String::new());
    };
    let problem = problem_of(symptom.form);
    match symptom.condition {
        Some(condition) => {
            let (kind, status) = (&condition.kind, &condition.status);
            (problem, translate!(case, "{kind} is {status}", "{kind} が {status}", kind, status))
        }
        None if !phase.is_empty() && symptom.form != Form::NotObserved => {
            (problem, translate!(case, "its phase is {phase}", "phase が {phase}", phase))
        }
        None => (problem, String::new()),
    }
}
