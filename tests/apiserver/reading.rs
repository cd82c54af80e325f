//! Lookups, and the read of our own objects at the start.

use std::sync::atomic::{AtomicUsize, Ordering};

use kube::Client;
use serde_json::json;
use shindan::cluster::Scope;
use shindan::cluster::lookup::LookupClient;
use shindan::cluster::restore::{self, Restored};
use shindan::http::Health;
use shindan::metrics::Metrics;
use shindan_core::api::DiagnosisState;
use shindan_core::facts::{Lookup, LookupResult, ObjectKey, WorkloadName};
use shindan_core::reconcile::{self, Object};
use tokio::sync::mpsc;

use crate::server::{Reply, list, server, status};

fn workload(api_version: &str, kind: &str) -> Lookup {
    let name = WorkloadName {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: "demo".into(),
        name: "web".into(),
    };
    Lookup::Workload(name.into())
}

#[tokio::test]
async fn a_deployment_is_read_with_its_replica_sets() {
    let (client, calls) = server(|call| {
        if call.path.ends_with("/deployments/web") {
            let selector = json!({"matchLabels": {"app": "web"}});
            return Reply::Json(
                200,
                json!({"metadata": {"name": "web", "namespace": "demo", "uid": "d"},
                "spec": {"replicas": 3, "selector": selector}, "status": {"readyReplicas": 1}}),
            );
        }
        let owned = |name: &str, owner: &str| {
            json!({"metadata": {"name": name, "namespace": "demo", "uid": name,
                "annotations": {"deployment.kubernetes.io/revision": "2"},
                "ownerReferences": [{"kind": "Deployment", "name": owner, "uid": "d", "controller": true}]},
                "spec": {"replicas": 3}, "status": {"readyReplicas": 1}})
        };
        list(vec![owned("web-1", "web"), owned("api-1", "api")])
    });
    let result = LookupClient::new(client, Metrics::new()).look(&workload("apps/v1", "Deployment")).await.unwrap();
    let LookupResult::Workload(Some(facts)) = result else { panic!("{result:?}") };
    assert_eq!((facts.desired, facts.ready), (3, 1));
    assert_eq!(facts.replica_sets.iter().map(|set| &*set.name).collect::<Vec<_>>(), ["web-1"]);
    let calls = calls.all();
    assert_eq!(calls[1].path, "/apis/apps/v1/namespaces/demo/replicasets");
    assert_eq!(calls[1].query("labelSelector"), Some("app=web"));
}

#[tokio::test]
async fn a_daemon_set_is_read_with_its_revisions_if_permitted() {
    let daemon_set = || {
        let selector = json!({"matchLabels": {"app": "agent"}});
        Reply::Json(200, json!({"metadata": {"name": "web", "namespace": "demo"}, "spec": {"selector": selector}}))
    };
    let revision = json!({"metadata": {"name": "web-5", "namespace": "demo",
        "ownerReferences": [{"kind": "DaemonSet", "name": "web", "controller": true}]}, "revision": 5});
    let (client, calls) =
        server(
            move |call| {
                if call.path.ends_with("/daemonsets/web") { daemon_set() } else { list(vec![revision.clone()]) }
            },
        );
    let look =
        async |client| LookupClient::new(client, Metrics::new()).look(&workload("apps/v1", "DaemonSet")).await.unwrap();
    let LookupResult::Workload(Some(facts)) = look(client).await else { panic!("it is there") };
    assert_eq!(facts.revisions.iter().map(|revision| revision.revision).collect::<Vec<_>>(), [5]);
    assert_eq!(calls.all()[1].query("labelSelector"), Some("app=agent"));

    let (client, _) = server(move |call| {
        if call.path.ends_with("/daemonsets/web") { daemon_set() } else { status(403, "Forbidden", "no", json!({})) }
    });
    let LookupResult::Workload(Some(facts)) = look(client).await else { panic!("it is there all the same") };
    assert!(facts.revisions.is_empty());
}

