//! Restricts pods to certain nodes with a node selector.

use serde_json::json;

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-node-selector",
    doc: "Sets a label in the nodeSelector of the template; removes the label `replaces`. Without a value, it opens \
          the template in an editor.",
    params: &["key", "value", "replaces"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (target, key) = (ask.target.as_ref()?, ask.with("key")?);
    let Some(value) = ask.with("value") else { return edit_template::build(ask) };
    let selected = ask.subject.pod().and_then(|case| case.pod.node_selector.get(key));
    if selected.is_some_and(|selected| selected == value) {
        return None;
    }
    // A merge patch removes a key that is set to null.
    let old = ask.with("replaces").filter(|old| *old != key);
    let mut labels = json!({ key: value });
    if let Some(old) = old {
        labels[old] = json!(null);
    }
    let fields = json!({ "nodeSelector": labels });
    Some(target.with_pod_patch(ask.remedy(), fields))
}
