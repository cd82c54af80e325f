//! /readyz of a starting operator.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Longer than the start of a process takes on a busy machine.
const STARTED: Duration = Duration::from_secs(60);

/// An API server that has none of our objects, and does not respond to the list of rules, which is read next.
async fn respond(request: Request, rules: Arc<Notify>) -> impl IntoResponse {
    let path = request.uri().path();
    if path == "/version" {
        return json!({"gitVersion": "v1.37.2"}).to_string();
    }
    if path.ends_with("diagnosisrules") {
        rules.notify_one();
        std::future::pending::<()>().await;
    }
    json!({"metadata": {"resourceVersion": "1"}, "items": []}).to_string()
}

/// A rollout would end the replica before, which may be the only one that works.
#[tokio::test]
async fn an_operator_that_has_listed_nothing_is_not_ready() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let rules = Arc::new(Notify::new());
    let asked = rules.clone();
    let router = Router::new().fallback(move |request: Request| respond(request, asked.clone()));
    tokio::spawn(async move { axum::serve(listener, router).await });

    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{server}")}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    });
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    // It was free a moment ago.
    let listen = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut operator = Command::new(env!("CARGO_BIN_EXE_shindan"))
        .args(["run", "--listen", &listen.to_string(), "--kubeconfig"])
        .arg(&kubeconfig)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();

    let is_asked = tokio::time::timeout(STARTED, rules.notified()).await;
    // kube's client would repeat the request.
    let mut stream = TcpStream::connect(listen).await.unwrap();
    stream.write_all(b"GET /readyz HTTP/1.0\r\n\r\n").await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    operator.kill().unwrap();
    operator.wait().unwrap();
    is_asked.expect("it lists the rules");
    assert!(response.starts_with("HTTP/1.0 503") && response.contains("start: nothing is listed yet"), "{response}");
}
