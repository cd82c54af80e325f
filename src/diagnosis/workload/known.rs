//! The causes that only workloads have.

use crate::diagnosis::signals::Definition;
use crate::diagnosis::signals::cron_job::CronJob;
use crate::diagnosis::signals::job::FailedJob;
use crate::diagnosis::signals::pod_creation::PodCreation;
use crate::diagnosis::signals::rollout::Rollout;
use crate::diagnosis::signals::service::MismatchedService;
use crate::diagnosis::{Known, catalog};

const ROLLOUT: &Definition = &Rollout::DEFINITION;
const JOB: &Definition = &FailedJob::DEFINITION;
const CRON_JOB: &Definition = &CronJob::DEFINITION;
const SERVICE: &Definition = &MismatchedService::DEFINITION;
const POD_CREATION: &Definition = &PodCreation::DEFINITION;

/// Causes that no pod has, only its workload.
pub(in crate::diagnosis) fn known() -> impl Iterator<Item = Known> {
    [ROLLOUT, JOB, CRON_JOB, SERVICE, POD_CREATION].into_iter().flat_map(|signal| catalog::known(signal.name))
}

fn is_of(signal: &Definition, cause: &str) -> bool {
    catalog::known(signal.name).any(|known| known.cause == cause)
}

/// Whether a workload has this cause only because its pods fail.
pub fn follows_from_pods(cause: &str) -> bool {
    is_of(ROLLOUT, cause) || is_of(JOB, cause)
}

/// Whether a Service of the workload has this cause.
pub fn is_of_service(cause: &str) -> bool {
    is_of(SERVICE, cause)
}

/// Whether the schedule of a `CronJob` has this cause.
pub(super) fn is_of_schedule(cause: &str) -> bool {
    is_of(CRON_JOB, cause)
}

/// Whether this cause only states that a rollout makes no progress.
pub(super) fn is_of_rollout(cause: &str) -> bool {
    is_of(ROLLOUT, cause)
}

/// Whether it lies in the template of the workload: another template that the same policy denies, or that reads another key
/// of the same object, is another failure.
pub fn lies_in_template(cause: &str) -> bool {
    const OF_A_POLICY: [&str; 2] = ["WebhookDenied", "AdmissionPolicyDenied"];
    const OF_A_KEY: [&str; 3] = ["ConfigMapKeyMissing", "SecretKeyMissing", "VolumeKeyMissing"];
    OF_A_POLICY.contains(&cause) || OF_A_KEY.contains(&cause)
}
