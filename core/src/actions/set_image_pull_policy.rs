//! Changes the image pull policy of a container.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-image-pull-policy",
    doc: "Sets imagePullPolicy of the container.",
    params: &["policy"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let policy = ask.with("policy")?;
    if ask.container.is_some_and(|container| container.image_pull_policy == policy) {
        return None;
    }
    let fields = json!({ "imagePullPolicy": policy });
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
