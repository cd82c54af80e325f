//! Changes the port of a probe.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::ProbeHandler;
use crate::signals::probe::handler::port_json;

pub(super) const ACTION: Action = Action {
    name: "fix-probe-port",
    doc: "Sets the port of an httpGet or tcpSocket probe, a number or the name of a container port. Without a port, \
          and for any other probe, there is only the text: you choose the port.",
    params: &["probe", "port"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, kind, probe) = ask.probe()?;
    let (field, old) = match &probe.handler {
        ProbeHandler::Http { port, .. } => ("httpGet", port),
        ProbeHandler::Tcp { port } => ("tcpSocket", port),
        ProbeHandler::Grpc { .. } | ProbeHandler::Exec { .. } | ProbeHandler::None => return Some(ask.remedy()),
    };
    let Some(port) = ask.with("port").filter(|port| port != old) else { return Some(ask.remedy()) };
    let fields = json!({kind.field(): {field: {"port": port_json(port)}}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
