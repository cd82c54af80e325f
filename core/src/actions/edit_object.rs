//! Opens an object in the pod's namespace in an editor.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "edit-object",
    doc: "Opens an object of the namespace, such as a ResourceQuota, in an editor, for a change that you must decide \
          on.",
    params: &["kind", "name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build: |ask| build(ask, ask.with("kind")?, ask.with("name")?),
};

pub(super) fn build(ask: &Ask<'_>, kind: &str, name: &str) -> Option<Remedy> {
    let prefix = ask.target.as_ref()?.command_prefix();
    Some(remedy::command(ask.remedy(), format!("{prefix} edit {} {}", shell_word(kind), shell_word(name))))
}
