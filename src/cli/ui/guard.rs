//! Access control of the page: requests need the token of the printed URL and the Host of this address, and only reads
//! are allowed.
//!
//! Other programs and users of the machine can also reach 127.0.0.1, and so can any website in the user's browser: by a
//! DNS name that resolves to it (so the Host header is checked) or in a frame (so frames are denied).

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;
use uuid::Uuid;

/// Allows only resources of this process: no inline script or style, no other host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const HEADERS: [(header::HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (header::HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (header::HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Query parameter of the printed URL.
const PARAMETER: &str = "token";

pub(super) struct Guard {
    token: String,
    /// A token for one request.
    once: Mutex<Option<String>>,
    port: u16,
}

/// 244 random bits.
fn random() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("port", &self.port).finish_non_exhaustive()
    }
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// The URL contains the token: redirect to the same page without it, and set a cookie.
    Enter(String),
    Refuse(StatusCode, &'static str),
}

impl Guard {
    /// A guard with a new token.
    pub(super) fn new(port: u16) -> Self {
        Self { token: random(), once: Mutex::default(), port }
    }

    /// The URL to print.
    pub(super) fn url(&self) -> String {
        self.url_with(&self.token)
    }

    /// A URL for one request. Other users of the machine can read the arguments with which a browser is started, and most
    /// browsers keep them as long as they run.
    pub(super) fn url_for_once(&self) -> String {
        let token = random();
        let url = self.url_with(&token);
        *self.once.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
        url
    }

    fn url_with(&self, token: &str) -> String {
        format!("http://127.0.0.1:{}/?{PARAMETER}={token}", self.port)
    }

    /// Name of the cookie. A browser sends cookies to all ports of a host, so each instance has its own name.
    fn cookie(&self) -> String {
        format!("shindan-{}", self.port)
    }

    fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Verdict {
        if !self.is_ours(headers) {
            return Verdict::Refuse(
                StatusCode::FORBIDDEN,
                "This is not the address that shindan ui serves: open the URL that it printed.",
            );
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Verdict::Refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                "Only GET and HEAD are allowed: the page is read-only.",
            );
        }
        let query = uri.query().unwrap_or_default();
        if let Some((_, given)) = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == PARAMETER) {
            if self.is_token(&given) || self.spends(&given) {
                return Verdict::Enter(without_token(uri));
            }
        } else if self.has_cookie(headers) {
            return Verdict::Pass;
        }
        Verdict::Refuse(
            StatusCode::FORBIDDEN,
            "The token is missing or wrong: open the URL that shindan ui printed at its start. If you followed a \
             link to this page, press Enter in the address bar.",
        )
    }

    /// Whether the Host header is ours. A foreign DNS name that resolves to 127.0.0.1 is another origin for the browser
    /// and appears in Host.
    fn is_ours(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        ["127.0.0.1", "localhost"].iter().any(|name| *host == format!("{name}:{}", self.port))
    }

    fn is_token(&self, given: &str) -> bool {
        self.token.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Whether it is the token for one request, which is then used up.
    fn spends(&self, given: &str) -> bool {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        once.take_if(|token| token.as_bytes().ct_eq(given.as_bytes()).into()).is_some()
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie();
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(of, value)| of == name && self.is_token(value))
    }
}

/// The same page without the token, as a path with a single slash: `//other.example` would be another host.
fn without_token(uri: &Uri) -> String {
    let path = uri.path().trim_start_matches(['/', '\\']);
    let rest = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).filter(|(name, _)| name != PARAMETER);
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(rest).finish();
    if query.is_empty() { format!("/{path}") } else { format!("/{path}?{query}") }
}

