//! Adds an image pull Secret to the pod template.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "use-pull-secret",
    doc: "Adds a Secret to imagePullSecrets of the template. Offered if the pod has none.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    if !ask.subject.pod()?.pod.image_pull_secrets.is_empty() {
        return None;
    }
    let fields = json!({"imagePullSecrets": [{"name": ask.with("name")?}]});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
