//! Doubles the memory limit of a container.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::facts::format_bytes;

pub(super) const ACTION: Action = Action {
    name: "raise-memory-limit",
    doc: "Doubles the memory limit of the container and requests as much. Offered where it has a limit. \
          Undo: set the old limit and request.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let raised = format_bytes(ask.container?.limits.memory?.saturating_mul(2));
    let fields = format!("resources:\n  requests:\n    memory: {raised}\n  limits:\n    memory: {raised}\n");
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, &fields))
}
