//! Removes unused images from a node.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "prune-images",
    doc: "Removes the images that no container uses; run on the node. Offered if the node is known.",
    params: &[],
    has_text: false,
    undo: Undo::NotNeeded,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    ask.subject.node_name()?;
    Some(remedy::command(ask.remedy(), "crictl rmi --prune"))
}
