//! Force-deletes a pod, without waiting for its kubelet.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Operation, Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "force-delete-pod",
    doc: "Deletes the pod from the API server with --grace-period=0 --force. Its containers may still run and \
          write to its volumes. Offered for a pod that is being deleted.",
    params: &[],
    has_text: false,
    undo: Undo::Impossible,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let pod = ask.subject.pod()?.pod;
    pod.deletion?;
    let name = shell_word(&pod.key.name);
    let command = format!("kubectl -n {} delete pod {name} --grace-period=0 --force", pod.key.namespace);
    Some(remedy::command_for(ask.remedy(), Operation::ChangePod, command))
}
