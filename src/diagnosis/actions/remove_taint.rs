//! Opens a node that a taint closes.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "remove-taint",
    doc: "Removes a taint from a node, with all its effects. Offered where the node has the taint. Undo: kubectl taint node.",
    params: &["node", "key"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (node, key) = (ask.with("node")?, ask.with("key")?);
    let taints = &ask.subject.pod()?.nodes.get(node)?.facts.taints;
    let of_key: Vec<_> = taints.iter().filter(|taint| taint.key == key).collect();
    // Without an effect, all taints of the key are removed.
    let effect = match of_key.as_slice() {
        [] => return None,
        [only] => format!(":{}", only.effect),
        _ => String::new(),
    };
    let command = format!("kubectl taint node {} {}{effect}-", shell_word(node), shell_word(key));
    Some(remedy::command(ask.remedy(), command))
}
