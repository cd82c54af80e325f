//! CronJobs: a run that failed, and a run that never was.

use super::case::{WorkloadCase, WorkloadJudged};
use super::creation::{self, Creation};
use super::job::{BLOCKED, JOB_FAILED, Said};
use super::pods::Pods;
use super::tell::{Own, Verdict, Why, tell};
use super::{job, known, remedies};
use crate::api::{Confidence, Severity};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{evidence, text};
use crate::facts::{Condition, CronJobFacts, EventFacts, OwnFacts, Timestamp, WorkloadFacts, seconds_between};

/// An Event that is older than this, in seconds, says nothing of the present.
const STALE: i64 = 3600;
/// A run that goes on for so long, in seconds, while others wait for it, is no ordinary run ...
const HOLDS_UP: i64 = 1800;
/// ... if so many were left out for it.
const LEFT_OUT: u32 = 3;

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let OwnFacts::CronJob(cron) = &case.workload.own else { return WorkloadJudged::default() };
    if case.workload.suspended {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    if let Some(own) = bad_schedule(case, cron) {
        return not_scheduled(case, &pods, phrase!(case, "never runs"), own);
    }
    if let Some((run, condition)) = failed_run(case) {
        return run_failed(case, &pods, run, condition);
    }
    let stuck = pods.among(job::never_gets_on);
    if let Some(group) = stuck.dominant(|_| false) {
        let stands = phrase!(case, "its run cannot get on").to_owned();
        let verdict = Verdict::new(BLOCKED, Severity::Warning, stands, Why::Pods(group));
        return WorkloadJudged::failing(tell(case, &stuck, verdict));
    }
    match creation::look(case, |event| is_still_refused(case, cron, event)) {
        Creation::NotBefore(at) => return WorkloadJudged::later(at),
        Creation::Refused(own) => return not_scheduled(case, &pods, phrase!(case, "a run could not be started"), own),
        Creation::Well => {}
    }
    match held_up(case, cron).or_else(|| missed(case, cron)) {
        Some(own) => not_scheduled(case, &pods, "", own),
        None if awaits_a_run(case) => WorkloadJudged::stands(),
        None => WorkloadJudged::default(),
    }
}

/// Whether a failure that was told is not over yet. That the run that failed is not there any more, or that the next one is
/// being made, shows nothing: a run that gets on does.
fn awaits_a_run(case: &WorkloadCase<'_>) -> bool {
    const OF_THE_SCHEDULE: [&str; 3] = [known::CRON_JOB_SCHEDULE_BAD, known::CRON_JOB_MISSED, known::CRON_JOB_FORBID];
    let Some(told) = case.told else { return false };
    let began = told.head.first_seen;
    if OF_THE_SCHEDULE.contains(&&*told.head.cause) || case.workload.last_successful.is_some_and(|at| Some(at) >= began)
    {
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

/// The newest Event of these reasons that may be of the present.
fn last_event<'a>(
    case: &WorkloadCase<'a>,
    reasons: &[&str],
    also: impl Fn(&EventFacts) -> bool,
) -> Option<&'a EventFacts> {
    let told = case.events.iter().rev().filter(|event| reasons.contains(&&*event.reason) && also(event));
    told.into_iter().find(|event| event.last.is_none_or(|at| seconds_between(at, case.now) < STALE))
}

