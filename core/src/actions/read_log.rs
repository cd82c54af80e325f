//! Reads the log of the terminated container.

use super::{Action, Ask, Undo};
use crate::case::{Operation, Remedy, remedy, target};
use crate::facts::State;
use crate::language::translate;

pub(super) const ACTION: Action = Action {
    name: "read-log",
    doc: "Prints the last 50 lines of the container's log; those of the previous run if it has been restarted.",
    params: &[],
    has_text: true,
    undo: Undo::NotNeeded,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (case, container) = (ask.subject.pod()?, ask.container?);
    // Until the restart, the terminated run is the current one. A first run has no previous one.
    let is_first = container.is_running() && container.last.is_none();
    let is_over = matches!(container.state, State::Terminated(_));
    let previous = if is_first || is_over { "" } else { " --previous" };
    let command = format!(
        "{} logs {} -c {}{previous} --tail=50",
        target::of(case).command_prefix(),
        case.pod.key.name,
        container.name
    );
    let text = if ask.text.is_empty() {
        translate!(
            case,
            "Read the last lines that {container} wrote.",
            "{container} が最後に書いた行を読む。",
            container = container.name
        )
    } else {
        ask.text.clone()
    };
    Some(remedy::command_for(remedy::investigate(text), Operation::UsePod, command))
}
