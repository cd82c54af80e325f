//! Opens a cordoned node for new pods.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "uncordon",
    doc: "Marks a node schedulable again. Offered where the node is known and cordoned. Undo: kubectl cordon.",
    params: &["node"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let node = ask.with("node")?;
    let is_cordoned = ask.subject.pod()?.nodes.get(node)?.facts.unschedulable;
    is_cordoned.then(|| remedy::command(ask.remedy(), format!("kubectl uncordon {}", shell_word(node))))
}
