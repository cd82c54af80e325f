//! Drains a node.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "drain",
    doc: "Cordons the node and evicts its pods, except those of DaemonSets; data in emptyDir volumes is lost. \
          Offered if the node is known.",
    params: &[],
    has_text: false,
    undo: Undo::Command("kubectl uncordon NODE"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let node = shell_word(ask.subject.node_name()?);
    let command = format!("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data");
    Some(remedy::command(ask.remedy(), command))
}
