//! Opens the object that holds the template in an editor.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;

pub(super) const ACTION: Action = Action {
    name: "edit-template",
    doc: "Opens the workload in an editor, for a change that only a human can make. Without a command where the template \
          cannot be changed (a Job, a bare pod); the text then states that the object must be replaced. \
          Undo: edit the field back.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    Some(if target.is_patchable() {
        remedy::command(ask.remedy(), format!("{} edit {}", target.command_prefix(), target.argument()))
    } else {
        target.with_replacement(ask.remedy())
    })
}
