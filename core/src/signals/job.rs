//! The signal `job`.

use super::signal;
use crate::case::WorkloadCase;
use crate::facts::{OwnFacts, WorkloadFacts};

signal! {
    /// A Job, or a run of a CronJob, that has failed, and whose pods are deleted.
    /// Source: conditions Failed and FailureTarget of the Job.
    pub(crate) struct FailedJob<'a> as "job" {
        case: &'a WorkloadCase<'a>, job: &'a WorkloadFacts, reason: &'a str, text: &'a str,
    }
    reason: |of| of.reason, message: of.text;

    /// Message of the condition.
    "message": fn condition_message(&self) -> &str { self.text }

    /// Seconds that the Job may run. Source: spec.activeDeadlineSeconds.
    "activeDeadlineSeconds": fn active_deadline_seconds(&self) -> Option<i64> {
        match &self.job.own {
            OwnFacts::Job(own) => own.active_deadline,
            _ => None,
        }
    }

    /// How many of its pods may fail. Source: spec.backoffLimit.
    "backoffLimit": fn backoff_limit(&self) -> i64 { self.job.backoff_limit.unwrap_or(6) }

    /// How many of its pods failed. Source: status.failed.
    "failedPods": fn failed_pods(&self) -> i64 { self.job.failed }

    /// Indexes that failed, such as `1,3-5`. Source: status.failedIndexes.
    "failedIndexes": fn failed_indexes(&self) -> Option<&str> {
        match &self.job.own {
            OwnFacts::Job(own) => own.failed_indexes.as_deref(),
            _ => None,
        }
    }

    /// Whether the Job is a run of a CronJob.
    "ofCronJob": fn of_cron_job(&self) -> bool { &*self.case.workload.key.kind == "CronJob" }
}
