//! What is watched and not told: the pods of some namespaces, and those without certain labels.

use shindan::diagnosis::Thresholds;
use shindan::facts::{LabelSelector, PodFacts};
use shindan::plan::Policy;
use shindan::world::{Caps, Selection, World};

use super::operator::{Operator, Server, at, dump, node, oom, oom_of, rollout, well, workload_object};

fn excluding(namespace: &str) -> Selection {
    Selection { excluded: [namespace.into()].into(), ..Selection::default() }
}

fn selecting(labels: &str) -> Selection {
    Selection { labels: LabelSelector::parse(labels).unwrap(), ..Selection::default() }
}

fn told_only_of(selection: Selection) -> Operator {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.world.tell_only_of(selection);
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
fn of_an_excluded_namespace_nothing_is_told() {
    let mut operator = told_only_of(excluding("demo"));
    operator.pod(&oom_of("web", "web-1", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.pod(&elsewhere(oom("beside", "u2")));
    operator.advance(3600);
    let names: Vec<_> = operator.server.objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["other/beside"]);
    assert!(operator.server.outers.is_empty(), "{:?}", operator.server.outers.keys());
    assert_eq!(operator.told().len(), 1, "{:?}", operator.told());
}

#[test]
fn what_was_told_of_a_namespace_goes_at_the_start_without_an_event() {
    let mut operator = Operator::idle();
    operator.pod(&oom_of("web", "failing", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.pod(&oom("gone", "u2"));
    operator.deleted(&oom("gone", "u2"));
    operator.pod(&elsewhere(oom("beside", "u3")));
    operator.advance(60);
    assert_eq!(operator.server.objects.len(), 3);
    assert!(
        operator.server.outers.contains_key(&workload_object("deployment-web")),
        "{:?}",
        operator.server.outers.keys()
    );
    let told = operator.server.events.len();
    let applies = operator.server.applies;

    let mut operator = operator.restarted(60);
    operator.world.tell_only_of(excluding("demo"));
    let pods = [oom_of("web", "failing", "u1"), elsewhere(oom("beside", "u3"))];
    operator.list_with(&[], &pods, &[rollout("web", 2, 0)]);
    operator.advance(60);
    let names: Vec<_> = operator.server.objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["other/beside"], "the ended one as well");
    assert!(operator.server.outers.is_empty(), "{:?}", operator.server.outers.keys());
    assert_eq!((operator.server.events.len(), operator.server.applies), (told, applies));
    operator.advance(7200);
    assert_eq!((operator.server.events.len(), operator.server.applies), (told, applies), "and stays away");
}

#[test]
fn pods_are_told_of_by_their_labels() {
    let mut operator = told_only_of(selecting("app.kubernetes.io/part-of=shop,env!=dev"));
    operator.pod(&labelled("shop", &[("app.kubernetes.io/part-of", "shop")]));
    operator.pod(&labelled("shop-dev", &[("app.kubernetes.io/part-of", "shop"), ("env", "dev")]));
    operator.pod(&labelled("other", &[]));
    operator.advance(3600);
    let names: Vec<_> = operator.server.objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["demo/shop"]);
    // Labels may be given and taken while it fails.
    operator.pod(&labelled("other", &[("app.kubernetes.io/part-of", "shop")]));
    operator.pod(&labelled("shop", &[]));
    operator.advance(60);
    let names: Vec<_> = operator.server.objects.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["demo/other"]);
    assert!(!operator.told().iter().any(|told| told.contains("Recovered")), "{:?}", operator.told());
}

#[test]
fn a_workload_is_told_of_by_the_labels_of_its_template() {
    let deployment = |name: &str, labels: &str| {
        let mut failing = dump(&format!(
            "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: {name}, namespace: demo, uid: uid-{name}, generation: 1}},
              spec: {{replicas: 1, template: {{metadata: {{labels: {labels}}}, spec: {{containers: [{{name: app, image: app:1}}]}}}}}},
              status: {{observedGeneration: 1, unavailableReplicas: 1, conditions: [{{type: ReplicaFailure, status: 'True', reason: FailedCreate,
                message: 'pods \"web-1\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'}}]}}}}"
        ));
        failing.workloads.remove(0)
    };
    let mut operator = told_only_of(selecting("env in (prod)"));
    operator.workload(&deployment("told", "{env: prod}"));
    operator.workload(&deployment("untold", "{env: dev}"));
    operator.advance(3600);
    let told: Vec<_> = operator.server.outers.keys().map(|key| key.object.name.to_string()).collect();
    assert_eq!(told, ["deployment-told"]);
}

/// What nothing is told of takes room all the same.
#[test]
fn what_is_left_out_still_takes_room_on_nodes() {
    let summary = |selection: Selection| {
        let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
        operator.world = World::new(Thresholds::default(), Policy::default(), Caps::default());
        operator.world.tell_only_of(selection);
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
        let pods = [taker.pods.remove(0), waiting.pods.remove(0), well("well", "u9")];
        operator.list(&[node("n1", "True", "", "01:00:00")], &pods);
        operator.advance(60);
        operator.status("waits").summary.clone()
    };
    let all = summary(Selection::default());
    assert!(all.contains("n1 comes closest with 1 of 4 free"), "{all}");
    assert_eq!(summary(excluding("system")), all);
    assert_eq!(summary(selecting("app=waits")), all);
}
