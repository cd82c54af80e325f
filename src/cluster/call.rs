//! Sends one short request and classifies its errors.
//!
//! `kube::Api` is not used because it drops the `Retry-After` header of a throttled request, and logs whole bodies that
//! it cannot parse.

use std::error::Error as _;
use std::marker::PhantomData;
use std::time::Duration;

use http::header::RETRY_AFTER;
use kube::Client;
use kube::api::ListParams;
use kube::client::Body;
use kube::core::{Request, Status};
use serde::de::DeserializeOwned;
use shindan_core::message::text;

use super::header_timeout::NoResponse;

/// Maximum characters of a server's message that are kept.
const MESSAGE_MAX: usize = 300;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The API server returned an error.
    #[error("{} {}: {}", .status.code, .status.reason, .status.message)]
    Api { status: Box<Status>, retry_after: Option<Duration> },
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection, TLS or the credentials failed.
    #[error("{0}")]
    Transport(String),
    #[error("the response cannot be parsed: {0}")]
    Unreadable(String),
    /// The request was not sent: another replica leads and may have written meanwhile.
    #[error("another replica leads")]
    NotLeading,
}

impl Failure {
    /// A stable label for metrics and logs.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Api { status, .. } => match status.code {
                401 => "unauthorized",
                403 => "forbidden",
                404 => "not_found",
                409 => "conflict",
                410 => "expired",
                400 | 413 | 422 => "invalid",
                429 => "throttled",
                _ => "server",
            },
            Self::Timeout(_) => "timeout",
            Self::Transport(_) => "transport",
            Self::Unreadable(_) => "unreadable",
            Self::NotLeading => "not_leading",
        }
    }

    /// The HTTP status of an API error as a label of a closed set, or else the category.
    pub(super) fn code(&self) -> &'static str {
        let Self::Api { status, .. } = self else { return self.category() };
        match status.code {
            400 => "400",
            401 => "401",
            403 => "403",
            404 => "404",
            409 => "409",
            410 => "410",
            413 => "413",
            422 => "422",
            429 => "429",
            500 => "500",
            502 => "502",
            503 => "503",
            504 => "504",
            _ => "other",
        }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { status, .. } if status.code == 404)
    }

    /// Whether the credentials lack the permission.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Api { status, .. } if status.code == 403)
    }

    /// Converts an error of kube.
    pub(super) fn from_kube(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                let retry_after = retry_after_of(&status);
                Self::Api { status: cleaned(status), retry_after }
            }
            kube::Error::SerdeError(e) => Self::Unreadable(text::line(&e.to_string(), MESSAGE_MAX)),
            error => match header_timeout(&error) {
                Some(limit) => Self::Timeout(limit),
                None => Self::Transport(text::line(&chain(&error), MESSAGE_MAX)),
            },
        }
    }
}

/// `None` instead of the failure that the object does not exist.
pub(super) fn found<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Ok(object) => Ok(Some(object)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Sends `request` and parses its JSON response, within `limit`.
pub(super) async fn json<T: DeserializeOwned>(
    client: &Client,
    request: http::Request<Vec<u8>>,
    limit: Duration,
) -> Result<T, Failure> {
    let body = bytes(client, request, limit).await?;
    let unreadable = |e: &dyn std::error::Error| Failure::Unreadable(text::line(&e.to_string(), MESSAGE_MAX));
    // As text, like the watches of kube: one copy of the code that reads a type.
    let body = str::from_utf8(&body).map_err(|e| unreadable(&e))?;
    serde_json::from_str(body).map_err(|e| unreadable(&e))
}

/// Sends `request` and reads its response, within `limit`.
pub(super) async fn bytes(
    client: &Client,
    request: http::Request<Vec<u8>>,
    limit: Duration,
) -> Result<Vec<u8>, Failure> {
    let response = tokio::time::timeout(limit, exchange(client, request)).await;
    response.map_err(|_| Failure::Timeout(limit))?
}

/// A page of a LIST.
#[derive(serde::Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Page<T> {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct PageMeta {
    r#continue: Option<String>,
    #[serde(rename = "remainingItemCount")]
    left: u64,
}

