//! Sets a numeric user for a container.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "run-as-user",
    doc: "Sets securityContext.runAsUser of the container to a number. Not offered if it is set to that \
          already.",
    params: &["user"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let user: i64 = ask.with("user")?.parse().ok()?;
    if ask.container.is_some_and(|container| container.run_as_user == Some(user)) {
        return None;
    }
    let fields = json!({"securityContext": {"runAsUser": user}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
