//! Adds an image pull Secret to the pod template.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "use-pull-secret",
    doc: "Adds a Secret to imagePullSecrets of the template. Offered if the pod does not name it.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let name = ask.with("name")?;
    if ask.subject.pod()?.pod.image_pull_secrets.iter().any(|named| named == name) {
        return None;
    }
    let fields = json!({"imagePullSecrets": [{"name": name}]});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
