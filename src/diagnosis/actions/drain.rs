//! Moves the pods of a node to other nodes.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "drain",
    doc: "Cordons the node and evicts its pods, those of DaemonSets excepted; data in emptyDir volumes is lost. Offered where \
          the node is known. Undo: kubectl uncordon.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let node = shell_word(ask.subject.node_name()?);
    let command = format!("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data");
    Some(remedy::command(ask.remedy(), command))
}
