//! The memory of the operator does not grow in a cluster of constant size.

use shindan_core::facts::{EventFacts, ObjectKey, PodFacts, ServiceFacts};
use shindan_core::state::Change;

use super::operator::{
    HEALTHY, Operator, crashed, dump, event, evicted, killing, node, oom_of, pod_of, rollout, running_again,
};

const NO_IMAGE: &str = "ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"reg/app:1\": ErrImagePull: reg/app:1: not found'}}";

/// An Event about a workload.
fn about(kind: &str, name: &str, reason: &str, time: &str) -> EventFacts {
    let api = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    dump(&format!(
        "{{kind: Event, metadata: {{name: e-{name}, namespace: demo}}, involvedObject: {{apiVersion: {api}, kind: {kind}, namespace: demo, name: {name}, uid: uid-{name}}}, reason: {reason}, message: 'exceeded quota: compute', type: Warning, lastTimestamp: '{time}', count: 1}}"
    ))
    .events
    .remove(0)
}

/// A Service in its own namespace; both are deleted.
fn passing_service(operator: &mut Operator, n: usize) {
    let namespace = format!("passing-{n}");
    let service = ServiceFacts {
        name: "web".into(),
        created: Some(operator.now),
        external: false,
        selector: [("app", "web")].into_iter().collect(),
        ready_endpoints: 1,
        ..ServiceFacts::default()
    };
    operator.take(Change::Service { namespace: namespace.as_str().into(), service });
    operator.settle();
    operator.take(Change::ServiceDeleted(ObjectKey::new(namespace, "web")));
    operator.settle();
}

/// Creates and deletes objects of each kind: pods of a workload that fail, recover, are deleted or evicted; a node that
/// goes down, and one that is deleted; Events about unknown objects; a namespace with a Service.
fn round(operator: &mut Operator, n: usize) {
    let workload = format!("web-{n}");
    let pod = |i: usize, ready: bool, status: &str| -> PodFacts {
        pod_of(&format!("{workload}-5-{i}"), &format!("u-{n}-{i}"), Some(&workload), ready, status)
    };
    operator.workload(&rollout(&workload, 4, 4));
    let pods: Vec<PodFacts> = (0..4).map(|i| pod(i, true, HEALTHY)).collect();
    pods.iter().for_each(|pod| operator.pod(pod));
    operator.workload(&rollout(&workload, 4, 1));
    operator.pod(&pod(0, false, NO_IMAGE));
    let crashing = pod(1, false, &crashed(2, 137, "Error"));
    operator.event(&killing(&crashing, "08:02:19"));
    operator.pod(&crashing);
    operator.pod(&oom_of(&workload, &format!("{workload}-5-2"), &format!("u-{n}-2")));
    operator.pod(&evicted(&workload, &format!("{workload}-5-9"), &format!("u-{n}-9")));
    let now = operator.now.to_string();
    operator.event(&about("Deployment", &workload, "FailedCreate", &now));
    operator.event(&about("Job", &format!("never-{n}"), "FailedCreate", &now));
    operator.event(&event(
        &pod_of(&format!("unknown-{n}"), &format!("x-{n}"), None, true, HEALTHY),
        "BackOff",
        "back-off",
        "09:00:00",
    ));
    operator.advance(40);
    operator.pod(&pod(0, true, HEALTHY));
    operator.pod(&pod(1, true, &running_again(2, 137, "Error")));
    let passing = format!("n-{n}");
    operator.node(&node(&passing, "Unknown", "Kubelet stopped posting node status.", "09:00:00"));
    operator.advance(60);
    passing_service(operator, n);
    operator.node(&node(&passing, "True", "kubelet is posting ready status", "09:01:00"));
    operator.node_deleted(&passing);
    operator.advance(700);
    for i in [0, 1, 2, 9] {
        operator.deleted(&pod(i, true, HEALTHY));
    }
    operator.deleted(&pods[3]);
    operator.workload_deleted(&rollout(&workload, 4, 4));
    operator.surroundings_mut().results.clear();
    operator.advance(300);
}

/// Runs these rounds, then a day, after which ended diagnoses are removed.
fn rounds(operator: &mut Operator, numbers: std::ops::Range<usize>) -> Vec<(&'static str, usize)> {
    numbers.for_each(|n| round(operator, n));
    operator.advance(90_000);
    assert!(operator.server().objects.is_empty() && operator.server().other_diagnoses.is_empty());
    operator.kept()
}

#[test]
fn deleted_objects_leave_no_memory_in_use() {
    let mut operator = Operator::idle();
    // Entries that are only collected on the next insert remain after any number of rounds.
    let after_few = rounds(&mut operator, 0..5);
    let after_many = rounds(&mut operator, 5..30);
    assert_eq!(after_few, after_many);
}
