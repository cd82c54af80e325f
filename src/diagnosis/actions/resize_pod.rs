//! Changes the resources of a running pod.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "resize-pod",
    doc: "Opens the resources of the running pod in an editor (subresource resize). Which amounts only a human knows. The next \
          pod has those of the template. Undo: set the old amounts the same way.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let key = &ask.subject.pod()?.pod.key;
    let command = format!("kubectl -n {} edit pod {} --subresource=resize", key.namespace, shell_word(&key.name));
    Some(remedy::command(ask.remedy(), command))
}
