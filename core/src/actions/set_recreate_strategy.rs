//! Sets the Recreate strategy, which stops the old pods before new ones start.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-recreate-strategy",
    doc: "Sets the strategy of a Deployment to Recreate. Offered for Deployments.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref().filter(|target| &*target.kind == "Deployment")?;
    let patch = json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}});
    Some(target.with_patch(ask.remedy(), &patch))
}