/// Middleware that checks each request and sets the headers of each response.
pub(super) async fn watch(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.judge(request.method(), request.uri(), request.headers()) {
        Verdict::Pass => next.run(request).await,
        Verdict::Enter(to) => {
            let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", guard.cookie(), guard.token);
            (StatusCode::SEE_OTHER, [(header::LOCATION, to), (header::SET_COOKIE, cookie)], Body::empty())
                .into_response()
        }
        Verdict::Refuse(status, why) => (status, format!("{why}\n")).into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt;

    const HOST: &str = "127.0.0.1:4711";

    fn guard() -> Arc<Guard> {
        Arc::new(Guard { token: "right".to_owned(), once: Mutex::default(), port: 4711 })
    }

    async fn ask(method: &str, uri: &str, headers: &[(&str, &str)]) -> Response {
        let pages = Router::new().fallback(get(async || "a page")).layer(from_fn_with_state(guard(), watch));
        let request =
            headers.iter().fold(http::Request::builder().method(method).uri(uri), |request, (name, value)| {
                request.header(*name, *value)
            });
        pages.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn requests_without_the_token_are_denied() {
        for (uri, cookie) in [
            ("/", ""),
            ("/page.css", ""),
            ("/", "shindan-4711=wrong"),
            ("/", "shindan-4712=right"),
            ("/", "shindan-4711="),
            ("/?token=", "shindan-4711=right"),
            ("/?token=wrong", "shindan-4711=right"),
            ("/?token=righ", ""),
            ("/?token=rightt", ""),
            ("/?Token=right", ""),
        ] {
            let response = ask("GET", uri, &[("host", HOST), ("cookie", cookie)]).await;
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{uri} {cookie}");
            assert!(response.headers().get(header::SET_COOKIE).is_none());
        }
    }

    #[tokio::test]
    async fn the_token_becomes_an_http_only_same_site_cookie() {
        let response = ask("GET", "/pod?name=a%26b&token=right&namespace=x", &[("host", HOST)]).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        assert_eq!(response.headers()[header::LOCATION], "/pod?name=a%26b&namespace=x");
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
        assert_eq!(cookie, "shindan-4711=right; Path=/; HttpOnly; SameSite=Strict");
        let (pair, _) = cookie.split_once(';').unwrap();
        let others = format!("a=b; {pair}");
        for host in [HOST, "localhost:4711"] {
            assert_eq!(ask("GET", "/", &[("host", host), ("cookie", &others)]).await.status(), StatusCode::OK);
        }
        let elsewhere = ask("GET", "//other.example/x?token=right", &[("host", HOST)]).await;
        assert_eq!(elsewhere.headers()[header::LOCATION], "/other.example/x");
    }

    #[tokio::test]
    async fn a_foreign_host_header_is_denied() {
        let cookie = ("cookie", "shindan-4711=right");
        for host in ["evil.example:4711", "127.0.0.1", "127.0.0.1:4712", "localhost", "127.0.0.1:4711.evil.example", ""]
        {
            let response = ask("GET", "/?token=right", &[("host", host), cookie]).await;
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{host}");
        }
        assert_eq!(ask("GET", "/", &[cookie]).await.status(), StatusCode::FORBIDDEN, "no Host");
        let both = [("host", HOST), ("host", "evil.example"), cookie];
        assert_eq!(ask("GET", "/", &both).await.status(), StatusCode::FORBIDDEN, "two");
    }

    #[tokio::test]
    async fn only_reads_are_allowed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"] {
            let response = ask(method, "/", &[("host", HOST), ("cookie", "shindan-4711=right")]).await;
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        }
        let head = ask("HEAD", "/", &[("host", HOST), ("cookie", "shindan-4711=right")]).await;
        assert_eq!(head.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn each_response_has_the_security_headers() {
        for (uri, host) in [("/", HOST), ("/?token=right", HOST), ("/", "evil.example")] {
            let response = ask("GET", uri, &[("host", host)]).await;
            let of = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
            assert!(
                of("content-security-policy").starts_with("default-src 'none'; script-src 'self'; style-src 'self'")
            );
            assert!(of("content-security-policy").ends_with("frame-ancestors 'none'"));
            assert_eq!((of("x-content-type-options"), of("referrer-policy")), ("nosniff".into(), "no-referrer".into()));
            assert_eq!(of("cache-control"), "no-store");
        }
    }

    #[test]
    fn the_token_for_one_request_is_used_up_by_it() {
        let guard = Guard::new(4711);
        let url: Uri = guard.url_for_once().parse().unwrap();
        let host = header::HeaderValue::from_static(HOST);
        let headers = HeaderMap::from_iter([(header::HOST, host)]);
        let wrong = guard.judge(&Method::GET, &"/?token=wrong".parse().unwrap(), &headers);
        assert!(matches!(wrong, Verdict::Refuse(StatusCode::FORBIDDEN, _)), "{wrong:?}");
        assert_eq!(guard.judge(&Method::GET, &url, &headers), Verdict::Enter("/".to_owned()));
        let again = guard.judge(&Method::GET, &url, &headers);
        assert!(matches!(again, Verdict::Refuse(StatusCode::FORBIDDEN, _)), "{again:?}");
    }

    #[test]
    fn tokens_are_unique_and_not_in_debug_output() {
        let (one, other) = (Guard::new(1), Guard::new(1));
        assert_ne!(one.token, other.token);
        assert_eq!(one.token.len(), 64);
        assert!(one.url().ends_with(&one.token) && !format!("{one:?}").contains(&one.token));
    }
}
