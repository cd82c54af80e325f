//! The signal `object`.

pub(crate) mod symptom;

use std::borrow::Cow;

use self::symptom::{Form, Symptom, is_in_progress};
use super::signal;
use crate::api::Evidence;
use crate::case::{WorkloadCase, evidence};
use crate::facts::{EventFacts, ObjectFacts, WorkloadFacts, seconds_between};
use crate::message;

signal! {
    /// A condition or a phase of a custom resource that reports a failure: of the diagnosed object, or of an object that it
    /// controls. A rule with `match.kinds` reads each other field of the object as `resource`: `resource.spec.replicas`.
    /// Source: status.conditions, status.phase, status.observedGeneration.
    pub(crate) struct ObjectStatus<'a> as "object" {
        case: &'a WorkloadCase<'a>, object: &'a WorkloadFacts, symptom: Symptom<'a>,
    }
    reason: |of| of.condition_reason(), message: of.text(), object: of.own();

    /// Its kind. Source: kind.
    "kind": fn kind(&self) -> &str { &self.object.key.kind }

    /// Its API group. Source: apiVersion.
    "group": fn group(&self) -> &str { self.object.key.group() }

    /// Its name. Source: metadata.name.
    "name": fn name(&self) -> &str { &self.object.key.name }

    /// Kind and name, such as `Certificate web`, at most 80 characters.
    "display": fn display(&self) -> String {
        format!("{} {}", self.object.key.kind, message::name(&self.object.key.name, 60))
    }

    /// Its kind by plural and group, as `match.kinds` names it: `certificates.cert-manager.io`.
    "resource": fn resource(&self) -> &str { self.own().map_or("", |own| &own.resource) }

    /// As an argument of kubectl: `certificate.cert-manager.io/web`.
    "argument": fn argument(&self) -> String { argument(self.object) }

    /// What shows the failure: `stalled` (the controller has given up), `failed`, `notReady`, `notObserved` (the controller
    /// has not processed the newest generation), `detail` (a condition of another type that explains one of these), or
    /// `fields` (a rule compares fields of the object).
    "symptom": fn symptom(&self) -> &'static str { self.symptom.form.as_str() }

    /// Type of the condition that shows the failure; empty if the phase or the generation shows it.
    /// Source: status.conditions[].type.
    "condition": fn condition_type(&self) -> &str { self.symptom.condition.map_or("", |condition| &condition.kind) }

    /// Status of the condition. Source: status.conditions[].status.
    "status": fn condition_status(&self) -> &str { self.symptom.condition.map_or("", |condition| &condition.status) }

    /// Reason of the condition, or of the phase where that shows the failure.
    /// Source: status.conditions[].reason, status.reason, status.failureReason.
    "reason": fn condition_reason(&self) -> &str {
        match self.symptom.condition {
            Some(condition) => &condition.reason,
            // Some kinds have a sentence there, which is the message.
            None => Some(self.own().map_or("", |own| &own.reason)).filter(|reason| !reason.contains(' ')).unwrap_or(""),
        }
    }

    /// Message of the condition or the phase, at most 140 characters.
    /// Source: status.conditions[].message, status.message, status.failureMessage, status.reason.
    "message": fn short_message(&self) -> String { message::fit_error(&message::without_objects(&error_in(self.text())), 140) }

    /// Message of its newest Warning Event, at most 140 characters; empty if there is none. Source: Events.
    "event": fn event_message(&self) -> String {
        self.last_event().map(|event| message::fit_error(&message::without_objects(&event.message), 140)).unwrap_or_default()
    }

    /// Phase of the object. Source: status.phase, status.state, status.printableStatus, status.health.status.
    "phase": fn phase(&self) -> &str { self.own().map_or("", |own| &own.phase) }

    /// For an Argo CD Application: the objects that are Degraded, the first with its message, at most 140 characters:
    /// `Deployment web (exceeded its progress deadline), StatefulSet db and 2 more`.
    /// Source: status.resources[].health.
    "degraded": fn degraded(&self) -> String { message::fit(self.own().map_or("", |own| &own.degraded), 140) }

    /// For an Argo CD Application: `Synced`, `OutOfSync` or `Unknown`. Source: status.sync.status.
    "sync": fn sync(&self) -> &str { self.own().map_or("", |own| &own.sync) }

    /// For an Argo CD Application: phase of the last sync. Source: status.operationState.phase.
    "operation": fn operation(&self) -> &str { self.own().map_or("", |own| &own.operation) }

    /// Whether the controller is still at work, by the reason of the condition, the phase or its condition Reconciling.
    "isInProgress": fn is_in_progress(&self) -> bool {
        is_in_progress(self.condition_reason())
            || is_in_progress(self.phase())
            || self.object.condition_is_true("Reconciling")
    }

    /// The newest generation. Source: metadata.generation.
    "generation": fn generation(&self) -> i64 { self.object.generation }

    /// The generation that the controller has processed. Source: status.observedGeneration.
    "observedGeneration": fn observed_generation(&self) -> Option<i64> { self.object.observed_generation }

    /// Seconds since it fails; 0 where the status does not contain the time.
    /// Source: status.conditions[].lastTransitionTime.
    "seconds": fn seconds(&self) -> i64 { self.symptom.since.map_or(0, |since| seconds_between(since, self.case.now)) }
}

