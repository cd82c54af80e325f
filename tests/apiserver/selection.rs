//! Diagnoses of a newly excluded namespace are read and deleted.

use http::Method;
use serde_json::json;
use shindan::cluster::Scope;
use shindan::cluster::lease::Leadership;
use shindan::cluster::publish::Publisher;
use shindan::cluster::restore;
use shindan::metrics::Metrics;
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::reconcile::Policy;
use shindan_core::state::{Caps, Change, Selection, Source, World};
use tokio::sync::mpsc;

use crate::server::{Reply, list, server};

#[tokio::test]
async fn excluded_diagnoses_are_deleted_without_an_event() {
    let now: Timestamp = "2026-01-02T03:05:00Z".parse().unwrap();
    let object = |namespace: &str, name: &str, state: &str| {
        json!({"metadata": {"namespace": namespace, "name": name, "uid": name, "resourceVersion": "5"},
            "spec": {"podName": name, "podUID": name},
            "status": {"state": state, "cause": "OOMKilled", "severity": "Critical", "confidence": "Certain", "transition": 1,
                "eventOwed": true, "lastTransition": "2026-01-02T03:04:05Z"}})
    };
    let (client, calls) = server(move |call| match call.path.rsplit('/').next() {
        _ if call.method == Method::DELETE => Reply::Json(200, json!({})),
        Some("poddiagnoses") => list(vec![object("ci", "active", "Active"), object("ci", "ended", "Gone")]),
        _ => list(vec![]),
    });
    let mut world = World::new(Thresholds::default(), Policy::default(), Caps::default());
    world.settings.restrict_to(Selection { excluded: ["ci".into()].into(), ..Selection::default() });
    let (pages, mut read) = mpsc::channel(8);
    restore::objects(&client, &Scope::default(), &pages).await.unwrap();
    drop(pages);
    let mut touched = Vec::new();
    while let Some(page) = read.recv().await {
        touched.extend(page.into_world(&mut world));
    }
    for source in Source::ALL {
        touched.extend(world.apply(Change::ListDone(source), now));
    }
    let publisher = Publisher::new(client, "shindan-0", Leadership::always(), Metrics::new());
    for (subject, _) in touched {
        if let Some(intent) = world.decide(&subject, now).plan.intent {
            publisher.publish(&intent).await.unwrap();
        }
    }
    let mut deleted: Vec<_> = calls.all().into_iter().filter(|call| call.method == Method::DELETE).collect();
    deleted.sort_by(|a, b| a.path.cmp(&b.path));
    let requests: Vec<_> = deleted.iter().map(|call| (&*call.path, &call.body["preconditions"])).collect();
    let path = "/apis/shindan.dev/v1alpha1/namespaces/ci/poddiagnoses";
    let version = json!({"resourceVersion": "5"});
    assert_eq!(requests, [(&*format!("{path}/active"), &version), (&*format!("{path}/ended"), &version)]);
    assert_eq!(calls.count(|call| matches!(call.method, Method::POST | Method::PATCH)), 0, "{:?}", calls.all());
}
