//! Descriptions of probe handlers.

use serde_json::{Value, json};

use crate::facts::{Container, Probe, ProbeHandler};
use crate::language::{Language, translate};
use crate::message::text;

/// Describes a handler: `tcp 6379`, `http :8080/healthz`, `grpc 9000`, `exec cat /tmp/ok`. Empty if the handler is not
/// known.
pub(crate) fn handler_text(language: Language, container: &Container, handler: &ProbeHandler) -> String {
    match handler {
        ProbeHandler::Tcp { port } => format!("tcp {}", port_text(language, container, port)),
        ProbeHandler::Http { path, port, scheme } => {
            let slash = if path.starts_with('/') { "" } else { "/" };
            format!("{} :{}{slash}{path}", scheme.to_ascii_lowercase(), port_text(language, container, port))
        }
        ProbeHandler::Grpc { port, service } if service.is_empty() => format!("grpc {port}"),
        ProbeHandler::Grpc { port, service } => format!("grpc {port} {service}"),
        ProbeHandler::Exec { command } => format!("exec {}", text::line(&command.join(" "), 60)),
        ProbeHandler::None => String::new(),
    }
}

/// The port's number; for a declared port name both.
fn port_text(language: Language, container: &Container, port: &str) -> String {
    match (port.parse::<i32>(), named(container, port)) {
        (Err(_), Some(number)) => format!("{number} ({port})"),
        (Err(_), None) => {
            translate!(language, "{port} (a port that it does not declare)", "{port} (宣言されていないポート)", port)
        }
        (Ok(_), _) => port.to_owned(),
    }
}

fn named(container: &Container, port: &str) -> Option<i32> {
    container.ports.iter().find(|p| p.name == port).map(|p| p.number)
}

/// The port number of a probe.
pub(crate) fn port_number(container: &Container, handler: &ProbeHandler) -> Option<i32> {
    match handler {
        ProbeHandler::Tcp { port } | ProbeHandler::Http { port, .. } => {
            port.parse().ok().or_else(|| named(container, port))
        }
        ProbeHandler::Grpc { port, .. } => Some(*port),
        ProbeHandler::Exec { .. } | ProbeHandler::None => None,
    }
}

/// Describes the probe as it was written in the pod, with its client.
pub(super) fn probe_text(language: Language, container: &Container, probe: &Probe) -> String {
    let text = handler_text(language, container, &probe.handler);
    if probe.by_istio {
        translate!(language, "{text}, asked by Istio's agent", "{text}、Istio の agent による", text)
    } else {
        text
    }
}

/// The port name that a probe refers to.
pub(super) fn port_name(handler: &ProbeHandler) -> Option<&str> {
    match handler {
        ProbeHandler::Http { port, .. } | ProbeHandler::Tcp { port } => {
            Some(port.as_str()).filter(|port| port.parse::<i32>().is_err())
        }
        _ => None,
    }
}

/// The handler as fields of a probe.
pub(crate) fn handler_json(handler: &ProbeHandler) -> Option<Value> {
    Some(match handler {
        ProbeHandler::Tcp { port } => json!({"tcpSocket": {"port": port_json(port)}}),
        ProbeHandler::Http { path, port, scheme } => {
            json!({"httpGet": {"path": path, "port": port_json(port), "scheme": scheme}})
        }
        ProbeHandler::Grpc { port, service } if service.is_empty() => json!({"grpc": {"port": port}}),
        ProbeHandler::Grpc { port, service } => json!({"grpc": {"port": port, "service": service}}),
        ProbeHandler::Exec { command } => json!({"exec": {"command": command}}),
        ProbeHandler::None => return None,
    })
}

/// A port as the API takes it: a number, or the name of a container port.
pub(crate) fn port_json(port: &str) -> Value {
    port.parse::<i32>().map_or_else(|_| json!(port), |number| json!(number))
}
