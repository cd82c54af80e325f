//! Leads a path of an Ingress or route to another Service.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-backend-service",
    doc: "Sets the Service of a backend of an Ingress, HTTPRoute or GRPCRoute. The patch is refused if the backend has \
          been changed since. Offered if the present and the new name are known and differ.",
    params: &["at", "from", "to"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (at, from, to) = (ask.with("at")?, ask.with("from")?, ask.with("to")?);
    let name = format!("{at}/name");
    let patch = json!([{"op": "test", "path": name, "value": from}, {"op": "replace", "path": name, "value": to}]);
    (from != to).then(|| ask.with_json_patch(&patch)).flatten()
}
