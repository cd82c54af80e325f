//! Results of a probe.

use crate::facts::ProbeHandler;
use crate::language::{Language, phrase, translate};
use crate::message::Message;
use crate::message::text;
use crate::signals::termination::log_line;

/// Characters of the output of a probe in a summary.
const OUTPUT: usize = 85;

/// The result in an `Unhealthy` Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Refused,
    Timeout,
    Status(u16),
    Tls {
        server_speaks_tls: bool,
    },
    /// The server redirects the probe to this URL, which fails. The kubelet follows redirects to the same host.
    Redirected(String),
    GrpcUnimplemented,
    GrpcNotServing(String),
    /// No gRPC server responds: nothing listens, or the port uses another protocol. The kubelet cannot distinguish
    /// them.
    NoGrpcServer,
    /// The probe refers to its port by name, and no port of the container has that name.
    NoSuchPort(String),
    /// The probe could not be run. Holds the runtime's error.
    CannotRun(String),
    /// Any other output of the probe.
    Other(String),
}

impl Answer {
    pub(super) fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The name of the result in conditions of the catalogue.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Status(_) => "status",
            Self::Tls { server_speaks_tls: true } => "serverSpeaksHttps",
            Self::Tls { server_speaks_tls: false } => "serverSpeaksHttp",
            Self::Redirected(_) => "redirected",
            Self::GrpcUnimplemented => "grpcUnimplemented",
            Self::GrpcNotServing(_) => "grpcNotServing",
            Self::NoGrpcServer => "grpcNoAnswer",
            Self::NoSuchPort(_) => "noSuchPort",
            Self::CannotRun(_) => "cannotRun",
            Self::Other(output) if output.contains("timed out") => "timeout",
            Self::Other(_) => "other",
        }
    }

    /// Whether the probe itself is wrong, independent of the program.
    pub(super) const fn is_about_the_probe(&self) -> bool {
        matches!(
            self,
            Self::Tls { .. } | Self::Redirected(_) | Self::GrpcUnimplemented | Self::CannotRun(_) | Self::NoSuchPort(_)
        )
    }

    /// Whether waiting longer cannot change the result.
    pub(super) const fn is_permanent(&self) -> bool {
        match self {
            Self::Status(401 | 403 | 404)
            | Self::Tls { .. }
            | Self::Redirected(_)
            | Self::GrpcUnimplemented
            | Self::CannotRun(_)
            | Self::NoSuchPort(_) => true,
            Self::Refused
            | Self::Timeout
            | Self::Status(_)
            | Self::GrpcNotServing(_)
            | Self::NoGrpcServer
            | Self::Other(_) => false,
        }
    }

    /// Describes the result in a summary.
    pub(super) fn describe(&self, language: Language, timeout: Option<i64>) -> String {
        match self {
            Self::Refused => phrase!(language, "connection refused", "接続拒否").to_owned(),
            Self::Timeout => match timeout {
                Some(seconds) => translate!(
                    language,
                    "no answer within its timeout of {seconds} s",
                    "{seconds} s 以内に応答なし",
                    seconds
                ),
                None => phrase!(language, "no answer in time", "時間内に応答なし").to_owned(),
            },
            Self::Status(status) => format!("HTTP status {status}"),
            Self::Tls { server_speaks_tls: true } => {
                phrase!(language, "the server speaks HTTPS, the probe HTTP", "サーバは HTTPS、probe は HTTP").to_owned()
            }
            Self::Tls { server_speaks_tls: false } => {
                phrase!(language, "the server speaks HTTP, the probe HTTPS", "サーバは HTTP、probe は HTTPS").to_owned()
            }
            Self::Redirected(url) => {
                translate!(language, "redirected to {url}, which fails", "{url} にリダイレクトされ、失敗", url)
            }
            Self::GrpcUnimplemented => {
                phrase!(language, "no gRPC health service", "gRPC health service なし").to_owned()
            }
            Self::GrpcNotServing(state) => {
                translate!(language, "gRPC health reports {state}", "gRPC health は {state}", state)
            }
            Self::NoGrpcServer => {
                phrase!(language, "failed to connect to a gRPC server", "gRPC サーバに接続できない").to_owned()
            }
            Self::NoSuchPort(name) => translate!(
                language,
                "the container declares no port named {name}",
                "コンテナは {name} という名前のポートを宣言していない",
                name
            ),
            Self::CannotRun(words) => translate!(language, "it cannot be run: {words}", "実行できない: {words}", words),
            Self::Other(words) if words.is_empty() => {
                phrase!(language, "it failed without output", "出力なしで失敗").to_owned()
            }
            Self::Other(words) => words.clone(),
        }
    }
}

