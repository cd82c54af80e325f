//! Gives a node a label.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "label-node",
    doc: "Sets a label, KEY=VALUE, on a node. Offered where the node is known and does not have it. \
          Undo: set the old value, or remove the label with kubectl label node KEY-.",
    params: &["node", "label"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (node, label) = (ask.with("node")?, ask.with("label")?);
    let (key, value) = label.split_once('=')?;
    let overwrite = match ask.subject.pod()?.nodes.get(node)?.facts.labels.get(key) {
        Some(present) if present == value => return None,
        Some(_) => " --overwrite",
        None => "",
    };
    let command = format!("kubectl label node {} {}{overwrite}", shell_word(node), shell_word(label));
    Some(remedy::command(ask.remedy(), command))
}
