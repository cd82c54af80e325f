//! Sets the fsGroup of a pod, so that a group owns the files of its volumes.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-fs-group",
    doc: "Sets securityContext.fsGroup of the pod to the user ID that the container runs as. If the ID is unknown, \
          it opens the template in an editor.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    match ask.container?.run_as_user.filter(|user| *user > 0) {
        Some(user) => {
            let fields = json!({"securityContext": {"fsGroup": user}});
            Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
        }
        None => super::edit_template::build(ask),
    }
}
