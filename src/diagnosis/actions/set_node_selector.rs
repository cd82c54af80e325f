//! Keeps pods on certain nodes.

use super::{Action, Ask, edit_template};
use crate::api::Remedy;
use crate::diagnosis::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "set-node-selector",
    doc: "Adds a label to the nodeSelector of the template. Without a value, which value only a human knows, and the \
          template is opened in an editor. Undo: remove the label from the nodeSelector.",
    params: &["key", "value"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (target, key) = (ask.target.as_ref()?, ask.with("key")?);
    let Some(value) = ask.with("value") else { return edit_template::build(ask) };
    let fields = format!("nodeSelector:\n  {}: {}\n", yaml_string(key), yaml_string(value));
    Some(target.with_pod_patch(ask.remedy(), &fields))
}
