//! Mounts the token of the ServiceAccount into a pod.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "mount-service-account-token",
    doc: "Sets automountServiceAccountToken of the template to true, which overrides the ServiceAccount. Offered if \
          the pod does not set it to true.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    if ask.subject.pod()?.pod.automounts_token {
        return None;
    }
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), json!({"automountServiceAccountToken": true})))
}
