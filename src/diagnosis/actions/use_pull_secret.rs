//! Names a pull secret in the template.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "use-pull-secret",
    doc: "Adds a Secret to imagePullSecrets of the template. Offered where the pod has none. Undo: remove it again.",
    params: &["name"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    if !ask.subject.pod()?.pod.image_pull_secrets.is_empty() {
        return None;
    }
    let fields = format!("imagePullSecrets:\n- name: {}\n", yaml_string(ask.with("name")?));
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
