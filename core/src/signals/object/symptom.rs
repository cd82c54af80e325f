//! What the status of an object shows: its conditions and its phase, as kstatus and the API conventions define them.

use crate::facts::{Condition, Timestamp, WorkloadFacts};

/// Whether an object fails, by its status alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// It is paused, stopped or being deleted.
    Idle,
    Healthy,
    /// The status does not show it, or the object is in progress.
    Unknown,
    Failing,
}

/// The kind of a symptom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// The controller has given up until the object changes.
    Stalled,
    /// A condition or a phase reports a failure.
    Failed,
    /// A condition reports that the object does not work now.
    NotReady,
    /// The controller has not processed the newest generation.
    NotObserved,
    /// A condition that explains another symptom.
    Detail,
    /// None: a rule compares fields of the object.
    Fields,
}

impl Form {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stalled => "stalled",
            Self::Failed => "failed",
            Self::NotReady => "notReady",
            Self::NotObserved => "notObserved",
            Self::Detail => "detail",
            Self::Fields => "fields",
        }
    }
}

/// A part of the status that shows a failure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symptom<'a> {
    pub(crate) form: Form,
    /// `None`: the phase shows it, or the generation.
    pub(crate) condition: Option<&'a Condition>,
    /// Since when; `None` if the status does not contain that.
    pub(crate) since: Option<Timestamp>,
}

/// Conditions that are True if the object fails. `NotReady` comes from Strimzi, `ACK.Terminal` from the AWS controllers.
const FAILED: [&str; 8] =
    ["Failed", "Failure", "Degraded", "NotReady", "Error", "InvalidSpec", "ReplicaFailure", "ACK.Terminal"];
/// Conditions that are False if the object fails. `HPAActive` comes from KEDA.
const NOT_READY: [&str; 8] =
    ["Ready", "Available", "Healthy", "Synced", "Succeeded", "Reconciled", "Accepted", "HPAActive"];
/// Conditions that are True if the object is healthy. `Synced`, `Reconciled` and `Accepted` are only about its spec.
const READY: [&str; 4] = ["Ready", "Available", "Healthy", "Succeeded"];
/// Reasons of conditions that are False on purpose.
const ON_PURPOSE: [&str; 15] = [
    "Suspended",
    "Paused",
    "Stopped",
    "Disabled",
    "Deleting",
    "Terminating",
    "ScaledToZero",
    "NoTraffic",
    "Hibernated",
    "Completed",
    "Succeeded",
    "Finished",
    "Cancelled",
    "TaskRunCancelled",
    "PipelineRunCancelled",
];
/// Phases without a failure in which nothing is expected of the object.
const IDLE: [&str; 9] =
    ["Paused", "Suspended", "Stopped", "Stopping", "Deleting", "Terminating", "Hibernated", "Cancelled", "Disabled"];
const HEALTHY: [&str; 12] = [
    "Healthy",
    "Ready",
    "Running",
    "Active",
    "Available",
    "Bound",
    "Succeeded",
    "Completed",
    "Complete",
    "Valid",
    "Synced",
    "Online",
];
/// Phases that report a failure. KubeVirt has those that begin with `Err`, and the two of a loop.
const BAD: [&str; 13] = [
    "Unavailable",
    "Failed",
    "Failure",
    "Error",
    "Errored",
    "Degraded",
    "Invalid",
    "PartiallyFailed",
    "FailedValidation",
    "Unhealthy",
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "DataVolumeError",
];

fn is_one_of(names: &[&str], text: &str) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(text))
}

