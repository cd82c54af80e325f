//! Gives a container a numeric user.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "run-as-user",
    doc: "Sets securityContext.runAsUser of the container to a number. Not offered where it is set to that already. \
          Undo: set the old user, or remove the field.",
    params: &["user"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let user: i64 = ask.with("user")?.parse().ok()?;
    if ask.container.is_some_and(|container| container.run_as_user == Some(user)) {
        return None;
    }
    let fields = format!("securityContext:\n  runAsUser: {user}\n");
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, &fields))
}
