//! Changes the working directory of a container.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-working-dir",
    doc: "Sets workingDir of the container. Not offered if it is set to that already.",
    params: &["dir"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let dir = ask.with("dir")?;
    if ask.container?.working_dir.as_deref() == Some(dir) {
        return None;
    }
    let fields = json!({ "workingDir": dir });
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
