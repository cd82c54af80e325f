//! Changes the image of a container.

use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "set-image",
    doc: "Sets the image of the container in the template; works for bare pods too. You fill in the image.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    let command = ask.container.and_then(|container| target.set_image_command(container, "<IMAGE>"));
    Some(match command {
        Some(command) => remedy::command(target.with_source(ask.remedy()), command),
        None => target.with_replacement(ask.remedy()),
    })
}
