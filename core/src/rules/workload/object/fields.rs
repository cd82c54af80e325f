//! Failures that a rule of a user sees in fields of an object, whatever its conditions and phase are.

use std::sync::Arc;

use super::super::failure::Own;
use super::Found;
use crate::api::Evidence;
use crate::case::{WorkloadCase, evidence};
use crate::facts::{Timestamp, WorkloadFacts, after, seconds_between};
use crate::rules::catalog::{self, Cause};
use crate::signals::object::ObjectStatus;
use crate::signals::object::symptom::{Form, Symptom};
use crate::signals::{Context, Subject};

/// Most fields among the evidence.
const SHOWN: usize = 5;
/// Most characters of a field among the evidence.
const VALUE_MAX: usize = 140;

/// The name of the cause whose condition over fields of the object applies.
pub fn cause_of_fields(case: &WorkloadCase<'_>) -> Option<&'static str> {
    cause(case, &occurrence(case, case.workload)?).map(|cause| cause.name())
}

/// The occurrence of a cause over fields, if one applies.
pub(super) fn found<'a>(case: &'a WorkloadCase<'a>, object: &'a WorkloadFacts) -> Option<Found<'a>> {
    let signal = occurrence(case, object)?;
    let cause = cause(case, &signal)?;
    let context = Context::new(Subject::Workload(case), None, &signal);
    let seconds = case.thresholds.of(cause.name(), cause.threshold(case.thresholds, &context));
    let is_reported = case.current.is_some_and(|current| current.head.cause == cause.name());
    let due = match signal.symptom.since {
        Some(since) if !is_reported => after(since, seconds),
        // In a dump, an object without times has been so for as long as anyone knows.
        _ => case.now,
    };
    let precedence = cause.precedence();
    Some(Found { object, symptom: signal.symptom, precedence, lacks_message: signal.short_message().is_empty(), due })
}

/// The failure by the cause over fields.
pub(super) fn own(case: &WorkloadCase<'_>, signal: &ObjectStatus<'_>) -> Option<Box<Own>> {
    let cause = cause(case, signal)?;
    let context = Context::new(Subject::Workload(case), None, signal);
    Some(Own::by(&cause, case, &context, evidence_of(&cause, signal)))
}

fn cause(case: &WorkloadCase<'_>, signal: &ObjectStatus<'_>) -> Option<Arc<Cause>> {
    catalog::first_of_fields(&Context::new(Subject::Workload(case), None, signal))
}

fn occurrence<'a>(case: &'a WorkloadCase<'a>, object: &'a WorkloadFacts) -> Option<ObjectStatus<'a>> {
    object.object()?.fields.as_ref()?;
    let since = since(case, object);
    Some(ObjectStatus { case, object, symptom: Symptom { form: Form::Fields, condition: None, since } })
}

/// Since when the cause applies. A snapshot does not show it, so there it is the creation of the object.
fn since(case: &WorkloadCase<'_>, object: &WorkloadFacts) -> Option<Timestamp> {
    if !case.thresholds.patient {
        return object.created;
    }
    let is_own = object.key == case.workload.key;
    case.fields_since.filter(|_| is_own).or(Some(case.since)).filter(|since| seconds_between(*since, case.now) >= 0)
}

/// The fields that the conditions of the cause read.
fn evidence_of(cause: &Cause, signal: &ObjectStatus<'_>) -> Vec<Evidence> {
    let fields = signal.object.object().and_then(|own| own.fields.as_ref());
    let read = cause.fields_of_conditions().into_iter().filter_map(|path| Some((path, fields?.get(path)?)));
    let evidence = read.take(SHOWN).map(|(path, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = crate::message::text::line(&value, VALUE_MAX);
        evidence::field_at(signal.path(path), value, signal.symptom.since)
    });
    evidence.chain(signal.last_event().map(evidence::event)).collect()
}
