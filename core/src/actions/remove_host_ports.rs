//! Removes the host ports of a pod.

use serde_json::{Map, Value, json};

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::facts::Container;

pub(super) const ACTION: Action = Action {
    name: "remove-host-ports",
    doc: "Removes hostPort from all ports of the template. If two ports of a container have the same number, which a \
          patch cannot distinguish, it opens the template in an editor.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let pod = ask.subject.pod()?.pod;
    let has_host_port = |container: &&Container| container.ports.iter().any(|port| port.host_port.is_some());
    let mut spec = Map::new();
    for container in pod.containers.iter().filter(has_host_port) {
        let is_twice = |number: i32| container.ports.iter().filter(|port| port.number == number).count() > 1;
        let ports = container.ports.iter().filter(|port| port.host_port.is_some());
        if pod.host_network || ports.clone().any(|port| is_twice(port.number)) {
            return edit_template::build(ask);
        }
        let ports: Vec<Value> = ports.map(|port| json!({"containerPort": port.number, "hostPort": null})).collect();
        if let Value::Array(list) = spec.entry(container.spec_list()).or_insert_with(|| json!([])) {
            list.push(json!({"name": container.name, "ports": ports}));
        }
    }
    (!spec.is_empty()).then(|| ask.target.as_ref().map(|target| target.with_pod_patch(ask.remedy(), spec.into())))?
}
