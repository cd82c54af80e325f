//! CronJobs: a run that failed, and a run that never was.

use super::case::{WorkloadCase, WorkloadJudged};
use super::creation::{self, Creation};
use super::job::{BLOCKED, JOB_FAILED, Said};
use super::pods::Pods;
use super::tell::{Own, Verdict, Why, tell};
use super::{job, known};
use crate::api::Severity;
use crate::diagnosis::actions::run_cron_job;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::cron_job::CronJob;
use crate::diagnosis::{evidence, target, text};
use crate::facts::{Condition, CronJobFacts, EventFacts, OwnFacts, Timestamp, WorkloadFacts};

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
        return not_scheduled(case, &pods, phrase!(case, "never runs"), own);
    }
    if let Some((run, condition)) = failed_run(case) {
        return run_failed(case, &pods, run, condition);
    }
    let stuck = pods.among(job::never_gets_on);
    if let Some(group) = stuck.dominant(|_| false) {
        let stands = phrase!(case, "its run cannot proceed").to_owned();
        let verdict = Verdict::new(BLOCKED, Severity::Warning, stands, Why::Pods(group));
        return WorkloadJudged::failing(tell(case, &stuck, verdict));
    }
    match creation::look(case, |event| is_still_refused(case, cron, event)) {
        Creation::NotBefore(at) => return WorkloadJudged::later(at),
        Creation::Refused(own) => return not_scheduled(case, &pods, phrase!(case, "a run could not be started"), own),
        Creation::Well => {}
    }
    // A run that prevents the others is why they are missed.
    of_runs.sort_by_key(|own| own.cause != "CronJobForbid");
    match of_runs.into_iter().next() {
        Some(own) => not_scheduled(case, &pods, "", own),
        None if awaits_a_run(case) => WorkloadJudged::stands(),
        None => WorkloadJudged::default(),
    }
}

/// Whether a failure that was told is not over yet. That the run that failed is not there any more, or that the next one is
/// being made, shows nothing: a run that gets on does.
fn awaits_a_run(case: &WorkloadCase<'_>) -> bool {
    let Some(told) = case.told else { return false };
    let began = told.head.first_seen;
    if known::is_of_schedule(&told.head.cause) || case.workload.last_successful.is_some_and(|at| Some(at) >= began) {
        return false;
    }
    let newest = case.jobs.iter().max_by_key(|run| (run.created, &run.key.name));
    let gets_on = |run: &WorkloadFacts| match told.problem.as_str() {
        JOB_FAILED => false,
        BLOCKED => run.ready > 0,
        _ => !job::lacks_pods(run),
    };
    !newest.is_some_and(gets_on)
}

fn not_scheduled(case: &WorkloadCase<'_>, pods: &Pods<'_>, stands: &str, own: Box<Own>) -> WorkloadJudged {
    let verdict = Verdict::new("NotScheduled", Severity::Warning, stands.to_owned(), Why::Own(own));
    WorkloadJudged::failing(tell(case, pods, verdict))
}

/// Whether what an Event tells of a run that could not be made still holds. A Job that cannot be made is over with the next
/// one that is; a Job that is there and cannot make its pods is not: the next run is refused just the same, until one has
/// its pods.
fn is_still_refused(case: &WorkloadCase<'_>, cron: &CronJobFacts, event: &EventFacts) -> bool {
    let is_before = |time: Option<Timestamp>| time.is_some_and(|time| event.last.is_some_and(|at| at <= time));
    if &*event.regarding.kind != "Job" {
        return !is_before(cron.last_schedule);
    }
    let lacks_pods = |run: &WorkloadFacts| run.key.name == event.regarding.name && job::lacks_pods(run);
    case.jobs.iter().any(lacks_pods) && !is_before(case.workload.last_successful)
}

/// The causes that Events about the schedule show, newest first.
fn of_schedule(case: &WorkloadCase<'_>, cron: &CronJobFacts) -> impl Iterator<Item = Box<Own>> {
    let runs = case.jobs.iter().filter(|run| job::failed(run).is_none() && !run.is_complete());
    let running = runs.max_by_key(|run| run.created);
    case.events.iter().rev().filter_map(move |event| {
        Own::of(case, &CronJob { case, cron, event, running }, vec![evidence::event(event)]).map(|(_, own)| own)
    })
}

/// The newest of its Jobs that failed for good, unless a later run succeeded.
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
    let (own, why, gave_up) = match job::said(case, pods, condition, |pod| is_of_run(name, pod)) {
        Said::ByPods { own, group, gone } => {
            (own, Why::Pods(group), job::gave_up(case.language(), run, condition, gone))
        }
        Said::NotBefore(at) => return WorkloadJudged::later(at),
        Said::Before => return WorkloadJudged::stands(),
        // The summary of the condition has the reason.
        Said::Nothing => {
            let Some(own) = job::of_condition(case, run, condition) else { return WorkloadJudged::default() };
            (pods.among(|_| false), Why::Own(own), phrase!(case, "failed").to_owned())
        }
    };
    let severity = own.failing.iter().map(|pod| pod.severity).min().unwrap_or(Severity::Warning);
    let stands = say!(case, "its run {name} {gave_up}", name = text::cut(name, 63), gave_up);
    let verdict = Verdict::new(JOB_FAILED, severity, stands, why);
    WorkloadJudged::failing(tell(
        case,
        &own,
        Verdict { after: run_cron_job::remedy(&target::of_workload(case)).into_iter().collect(), ..verdict },
    ))
}

/// A Job's pods are named after it.
fn is_of_run(run: &str, pod: &str) -> bool {
    pod.strip_prefix(run).is_some_and(|rest| rest.starts_with('-'))
}
