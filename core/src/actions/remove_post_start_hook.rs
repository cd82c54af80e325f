//! Removes the postStart hook of a container.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-post-start-hook",
    doc: "Removes lifecycle.postStart of the container. Offered if it has one.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container.filter(|container| container.post_start.is_some())?;
    let fields = json!({"lifecycle": {"postStart": null}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
