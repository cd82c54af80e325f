//! Turns a helper container into a native sidecar.

use super::{Action, Ask, Undo};
use crate::case::{Operation, Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "native-sidecar",
    doc: "Opens the template in an editor, to move the container to initContainers with restartPolicy: Always. \
          Offered if the template has the container, so not for one that a webhook adds.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    ask.container.filter(|container| !target.is_injected(container))?;
    Some(if target.is_patchable() {
        let edit = format!("{} edit {}", target.command_prefix(), target.argument());
        remedy::command_for(target.with_source(ask.remedy()), Operation::ChangeTemplate, edit)
    } else {
        target.with_replacement(ask.remedy())
    })
}
