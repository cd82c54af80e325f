//! Creates a missing Secret.

use super::{Action, Undo, create_configmap};

pub(super) const ACTION: Action = Action {
    name: "create-secret",
    doc: "Creates a Secret in the pod's namespace, with the given keys or from a file; values only a human knows.",
    params: &["name", "keys"],
    has_text: false,
    undo: Undo::Command("kubectl delete secret NAME"),
    build: |ask| create_configmap::build(ask, "secret generic"),
};
