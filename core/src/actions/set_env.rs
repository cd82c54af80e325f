//! Sets an environment variable of a container.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "set-env",
    doc: "Sets an environment variable of the container in the template; a bare pod or a Job is created again. You fill in the value.",
    params: &["name"],
    has_text: false,
    undo: Undo::Command("kubectl set env KIND/NAME VARIABLE-"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (target, container, name) = (ask.target.as_ref()?, ask.container?, ask.with("name")?);
    let arguments = format!("-c {} {}=<VALUE>", shell_word(&container.name), shell_word(name));
    Some(target.with_set(ask.remedy(), container, "env", &arguments))
}
