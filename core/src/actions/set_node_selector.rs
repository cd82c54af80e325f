//! Restricts pods to certain nodes with a node selector.

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::case::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "set-node-selector",
    doc: "Sets a label in the nodeSelector of the template; removes the label `replaces`. Without a value, it opens \
          the template in an editor.",
    params: &["key", "value", "replaces"],
    has_text: false,
    undo: Undo::OldValues,
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
    let old = old.map(|old| format!("  {}: null\n", yaml_string(old))).unwrap_or_default();
    let fields = format!("nodeSelector:\n{old}  {}: {}\n", yaml_string(key), yaml_string(value));
    Some(target.with_pod_patch(ask.remedy(), &fields))
}
