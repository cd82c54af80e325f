//! Changes the image of a container.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::shell_word;

pub(super) const ACTION: Action = Action {
    name: "set-image",
    doc: "Sets the image of the container in the template; that of a bare pod in place, and a Job is created again. You fill in the image.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    Some(match ask.container {
        Some(container) => {
            let pair = format!("{}=<IMAGE>", shell_word(&container.name));
            target.with_set(ask.remedy(), container, "image", &pair)
        }
        None => target.with_replacement(ask.remedy()),
    })
}
