//! Adds a key to a Secret.

use super::{Action, Undo, add_configmap_key};

pub(super) const ACTION: Action = Action {
    name: "add-secret-key",
    doc: "Adds a key to a Secret in the namespace of the pod. You fill in the value.",
    params: &["name", "key"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build: |ask| add_configmap_key::build(ask, "secret", "stringData"),
};
