//! Gives a container a Linux capability.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "add-capability",
    doc: "Adds a capability to securityContext.capabilities of the container.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let fields = json!({"securityContext": {"capabilities": {"add": [ask.with("name")?]}}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
