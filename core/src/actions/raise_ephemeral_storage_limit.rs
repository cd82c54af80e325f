//! Doubles the ephemeral-storage limit of a container.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::format_bytes;

pub(super) const ACTION: Action = Action {
    name: "raise-ephemeral-storage-limit",
    doc: "Doubles limits.ephemeral-storage of the container (parameter `container`, else the one of the finding) \
          in the template. Offered if it has such a limit.",
    params: &["container"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let named = ask.with("container").and_then(|name| ask.subject.pod()?.pod.container(name));
    let container = named.or(ask.container)?;
    let raised = format_bytes(container.limits.ephemeral_storage?.saturating_mul(2));
    let fields = json!({"resources": {"limits": {"ephemeral-storage": raised}}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
