//! Changes when the kubelet sets the owner of a volume's files.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-fs-group-change-policy",
    doc: "Sets securityContext.fsGroupChangePolicy of the template to OnRootMismatch. Undo: remove the field.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let fields = "securityContext:\n  fsGroupChangePolicy: OnRootMismatch\n";
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
