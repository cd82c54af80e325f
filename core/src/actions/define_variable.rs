//! Defines an environment variable that reads a field of the pod.

use serde_json::json;

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;

/// Variable names that manifests commonly use for fields of the pod.
const FIELDS: [(&str, &str); 4] = [
    ("POD_NAME", "metadata.name"),
    ("POD_NAMESPACE", "metadata.namespace"),
    ("NODE_NAME", "spec.nodeName"),
    ("POD_IP", "status.podIP"),
];

pub(super) const ACTION: Action = Action {
    name: "define-variable",
    doc: "Defines an environment variable of the container. The usual names of fields of the pod (POD_NAME, \
          POD_NAMESPACE, NODE_NAME, POD_IP) get their field; for any other, the template is opened in an editor.",
    params: &["name"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let name = ask.with("name")?;
    let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) else {
        return edit_template::build(ask);
    };
    let fields = json!({"env": [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}]});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}
