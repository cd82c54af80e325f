//! Tests of pods on nodes that are not Ready.

use super::*;
use crate::testing::Scenario;

fn cause(scenario: &Scenario) -> Option<(&'static str, Finding)> {
    let case = scenario.case();
    let verdicts = crate::rules::catalog::current().verdicts(&SOURCE, &case, |_, _| true);
    verdicts.into_iter().find_map(|(_, rule, verdict)| match verdict {
        Verdict::Yes(finding) => Some((rule.cause, *finding)),
        Verdict::No | Verdict::NotBefore(_) => None,
    })
}

fn pod(status: &str, node: &str) -> Scenario {
    Scenario::from_yaml(&format!(
        r"
kind: Pod
metadata: {{name: web, namespace: demo, uid: u}}
spec: {{nodeName: n1, containers: [{{name: c, image: i}}]}}
status: {{{status}}}
---
{node}
"
    ))
    .at("2026-11-21T10:00:00Z")
}

const RUNNING: &str =
    "phase: Running, conditions: [{type: Ready, status: \"False\", lastTransitionTime: \"2026-11-21T09:50:00Z\"}]";

fn node(ready: &str, reason: &str, message: &str) -> String {
    format!(
        r#"{{kind: Node, metadata: {{name: n1, uid: n, creationTimestamp: "2026-11-20T09:00:00Z"}}, status: {{conditions: [{{type: Ready, status: "{ready}", reason: {reason}, message: '{message}', lastTransitionTime: "2026-11-21T09:50:00Z"}}]}}}}"#
    )
}

#[test]
fn pod_of_a_down_node_gets_the_cause_of_the_node_without_an_event() {
    for (status, reason, message, expected) in [
        ("False", "KubeletNotReady", "container runtime is down", "NodeRuntimeDown"),
        (
            "False",
            "KubeletNotReady",
            "[container runtime is down, PLEG is not healthy: pleg was last seen active 4m7s ago; threshold is 3m0s]",
            "NodePlegUnhealthy",
        ),
        ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", "NodeStatusUnknown"),
        ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.", "NodeStatusNeverUpdated"),
        ("False", "KubeletNotReady", "node is shutting down", "NodeShuttingDown"),
        ("False", "KubeletNotReady", "missing node capacity for resources: cpu", "NodeMissingCapacity"),
        ("False", "KubeletNotReady", "CSINode is not yet initialized", "CsiNodeNotInitialized"),
        ("False", "KubeletNotReady", "some error of a later release", "PodNodeNotReady"),
    ] {
        let (cause, finding) = cause(&pod(RUNNING, &node(status, reason, message))).unwrap();
        assert_eq!(cause, expected);
        assert!(finding.quiet);
        assert!(finding.summary.text().starts_with("node n1 is not ready: "), "{}", finding.summary.text());
        assert_eq!(finding.severity, None);
    }
}

#[test]
fn terminated_and_deleted_pods_are_skipped() {
    let down = node("False", "KubeletNotReady", "container runtime is down");
    assert!(cause(&pod("phase: Succeeded", &down)).is_none());
    assert!(cause(&pod("phase: Failed, reason: Evicted", &down)).is_none());
    assert!(cause(&pod(RUNNING, &node("True", "KubeletReady", "kubelet is posting ready status"))).is_none());
}

#[test]
fn unknown_node_is_reported_from_the_event_of_the_pod() {
    let event = r#"{kind: Event, involvedObject: {kind: Pod, name: web, namespace: demo, uid: u}, reason: NodeNotReady, message: Node is not ready, type: Warning, lastTimestamp: "2026-11-21T09:50:00Z"}"#;
    let (cause_, finding) = cause(&pod(RUNNING, event)).unwrap();
    assert_eq!((cause_, finding.summary.text()), ("PodNodeNotReady", "node n1 is not ready"));
    let old = event.replace("09:50", "08:50");
    assert!(cause(&pod(RUNNING, &old)).is_none(), "an earlier outage's");
    let recovered = RUNNING.replace("\"False\"", "\"True\"");
    assert!(cause(&pod(&recovered, event)).is_none(), "recovered");
}
