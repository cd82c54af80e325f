//! Opens the object with the pod template in an editor.

use super::{Action, Ask, Undo};
use crate::case::{Operation, Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "edit-template",
    doc: "Opens the workload in an editor, for a change that you must decide on. There is no command if the template \
          cannot be changed (a Job, a bare pod; the text then states that the object must be replaced), or if a \
          webhook adds the container, which is then in no template.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

pub(super) fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    if ask.container.is_some_and(|container| target.is_injected(container)) {
        return Some(ask.remedy());
    }
    Some(if target.is_patchable() {
        let edit = format!("{} edit {}", target.command_prefix(), target.argument());
        remedy::command_for(target.with_source(ask.remedy()), Operation::ChangeTemplate, edit)
    } else {
        target.with_replacement(ask.remedy())
    })
}
