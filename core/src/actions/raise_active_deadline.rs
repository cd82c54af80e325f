//! Doubles `activeDeadlineSeconds`.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "raise-active-deadline",
    doc: "Doubles activeDeadlineSeconds of the pod in the template. Offered if the pod has such a limit.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let seconds = ask.subject.pod()?.pod.active_deadline_seconds?.saturating_mul(2);
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), json!({ "activeDeadlineSeconds": seconds })))
}
