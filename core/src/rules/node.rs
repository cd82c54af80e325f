//! Diagnosis of nodes.
//!
//! A node that repeatedly becomes Ready and not Ready has one incident until it is stable; see the signal `nodeReady`.

mod finding;
mod judgement;
mod reboot;

use super::{Known, catalog};
use crate::case::Thresholds;
use crate::facts::{EventFacts, NodeState, Timestamp};
use crate::signals::node_condition::NodeCondition;
use crate::signals::node_event::NodeEvent;
use crate::signals::node_lifecycle::NodeLifecycle;
use crate::signals::node_ready;
use crate::signals::node_ready::Judged;

pub use crate::signals::node_ready::Flapping;
pub use finding::NodeFinding;
pub use judgement::{Judgement, judgement};

/// Causes that only nodes have.
pub(crate) fn known() -> impl Iterator<Item = Known> {
    let of_reports = catalog::known(NodeCondition::DEFINITION.name).chain(catalog::known(NodeEvent::DEFINITION.name));
    of_reports.chain(catalog::known(NodeLifecycle::DEFINITION.name))
}

/// Signals of nodes whose causes can have a threshold.
pub(crate) const PATIENT: [&str; 2] = [NodeCondition::DEFINITION.name, NodeLifecycle::DEFINITION.name];

/// Whether a cause matches Events about a Node with this reason.
pub fn is_complaint(reason: &str) -> bool {
    catalog::names_reason(NodeEvent::DEFINITION.name, reason) || is_announcement(reason)
}

/// Whether Events about a Node with this reason announce that it leaves service.
pub(crate) fn is_announcement(reason: &str) -> bool {
    catalog::names_reason(NodeLifecycle::DEFINITION.name, reason)
}

/// Components of Kubernetes and of cloud providers. Of their Warning Events about a Node, only those that a cause names
/// count: the others are steps of their work, or follow from the conditions of the node.
const COMPONENTS: [&str; 14] = [
    "attachdetach-controller",
    "cidrAllocator",
    "cloud-node-controller",
    "cloud-node-lifecycle-controller",
    "cluster-autoscaler",
    "default-scheduler",
    "karpenter",
    "kube-proxy",
    "kubelet",
    "node-controller",
    "node-lifecycle-controller",
    "route_controller",
    "service-controller",
    "taint-eviction-controller",
];

/// Whether the Event is a Warning of an agent on the node, such as node-problem-detector: what it reports is a problem,
/// whatever its reason.
pub fn is_of_agent(event: &EventFacts) -> bool {
    event.warning && !event.reporter.is_empty() && !COMPONENTS.contains(&&*event.reporter)
}

/// Finds the incident of a node's Ready condition.
pub(crate) fn judge<'a>(node: &'a NodeState, thresholds: &'a Thresholds, now: Timestamp) -> Judged<'a> {
    node_ready::judge(node, catalog::STANDARD, thresholds, now)
}

