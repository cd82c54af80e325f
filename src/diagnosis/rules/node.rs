//! Pods whose node is not ready: the node is the cause, and its own Event tells it.

use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::node::{
    self, CSI_NOT_INITIALIZED, Judged, MISSING_CAPACITY, NETWORK_NOT_READY, NEVER_UPDATED, NOT_READY, NodeIncident,
    PLEG_UNHEALTHY, RUNTIME_DOWN, RUNTIME_NOT_READY, SHUTTING_DOWN, STATUS_UNKNOWN,
};
use crate::diagnosis::rule::Explain;
use crate::diagnosis::{
    Case, Category, Family, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, rule, target,
};
use crate::facts::{Phase, after, seconds_between};

/// A rule for one cause of a node's incident.
macro_rules! incident {
    ($cause:ident, $meaning:literal, $told_apart:literal, $action:literal, $source:literal) => {
        Rule {
            cause: $cause,
            category: Category::Node,
            recovery: Recovery::NeverStarted,
            specificity: Specificity::Specific,
            scope: Scope::Family,
            remedies: |case, _| remedies(case),
            explain: Explain { meaning: $meaning, told_apart: $told_apart, action: $action, source: $source },
        }
    };
}

pub(super) const FAMILY: Family = Family::Table { rules: RULES, ask };

const RULES: &[Rule] = &[
    incident!(
        PLEG_UNHEALTHY,
        "The kubelet of the pod's node has had no list of its containers from the runtime for minutes, and says that \
         it is not ready.",
        "It goes before `container runtime is down`, which is often told with it, and before NodeStatusUnknown, which \
         overwrites it. A kubelet that has only just started says so too and is NodeRuntimeNotReady.",
        "Restart the runtime, then the kubelet; delete the DaemonSet pods that hang there; update the CNI plugin and \
         check the disk if it comes back.",
        "kubelet, Node condition Ready: `PLEG is not healthy: pleg was last seen active ... ago`"
    ),
    incident!(
        RUNTIME_DOWN,
        "The container runtime of the pod's node has not answered the kubelet for 30 s.",
        "The kubelet itself lives and says it; where it is silent, the cause is NodeStatusUnknown.",
        "Restart the container runtime on the node; look at its log and at the disk.",
        "kubelet, Node condition Ready: `container runtime is down`"
    ),
    incident!(
        NETWORK_NOT_READY,
        "The network of the pod's node is not set up: its CNI plugin has written no configuration, or fails.",
        "The node as a whole is not ready. A pod whose own network fails on a ready node is FailedCreatePodSandBox.",
        "Look at the network plugin's pod on that node; install a plugin if there is none.",
        "kubelet, Node condition Ready: `NetworkReady=false reason:NetworkPluginNotReady`"
    ),
    incident!(
        RUNTIME_NOT_READY,
        "The container runtime of the pod's node answers and says that it is not ready, or the kubelet has just begun \
         to ask it.",
        "A runtime that does not answer at all is NodeRuntimeDown.",
        "Restart the container runtime, and read its log.",
        "kubelet, Node condition Ready: `container runtime not ready: RuntimeReady=false`"
    ),
    incident!(
        CSI_NOT_INITIALIZED,
        "The kubelet of the pod's node cannot set up CSINode, the object that says which volume drivers are there, and \
         holds the node not ready until it can.",
        "Each kubelet says so for seconds while it starts, which is no failure for a minute. Where its runtime is told \
         with it, the runtime is the cause. A driver that is missing on a node that is ready is CsiDriverNotRegistered.",
        "Read the kubelet's log: it may not write CSINode (RBAC, an admission webhook), or the API server does not \
         answer it. After some minutes of that it ends itself and starts anew.",
        "kubelet pkg/volume/csi/csi_plugin.go, Node condition Ready: `CSINode is not yet initialized`"
    ),
    incident!(
        MISSING_CAPACITY,
        "The kubelet of the pod's node cannot tell how much CPU, memory, disk or how many pods the machine has room for.",
        "The node names what is missing. Each kubelet may say so for seconds while it starts, which is no failure for a \
         minute. Where its runtime is told with it, the runtime is the cause: it is asked for the disk.",
        "Read the kubelet's log for what it cannot read of the machine (cgroups, /proc); restart it.",
        "kubelet pkg/kubelet/nodestatus/setters.go, Node condition Ready: `missing node capacity for resources: cpu`"
    ),
    incident!(
        SHUTTING_DOWN,
        "The pod's node is shutting down.",
        "Planned: the kubelet says so before it goes. A node that vanishes is NodeStatusUnknown.",
        "Nothing, if it is planned: the pods are made anew elsewhere.",
        "kubelet, Node condition Ready: `node is shutting down`"
    ),
    incident!(
        NEVER_UPDATED,
        "The kubelet of the pod's node has never reported.",
        "A node that reported once and went silent is NodeStatusUnknown; one that joined minutes ago is no failure.",
        "Read the kubelet's log on that machine; approve its certificate request.",
        "node controller, Node condition Ready: `Kubelet never posted node status.`"
    ),
    incident!(
        STATUS_UNKNOWN,
        "The kubelet of the pod's node no longer reports; the containers may still run there.",
        "Nothing was heard from the kubelet before it went silent; where it complained of its runtime or PLEG in the \
         same outage, that is the cause.",
        "Check the machine, its kubelet and its way to the API server. If it is off for good, taint it out-of-service \
         so that volumes are freed.",
        "node controller (pkg/controller/nodelifecycle), Node condition Ready: `Kubelet stopped posting node status.`"
    ),
    Rule {
        cause: "NodeNameMissingNode",
        category: Category::Node,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Specific,
        scope: Scope::Pod(names_no_node),
        remedies: |case, _| missing_node_remedies(case),
        explain: Explain {
            meaning: "The pod is bound to a node that does not exist, so no kubelet will ever start it.",
            told_apart: "No kubelet has taken it up (no startTime), and none of the cluster's nodes has the name. Usually \
                         spec.nodeName was written by hand, which the scheduler does not check.",
            action: "Correct or drop spec.nodeName: the scheduler then finds a node. The garbage collector deletes such pods \
                     after 40 s.",
            source: "kubernetes pkg/controller/podgc: `PodGC: node no longer exists`",
        },
    },
    Rule {
        cause: NOT_READY,
        category: Category::Node,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Umbrella,
        scope: Scope::Pod(unseen),
        remedies: |case, _| remedies(case),
        explain: Explain {
            meaning: "The pod's node is not ready, and no more is known of why.",
            told_apart: "The node controller has marked the pod not ready; its containers may still be. Where the Node \
                         says why, that is the cause.",
            action: "Describe the node, and read its kubelet's log.",
            source: "node controller (pkg/controller/util/node): Event `Node is not ready` on the pod",
        },
    },
];

