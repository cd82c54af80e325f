//! Leads a port of a Service to another port of its pods.

use serde_json::{Value, json};

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "set-target-port",
    doc: "Sets targetPort of a port of a Service, which is given by its position and number. The patch is refused if \
          another port has this position since. Offered if the new port is known and differs.",
    params: &["namespace", "service", "index", "port", "from", "to"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (namespace, service, to) = (ask.with("namespace")?, ask.with("service")?, ask.with("to")?);
    let (index, port): (usize, u16) = (ask.with("index")?.parse().ok()?, ask.with("port")?.parse().ok()?);
    let target: Value = to.parse::<u16>().map_or_else(|_| json!(to), |number| json!(number));
    let patch = json!([
        {"op": "test", "path": format!("/spec/ports/{index}/port"), "value": port},
        {"op": "add", "path": format!("/spec/ports/{index}/targetPort"), "value": target},
    ]);
    let command = format!(
        "kubectl -n {} patch service {} --type=json -p {}",
        shell_word(namespace),
        shell_word(service),
        shell_word(&patch.to_string())
    );
    // A Service mostly has the manager of the object that leads to it.
    let remedy = ask.target.as_ref()?.with_source(ask.remedy());
    (ask.with("from") != Some(to)).then(|| remedy::command(remedy, command))
}
