//! The publisher: the requests that it sends, and how it classifies refusals.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use shindan::cluster::lease::Leadership;
use shindan::cluster::publish::{Current, PublishError, Published, Publisher};
use shindan::metrics::Metrics;
use shindan_core::api::{PodDiagnosisSpec, PodDiagnosisStatus};
use shindan_core::facts::{ObjectKey, Timestamp};
use shindan_core::reconcile::{
    Action, Annotation, Announcement, Composition, DiagnosisKey, Intent, Object, Reference, Write,
};

use crate::server::{Call, Calls, Reply, server, status};

type Refusal = fn(Value) -> Reply;

fn publisher(handler: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> (Publisher, Calls) {
    let (client, calls) = server(handler);
    (Publisher::new(client, "shindan-0", Leadership::always(), Metrics::new()), calls)
}

fn key() -> ObjectKey {
    ObjectKey::new("demo", "web")
}

fn announcement() -> Announcement {
    let reference =
        |api_version, kind, uid: Option<&str>| Reference { api_version, kind, key: key(), uid: uid.map(str::to_owned) };
    Announcement {
        key: ObjectKey::new("demo", "web.0011223344"),
        regarding: reference("v1".into(), "Pod".into(), Some("pod-uid")),
        related: Some(reference("shindan.dev/v1alpha1".into(), "PodDiagnosis".into(), None)),
        warning: true,
        reason: "OOMKilled".to_owned(),
        action: Action::Diagnosed,
        note: "killed at its limit".to_owned(),
        time: "2026-01-02T03:04:05.6789Z".parse::<Timestamp>().unwrap(),
    }
}

fn apply(resource_version: Option<&str>) -> Intent {
    let status: PodDiagnosisStatus = serde_json::from_value(json!({
        "state": "Active", "severity": "Warning", "confidence": "Certain", "cause": "OOMKilled",
        "category": "Crash",
    }))
    .unwrap();
    let spec = PodDiagnosisSpec { pod_name: "web".to_owned(), ..PodDiagnosisSpec::default() };
    Intent::Apply(Box::new(Write {
        key: DiagnosisKey::of_pod(key()),
        object: Object::Pod(spec, status),
        composition: Composition::default(),
        resource_version: resource_version.map(str::to_owned),
        announcement: Some(announcement()),
    }))
}

fn delete() -> Intent {
    Intent::Delete { key: DiagnosisKey::of_pod(key()), resource_version: "7".to_owned() }
}

fn written() -> Reply {
    Reply::Json(200, json!({"kind": "PartialObjectMetadata", "metadata": {"uid": "u1", "resourceVersion": "8"}}))
}

/// A server that returns `refusal` for PATCH and DELETE, and accepts Events.
fn refusing(refusal: impl Fn() -> Reply + Send + Sync + 'static) -> (Publisher, Calls) {
    publisher(move |call| if call.method == Method::POST { Reply::Json(201, json!({})) } else { refusal() })
}

#[tokio::test]
async fn a_diagnosis_is_one_apply_and_one_event() {
    let (publisher, calls) = refusing(written);
    let written = publisher.publish(&apply(Some("7"))).await.unwrap();
    let expected = Published { uid: "u1".to_owned(), resource_version: "8".to_owned(), announced: true };
    assert_eq!(written, expected);

    let [patch, post] = <[Call; 2]>::try_from(calls.all()).unwrap();
    assert_eq!(patch.method, Method::PATCH);
    assert_eq!(patch.path, "/apis/shindan.dev/v1alpha1/namespaces/demo/poddiagnoses/web");
    assert_eq!(patch.query("fieldManager"), Some("shindan"));
    assert_eq!(patch.query("force"), Some("true"));
    assert!(patch.accept.contains("as=PartialObjectMetadata"), "{}", patch.accept);
    assert_eq!(
        patch.body["metadata"],
        json!({"name": "web", "namespace": "demo", "resourceVersion": "7",
            "labels": {"shindan.dev/cause": "OOMKilled", "shindan.dev/category": "Crash",
                "shindan.dev/severity": "Warning", "shindan.dev/state": "Active"}})
    );
    assert_eq!(
        (&patch.body["apiVersion"], &patch.body["kind"]),
        (&json!("shindan.dev/v1alpha1"), &json!("PodDiagnosis"))
    );
    assert_eq!(patch.body["spec"]["podName"], "web");
    assert_eq!(patch.body["status"]["cause"], "OOMKilled");

    assert_eq!((post.method, post.path.as_str()), (Method::POST, "/apis/events.k8s.io/v1/namespaces/demo/events"));
    let reference = |api: &str, kind: &str, uid: &str| json!({"apiVersion": api, "kind": kind, "namespace": "demo", "name": "web", "uid": uid});
    assert_eq!(
        post.body,
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "web.0011223344", "namespace": "demo"},
            "eventTime": "2026-01-02T03:04:05.678900Z",
            "reportingController": "shindan.dev/operator", "reportingInstance": "shindan-0",
            "action": "Diagnosed", "reason": "OOMKilled", "type": "Warning", "note": "killed at its limit",
            "regarding": reference("v1", "Pod", "pod-uid"),
            "related": reference("shindan.dev/v1alpha1", "PodDiagnosis", "u1"),
        })
    );
}

