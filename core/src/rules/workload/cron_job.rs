//! CronJobs: failed runs and missed runs.

use super::creation::{self, Creation};
use super::failure::{Own, Verdict, Why, build_failure};
use super::job::{BLOCKED, JOB_FAILED, PodFindings};
use super::pods::Pods;
use super::{job, known};
use crate::actions::run_cron_job;
use crate::api::Severity;
use crate::case::{WorkloadCase, WorkloadJudged, evidence, target};
use crate::facts::{Condition, CronJobFacts, EventFacts, OwnFacts, Timestamp, WorkloadFacts};
use crate::language::{phrase, translate};
use crate::message::text;
use crate::signals::cron_job::CronJob;

/// Reason of the condition Failed of a Job that a rule of its podFailurePolicy failed.
const POD_FAILURE_POLICY: &str = "PodFailurePolicy";

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let OwnFacts::CronJob(cron) = &case.workload.own else { return WorkloadJudged::default() };
    if case.workload.suspended {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    let of_schedule = of_schedule(case, cron);
    let (bad, mut of_runs): (Vec<_>, Vec<_>) =
        of_schedule.into_iter().partition(|own| own.cause == "CronJobScheduleBad");
    if let Some(own) = bad.into_iter().next() {
        return not_scheduled(case, &pods, phrase!(case, "never runs", "一度も実行されない"), own);
    }
    if let Some((run, condition)) = failed_run(case) {
        return run_failed(case, &pods, run, condition);
    }
    let stuck = pods.among(job::is_blocked);
    if let Some(group) = stuck.dominant(|_| false) {
        let stands = phrase!(case, "its run cannot proceed", "実行が先に進めない").to_owned();
        let verdict = Verdict::new(BLOCKED, Severity::Warning, stands, Why::Pods(group));
        return WorkloadJudged::failing(build_failure(case, &stuck, verdict));
    }
    match creation::find(case, |event| is_still_rejected(case, cron, event)) {
        Creation::NotBefore(at) => return WorkloadJudged::later(at),
        Creation::Rejected(own) => {
            return not_scheduled(
                case,
                &pods,
                phrase!(case, "a run could not be started", "実行を開始できなかった"),
                own,
            );
        }
        Creation::Accepted => {}
    }
    // A run that blocks the others is the reason why they are missed.
    of_runs.sort_by_key(|own| own.cause != "CronJobForbid");
    match of_runs.into_iter().next() {
        Some(own) => not_scheduled(case, &pods, "", own),
        None if awaits_a_run(case) => WorkloadJudged::stands(),
        None => WorkloadJudged::default(),
    }
}

/// Whether the reported failure continues. The deletion of the failed run or the creation of the next one is no
/// recovery; only a run that makes progress is.
fn awaits_a_run(case: &WorkloadCase<'_>) -> bool {
    let Some(current) = case.current else { return false };
    let began = current.head.first_seen;
    if known::is_of_schedule(&current.head.cause) || case.workload.last_successful.is_some_and(|at| Some(at) >= began) {
        return false;
    }
    let newest = case.jobs.iter().max_by_key(|run| (run.created, &run.key.name));
    let makes_progress = |run: &WorkloadFacts| match current.problem.as_str() {
        JOB_FAILED => false,
        BLOCKED => run.ready > 0,
        _ => !job::lacks_pods(run),
    };
    !newest.is_some_and(makes_progress)
}

fn not_scheduled(case: &WorkloadCase<'_>, pods: &Pods<'_>, stands: &str, own: Box<Own>) -> WorkloadJudged {
    let verdict = Verdict::new("NotScheduled", Severity::Warning, stands.to_owned(), Why::Own(own));
    WorkloadJudged::failing(build_failure(case, pods, verdict))
}

/// Whether an Event about a run that could not be created still applies. If the Job could not be created, the next
/// created Job ends the failure. If the Job exists but cannot create its pods, the next run is rejected too, and the
/// failure continues until a run has pods.
fn is_still_rejected(case: &WorkloadCase<'_>, cron: &CronJobFacts, event: &EventFacts) -> bool {
    let is_before = |time: Option<Timestamp>| time.is_some_and(|time| event.last.is_some_and(|at| at <= time));
    if &*event.regarding.kind != "Job" {
        return !is_before(cron.last_schedule);
    }
    let lacks_pods = |run: &WorkloadFacts| run.key.name == event.regarding.name && job::lacks_pods(run);
    case.jobs.iter().any(lacks_pods) && !is_before(case.workload.last_successful)
}

/// Causes from Events about the schedule, newest first.
fn of_schedule(case: &WorkloadCase<'_>, cron: &CronJobFacts) -> impl Iterator<Item = Box<Own>> {
    let runs = case.jobs.iter().filter(|run| job::failed(run).is_none() && !run.is_complete());
    let running = runs.max_by_key(|run| run.created);
    case.events
        .iter()
        .rev()
        .filter_map(move |event| Own::of(case, &CronJob { case, cron, event, running }, vec![evidence::event(event)]))
}

/// The newest Job that has failed, unless a later run succeeded.
fn failed_run<'a>(case: &WorkloadCase<'a>) -> Option<(&'a WorkloadFacts, &'a Condition)> {
    let failed = case.jobs.iter().filter_map(|run| Some((run, job::failed(run)?)));
    let (run, condition) = failed.max_by_key(|(run, _)| (run.created, &run.key.name))?;
    let began = run.created;
    let succeeded_later = |at: Timestamp| condition.last_transition.or(began).is_some_and(|failed| at >= failed);
    let is_over = case.workload.last_successful.is_some_and(succeeded_later)
        || case.jobs.iter().any(|other| other.is_complete() && other.created > began);
    (!is_over).then_some((run, condition))
}

fn run_failed<'a>(
    case: &WorkloadCase<'a>,
    pods: &Pods<'a>,
    run: &WorkloadFacts,
    condition: &Condition,
) -> WorkloadJudged {
    let name = &*run.key.name;
    let (own, why, gave_up) = match job::pod_findings(case, pods, condition, |pod| is_of_run(name, pod)) {
        PodFindings::ByPods { own, group, gone } => {
            (own, Why::Pods(group), job::failure_reason(case.language(), run, condition, gone))
        }
        PodFindings::NotBefore(at) => return WorkloadJudged::later(at),
        PodFindings::Before => return WorkloadJudged::stands(),
        // The summary of the condition contains the reason.
        PodFindings::Nothing => {
            let Some(own) = job::of_condition(case, run, condition) else { return WorkloadJudged::default() };
            (pods.among(|_| false), Why::Own(own), phrase!(case, "failed", "失敗").to_owned())
        }
    };
    let severity = own.failing.iter().map(|pod| pod.severity).min().unwrap_or(Severity::Warning);
    let stands =
        translate!(case, "its run {name} {gave_up}", "実行 {name} が{gave_up}", name = text::cut(name, 63), gave_up);
    let verdict = Verdict::new(JOB_FAILED, severity, stands, why);
    // The policy declares that another try fails in the same way.
    let may_run = condition.reason != POD_FAILURE_POLICY;
    let after = run_cron_job::remedy(&target::of_workload(case)).filter(|_| may_run).into_iter().collect();
    WorkloadJudged::failing(build_failure(case, &own, Verdict { after, ..verdict }))
}

/// The name of a pod begins with the name of its Job.
fn is_of_run(run: &str, pod: &str) -> bool {
    pod.strip_prefix(run).is_some_and(|rest| rest.starts_with('-'))
}