impl<'a> ObjectStatus<'a> {
    fn own(&self) -> Option<&'a ObjectFacts> {
        self.object.object()
    }

    /// The newest Warning Event about the object.
    pub(crate) fn last_event(&self) -> Option<&'a EventFacts> {
        let key = &self.object.key;
        let is_own = |event: &&EventFacts| event.regarding.kind == key.kind && event.regarding.name == key.name;
        self.case.events.iter().filter(is_own).max_by_key(|event| event.last)
    }

    fn text(&self) -> &'a str {
        let of_phase = || self.own().map_or("", |own| if own.message.is_empty() { &own.reason } else { &own.message });
        // Of Flux, only the other condition has the error of the last attempt.
        let of_attempt = self.object.conditions.iter().find(|of| of.kind == "Ready" && of.status == "False");
        match self.symptom.condition {
            Some(condition) if self.symptom.form == Form::Stalled => {
                of_attempt.filter(|of| !of.message.is_empty()).map_or(&condition.message, |of| &of.message)
            }
            Some(condition) => &condition.message,
            None if self.symptom.form == Form::NotObserved => "",
            None => of_phase(),
        }
    }

    /// The part of the status that shows the failure.
    pub(crate) fn evidence(&self) -> Evidence {
        let is_own = self.object.key == self.case.workload.key;
        match (self.symptom.condition, self.symptom.form) {
            (Some(condition), _) if is_own => evidence::condition(condition),
            (Some(condition), _) => evidence::object_condition(&argument(self.object), condition),
            (None, Form::NotObserved) => {
                let observed = self.object.observed_generation.unwrap_or(0);
                let value = format!("{observed}, and metadata.generation is {}", self.object.generation);
                evidence::field(self.path("status.observedGeneration"), value)
            }
            (None, _) => {
                let message = self.text();
                let value =
                    if message.is_empty() { self.phase().to_owned() } else { format!("{}: {message}", self.phase()) };
                evidence::field_at(self.path("status phase"), value, self.symptom.since)
            }
        }
    }

    /// The path of a field among the evidence. That of a part names the object.
    pub(crate) fn path(&self, field: &str) -> String {
        let is_own = self.object.key == self.case.workload.key;
        if is_own { field.to_owned() } else { format!("{}: {field}", argument(self.object)) }
    }
}

/// The error without the words of the controller around it, which only repeat the cause.
fn error_in(text: &str) -> Cow<'_, str> {
    const PREFACES: [&str; 7] = [
        "The certificate request has failed to complete and will be retried: ",
        "could not get secret data from provider: ",
        "failed to ensure HPA is correctly created for ScaledObject: ",
        "RolloutAborted: ",
        "HPA is not actively scaling: ",
        "the HPA was unable to compute the replica count: ",
        "unable to get external metric ",
    ];
    let rest = PREFACES.iter().fold(text, |rest, preface| rest.strip_prefix(preface).unwrap_or(rest));
    // Knative quotes the error of the revision in each object above it.
    let of_revision = rest.strip_prefix("Revision \"").and_then(|rest| rest.split_once("\" failed with message: "));
    let rest = of_revision.map_or(rest, |(_, error)| error);
    // Argo Rollouts quotes the error of a metric.
    let of_update = rest.strip_prefix("Rollout aborted update to revision ").and_then(|rest| rest.split_once(": "));
    let rest = of_update.map_or(rest, |(_, error)| error);
    if let Some((metric, error)) = rest.strip_suffix('"').and_then(|rest| rest.split_once(": \"Error Message: ")) {
        return format!("{metric}: {error}").into();
    }
    // Cluster API lists what is not ready, the cause first: the rest only waits for it.
    let Some(list) = rest.strip_prefix("* ") else { return rest.into() };
    let mut lines = list.lines().map(|line| line.trim_start_matches([' ', '*']).trim_end());
    let mut first = lines.next().unwrap_or_default().to_owned();
    // What a line announces is in the next one.
    while let Some(next) = lines.next().filter(|_| first.ends_with(':')) {
        first = format!("{first} {next}");
    }
    first.into()
}

/// The object as an argument of kubectl. The group distinguishes it from another kind of this name.
pub(crate) fn argument(object: &WorkloadFacts) -> String {
    let (kind, group) = (object.key.kind.to_ascii_lowercase(), object.key.group());
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", object.key.name)
}
