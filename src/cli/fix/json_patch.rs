//! JSON patches (RFC 6902) of remedies.

use anyhow::{Context, bail};
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shindan_core::message::text;

/// Longest value that is shown of a test that fails.
const VALUE_MAX: usize = 100;

/// The first test that the object does not pass, as a sentence. The API server refuses the patch then, but does not name
/// the test. Tests after another operation apply to a changed object, and are left to the API server.
pub(super) fn failed_test(operations: &[Value], object: &DynamicObject) -> anyhow::Result<Option<String>> {
    let object = serde_json::to_value(object).context("the object is no JSON")?;
    for test in operations.iter().take_while(|operation| operation["op"] == "test") {
        let Some(path) = test["path"].as_str() else { bail!("the JSON patch of the remedy has a test without a path") };
        let (now, expected) = (object.pointer(path), &test["value"]);
        if now != Some(expected) {
            let shown = |value: &Value| text::line(&value.to_string(), VALUE_MAX);
            let now = now.map_or_else(|| "does not exist".to_owned(), |now| format!("is {}", shown(now)));
            return Ok(Some(format!(
                "the object has changed since it was diagnosed: {path} {now}, and not {}",
                shown(expected)
            )));
        }
    }
    Ok(None)
}

/// The patch with an annotation, for the object as it was read: if it changes meanwhile, the API server answers with a
/// conflict.
pub(super) fn marked<P: DeserializeOwned>(
    operations: &[Value],
    object: &DynamicObject,
    annotation: &str,
    value: &str,
) -> anyhow::Result<P> {
    let mut all = operations.to_vec();
    if let Some(version) = &object.metadata.resource_version {
        all.push(json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
    }
    if object.metadata.annotations.is_none() {
        all.push(json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
    }
    let key = annotation.replace('~', "~0").replace('/', "~1");
    all.push(json!({"op": "add", "path": format!("/metadata/annotations/{key}"), "value": value}));
    serde_json::from_value(Value::Array(all)).context("the JSON patch of the remedy is not valid")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use shindan_core::api::{Remedy, RemedyKind};

    use super::super::object::Objects;
    use super::super::steps;
    use super::super::trial::{State, Trial};
    use super::*;

    const COMMAND: &str = r#"kubectl -n shop patch ingress/shop --type=json -p '[{"op":"test","path":"/spec/defaultBackend/service/name","value":"wbe"},{"op":"replace","path":"/spec/defaultBackend/service/name","value":"web"}]'"#;

    fn ingress(backend: &str) -> Value {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"namespace": "shop", "name": "shop", "uid": "i", "resourceVersion": "7", "generation": 1},
            "spec": {"defaultBackend": {"service": {"name": backend}}}})
    }

    /// Query, content type and body of each patch.
    type Patches = Arc<Mutex<Vec<(String, String, Value)>>>;

    /// An API server with an Ingress that leads to `backend`; each patch leads it to Service web.
    fn server(backend: &'static str, patches: &Patches) -> Client {
        let patches = patches.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let patches = patches.clone();
            async move {
                let (parts, body) = request.into_parts();
                assert_eq!(parts.uri.path(), "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/shop");
                let now = if parts.method == http::Method::PATCH {
                    let content_type = parts.headers["content-type"].to_str().unwrap().to_owned();
                    let query = parts.uri.query().unwrap_or_default().to_owned();
                    let body = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap();
                    patches.lock().unwrap().push((query, content_type, body));
                    ingress("web")
                } else {
                    ingress(backend)
                };
                Ok::<_, Infallible>(Response::new(Body::from(now.to_string().into_bytes())))
            }
        });
        Client::new(service, "shop")
    }

    async fn tried(objects: &Objects<'_>) -> State {
        let remedy = Remedy {
            kind: RemedyKind::Fix,
            text: "Lead Ingress shop to Service web.".to_owned(),
            command: Some(COMMAND.to_owned()),
            patch: None,
        };
        let values = BTreeMap::new();
        let trial = Trial { objects, namespace: "shop", cause: "IngressBackendMissing", values: &values, force: false };
        trial.of(&remedy).await.unwrap()
    }

    #[tokio::test]
    async fn a_json_patch_is_tried_applied_and_undone() {
        let patches = Patches::default();
        let client = server("wbe", &patches);
        let objects = Objects { client: &client, limit: Duration::from_secs(5) };
        let State::Accepted(steps) = tried(&objects).await else { panic!("it is not accepted") };
        let after = steps[0].after.as_ref().unwrap();
        assert_eq!(after.data["spec"]["defaultBackend"]["service"]["name"], "web", "for the difference");

        let applied = steps::apply(&objects, &steps, "IngressBackendMissing").await.unwrap().unwrap();
        assert_eq!(
            steps::undo_command(&applied).as_deref(),
            Some(
                r#"kubectl -n shop patch ingress shop --type=merge -p '{"spec":{"defaultBackend":{"service":{"name":"wbe"}}}}'"#
            )
        );
        let expected = json!([
            {"op": "test", "path": "/spec/defaultBackend/service/name", "value": "wbe"},
            {"op": "replace", "path": "/spec/defaultBackend/service/name", "value": "web"},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
            {"op": "add", "path": "/metadata/annotations", "value": {}},
            {"op": "add", "path": "/metadata/annotations/shindan.dev~1fixed", "value": "IngressBackendMissing"},
        ]);
        let patches = patches.lock().unwrap();
        let [dry, real] = &**patches else { panic!("{patches:?}") };
        for (_, content_type, body) in [dry, real] {
            assert_eq!((content_type.as_str(), body), ("application/json-patch+json", &expected));
        }
        assert!(dry.0.contains("dryRun=All") && !real.0.contains("dryRun"), "{} {}", dry.0, real.0);
    }

    #[tokio::test]
    async fn a_test_that_fails_refuses_the_patch() {
        let patches = Patches::default();
        let client = server("shop-web", &patches);
        let objects = Objects { client: &client, limit: Duration::from_secs(5) };
        let State::Refused(words) = tried(&objects).await else { panic!("it is not refused") };
        let expected = "the object has changed since it was diagnosed: /spec/defaultBackend/service/name is \
                        \"shop-web\", and not \"wbe\"";
        assert_eq!(words, expected);
        assert_eq!(patches.lock().unwrap().len(), 0);
    }

    #[test]
    fn other_annotations_stay() {
        let object =
            |metadata: Value| -> DynamicObject { serde_json::from_value(json!({"metadata": metadata})).unwrap() };
        let annotated: Value = marked(&[], &object(json!({"annotations": {"a": "b"}})), "c/d", "e").unwrap();
        assert_eq!(annotated, json!([{"op": "add", "path": "/metadata/annotations/c~1d", "value": "e"}]));
    }
}
