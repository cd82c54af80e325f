//! If pods of an older template still serve, the first remedy of a failing new one restores that template.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use shindan_core::case::{Diagnosis, Health, Operation, Thresholds};
use shindan_core::facts::Timestamp;
use shindan_core::offline;
use shindan_core::rules::diagnose;
use shindan_core::wire::Dump;

/// Deployment `web` in a rollout to revision 2, whose only pod fails.
fn rollout(new_pod_status: &str, ready_of_old: u32) -> String {
    let owner = |kind: &str, name: &str, uid: &str| {
        format!("ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {name}, controller: true, uid: {uid}}}]")
    };
    let set = |revision: u32, name: &str, ready: u32| {
        format!(
            "---\nkind: ReplicaSet\nmetadata: {{name: {name}, namespace: shop, uid: r{revision}, {}, \
             annotations: {{deployment.kubernetes.io/revision: '{revision}'}}}}\n\
             spec: {{replicas: 1}}\nstatus: {{readyReplicas: {ready}}}\n",
            owner("Deployment", "web", "d")
        )
    };
    let pod = |name: &str, hash: &str, uid: &str, revision: u32, status: &str| {
        format!(
            "---\nkind: Pod\nmetadata: {{name: {name}, namespace: shop, uid: {uid}, labels: {{pod-template-hash: {hash}}}, {}}}\n\
             spec: {{nodeName: n1, containers: [{{name: web, image: 'shop/web:{revision}', resources: {{limits: {{memory: 64Mi}}}}}}]}}\n\
             status: {{phase: Running, {status}}}\n",
            owner("ReplicaSet", &format!("web-{hash}"), &format!("r{revision}"))
        )
    };
    let serving = "conditions: [{type: Ready, status: 'True'}], \
         containerStatuses: [{name: web, ready: true, restartCount: 0, state: {running: {}}}]";
    let old = if ready_of_old > 0 { pod("web-3b7-a", "3b7", "old", 1, serving) } else { String::new() };
    [
        "kind: Deployment\nmetadata: {name: web, namespace: shop, uid: d, generation: 2}\nspec: {replicas: 2}\n",
        &set(2, "web-5d9", 0),
        &set(1, "web-3b7", ready_of_old),
        &pod("web-5d9-x", "5d9", "new", 2, new_pod_status),
        &old,
    ]
    .concat()
}

fn diagnosed(text: &str) -> Diagnosis {
    let mut dump = Dump::default();
    dump.read(text);
    let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
    let world = offline::world(dump, now, Thresholds::default());
    let uid = world.cluster.unhealthy().into_iter().find(|uid| &**uid == "new").expect("the new pod is unhealthy");
    match world.with_case(&uid, now, |case| diagnose(case).health) {
        Some(Health::Failing(found)) => *found,
        _ => panic!("it fails"),
    }
}

const KILLED: &str = "containerStatuses: [{name: web, restartCount: 9, state: {waiting: {reason: CrashLoopBackOff}}, \
     lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: '2026-11-21T09:59:00Z'}}}]";
const NO_TAG: &str = "containerStatuses: [{name: web, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, \
     message: 'Back-off pulling image \"shop/web:2\": ErrImagePull: docker.io/shop/web:2: not found'}}}]";

#[test]
fn first_remedy_goes_back_to_the_revision_that_serves() {
    for status in [KILLED, NO_TAG] {
        let remedies = diagnosed(&rollout(status, 1)).remedies;
        let is_rollback: Vec<bool> = remedies.iter().map(|remedy| remedy.operation == Operation::Rollback).collect();
        assert!(is_rollback[0] && !is_rollback[1..].contains(&true), "{remedies:?}");
        let command = remedies[0].command.as_deref();
        assert_eq!(command, Some("kubectl -n shop rollout undo deployment/web --to-revision=1"));
    }
}

#[test]
fn nothing_is_rolled_back_if_no_older_pod_serves() {
    let remedies = diagnosed(&rollout(KILLED, 0)).remedies;
    assert!(remedies.iter().all(|remedy| remedy.operation != Operation::Rollback), "{remedies:?}");
}
