//! Adds an image pull Secret to the pod template.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::yaml_string;

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
    let fields = format!("imagePullSecrets:\n- name: {}\n", yaml_string(ask.with("name")?));
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
