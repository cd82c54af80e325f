//! Forged Events and annotations of a tenant, and how the operator treats them.

use shindan_core::facts::{EventFacts, PodFacts};

use super::operator::{Operator, at, crashed, dump, event, killing, node, pod, pod_of};

/// An Event in namespace `home` with an arbitrary `involvedObject`.
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

/// A container killed by SIGKILL: only an Event names the cause.
fn killed() -> PodFacts {
    pod("web", "u1", false, &crashed(2, 137, "Error"))
}

/// Events about `demo/web` of UID `u1`, written by a user with access to namespace `evil` only.
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
fn events_from_another_namespace_do_not_count_for_a_pod() {
    let mut operator = Operator::idle();
    operator.pod(&killed());
    operator.advance(30);
    let before = (operator.status("web").head.cause.clone(), operator.server().applies);
    assert_ne!(before.0, "LivenessProbeFailed");
    for forged in forgeries() {
        operator.event(&forged);
        operator.advance(10);
    }
    assert_eq!((operator.status("web").head.cause.clone(), operator.server().applies), before);
    operator.event(&killing(&killed(), "08:02:19"));
    assert_eq!(operator.status("web").head.cause, "LivenessProbeFailed", "its own namespace may");
}

#[test]
fn forged_events_before_their_pod_do_not_count() {
    let mut operator = Operator::idle();
    for forged in forgeries() {
        operator.event(&forged);
    }
    operator.pod(&killed());
    operator.advance(30);
    assert_ne!(operator.status("web").head.cause, "LivenessProbeFailed");
}

#[test]
fn a_pod_that_claims_to_be_a_mirror_does_not_get_the_events_of_the_static_pod() {
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
        operator.status("web").head.cause,
        "LivenessProbeFailed",
        "the Event is about the pod of this name in kube-system"
    );
}

#[test]
fn events_about_a_node_count_only_from_system_namespaces() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    for regarding in ["{kind: Node, name: n1, uid: n1}", "{kind: Node, name: n1, namespace: evil}"] {
        operator.event(&posted("evil", regarding, "KubeletSetupFailed", "cannot start"));
        operator.event(&posted("evil", regarding, "NodeNotReady", "Node n1 status is now: NodeNotReady"));
        operator.advance(60);
    }
    assert_eq!((operator.emitted().len(), operator.server().other_diagnoses.len()), (0, 0));
    operator.event(&posted("default", "{kind: Node, name: n1, uid: n1}", "KubeletSetupFailed", "cannot start"));
    operator.advance(60);
    assert_eq!(operator.emitted(), ["Diagnosed NodeKubeletSetupFailed"]);
}

/// A tenant who writes Events of a pod in a loop causes few Events and few writes of the operator.
#[test]
fn a_flood_of_events_causes_few_events_and_writes() {
    let mut operator = Operator::idle();
    let waiting =
        pod("web", "u1", false, "ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}");
    operator.pod(&waiting);
    let message_text = [
        ("FailedMount", "MountVolume.SetUp failed for volume \"c\" : configmap \"c\" not found"),
        ("FailedMount", "MountVolume.SetUp failed for volume \"c\" : secret \"s\" not found"),
        ("FailedCreatePodSandBox", "plugin type=\"calico\" failed (add): no IP addresses available in range set"),
        ("Failed", "Error: configmap \"c\" not found"),
        ("FailedAttachVolume", "Multi-Attach error for volume \"pvc-1\" Volume is already used by pod(s) x"),
        ("Failed", "Failed to pull image \"a\": not found"),
        ("FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu."),
    ];
    for n in 0..1500_usize {
        let (reason, message) = message_text[n % message_text.len()];
        let time = format!("09:{:02}:{:02}", n / 60, n % 60);
        operator.now = at(&time);
        operator.event(&event(&waiting, reason, &format!("{message} {n}"), &time));
        operator.settle();
    }
    assert!(operator.emitted().len() <= 8, "{:?}", operator.emitted());
    assert!(operator.server().applies <= 100, "{} writes in 25 minutes", operator.server().applies);
}

/// 700 failing pods of one workload, more than the limit of objects of a namespace, cause few Events and stay within the limits.
#[test]
fn a_flood_of_failing_pods_causes_few_events() {
    let mut operator = Operator::idle();
    for n in 0..700 {
        operator.pod(&pod_of(&format!("web-5-{n}"), &format!("u{n}"), Some("web"), false, &crashed(3, 1, "Error")));
    }
    operator.advance(600);
    assert!(operator.server().objects.len() <= 500, "{}", operator.server().objects.len());
    assert!(operator.emitted().len() <= 10, "{} Events", operator.emitted().len());
}
