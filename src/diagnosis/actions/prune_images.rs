//! Removes unused images of a node.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;

pub(super) const ACTION: Action = Action {
    name: "prune-images",
    doc: "Removes the images that no container uses; run on the node. Offered where the node is known. Undo: none needed, the \
          kubelet pulls them again.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    ask.subject.node_name()?;
    Some(remedy::command(ask.remedy(), "crictl rmi --prune"))
}
