//! Opens an object in the pod's namespace in an editor.

use super::{Action, Undo};

pub(super) const ACTION: Action = Action {
    name: "edit-object",
    doc: "Opens an object of the namespace, such as a ResourceQuota, in an editor, for a change that you must decide \
          on.",
    params: &["kind", "name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build: |ask| ask.on_named_object("edit"),
};
