//! Opens another object of the namespace in an editor.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "edit-object",
    doc: "Opens an object of the namespace, such as a ResourceQuota, in an editor, for a change that only a human can make. \
          Undo: edit the field back.",
    params: &["kind", "name"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (kind, name) = (ask.with("kind")?, ask.with("name")?);
    let prefix = ask.target.as_ref()?.command_prefix();
    Some(remedy::command(ask.remedy(), format!("{prefix} edit {} {}", shell_word(kind), shell_word(name))))
}
