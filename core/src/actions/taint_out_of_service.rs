//! Taints a node as out of service, once its machine is shut down.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

const TAINT: &str = "node.kubernetes.io/out-of-service";

pub(super) const ACTION: Action = Action {
    name: "taint-out-of-service",
    doc: "Adds the taint node.kubernetes.io/out-of-service to the node, so that its pods are deleted and their \
          volumes detached. Only for a machine that is off: two pods could write to one volume otherwise. Offered \
          where the node has no such taint.",
    params: &[],
    has_text: false,
    undo: Undo::Command("kubectl taint node NODE node.kubernetes.io/out-of-service-"),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let has_taint = |node: &crate::facts::NodeFacts| node.taints.iter().any(|taint| taint.key == TAINT);
    if ask.subject.node().is_some_and(has_taint) {
        return None;
    }
    let node = shell_word(ask.subject.node_name()?);
    Some(remedy::command(ask.remedy(), format!("kubectl taint node {node} {TAINT}=nodeshutdown:NoExecute")))
}
