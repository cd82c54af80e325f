//! Sets when the kubelet changes the ownership of a volume's files.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-fs-group-change-policy",
    doc: "Sets securityContext.fsGroupChangePolicy of the template to OnRootMismatch.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let fields = json!({"securityContext": {"fsGroupChangePolicy": "OnRootMismatch"}});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
