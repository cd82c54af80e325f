//! Sets the Recreate strategy, which stops the old pods before new ones start.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "set-recreate-strategy",
    doc: "Sets the strategy of a Deployment to Recreate. Offered for Deployments.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref().filter(|target| &*target.kind == "Deployment")?;
    let patch = "spec:\n  strategy:\n    type: Recreate\n    rollingUpdate: null\n";
    Some(remedy::patch(remedy::command(target.with_source(ask.remedy()), target.patch_command(patch)), patch))
}
