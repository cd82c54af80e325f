//! Restarts a service of a node.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;
use crate::diagnosis::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "restart-service",
    doc: "Restarts a systemd unit; run on the node. Containers keep running (with Docker only under live-restore). Undo: none \
          needed.",
    params: &["unit"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(remedy::command(ask.remedy(), format!("systemctl restart {}", shell_word(ask.with("unit")?))))
}
