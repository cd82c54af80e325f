//! Answers about objects that the operator knows better, or that fail soon, with a fake API server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use shindan_core::case::Thresholds;
use shindan_core::facts::{Timestamp, after};
use shindan_core::rules::catalog::{self, Additions, Catalog};
use shindan_core::user_rules;

use super::gather::{By, Gathered, Question, resolve, types_of_rules};
use super::subject::Asked;
use super::testing;
use super::wait::{Waited, wait};

const NO_GRANT: &str = include_str!("../../../tests/causes/ReferenceGrantMissing/not-granted.yaml");
const NO_ADDRESS: &str = include_str!("../../../tests/causes/GatewayNotAccepted/no-address.yaml");

type Lists = Vec<(&'static str, Value)>;

/// The answer about one object of namespace shop.
async fn answer(lists: &[(&'static str, Value)], subject: &str, at: &str, here: bool) -> Gathered {
    let clients = testing::clients(lists, &[]);
    let limit = Duration::from_secs(5);
    let (asked, _) = resolve(&[subject.to_owned()], &clients, limit).await.unwrap();
    let thresholds = Thresholds::default().for_snapshot();
    let question = Question::new(&clients, Some("shop".to_owned()), asked, thresholds, limit).await.unwrap();
    let question = Question { gone: Vec::new(), here, ..question };
    question.answer(at.parse().unwrap()).await.unwrap()
}

/// The causes with their objects.
fn causes(answer: &Gathered) -> Vec<String> {
    let of = answer.found.nodes_and_workloads.iter();
    of.map(|of| format!("{} {}", of.key.object.name, of.object.head().cause)).collect()
}

/// The objects of a fixture that the user can list: those of namespace shop, those of the cluster, and all Gateways.
fn lists_of(fixture: &str) -> Lists {
    const PLURALS: [(&str, &str); 6] = [
        ("GatewayClass", "gatewayclasses"),
        ("Gateway", "gateways"),
        ("HTTPRoute", "httproutes"),
        ("Service", "services"),
        ("EndpointSlice", "endpointslices"),
        ("Pod", "pods"),
    ];
    let mut lists: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
    for document in fixture.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(document).unwrap();
        let is_here = matches!(object["metadata"]["namespace"].as_str(), None | Some("shop"));
        let plural = PLURALS.iter().find(|(kind, _)| object["kind"] == *kind).map(|(_, plural)| *plural);
        if let Some(plural) = plural.filter(|plural| is_here || *plural == "gateways") {
            lists.entry(plural).or_default().push(object);
        }
    }
    lists.into_iter().map(|(plural, objects)| (plural, objects.into())).collect()
}

/// A Lease of an operator that runs at 2026-11-21T09:00:00Z.
fn running() -> (&'static str, Value) {
    let lease = json!([{"metadata": {"namespace": "ops", "name": "shindan"},
        "spec": {"holderIdentity": "a", "renewTime": "2026-11-21T08:59:59.000000Z"}}]);
    ("leases", lease)
}

/// A diagnosis of a workload or another object, with more fields of its status.
fn diagnosis(kind: &str, api_version: &str, name: &str, cause: &str, more: &Value) -> Value {
    let mut status = json!({"state": "Active", "severity": "Critical", "confidence": "Certain", "cause": cause,
        "category": "Network", "summary": format!("{name} fails"), "problem": "NotServed",
        "pods": {"desired": 0, "ready": 0, "failing": 0, "display": "0/0"}});
    for (key, value) in more.as_object().unwrap() {
        status[key] = value.clone();
    }
    json!({"metadata": {"namespace": "shop", "name": format!("{}-{name}", kind.to_lowercase()), "uid": "d",
            "resourceVersion": "1"},
        "spec": {"workload": {"apiVersion": api_version, "kind": kind, "name": name, "display": format!("{kind}/{name}")},
            "workloadUID": "u"},
        "status": status})
}

/// The kind PrintJob, and the jammed job poster, whose status has no condition.
fn print_jobs() -> Lists {
    let resource = json!({"resource": "printjobs", "singularResource": "printjob", "responseKind": {"kind": "PrintJob"},
        "scope": "Namespaced", "shortNames": ["pj"], "verbs": ["list"]});
    let apis = json!([{"metadata": {"name": "print.hoshi.example"}, "versions": [{"version": "v1", "resources": [resource]}]}]);
    let poster = json!({"metadata": {"namespace": "shop", "name": "poster", "uid": "p",
        "creationTimestamp": "2026-11-21T08:00:00Z"},
        "spec": {"printer": "hp-3"}, "status": {"errors": [{"code": "JAM"}]}});
    vec![("apis", apis), ("printjobs", json!([poster]))]
}

/// A rule for jammed PrintJobs.
fn paper_jam() -> Additions {
    let rule = json!({"causes": [{
        "cause": "hoshi.example/PaperJam", "category": "Lifecycle", "signal": "object", "severity": "Critical",
        "match": {"kinds": ["printjobs.print.hoshi.example"],
            "when": "resource.status.errors.exists(e, e.code == \"JAM\")"},
        "summary": "{object.display} is stuck in {resource.spec.printer}",
        "explain": {"meaning": "m", "distinguish": "d", "action": "a", "source": "s"},
        "remedies": [{"text": "Remove the paper."}],
    }], "tests": [{"name": "jammed", "at": "2026-11-21T09:00:00Z", "expect": "hoshi.example/PaperJam", "objects": [{
        "apiVersion": "print.hoshi.example/v1", "kind": "PrintJob",
        "metadata": {"name": "a", "namespace": "b", "uid": "c", "creationTimestamp": "2026-11-21T08:00:00Z"},
        "spec": {"printer": "hp-3"}, "status": {"errors": [{"code": "JAM"}]}}]}]});
    let checked = user_rules::check(&rule);
    assert!(checked.is_active(), "{checked:?}");
    checked.additions
}

#[test]
fn rules_read_the_fields_of_live_objects() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = catalog::within(Arc::new(Catalog::with(paper_jam())), || {
        runtime.block_on(answer(&print_jobs(), "pj/poster", "2026-11-21T09:00:00Z", true))
    });
    assert_eq!(causes(&answer), ["printjob.print.hoshi.example-poster hoshi.example/PaperJam"]);
    assert!(answer.found.nodes_and_workloads[0].object.head().summary.ends_with("is stuck in hp-3"));
}

#[test]
fn kinds_of_rules_are_diagnosed_without_a_name() {
    let additions = paper_jam();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = |refused: &'static [&'static str]| {
        catalog::within(Arc::new(Catalog::with(additions.clone())), || {
            runtime.block_on(async {
                let clients = testing::clients(&print_jobs(), refused);
                let limit = Duration::from_secs(5);
                let custom = types_of_rules(&clients.write, limit).await.unwrap();
                let thresholds = Thresholds::default();
                let question =
                    Question::new(&clients, Some("shop".to_owned()), Asked::All, thresholds, limit).await.unwrap();
                let question = Question { here: true, custom, ..question };
                question.answer("2026-11-21T09:00:00Z".parse().unwrap()).await.unwrap()
            })
        })
    };
    assert_eq!(causes(&all(&[])), ["printjob.print.hoshi.example-poster hoshi.example/PaperJam"]);
    let refused = all(&["printjobs"]);
    assert_eq!(causes(&refused), [""; 0]);
    let is_named = |note: &String| note.contains("not allowed to list printjobs.print.hoshi.example");
    assert!(refused.notes.iter().any(is_named), "{:?}", refused.notes);
}