/// Whether the node is not Ready and has a diagnosis, which reports the impact on its pods.
pub fn is_down(node: &NodeState, thresholds: &Thresholds, now: Timestamp) -> bool {
    node_ready::is_down(node, catalog::STANDARD, thresholds, now)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::api::Severity;
    use crate::facts::{Condition, NodeComplaint, NodeFacts, ReadyTransition, Resources, Taint};

    const PLEG: &str = "[container runtime is down, PLEG is not healthy: pleg was last seen active 4m9.760138488s ago; threshold is 3m0s]";
    const DOWN: &str = "container runtime is down";
    const STOPPED: &str = "Kubelet stopped posting node status.";

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minute * 60).unwrap()
    }

    /// Creates a node that is one day old with these transitions (minute, status, message).
    fn node(history: &[(i64, &str, &str)]) -> NodeState {
        let reason = |status: &str| match status {
            "True" => "KubeletReady",
            "False" => "KubeletNotReady",
            _ => "NodeStatusUnknown",
        };
        let (minute, status, message) = *history.last().unwrap();
        let facts = NodeFacts {
            name: "n1".into(),
            uid: "uid-1".into(),
            created: Some(at(-1440)),
            labels: crate::facts::Labels::default(),
            unschedulable: false,
            cordon: None,
            taints: Vec::new(),
            allocatable: Resources::default(),
            conditions: vec![Condition {
                kind: "Ready".to_owned(),
                status: status.to_owned(),
                reason: reason(status).to_owned(),
                message: message.to_owned(),
                last_transition: Some(at(minute)),
            }],
            runtime: "containerd://1.6.20".to_owned(),
        };
        let mut state = NodeState::new(facts);
        for (minute, status, message) in history {
            state.ready_history.push(ReadyTransition {
                at: at(*minute),
                status: (*status).to_owned(),
                reason: reason(status).to_owned(),
                message: (*message).to_owned(),
            });
            if *status == "False" {
                state.last_kubelet_complaint = Some((at(*minute), (*message).to_owned()));
            }
        }
        state
    }

    fn judged(history: &[(i64, &str, &str)], minute: i64) -> Judgement {
        judgement(&node(history), &Thresholds::default(), at(minute))
    }

    fn incident(history: &[(i64, &str, &str)], minute: i64) -> NodeFinding {
        judged(history, minute).failure.unwrap()
    }

    fn nothing(wake: Option<Timestamp>) -> Judgement {
        Judgement { failure: None, others: Vec::new(), wake }
    }

    fn flapping(finding: &NodeFinding) -> Option<Flapping> {
        finding.ready.and_then(|ready| ready.flapping)
    }

    #[test]
    fn message_of_the_condition_determines_the_cause() {
        for (reason, message, cause) in [
            ("KubeletNotReady", DOWN, "NodeRuntimeDown"),
            ("KubeletNotReady", PLEG, "NodePlegUnhealthy"),
            ("KubeletNotReady", "PLEG is not healthy: pleg has yet to be successful", "NodePlegUnhealthy"),
            (
                "KubeletNotReady",
                "[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]",
                "NodeRuntimeNotReady",
            ),
            (
                "KubeletNotReady",
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
                "NodeNetworkPluginNotReady",
            ),
            (
                "KubeletNotReady",
                "container runtime not ready: RuntimeReady=false reason:ShimDead message:no shim",
                "NodeRuntimeNotReady",
            ),
            ("KubeletNotReady", "[container runtime is down, node is shutting down]", "NodeShuttingDown"),
            ("NodeStatusUnknown", STOPPED, "NodeStatusUnknown"),
            ("NodeStatusNeverUpdated", "Kubelet never posted node status.", "NodeStatusNeverUpdated"),
            ("KubeletNotReady", "CSINode is not yet initialized", "CsiNodeNotInitialized"),
            (
                "KubeletNotReady",
                "Failed to initialize CSINode: timed out waiting for the condition",
                "CsiNodeNotInitialized",
            ),
            ("KubeletNotReady", "missing node capacity for resources: cpu, memory", "NodeMissingCapacity"),
            (
                "KubeletNotReady",
                "[CSINode is not yet initialized, missing node capacity for resources: ephemeral-storage]",
                "CsiNodeNotInitialized",
            ),
            (
                "KubeletNotReady",
                "[container runtime is down, missing node capacity for resources: ephemeral-storage]",
                "NodeRuntimeDown",
            ),
            ("KubeletNotReady", "some error of a later release", "PodNodeNotReady"),
        ] {
            let mut node = node(&[(-600, "True", ""), (0, "False", message)]);
            reason.clone_into(&mut node.facts.conditions[0].reason);
            assert_eq!(judgement(&node, &Thresholds::default(), at(60)).failure.unwrap().cause, cause, "{message}");
        }
    }

    #[test]
    fn ready_and_cordoned_node_is_only_noted() {
        let mut cordoned = node(&[(-600, "True", "")]);
        cordoned.facts.unschedulable = true;
        let noted = judgement(&cordoned, &Thresholds::default(), at(0)).failure.unwrap();
        assert_eq!((noted.cause, noted.severity, noted.quiet), ("NodeCordoned", Severity::Info, true));
    }

    #[test]
    fn node_that_is_not_ready_shows_its_newest_other_warning() {
        let mut node = node(&[(-600, "True", ""), (0, "False", "some error of a later release")]);
        node.last_warning = Some(Box::new(NodeComplaint {
            reason: "FailedToMountRootShare".into(),
            message: "mount propagation of / is private".into(),
            count: 1,
            last: at(0),
            reporter: "kubelet".into(),
            is_of_agent: false,
        }));
        let shows_it = |minute| {
            let failure = judgement(&node, &Thresholds::default(), at(minute)).failure.unwrap();
            failure.evidence.iter().any(|evidence| evidence.source == "node/n1 event/FailedToMountRootShare")
        };
        assert!(shows_it(1));
        assert!(!shows_it(60), "an old Event explains nothing");
    }

    #[test]
    fn planned_shutdown_is_not_reported_for_ten_minutes() {
        let announced = node(&[(-600, "True", ""), (0, "False", "node is shutting down"), (1, "Unknown", STOPPED)]);
        let mut cordoned = node(&[(-600, "True", ""), (0, "Unknown", STOPPED)]);
        cordoned.facts.unschedulable = true;
        let patient = Thresholds::default();
        for (planned, cause) in [(&announced, "NodeShuttingDown"), (&cordoned, "NodeStatusUnknown")] {
            let early = judgement(planned, &patient, at(9));
            assert!(early.failure.is_none_or(|found| found.severity == Severity::Info), "it is only noted");
            assert_eq!(early.wake, Some(at(10)));
            assert_eq!(judgement(planned, &patient, at(10)).failure.unwrap().cause, cause);
            let in_dump = judgement(planned, &patient.for_snapshot(), at(9)).failure;
            assert_eq!(in_dump.map(|found| found.cause), Some(cause), "a dump has no later moment");
        }
        let down = node(&[(-600, "True", ""), (0, "Unknown", STOPPED)]);
        assert!(judgement(&down, &patient, at(0)).failure.is_some(), "not planned");
    }

    #[test]
    fn kubelet_start_messages_are_not_reported_for_a_minute() {
        let patient = Thresholds::default();
        for (message, cause) in [
            ("CSINode is not yet initialized", "CsiNodeNotInitialized"),
            ("missing node capacity for resources: ephemeral-storage", "NodeMissingCapacity"),
            ("[container runtime status check may not have completed yet]", "NodeRuntimeNotReady"),
        ] {
            let starting = node(&[(-600, "True", ""), (0, "False", message)]);
            assert_eq!(judgement(&starting, &patient, at(0)), nothing(Some(at(1))));
            assert_eq!(judgement(&starting, &patient, at(1)).failure.unwrap().cause, cause);
            // The node returns from an outage, which lasts until it is Ready.
            let after = node(&[(-600, "True", ""), (-5, "Unknown", STOPPED), (0, "False", message)]);
            assert_eq!(judgement(&after, &patient, at(0)).failure.unwrap().cause, cause);
        }
        let not_ready = node(&[(-600, "True", ""), (0, "False", "container runtime not ready: RuntimeReady=false")]);
        assert!(judgement(&not_ready, &patient, at(0)).failure.is_some(), "the runtime answered that it is not ready");
    }

    #[test]
    fn out_of_service_taint_means_that_the_machine_is_off() {
        let mut off = node(&[(-600, "True", ""), (0, "Unknown", STOPPED)]);
        let taint = |key: &str| Taint {
            key: key.to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
            added: None,
        };
        off.facts.taints =
            vec![taint("node.kubernetes.io/unreachable"), taint("node.cloudprovider.kubernetes.io/shutdown")];
        let incident = judgement(&off, &Thresholds::default(), at(1)).failure.unwrap();
        let expected = "node n1 is not ready: its machine is off (taint node.cloudprovider.kubernetes.io/shutdown)";
        assert_eq!((incident.cause, incident.summary.as_str()), ("NodeStatusUnknown", expected));
    }

    #[test]
    fn an_outage_with_changing_messages_is_one_incident() {
        let first = [(-600, "True", ""), (0, "False", PLEG)];
        let then = [(-600, "True", ""), (0, "False", PLEG), (3, "Unknown", STOPPED)];
        let (a, b) = (incident(&first, 1), incident(&then, 4));
        assert_eq!(
            (a.cause, b.cause),
            ("NodePlegUnhealthy", "NodePlegUnhealthy"),
            "the last message of the kubelet still holds"
        );
        assert_eq!((a.since, flapping(&a)), (Some(at(0)), None));
        assert_eq!(a.since, b.since);
        assert_eq!(
            a.summary,
            "node n1 is not ready: its container runtime has not answered for 4m9s (PLEG is not healthy)"
        );
        assert!(judged(&[(-600, "True", ""), (0, "False", DOWN), (3, "True", "")], 4).failure.is_none(), "over");
    }

    #[test]
    fn complaint_of_an_earlier_outage_is_not_used() {
        let history = [(-300, "False", PLEG), (-290, "True", ""), (0, "Unknown", STOPPED)];
        assert_eq!(incident(&history, 1).cause, "NodeStatusUnknown");
    }

    #[test]
    fn three_transitions_in_an_hour_are_flapping_until_stable() {
        let history = [(-600, "True", ""), (0, "False", DOWN), (5, "True", ""), (20, "False", PLEG), (24, "True", "")];
        let found = judged(&history, 30);
        let failure = found.failure.unwrap();
        assert!(failure.ready.unwrap().ready_now);
        assert_eq!(failure.cause, "NodePlegUnhealthy");
        assert_eq!(flapping(&failure), Some(Flapping { transitions: 4, window: 24 * 60 }));
        assert_eq!(failure.since, Some(at(0)));
        assert_eq!(found.wake, Some(at(54)));
        let expected = "node n1 is flapping (4 changes of Ready in 24 min) and Ready at the moment; before that: its container \
                    runtime had not answered for 4m9s (PLEG was not healthy)";
        assert_eq!(failure.summary, expected, "it answers now");
        assert!(judged(&history, 53).failure.is_some());
        assert!(judged(&history, 54).failure.is_none(), "30 min of Ready end it");
    }

    #[test]
    fn incident_keeps_its_start_when_it_becomes_flapping() {
        let one = [(-600, "True", ""), (0, "False", DOWN)];
        let three = [(-600, "True", ""), (0, "False", DOWN), (5, "True", ""), (20, "Unknown", STOPPED)];
        assert_eq!(incident(&one, 1).since, incident(&three, 21).since);
        assert_eq!(incident(&three, 21).cause, "NodeRuntimeDown", "over unknown");
    }

    #[test]
    fn slow_transitions_are_separate_incidents() {
        let history = [(-600, "True", ""), (0, "False", DOWN), (5, "True", ""), (120, "False", DOWN)];
        let found = incident(&history, 121);
        assert_eq!((flapping(&found), found.since), (None, Some(at(120))));
        // A change from False to Unknown is not a transition between Ready and not Ready.
        let outage =
            [(-600, "True", ""), (0, "False", DOWN), (1, "Unknown", STOPPED), (2, "False", DOWN), (3, "True", "")];
        assert!(judged(&outage, 4).failure.is_none());
    }

    #[test]
    fn joining_node_has_a_grace_period() {
        let mut joining = node(&[(
            0,
            "False",
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized",
        )]);
        joining.facts.created = Some(at(0));
        let thresholds = Thresholds::default();
        assert_eq!(judgement(&joining, &thresholds, at(4)), nothing(Some(at(5))));
        let late = judgement(&joining, &thresholds, at(5)).failure.unwrap();
        assert_eq!(late.cause, "NodeNetworkPluginNotReady");
        assert_eq!(late.summary, "node n1 is not ready: its pod network is not set up (cni plugin not initialized)");
        assert_eq!(late.since, Some(at(0)));
        // Joining and one outage soon after it are not flapping.
        let mut young = node(&[(0, "False", DOWN), (1, "True", ""), (10, "False", DOWN), (12, "True", "")]);
        young.facts.created = Some(at(0));
        assert!(judgement(&young, &thresholds, at(13)).failure.is_none());
        // Two outages are flapping, even if the node is new.
        let mut ill =
            node(&[(0, "False", DOWN), (1, "True", ""), (3, "False", DOWN), (4, "True", ""), (8, "False", DOWN)]);
        ill.facts.created = Some(at(0));
        assert!(flapping(&judgement(&ill, &thresholds, at(8)).failure.unwrap()).is_some());
    }

    #[test]
    fn young_node_has_time_to_set_up_its_network() {
        let unavailable = Condition {
            kind: "NetworkUnavailable".to_owned(),
            status: "True".to_owned(),
            reason: "NoRouteCreated".to_owned(),
            message: "Node created without a route".to_owned(),
            last_transition: Some(at(0)),
        };
        let thresholds = Thresholds::default();
        for status in ["False", "True"] {
            let mut young = node(&[(0, status, "")]);
            young.facts.created = Some(at(0));
            young.facts.conditions.push(unavailable.clone());
            let early = judgement(&young, &thresholds, at(4));
            assert_eq!((early.failure, early.wake), (None, Some(at(5))), "Ready {status}");
            assert!(judgement(&young, &thresholds, at(5)).failure.is_some(), "Ready {status}");
        }
    }

    #[test]
    fn warnings_of_agents_count_and_those_of_components_do_not() {
        let event = |reporter: &str, warning| EventFacts {
            regarding: crate::facts::Regarding {
                kind: "Node".into(),
                namespace: "default".into(),
                name: "n1".into(),
                uid: "n1".into(),
                container: None,
            },
            reason: "AnyReason".into(),
            message: "any message".into(),
            warning,
            first: None,
            last: Some(at(0)),
            count: 1,
            reporter: reporter.into(),
        };
        assert!(is_of_agent(&event("kernel-monitor", true)));
        assert!(!is_of_agent(&event("kernel-monitor", false)));
        assert!(!is_of_agent(&event("kubelet", true)) && !is_of_agent(&event("", true)));
    }

    #[test]
    fn node_without_status_is_not_reported() {
        let mut bare = node(&[(0, "False", DOWN)]);
        bare.facts.conditions.clear();
        assert!(judgement(&bare, &Thresholds::default(), at(600)).failure.is_none());
    }
}
