//! What is wrong with a workload as a whole: a rollout that is stuck, pods that cannot be made, a Job that has failed.

mod case;
mod creation;
mod cron_job;
mod daemon_set;
mod job;
mod known;
mod ownership;
mod pods;
mod remedies;
mod rollout;
mod service;
mod stateful_set;
mod tell;
mod template;
#[cfg(test)]
mod tests;

pub use case::{FailingPod, WorkloadCase, WorkloadFailure, WorkloadJudged};
pub(super) use ownership::{JobState, is_first_failed_try, job_given_up, job_state};
pub use ownership::{immediate, top};
pub use service::{StrayService, stray_services, strays_due};

pub(super) use known::KNOWN;

/// What is wrong with a workload, if anything is.
///
/// Its cause is that of its pods where they fail, else what keeps it from having pods; a workload that only takes its time
/// has none.
pub fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    if case.workload.deleting {
        return WorkloadJudged::default();
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
