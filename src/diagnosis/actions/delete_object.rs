//! Deletes another object of the namespace.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "delete-object",
    doc: "Deletes an object of the namespace, such as a Job that hangs. Offered where its name is known. \
          Undo: create it again from its manifest.",
    params: &["kind", "name"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (kind, name) = (ask.with("kind")?, ask.with("name")?);
    let prefix = ask.target.as_ref()?.command_prefix();
    Some(remedy::command(ask.remedy(), format!("{prefix} delete {} {}", shell_word(kind), shell_word(name))))
}
