//! The real client against servers on the loopback.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use shindan::notify::Settings;
use shindan::notify::incident::{Member, restored};
use shindan::notify::message::Change;
use shindan::notify::queue::Delivery;
use shindan::notify::send::{HttpPost, Outcome, deliver};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::receivers::{Diagnosis, Folder, SECRET};

type Seen = Arc<Mutex<Vec<(Method, Uri, HeaderMap, Bytes)>>>;

/// Serves this answer to each request. Returns the address and the requests.
async fn server(answer: impl Fn() -> Response + Clone + Send + Sync + 'static) -> (String, Seen) {
    let seen = Seen::default();
    let kept = seen.clone();
    let router = Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
        kept.lock().unwrap().push((method, uri, headers, body));
        let answer = answer();
        async move { answer }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, seen)
}

fn opened() -> Delivery {
    let web = Diagnosis::alone("web");
    let member = Member::of(&web.key(), &web.object()).unwrap();
    Delivery::One(Change::Opened, restored(&member.incident, &member).into())
}

/// Sends a message to a webhook at this address.
async fn send(address: &str) -> Outcome {
    let folder = Folder::new();
    let text = format!(
        "receivers:\n- name: hook\n  webhook: {{url: \"{address}/in?x=1\", secretFile: {token}, tokenFile: {token}}}\n",
        token = folder.path("token").display()
    );
    let settings = Settings::parse(&text).unwrap();
    let post = HttpPost::new(&settings).unwrap();
    deliver(post, 0, settings.receivers[0].clone(), None, opened()).await
}

#[tokio::test]
async fn a_request_arrives_as_it_was_rendered_with_its_signature() {
    let (address, seen) = server(|| StatusCode::NO_CONTENT.into_response()).await;
    assert_eq!(send(&address).await, Outcome::Sent);
    let seen = seen.lock().unwrap();
    let [(method, uri, headers, body)] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((method, uri.to_string().as_str()), (&Method::POST, "/in?x=1"));
    assert_eq!(headers["content-type"], "application/cloudevents+json; charset=utf-8");
    assert_eq!(headers["authorization"], format!("Bearer {SECRET}"));
    assert!(headers["user-agent"].to_str().unwrap().starts_with("shindan/"));
    let event: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!(event["data"]["title"], "Warning: RegistryConnectionRefused: shop/Deployment/web");
    let key = hmac_by_definition(SECRET.as_bytes(), body);
    assert_eq!(headers["x-shindan-signature"], format!("sha256={key}"));
}

/// HMAC-SHA256 by its definition, independent of the implementation under test.
fn hmac_by_definition(key: &[u8], message: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    let mut padded = key.to_vec();
    padded.resize(64, 0);
    let xor = |pad: u8| padded.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = Sha256::digest([xor(0x36), message.to_vec()].concat());
    let both = Sha256::digest([xor(0x5c), inner.to_vec()].concat());
    both.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (target, reached) = server(|| StatusCode::OK.into_response()).await;
    let (address, _) =
        server(move || (StatusCode::TEMPORARY_REDIRECT, [("location", target.clone())]).into_response()).await;
    let Outcome::Rejected { detail } = send(&address).await else { panic!() };
    assert!(detail.contains("redirects are not followed"), "{detail}");
    assert!(reached.lock().unwrap().is_empty());
}

#[tokio::test]
async fn retry_after_is_read() {
    let (address, _) = server(|| (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "17")]).into_response()).await;
    let Outcome::Retry { reason: "throttled", after, .. } = send(&address).await else { panic!() };
    assert_eq!(after.map(|after| after.as_secs()), Some(17));
}

#[tokio::test]
async fn a_body_without_an_end_is_not_read_to_it() {
    let endless = || {
        let chunk = || Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 4096]));
        Body::from_stream(futures::stream::repeat_with(chunk))
    };
    let (address, _) = server(move || Response::new(endless())).await;
    assert!(matches!(send(&address).await, Outcome::Retry { reason: "broken", .. }));
    let (address, _) = server(move || (StatusCode::BAD_REQUEST, endless()).into_response()).await;
    assert!(matches!(send(&address).await, Outcome::Rejected { .. }), "the status is enough");
}

#[tokio::test]
async fn a_connection_that_is_dropped_or_refused_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let dropping = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 16]).await;
    });
    assert!(matches!(send(&address).await, Outcome::Retry { reason: "broken", .. }));
    dropping.await.unwrap();
    let Outcome::Retry { reason: "connect", detail, .. } = send(&address).await else { panic!("the listener is gone") };
    assert!(detail.starts_with("no connection: Connection refused"), "{detail}");
}
