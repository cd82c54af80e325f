//! Gives a container another working directory.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "set-working-dir",
    doc: "Sets workingDir of the container. Not offered where it is set to that already. \
          Undo: set the old directory, or remove the field.",
    params: &["dir"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let dir = ask.with("dir")?;
    if ask.container?.working_dir.as_deref() == Some(dir) {
        return None;
    }
    let fields = format!("workingDir: {}\n", yaml_string(dir));
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, &fields))
}
