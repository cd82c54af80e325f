//! Keeps pods on certain nodes.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;

pub(super) const ACTION: Action = Action {
    name: "set-node-selector",
    doc: "Adds a label to the nodeSelector of the template. Without a value, which value only a human knows, and the \
          template is opened in an editor. Undo: remove the label from the nodeSelector.",
    params: &["key", "value"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    use crate::diagnosis::target::yaml_string;
    let (target, key) = (ask.target.as_ref()?, ask.with("key")?);
    Some(match ask.with("value") {
        Some(value) => {
            let fields = format!("nodeSelector:\n  {}: {}\n", yaml_string(key), yaml_string(value));
            target.with_pod_patch(ask.remedy(), &fields)
        }
        None if target.is_patchable() => {
            let edit = format!("{} edit {}", target.command_prefix(), target.argument());
            remedy::command(ask.remedy(), edit)
        }
        None => target.with_replacement(ask.remedy()),
    })
}
