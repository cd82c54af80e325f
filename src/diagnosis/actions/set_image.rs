//! Gives a container another image.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::remedy;

pub(super) const ACTION: Action = Action {
    name: "set-image",
    doc: "Sets the image of the container in the template; works for bare pods too. Which image only a human knows. \
          Undo: set the old image.",
    params: &[],
    has_text: false,
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
