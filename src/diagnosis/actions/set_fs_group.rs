//! Gives the files of volumes to a group of the pod.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-fs-group",
    doc: "Sets securityContext.fsGroup of the pod to the user ID that the container runs as. Where that is not known, opens the \
          template in an editor. Undo: remove fsGroup.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    match ask.container?.run_as_user.filter(|user| *user > 0) {
        Some(user) => {
            let fields = format!("securityContext:\n  fsGroup: {user}\n");
            Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
        }
        None => super::edit_template::build(ask),
    }
}
