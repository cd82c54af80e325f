//! Objects that are diagnosed by their own status, such as custom resources.
//!
//! The cause is that of the failing pods below the object, or else what its status and the status of the objects that it
//! controls show. An object whose status shows no failure is healthy, whatever its pods do, unless a rule of a user sees
//! one in its fields.

mod fields;
#[cfg(test)]
mod tests;

pub use self::fields::cause_of_fields;
use super::failure::{Own, Verdict, Why, build_failure};
use super::pods::Pods;
use crate::api::{Evidence, Severity};
use crate::case::{Specificity, WorkloadCase, WorkloadJudged, evidence as case_evidence};
use crate::facts::{Timestamp, WorkloadFacts, after};
use crate::language::translate;
use crate::rules::catalog;
use crate::signals::object::ObjectStatus;
use crate::signals::object::symptom::{Form, Health, Symptom, health, symptoms};
use crate::signals::{Context, Subject};

/// A failed run that ended longer ago, in seconds, is history: most kinds keep many of them.
const HISTORY: i64 = 86_400;
/// A part that failed longer before its object, in seconds, is not its cause, such as a request of last year.
const EARLIER: i64 = 600;

/// Whether a failing object below this one is no failure of its own: it is reported here, or this object does without it.
pub fn answers_for_its_parts(facts: &WorkloadFacts) -> bool {
    health(facts) != Health::Unknown
}

/// Whether failing pods below the object are its failure.
pub fn is_explained_by_pods(facts: &WorkloadFacts) -> bool {
    matches!(health(facts), Health::Failing | Health::Unknown)
}

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    if fields::are_outdated(case.workload) {
        return WorkloadJudged::stands();
    }
    let standing = health(case.workload);
    if is_history(case) {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    if matches!(standing, Health::Healthy | Health::Idle) {
        let found = fields::found(case, case.workload).into_iter().collect();
        return judge_found(case, &pods, found);
    }
    if let Some(group) = pods.dominant(|_| false) {
        let severity = group.lead.severity;
        let (problem, stands) = state_of(case);
        let verdict = Verdict::new(problem, severity, stands, Why::Pods(group));
        return WorkloadJudged::failing(build_failure(case, &pods, verdict));
    }
    // The parts of an object that shows no failure are reported on their own.
    let parts = if standing == Health::Failing { case.owned } else { &[] };
    let began =
        symptoms(case.workload).into_iter().filter(|of| of.form != Form::Detail).filter_map(|of| of.since).min();
    let is_earlier = |of: &Found<'_>| began.zip(of.symptom.since).is_some_and(|(began, of)| after(of, EARLIER) < began);
    let of_parts = parts.iter().flat_map(|of| in_status(case, of)).filter(|of| !is_earlier(of));
    let found = of_parts.chain(in_status(case, case.workload)).collect();
    judge_found(case, &pods, found)
}

/// The failure by the first symptom that counts now.
fn judge_found(case: &WorkloadCase<'_>, pods: &Pods<'_>, mut found: Vec<Found<'_>>) -> WorkloadJudged {
    // Of two symptoms of equal rank, the one with a message has the decisive detail.
    found.sort_by_key(|found| (found.precedence, found.lacks_message, found.symptom.form));
    let Some(first) = found.iter().find(|found| found.due <= case.now) else {
        return found.iter().map(|found| found.due).min().map_or_else(WorkloadJudged::default, WorkloadJudged::later);
    };
    let signal = ObjectStatus { case, object: first.object, symptom: first.symptom };
    let own = match first.symptom.form {
        Form::Fields => fields::own(case, &signal),
        _ => Own::of(case, &signal, evidence(case, &signal)),
    };
    let Some(own) = own else { return WorkloadJudged::default() };
    let gravest = symptoms(case.workload).first().map_or(first.symptom.form, |symptom| symptom.form);
    let problem = problem_of(gravest);
    let severity = own.severity.unwrap_or(Severity::Warning);
    let verdict = Verdict::new(problem, severity, String::new(), Why::Own(own));
    WorkloadJudged::failing(build_failure(case, pods, verdict))
}

fn is_history(case: &WorkloadCase<'_>) -> bool {
    let ended = case.workload.object().and_then(|own| own.ended);
    ended.is_some_and(|ended| after(ended, HISTORY) < case.now)
}

/// A symptom with a cause.
struct Found<'a> {
    object: &'a WorkloadFacts,
    symptom: Symptom<'a>,
    precedence: Specificity,
    lacks_message: bool,
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
        // Without any time it counts from our first sight of it. A snapshot never shows more than once.
        let first_seen = if case.thresholds.patient { None } else { object.created };
        let since = symptom.since.or(failing_since).or(first_seen).unwrap_or(case.since).min(case.now);
        let lacks_message = signal.short_message().is_empty();
        // What is reported already has lasted for its threshold, which a condition without a time does not show after a restart.
        let is_reported = case.current.is_some_and(|status| status.head.cause == cause.name());
        // A snapshot does not show how long a failure lasts, unless the controller is still at work.
        let is_lasting = symptom.form != Form::NotObserved && !signal.is_in_progress();
        let counts = is_reported || is_lasting && case.thresholds.counts_at_once(cause.name());
        let due = if counts { case.now } else { after(since, seconds) };
        Some(Found { object, symptom, precedence: cause.precedence(), lacks_message, due })
    });
    found.chain(fields::found(case, object)).collect()
}

/// The part of the status that shows the cause, and the last Event; if it is that of a part, also that of the object.
fn evidence(case: &WorkloadCase<'_>, signal: &ObjectStatus<'_>) -> Vec<Evidence> {
    let mut evidence = vec![signal.evidence()];
    let degraded = signal.degraded();
    if signal.symptom.condition.is_none() && !degraded.is_empty() {
        evidence.push(case_evidence::field(signal.path("status.resources"), degraded));
    }
    evidence.extend(signal.last_event().map(case_evidence::event));
    if signal.object.key != case.workload.key {
        let own = symptoms(case.workload).into_iter().next();
        evidence.extend(own.map(|symptom| ObjectStatus { case, object: case.workload, symptom }.evidence()));
    }
    evidence
}

const fn problem_of(form: Form) -> &'static str {
    match form {
        Form::Stalled | Form::Failed | Form::Fields => "Failed",
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