/// A node that joins may be seen a moment after its first pod, in seconds.
const MAY_JOIN: i64 = 15;

fn names_no_node(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let Some(name) = pod.node_name.as_deref().filter(|name| !case.nodes.contains_key(*name)) else {
        return Verdict::No;
    };
    // Where no node is known at all, a dump just does not hold them.
    if case.nodes.is_empty() || pod.phase != Phase::Pending || pod.start_time.is_some() || pod.deletion.is_some() {
        return Verdict::No;
    }
    let due = after(case.held_since(pod.created), MAY_JOIN);
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let known: Vec<&str> = case.nodes.keys().take(3).map(|name| &**name).collect();
    let finding = Finding::of_pod(say!(
        case,
        "is bound to node {name}, which does not exist, so nothing will ever start it",
        name
    ))
    .with(evidence::field("spec.nodeName", name))
    .with(evidence::field("nodes", format!("{} in all, such as {}", case.nodes.len(), known.join(", "))));
    Verdict::Yes(Box::new(finding))
}

fn missing_node_remedies(case: &Case<'_>) -> Vec<Remedy> {
    let target = target::of(case);
    vec![remedy::command(
        remedy::fix(say!(
            case,
            "Correct spec.nodeName in {target}, or drop it and let the scheduler choose.",
            target = target.display()
        )),
        "kubectl get nodes",
    )]
}

/// The judgement on the node of a pod that may suffer from it.
fn judged(case: &Case<'_>) -> Option<Judged> {
    let pod = case.pod;
    if pod.is_over() || pod.deletion.is_some() || pod.node_name.is_none() {
        return None;
    }
    let node = case.node.filter(|n| !n.facts.is_ready())?;
    Some(node::judge(node, case.thresholds, case.now))
}

/// The incident that keeps this pod from being well now. A flapping node that is Ready at the moment does not.
fn suffered(case: &Case<'_>) -> Option<NodeIncident> {
    judged(case)?.incident.filter(|incident| !incident.ready_now)
}

/// One judgement on the node answers for all of its causes.
fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    let answer = judged(case).and_then(|judged| match judged {
        // It has just joined, or is on its way out as planned.
        Judged { incident: None, wake } => Some((NOT_READY, Verdict::NotBefore(wake?))),
        Judged { incident: Some(incident), .. } if incident.ready_now => None,
        Judged { incident: Some(incident), .. } => {
            Some((incident.cause, Verdict::Yes(Box::new(of_incident(case, incident)))))
        }
    });
    rule::answers(RULES, case, answer)
}

fn of_incident(case: &Case<'_>, incident: NodeIncident) -> Finding {
    let mut finding =
        Finding::of_pod(say!(case, "its {summary}", summary = incident.summary)).quiet().with_all(incident.evidence);
    if let Some(ready) = case.pod.condition("Ready").filter(|c| c.status != "True") {
        finding = finding.with(evidence::condition(ready));
    }
    match case.events_with("NodeNotReady").next_back() {
        Some(event) => finding.with(evidence::event(event)),
        None => finding,
    }
}

