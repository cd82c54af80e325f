//! Jobs: failed Jobs, and Jobs that can never finish.

use super::creation::{self, Creation};
use super::failure::{Own, Verdict, Why, build_failure};
use super::pods::{Group, Pods};
use crate::actions::recreate_job;
use crate::api::Severity;
use crate::case::{Category, FailingPod, GonePod, Remedy, WorkloadCase, WorkloadJudged, evidence, target};
use crate::facts::{Condition, OwnFacts, Timestamp, WorkloadFacts, after};
use crate::language::{Language, phrase, translate};
use crate::signals::job::FailedJob;

/// Problem of a Job, and of the runs of a `CronJob`.
pub(super) const JOB_FAILED: &str = "JobFailed";
pub(super) const BLOCKED: &str = "Blocked";

/// Seconds to wait for a diagnosis of the last pod after the Job has failed (after a restart of the operator: since the
/// first observation). Pods without a diagnosis by then are gone.
const DIAGNOSIS_GRACE: i64 = 15;

/// Seconds between the deletion of a pod and the failure of its Job within which the pod counts as part of the failure.
const DELETED_WITH_JOB: i64 = 60;

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let job = case.workload;
    // A Job of a CronJob is reported with the CronJob.
    let is_owned = job.owner.as_ref().is_some_and(|owner| &*owner.kind == "CronJob");
    if is_owned || job.suspended || job.is_complete() {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    if let Some(condition) = failed(job) {
        return match pod_findings(case, &pods, condition, |_| true) {
            PodFindings::ByPods { own, group, gone } => {
                // The cause is fixed before the Job is recreated.
                let mut after: Vec<_> = recreate_job::remedy(&target::of_workload(case)).into_iter().collect();
                if gone {
                    after = of_deleted_pods(case, job);
                }
                let stands = failure_reason(case.language(), job, condition, gone);
                let verdict = Verdict::new(JOB_FAILED, Severity::Critical, stands, Why::Pods(group));
                WorkloadJudged::failing(build_failure(case, &own, Verdict { after, ..verdict }))
            }
            PodFindings::NotBefore(until) => WorkloadJudged::later(until),
            PodFindings::Before => WorkloadJudged::stands(),
            PodFindings::Nothing => {
                let Some(own) = of_condition(case, job, condition) else { return WorkloadJudged::default() };
                let verdict = Verdict::new(JOB_FAILED, Severity::Critical, String::new(), Why::Own(own));
                WorkloadJudged::failing(build_failure(case, &pods, verdict))
            }
        };
    }
    blocked(case, &pods)
}

/// The condition that the Job has failed or is about to fail.
pub(super) fn failed(job: &WorkloadFacts) -> Option<&Condition> {
    ["Failed", "FailureTarget"].into_iter().filter_map(|kind| job.condition(kind)).find(|c| c.status == "True")
}

/// The short reason why the Job failed, if its pods show the cause.
pub(super) fn failure_reason(
    language: Language,
    job: &WorkloadFacts,
    condition: &Condition,
    pods_are_gone: bool,
) -> String {
    let gone = if pods_are_gone { phrase!(language, ", its pods are deleted", "、Pod は削除済み") } else { "" };
    if condition.reason == "FailedIndexes"
        && let Some(which) = failed_indexes(job)
    {
        return if which.contains([',', '-']) {
            translate!(
                language,
                "failed, its indexes {which} failed{gone}",
                "index {which} が失敗したため失敗した{gone}",
                which,
                gone
            )
        } else {
            translate!(
                language,
                "failed, its index {which} failed{gone}",
                "index {which} が失敗したため失敗した{gone}",
                which,
                gone
            )
        };
    }
    let why = match condition.reason.as_str() {
        "BackoffLimitExceeded" => phrase!(language, "failed, no retry is left", "失敗、再試行は残っていない"),
        "DeadlineExceeded" => {
            phrase!(language, "failed, activeDeadlineSeconds is exceeded", "失敗、activeDeadlineSeconds を超過")
        }
        "PodFailurePolicy" => {
            phrase!(language, "failed at once because of its podFailurePolicy", "直ちに失敗 (podFailurePolicy による)")
        }
        "MaxFailedIndexesExceeded" => {
            phrase!(language, "failed, too many of its indexes failed", "失敗、失敗した index が多すぎる")
        }
        "FailedIndexes" => phrase!(language, "failed, some of its indexes failed", "失敗、一部の index が失敗"),
        _ => phrase!(language, "failed", "失敗"),
    };
    format!("{why}{gone}")
}

/// What is known from the pods of a failed Job.
pub(super) enum PodFindings<'a> {
    /// These pods show the cause.
    ByPods {
        own: Pods<'a>,
        group: Group<'a>,
        gone: bool,
    },
    /// The pods may be diagnosed until this time.
    NotBefore(Timestamp),
    /// Pods showed the cause before, and it was reported.
    Before,
    Nothing,
}

