//! The signal `cronJob`.

use super::signal;
use crate::case::WorkloadCase;
use crate::facts::{CronJobFacts, EventFacts, WorkloadFacts, seconds_between};
use crate::message;

signal! {
    /// A Warning Event of the CronJob controller about the schedule of a CronJob.
    /// Source: pkg/controller/cronjob/cronjob_controllerv2.go syncCronJob.
    pub(crate) struct CronJob<'a> as "cronJob" {
        case: &'a WorkloadCase<'a>, cron: &'a CronJobFacts, event: &'a EventFacts, running: Option<&'a WorkloadFacts>,
    }
    reason: |of| &of.event.reason, message: &of.event.message;

    /// Reason of the Event.
    "event": fn event_reason(&self) -> &str { &self.event.reason }

    /// Error of the Event, at most 150 characters. Source: Event message.
    "message": fn message(&self) -> String {
        let message = &*self.event.message;
        let error = message.strip_prefix("Cannot determine if job needs to be started: ").unwrap_or(message);
        message::fit_error(error, 150)
    }

    /// How often the Event occurred.
    "times": fn times(&self) -> u32 { self.event.count }

    /// Seconds since the Event occurred last; 0 where its time is not known.
    "secondsSinceEvent": fn seconds_since_event(&self) -> i64 {
        self.event.last.map_or(0, |last| seconds_between(last, self.case.now))
    }

    /// Whether the Event is newer than the last run. Source: status.lastScheduleTime.
    "afterLastRun": fn after_last_run(&self) -> bool {
        self.cron.last_schedule.is_none_or(|run| self.event.last.is_some_and(|at| at > run))
    }

    /// Whether the Event names the present schedule, or the present time zone where it is about that.
    "namesPresentSchedule": fn names_present_schedule(&self) -> bool {
        let message = &self.event.message;
        match &*self.event.reason {
            "UnknownTimeZone" => self.cron.time_zone.as_ref().is_some_and(|zone| message.contains(zone.as_str())),
            _ => !self.cron.schedule.is_empty() && message.contains(self.cron.schedule.as_str()),
        }
    }

    /// The schedule. Source: spec.schedule.
    "schedule": fn schedule(&self) -> &str { &self.cron.schedule }

    /// The time zone of the schedule. Source: spec.timeZone.
    "timeZone": fn time_zone(&self) -> Option<&str> { self.cron.time_zone.as_deref() }

    /// `Allow`, `Forbid` or `Replace`. Source: spec.concurrencyPolicy.
    "concurrencyPolicy": fn concurrency_policy(&self) -> &str { &self.cron.concurrency }

    /// How late a run may start, in seconds. Source: spec.startingDeadlineSeconds.
    "startingDeadlineSeconds": fn starting_deadline_seconds(&self) -> Option<i64> { self.cron.starting_deadline }

    /// When the missed run was due. Source: message of Event MissSchedule.
    "dueAt": fn due_at(&self) -> &str { self.event.message.split_once("start a job: ").map_or("", |(_, due)| due) }

    /// How many of its Jobs run. Source: status.active.
    "activeJobs": fn active_jobs(&self) -> i64 { self.case.workload.current }

    /// Seconds since the last run was started. Source: status.lastScheduleTime.
    "secondsSinceLastRun": fn seconds_since_last_run(&self) -> Option<i64> {
        self.cron.last_schedule.map(|began| seconds_between(began, self.case.now))
    }

    /// Name of the newest of its Jobs that has not finished; empty if it is not known. Source: the Jobs, else status.active.
    "runningJob": fn running_job(&self) -> Option<&str> {
        self.running.map(|run| &*run.key.name).or(self.cron.active_job.as_deref())
    }
}
