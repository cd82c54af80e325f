//! Creates a missing Secret.

use super::{Action, Undo, create_configmap};

pub(super) const ACTION: Action = Action {
    name: "create-secret",
    doc: "Creates a Secret in the namespace of the pod, with the given keys or from a file. You fill in the values.",
    params: &["name", "keys"],
    has_text: false,
    undo: Undo::Command("kubectl delete secret NAME"),
    needed_names: None,
    build: |ask| create_configmap::build(ask, "secret generic"),
};
