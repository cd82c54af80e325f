//! Closes the pod's node for new pods.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "cordon",
    doc: "Marks the pod's node unschedulable, so that the next pods start elsewhere. Offered where the node is known. \
          Undo: kubectl uncordon.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let node = ask.subject.node_name()?;
    Some(remedy::command(ask.remedy(), format!("kubectl cordon {}", shell_word(node))))
}
