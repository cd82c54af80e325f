//! Opens another object of the namespace in an editor.

use super::Action;

pub(super) const ACTION: Action = Action {
    name: "edit-object",
    doc: "Opens an object of the namespace, such as a ResourceQuota, in an editor, for a change that only a human can make. \
          Undo: edit the field back.",
    params: &["kind", "name"],
    has_text: false,
    build: |ask| ask.on_named_object("edit"),
};