#[tokio::test]
async fn a_failure_that_only_the_operator_sees_is_shown_as_its_own() {
    let of_rule = diagnosis("PrintJob", "print.hoshi.example/v1", "poster", "hoshi.example/PaperJam", &json!({}));
    let mut lists = print_jobs();
    lists.push(("workloaddiagnoses", json!([of_rule])));
    let at = "2026-11-21T09:00:00Z";

    let without = answer(&lists, "pj/poster", at, false).await;
    assert_eq!((without.by, causes(&without)), (By::Here, vec![]), "the operator has stopped");
    assert!(without.notes.iter().any(|note| note.contains("may be outdated")), "{:?}", without.notes);

    lists.push(running());
    for subject in ["pj/poster", "printjobs"] {
        let with = answer(&lists, subject, at, false).await;
        assert_eq!(with.by, By::OperatorInstead, "{subject}");
        assert_eq!(causes(&with), ["printjob-poster hoshi.example/PaperJam"], "{subject}");
        assert!(with.found.fails(), "for --exit-code");
    }
    let here = answer(&lists, "pj/poster", at, true).await;
    assert_eq!(causes(&here), [""; 0], "--here");
}

#[tokio::test]
async fn a_service_has_the_failure_that_names_it() {
    let endpoints = |ready: u8| {
        json!({"serving": {"updatedReady": 0, "oldReady": 0,
        "services": [{"name": "web", "readyEndpoints": ready}]}})
    };
    let root = json!({"root": {"kind": "Service", "name": "web", "pods": 0, "workloads": 1, "namespaces": 1}});
    let ingress = |name: &str| diagnosis("Ingress", "networking.k8s.io/v1", name, "TargetPortMissing", &root);
    let deployment = |ready| diagnosis("Deployment", "apps/v1", "web", "OOMKilled", &endpoints(ready));
    for (written, expected) in [
        (ingress("shop"), vec!["ingress-shop TargetPortMissing"]),
        (deployment(0), vec!["deployment-web OOMKilled"]),
        (deployment(1), vec![]),
    ] {
        let lists = vec![("workloaddiagnoses", json!([written])), running()];
        let of_web = answer(&lists, "svc/web", "2026-11-21T09:00:00Z", false).await;
        assert_eq!(causes(&of_web), expected);
        let of_db = answer(&lists, "svc/db", "2026-11-21T09:00:00Z", false).await;
        assert_eq!(causes(&of_db), [""; 0]);
    }
}

