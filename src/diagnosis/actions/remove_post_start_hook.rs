//! Removes the postStart hook of a container.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-post-start-hook",
    doc: "Removes lifecycle.postStart of the container. Offered where it has one. Undo: add the hook again.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container.filter(|container| container.has_post_start)?;
    let fields = "lifecycle:\n  postStart: null\n";
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
