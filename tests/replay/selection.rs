//! Excluded namespaces and label selectors: their pods are watched but not diagnosed.

use shindan_core::case::Thresholds;
use shindan_core::facts::{LabelSelector, PodFacts};
use shindan_core::reconcile::Policy;
use shindan_core::state::{Caps, Selection, World};

use super::operator::{Operator, Server, at, dump, healthy, node, oom, oom_of, rollout, workload_object};

fn excluding(namespace: &str) -> Selection {
    Selection { excluded: [namespace.into()].into(), ..Selection::default() }
}

fn selecting(labels: &str) -> Selection {
    Selection { labels: LabelSelector::parse(labels).unwrap(), ..Selection::default() }
}

fn reporting_only(selection: Selection) -> Operator {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.engine.world.settings.restrict_to(selection);
    operator.list(&[], &[]);
    operator
}

fn labelled(name: &str, labels: &[(&str, &str)]) -> PodFacts {
    PodFacts { labels: labels.iter().copied().collect(), ..oom(name, name) }
}

fn elsewhere(mut pod: PodFacts) -> PodFacts {
    pod.key.namespace = "other".into();
    pod
}

#[test]
fn excluded_namespaces_get_no_diagnoses() {
    let mut operator = reporting_only(excluding("demo"));
    operator.pod(&oom_of("web", "web-1", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.pod(&elsewhere(oom("beside", "u2")));
    operator.advance(3600);
    let names: Vec<_> = operator.server().objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["other/beside"]);
    assert!(operator.server().other_diagnoses.is_empty(), "{:?}", operator.server().other_diagnoses.keys());
    assert_eq!(operator.emitted().len(), 1, "{:?}", operator.emitted());
}

#[test]
fn diagnoses_of_a_newly_excluded_namespace_are_deleted_without_an_event() {
    let mut operator = Operator::idle();
    operator.pod(&oom_of("web", "failing", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.pod(&oom("gone", "u2"));
    operator.deleted(&oom("gone", "u2"));
    operator.pod(&elsewhere(oom("beside", "u3")));
    operator.advance(60);
    assert_eq!(operator.server().objects.len(), 3);
    assert!(
        operator.server().other_diagnoses.contains_key(&workload_object("deployment-web")),
        "{:?}",
        operator.server().other_diagnoses.keys()
    );
    let events = operator.server().events.len();
    let applies = operator.server().applies;

    let mut operator = operator.restarted(60);
    operator.engine.world.settings.restrict_to(excluding("demo"));
    let pods = [oom_of("web", "failing", "u1"), elsewhere(oom("beside", "u3"))];
    operator.list_with(&[], &pods, &[rollout("web", 2, 0)]);
    operator.advance(60);
    let names: Vec<_> = operator.server().objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["other/beside"], "diagnoses of gone pods are deleted too");
    assert!(operator.server().other_diagnoses.is_empty(), "{:?}", operator.server().other_diagnoses.keys());
    assert_eq!((operator.server().events.len(), operator.server().applies), (events, applies));
    operator.advance(7200);
    assert_eq!(
        (operator.server().events.len(), operator.server().applies),
        (events, applies),
        "and nothing is written again"
    );
}

#[test]
fn pods_are_selected_by_their_labels() {
    let mut operator = reporting_only(selecting("app.kubernetes.io/part-of=shop,env!=dev"));
    operator.pod(&labelled("shop", &[("app.kubernetes.io/part-of", "shop")]));
    operator.pod(&labelled("shop-dev", &[("app.kubernetes.io/part-of", "shop"), ("env", "dev")]));
    operator.pod(&labelled("other", &[]));
    operator.advance(3600);
    let names: Vec<_> = operator.server().objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["demo/shop"]);
    // Labels may be added and removed while a pod fails.
    operator.pod(&labelled("other", &[("app.kubernetes.io/part-of", "shop")]));
    operator.pod(&labelled("shop", &[]));
    operator.advance(60);
    let names: Vec<_> = operator.server().objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["demo/other"]);
    assert!(!operator.emitted().iter().any(|emitted| emitted.contains("Recovered")), "{:?}", operator.emitted());
}

#[test]
fn workloads_are_selected_by_the_labels_of_their_template() {
    let deployment = |name: &str, labels: &str| {
        let mut failing = dump(&format!(
            "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: {name}, namespace: demo, uid: uid-{name}, generation: 1}},
              spec: {{replicas: 1, template: {{metadata: {{labels: {labels}}}, spec: {{containers: [{{name: app, image: app:1}}]}}}}}},
              status: {{observedGeneration: 1, unavailableReplicas: 1, conditions: [{{type: ReplicaFailure, status: 'True', reason: FailedCreate,
                message: 'pods \"web-1\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'}}]}}}}"
        ));
        failing.workloads.remove(0)
    };
    let mut operator = reporting_only(selecting("env in (prod)"));
    operator.workload(&deployment("selected", "{env: prod}"));
    operator.workload(&deployment("other", "{env: dev}"));
    operator.advance(3600);
    let names: Vec<_> = operator.server().other_diagnoses.keys().map(|key| key.object.name.to_string()).collect();
    assert_eq!(names, ["deployment-selected"]);
}

/// Pods that are not diagnosed still count toward node capacity.
#[test]
fn what_is_left_out_still_takes_room_on_nodes() {
    let summary = |selection: Selection| {
        let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
        operator.engine.world = World::new(Thresholds::default(), Policy::default(), Caps::default());
        operator.engine.world.settings.restrict_to(selection);
        let mut taker = dump(
            "{kind: Pod, metadata: {namespace: system, name: taker, uid: t}, spec: {nodeName: n1, containers: [{name: a, image: a,
              resources: {requests: {cpu: '3'}}}]}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}],
              containerStatuses: [{name: a, ready: true, restartCount: 0, state: {running: {}}}]}}",
        );
        let mut waiting = dump(
            "{kind: Pod, metadata: {namespace: demo, name: waits, uid: w, labels: {app: waits}, creationTimestamp: '2026-11-21T08:00:00Z'},
              spec: {containers: [{name: a, image: a, resources: {requests: {cpu: '2'}}}]}, status: {phase: Pending, conditions: [
              {type: PodScheduled, status: 'False', reason: Unschedulable, lastTransitionTime: '2026-11-21T08:00:00Z',
               message: '0/1 nodes are available: 1 Insufficient cpu.'}]}}",
        );
        let pods = [taker.pods.remove(0), waiting.pods.remove(0), healthy("fine", "u9")];
        operator.list(&[node("n1", "True", "", "01:00:00")], &pods);
        operator.advance(60);
        operator.status("waits").head.summary.clone()
    };
    let all = summary(Selection::default());
    assert!(all.contains("n1 comes closest with 1 of 4 free"), "{all}");
    assert_eq!(summary(excluding("system")), all);
    assert_eq!(summary(selecting("app=waits")), all);
}
