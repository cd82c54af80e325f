//! Sends a delivery, and classifies the response. Neither the URL nor a secret is ever part of an error; the name of the host
//! may be, if its certificate has another one.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::header::{RETRY_AFTER, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use kube::config::Config;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use shindan_core::message::text;

use super::config::{Receiver, Settings};
use super::format::{self, Outgoing};
use super::queue::Delivery;

/// Time limit of a request, including its connection and body.
const LIMIT: Duration = Duration::from_secs(10);
/// Time limit of the connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Maximum size of a response in bytes.
const BODY_MAX: usize = 16 << 10;
/// Maximum characters of a word of the response that is logged.
const WORD_MAX: usize = 40;
/// Longest reason of a failed connection that is logged.
const DETAIL_MAX: usize = 200;
const AGENT: &str = concat!("shindan/", env!("CARGO_PKG_VERSION"));

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: StatusCode,
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

/// Why there is no response. The names are label values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The reason, such as an untrusted certificate.
    Connect(String),
    Timeout,
    /// The connection ended, or the response is too long.
    Broken,
}

/// Sends requests. The tests have one without sockets, for a paused clock.
pub trait Post: Clone + Send + Sync + 'static {
    /// Sends a request to the receiver with this index.
    fn post(&self, receiver: usize, request: Outgoing) -> impl Future<Output = Result<Answer, NoAnswer>> + Send;
}

/// Result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Sent,
    /// To be tried again. `reason` is a label value.
    Retry {
        reason: &'static str,
        detail: String,
        after: Option<Duration>,
    },
    /// The receiver answers with success, and with an error in its body.
    Odd {
        detail: String,
    },
    /// A repetition would be rejected too.
    Rejected {
        detail: String,
    },
}

/// Sends a delivery to a receiver. The secrets are read now, so that a rotated one is used.
pub async fn deliver<P: Post>(
    post: P,
    index: usize,
    receiver: Receiver,
    cluster: Option<String>,
    delivery: Delivery,
) -> Outcome {
    let retry = |reason, detail: String| Outcome::Retry { reason, detail, after: None };
    let secrets = match receiver.secrets() {
        Ok(secrets) => secrets,
        Err(why) => return retry("secret", why),
    };
    let Ok(requests) = format::requests(receiver.kind, &delivery, cluster.as_deref(), &secrets) else {
        return retry("secret", "its URL or token has characters that a request cannot have".to_owned());
    };
    for request in requests {
        let answer = match tokio::time::timeout(LIMIT, post.post(index, request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(NoAnswer::Connect(why))) => return retry("connect", format!("no connection: {why}")),
            Ok(Err(NoAnswer::Broken)) => return retry("broken", "the connection ended without a response".to_owned()),
            Ok(Err(NoAnswer::Timeout)) | Err(_) => {
                return retry("timeout", format!("no response within {} s", LIMIT.as_secs()));
            }
        };
        if receiver.kind.is_accepted(answer.status, &answer.body) {
            continue;
        }
        return failure(&answer);
    }
    Outcome::Sent
}

fn failure(answer: &Answer) -> Outcome {
    let Answer { status, retry_after, body } = answer;
    let detail = match word(body) {
        Some(word) => format!("status {}, {word}", status.as_u16()),
        None => format!("status {}", status.as_u16()),
    };
    match status.as_u16() {
        200..=299 => Outcome::Odd { detail },
        429 => Outcome::Retry { reason: "throttled", detail, after: *retry_after },
        408 | 500.. => Outcome::Retry { reason: "server", detail, after: *retry_after },
        300..=399 => Outcome::Rejected { detail: format!("{detail}: redirects are not followed; set the final URL") },
        401 | 403 => Outcome::Rejected { detail: format!("{detail}: check its token, or the URL in its file") },
        404 | 410 => Outcome::Rejected { detail: format!("{detail}: the URL does not exist, or no longer") },
        _ => Outcome::Rejected { detail },
    }
}

/// A response of one word, such as `invalid_payload`. Other responses are not logged: they may repeat a secret.
fn word(body: &[u8]) -> Option<&str> {
    let word = str::from_utf8(body).ok()?.trim();
    let is_word =
        !word.is_empty() && word.len() <= WORD_MAX && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    is_word.then_some(word)
}

/// A client with the connector of kube, whose type it does not export.
type Http = BoxCloneSyncService<Request<Full<Bytes>>, Response<Incoming>, legacy::Error>;

/// Sends over HTTP/1.1, without redirects, proxies and kept connections.
#[derive(Clone)]
pub struct HttpPost {
    /// By receiver.
    clients: Arc<[Http]>,
}

impl std::fmt::Debug for HttpPost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpPost").field("clients", &self.clients.len()).finish()
    }
}

impl HttpPost {
    /// The clients of the receivers. The error names the receiver.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let mut public: Option<Http> = None;
        let mut clients = Vec::new();
        for receiver in &settings.receivers {
            let failed = |error: kube::Error| format!("receiver {}: cannot set up TLS: {error}", receiver.name);
            let client = match (&receiver.ca_file, &public) {
                (None, Some(public)) => public.clone(),
                (None, None) => public.insert(client(None).map_err(failed)?).clone(),
                (Some(ca), _) => client(Some(ca.clone())).map_err(failed)?,
            };
            clients.push(client);
        }
        Ok(Self { clients: clients.into() })
    }
}

/// A client that trusts `ca`, or the certificates of Mozilla: the image has none of its own.
fn client(ca: Option<std::path::PathBuf>) -> Result<Http, kube::Error> {
    let mut config = Config::new(Uri::from_static("https://localhost"));
    config.root_cert = Some(match &ca {
        Some(_) => Vec::new(),
        None => webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|der| der.to_vec()).collect(),
    });
    config.root_cert_file = ca;
    let mut connector = TimeoutConnector::new(config.rustls_https_connector()?);
    connector.set_connect_timeout(Some(CONNECT));
    // A message every few seconds at most: an idle connection would only cost memory.
    let client = legacy::Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
    Ok(BoxCloneSyncService::new(client))
}

impl Post for HttpPost {
    async fn post(&self, receiver: usize, request: Outgoing) -> Result<Answer, NoAnswer> {
        let client = self.clients.get(receiver).ok_or_else(|| NoAnswer::Connect("no client".to_owned()))?;
        let Outgoing { uri, headers, body } = request;
        let mut request = Request::post(uri).body(Full::new(Bytes::from(body))).map_err(|_| NoAnswer::Broken)?;
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        request.headers_mut().extend(headers);
        let failed = |error: legacy::Error| {
            if !error.is_connect() {
                return NoAnswer::Broken;
            }
            // The innermost error is the reason: `invalid peer certificate: UnknownIssuer`, `Connection refused`.
            let reason = anyhow::Chain::new(&error).last().map(ToString::to_string).unwrap_or_default();
            NoAnswer::Connect(text::line(&reason, DETAIL_MAX))
        };
        let response = client.clone().oneshot(request).await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers());
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let retry_after = seconds.map(Duration::from_secs);
        let body = Limited::new(response.into_body(), BODY_MAX).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).map_err(|_| NoAnswer::Broken);
        // An error counts by its status, whatever its body is.
        let body = if status.is_success() { body? } else { body.unwrap_or_default() };
        Ok(Answer { status, retry_after, body })
    }
}
