//! HTTP endpoints `/metrics`, `/healthz` and `/readyz`.

pub(crate) mod connections;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use self::connections::Limits;
use crate::metrics::{Format, Lack, Metrics, Parts};

/// State behind `/healthz` and `/readyz`. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Parts that are missing, with the reason.
    parts: Arc<Parts>,
    /// Parts that have failed and do not recover without a restart.
    broken: Notes,
    /// Parts that are disabled by the configuration.
    without: Notes,
}

/// A reason for each part.
#[derive(Debug, Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Notes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, part: &'static str, why: impl Into<String>) {
        self.lock().insert(part, why.into());
    }

    fn lines(&self) -> Vec<String> {
        self.lock().iter().map(|(part, why)| format!("{part}: {why}")).collect()
    }
}

impl Health {
    /// Health whose missing parts are also counted in `metrics`.
    pub fn counted(metrics: &Metrics) -> Self {
        Self { parts: metrics.parts(), ..Self::default() }
    }

    /// Marks `part` as missing and the operator as not ready, for example `("pods", "not listed yet")`.
    pub fn missing(&self, part: &'static str, why: impl Into<String>) {
        self.parts.missing(part, Lack::new(why, true));
    }

    /// Marks `part` as missing. The operator stays ready, and /readyz lists the part.
    pub fn lacking(&self, part: &'static str, why: impl Into<String>) {
        self.parts.missing(part, Lack::new(why, false));
    }

    /// Like [`Self::lacking`], for problems that only a request can detect. The entry expires after `time` without a
    /// new report.
    pub fn lacking_for(&self, part: &'static str, why: impl Into<String>, time: Duration) {
        self.parts.missing(part, Lack::new(why, false).lasting(time));
    }

    /// Marks `part` as available.
    pub fn ready(&self, part: &'static str) {
        self.parts.ready(part);
    }

    /// Stops waiting for `part`: while it is missing, it is listed but no longer makes the operator not ready.
    pub fn tolerate(&self, part: &'static str) {
        self.parts.tolerate(part);
    }

    /// Lists `part` on /readyz as disabled. The operator stays ready.
    pub fn without(&self, part: &'static str, why: impl Into<String>) {
        self.without.add(part, why);
    }

    /// Marks the operator as not alive. Only a restart of the process recovers from this.
    pub fn broken(&self, part: &'static str, why: impl Into<String>) {
        self.broken.add(part, why);
    }

    pub fn is_ready(&self) -> bool {
        self.broken.lock().is_empty() && !self.parts.lacks().iter().any(|(_, lack)| lack.vital)
    }

    /// A line for each missing part, whether it is vital or not.
    pub fn lacks(&self) -> Vec<String> {
        self.parts.lacks().into_iter().map(|(part, lack)| format!("{part}: {}", lack.why)).collect()
    }
}

/// Probes of the kubelet and scrapes need a few connections. Idle ones are closed; the next request opens another.
const LIMITS: Limits = Limits { connections: 64, header: Duration::from_secs(10) };

/// Serves until `stop` resolves, then completes the requests in progress.
pub async fn serve(listener: TcpListener, metrics: Metrics, health: Health, stop: impl Future<Output = ()>) {
    connections::serve(listener, router(metrics, health), LIMITS, stop).await;
}

fn router(metrics: Metrics, health: Health) -> Router {
    Router::new()
        .route("/metrics", get(scrape).with_state(metrics))
        .route("/healthz", get(healthz).with_state(health.clone()))
        .route("/readyz", get(readyz).with_state(health))
}

async fn scrape(State(metrics): State<Metrics>, headers: HeaderMap) -> Response {
    let format = Format::accepted(headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()));
    match metrics.encode_as(format) {
        Ok(text) => ([(header::CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn healthz(State(health): State<Health>) -> Response {
    let ended = health.broken.lines();
    answer(ended.is_empty(), &ended)
}

async fn readyz(State(health): State<Health>) -> Response {
    answer(health.is_ready(), &[health.broken.lines(), health.lacks(), health.without.lines()].concat())
}

fn answer(ok: bool, lines: &[String]) -> Response {
    let ok_line = ok.then_some("ok").into_iter();
    let text = ok_line.chain(lines.iter().map(String::as_str)).collect::<Vec<_>>().join("\n") + "\n";
    let status = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    async fn ask(health: &Health, path: &str) -> (StatusCode, String) {
        let router = router(Metrics::new(), health.clone());
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn readiness_lists_missing_parts_and_liveness_ignores_them() {
        let health = Health::default();
        health.missing("pods", "forbidden");
        assert_eq!(ask(&health, "/readyz").await, (StatusCode::SERVICE_UNAVAILABLE, "pods: forbidden\n".to_owned()));
        assert_eq!(ask(&health, "/healthz").await.0, StatusCode::OK);
        health.ready("pods");
        assert_eq!(ask(&health, "/readyz").await, (StatusCode::OK, "ok\n".to_owned()));
        health.without("nodes", "not read");
        health.lacking("services", "forbidden");
        let notes = "ok\nservices: forbidden\nnodes: not read\n".to_owned();
        assert_eq!(ask(&health, "/readyz").await, (StatusCode::OK, notes));
        health.broken("engine", "has ended");
        assert_eq!(ask(&health, "/healthz").await.0, StatusCode::SERVICE_UNAVAILABLE);
    }

    /// The content type and the body of `/metrics`.
    async fn scraped(accept: Option<&str>) -> (String, String) {
        let mut request = http::Request::get("/metrics");
        if let Some(accept) = accept {
            request = request.header(header::ACCEPT, accept);
        }
        let router = router(Metrics::new(), Health::default());
        let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let content_type = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (content_type, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn metrics_have_the_format_that_the_client_asks_for() {
        for accept in [None, Some("*/*"), Some("text/plain")] {
            let (content_type, body) = scraped(accept).await;
            assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8", "{accept:?}");
            assert!(body.contains("# TYPE shindan_events_lost_total counter\nshindan_events_lost_total 0\n"), "{body}");
            assert!(!body.contains("# EOF") && !body.contains("# UNIT"), "{body}");
        }
        let (content_type, body) = scraped(Some("application/openmetrics-text;version=1.0.0,*/*;q=0.1")).await;
        assert_eq!(content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(body.contains("# TYPE shindan_events_lost counter\n") && body.ends_with("# EOF\n"), "{body}");
    }
}