#[tokio::test]
async fn a_missing_object_is_a_result_and_a_foreign_kind_is_never_read() {
    let (client, calls) = server(|_| status(404, "NotFound", "gone", json!({})));
    let metrics = Metrics::new();
    let lookup = LookupClient::new(client, metrics.clone());
    assert_eq!(lookup.look(&workload("batch/v1", "Job")).await.unwrap(), LookupResult::Workload(None));
    assert_eq!(calls.all()[0].path, "/apis/batch/v1/namespaces/demo/jobs/web");
    assert_eq!(lookup.look(&workload("example.org/v1", "Rollout")).await.unwrap_err().category(), "foreign");
    assert_eq!(calls.all().len(), 1);
    let text = metrics.encode().unwrap();
    assert!(text.contains(r#"shindan_lookups_total{kind="Job",result="absent"} 1"#), "{text}");
    assert!(text.contains(r#"shindan_lookups_total{kind="other",result="foreign"} 1"#), "{text}");
}

#[tokio::test]
async fn services_are_read_with_their_endpoints_page_by_page() {
    let (client, calls) = server(|call| {
        let service =
            |name: &str| json!({"metadata": {"name": name, "namespace": "demo"}, "spec": {"selector": {"app": name}}});
        match (call.path.ends_with("/services"), call.query("continue")) {
            (true, None) => Reply::Json(200, json!({"metadata": {"continue": "more"}, "items": [service("web")]})),
            (true, Some(_)) => list(vec![service("api"), json!({"metadata": 7, "spec": "odd"})]),
            (false, _) => list(vec![json!({
                "metadata": {"namespace": "demo", "labels": {"kubernetes.io/service-name": "web"}},
                "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
            })]),
        }
    });
    let result = LookupClient::new(client, Metrics::new()).look(&Lookup::Services("demo".into())).await.unwrap();
    let LookupResult::Services(services) = result else { panic!("{result:?}") };
    let ready: Vec<_> = services.iter().map(|s| (&*s.name, s.ready_endpoints)).collect();
    assert_eq!(ready, [("web", 1), ("api", 0)]);
    // Lists from the watch cache; a continue token has its own version.
    let versions: Vec<_> = calls.all().iter().map(|c| c.query("resourceVersion").map(str::to_owned)).collect();
    assert_eq!(versions, [Some("0"), None, Some("0")].map(|version| version.map(str::to_owned)));
}

#[tokio::test]
async fn unbound_claims_are_read_with_their_events_and_all_classes() {
    let claim = |name: &str, phase: &str| {
        json!({"metadata": {"name": name, "namespace": "demo", "uid": name}, "spec": {"storageClassName": "fats"},
            "status": {"phase": phase}})
    };
    let (client, calls) = server(move |call| {
        if call.path.ends_with("/persistentvolumeclaims") {
            list(vec![claim("data", "Pending"), claim("logs", "Bound")])
        } else if call.path.ends_with("/events") {
            list(vec![
                json!({"involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "demo", "name": "data", "uid": "data"},
                "reason": "ProvisioningFailed", "message": "no", "lastTimestamp": "2026-11-21T09:00:00Z"}),
            ])
        } else {
            list(vec![json!({"metadata": {"name": "fast"}, "provisioner": "csi.example.com"})])
        }
    });
    let result = LookupClient::new(client, Metrics::new()).look(&Lookup::Claims("demo".into())).await.unwrap();
    let LookupResult::Claims(claims) = result else { panic!("{result:?}") };
    assert_eq!(claims.unbound.iter().map(|c| (&*c.name, c.events.len())).collect::<Vec<_>>(), [("data", 1)]);
    assert_eq!(claims.classes.unwrap().iter().map(|c| &*c.name).collect::<Vec<_>>(), ["fast"]);
    let calls = calls.all();
    assert_eq!(calls[1].query("fieldSelector"), Some("involvedObject.kind=PersistentVolumeClaim"));
    assert_eq!(calls[2].path, "/apis/storage.k8s.io/v1/storageclasses");
}

fn in_demo(nodes: bool) -> Scope {
    Scope { namespaces: vec!["demo".to_owned()], nodes }
}

/// A Role of one namespace permits all of these requests.
#[tokio::test]
async fn lookups_stay_within_the_namespace() {
    let claim = json!({"metadata": {"name": "data", "namespace": "demo"}, "status": {"phase": "Pending"}});
    let (client, calls) = server(move |call| {
        let is_claims = call.path.ends_with("/persistentvolumeclaims");
        list(if is_claims { vec![claim.clone()] } else { vec![] })
    });
    let (pages, _read) = mpsc::channel(8);
    restore::objects(&client, &in_demo(false), &pages).await.unwrap();
    let lookup = LookupClient::new(client, Metrics::new()).within(in_demo(false));
    let LookupResult::Claims(claims) = lookup.look(&Lookup::Claims("demo".into())).await.unwrap() else {
        panic!("claims")
    };
    assert_eq!((claims.unbound.len(), claims.classes), (1, None), "which classes there are is unknown, not: none");
    lookup.look(&Lookup::PodsOn("n1".into())).await.unwrap();
    for call in calls.all() {
        assert!(call.path.contains("/namespaces/demo/"), "{}", call.path);
    }
}

#[tokio::test]
async fn nothing_more_is_read_if_every_claim_is_bound() {
    let (client, calls) = server(|_| {
        list(vec![json!({"metadata": {"name": "data", "namespace": "demo"}, "status": {"phase": "Bound"}})])
    });
    let result = LookupClient::new(client, Metrics::new()).look(&Lookup::Claims("demo".into())).await.unwrap();
    assert_eq!(result, LookupResult::Claims(shindan_core::facts::ClaimsFacts::default()));
    assert_eq!(calls.all().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_without_a_response_times_out() {
    let (client, _) = server(|_| Reply::NoResponse);
    let error =
        LookupClient::new(client, Metrics::new()).look(&workload("v1", "ReplicationController")).await.unwrap_err();
    assert_eq!(error.category(), "timeout");
}

async fn read_back(client: Client) -> Restored {
    let (pages, mut read) = mpsc::channel(8);
    restore::objects(&client, &Scope::default(), &pages).await.unwrap();
    drop(pages);
    let mut restored = Restored::default();
    while let Some(page) = read.recv().await {
        restored.records.extend(page.records);
        restored.unreadable.extend(page.unreadable);
    }
    restored
}

#[tokio::test]
async fn edited_objects_of_ours_can_be_read() {
    let (client, _) = server(|call| {
        if call.path.ends_with("/nodediagnoses") {
            let history = json!([{"time": "2026-01-02T03:04:05Z", "status": "True"}, {"time": "soon"}]);
            return list(vec![json!({"metadata": {"name": "n1", "uid": "v", "resourceVersion": "7"},
                "spec": {"nodeName": "n1", "nodeUID": "n"},
                "status": {"state": "Active", "cause": "NodeDiskPressure", "pods": "many", "readyHistory": history}})]);
        }
        if call.path.ends_with("/workloaddiagnoses") {
            return list(vec![]);
        }
        list(vec![
            json!({"metadata": {"namespace": "demo", "name": "a", "uid": "u", "resourceVersion": "5"},
                "spec": {"podName": "a", "podUID": "p"},
                "status": {"state": "Gone", "severity": "Dire", "confidence": "Certain", "transition": 4}}),
            json!({"metadata": {"namespace": "demo", "name": "b", "resourceVersion": "6"}, "status": {"state": 1}}),
        ])
    });
    let restored = read_back(client).await;
    let [a, node] = restored.records.as_slice() else { panic!("{restored:?}") };
    assert_eq!(
        (a.key.to_string(), a.resource_version.as_str(), a.object.subject_uid()),
        ("PodDiagnosis demo/a".to_owned(), "5", "p")
    );
    assert_eq!((a.object.head().state, a.object.head().transition), (DiagnosisState::Gone, 4));
    let [b] = restored.unreadable.as_slice() else { panic!("{restored:?}") };
    assert_eq!(b.to_string(), "PodDiagnosis demo/b");
    let Object::Node(_, status) = &node.object else { panic!("{node:?}") };
    assert_eq!((node.key.to_string(), status.head.cause.as_str()), ("NodeDiagnosis n1".to_owned(), "NodeDiskPressure"));
    assert_eq!((status.pods, status.ready_history.len()), (0, 1), "what fits is kept");
}

/// Objects with a pending Event, some of which exist.
#[tokio::test]
async fn only_missing_events_are_pending_after_a_restart() {
    let pod = |name: &str| {
        json!({"metadata": {"namespace": "demo", "name": name}, "spec": {"podName": name, "podUID": name},
            "status": {"state": "Active", "transition": 1, "eventOwed": true, "lastTransition": "2026-01-02T03:04:05Z"}})
    };
    let node = json!({"metadata": {"name": "n1"}, "spec": {"nodeName": "n1", "nodeUID": "n"},
        "status": {"state": "Active", "transition": 1, "eventOwed": true, "lastTransition": "2026-01-02T03:04:05Z"}});
    let owing = async |names: Vec<ObjectKey>| {
        let (pods, node) = (vec![pod("a"), pod("b")], node.clone());
        let (client, calls) = server(move |call| match call.path.rsplit('/').next() {
            Some("poddiagnoses") => list(pods.clone()),
            Some("nodediagnoses") => list(vec![node.clone()]),
            Some("events") if names.is_empty() => status(403, "Forbidden", "no", json!({})),
            Some("events") => {
                let named = |key: &ObjectKey| json!({"metadata": {"namespace": *key.namespace, "name": *key.name}});
                list(names.iter().map(named).collect())
            }
            _ => list(vec![]),
        });
        (read_back(client).await, calls)
    };

    let (all, _) = owing(Vec::new()).await;
    assert!(all.records.iter().all(|record| record.object.head().event_owed), "what cannot be read may be missing");
    let [a, b, node] = all.records.as_slice() else { panic!("{all:?}") };
    let there = reconcile::event_key(&a.key, &a.object);
    assert_ne!(there, reconcile::event_key(&b.key, &b.object));
    let of_node = reconcile::event_key(&node.key, &node.object);

    let (some, calls) = owing(vec![there, of_node]).await;
    let owed: Vec<_> = some.records.iter().map(|record| record.object.head().event_owed).collect();
    assert_eq!(owed, [false, true, false]);
    let ours = Some("reportingComponent=shindan.dev/operator");
    assert_eq!(calls.count(|call| call.path == "/api/v1/events" && call.query("fieldSelector") == ours), 1);
}

#[tokio::test(start_paused = true)]
async fn the_operator_waits_for_a_missing_crd() {
    let tries = AtomicUsize::new(0);
    let (client, _) = server(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Reply::Text(404, "404 page not found\n", None),
        _ => list(vec![]),
    });
    let health = Health::default();
    let (pages, mut read) = mpsc::channel(8);
    let error = restore::objects(&client, &Scope::default(), &pages).await.unwrap_err();
    assert_eq!(error.category(), "not_installed");
    restore::objects_when_ready(&client, &in_demo(true), &health, pages).await;
    while let Some(page) = read.recv().await {
        assert_eq!(page, Restored::default());
    }
    assert!(health.is_ready());
}
