//! Deletes a Node object.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "delete-node",
    doc: "Deletes the Node object of a machine that is gone; its pods are then deleted as well. Undo: the kubelet of a machine \
          that comes back registers it again.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(remedy::command(ask.remedy(), format!("kubectl delete node {}", shell_word(ask.subject.node_name()?))))
}
