//! Runs a pod with the default container runtime of its node.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-runtime-class",
    doc: "Removes runtimeClassName from the template, for causes that state that the pod has one.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), json!({"runtimeClassName": null})))
}
