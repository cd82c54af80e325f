//! What a probe asked, and what it got, in few words.

use super::super::signature;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, target, text};
use crate::facts::{Container, ProbeHandler};

/// What an `Unhealthy` Event tells of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    Refused,
    Timeout,
    Status(u16),
    Tls {
        server_speaks_tls: bool,
    },
    GrpcUnimplemented,
    GrpcNotServing(String),
    /// Nobody speaks gRPC there: nothing listens, or another protocol. The kubelet cannot tell.
    GrpcNoAnswer,
    /// The port is named, and no port of the container has that name.
    NoSuchPort(String),
    /// The probe could not even be run; with the runtime's words.
    CannotRun(String),
    /// Anything else, in the probe's own words.
    Other(String),
}

impl Trouble {
    pub(super) fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Whether the probe itself is wrong, whatever the program does.
    pub(super) const fn is_about_the_probe(&self) -> bool {
        matches!(self, Self::Tls { .. } | Self::GrpcUnimplemented | Self::CannotRun(_) | Self::NoSuchPort(_))
    }

    /// Whether the answer would be the same however long the probe waited.
    pub(super) const fn outlasts_patience(&self) -> bool {
        match self {
            Self::Status(401 | 403 | 404)
            | Self::Tls { .. }
            | Self::GrpcUnimplemented
            | Self::CannotRun(_)
            | Self::NoSuchPort(_) => true,
            Self::Refused
            | Self::Timeout
            | Self::Status(_)
            | Self::GrpcNotServing(_)
            | Self::GrpcNoAnswer
            | Self::Other(_) => false,
        }
    }
}

impl Trouble {
    /// In few words.
    pub(super) fn in_words(&self, language: Language) -> String {
        match self {
            Self::Refused => phrase!(language, "connection refused").to_owned(),
            Self::Timeout => phrase!(language, "no answer in time").to_owned(),
            Self::Status(status) => format!("HTTP status {status}"),
            Self::Tls { server_speaks_tls: true } => {
                phrase!(language, "the server speaks HTTPS, the probe HTTP").to_owned()
            }
            Self::Tls { server_speaks_tls: false } => {
                phrase!(language, "the server speaks HTTP, the probe HTTPS").to_owned()
            }
            Self::GrpcUnimplemented => phrase!(language, "no gRPC health service").to_owned(),
            Self::GrpcNotServing(state) => say!(language, "gRPC health says {state}", state),
            Self::GrpcNoAnswer => phrase!(language, "no gRPC server answers").to_owned(),
            Self::NoSuchPort(name) => say!(language, "the container declares no port named {name}", name),
            Self::CannotRun(words) => say!(language, "it cannot be run: {words}", words),
            Self::Other(words) if words.is_empty() => phrase!(language, "it failed without a word").to_owned(),
            Self::Other(words) => words.clone(),
        }
    }
}

/// Reads the message of an `Unhealthy` Event, `Liveness probe failed: ...`.
pub(super) fn trouble(message: &str) -> Trouble {
    let words = message.split_once(" probe failed:").map_or(message, |(_, rest)| rest).trim();
    if let Some((_, rest)) = words.split_once("unable to start container process: ") {
        let rest = rest.trim_end_matches(": unknown");
        // `exec: "/x": stat /x: no such file or directory` names it twice.
        let rest = rest.split_once("\": ").filter(|(_, why)| why.starts_with("stat ")).map_or(rest, |(_, why)| why);
        return Trouble::CannotRun(text::line(rest, 80));
    }
    if text::has(words, &[" probe errored"]) {
        let words = words.split_once(" state: ").map_or(words, |(_, words)| words);
        if let Some(name) = after(words, "couldn't find port: ") {
            return Trouble::NoSuchPort(text::line(name, 40));
        }
        return Trouble::CannotRun(signature::innermost(words, 80));
    }
    if text::has(words, &["connection refused"]) {
        return Trouble::Refused;
    }
    if let Some(status) = after(words, "HTTP probe failed with statuscode: ").and_then(|s| s.parse().ok()) {
        return Trouble::Status(status);
    }
    if text::has(words, &["server gave http response to https client"])
        || text::has(words, &["first record does not look like a tls handshake"])
    {
        return Trouble::Tls { server_speaks_tls: false };
    }
    if text::has(words, &["malformed http response"]) {
        return Trouble::Tls { server_speaks_tls: true };
    }
    if text::has(words, &["does not implement the grpc health protocol"]) {
        return Trouble::GrpcUnimplemented;
    }
    if let Some(state) = after(words, "service unhealthy (responded with ") {
        return Trouble::GrpcNotServing(state.trim_matches(['"', ')', ' ']).to_owned());
    }
    if text::has(words, &["failed to connect service "]) {
        return Trouble::GrpcNoAnswer;
    }
    let slow = ["deadline exceeded", "i/o timeout", "timed out after", "client.timeout", "timeout: "];
    if slow.iter().any(|sign| text::has(words, &[sign])) {
        return Trouble::Timeout;
    }
    Trouble::Other(text::line(words, 80))
}

