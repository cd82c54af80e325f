//! Ends a request that gets no response.
//!
//! kube limits the silence within a watch, but not the wait for the response to a LIST or to the start of a watch. An
//! API server or load balancer that accepts the request and does not respond would block a watch forever. The body is
//! not limited.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request};
use tower::{BoxError, Layer, Service};

/// No response header arrived within the limit.
#[derive(Debug, Clone, thiserror::Error)]
#[error("no response within {} s", .0.as_secs())]
pub struct NoResponse(pub Duration);

/// Layer that wraps a service in a [`HeaderTimeout`]. It must be the outermost layer to cover all others.
#[derive(Debug, Clone, Copy)]
pub struct HeaderTimeoutLayer {
    read: Duration,
    write: Duration,
}

impl HeaderTimeoutLayer {
    /// Limits for GETs (lists and watches) and for all other requests.
    pub const fn new(read: Duration, write: Duration) -> Self {
        Self { read, write }
    }
}

impl<S> Layer<S> for HeaderTimeoutLayer {
    type Service = HeaderTimeout<S>;

    fn layer(&self, inner: S) -> Self::Service {
        HeaderTimeout { inner, limits: *self }
    }
}

#[derive(Debug, Clone)]
pub struct HeaderTimeout<S> {
    inner: S,
    limits: HeaderTimeoutLayer,
}

impl<S, B> Service<Request<B>> for HeaderTimeout<S>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let limit = if request.method() == Method::GET { self.limits.read } else { self.limits.write };
        let answer = self.inner.call(request);
        Box::pin(async move {
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(NoResponse(limit).into()),
            }
        })
    }
}
