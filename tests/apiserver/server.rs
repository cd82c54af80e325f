//! A mock API server: responds by a function and records the requests.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use futures::{StreamExt, stream};
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::ClientBuilder;
use serde_json::{Value, json};
use shindan::cluster::header_timeout::HeaderTimeoutLayer;

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// Query parameters, decoded and ordered by name.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) accept: String,
    pub(crate) body: Value,
}

impl Call {
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.query("watch").is_some()
    }
}

pub(crate) enum Reply {
    Json(u16, Value),
    /// A plain text body with an optional `Retry-After`.
    Text(u16, &'static str, Option<u32>),
    /// A watch with these events that stays open.
    Watch(Vec<Value>),
    /// A watch with these events that ends.
    WatchEnd(Vec<Value>),
    /// No response.
    NoResponse,
}

/// An error in the format of the API server.
pub(crate) fn status(code: u16, reason: &str, message: &str, details: Value) -> Reply {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": message, "details": details});
    Reply::Json(code, body)
}

pub(crate) fn list(items: Vec<Value>) -> Reply {
    Reply::Json(200, json!({"metadata": {"resourceVersion": "100"}, "items": items}))
}

pub(crate) fn event(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

/// The bookmark that ends the initial events of a streamed list.
pub(crate) fn initial_end() -> Value {
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    let metadata = json!({"resourceVersion": "100", "annotations": annotations});
    event("BOOKMARK", json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}))
}

#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    pub(crate) fn all(&self) -> Vec<Call> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, matching: impl Fn(&Call) -> bool) -> usize {
        self.all().iter().filter(|call| matching(call)).count()
    }
}

/// Returns a client of a mock server with the timeouts of the real client.
pub(crate) fn server(handler: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> (Client, Calls) {
    let calls = Calls::default();
    let seen = calls.clone();
    let handler = Arc::new(handler);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (handler, seen) = (handler.clone(), seen.clone());
        let response: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move {
            let call = read(request).await;
            let reply = handler(&call);
            seen.0.lock().unwrap().push(call);
            respond(reply).await
        });
        response
    });
    let layer = HeaderTimeoutLayer::new(Duration::from_secs(30), Duration::from_secs(15));
    (ClientBuilder::new(service, "default").with_layer(&layer).build(), calls)
}

async fn read(request: http::Request<kube::client::Body>) -> Call {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let query = parts.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut query: Vec<_> = query.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(decoded).collect();
    query.sort();
    let accept = parts.headers.get("accept").map(|v| v.to_str().unwrap().to_owned()).unwrap_or_default();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Call { method: parts.method, path: parts.uri.path().to_owned(), query, accept, body }
}

fn decoded((name, value): (&str, &str)) -> (String, String) {
    let mut out = value.replace('+', " ");
    for (code, text) in [("%21", "!"), ("%2C", ","), ("%2F", "/"), ("%3D", "=")] {
        out = out.replace(code, text);
    }
    (name.to_owned(), out)
}

async fn respond(reply: Reply) -> Result<Response<Body>, std::convert::Infallible> {
    let (code, retry_after, body) = match reply {
        Reply::Json(code, value) => (code, None, Body::from(value.to_string())),
        Reply::Text(code, text, retry_after) => (code, retry_after, Body::from(text)),
        Reply::Watch(events) => (200, None, Body::from_stream(lines(events).chain(stream::pending()))),
        Reply::WatchEnd(events) => (200, None, Body::from_stream(lines(events))),
        Reply::NoResponse => std::future::pending().await,
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert("retry-after", seconds.into());
    }
    Ok(response)
}

fn lines(events: Vec<Value>) -> impl futures::Stream<Item = Result<String, std::convert::Infallible>> {
    stream::iter(events.into_iter().map(|event| Ok(format!("{event}\n"))))
}
