//! Sets an environment variable of a container.

use super::{Action, Ask, Undo};
use crate::case::target::{is_injected, shell_word};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "set-env",
    doc: "Sets an environment variable of the container in the template. You fill in the value.",
    params: &["name"],
    has_text: false,
    undo: Undo::Command("kubectl set env KIND/NAME VARIABLE-"),
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (target, container, name) = (ask.target.as_ref()?, ask.container?, ask.with("name")?);
    if is_injected(container) {
        return Some(ask.remedy());
    }
    Some(if target.is_patchable() {
        let (prefix, of, container) = (target.command_prefix(), target.argument(), shell_word(&container.name));
        let command = format!("{prefix} set env {of} -c {container} {}=<VALUE>", shell_word(name));
        remedy::command(target.with_source(ask.remedy()), command)
    } else {
        target.with_replacement(ask.remedy())
    })
}
