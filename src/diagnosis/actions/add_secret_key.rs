//! Adds a key to a Secret.

use super::{Action, add_configmap_key};

pub(super) const ACTION: Action = Action {
    name: "add-secret-key",
    doc: "Adds a key to a Secret of the pod's namespace; its value only a human knows. \
          Undo: remove the key with kubectl edit secret.",
    params: &["name", "key"],
    has_text: false,
    build: |ask| add_configmap_key::build(ask, "secret", "stringData"),
};
