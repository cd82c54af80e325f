//! Deletes an object in the pod's namespace.

use super::{Action, Undo};

pub(super) const ACTION: Action = Action {
    name: "delete-object",
    doc: "Deletes an object of the namespace, such as a Job that hangs. Offered if its name is known.",
    params: &["kind", "name"],
    has_text: false,
    undo: Undo::ByHand(
        "Create the object again from its manifest; save it first with `kubectl get KIND NAME -o yaml`.",
    ),
    needed_names: None,
    build: |ask| ask.on_named_object("delete"),
};
