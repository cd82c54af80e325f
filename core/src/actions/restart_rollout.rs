//! Restarts the rollout: new pods from the same template.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "restart-rollout",
    doc: "Replaces the pods with new ones from the same template, which read their Secrets and ConfigMaps again. If \
          the workload has no rollout, there is only the text.",
    params: &[],
    has_text: false,
    undo: Undo::NotNeeded,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(match ask.target.as_ref()?.restart_command() {
        Some(command) => remedy::command(ask.remedy(), command),
        None => ask.remedy(),
    })
}
