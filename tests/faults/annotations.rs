//! `--annotate` at a real API server: without the permission and with it, once per transition, and corrected after faults.

use std::collections::BTreeMap;

use http::StatusCode;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use shindan::cluster::lease::Leadership;
use shindan::cluster::publish::Publisher;
use shindan::metrics::Metrics;
use shindan_core::facts::{DIAGNOSIS, ObjectKey};
use shindan_core::reconcile::{Annotation, Intent, Reference};

use crate::control_plane::ControlPlane;
use crate::operator::{Operator, SOON};
use crate::pods::{Expected, FAILURES, Space};
use crate::stage::Stage;
use crate::wait::{ensure, eventually};

const ROLE: &str = include_str!("../../deploy/components/annotate/role.yaml");

/// The annotation of each annotated pod, by pod name.
async fn carried(space: &Space) -> Result<BTreeMap<String, String>, String> {
    let pods = space.pods().list(&ListParams::default()).await.map_err(|e| e.to_string())?;
    let text =
        |pod: &k8s_openapi::api::core::v1::Pod| Some((pod.name_any(), pod.annotations().get(DIAGNOSIS)?.clone()));
    Ok(pods.iter().filter_map(text).collect())
}

/// Waits until each failing pod has its cause in its annotation, and no other pod is annotated.
async fn all_is_annotated(space: &Space) {
    eventually(SOON, "pods are annotated with their diagnoses", async || {
        let carried = carried(space).await?;
        for (pod, expected) in space.expected() {
            let text = carried.get(&pod);
            let is_so = match &expected {
                Expected::Failing { failure, .. } => {
                    text.is_some_and(|text| text.starts_with(&format!("{}: ", failure.cause)))
                }
                Expected::Healthy | Expected::Deleted => text.is_none(),
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
    space.create_healthy("web-5d-x", oom).await;
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
async fn failing_objects_are_annotated_once_permitted() {
    let mut stage = Stage::on(ControlPlane::start("annotations").await, &["--annotate=pods,workloads"]).await;
    // No role grants the permission: all else is written, and patches are not retried in a loop.
    stage.operator.await_probe("/readyz", StatusCode::OK, &["annotate_pods: ", "cannot patch resource"], SOON).await;
    let refused = writes(&stage.operator, "403").await;
    assert!((1.0..=16.0).contains(&refused), "{refused} refusals");
    assert_eq!(carried(&stage.space).await.unwrap(), BTreeMap::new());

    // The operator is killed after it wrote diagnoses but no annotations, and restarts with the permission.
    stage.operator.kill();
    stage.plane.kubectl(&["apply", "-f", "-"], Some(ROLE)).unwrap();
    stage.operator = stage.launch.ready().await;
    all_is_annotated(&stage.space).await;
    stage.settle().await;
    let failing = FAILURES.len();
    assert!((writes(&stage.operator, "200").await - f64::from(u8::try_from(failing).unwrap())).abs() < 0.5);

    // Restarts of containers are no transition, and annotating a workload causes no rollout.
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
    all_is_annotated(&rollouts).await;
    stage.settle().await;
    let once = writes(&stage.operator, "200").await;
    assert!((once - f64::from(u8::try_from(failing + 2).unwrap())).abs() < 0.5, "{once}");
    let oom = FAILURES.into_iter().find(|failure| failure.cause == "OOMKilled").unwrap();
    stage.space.fail_again("before-2", oom).await;
    stage.settle().await;
    assert!((writes(&stage.operator, "200").await - once).abs() < 0.5);

    // The next process has nothing to do; the annotation of a pod that recovers during downtime is removed.
    stage.operator.stop().await;
    stage.operator = stage.launch.ready().await;
    stage.settle().await;
    assert!(writes(&stage.operator, "200").await < 0.5);
    stage.operator.kill();
    stage.space.set_healthy("before-0").await;
    stage.space.delete("before-4").await;
    stage.operator = stage.launch.ready().await;
    stage.settle().await;
    all_is_annotated(&stage.space).await;
    stage.make_changes().await;
    stage.settle().await;
    all_is_annotated(&stage.space).await;
}

/// The API server refuses a patch for another object of the same name, and the patch creates nothing.
#[tokio::test]
async fn another_pod_of_the_same_name_is_not_annotated() {
    let stage = Stage::among_others("other-uids").await;
    let patch = Patch::Merge(json!({"metadata": {"uid": "another", "annotations": {DIAGNOSIS: "OOMKilled: x"}}}));
    let refused = stage.space.pods().patch("fine", &PatchParams::default(), &patch).await.unwrap_err();
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{status:?}");

    let publisher = Publisher::new(stage.space.client.clone(), "test", Leadership::always(), Metrics::new());
    let annotate = async |name: &str, uid: &str| {
        let key = ObjectKey::new(stage.space.name.as_str(), name);
        let object = Reference { api_version: "v1".into(), kind: "Pod".into(), key, uid: Some(uid.to_owned()) };
        let text = Some("OOMKilled: x".to_owned());
        publisher.publish(&Intent::Annotate(Box::new(Annotation { object, text, transition: Some(1) }))).await
    };
    for name in ["fine", "absent"] {
        annotate(name, "another").await.unwrap();
        assert_eq!(carried(&stage.space).await.unwrap(), BTreeMap::new());
    }
    let uid = stage.space.pods().get("fine").await.unwrap().uid().unwrap();
    annotate("fine", &uid).await.unwrap();
    let carried = carried(&stage.space).await.unwrap();
    assert_eq!(carried, BTreeMap::from([("fine".to_owned(), "OOMKilled: x".to_owned())]));
}
