//! Probes of containers.

use serde::Deserialize;

use super::lenient::{Int, Obj, Text, Texts};
use crate::facts;
use crate::facts::ProbeHandler;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Probe {
    http_get: Obj<HttpGet>,
    tcp_socket: Obj<HttpGet>,
    grpc: Obj<Grpc>,
    exec: Obj<Exec>,
    initial_delay_seconds: Int,
    timeout_seconds: Int,
    period_seconds: Int,
    success_threshold: Int,
    failure_threshold: Int,
    termination_grace_period_seconds: Int,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct HttpGet {
    host: Text,
    path: Text,
    port: Text,
    scheme: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Grpc {
    port: Int,
    service: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Exec {
    command: Texts,
}

impl Probe {
    /// The handler of the probe.
    pub(super) fn handler(self) -> ProbeHandler {
        let or = |text: Text, default: &str| text.non_empty().unwrap_or_else(|| default.to_owned());
        if let Some(http) = self.http_get.0 {
            ProbeHandler::Http { path: or(http.path, "/"), port: http.port.0, scheme: or(http.scheme, "HTTP") }
        } else if let Some(tcp) = self.tcp_socket.0 {
            ProbeHandler::Tcp { port: tcp.port.0 }
        } else if let Some(grpc) = self.grpc.0 {
            ProbeHandler::Grpc { port: grpc.port.as_i32().unwrap_or(0), service: grpc.service.0 }
        } else if let Some(exec) = self.exec.0 {
            ProbeHandler::Exec { command: exec.command.0 }
        } else {
            ProbeHandler::None
        }
    }

    /// Converts to facts, with the defaults of the API server for missing fields.
    pub(super) fn into_facts(self) -> facts::Probe {
        let host =
            [&self.http_get, &self.tcp_socket].into_iter().find_map(|of| of.0.as_ref()?.host.clone().non_empty());
        facts::Probe {
            by_istio: false,
            initial_delay: self.initial_delay_seconds.or(0),
            timeout: self.timeout_seconds.or(1),
            period: self.period_seconds.or(10),
            success_threshold: self.success_threshold.or(1),
            failure_threshold: self.failure_threshold.or(3),
            termination_grace: self.termination_grace_period_seconds.0,
            host,
            handler: self.handler(),
        }
    }
}