/// The word after `marker`.
fn after<'a>(words: &'a str, marker: &str) -> Option<&'a str> {
    words.split_once(marker).and_then(|(_, rest)| rest.split_whitespace().next())
}

/// `tcp 6379`, `http :8080/healthz`, `grpc 9000`, `exec cat /tmp/ok`. Empty for a handler that is not known.
pub(super) fn handler_text(language: Language, container: &Container, handler: &ProbeHandler) -> String {
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

/// The port's number; for a name that the container declares both.
fn port_text(language: Language, container: &Container, port: &str) -> String {
    match (port.parse::<i32>(), named(container, port)) {
        (Err(_), Some(number)) => format!("{number} ({port})"),
        (Err(_), None) => say!(language, "{port} (a port that it does not declare)", port),
        (Ok(_), _) => port.to_owned(),
    }
}

fn named(container: &Container, port: &str) -> Option<i32> {
    container.ports.iter().find(|p| p.name == port).map(|p| p.number)
}

/// The number of the port that a probe asks.
pub(super) fn port_number(container: &Container, handler: &ProbeHandler) -> Option<i32> {
    match handler {
        ProbeHandler::Tcp { port } | ProbeHandler::Http { port, .. } => {
            port.parse().ok().or_else(|| named(container, port))
        }
        ProbeHandler::Grpc { port, .. } => Some(*port),
        ProbeHandler::Exec { .. } | ProbeHandler::None => None,
    }
}

/// The handler as YAML lines, indented to stand in a probe.
pub(super) fn handler_yaml(handler: &ProbeHandler) -> Option<String> {
    let port_yaml = |port: &str| if port.parse::<i32>().is_ok() { port.to_owned() } else { target::yaml_string(port) };
    Some(match handler {
        ProbeHandler::Tcp { port } => format!("  tcpSocket:\n    port: {}\n", port_yaml(port)),
        ProbeHandler::Http { path, port, scheme } => format!(
            "  httpGet:\n    path: {}\n    port: {}\n    scheme: {}\n",
            target::yaml_string(path),
            port_yaml(port),
            target::yaml_string(scheme)
        ),
        ProbeHandler::Grpc { port, service } if service.is_empty() => format!("  grpc:\n    port: {port}\n"),
        ProbeHandler::Grpc { port, service } => {
            format!("  grpc:\n    port: {port}\n    service: {}\n", target::yaml_string(service))
        }
        ProbeHandler::Exec { command } => {
            let words: Vec<String> = command.iter().map(|word| target::yaml_string(word)).collect();
            format!("  exec:\n    command: [{}]\n", words.join(", "))
        }
        ProbeHandler::None => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_of_a_probe_is_told_in_few_words() {
        for (message, words) in [
            ("Liveness probe failed: dial tcp 10.88.0.175:6379: connect: connection refused", "connection refused"),
            (
                "Readiness probe failed: Get \"http://10.0.0.7:80/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                "no answer in time",
            ),
            ("Liveness probe failed: command timed out: \"sleep 10\" timed out after 1s", "no answer in time"),
            ("Liveness probe failed: HTTP probe failed with statuscode: 503", "HTTP status 503"),
            (
                "Liveness probe failed: Get \"https://10.0.0.7:80/\": http: server gave HTTP response to HTTPS client",
                "the server speaks HTTP, the probe HTTPS",
            ),
            (
                "Startup probe failed: service unhealthy (responded with \"NOT_SERVING\")",
                "gRPC health says NOT_SERVING",
            ),
            (
                "(combined from similar events): Liveness probe failed: cat: can't open '/tmp/ok': No such file or directory\n",
                "cat: can't open '/tmp/ok': No such file or directory",
            ),
            ("Liveness probe failed: ", "it failed without a word"),
        ] {
            assert_eq!(trouble(message).in_words(Language::English), words, "{message}");
        }
    }
}
