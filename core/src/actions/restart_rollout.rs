//! Restarts the rollout: new pods from the same template.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "restart-rollout",
    doc: "Makes new pods from the same template, so that they read their Secrets and ConfigMaps again. Where the \
          workload has no rollout, only the text is given.",
    params: &[],
    has_text: false,
    undo: Undo::NotNeeded,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(match ask.target.as_ref()?.restart_command() {
        Some(command) => remedy::command(ask.remedy(), command),
        None => ask.remedy(),
    })
}
