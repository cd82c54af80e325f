//! Removes a taint from a node.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "remove-taint",
    doc: "Removes a taint from a node, with all its effects. Offered if the node has the taint.",
    params: &["node", "key"],
    has_text: false,
    undo: Undo::Command("kubectl taint node NODE KEY=VALUE:EFFECT"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (node, key) = (ask.with("node")?, ask.with("key")?);
    let taints = &ask.subject.pod()?.nodes.get(node)?.facts.taints;
    let of_key: Vec<_> = taints.iter().filter(|taint| taint.key == key).collect();
    // Without an effect, kubectl removes all taints with this key.
    let effect = match of_key.as_slice() {
        [] => return None,
        [only] => format!(":{}", only.effect),
        _ => String::new(),
    };
    let command = format!("kubectl taint node {} {}{effect}-", shell_word(node), shell_word(key));
    Some(remedy::command(ask.remedy(), command))
}
