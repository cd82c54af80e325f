//! Changes the command of a container.

use serde_json::json;

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-command",
    doc: "Sets command of the container to a list in JSON. Without a list, it opens the template in an editor.",
    params: &["command"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let Some(command) = ask.with("command") else { return edit_template::build(ask) };
    let words: Vec<String> = serde_json::from_str(command).ok()?;
    if ask.container.is_some_and(|container| container.command == words) {
        return None;
    }
    let fields = json!({ "command": words });
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
