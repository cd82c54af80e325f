//! Makes a rollout delete an old pod before it creates a new one.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-max-surge",
    doc: "Sets maxSurge 0 and maxUnavailable 1 of a Deployment, so that a rollout needs no capacity in addition to \
          the old pods.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref().filter(|target| &*target.kind == "Deployment")?;
    let patch = json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}});
    Some(target.with_patch(ask.remedy(), &patch))
}
