//! What is wrong with a workload as a whole: a rollout that is stuck, pods that cannot be made, a Job that has failed.

mod case;
mod creation;
mod cron_job;
mod daemon_set;
mod job;
mod known;
mod pods;
mod remedies;
mod revisions;
mod rollout;
mod service;
mod stateful_set;
mod tell;
mod template;
#[cfg(test)]
mod tests;

pub use case::{Apart, FailingPod, GonePod, Ports, StrayService, WorkloadCase, WorkloadFailure, WorkloadJudged};
pub use creation::told_as;
pub(super) use known::known;
pub use known::{follows_from_pods, is_of_service, lies_in_template};
pub use service::{stray_services, strays_due};

/// What is wrong with a workload, if anything is.
///
/// Its cause is that of its pods where they fail, else what keeps it from having pods; a workload that only takes its time
/// has none.
pub fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    // It does not get well any more: what was told stands until it is gone.
    if case.workload.deleting {
        return WorkloadJudged::stands();
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
