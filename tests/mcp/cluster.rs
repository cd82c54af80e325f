//! A mock API server for the program: serves the objects of a dump, and records the requests.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode, Uri, header};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

pub(crate) struct Cluster {
    /// With the kubeconfig.
    folder: TempDir,
    calls: Arc<Mutex<Vec<(Method, String)>>>,
}

struct Content {
    objects: Vec<Value>,
    /// Resources that cannot be read.
    refused: Vec<&'static str>,
}

impl Cluster {
    /// Serves these objects, and 403 for the resources in `refused`. The diagnoses are known only if one is served.
    pub(crate) async fn serve(objects: Vec<Value>, refused: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let folder = kubeconfig(&format!("http://{}", listener.local_addr().unwrap()));
        let calls = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&calls);
        let content = Arc::new(Content { objects, refused: refused.to_vec() });
        let handler = move |method: Method, uri: Uri, body: Bytes| {
            seen.lock().unwrap().push((method.clone(), uri.to_string()));
            std::future::ready(content.reply(&method, &uri, &body))
        };
        tokio::spawn(async { axum::serve(listener, Router::new().fallback(handler)).await });
        Self { folder, calls }
    }

    pub(crate) fn kubeconfig(&self) -> String {
        path(&self.folder)
    }

    /// The methods and URLs of the requests.
    pub(crate) fn calls(&self) -> Vec<(Method, String)> {
        self.calls.lock().unwrap().clone()
    }
}

/// A folder with a kubeconfig of this server.
pub(crate) fn kubeconfig(server: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "namespace": "shop"}}],
    });
    std::fs::write(folder.path().join("config"), config.to_string()).unwrap();
    folder
}

pub(crate) fn path(folder: &TempDir) -> String {
    folder.path().join("config").to_str().unwrap().to_owned()
}

impl Content {
    fn has_operator(&self) -> bool {
        self.objects.iter().any(|object| plural_of(object).ends_with("diagnoses"))
    }

    fn reply(&self, method: &Method, uri: &Uri, body: &Bytes) -> Response {
        let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        match parts[..] {
            ["version"] => return answer(200, &json!({"gitVersion": "v1.37.2"})),
            // Without custom resources.
            ["api" | "apis"] => return answer(200, &json!({"items": []})),
            _ => {}
        }
        let (namespace, rest) = match &parts[..] {
            ["api", _, "namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            ["apis", _, _, "namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => (None, rest),
            _ => return failure(404, "NotFound", "there is no such path"),
        };
        let Some(plural) = rest.first().copied() else { return failure(404, "NotFound", "there is no such path") };
        if self.refused.contains(&plural) {
            let message = format!("{plural} is forbidden: User \"jane\" cannot list resource \"{plural}\"");
            return failure(403, "Forbidden", &message);
        }
        let is_in_place = |object: &&Value| namespace.is_none_or(|of| object["metadata"]["namespace"] == of);
        let known = self.objects.iter().filter(|object| plural_of(object) == plural);
        let items: Vec<&Value> = known.filter(is_in_place).collect();
        match rest {
            // The operator is not installed.
            [_] if plural.ends_with("diagnoses") && !self.has_operator() => {
                failure(404, "NotFound", "no such resource")
            }
            [_] => answer(200, &json!({"metadata": {"resourceVersion": "100"}, "items": items})),
            [_, name, ..] => match items.iter().find(|object| object["metadata"]["name"] == **name) {
                Some(object) if method == Method::GET => answer(200, object),
                Some(object) => answer(200, &changed((*object).clone(), body)),
                None if plural == "namespaces" => answer(200, &json!({"metadata": {"name": name}})),
                None => failure(404, "NotFound", &format!("{plural} {name:?} not found")),
            },
            [] => failure(404, "NotFound", "there is no such path"),
        }
    }
}

/// The object of a dry run: with the patch, as a text, in a field that no test reads.
fn changed(mut object: Value, patch: &Bytes) -> Value {
    object["spec"]["patchedWith"] = String::from_utf8_lossy(patch).into();
    object
}

fn plural_of(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default().to_ascii_lowercase();
    match kind.strip_suffix("sis") {
        Some(stem) => format!("{stem}ses"),
        None => format!("{kind}s"),
    }
}

fn answer(code: u16, body: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::from_u16(code).unwrap(), json, body.to_string()).into_response()
}

fn failure(code: u16, reason: &str, message: &str) -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": message});
    answer(code, &status)
}

/// The objects of a recorded case.
pub(crate) fn recorded(case: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/causes").join(case);
    let list: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// A pod that cannot pull its image, with this message of the kubelet.
pub(crate) fn failing(namespace: &str, name: &str, message: &str) -> Value {
    let condition = json!({"type": "Ready", "status": "False", "reason": "ContainersNotReady",
        "lastTransitionTime": "2026-11-21T09:00:00Z"});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}-{name}"), "resourceVersion": "4711",
            "creationTimestamp": "2026-11-21T09:00:00Z"},
        "spec": {"nodeName": "n1", "containers": [{"name": "web", "image": "nginx:nope"}]},
        "status": {"phase": "Pending", "startTime": "2026-11-21T09:00:00Z", "conditions": [condition],
            "containerStatuses": [{"name": "web", "image": "nginx:nope", "restartCount": 0,
                "state": {"waiting": {"reason": "ImagePullBackOff", "message": message}}}]},
    })
}

/// The message for a tag that does not exist.
pub(crate) const NO_TAG: &str = "Back-off pulling image \"nginx:nope\": ErrImagePull: rpc error: code = NotFound desc = \
    failed to pull and unpack image \"docker.io/library/nginx:nope\": failed to resolve reference \
    \"docker.io/library/nginx:nope\": docker.io/library/nginx:nope: not found";

/// A pod whose container exited with this termination message.
pub(crate) fn crashed(namespace: &str, name: &str, message: &str) -> Value {
    let mut pod = failing(namespace, name, "");
    let ended = json!({"exitCode": 1, "reason": "Error", "message": message,
        "startedAt": "2026-11-21T09:00:10Z", "finishedAt": "2026-11-21T09:00:12Z"});
    pod["status"]["phase"] = "Running".into();
    pod["status"]["containerStatuses"][0] = json!({"name": "web", "image": "nginx:1", "restartCount": 7, "ready": false,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        "lastState": {"terminated": ended}});
    pod
}