/// Deleted pods count only if no other pod fails: with restartPolicy OnFailure, a Job deletes its pod when it fails.
pub(super) fn pod_findings<'a>(
    case: &WorkloadCase<'a>,
    pods: &Pods<'a>,
    condition: &Condition,
    is_own: impl Fn(&str) -> bool,
) -> PodFindings<'a> {
    let own = pods.among(|pod| is_own(&pod.name));
    if let Some(group) = own.dominant(|_| false) {
        return PodFindings::ByPods { own, group, gone: false };
    }
    // A pod that was deleted long before did not cause the failure.
    let deleted_with_job = |gone: &&GonePod| {
        let is_late = condition.last_transition.is_none_or(|failed| gone.at >= after(failed, -DELETED_WITH_JOB));
        is_late && is_own(&gone.pod.name)
    };
    let failing = case.gone.iter().filter(deleted_with_job).map(|gone| &gone.pod).collect();
    let own = Pods { failing, ..own };
    if let Some(group) = own.dominant(|_| false) {
        return PodFindings::ByPods { own, group, gone: true };
    }
    if let Some(until) = diagnosis_deadline(case, condition) {
        return PodFindings::NotBefore(until);
    }
    let current = case.current.filter(|current| current.problem == JOB_FAILED);
    let samples = current.into_iter().flat_map(|current| &current.causes).flat_map(|cause| &cause.sample_pods);
    if samples.into_iter().any(|pod| is_own(pod)) { PodFindings::Before } else { PodFindings::Nothing }
}

/// Time until which a pod of a failed Job can still be diagnosed.
fn diagnosis_deadline(case: &WorkloadCase<'_>, condition: &Condition) -> Option<Timestamp> {
    let until = after(condition.last_transition?.max(case.seen).min(case.now), DIAGNOSIS_GRACE);
    (case.thresholds.patient && case.now < until).then_some(until)
}

/// The cause from the condition of the Job, if no remaining pod shows more.
pub(super) fn of_condition(case: &WorkloadCase<'_>, job: &WorkloadFacts, condition: &Condition) -> Option<Box<Own>> {
    let signal = FailedJob { case, job, reason: &condition.reason, text: &condition.message };
    Own::of(case, &signal, vec![evidence::condition(condition)])
}

/// How to keep the pods of the next attempt.
fn of_deleted_pods(case: &WorkloadCase<'_>, job: &WorkloadFacts) -> Vec<Remedy> {
    let signal = FailedJob { case, job, reason: "BackoffLimitExceeded", text: "" };
    Own::of(case, &signal, Vec::new()).map(|own| own.remedies).unwrap_or_default()
}

fn failed_indexes(job: &WorkloadFacts) -> Option<&str> {
    match &job.own {
        OwnFacts::Job(own) => own.failed_indexes.as_deref(),
        _ => None,
    }
}

/// The Job has retries left but cannot make progress.
fn blocked(case: &WorkloadCase<'_>, pods: &Pods<'_>) -> WorkloadJudged {
    let job = case.workload;
    let stuck = pods.among(is_blocked);
    if let Some(group) = stuck.dominant(|_| false) {
        let verdict = Verdict::new(
            BLOCKED,
            Severity::Warning,
            phrase!(case, "it cannot proceed", "先に進めない").to_owned(),
            Why::Pods(group),
        );
        return WorkloadJudged::failing(build_failure(case, &stuck, verdict));
    }
    match creation::find(case, |_| lacks_pods(job)) {
        Creation::Accepted => WorkloadJudged::default(),
        Creation::NotBefore(at) => WorkloadJudged::later(at),
        Creation::Rejected(own) => {
            let (problem, stands) = if job.current <= 0 {
                ("NoPods", phrase!(case, "no pod exists", "Pod がない"))
            } else {
                (BLOCKED, phrase!(case, "a pod is missing", "Pod が一つ足りない"))
            };
            let verdict = Verdict::new(problem, Severity::Warning, stands.to_owned(), Why::Own(own));
            WorkloadJudged::failing(build_failure(case, pods, verdict))
        }
    }
}

/// Whether fewer pods exist than should run now.
pub(super) fn lacks_pods(job: &WorkloadFacts) -> bool {
    failed(job).is_none() && !job.is_complete() && job.current < expected(job)
}

/// Number of pods that should run now.
fn expected(job: &WorkloadFacts) -> i64 {
    let parallelism = match &job.own {
        OwnFacts::Job(own) => own.parallelism,
        _ => 1,
    };
    parallelism.min(job.desired.saturating_sub(job.succeeded)).max(0)
}

/// Whether retries cannot help the pod: it never starts or never terminates.
pub(super) fn is_blocked(pod: &FailingPod) -> bool {
    // An attempt that starts and terminates (such as a missing command) counts as a normal attempt.
    const NEVER: [&str; 10] = [
        "ConfigMapNotFound",
        "ConfigMapKeyMissing",
        "SecretNotFound",
        "SecretKeyMissing",
        "EnvFileKeyMissing",
        "RunAsNonRootViolation",
        "CreateContainerConfigError",
        "SidecarBlocksJob",
        "SidecarNotStarted",
        "InitContainerStuck",
    ];
    match pod.category {
        Category::Image | Category::Scheduling | Category::Volume | Category::Sandbox => true,
        _ => NEVER.contains(&pod.cause.as_str()),
    }
}
