//! What was told of a namespace that is excluded now, from its reading to its removal.

use http::Method;
use serde_json::json;
use shindan::cluster::Scope;
use shindan::cluster::lease::Leadership;
use shindan::cluster::publish::Publisher;
use shindan::cluster::restore;
use shindan::diagnosis::Thresholds;
use shindan::facts::Timestamp;
use shindan::metrics::Metrics;
use shindan::plan::Policy;
use shindan::world::{Caps, Change, Selection, Source, World};
use tokio::sync::mpsc;

use crate::server::{Answer, list, server};

#[tokio::test]
async fn what_is_excluded_is_deleted_and_owes_nobody_an_event() {
    let now: Timestamp = "2026-01-02T03:05:00Z".parse().unwrap();
    let object = |namespace: &str, name: &str, state: &str| {
        json!({"metadata": {"namespace": namespace, "name": name, "uid": name, "resourceVersion": "5"},
            "spec": {"podName": name, "podUID": name},
            "status": {"state": state, "cause": "OOMKilled", "severity": "Critical", "confidence": "Certain", "transition": 1,
                "eventOwed": true, "lastTransition": "2026-01-02T03:04:05Z"}})
    };
    let (client, calls) = server(move |call| match call.path.rsplit('/').next() {
        _ if call.method == Method::DELETE => Answer::Json(200, json!({})),
        Some("poddiagnoses") => list(vec![object("ci", "active", "Active"), object("ci", "gone", "Gone")]),
        _ => list(vec![]),
    });
    let mut world = World::new(Thresholds::default(), Policy::default(), Caps::default());
    world.tell_only_of(Selection { excluded: ["ci".into()].into(), ..Selection::default() });
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
    let publisher = Publisher::new(client, "shindan-0", Leadership::always(), Metrics::new([]));
    for (subject, _) in touched {
        if let Some(intent) = world.decide(&subject, now).plan.intent {
            publisher.publish(&intent).await.unwrap();
        }
    }
    let mut deleted: Vec<_> = calls.all().into_iter().filter(|call| call.method == Method::DELETE).collect();
    deleted.sort_by(|a, b| a.path.cmp(&b.path));
    let told: Vec<_> = deleted.iter().map(|call| (&*call.path, &call.body["preconditions"])).collect();
    let path = "/apis/shindan.dev/v1alpha1/namespaces/ci/poddiagnoses";
    let version = json!({"resourceVersion": "5"});
    assert_eq!(told, [(&*format!("{path}/active"), &version), (&*format!("{path}/gone"), &version)]);
    assert_eq!(calls.count(|call| matches!(call.method, Method::POST | Method::PATCH)), 0, "{:?}", calls.all());
}
