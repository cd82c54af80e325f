//! Changes the resources of a running pod.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Operation, Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "resize-pod",
    doc: "Opens the resources of the running pod in an editor (subresource resize). You choose the amounts. The next \
          pod has those of the template.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let key = &ask.subject.pod()?.pod.key;
    let command = format!("kubectl -n {} edit pod {} --subresource=resize", key.namespace, shell_word(&key.name));
    Some(remedy::command_for(ask.remedy(), Operation::ChangePod, command))
}
