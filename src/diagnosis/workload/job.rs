//! Jobs: one that has failed for good, and one that can never end.

use super::case::{FailingPod, GonePod, WorkloadCase, WorkloadJudged};
use super::creation::{self, Creation};
use super::pods::{Group, Pods};
use super::tell::{Own, Verdict, Why, tell};
use crate::api::{Remedy, Severity};
use crate::diagnosis::actions::recreate_job;
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::signals::job::FailedJob;
use crate::diagnosis::{Category, evidence, target};
use crate::facts::{Condition, OwnFacts, Timestamp, WorkloadFacts, after};

/// Problems of a Job, and of the runs of a `CronJob`.
pub(super) const JOB_FAILED: &str = "JobFailed";
pub(super) const BLOCKED: &str = "Blocked";

/// A Job tells that it has failed before its last pod is diagnosed: so many seconds later (after a restart of ours: after we
/// saw it), pods that say nothing are gone.
const PODS_SPEAK_FIRST: i64 = 15;

/// A pod that went no longer than so many seconds before its Job was said to have failed went with it.
const GOES_WITH_ITS_JOB: i64 = 60;

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let job = case.workload;
    // What a CronJob made is told under it.
    let is_owned = job.owner.as_ref().is_some_and(|owner| &*owner.kind == "CronJob");
    if is_owned || job.suspended || job.is_complete() {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    if let Some(condition) = failed(job) {
        return match said(case, &pods, condition, |_| true) {
            Said::ByPods { own, group, gone } => {
                // What failed is mended first.
                let mut after: Vec<_> = recreate_job::remedy(&target::of_workload(case)).into_iter().collect();
                if gone {
                    after = of_deleted_pods(case, job);
                }
                let stands = gave_up(case.language(), job, condition, gone);
                let verdict = Verdict::new(JOB_FAILED, Severity::Critical, stands, Why::Pods(group));
                WorkloadJudged::failing(tell(case, &own, Verdict { after, ..verdict }))
            }
            Said::NotBefore(until) => WorkloadJudged::later(until),
            Said::Before => WorkloadJudged::stands(),
            Said::Nothing => {
                let Some(own) = of_condition(case, job, condition) else { return WorkloadJudged::default() };
                let verdict = Verdict::new(JOB_FAILED, Severity::Critical, String::new(), Why::Own(own));
                WorkloadJudged::failing(tell(case, &pods, verdict))
            }
        };
    }
    blocked(case, &pods)
}

/// The condition that says that the Job has failed for good, or is about to say so.
pub(super) fn failed(job: &WorkloadFacts) -> Option<&Condition> {
    ["Failed", "FailureTarget"].into_iter().filter_map(|kind| job.condition(kind)).find(|c| c.status == "True")
}

/// Why it was given up, in short, where its pods say what was wrong.
pub(super) fn gave_up(language: Language, job: &WorkloadFacts, condition: &Condition, pods_are_gone: bool) -> String {
    let gone = if pods_are_gone { phrase!(language, ", its pods are deleted") } else { "" };
    if condition.reason == "FailedIndexes"
        && let Some(which) = failed_indexes(job)
    {
        return if which.contains([',', '-']) {
            say!(language, "failed, its indexes {which} failed{gone}", which, gone)
        } else {
            say!(language, "failed, its index {which} failed{gone}", which, gone)
        };
    }
    let why = match condition.reason.as_str() {
        "BackoffLimitExceeded" => phrase!(language, "failed, no retry is left"),
        "DeadlineExceeded" => phrase!(language, "failed, activeDeadlineSeconds is exceeded"),
        "PodFailurePolicy" => phrase!(language, "failed at once because of its podFailurePolicy"),
        "MaxFailedIndexesExceeded" => phrase!(language, "failed, too many of its indexes failed"),
        "FailedIndexes" => phrase!(language, "failed, some of its indexes failed"),
        _ => phrase!(language, "failed"),
    };
    format!("{why}{gone}")
}

/// What the pods of a Job that has failed say of it.
pub(super) enum Said<'a> {
    /// These of them.
    ByPods {
        own: Pods<'a>,
        group: Group<'a>,
        gone: bool,
    },
    /// They may until then.
    NotBefore(Timestamp),
    /// They did while they were there, and that was told.
    Before,
    Nothing,
}

