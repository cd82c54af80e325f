//! Creates a Secret that is missing.

use super::{Action, create_configmap};

pub(super) const ACTION: Action = Action {
    name: "create-secret",
    doc: "Creates a Secret in the pod's namespace from a file that only a human knows. Undo: kubectl delete secret.",
    params: &["name"],
    has_text: false,
    build: |ask| create_configmap::build(ask, "secret generic"),
};