/// A schedule that cannot be read is told once, and not looked at again until it is changed: the Event stands as long as
/// the schedule that it names does.
fn bad_schedule(case: &WorkloadCase<'_>, cron: &CronJobFacts) -> Option<Box<Own>> {
    const REASONS: [&str; 4] =
        ["UnparseableSchedule", "UnParseableCronJobSchedule", "InvalidSchedule", "UnknownTimeZone"];
    let is_present = |event: &&EventFacts| {
        REASONS.contains(&&*event.reason)
            && match &*event.reason {
                "UnknownTimeZone" => cron.time_zone.as_ref().is_some_and(|zone| event.message.contains(zone.as_str())),
                _ => !cron.schedule.is_empty() && event.message.contains(cron.schedule.as_str()),
            }
            && cron.last_schedule.is_none_or(|run| event.last.is_some_and(|at| at > run))
    };
    let event = case.events.iter().rev().find(is_present)?;
    let schedule = &cron.schedule;
    let summary = match (&*event.reason, &cron.time_zone) {
        ("UnknownTimeZone", Some(zone)) => say!(case, "the controller does not know its time zone {zone}", zone),
        ("InvalidSchedule", _) => say!(case, "its schedule \"{schedule}\" never comes", schedule),
        _ => say!(case, "its schedule \"{schedule}\" cannot be read", schedule),
    };
    Some(Box::new(Own {
        cause: known::CRON_JOB_SCHEDULE_BAD,
        confidence: Confidence::Certain,
        summary,
        remedies: remedies::schedule(case, &event.reason),
        evidence: vec![evidence::event(event)],
        root: None,
    }))
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
        // What its condition says is told once.
        Said::Nothing => (
            pods.among(|_| false),
            Why::Own(job::of_condition(case, run, condition)),
            phrase!(case, "failed").to_owned(),
        ),
    };
    let severity = own.failing.iter().map(|pod| pod.severity).min().unwrap_or(Severity::Warning);
    let stands = say!(case, "its run {name} {gave_up}", name = text::cut(name, 63), gave_up);
    let verdict = Verdict::new(JOB_FAILED, severity, stands, why);
    WorkloadJudged::failing(tell(case, &own, Verdict { after: vec![remedies::run_now(case)], ..verdict }))
}

/// A Job's pods are named after it.
fn is_of_run(run: &str, pod: &str) -> bool {
    pod.strip_prefix(run).is_some_and(|rest| rest.starts_with('-'))
}

/// A run that does not end keeps all others from starting.
fn held_up(case: &WorkloadCase<'_>, cron: &CronJobFacts) -> Option<Box<Own>> {
    let event = last_event(case, &["JobAlreadyActive"], |event| event.count >= LEFT_OUT)?;
    let began = cron.last_schedule?;
    let age = seconds_between(began, case.now);
    if cron.concurrency != "Forbid" || case.workload.current <= 0 || age < HOLDS_UP {
        return None;
    }
    let running: Option<&WorkloadFacts> =
        case.jobs.iter().filter(|run| job::failed(run).is_none() && !run.is_complete()).max_by_key(|run| run.created);
    let name = running.map(|run| format!(" {}", text::cut(&run.key.name, 63))).unwrap_or_default();
    Some(Box::new(Own {
        cause: known::CRON_JOB_FORBID,
        confidence: Confidence::Likely,
        summary: say!(
            case,
            "its run{name} has not ended, and concurrencyPolicy Forbid keeps all later ones from starting",
            name
        ),
        remedies: remedies::held_up(case, running),
        evidence: vec![evidence::event(event)],
        root: None,
    }))
}

/// A run that was due and did not start in time, and none since.
fn missed(case: &WorkloadCase<'_>, cron: &CronJobFacts) -> Option<Box<Own>> {
    let since_last = |event: &EventFacts| cron.last_schedule.is_none_or(|run| event.last.is_some_and(|at| at > run));
    let event = last_event(case, &["MissSchedule"], since_last)?;
    let due = event
        .message
        .split_once("start a job: ")
        .map(|(_, due)| say!(case, " of {time}", time = due))
        .unwrap_or_default();
    let deadline =
        cron.starting_deadline.map(|s| say!(case, " within {s} s (startingDeadlineSeconds)", s)).unwrap_or_default();
    Some(Box::new(Own {
        cause: known::CRON_JOB_MISSED,
        confidence: Confidence::Certain,
        summary: say!(case, "the run{due} was not started{deadline}, and none has been since", due, deadline),
        remedies: remedies::missed(case),
        evidence: vec![evidence::event(event)],
        root: None,
    }))
}
