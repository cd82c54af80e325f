//! Uncordons a node.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "uncordon",
    doc: "Marks a node schedulable again. Offered if the node is known and cordoned.",
    params: &["node"],
    has_text: false,
    undo: Undo::Command("kubectl cordon NODE"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let node = ask.with("node")?;
    let facts = match ask.subject.pod() {
        Some(case) => &case.nodes.get(node)?.facts,
        None => ask.subject.node()?,
    };
    facts.unschedulable.then(|| remedy::command(ask.remedy(), format!("kubectl uncordon {}", shell_word(node))))
}
