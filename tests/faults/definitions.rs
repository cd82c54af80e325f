//! The CRDs: missing, older than the operator, deleted and restored.

use std::fs;

use http::StatusCode;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::Value;

use crate::control_plane::ControlPlane;
use crate::invariants::{Witness, diagnoses, new_operator_agrees};
use crate::operator::{Launch, SOON};
use crate::pods::{self, Space};
use crate::stage::Stage;
use crate::wait::{ensure, eventually};

const DEFINITION: &str = "CustomResourceDefinition";
const PODS: &str = "poddiagnoses.shindan.dev";

/// As after `helm install --skip-crds`: the operator reports what to do, and continues once the CRDs exist.
#[tokio::test]
async fn the_definitions_are_installed_after_the_operator() {
    let plane = ControlPlane::bare("no-crds").await;
    plane.install(|kind| kind != DEFINITION);
    let client = plane.client().await;
    pods::node(&client).await;
    let space = Space::new(client.clone(), "shop").await;
    let launch = Launch::new(&plane, &plane.operator_kubeconfig(plane.address()));
    let operator = launch.start().await;
    let help = "shindan crd | kubectl apply --server-side -f -";
    operator.await_probe("/readyz", StatusCode::SERVICE_UNAVAILABLE, &[help], SOON).await;
    operator.await_probe("/healthz", StatusCode::OK, &["ok"], SOON).await;
    assert!(operator.log().contains(help), "{}", operator.log());
    space.fail_all("before").await;

    plane.install(|kind| kind == DEFINITION);
    plane.await_definitions().await;
    let witness = Witness::of(client);
    operator.is_ready().await;
    witness.agrees(&[&space], &operator).await;
    new_operator_agrees(operator, &launch, &[&space]).await;
}

/// An upgrade without the CRDs: fields that the old CRDs do not define are preserved.
#[tokio::test]
async fn the_definitions_are_of_an_older_version() {
    let stage = Stage::alone("older-crds").await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/crds/poddiagnoses.shindan.dev.yaml");
    let mut older: Value = serde_saphyr::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let version = &mut older["spec"]["versions"][0];
    let known = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"].as_object_mut().unwrap();
    for newer in ["root", "impact", "restarts", "announced", "eventOwed"] {
        assert!(known.remove(newer).is_some(), "{newer} is a field of the status");
    }
    // Fields that columns show must be in the schema.
    version["additionalPrinterColumns"] = serde_json::json!([]);
    let definitions = Api::<CustomResourceDefinition>::all(stage.space.client.clone());
    definitions.patch(PODS, &PatchParams::default(), &Patch::Merge(&older)).await.unwrap();
    stage.make_changes().await;
    stage.settle().await;
    let found = diagnoses(&stage.space).await.unwrap();
    let of =
        |name: &str| found.iter().find(|d| d.metadata.name.as_deref() == Some(name)).and_then(|d| d.status.clone());
    let status = of("new-failure").expect("a status");
    assert!(status.impact.is_some() && status.restarts.is_some(), "{status:?}");
    stage.verify().await;
}

/// All diagnoses are deleted with their CRD and restored with it; no Event is emitted twice.
#[tokio::test]
async fn a_definition_is_deleted_and_created_again() {
    let stage = Stage::alone("crd-deleted").await;
    let definitions = Api::<CustomResourceDefinition>::all(stage.space.client.clone());
    definitions.delete(PODS, &DeleteParams::default()).await.unwrap();
    eventually(SOON, "the CRD is deleted", async || {
        let there = definitions.get_opt(PODS).await.map_err(|e| e.to_string())?;
        ensure(there.is_none(), || format!("{:?}", there.and_then(|crd| crd.status)))
    })
    .await;
    stage.proxy.cut();
    let texts = ["poddiagnoses: ", "is the CRD installed?"];
    stage.operator.await_probe("/readyz", StatusCode::SERVICE_UNAVAILABLE, &texts, SOON).await;
    stage.operator.await_probe("/healthz", StatusCode::OK, &["ok"], SOON).await;
    stage.make_changes().await;

    stage.plane.install(|kind| kind == DEFINITION);
    stage.plane.await_definitions().await;
    stage.verify().await;
}
