//! `--annotate` at a real API server: without the right, with it, once a transition, and healed whatever came between.

use std::collections::BTreeMap;

use http::StatusCode;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use shindan::cluster::lease::Leadership;
use shindan::cluster::publish::Publisher;
use shindan::facts::{DIAGNOSIS, ObjectKey};
use shindan::metrics::Metrics;
use shindan::plan::{Annotation, Intent, Reference};

use crate::control_plane::ControlPlane;
use crate::operator::{Operator, SOON};
use crate::pods::{Expected, FAILURES, Space};
use crate::stage::Stage;
use crate::wait::{ensure, eventually};

const ROLE: &str = include_str!("../../deploy/components/annotate/role.yaml");

/// What each pod carries that carries anything.
async fn carried(space: &Space) -> Result<BTreeMap<String, String>, String> {
    let pods = space.pods().list(&ListParams::default()).await.map_err(|e| e.to_string())?;
    let text =
        |pod: &k8s_openapi::api::core::v1::Pod| Some((pod.name_any(), pod.annotations().get(DIAGNOSIS)?.clone()));
    Ok(pods.iter().filter_map(text).collect())
}

/// All that fails carries its cause, and nothing else carries anything.
async fn all_is_carried(space: &Space) {
    eventually(SOON, "pods carry what is told of them", async || {
        let carried = carried(space).await?;
        for (pod, expected) in space.expected() {
            let text = carried.get(&pod);
            let is_so = match &expected {
                Expected::Failing { failure, .. } => {
                    text.is_some_and(|text| text.starts_with(&format!("{}: ", failure.cause)))
                }
                Expected::Well | Expected::Deleted => text.is_none(),
            };
            ensure(is_so, || format!("{pod} should be {expected:?}, and carries {text:?}"))?;
        }
        Ok(())
    })
    .await;
}

/// A Deployment without a controller, and a pod of it that fails.
async fn failing_deployment(space: &Space) -> Deployment {
    let deployments = Api::<Deployment>::namespaced(space.client.clone(), &space.name);
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "hog", "image": "hog:1"}]}});
    let made =
        json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": template}});
    let made = deployments.create(&PostParams::default(), &serde_json::from_value(made).unwrap()).await.unwrap();
    let status =
        json!({"status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "unavailableReplicas": 1}});
    deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();

    let oom = FAILURES.into_iter().find(|failure| failure.cause == "OOMKilled").unwrap();
    space.well_yet("web-5d-x", oom).await;
    let owner =
        json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d", "uid": "rs", "controller": true}]);
    let metadata = json!({"metadata": {"labels": {"pod-template-hash": "5d"}, "ownerReferences": owner}});
    space.pods().patch("web-5d-x", &PatchParams::default(), &Patch::Merge(metadata)).await.unwrap();
    space.fail_again("web-5d-x", oom).await;
    made
}

async fn writes(operator: &Operator, code: &str) -> f64 {
    operator.metric(&format!("shindan_writes_total{{verb=\"annotate\",code=\"{code}\"")).await.unwrap()
}

#[tokio::test]
async fn what_fails_carries_its_diagnosis_once_it_may() {
    let mut stage = Stage::on(ControlPlane::start("annotations").await, &["--annotate=pods,workloads"]).await;
    // No role grants it: all else is written, and it is not asked for again and again.
    stage.operator.answers("/readyz", StatusCode::OK, &["annotate_pods: ", "cannot patch resource"], SOON).await;
    let refused = writes(&stage.operator, "403").await;
    assert!((1.0..=16.0).contains(&refused), "{refused} refusals");
    assert_eq!(carried(&stage.space).await.unwrap(), BTreeMap::new());

    // It is killed with diagnoses written and annotations not, and comes back with the right.
    stage.operator.kill();
    stage.plane.kubectl(&["apply", "-f", "-"], Some(ROLE)).unwrap();
    stage.operator = stage.launch.ready().await;
    all_is_carried(&stage.space).await;
    stage.settles().await;
    let failing = FAILURES.len();
    assert!((writes(&stage.operator, "200").await - f64::from(u8::try_from(failing).unwrap())).abs() < 0.5);

    // Restarts are no transition, and a workload carries what is told of it without being rolled out.
    let rollouts = Space::new(stage.space.client.clone(), "rollouts").await;
    let before = failing_deployment(&rollouts).await;
    let deployments = Api::<Deployment>::namespaced(rollouts.client.clone(), &rollouts.name);
    let after = eventually(SOON, "the Deployment carries its diagnosis", async || {
        let now = deployments.get("web").await.map_err(|e| e.to_string())?;
        let text = now.annotations().get(DIAGNOSIS).cloned().unwrap_or_default();
        ensure(text.starts_with("OOMKilled: "), || text).map(|()| now)
    })
    .await;
    assert_eq!(after.spec, before.spec, "its template above all");
    all_is_carried(&rollouts).await;
    stage.settles().await;
    let once = writes(&stage.operator, "200").await;
    assert!((once - f64::from(u8::try_from(failing + 2).unwrap())).abs() < 0.5, "{once}");
    let oom = FAILURES.into_iter().find(|failure| failure.cause == "OOMKilled").unwrap();
    stage.space.fail_again("before-2", oom).await;
    stage.settles().await;
    assert!((writes(&stage.operator, "200").await - once).abs() < 0.5);

    // Nothing to do for who comes next; and what gets well while nobody looks carries nothing afterwards.
    stage.operator.stop().await;
    stage.operator = stage.launch.ready().await;
    stage.settles().await;
    assert!(writes(&stage.operator, "200").await < 0.5);
    stage.operator.kill();
    stage.space.well("before-0").await;
    stage.space.delete("before-4").await;
    stage.operator = stage.launch.ready().await;
    stage.settles().await;
    all_is_carried(&stage.space).await;
    stage.things_happen().await;
    stage.settles().await;
    all_is_carried(&stage.space).await;
}

/// The API server refuses an annotation that is meant for another object of the name, and nothing is made by it.
#[tokio::test]
async fn another_pod_of_the_name_is_left_alone() {
    let stage = Stage::among_others("other-uids").await;
    let patch = Patch::Merge(json!({"metadata": {"uid": "another", "annotations": {DIAGNOSIS: "OOMKilled: x"}}}));
    let refused = stage.space.pods().patch("fine", &PatchParams::default(), &patch).await.unwrap_err();
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{status:?}");

    let publisher = Publisher::new(stage.space.client.clone(), "test", Leadership::always(), Metrics::new([]));
    let annotate = async |name: &str, uid: &str| {
        let key = ObjectKey::new(stage.space.name.as_str(), name);
        let object = Reference { api_version: "v1".into(), kind: "Pod".into(), key, uid: Some(uid.to_owned()) };
        let text = Some("OOMKilled: x".to_owned());
        publisher.publish(&Intent::Annotate(Box::new(Annotation { object, text, transition: Some(1) }))).await
    };
    for name in ["fine", "nobody"] {
        annotate(name, "another").await.unwrap();
        assert_eq!(carried(&stage.space).await.unwrap(), BTreeMap::new());
    }
    let uid = stage.space.pods().get("fine").await.unwrap().uid().unwrap();
    annotate("fine", &uid).await.unwrap();
    let carried = carried(&stage.space).await.unwrap();
    assert_eq!(carried, BTreeMap::from([("fine".to_owned(), "OOMKilled: x".to_owned())]));
}
