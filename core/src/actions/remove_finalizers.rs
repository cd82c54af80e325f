//! Removes the finalizers of a pod.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Operation, Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "remove-finalizers",
    doc: "Removes all finalizers of the pod, so that the API server deletes it. The cleanup of the finalizers' \
          controllers is skipped. Offered if the pod has finalizers.",
    params: &[],
    has_text: false,
    undo: Undo::Impossible,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let pod = ask.subject.pod()?.pod;
    if pod.finalizers.is_empty() {
        return None;
    }
    let command = format!(
        "kubectl -n {} patch pod {} --type=merge -p '{{\"metadata\":{{\"finalizers\":null}}}}'",
        pod.key.namespace,
        shell_word(&pod.key.name)
    );
    Some(remedy::command_for(ask.remedy(), Operation::ChangePod, command))
}
