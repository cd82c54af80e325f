//! Causes that only workloads have.

use crate::rules::{Known, catalog};
use crate::signals::Definition;
use crate::signals::autoscaler::Autoscaler;
use crate::signals::cron_job::CronJob;
use crate::signals::disruption_budget::DisruptionBudget;
use crate::signals::job::FailedJob;
use crate::signals::object::ObjectStatus;
use crate::signals::pod_creation::PodCreation;
use crate::signals::rollout::Rollout;
use crate::signals::route::Route;
use crate::signals::service::MismatchedService;
use crate::signals::unused_claim::UnusedClaim;

const ROLLOUT: &Definition = &Rollout::DEFINITION;
const JOB: &Definition = &FailedJob::DEFINITION;
const CRON_JOB: &Definition = &CronJob::DEFINITION;
const SERVICE: &Definition = &MismatchedService::DEFINITION;
const OBJECT: &Definition = &ObjectStatus::DEFINITION;
const POD_CREATION: &Definition = &PodCreation::DEFINITION;
const ROUTE: &Definition = &Route::DEFINITION;
const AUTOSCALER: &Definition = &Autoscaler::DEFINITION;
const BUDGET: &Definition = &DisruptionBudget::DEFINITION;
const UNUSED_CLAIM: &Definition = &UnusedClaim::DEFINITION;

/// Causes that only workloads have, never pods.
pub(crate) fn known() -> impl Iterator<Item = Known> {
    let all = [ROLLOUT, JOB, CRON_JOB, SERVICE, POD_CREATION, OBJECT, ROUTE, AUTOSCALER, BUDGET, UNUSED_CLAIM];
    all.into_iter().flat_map(|signal| catalog::known(signal.name))
}

/// Signals of objects without pods of their own. Each of their causes waits for a threshold.
pub(crate) const OF_OBJECTS: [&str; 5] = [OBJECT.name, ROUTE.name, AUTOSCALER.name, BUDGET.name, UNUSED_CLAIM.name];

fn is_of(signal: &Definition, cause: &str) -> bool {
    catalog::known(signal.name).any(|known| known.cause == cause)
}

/// Whether only objects that are no workloads have this cause.
#[cfg(test)]
pub(super) fn is_of_object(cause: &str) -> bool {
    [OBJECT, ROUTE, AUTOSCALER, BUDGET, UNUSED_CLAIM].into_iter().any(|signal| is_of(signal, cause))
}

/// Whether a workload has this cause only because its pods fail.
pub fn follows_from_pods(cause: &str) -> bool {
    is_of(ROLLOUT, cause) || is_of(JOB, cause)
}

/// Whether this is a cause of a Service of the workload.
pub fn is_of_service(cause: &str) -> bool {
    is_of(SERVICE, cause)
}

/// Whether this is a cause of the schedule of a `CronJob`.
pub(super) fn is_of_schedule(cause: &str) -> bool {
    is_of(CRON_JOB, cause)
}

/// Whether this cause only states that a rollout makes no progress.
pub(super) fn is_of_rollout(cause: &str) -> bool {
    is_of(ROLLOUT, cause)
}

/// Whether the cause depends on the template of the workload. Another template that the same policy denies, or that
/// refers to another key of the same object, is another failure.
pub fn lies_in_template(cause: &str) -> bool {
    const OF_A_POLICY: [&str; 2] = ["WebhookDenied", "AdmissionPolicyDenied"];
    const OF_A_KEY: [&str; 3] = ["ConfigMapKeyMissing", "SecretKeyMissing", "VolumeKeyMissing"];
    OF_A_POLICY.contains(&cause) || OF_A_KEY.contains(&cause)
}