/// Those that are gone are asked where no other fails: under restartPolicy OnFailure a Job deletes its pod when it gives up.
pub(super) fn said<'a>(
    case: &WorkloadCase<'a>,
    pods: &Pods<'a>,
    condition: &Condition,
    is_own: impl Fn(&str) -> bool,
) -> Said<'a> {
    let own = pods.among(|pod| is_own(&pod.name));
    if let Some(group) = own.dominant(|_| false) {
        return Said::ByPods { own, group, gone: false };
    }
    // One that went long before had no part in the end.
    let went_with_it = |gone: &&GonePod| {
        let is_late = condition.last_transition.is_none_or(|failed| gone.at >= after(failed, -GOES_WITH_ITS_JOB));
        is_late && is_own(&gone.pod.name)
    };
    let failing = case.gone.iter().filter(went_with_it).map(|gone| &gone.pod).collect();
    let own = Pods { failing, ..own };
    if let Some(group) = own.dominant(|_| false) {
        return Said::ByPods { own, group, gone: true };
    }
    if let Some(until) = pods_may_speak(case, condition) {
        return Said::NotBefore(until);
    }
    let told = case.told.filter(|told| told.problem == JOB_FAILED);
    let samples = told.into_iter().flat_map(|told| &told.causes).flat_map(|cause| &cause.sample_pods);
    if samples.into_iter().any(|pod| is_own(pod)) { Said::Before } else { Said::Nothing }
}

/// Until when a pod of a Job that has failed may still say why.
fn pods_may_speak(case: &WorkloadCase<'_>, condition: &Condition) -> Option<Timestamp> {
    let until = after(condition.last_transition?.max(case.seen).min(case.now), PODS_SPEAK_FIRST);
    (case.thresholds.patient && case.now < until).then_some(until)
}

/// The cause that its condition gives, if no pod is left that shows more.
pub(super) fn of_condition(case: &WorkloadCase<'_>, job: &WorkloadFacts, condition: &Condition) -> Option<Box<Own>> {
    let signal = FailedJob { case, job, reason: &condition.reason, text: &condition.message };
    Own::of(case, &signal, vec![evidence::condition(condition)]).map(|(_, own)| own)
}

/// How to keep the pods of the next try.
fn of_deleted_pods(case: &WorkloadCase<'_>, job: &WorkloadFacts) -> Vec<Remedy> {
    let signal = FailedJob { case, job, reason: "BackoffLimitExceeded", text: "" };
    Own::of(case, &signal, Vec::new()).map(|(_, own)| own.remedies).unwrap_or_default()
}

fn failed_indexes(job: &WorkloadFacts) -> Option<&str> {
    match &job.own {
        OwnFacts::Job(own) => own.failed_indexes.as_deref(),
        _ => None,
    }
}

/// It has retries left, and still cannot get anywhere.
fn blocked(case: &WorkloadCase<'_>, pods: &Pods<'_>) -> WorkloadJudged {
    let job = case.workload;
    let stuck = pods.among(never_gets_on);
    if let Some(group) = stuck.dominant(|_| false) {
        let verdict =
            Verdict::new(BLOCKED, Severity::Warning, phrase!(case, "it cannot proceed").to_owned(), Why::Pods(group));
        return WorkloadJudged::failing(tell(case, &stuck, verdict));
    }
    match creation::look(case, |_| lacks_pods(job)) {
        Creation::Well => WorkloadJudged::default(),
        Creation::NotBefore(at) => WorkloadJudged::later(at),
        Creation::Refused(own) => {
            let (problem, stands) = if job.current <= 0 {
                ("NoPods", phrase!(case, "no pod exists"))
            } else {
                (BLOCKED, phrase!(case, "a pod is missing"))
            };
            let verdict = Verdict::new(problem, Severity::Warning, stands.to_owned(), Why::Own(own));
            WorkloadJudged::failing(tell(case, pods, verdict))
        }
    }
}

/// Not all pods that should run now do.
pub(super) fn lacks_pods(job: &WorkloadFacts) -> bool {
    failed(job).is_none() && !job.is_complete() && job.current < wanted(job)
}

/// How many pods should run now.
fn wanted(job: &WorkloadFacts) -> i64 {
    let parallelism = match &job.own {
        OwnFacts::Job(own) => own.parallelism,
        _ => 1,
    };
    parallelism.min(job.desired.saturating_sub(job.succeeded)).max(0)
}

/// A pod that no retry brings on: it never starts, or never ends.
pub(super) fn never_gets_on(pod: &FailingPod) -> bool {
    // What is only tried and ends (a command that is not there) is a try like any other.
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