fn is_bad(phase: &str) -> bool {
    is_one_of(&BAD, phase) || phase.starts_with("Err") && phase.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Whether the reason of a condition means that the controller is at work.
pub(crate) fn is_in_progress(reason: &str) -> bool {
    const AT_WORK: [&str; 17] = [
        "Progressing",
        "ProgressingWithRetry",
        "Reconciling",
        "InProgress",
        "Pending",
        "Creating",
        "Provisioning",
        "Initializing",
        "Installing",
        "Upgrading",
        "Updating",
        "Deploying",
        "Starting",
        "Issuing",
        "Scaling",
        "Migrating",
        "DoesNotExist",
    ];
    is_one_of(&AT_WORK, reason) || reason.starts_with("Waiting")
}

/// Whether a DataVolume is filled, or waits for its first pod. Source: containerized-data-importer pkg/apis/core.
fn is_copied(phase: &str) -> bool {
    phase.ends_with("InProgress") || phase == "WaitForFirstConsumer" || phase == "PendingPopulation"
}

/// Argo CD has conditions without a status: that they exist is the failure.
fn is_argo_cd_error(facts: &WorkloadFacts, condition: &Condition) -> bool {
    condition.status.is_empty() && condition.kind.ends_with("Error") && facts.key.group() == "argoproj.io"
}

fn form_of(facts: &WorkloadFacts, condition: &Condition) -> Option<Form> {
    let (kind, status) = (condition.kind.as_str(), condition.status.as_str());
    let reason = condition.reason.as_str();
    if is_one_of(&ON_PURPOSE, reason) || reason.ends_with("Paused") || reason.ends_with("Suspended") {
        return None;
    }
    let phase = facts.object().map_or("", |own| own.phase.as_str());
    // A rollout is not `Healthy` until its last step. A large copy takes hours.
    let is_at_work = kind == "Healthy" && !phase.is_empty() || is_copied(phase);
    // Beside a certificate that is still valid, this is all that shows a failed renewal.
    let is_failed_renewal =
        kind == "Issuing" && facts.key.group() == "cert-manager.io" && !condition.message.is_empty();
    match status {
        "True" if kind == "Stalled" => Some(Form::Stalled),
        "True" if FAILED.contains(&kind) => Some(Form::Failed),
        // A run to an end that did not succeed is over.
        "False" if kind == "Succeeded" => Some(Form::Failed),
        "False" if NOT_READY.contains(&kind) && !is_at_work => Some(Form::NotReady),
        "False" if is_failed_renewal => Some(Form::NotReady),
        "" if is_argo_cd_error(facts, condition) => Some(Form::Failed),
        "False" => Some(Form::Detail),
        _ => None,
    }
}

/// The symptoms of an object, the gravest first. Details are included only beside another symptom.
pub(crate) fn symptoms(facts: &WorkloadFacts) -> Vec<Symptom<'_>> {
    let Some(own) = facts.object() else { return Vec::new() };
    if is_idle(facts) {
        return Vec::new();
    }
    let of_conditions = facts.conditions.iter().filter_map(|condition| {
        let form = form_of(facts, condition)?;
        // Some kinds, such as those of KEDA, have no times: what explains itself counts from our first sight of it.
        let since = condition.last_transition;
        let is_explained = !condition.reason.is_empty() && !condition.message.is_empty();
        let counts = since.is_some() || is_explained || matches!(form, Form::Stalled | Form::Detail);
        counts.then_some(Symptom { form, condition: Some(condition), since })
    });
    let mut all: Vec<Symptom<'_>> = of_conditions.collect();
    // Another sync, or an edit in the cluster, can have done since what a failed sync could not.
    let has_failed_to_sync = is_bad(&own.operation) && own.sync != "Synced";
    if is_bad(&own.phase) || has_failed_to_sync || is_refused_by_acme(facts) {
        all.push(Symptom { form: Form::Failed, condition: None, since: own.phase_since });
    } else if is_stuck_at_acme(facts) {
        all.push(Symptom { form: Form::NotReady, condition: None, since: facts.created });
    }
    let is_explained = all.iter().any(|symptom| symptom.form != Form::Detail);
    if !is_explained {
        all.clear();
        if facts.is_stale() {
            all.push(Symptom { form: Form::NotObserved, condition: None, since: own.changed });
        }
    }
    all.sort_by_key(|symptom| symptom.form);
    all
}

fn is_of_acme(facts: &WorkloadFacts) -> bool {
    facts.key.group() == "acme.cert-manager.io"
}

/// An Order or Challenge of cert-manager has a state and no conditions.
fn is_refused_by_acme(facts: &WorkloadFacts) -> bool {
    is_of_acme(facts) && facts.object().is_some_and(|own| own.phase == "expired")
}

/// A Challenge that waits has a reason if something is wrong with it.
fn is_stuck_at_acme(facts: &WorkloadFacts) -> bool {
    is_of_acme(facts) && facts.object().is_some_and(|own| own.phase == "pending" && !own.reason.is_empty())
}

fn is_idle(facts: &WorkloadFacts) -> bool {
    let is_paused = ["Paused", "Suspended", "ReconciliationPaused"].iter().any(|kind| facts.condition_is_true(kind));
    let phase = facts.object().map_or("", |own| own.phase.as_str());
    facts.deleting || facts.suspended || is_paused || is_one_of(&IDLE, phase)
}

/// Whether an object fails, by its status alone, for however short a time.
pub(crate) fn health(facts: &WorkloadFacts) -> Health {
    if is_idle(facts) {
        return Health::Idle;
    }
    if symptoms(facts).iter().any(|symptom| symptom.form != Form::NotObserved) {
        return Health::Failing;
    }
    let phase = facts.object().map_or("", |own| own.phase.as_str());
    let is_ready = READY.iter().any(|kind| facts.condition_is_true(kind)) || is_one_of(&HEALTHY, phase);
    if is_ready && !facts.is_stale() { Health::Healthy } else { Health::Unknown }
}
