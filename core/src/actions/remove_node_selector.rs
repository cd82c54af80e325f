//! Removes a key from the node selector of the pods.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-node-selector",
    doc: "Removes a label from the nodeSelector of the template. Offered if the pod selects nodes by it.",
    params: &["key"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let key = ask.with("key")?;
    ask.subject.pod()?.pod.node_selector.get(key)?;
    // A merge patch removes a key that is set to null.
    let fields = json!({"nodeSelector": {key: null}});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
