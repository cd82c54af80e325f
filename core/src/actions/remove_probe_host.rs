//! Lets a probe connect to the pod itself.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::ProbeHandler;

pub(super) const ACTION: Action = Action {
    name: "remove-probe-host",
    doc: "Removes host from an httpGet or tcpSocket probe, so that the kubelet connects to the pod. Offered if the \
          probe has it.",
    params: &["probe"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, kind, probe) = ask.probe()?;
    probe.host.as_ref()?;
    let field = match &probe.handler {
        ProbeHandler::Http { .. } => "httpGet",
        ProbeHandler::Tcp { .. } => "tcpSocket",
        ProbeHandler::Grpc { .. } | ProbeHandler::Exec { .. } | ProbeHandler::None => return None,
    };
    let fields = json!({kind.field(): {field: {"host": null}}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
