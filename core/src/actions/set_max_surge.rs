//! Makes a rollout delete an old pod before it creates a new one.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "set-max-surge",
    doc: "Sets maxSurge 0 and maxUnavailable 1 of a Deployment, so that a rollout needs no capacity in addition to \
          the old pods.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref().filter(|target| &*target.kind == "Deployment")?;
    let patch = r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}"#;
    let command = format!("{} patch {} -p '{patch}'", target.command_prefix(), target.argument());
    Some(remedy::command(ask.remedy(), command))
}
