//! Causes that no pod has, only its workload.

use crate::diagnosis::{Category, Explain, Known};

pub(super) const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
pub(super) const JOB_BACKOFF_LIMIT_EXCEEDED: &str = "JobBackoffLimitExceeded";
pub(super) const JOB_DEADLINE_EXCEEDED: &str = "JobDeadlineExceeded";
pub(super) const JOB_POD_FAILURE_POLICY: &str = "JobPodFailurePolicy";
pub(super) const JOB_MAX_FAILED_INDEXES: &str = "JobMaxFailedIndexes";
pub(super) const JOB_FAILED_INDEXES: &str = "JobFailedIndexes";
pub(super) const CRON_JOB_SCHEDULE_BAD: &str = "CronJobScheduleBad";
pub(super) const CRON_JOB_MISSED: &str = "CronJobMissed";
pub(super) const CRON_JOB_FORBID: &str = "CronJobForbid";
pub const SERVICE_SELECTS_NOTHING: &str = "ServiceSelectsNothing";
pub const SERVICE_PORT_NOT_FOUND: &str = "ServicePortNotFound";

/// Whether a workload has this cause only because its pods fail.
pub fn follows_from_pods(cause: &str) -> bool {
    const OF_JOBS: [&str; 5] = [
        JOB_BACKOFF_LIMIT_EXCEEDED,
        JOB_DEADLINE_EXCEEDED,
        JOB_POD_FAILURE_POLICY,
        JOB_MAX_FAILED_INDEXES,
        JOB_FAILED_INDEXES,
    ];
    cause == PROGRESS_DEADLINE_EXCEEDED || OF_JOBS.contains(&cause)
}

const JOB: &str = "kubernetes pkg/controller/job/job_controller.go";
const CRON_JOB: &str = "kubernetes pkg/controller/cronjob/cronjob_controllerv2.go syncCronJob";

/// All but those of [`super::creation`].
pub(super) const OWN: [Known; 11] = [
    own(
        PROGRESS_DEADLINE_EXCEEDED,
        Explain {
            meaning: "A Deployment's rollout made no progress within progressDeadlineSeconds, and no pod says why.",
            told_apart: "Only where none of its pods fails, no probe of theirs does, and none was refused; else their cause is the root.",
            action: "Look at the readiness of the new pods: they may only need longer. Raise progressDeadlineSeconds, or go back.",
            source: "kubernetes pkg/controller/deployment/progress.go",
        },
    ),
    own(
        JOB_BACKOFF_LIMIT_EXCEEDED,
        Explain {
            meaning: "A Job has failed as often as its backoffLimit allows, and its pods are gone.",
            told_apart: "Only where no failed pod is left, and none was seen to fail before it went: else what the pods failed of is the cause.",
            action: "Run it again with restartPolicy Never, which keeps the failed pods and their logs.",
            source: JOB,
        },
    ),
    own(
        JOB_DEADLINE_EXCEEDED,
        Explain {
            meaning: "A Job ran longer than its activeDeadlineSeconds, and its pods were removed.",
            told_apart: "The Failed condition has reason DeadlineExceeded. A pod's own deadline is PodDeadlineExceeded.",
            action: "Find out why it took so long, or raise activeDeadlineSeconds.",
            source: JOB,
        },
    ),
    own(
        JOB_POD_FAILURE_POLICY,
        Explain {
            meaning: "A rule of the Job's podFailurePolicy ended it at the first pod that failed so.",
            told_apart: "The Failed condition has reason PodFailurePolicy and names the exit code and the rule.",
            action: "Mend what ends with that exit code, or change the rule.",
            source: JOB,
        },
    ),
    own(
        JOB_MAX_FAILED_INDEXES,
        Explain {
            meaning: "More indexes of an Indexed Job failed than maxFailedIndexes allows, and its pods are gone.",
            told_apart: "The Failed condition has reason MaxFailedIndexesExceeded.",
            action: "See status.failedIndexes, mend what they fail of, and run the Job again.",
            source: JOB,
        },
    ),
    own(
        JOB_FAILED_INDEXES,
        Explain {
            meaning: "Some indexes of an Indexed Job failed for good, and their pods are gone.",
            told_apart: "The Failed condition has reason FailedIndexes; the others have succeeded.",
            action: "See status.failedIndexes, mend what they fail of, and run those again.",
            source: JOB,
        },
    ),
    own(
        CRON_JOB_SCHEDULE_BAD,
        Explain {
            meaning: "The CronJob's schedule cannot be read or never comes, or its time zone is not known: it never runs.",
            told_apart: "Events UnparseableSchedule, InvalidSchedule or UnknownTimeZone that name the present schedule.",
            action: "Correct spec.schedule or spec.timeZone.",
            source: CRON_JOB,
        },
    ),
    own(
        CRON_JOB_MISSED,
        Explain {
            meaning: "A run of the CronJob was due and was not started in time, and none has been since.",
            told_apart: "Event MissSchedule that is newer than the last run.",
            action: "Run it by hand if it matters; raise startingDeadlineSeconds, which may be shorter than the controller needs.",
            source: CRON_JOB,
        },
    ),
    own(
        CRON_JOB_FORBID,
        Explain {
            meaning: "A run of the CronJob does not end, and concurrencyPolicy Forbid keeps all later ones from starting.",
            told_apart: "Event JobAlreadyActive again and again, and a run that is older than half an hour.",
            action: "Look at what the run waits for; end it, and give the Job an activeDeadlineSeconds.",
            source: CRON_JOB,
        },
    ),
    own(
        SERVICE_SELECTS_NOTHING,
        Explain {
            meaning: "A Service selects no pod: one label of its selector is not that of the workload that it is meant for.",
            told_apart: "No pod and no template matches it, and a workload that no Service reaches has all its other labels. A new Service may be ahead of its workload: it is told 5 minutes after it was made.",
            action: "Correct the Service's selector, or the labels of the template.",
            source: "kubernetes pkg/controller/endpointslice (no Event; the EndpointSlice is empty)",
        },
    ),
    own(
        SERVICE_PORT_NOT_FOUND,
        Explain {
            meaning: "A Service selects pods that are ready, and its targetPort is a name that no port of theirs has: connections to it are refused.",
            told_apart: "All of its ports lead to names, and no container of the workloads that it selects names such a port. `kubectl get endpointslices` shows the pods, and <unset> for the ports. One that selects nobody is ServiceSelectsNothing. It is told 5 minutes after the Service was made.",
            action: "Correct targetPort in the Service, or give the container's port that name.",
            source: "kubernetes staging/src/k8s.io/endpointslice/utils.go FindPort (no Event; the slice has endpoints and no ports)",
        },
    ),
];

const fn own(cause: &'static str, explain: Explain) -> Known {
    Known { cause, category: Category::Lifecycle, explain }
}
