//! Restarts a system service on a node.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "restart-service",
    doc: "Restarts a systemd unit; run on the node. Containers keep running (with Docker only under live-restore).",
    params: &["unit"],
    has_text: false,
    undo: Undo::NotNeeded,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(remedy::command(ask.remedy(), format!("systemctl restart {}", shell_word(ask.with("unit")?))))
}
