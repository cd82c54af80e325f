//! Stops the main process of a container.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Operation, Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "stop-container",
    doc: "Sends SIGTERM to the main process of the container; its image needs a shell, and the process must handle \
          SIGTERM. Offered if the container runs.",
    params: &[],
    has_text: false,
    undo: Undo::NotNeeded,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container.filter(|container| container.is_running())?;
    let key = &ask.subject.pod()?.pod.key;
    let (pod, name) = (shell_word(&key.name), shell_word(&container.name));
    let command = format!("kubectl -n {} exec {pod} -c {name} -- sh -c 'kill 1'", key.namespace);
    Some(remedy::command_for(ask.remedy(), Operation::UsePod, command))
}
