//! Gives an Ingress or a Gateway another class.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-class",
    doc: "Sets ingressClassName of an Ingress or gatewayClassName of a Gateway. Offered if the new class is known and \
          differs.",
    params: &["from", "to"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let to = ask.with("to")?;
    let field = match &*ask.target.as_ref()?.kind {
        "Ingress" => "/spec/ingressClassName",
        "Gateway" => "/spec/gatewayClassName",
        _ => return None,
    };
    let patch = json!([{"op": "add", "path": field, "value": to}]);
    (ask.with("from") != Some(to)).then(|| ask.with_json_patch(&patch)).flatten()
}
