//! Deletes another object of the namespace.

use super::Action;

pub(super) const ACTION: Action = Action {
    name: "delete-object",
    doc: "Deletes an object of the namespace, such as a Job that hangs. Offered where its name is known. \
          Undo: create it again from its manifest.",
    params: &["kind", "name"],
    has_text: false,
    build: |ask| ask.on_named_object("delete"),
};
