//! Runs a Job again.

use super::Action;
use crate::api::Remedy;
use crate::diagnosis::language::phrase;
use crate::diagnosis::remedy;
use crate::diagnosis::target::Target;

pub(super) const ACTION: Action = Action {
    name: "recreate-job",
    doc: "Deletes a Job that has failed, so that it can be created again from its manifest: it does not start again by \
          itself. Offered for Jobs. Undo: create the Job again.",
    params: &[],
    has_text: true,
    build: |ask| remedy(ask.target.as_ref()?),
};

/// The remedy; `None` for another kind than a Job.
pub(crate) fn remedy(job: &Target) -> Option<Remedy> {
    let text = phrase!(job, "Then delete the Job and create it again: a Job that has failed does not start again.");
    let command = format!("{} delete {}", job.command_prefix(), job.argument());
    (&*job.kind == "Job").then(|| remedy::command(remedy::fix(text), command))
}