/// Parses the message of an `Unhealthy` Event, `Liveness probe failed: ...`, about a probe with this handler.
pub(super) fn answer(message: &str, handler: Option<&ProbeHandler>) -> Answer {
    let words = message.split_once(" probe failed:").map_or(message, |(_, rest)| rest).trim();
    if let Some(url) = redirect(words, handler) {
        return Answer::Redirected(text::line(url, 60));
    }
    if let Some((_, rest)) = words.split_once("unable to start container process: ") {
        let rest = rest.trim_end_matches(": unknown");
        // `exec: "/x": stat /x: no such file or directory` contains the path twice.
        let rest = rest.split_once("\": ").filter(|(_, why)| why.starts_with("stat ")).map_or(rest, |(_, why)| why);
        let is_long = rest.len() > 80;
        return Answer::CannotRun(if is_long { Message::parse(rest).summary(110, &[]) } else { text::line(rest, 80) });
    }
    if text::has(words, &[" probe errored"]) {
        let words = words.split_once(" state: ").map_or(words, |(_, words)| words);
        if let Some(name) = after(words, "couldn't find port: ") {
            return Answer::NoSuchPort(text::line(name, 40));
        }
        // The runtime ends a command of a probe that takes longer than timeoutSeconds.
        if text::has(words, &["failed to exec in container", "timeout"]) || text::has(words, &["command timed out"]) {
            return Answer::Timeout;
        }
        return Answer::CannotRun(Message::parse(words).summary(100, &[]));
    }
    if text::has(words, &["connection refused"]) {
        return Answer::Refused;
    }
    if let Some(status) = after(words, "HTTP probe failed with statuscode: ").and_then(|s| s.parse().ok()) {
        return Answer::Status(status);
    }
    if text::has(words, &["server gave http response to https client"])
        || text::has(words, &["first record does not look like a tls handshake"])
    {
        return Answer::Tls { server_speaks_tls: false };
    }
    if text::has(words, &["malformed http response"]) {
        return Answer::Tls { server_speaks_tls: true };
    }
    if text::has(words, &["does not implement the grpc health protocol"]) {
        return Answer::GrpcUnimplemented;
    }
    if let Some(state) = after(words, "service unhealthy (responded with ") {
        return Answer::GrpcNotServing(state.trim_matches(['"', ')', ' ']).to_owned());
    }
    if text::has(words, &["failed to connect service "]) {
        return Answer::NoGrpcServer;
    }
    let slow = ["deadline exceeded", "i/o timeout", "timed out after", "client.timeout", "timeout: "];
    if slow.iter().any(|sign| text::has(words, &[sign])) {
        return Answer::Timeout;
    }
    // A command may print several lines.
    let is_short = words.len() <= OUTPUT && !words.contains('\n');
    let line = if is_short { None } else { log_line::decisive(words) };
    Answer::Other(line.map_or_else(|| text::line(words, OUTPUT), |line| log_line::shown(&line, OUTPUT)))
}

/// The URL that a server redirected an HTTP probe to: the error of the client names it instead of the URL of the probe.
fn redirect<'w>(words: &'w str, handler: Option<&ProbeHandler>) -> Option<&'w str> {
    let Some(ProbeHandler::Http { scheme, .. }) = handler else { return None };
    let (url, error) = words.strip_prefix("Get \"")?.split_once("\": ")?;
    let is_other_scheme = url.starts_with("https://") && !scheme.eq_ignore_ascii_case("https");
    (is_other_scheme || error.starts_with("stopped after ")).then_some(url)
}

/// The word after `marker`.
fn after<'a>(words: &'a str, marker: &str) -> Option<&'a str> {
    words.split_once(marker).and_then(|(_, rest)| rest.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_result_is_described() {
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
                "gRPC health reports NOT_SERVING",
            ),
            (
                "(combined from similar events): Liveness probe failed: cat: can't open '/tmp/ok': No such file or directory\n",
                "cat: can't open '/tmp/ok': No such file or directory",
            ),
            (
                "Readiness probe failed: psql: error: connection to server on socket \"/var/run/postgresql/.s.PGSQL.5432\" failed: FATAL:  role \"root\" does not exist",
                "connection to server on socket… FATAL: role \"root\" does not exist",
            ),
            (
                "Readiness probe failed: + curl -fs localhost:9200\n+ echo waiting\nwaiting\ncurl: (22) The requested URL returned error: 401\n",
                "curl: (22) The requested URL returned error: 401",
            ),
            ("Liveness probe failed: ", "it failed without output"),
            (
                "Readiness probe errored and resulted in unknown state: rpc error: code = DeadlineExceeded desc = failed to exec in container: timeout 1s exceeded: context deadline exceeded",
                "no answer in time",
            ),
            (
                "Liveness probe errored: rpc error: code = Unknown desc = command error: command timed out, stdout: , stderr: , exit code -1",
                "no answer in time",
            ),
        ] {
            assert_eq!(answer(message, None).describe(Language::English, None), words, "{message}");
        }
    }

    #[test]
    fn a_redirect_is_no_question_of_the_scheme() {
        let message = "Readiness probe failed: Get \"https://10.0.0.7:8080/login\": http: server gave HTTP response to HTTPS client";
        let http = |scheme: &str| ProbeHandler::Http { path: "/".into(), port: "8080".into(), scheme: scheme.into() };
        assert_eq!(answer(message, Some(&http("HTTP"))), Answer::Redirected("https://10.0.0.7:8080/login".into()));
        assert_eq!(answer(message, Some(&http("HTTPS"))), Answer::Tls { server_speaks_tls: false });
    }
}
