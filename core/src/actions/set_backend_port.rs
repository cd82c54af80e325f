//! Leads a path of an Ingress or route to another port of its Service.

use serde_json::{Value, json};

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "set-backend-port",
    doc: "Sets the port of a backend of an Ingress (a number or a name), HTTPRoute or GRPCRoute (a number). The patch is \
          refused if the backend leads to another Service since. Offered if the new port is known and differs.",
    params: &["at", "service", "from", "to"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (at, service, to) = (ask.with("at")?, ask.with("service")?, ask.with("to")?);
    let is_ingress = &*ask.target.as_ref()?.kind == "Ingress";
    let port: Value = match to.parse::<u16>() {
        Ok(number) if is_ingress => json!({"number": number}),
        Ok(number) => json!(number),
        Err(_) if is_ingress => json!({"name": to}),
        Err(_) => return None,
    };
    let patch = json!([
        {"op": "test", "path": format!("{at}/name"), "value": service},
        {"op": "replace", "path": format!("{at}/port"), "value": port},
    ]);
    (ask.with("from") != Some(to)).then(|| ask.with_json_patch(&patch)).flatten()
}
