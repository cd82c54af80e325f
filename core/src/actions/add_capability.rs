//! Gives a container a Linux capability.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "add-capability",
    doc: "Adds a capability to those in securityContext.capabilities.add of the container.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let name = ask.with("name")?;
    let present = &ask.container?.added_capabilities;
    if present.iter().any(|known| known == name || known == "ALL") {
        return None;
    }
    // A patch replaces the whole list.
    let all: Vec<&str> = present.iter().map(String::as_str).chain([name]).collect();
    let fields = json!({"securityContext": {"capabilities": {"add": all}}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
