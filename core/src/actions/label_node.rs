//! Adds a label to a node.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "label-node",
    doc: "Sets a label, KEY=VALUE, on a node. Offered if the node is known and does not have it.",
    params: &["node", "label"],
    has_text: false,
    undo: Undo::Command("kubectl label node NODE KEY-"),
    needed_names: None,
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
