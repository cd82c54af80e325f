//! Raises the memory limit of a container.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::{format_bytes, parse_bytes};

pub(super) const ACTION: Action = Action {
    name: "raise-memory-limit",
    doc: "Doubles the memory limit of the container, at least to `atLeast`, and sets the memory request to the same \
          amount, so that it is reserved on the node. Offered if the container has a limit.",
    params: &["atLeast"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let limit = ask.container?.limits.memory?;
    let least = ask.with("atLeast").and_then(parse_bytes).unwrap_or_default();
    let raised = format_bytes(limit.saturating_mul(2).max(least));
    let fields = json!({"resources": {"requests": {"memory": raised}, "limits": {"memory": raised}}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
