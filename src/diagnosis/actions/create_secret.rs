//! Creates a Secret that is missing.

use super::{Action, create_configmap};

pub(super) const ACTION: Action = Action {
    name: "create-secret",
    doc: "Creates a Secret in the pod's namespace, with the given keys or from a file; values only a human knows. \
          Undo: kubectl delete secret.",
    params: &["name", "keys"],
    has_text: false,
    build: |ask| create_configmap::build(ask, "secret generic"),
};
