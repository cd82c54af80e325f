//! Changes the resource requests of a container.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-requests",
    doc: "Sets the request of a container for a resource, with its limit where the two must be equal (devices, \
          huge pages). Without the parameter `container`, it is the failing container; with `level: pod`, it is the pod as a \
          whole (spec.resources).",
    params: &["container", "level", "resource", "amount"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    if ask.with("level") == Some("pod") {
        let (resource, amount) = (ask.with("resource")?, ask.with("amount")?);
        let fields = json!({"resources": {"requests": {resource: amount}}});
        return Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields));
    }
    let named = ask.with("container").and_then(|name| ask.subject.pod()?.pod.container(name));
    let container = named.or(ask.container)?;
    let (resource, amount) = (ask.with("resource")?, ask.with("amount")?);
    let mut resources = json!({"requests": {resource: amount}});
    if !matches!(resource, "cpu" | "memory" | "ephemeral-storage") {
        resources["limits"] = json!({ resource: amount });
    }
    let fields = json!({ "resources": resources });
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
