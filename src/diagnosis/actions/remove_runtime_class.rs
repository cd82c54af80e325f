//! Runs a pod with the default runtime of its node.

use super::{Action, Ask};
use crate::api::Remedy;

pub(super) const ACTION: Action = Action {
    name: "remove-runtime-class",
    doc: "Removes runtimeClassName from the template, for causes that state that the pod has one. \
          Undo: set runtimeClassName again.",
    params: &[],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), "runtimeClassName: null\n"))
}
