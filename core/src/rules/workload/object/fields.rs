//! Failures that a rule of a user sees in fields of an object, whatever its conditions and phase are.

use std::sync::Arc;

use super::super::failure::Own;
use super::Found;
use crate::api::Evidence;
use crate::case::{WorkloadCase, evidence};
use crate::facts::{Timestamp, WorkloadFacts, after};
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

/// Whether rules read fields that were not read of the object yet: its next version has them.
pub(super) fn are_outdated(object: &WorkloadFacts) -> bool {
    let Some(own) = object.object() else { return false };
    let catalog = catalog::current();
    let paths = catalog.fields().iter().find(|(kind, _)| own.is_of(kind)).map(|(_, paths)| paths);
    paths.is_some_and(|paths| !paths.is_empty() && !own.fields.as_ref().is_some_and(|fields| fields.has_read(paths)))
}

/// The occurrence of a cause over fields, if one applies.
pub(super) fn found<'a>(case: &'a WorkloadCase<'a>, object: &'a WorkloadFacts) -> Option<Found<'a>> {
    let signal = occurrence(case, object)?;
    let cause = cause(case, &signal)?;
    let context = Context::new(Subject::Workload(case), None, &signal);
    let seconds = case.thresholds.of(cause.name(), cause.threshold(case.thresholds, &context));
    let is_reported = case.current.is_some_and(|current| current.head.cause == cause.name());
    let counts = is_reported || case.thresholds.counts_at_once(cause.name());
    let due = match signal.symptom.since {
        Some(since) if !counts => after(since, seconds),
        // An object of a dump without times has been so for an unknown time.
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

/// Since when the cause applies. A dump does not show it, so there it is the creation of the object, if that is known.
fn since(case: &WorkloadCase<'_>, object: &WorkloadFacts) -> Option<Timestamp> {
    let is_own = object.key == case.workload.key;
    let since = if is_own { case.fields_since } else { object.created };
    since.map(|since| since.min(case.now))
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
