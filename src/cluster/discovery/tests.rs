use std::convert::Infallible;

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;

fn resource(plural: &str, kind: &str, short: &[&str], scope: &str) -> Value {
    json!({"resource": plural, "singularResource": kind.to_lowercase(), "responseKind": {"kind": kind}, "scope": scope,
        "shortNames": short, "verbs": ["get", "list", "watch"]})
}

fn group(name: &str, versions: &[(&str, Vec<Value>)]) -> Value {
    let versions: Vec<_> = versions.iter().map(|(of, all)| json!({"version": of, "resources": all})).collect();
    json!({"metadata": {"name": name}, "versions": versions})
}

/// Two projects with Certificates, and Knative.
pub(crate) fn sample() -> ResourceTypes {
    let namespaced = |plural: &str, kind: &str, short: &[&str]| resource(plural, kind, short, "Namespaced");
    let certificates = || namespaced("certificates", "Certificate", &["cert", "certs"]);
    let items = json!({"items": [
        group("cert-manager.io", &[
            ("v1", vec![certificates(), namespaced("certificaterequests", "CertificateRequest", &["cr"]),
                resource("clusterissuers", "ClusterIssuer", &[], "Cluster")]),
            ("v1alpha2", vec![certificates()]),
        ]),
        group("acme.cert-manager.io", &[("v1", vec![namespaced("orders", "Order", &[])])]),
        group("not-cert-manager.io", &[("v1", vec![namespaced("cert", "Cert", &[]), certificates()])]),
        group("serving.knative.dev", &[("v1", vec![namespaced("services", "Service", &["ksvc"])])]),
        group("metrics.k8s.io", &[("v1beta1", vec![json!({"resource": "tokens", "responseKind": {"kind": "Token"},
            "verbs": ["create"]})])]),
    ]});
    let groups: Root = serde_json::from_value(items).unwrap();
    ResourceTypes { all: groups.aggregated().unwrap() }
}

fn named(word: &str) -> Vec<String> {
    sample().named(word).into_iter().map(ResourceType::full_name).collect()
}

#[test]
fn a_type_is_found_by_each_name_that_kubectl_accepts() {
    let both = ["certificates.cert-manager.io", "certificates.not-cert-manager.io"];
    for (word, found) in [
        ("certificate", &both[..]),
        ("Certificates", &both[..]),
        ("certs", &both[..]),
        // The name of a resource takes precedence over a short name.
        ("cert", &["cert.not-cert-manager.io"]),
        ("certificate.cert-manager.io", &both[..1]),
        ("cert.cert-manager.io", &both[..1]),
        ("certificates.v1alpha2.cert-manager.io", &both[..1]),
        ("certificates.v3.cert-manager.io", &[]),
        // The beginning of a group.
        ("certificate.cert", &both[..1]),
        ("order", &["orders.acme.cert-manager.io"]),
        ("service.serving.knative.dev", &["services.serving.knative.dev"]),
        ("ksvc", &["services.serving.knative.dev"]),
        ("certificat", &[]),
        ("certificate.", &[]),
        // Its objects cannot be listed.
        ("tokens", &[]),
        ("", &[]),
    ] {
        assert_eq!(named(word), found, "{word}");
    }
}

#[test]
fn the_preferred_version_is_read() {
    let types = sample();
    let certificates = types.of_plural("cert-manager.io", "certificates").unwrap();
    assert_eq!(certificates.path(Some("shop")), "/apis/cert-manager.io/v1/namespaces/shop/certificates");
    let issuers = types.of_kind("cert-manager.io", "ClusterIssuer").unwrap();
    assert_eq!(issuers.path(Some("shop")), "/apis/cert-manager.io/v1/clusterissuers");
}

#[test]
fn the_family_of_a_type_has_the_groups_of_its_domain() {
    let types = sample();
    let family = |plural: &str| -> Vec<String> {
        types.family(types.of_plural("cert-manager.io", plural).unwrap()).iter().map(ResourceType::full_name).collect()
    };
    // Not the ClusterIssuer, which no namespaced object controls.
    assert_eq!(family("certificates"), ["certificaterequests.cert-manager.io", "orders.acme.cert-manager.io"]);
    assert_eq!(
        family("clusterissuers"),
        ["certificates.cert-manager.io", "certificaterequests.cert-manager.io", "orders.acme.cert-manager.io"]
    );
    for (group, of) in [
        ("acme.cert-manager.io", "cert-manager.io"),
        ("a.b.acme.co.uk", "acme.co.uk"),
        ("acme.io", "acme.io"),
        ("co.uk", "co.uk"),
        ("apps", "apps"),
        ("", ""),
    ] {
        assert_eq!(domain(group), of, "{group}");
    }
}

/// An API server without the aggregated document, on which the aggregated API server of a group is down.
#[tokio::test]
async fn an_older_api_server_is_read_group_by_group() {
    let service = tower::service_fn(|request: Request<Body>| {
        let (code, answer) = match request.uri().path() {
            "/api" => (200, json!({"kind": "APIVersions", "versions": ["v1"]})),
            "/apis" => (
                200,
                json!({"kind": "APIGroupList", "groups": [
                {"name": "acme.example.com", "versions": [{"version": "v2"}, {"version": "v1"}],
                    "preferredVersion": {"version": "v1"}},
                {"name": "metrics.k8s.io", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}]}),
            ),
            "/api/v1" => (
                200,
                json!({"resources": [
                {"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "shortNames": ["po"],
                    "verbs": ["list"]},
                {"name": "pods/log", "namespaced": true, "kind": "Pod", "verbs": ["get", "list"]}]}),
            ),
            "/apis/acme.example.com/v1" | "/apis/acme.example.com/v2" => (
                200,
                json!({"resources": [
                {"name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget", "verbs": ["list"]}]}),
            ),
            _ => (503, json!({"status": "Failure", "code": 503, "message": "the server is currently unable"})),
        };
        let response = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
        std::future::ready(Ok::<_, Infallible>(response.unwrap()))
    });
    let types = types(&Client::new(service, "shop"), Duration::from_secs(5)).await.unwrap();
    let all: Vec<_> = types.all.iter().map(|of| of.path(None)).collect();
    assert_eq!(all, ["/api/v1/pods", "/apis/acme.example.com/v1/widgets"]);
    assert_eq!(types.named("widgets.v2.acme.example.com").len(), 1);
}