/// A node that we do not see, of which the pod's own Event tells.
fn unseen(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let Some(name) = pod.node_name.as_ref().filter(|_| case.node.is_none()) else { return Verdict::No };
    if pod.is_over() || pod.deletion.is_some() || pod.is_ready() {
        return Verdict::No;
    }
    if pod.reason == "NodeLost" {
        // Clusters of old write it into the pod itself.
        let finding =
            Finding::of_pod(say!(case, "its node {name} has been lost: {message}", name, message = pod.message))
                .confidence(crate::api::Confidence::Likely)
                .quiet()
                .with(evidence::field("status.reason", format!("NodeLost: {}", pod.message)));
        return Verdict::Yes(Box::new(finding));
    }
    // A pod that a kubelet took up, and that nobody can tell the state of. (Without that it is a manifest.)
    if pod.phase == Phase::Unknown && pod.start_time.is_some() {
        let finding = Finding::of_pod(say!(case, "its state is Unknown: node {name} does not report it", name))
            .confidence(crate::api::Confidence::Likely)
            .quiet()
            .with(evidence::field("status.phase", "Unknown"))
            .with_all(pod.condition("Ready").map(evidence::condition));
        return Verdict::Yes(Box::new(finding));
    }
    let Some(event) = case.events_with("NodeNotReady").next_back() else { return Verdict::No };
    // The node controller writes the Event and the condition together; one much older tells of an earlier outage.
    let marked = pod.condition("Ready").and_then(|c| c.last_transition);
    let stale = matches!((event.last, marked), (Some(told), Some(marked)) if seconds_between(told, marked) > 60);
    if stale {
        return Verdict::No;
    }
    let mut finding = Finding::of_pod(say!(case, "its node {name} is not ready", name))
        .confidence(crate::api::Confidence::Likely)
        .quiet()
        .with(evidence::event(event));
    if let Some(ready) = pod.condition("Ready") {
        finding = finding.with(evidence::condition(ready));
    }
    Verdict::Yes(Box::new(finding))
}

fn remedies(case: &Case<'_>) -> Vec<Remedy> {
    if let Some(incident) = suffered(case) {
        return incident.remedies;
    }
    let name = case.pod.node_name.as_deref().unwrap_or_default();
    vec![remedy::command(
        remedy::fix(phrase!(case, "See the node's conditions and Events.")),
        format!("kubectl describe node {name}"),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::Scenario;

    fn cause(scenario: &Scenario) -> Option<(&'static str, Finding)> {
        let case = scenario.case();
        ask(&case).into_iter().find_map(|(place, verdict)| match verdict {
            Verdict::Yes(finding) => Some((RULES[place].cause, *finding)),
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
    fn a_pod_of_a_dead_node_has_the_nodes_cause_and_no_event_of_its_own() {
        for (status, reason, message, expected) in [
            ("False", "KubeletNotReady", "container runtime is down", RUNTIME_DOWN),
            (
                "False",
                "KubeletNotReady",
                "[container runtime is down, PLEG is not healthy: pleg was last seen active 4m7s ago; threshold is 3m0s]",
                PLEG_UNHEALTHY,
            ),
            ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", STATUS_UNKNOWN),
            ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.", NEVER_UPDATED),
            ("False", "KubeletNotReady", "node is shutting down", SHUTTING_DOWN),
            ("False", "KubeletNotReady", "missing node capacity for resources: cpu", MISSING_CAPACITY),
            ("False", "KubeletNotReady", "CSINode is not yet initialized", CSI_NOT_INITIALIZED),
            ("False", "KubeletNotReady", "some error of a later release", NOT_READY),
        ] {
            let (cause, finding) = cause(&pod(RUNNING, &node(status, reason, message))).unwrap();
            assert_eq!(cause, expected);
            assert!(finding.quiet);
            assert!(finding.summary.starts_with("its node n1 is not ready: "), "{}", finding.summary);
            assert_eq!(finding.severity, None);
        }
    }

    #[test]
    fn a_pod_that_is_over_or_leaves_is_not_touched() {
        let down = node("False", "KubeletNotReady", "container runtime is down");
        assert!(cause(&pod("phase: Succeeded", &down)).is_none());
        assert!(cause(&pod("phase: Failed, reason: Evicted", &down)).is_none());
        assert!(cause(&pod(RUNNING, &node("True", "KubeletReady", "kubelet is posting ready status"))).is_none());
    }

    #[test]
    fn an_unseen_node_is_told_by_the_pods_own_event() {
        let event = r#"{kind: Event, involvedObject: {kind: Pod, name: web, namespace: demo, uid: u}, reason: NodeNotReady, message: Node is not ready, type: Warning, lastTimestamp: "2026-11-21T09:50:00Z"}"#;
        let (cause_, finding) = cause(&pod(RUNNING, event)).unwrap();
        assert_eq!((cause_, finding.summary.as_str()), (NOT_READY, "its node n1 is not ready"));
        let old = event.replace("09:50", "08:50");
        assert!(cause(&pod(RUNNING, &old)).is_none(), "an earlier outage's");
        let well = RUNNING.replace("\"False\"", "\"True\"");
        assert!(cause(&pod(&well, event)).is_none(), "well again");
    }
}
