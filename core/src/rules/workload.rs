//! Diagnosis of workloads: stuck rollouts, pods that cannot be created, failed Jobs.

mod creation;
mod cron_job;
mod daemon_set;
mod failure;
mod job;
mod known;
mod object;
mod pods;
mod remedies;
mod revisions;
mod rollout;
mod service;
mod stateful_set;
mod template;
#[cfg(test)]
mod tests;
mod without_pods;

pub(crate) use known::{OF_OBJECTS, known};
pub use known::{follows_from_pods, is_of_service, lies_in_template};
pub use object::{answers_for_its_parts, cause_of_fields, is_explained_by_pods};
pub use service::{unmatched_due, unmatched_services};
pub(super) use without_pods::failure_of_object;

use crate::case::{WorkloadCase, WorkloadJudged};

/// Judges a workload.
///
/// The cause is that of its failing pods, or else what prevents the creation of pods. A workload that is only slow has
/// none.
pub fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    // A workload that is being deleted does not recover: keep its diagnosis until it is gone.
    if case.workload.deleting {
        return WorkloadJudged::stands();
    }
    if case.workload.object().is_some() {
        return object::judge(case);
    }
    let judged = match &*case.workload.key.kind {
        "Deployment" | "ReplicaSet" | "ReplicationController" => rollout::judge(case),
        "StatefulSet" => stateful_set::judge(case),
        "DaemonSet" => daemon_set::judge(case),
        "Job" => job::judge(case),
        "CronJob" => cron_job::judge(case),
        _ => WorkloadJudged::default(),
    };
    if judged == WorkloadJudged::default() { service::judge(case) } else { judged }
}
