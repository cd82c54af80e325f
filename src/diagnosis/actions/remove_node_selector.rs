//! Lets pods run on nodes without a label.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "remove-node-selector",
    doc: "Removes a label from the nodeSelector of the template. Offered where the pod selects nodes by it. \
          Undo: add the label to the nodeSelector again.",
    params: &["key"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let key = ask.with("key")?;
    ask.subject.pod()?.pod.node_selector.get(key)?;
    // A merge patch removes a key that is set to null.
    let fields = format!("nodeSelector:\n  {}: null\n", yaml_string(key));
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
