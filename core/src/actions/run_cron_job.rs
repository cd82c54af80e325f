//! Runs a CronJob once, now.

use super::{Action, Undo};
use crate::case::target::Target;
use crate::case::{Remedy, remedy};
use crate::language::phrase;
use crate::message::text;

pub(super) const ACTION: Action = Action {
    name: "run-cron-job",
    doc: "Creates a Job from the CronJob, outside of its schedule. Offered for CronJobs.",
    params: &[],
    has_text: true,
    undo: Undo::Command("kubectl delete job NAME"),
    needed_names: None,
    build: |ask| {
        let remedy = remedy(ask.target.as_ref()?)?;
        Some(if ask.text.is_empty() { remedy } else { Remedy { text: ask.text.clone(), ..remedy } })
    },
};

/// Builds the remedy; `None` if the object is not a `CronJob`.
pub(crate) fn remedy(cron_job: &Target) -> Option<Remedy> {
    let text = phrase!(cron_job, "Run it now, if the next run is too late.", "次の実行を待てないなら、今実行する。");
    // A Job name has at most 63 characters, and the names of its pods add a suffix.
    let short = text::cut(&cron_job.name, 40);
    let short = short.trim_end_matches('…');
    let command = format!("{} create job --from={} {short}-manual", cron_job.command_prefix(), cron_job.argument());
    (&*cron_job.kind == "CronJob").then(|| remedy::command(remedy::fix(text), command))
}
