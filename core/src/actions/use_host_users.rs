//! Runs a pod without a user namespace.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "use-host-users",
    doc: "Sets hostUsers of the template to true, so that the pod needs no user namespace. For pods that set it to \
          false.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), json!({"hostUsers": true})))
}