#[tokio::test]
async fn an_empty_list_is_known() {
    let lists = lists_of(NO_GRANT);
    assert!(!lists.iter().any(|(plural, _)| *plural == "referencegrants"));
    let found = answer(&lists, "httproute/cart", "2026-11-28T10:00:00Z", false).await;
    assert_eq!(causes(&found), ["httproute-cart ReferenceGrantMissing"]);
}

#[tokio::test]
async fn a_broken_path_is_not_failing_yet_within_its_grace() {
    let lists = lists_of(NO_ADDRESS);
    let soon = answer(&lists, "gateway/edge", "2026-11-28T09:02:00Z", false).await;
    assert!(soon.found.is_empty() && soon.fails_so_far, "{:?}", causes(&soon));
    let [state] = <[String; 1]>::try_from(soon.unready).unwrap();
    assert!(state.starts_with("Gateway edge: not healthy. Seen so far: "), "{state}");
    assert!(state.contains("(GatewayNotAccepted). If this continues, it is reported at 2026-11-28T09:0"), "{state}");
    let later = answer(&lists, "gateway/edge", "2026-11-28T10:00:00Z", false).await;
    assert_eq!((later.found.fails(), later.unready.len()), (true, 0));
}

/// Ingress shop, which leads to Service web.
fn ingress_to_web(at: &str) -> Lists {
    let meta = |name: &str| json!({"namespace": "shop", "name": name, "uid": name, "creationTimestamp": at});
    vec![
        ("ingressclasses", json!([{"metadata": {"name": "nginx", "creationTimestamp": at}}])),
        (
            "ingresses",
            json!([{"metadata": meta("shop"),
            "spec": {"ingressClassName": "nginx", "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.10"}]}}}]),
        ),
        (
            "services",
            json!([{"metadata": meta("web"),
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}}]),
        ),
    ]
}

