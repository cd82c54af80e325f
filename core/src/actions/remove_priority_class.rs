//! Runs pods with the default priority of the cluster.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-priority-class",
    doc: "Removes priorityClassName from the template, for causes that state that the pod has one.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), json!({"priorityClassName": null})))
}
