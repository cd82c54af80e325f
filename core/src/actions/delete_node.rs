//! Deletes a Node object.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "delete-node",
    doc: "Deletes the Node object of a machine that no longer exists. Its pods are then deleted too.",
    params: &[],
    has_text: false,
    undo: Undo::ByHand("The kubelet of a machine that comes back registers it again."),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(remedy::command(ask.remedy(), format!("kubectl delete node {}", shell_word(ask.subject.node_name()?))))
}