#[tokio::test]
async fn a_path_to_pods_that_start_is_not_failing_yet() {
    let at = "2026-11-21T08:58:00Z";
    let meta = |name: &str| json!({"namespace": "shop", "name": name, "uid": name, "creationTimestamp": at});
    let labelled = |name: &str, labels: Value| {
        let mut meta = meta(name);
        meta["labels"] = labels;
        meta
    };
    let lists = |ready: bool| -> Lists {
        let status = if ready { "True" } else { "False" };
        let mut all = ingress_to_web(at);
        all.extend([
            (
                "endpointslices",
                json!([{"metadata": labelled("web-x", json!({"kubernetes.io/service-name": "web"})),
                "addressType": "IPv4", "ports": [{"port": 8080}],
                "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready},
                    "targetRef": {"kind": "Pod", "name": "web-1", "namespace": "shop"}}]}]),
            ),
            (
                "pods",
                json!([{"metadata": labelled("web-1", json!({"app": "web"})),
                "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
                "status": {"phase": "Running", "startTime": at,
                    "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": at}],
                    "containerStatuses": [{"name": "app", "ready": ready, "restartCount": 0,
                        "state": {"running": {"startedAt": at}}}]}}]),
            ),
        ]);
        all
    };
    for (subject, expected) in
        [("ing/shop", "Ingress shop: not healthy. Seen so far: "), ("svc/web", "Service web: 0 of 1 pods ready")]
    {
        let soon = answer(&lists(false), subject, "2026-11-21T09:00:00Z", false).await;
        assert!(soon.found.is_empty(), "{:?}", causes(&soon));
        assert!(soon.unready.iter().any(|state| state.starts_with(expected)), "{:?}", soon.unready);
        let ready = answer(&lists(true), subject, "2026-11-21T09:00:00Z", false).await;
        assert_eq!((ready.found.is_empty(), ready.unready.len()), (true, 0), "{subject}");
    }
}

/// A Deployment web, of whose two pods one cannot pull its image, a pod of another application that fails alike, and what leads
/// to the Deployment.
fn behind() -> Lists {
    let at = "2026-11-21T08:00:00Z";
    let meta = |name: &str| json!({"namespace": "shop", "name": name, "uid": name, "creationTimestamp": at});
    let condition = |status: &str| json!([{"type": "Ready", "status": status, "lastTransitionTime": at}]);
    let pod = |name: &str, app: &str, container: Value| {
        let mut meta = meta(name);
        let ready = container["ready"] == true;
        meta["labels"] = json!({"app": app, "pod-template-hash": "6d4c9b7f5d"});
        meta["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true,
            "name": format!("{app}-6d4c9b7f5d"), "uid": format!("{app}-6d4c9b7f5d")}]);
        json!({"metadata": meta, "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:nope"}]},
            "status": {"phase": if ready { "Running" } else { "Pending" }, "startTime": at,
                "conditions": condition(if ready { "True" } else { "False" }), "containerStatuses": [container]}})
    };
    let runs = json!({"name": "app", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": at}}});
    let message = "Back-off pulling image \"app:nope\": ErrImagePull: failed to resolve reference \
        \"docker.io/library/app:nope\": docker.io/library/app:nope: not found";
    let waits = json!({"name": "app", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": message}}});
    let mut slice = meta("web-x");
    slice["labels"] = json!({"kubernetes.io/service-name": "web"});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let scaling = json!([{"type": "ScalingActive", "status": "True", "lastTransitionTime": at}]);
    let mut all = ingress_to_web(at);
    all.extend([
        (
            "endpointslices",
            json!([{"metadata": slice, "addressType": "IPv4", "ports": [{"port": 8080}],
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true},
                "targetRef": {"kind": "Pod", "name": "web-6d4c9b7f5d-a", "namespace": "shop"}}]}]),
        ),
        (
            "horizontalpodautoscalers",
            json!([{"metadata": meta("web"), "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5},
            "status": {"currentReplicas": 2, "desiredReplicas": 2, "conditions": scaling}}]),
        ),
        (
            "deployments",
            json!([{"metadata": meta("web"), "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "app", "image": "app:nope"}]}}},
            "status": {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "unavailableReplicas": 1}}]),
        ),
        (
            "pods",
            json!([
                pod("web-6d4c9b7f5d-a", "web", runs),
                pod("web-6d4c9b7f5d-b", "web", waits.clone()),
                pod("db-6d4c9b7f5d-a", "db", waits)
            ]),
        ),
    ]);
    all
}