/// Lists a collection page by page, each page within `limit`.
pub(super) async fn list<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    params: ListParams,
    limit: Duration,
) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    let mut pages = Pages::new(client, path, params, limit);
    while let Some(listed) = pages.next().await? {
        match listed {
            Listed::Page(items) => all.extend(items),
            Listed::Restarted => all.clear(),
        }
    }
    Ok(all)
}

/// An item of a paged list.
pub(super) enum Listed<T> {
    Page(Vec<T>),
    /// The resource version of the list has expired: the list starts again from the first page.
    Restarted,
}

/// A paged list that is not collected in memory.
pub(super) struct Pages<'a, T> {
    client: &'a Client,
    collection: Request,
    params: ListParams,
    limit: Duration,
    is_over: bool,
    left: u64,
    items: PhantomData<fn() -> T>,
}

impl<'a, T: DeserializeOwned> Pages<'a, T> {
    pub(super) fn new(client: &'a Client, path: &str, params: ListParams, limit: Duration) -> Self {
        Self { client, collection: Request::new(path), params, limit, is_over: false, left: 0, items: PhantomData }
    }

    /// Objects on the remaining pages, if the API server reports them.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The next page. `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Listed<T>>, Failure> {
        if self.is_over {
            return Ok(None);
        }
        let request = self.collection.list(&self.params).map_err(|e| Failure::Unreadable(e.to_string()))?;
        match json::<Page<T>>(self.client, request, self.limit).await {
            Ok(page) => {
                self.params.continue_token = page.metadata.r#continue.filter(|token| !token.is_empty());
                self.is_over = self.params.continue_token.is_none();
                self.left = page.metadata.left;
                Ok(Some(Listed::Page(page.items)))
            }
            Err(failure) if failure.category() == "expired" && self.params.continue_token.take().is_some() => {
                Ok(Some(Listed::Restarted))
            }
            Err(failure) => Err(failure),
        }
    }
}

async fn exchange(client: &Client, request: http::Request<Vec<u8>>) -> Result<Vec<u8>, Failure> {
    let response = client.send(request.map(Body::from)).await.map_err(Failure::from_kube)?;
    let code = response.status();
    let header = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let body = response.into_body().collect_bytes().await.map_err(Failure::from_kube)?;
    if code.is_success() {
        return Ok(body.into());
    }
    // Proxies, the throttling filter and unknown API groups respond with plain text.
    let body = String::from_utf8_lossy(&body);
    let status = serde_json::from_str::<Status>(&body)
        .unwrap_or_else(|_| Status::failure(&body, code.canonical_reason().unwrap_or_default()));
    let status = Box::new(status.with_code(code.as_u16()));
    let retry_after = header.map(Duration::from_secs).or_else(|| retry_after_of(&status));
    Err(Failure::Api { status: cleaned(status), retry_after })
}

fn retry_after_of(status: &Status) -> Option<Duration> {
    let seconds = status.details.as_ref().map_or(0, |d| d.retry_after_seconds);
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

/// Cleans the text of an error: it may quote our request, which may contain text of a pod.
fn cleaned(mut status: Box<Status>) -> Box<Status> {
    status.message = text::line(&status.message, MESSAGE_MAX);
    status.reason = text::line(&status.reason, MESSAGE_MAX);
    status
}

fn header_timeout(error: &kube::Error) -> Option<Duration> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<NoResponse>() {
            return Some(found.0);
        }
        at = error.source();
    }
    None
}

/// The error with its causes: hyper's own message is only `client error (Connect)`.
fn chain(error: &kube::Error) -> String {
    let (mut out, mut at) = match error {
        // Skips kube's own prefix.
        kube::Error::Service(inner) => (inner.to_string(), inner.source()),
        error => (error.to_string(), error.source()),
    };
    while let Some(cause) = at {
        let cause_text = cause.to_string();
        if !out.contains(&cause_text) {
            out.push_str(": ");
            out.push_str(&cause_text);
        }
        at = cause.source();
    }
    out
}
