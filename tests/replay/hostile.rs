//! What a tenant may do with Events and annotations of his own, and what the operator makes of it.

use shindan::facts::{EventFacts, PodFacts};

use super::operator::{Operator, at, crashed, dump, event, killing, node, pod, pod_of};

/// An Event in a namespace, about what it says itself.
fn posted(home: &str, regarding: &str, reason: &str, message: &str) -> EventFacts {
    dump(&format!(
        "{{kind: Event, metadata: {{name: e, namespace: {home}}}, involvedObject: {regarding}, reason: {reason}, message: '{message}', \
         type: Warning, reportingComponent: kubelet, source: {{component: kubelet}}, eventTime: '2026-11-21T{}Z', count: 9}}",
        if reason == KILL.0 { "08:02:19" } else { "09:00:00" },
    ))
    .events
    .remove(0)
}

const KILL: (&str, &str) = ("Killing", "Container app failed liveness probe, will be restarted");

/// Killed by nobody knows whom: what an Event says decides what is told.
fn killed() -> PodFacts {
    pod("web", "u1", false, &crashed(2, 137, "Error"))
}

/// About `demo/web` of UID `u1`, by someone who may write Events in `evil` only.
fn forgeries() -> Vec<EventFacts> {
    let container = "fieldPath: 'spec.containers{app}'";
    [
        format!("{{kind: Pod, namespace: evil, name: web, uid: u1, {container}}}"),
        format!("{{kind: Pod, namespace: evil, name: other, uid: u1, {container}}}"),
        format!("{{kind: Pod, name: web, uid: u1, {container}}}"),
        // With an eventTime the API server takes this too.
        format!("{{kind: Pod, namespace: demo, name: web, uid: u1, {container}}}"),
        format!("{{kind: Pod, namespace: demo, name: web, {container}}}"),
    ]
    .iter()
    .map(|regarding| posted("evil", regarding, KILL.0, KILL.1))
    .collect()
}

#[test]
fn nobody_tells_of_a_pod_from_another_namespace() {
    let mut operator = Operator::idle();
    operator.pod(&killed());
    operator.advance(30);
    let before = (operator.status("web").cause.clone(), operator.server.applies);
    assert_ne!(before.0, "LivenessProbeFailed");
    for forged in forgeries() {
        operator.event(&forged);
        operator.advance(10);
    }
    assert_eq!((operator.status("web").cause.clone(), operator.server.applies), before);
    operator.event(&killing(&killed(), "08:02:19"));
    assert_eq!(operator.status("web").cause, "LivenessProbeFailed", "its own namespace may");
}

#[test]
fn nor_before_the_pod_has_come() {
    let mut operator = Operator::idle();
    for forged in forgeries() {
        operator.event(&forged);
    }
    operator.pod(&killed());
    operator.advance(30);
    assert_ne!(operator.status("web").cause, "LivenessProbeFailed");
}

#[test]
fn nobody_takes_the_events_of_a_static_pod_by_claiming_to_mirror_it() {
    let mut operator = Operator::idle();
    operator.event(&posted(
        "kube-system",
        "{kind: Pod, namespace: kube-system, name: web, uid: s1, fieldPath: 'spec.containers{app}'}",
        KILL.0,
        KILL.1,
    ));
    let mut claims = killed();
    claims.static_uid = Some("s1".into());
    operator.pod(&claims);
    operator.advance(30);
    assert_ne!(
        operator.status("web").cause,
        "LivenessProbeFailed",
        "that was told of the pod of this name in kube-system"
    );
}

#[test]
fn nobody_tells_of_a_node_from_a_namespace_of_his_own() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    for regarding in ["{kind: Node, name: n1, uid: n1}", "{kind: Node, name: n1, namespace: evil}"] {
        operator.event(&posted("evil", regarding, "KubeletSetupFailed", "cannot start"));
        operator.event(&posted("evil", regarding, "NodeNotReady", "Node n1 status is now: NodeNotReady"));
        operator.advance(60);
    }
    assert_eq!((operator.told().len(), operator.server.outers.len()), (0, 0));
    operator.event(&posted("default", "{kind: Node, name: n1, uid: n1}", "KubeletSetupFailed", "cannot start"));
    operator.advance(60);
    assert_eq!(operator.told(), ["Diagnosed NodeKubeletSetupFailed"]);
}

/// Whoever writes Events of his own pod without end can have few of ours for them, and few writes.
#[test]
fn a_flood_of_events_is_no_flood_of_ours() {
    let mut operator = Operator::idle();
    let waiting =
        pod("web", "u1", false, "ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}");
    operator.pod(&waiting);
    let said = [
        ("FailedMount", "MountVolume.SetUp failed for volume \"c\" : configmap \"c\" not found"),
        ("FailedMount", "MountVolume.SetUp failed for volume \"c\" : secret \"s\" not found"),
        ("FailedCreatePodSandBox", "plugin type=\"calico\" failed (add): no IP addresses available in range set"),
        ("Failed", "Error: configmap \"c\" not found"),
        ("FailedAttachVolume", "Multi-Attach error for volume \"pvc-1\" Volume is already used by pod(s) x"),
        ("Failed", "Failed to pull image \"a\": not found"),
        ("FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu."),
    ];
    for n in 0..1500_usize {
        let (reason, message) = said[n % said.len()];
        let time = format!("09:{:02}:{:02}", n / 60, n % 60);
        operator.now = at(&time);
        operator.event(&event(&waiting, reason, &format!("{message} {n}"), &time));
        operator.settle();
    }
    assert!(operator.told().len() <= 8, "{:?}", operator.told());
    assert!(operator.server.applies <= 100, "{} writes in 25 minutes", operator.server.applies);
}

/// Seven hundred pods of one workload, more than a namespace may have objects, that fail are told by a few Events and within the caps.
#[test]
fn a_flood_of_pods_is_no_flood_of_events() {
    let mut operator = Operator::idle();
    for n in 0..700 {
        operator.pod(&pod_of(&format!("web-5-{n}"), &format!("u{n}"), Some("web"), false, &crashed(3, 1, "Error")));
    }
    operator.advance(600);
    assert!(operator.server.objects.len() <= 500, "{}", operator.server.objects.len());
    assert!(operator.told().len() <= 10, "{} Events", operator.told().len());
}
