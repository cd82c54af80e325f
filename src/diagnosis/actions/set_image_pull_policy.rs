//! Changes when the kubelet pulls an image.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-image-pull-policy",
    doc: "Sets imagePullPolicy of the container. Undo: set the old policy.",
    params: &["policy"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let fields = format!("imagePullPolicy: {}\n", ask.with("policy")?);
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, &fields))
}
