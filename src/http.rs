//! `/metrics`, `/healthz` and `/readyz`.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// What the probes answer; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    /// What is not there yet, and why.
    missing: BTreeMap<&'static str, String>,
    /// What has ended and will not come back by itself.
    broken: BTreeMap<&'static str, String>,
    /// What is done without, because we were told to.
    without: BTreeMap<&'static str, &'static str>,
}

impl Health {
    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Not ready: `part` is missing, such as `("pods", "not listed yet")`.
    pub fn missing(&self, part: &'static str, why: impl Into<String>) {
        self.lock().missing.insert(part, why.into());
    }

    /// `part` is there now.
    pub fn ready(&self, part: &'static str) {
        self.lock().missing.remove(part);
    }

    /// Ready without `part`, and says so.
    pub fn without(&self, part: &'static str, why: &'static str) {
        self.lock().without.insert(part, why);
    }

    /// Not alive: only a restart of the process helps.
    pub fn broken(&self, part: &'static str, why: impl Into<String>) {
        self.lock().broken.insert(part, why.into());
    }

    pub fn is_ready(&self) -> bool {
        let parts = self.lock();
        parts.missing.is_empty() && parts.broken.is_empty()
    }
}

/// Serves until `stop` is done, then ends the requests that are under way.
pub async fn serve(
    listener: TcpListener,
    metrics: Metrics,
    health: Health,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(metrics, health)).with_graceful_shutdown(stop).await
}

fn router(metrics: Metrics, health: Health) -> Router {
    Router::new()
        .route("/metrics", get(scrape).with_state(metrics))
        .route("/healthz", get(healthz).with_state(health.clone()))
        .route("/readyz", get(readyz).with_state(health))
}

async fn scrape(State(metrics): State<Metrics>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn healthz(State(health): State<Health>) -> Response {
    refusal(&health.lock().broken, &BTreeMap::new()).unwrap_or_else(|| "ok\n".into_response())
}

async fn readyz(State(health): State<Health>) -> Response {
    let parts = health.lock();
    refusal(&parts.broken, &parts.missing).unwrap_or_else(|| {
        let notes = parts.without.iter().map(|(part, why)| format!("{part}: {why}\n"));
        std::iter::once("ok\n".to_owned()).chain(notes).collect::<Vec<_>>().concat().into_response()
    })
}

fn refusal(broken: &BTreeMap<&'static str, String>, missing: &BTreeMap<&'static str, String>) -> Option<Response> {
    if broken.is_empty() && missing.is_empty() {
        return None;
    }
    let lines: Vec<_> = broken.iter().chain(missing).map(|(part, why)| format!("{part}: {why}")).collect();
    Some((StatusCode::SERVICE_UNAVAILABLE, lines.join("\n") + "\n").into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    async fn ask(health: &Health, path: &str) -> (StatusCode, String) {
        let router = router(Metrics::new([]), health.clone());
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn readiness_names_what_is_missing_and_liveness_does_not_care() {
        let health = Health::default();
        health.missing("pods", "forbidden");
        assert_eq!(ask(&health, "/readyz").await, (StatusCode::SERVICE_UNAVAILABLE, "pods: forbidden\n".to_owned()));
        assert_eq!(ask(&health, "/healthz").await.0, StatusCode::OK);
        health.ready("pods");
        assert_eq!(ask(&health, "/readyz").await, (StatusCode::OK, "ok\n".to_owned()));
        health.without("nodes", "not read");
        assert_eq!(ask(&health, "/readyz").await, (StatusCode::OK, "ok\nnodes: not read\n".to_owned()));
        health.broken("engine", "has ended");
        assert_eq!(ask(&health, "/healthz").await.0, StatusCode::SERVICE_UNAVAILABLE);
        assert!(ask(&health, "/metrics").await.1.ends_with("# EOF\n"));
    }
}