#[tokio::test]
async fn failures_behind_a_service_are_its_answer() {
    let at = "2026-11-21T09:00:00Z";
    for subject in ["svc/web", "service/web", "ing/shop", "ingress/shop", "hpa/web"] {
        let found = answer(&behind(), subject, at, false).await;
        let pods: Vec<&str> = found.found.pods.iter().map(|pod| &*pod.key.name).collect();
        assert_eq!(pods, ["web-6d4c9b7f5d-b"], "{subject}");
        let is_of_web = |of: &String| of.starts_with("deployment-web ImageTagNotFound");
        assert!(causes(&found).iter().any(is_of_web), "{subject}: {:?}", causes(&found));
        assert!(found.found.fails(), "for --exit-code: {subject}");
    }
    let other = answer(&behind(), "svc/db", at, false).await;
    assert!(other.found.is_empty(), "{:?}", causes(&other));
}

#[tokio::test]
async fn a_kind_with_labels_is_accepted() {
    let clients = testing::clients(&behind(), &[]);
    let labelled = async |kind: &str, namespace: Option<&str>| {
        let (asked, _) = resolve(&[kind.to_owned()], &clients, Duration::from_secs(5)).await.unwrap();
        let found = super::gather::labelled(asked, &clients.write, namespace, "app=web", Duration::from_secs(5)).await;
        found.map_err(|error| error.to_string())
    };
    let Ok(Asked::Pods(pods)) = labelled("pod", Some("shop")).await else { panic!("pods") };
    assert_eq!(pods.len(), 3, "the server of this test selects all");
    for (kind, object) in [("deploy", "Deployment web"), ("svc", "Service web"), ("ingress", "Ingress shop")] {
        let asked = labelled(kind, Some("shop")).await.unwrap();
        let names: Vec<String> = asked.subjects().iter().map(ToString::to_string).collect();
        assert_eq!(names, [object]);
    }
    assert_eq!(labelled("sts", Some("shop")).await.unwrap_err(), "no StatefulSet has the labels app=web");
    let error = labelled("deploy", None).await.unwrap_err();
    assert_eq!(error, "the labels of a Deployment need a single namespace: use -n instead of -A");
}

#[tokio::test(start_paused = true)]
async fn a_service_with_a_ready_pod_is_healthy_for_a_wait() {
    let clients = testing::clients(&behind(), &[]);
    let limit = Duration::from_secs(5);
    let at: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
    for (subject, is_healthy) in [("svc/web", true), ("ing/shop", true), ("deploy/web", false)] {
        let (asked, _) = resolve(&[subject.to_owned()], &clients, limit).await.unwrap();
        let thresholds = Thresholds::default();
        let question = Question::new(&clients, Some("shop".to_owned()), asked, thresholds, limit).await.unwrap();
        let began = tokio::time::Instant::now();
        let clock = || after(at, i64::try_from(began.elapsed().as_secs()).unwrap());
        let waited = wait(&question, 120, clock, |_| Ok(())).await.unwrap();
        assert_eq!(matches!(waited, Waited::Healthy), is_healthy, "{subject}: {waited:?}");
    }
}
