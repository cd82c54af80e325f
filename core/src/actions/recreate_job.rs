//! Recreates a Job.

use super::{Action, Undo};
use crate::case::target::Target;
use crate::case::{Operation, Remedy, remedy};
use crate::language::phrase;

pub(super) const ACTION: Action = Action {
    name: "recreate-job",
    doc: "Deletes a Job that has failed, so that it can be created again from its manifest: it does not start \
          again by itself. Offered for Jobs.",
    params: &[],
    has_text: true,
    undo: Undo::ByHand("Create the Job again from its manifest; save it first with `kubectl get job NAME -o yaml`."),
    needed_names: None,
    build: |ask| remedy(ask.target.as_ref()?),
};

/// Builds the remedy; `None` if the object is not a Job.
pub(crate) fn remedy(job: &Target) -> Option<Remedy> {
    let text = phrase!(
        job,
        "Then delete the Job and create it again: a Job that has failed does not start again.",
        "その後 Job を削除して作り直す: 失敗した Job が再び始まることはない。"
    );
    let command = format!("{} delete {}", job.command_prefix(), job.argument());
    (&*job.kind == "Job").then(|| remedy::command_for(remedy::fix(text), Operation::Recreate, command))
}
