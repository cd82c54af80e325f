//! Runs a CronJob now.

use super::Action;
use crate::api::Remedy;
use crate::diagnosis::language::phrase;
use crate::diagnosis::target::Target;
use crate::diagnosis::{remedy, text};

pub(super) const ACTION: Action = Action {
    name: "run-cron-job",
    doc: "Creates a Job from the CronJob, outside of its schedule. Offered for CronJobs. Undo: kubectl delete job.",
    params: &[],
    has_text: true,
    build: |ask| {
        let remedy = remedy(ask.target.as_ref()?)?;
        Some(if ask.text.is_empty() { remedy } else { Remedy { text: ask.text.clone(), ..remedy } })
    },
};

/// The remedy; `None` for another kind than a `CronJob`.
pub(crate) fn remedy(cron_job: &Target) -> Option<Remedy> {
    let text = phrase!(cron_job, "Run it now, if the next run is too late.");
    // The name of a Job has 63 characters at most, and its pods need some of them.
    let short = text::cut(&cron_job.name, 40);
    let short = short.trim_end_matches('…');
    let command = format!("{} create job --from={} {short}-manual", cron_job.command_prefix(), cron_job.argument());
    (&*cron_job.kind == "CronJob").then(|| remedy::command(remedy::fix(text), command))
}
