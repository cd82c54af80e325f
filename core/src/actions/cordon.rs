//! Cordons the pod's node.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "cordon",
    doc: "Marks the pod's node unschedulable, so that the next pods start elsewhere. Offered if the node is \
          known.",
    params: &[],
    has_text: false,
    undo: Undo::Command("kubectl uncordon NODE"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let node = ask.subject.node_name()?;
    Some(remedy::command(ask.remedy(), format!("kubectl cordon {}", shell_word(node))))
}