#[tokio::test]
async fn a_new_object_has_no_version() {
    let (publisher, calls) = refusing(written);
    publisher.publish(&apply(None)).await.unwrap();
    assert_eq!(calls.all()[0].body["metadata"].get("resourceVersion"), None);
}

#[tokio::test]
async fn a_refused_write_posts_no_event() {
    let (publisher, calls) = refusing(|| status(409, "Conflict", "the object has been modified", json!({})));
    assert!(matches!(publisher.publish(&apply(Some("7"))).await, Err(PublishError::Conflict)));
    assert_eq!(calls.all().len(), 1);
}

#[tokio::test]
async fn refusals_are_classified() {
    let namespace = json!({"kind": "namespaces", "name": "demo"});
    let terminating = json!({"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]});
    let cases: [(Refusal, Value, &str); 9] = [
        (|d| status(404, "NotFound", "namespaces \"demo\" not found", d), namespace, "namespace_gone"),
        (|d| status(403, "Forbidden", "it is being terminated", d), terminating, "namespace_gone"),
        (|d| status(403, "Forbidden", "cannot patch", d), json!({}), "forbidden"),
        (|_| Reply::Text(404, "404 page not found\n", None), json!({}), "not_installed"),
        (|d| status(422, "Invalid", "spec: wrong", d), json!({}), "invalid"),
        (|d| status(413, "RequestEntityTooLarge", "too large", d), json!({}), "too_large"),
        (|d| status(500, "InternalError", "etcd", d), json!({}), "unavailable"),
        (|d| status(401, "Unauthorized", "who", d), json!({}), "unavailable"),
        (|_| Reply::Text(200, "<html>", None), json!({}), "unavailable"),
    ];
    for (refusal, details, category) in cases {
        let (publisher, _) = refusing(move || refusal(details.clone()));
        assert_eq!(publisher.publish(&apply(None)).await.unwrap_err().category(), category);
    }
}

#[tokio::test]
async fn a_throttled_write_returns_the_retry_delay() {
    let after = |error| match error {
        PublishError::TooManyRequests { retry_after } => retry_after,
        error => panic!("{error}"),
    };
    // Responses of the flow control, and of a full watch cache.
    let (publisher, _) = refusing(|| Reply::Text(429, "Too many requests, please try again later.\n", Some(7)));
    assert_eq!(after(publisher.publish(&apply(None)).await.unwrap_err()), Some(Duration::from_secs(7)));
    let (publisher, _) = refusing(|| status(429, "TooManyRequests", "slow", json!({"retryAfterSeconds": 3})));
    assert_eq!(after(publisher.publish(&apply(None)).await.unwrap_err()), Some(Duration::from_secs(3)));
}

#[tokio::test]
async fn an_existing_event_counts_as_posted_and_a_failed_one_stays_pending() {
    for (refusal, announced) in [
        (status as fn(u16, &str, &str, Value) -> Reply, true),
        (|_: u16, _: &str, _: &str, d: Value| status(500, "InternalError", "no", d), false),
    ] {
        let (publisher, calls) = publisher(move |call| {
            if call.method == Method::POST { refusal(409, "AlreadyExists", "there", json!({})) } else { written() }
        });
        let written = publisher.publish(&apply(None)).await.unwrap();
        assert_eq!((written.announced, written.resource_version.as_str()), (announced, "8"));
        assert_eq!(calls.all().len(), 2);
    }
}

#[tokio::test]
async fn a_failed_event_does_not_affect_the_object() {
    let (taking, _) = refusing(written);
    assert!(taking.publish(&Intent::Announce(Box::new(announcement()))).await.unwrap().announced);
    let (refusing, _) = publisher(|_| status(500, "InternalError", "no", json!({})));
    assert!(refusing.publish(&Intent::Announce(Box::new(announcement()))).await.is_err());
}

#[tokio::test]
async fn a_delete_has_the_version_and_may_find_nothing() {
    let (publisher, calls) = refusing(|| status(404, "NotFound", "gone", json!({"kind": "poddiagnoses"})));
    publisher.publish(&delete()).await.unwrap();
    let call = &calls.all()[0];
    assert_eq!((&call.method, &call.body["preconditions"]), (&Method::DELETE, &json!({"resourceVersion": "7"})));
    let (publisher, _) = refusing(|| status(409, "Conflict", "the precondition failed", json!({})));
    assert!(matches!(publisher.publish(&delete()).await, Err(PublishError::Conflict)));
}

#[tokio::test]
async fn after_a_conflict_the_version_is_reread() {
    let (publisher, calls) = refusing(written);
    let current = publisher.current(&DiagnosisKey::of_pod(key())).await.unwrap();
    assert_eq!(current, Some(Current { uid: "u1".to_owned(), resource_version: "8".to_owned() }));
    assert!(calls.all()[0].accept.contains("as=PartialObjectMetadata"));
    let (publisher, _) = refusing(|| status(404, "NotFound", "gone", json!({"kind": "poddiagnoses"})));
    assert_eq!(publisher.current(&DiagnosisKey::of_pod(key())).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_response_times_out() {
    let (publisher, _) = publisher(|_| Reply::NoResponse);
    let began = tokio::time::Instant::now();
    let error = publisher.publish(&apply(None)).await.unwrap_err();
    assert_eq!(error.category(), "unavailable");
    assert_eq!(began.elapsed().as_secs(), 15);
}

fn annotate(api_version: &'static str, kind: &'static str, text: Option<&str>) -> Intent {
    let uid = Some("pod-uid".to_owned());
    let object = Reference { api_version: api_version.into(), kind: kind.into(), key: key(), uid };
    Intent::Annotate(Box::new(Annotation { object, text: text.map(str::to_owned), transition: text.map(|_| 1) }))
}

#[tokio::test]
async fn an_annotation_is_one_key_merged_into_this_very_object() {
    let (publisher, calls) = refusing(written);
    for (api_version, kind, path) in [
        ("v1", "Pod", "/api/v1/namespaces/demo/pods/web"),
        ("apps/v1", "DaemonSet", "/apis/apps/v1/namespaces/demo/daemonsets/web"),
        ("batch/v1", "CronJob", "/apis/batch/v1/namespaces/demo/cronjobs/web"),
    ] {
        for text in [Some("OOMKilled: web"), None] {
            publisher.publish(&annotate(api_version, kind, text)).await.unwrap();
            let patch = calls.all().pop().unwrap();
            assert_eq!((&patch.method, patch.path.as_str()), (&Method::PATCH, path));
            assert!(patch.accept.contains("as=PartialObjectMetadata"), "{}", patch.accept);
            assert_eq!((patch.query("fieldManager"), patch.query("force")), (Some("shindan"), None));
            let annotations = json!({"shindan.dev/diagnosis": text});
            assert_eq!(patch.body, json!({"metadata": {"uid": "pod-uid", "annotations": annotations}}));
        }
    }
    assert!(publisher.publish(&annotate("v1", "Secret", None)).await.is_err());
    assert_eq!(calls.all().len(), 6, "nothing else is ever annotated");
}

#[tokio::test]
async fn deleted_objects_are_not_annotated_and_refusals_are_classified() {
    let another = json!({"name": "web", "causes": [{"reason": "FieldValueInvalid", "field": "metadata.uid"}]});
    let cases: [(Refusal, Value, Result<(), &str>); 6] = [
        (|d| status(404, "NotFound", "pods \"web\" not found", d), json!({"name": "web", "kind": "pods"}), Ok(())),
        (|d| status(422, "Invalid", "field is immutable", d), another, Ok(())),
        (|d| status(422, "Invalid", "spec: wrong", d), json!({"causes": [{"field": "spec"}]}), Err("invalid")),
        (
            |d| status(409, "Conflict", "please apply your changes to the latest version", d),
            json!({}),
            Err("unavailable"),
        ),
        (|d| status(403, "Forbidden", "User \"x\" cannot patch resource \"pods\"", d), json!({}), Err("not_granted")),
        (|d| status(403, "Forbidden", "denied by a policy", d), json!({}), Err("forbidden")),
    ];
    for (refusal, details, expected) in cases {
        let (publisher, _) = refusing(move || refusal(details.clone()));
        let result = publisher.publish(&annotate("v1", "Pod", Some("OOMKilled: web"))).await;
        assert_eq!(result.map(|_| ()).map_err(|error| error.category()), expected);
    }
}
