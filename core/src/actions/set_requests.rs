//! Changes the resource requests of a container.

use std::fmt::Write as _;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "set-requests",
    doc: "Sets the request of a container for a resource, with its limit where the two must be equal (devices, \
          huge pages). Without the parameter `container`, it is the failing container.",
    params: &["container", "resource", "amount"],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let named = ask.with("container").and_then(|name| ask.subject.pod()?.pod.container(name));
    let container = named.or(ask.container)?;
    let (resource, amount) = (ask.with("resource")?, yaml_string(ask.with("amount")?));
    let mut fields = format!("resources:\n  requests:\n    {resource}: {amount}\n");
    if !matches!(resource, "cpu" | "memory" | "ephemeral-storage") {
        let _ = write!(fields, "  limits:\n    {resource}: {amount}\n");
    }
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), &fields))
}
