//! A cluster that goes on as it is does not make the operator grow.

use shindan::facts::{EventFacts, ObjectKey, PodFacts, ServiceFacts};
use shindan::world::Change;

use super::operator::{
    Operator, WELL, crashed, dump, event, evicted, killing, node, oom_of, pod_of, rollout, running_again,
};

const NO_IMAGE: &str = "ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"reg/app:1\": ErrImagePull: reg/app:1: not found'}}";

/// An Event about a workload, in its own words.
fn about(kind: &str, name: &str, reason: &str, time: &str) -> EventFacts {
    let api = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    dump(&format!(
        "{{kind: Event, metadata: {{name: e-{name}, namespace: demo}}, involvedObject: {{apiVersion: {api}, kind: {kind}, namespace: demo, name: {name}, uid: uid-{name}}}, reason: {reason}, message: 'exceeded quota: compute', type: Warning, lastTimestamp: '{time}', count: 1}}"
    ))
    .events
    .remove(0)
}

/// A Service in a namespace of its own, which goes with it.
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

/// One round of everything that comes and goes: pods of a workload of this round that fail, get well, are deleted or
/// evicted; a node that goes down, and one that is deleted; Events about whom nobody knows; a namespace with a Service.
fn round(operator: &mut Operator, n: usize) {
    let workload = format!("web-{n}");
    let pod = |i: usize, ready: bool, status: &str| -> PodFacts {
        pod_of(&format!("{workload}-5-{i}"), &format!("u-{n}-{i}"), Some(&workload), ready, status)
    };
    operator.workload(&rollout(&workload, 4, 4));
    let pods: Vec<PodFacts> = (0..4).map(|i| pod(i, true, WELL)).collect();
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
        &pod_of(&format!("nobody-{n}"), &format!("x-{n}"), None, true, WELL),
        "BackOff",
        "back-off",
        "09:00:00",
    ));
    operator.advance(40);
    operator.pod(&pod(0, true, WELL));
    operator.pod(&pod(1, true, &running_again(2, 137, "Error")));
    let passing = format!("n-{n}");
    operator.node(&node(&passing, "Unknown", "Kubelet stopped posting node status.", "09:00:00"));
    operator.advance(60);
    passing_service(operator, n);
    operator.node(&node(&passing, "True", "kubelet is posting ready status", "09:01:00"));
    operator.node_deleted(&passing);
    operator.advance(700);
    for i in [0, 1, 2, 9] {
        operator.deleted(&pod(i, true, WELL));
    }
    operator.deleted(&pods[3]);
    operator.workload_deleted(&rollout(&workload, 4, 4));
    operator.answers.clear();
    operator.advance(300);
}

/// So many rounds, and a day after which what has ended is removed.
fn rounds(operator: &mut Operator, numbers: std::ops::Range<usize>) -> Vec<(&'static str, usize)> {
    numbers.for_each(|n| round(operator, n));
    operator.advance(90_000);
    assert!(operator.server.objects.is_empty() && operator.server.outers.is_empty());
    operator.kept()
}

#[test]
fn what_comes_and_goes_leaves_nothing_behind() {
    let mut operator = Operator::idle();
    // What is swept when there is occasion to is there after any number of rounds.
    let after_few = rounds(&mut operator, 0..5);
    let after_many = rounds(&mut operator, 5..30);
    assert_eq!(after_few, after_many);
}
