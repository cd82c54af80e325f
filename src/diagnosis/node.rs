//! What is wrong with a node: one judgement for its own Event and for the pods that suffer there.
//!
//! A node that goes in and out of Ready is one incident until it has been stable for a while, and its cause is the most
//! telling thing that the kubelet said meanwhile: `Kubelet stopped posting node status.` says only that nobody answers.

mod complaints;
mod conditions;
mod finding;
mod judgement;
mod reboot;
mod remedies;
mod words;

use super::{Known, Language, Thresholds, evidence, text};
use crate::api::{Evidence, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::facts::{NodeState, ReadyTransition, Timestamp, after, seconds_between};

pub use complaints::is_complaint;
pub use finding::NodeFinding;
pub use judgement::{Judgement, judgement};

/// Causes that no pod has, only its node.
pub(super) fn known() -> impl Iterator<Item = Known> {
    conditions::known_causes().chain(complaints::known_causes())
}

/// A node that has just joined starts its network and its runtime first; that is no incident for this long.
const JOINING: i64 = 300;

/// A shutdown that was announced, or of a cordoned node, is planned: a node that is updated is back, or gone for good,
/// within so many seconds.
const SHUTDOWN: i64 = 600;

/// For how many seconds at most a kubelet that has just started may say what it does not know yet.
const STARTING: i64 = 60;

/// Taints of a node whose machine is off: the cloud provider says so, or a person who is certain of it.
const OFF: [&str; 2] = ["node.cloudprovider.kubernetes.io/shutdown", "node.kubernetes.io/out-of-service"];

pub const RUNTIME_DOWN: &str = "NodeRuntimeDown";
pub const PLEG_UNHEALTHY: &str = "NodePlegUnhealthy";
pub const NETWORK_NOT_READY: &str = "NodeNetworkPluginNotReady";
pub const RUNTIME_NOT_READY: &str = "NodeRuntimeNotReady";
pub const CSI_NOT_INITIALIZED: &str = "CsiNodeNotInitialized";
pub const MISSING_CAPACITY: &str = "NodeMissingCapacity";
pub const STATUS_UNKNOWN: &str = "NodeStatusUnknown";
pub const NEVER_UPDATED: &str = "NodeStatusNeverUpdated";
pub const SHUTTING_DOWN: &str = "NodeShuttingDown";
pub const NOT_READY: &str = "PodNodeNotReady";

/// A node that is not well.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeIncident {
    pub cause: &'static str,
    /// When it left Ready first.
    pub since: Timestamp,
    pub flapping: Option<Flapping>,
    /// A flapping node may be Ready at the moment.
    pub ready_now: bool,
    /// The most telling message of the Ready condition since then.
    pub message: String,
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub evidence: Vec<Evidence>,
}

/// How restless a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flapping {
    /// Changes between Ready and not Ready in this incident.
    pub transitions: usize,
    /// Seconds from the first of them to the last.
    pub window: i64,
}

/// The judgement on a node, and when to ask again.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub incident: Option<NodeIncident>,
    pub wake: Option<Timestamp>,
}

/// What is wrong with a node, if anything. A cordon is not.
pub fn judge(node: &NodeState, thresholds: &Thresholds, now: Timestamp) -> Judged {
    let well = Judged { incident: None, wake: None };
    let Some(ready) = node.facts.condition("Ready") else { return well };
    let ready_now = node.facts.is_ready();
    let been_ready = ready_now || node.ready_history.iter().any(|t| t.status == "True");
    if !been_ready && let Some(created) = node.facts.created {
        let joined = after(created, JOINING);
        if now < joined {
            return Judged { incident: None, wake: Some(joined) };
        }
    }
    let episode = Episode::new(node, thresholds, now);
    if let Some(flapping) = episode.flapping(thresholds) {
        let wake = ready_now.then(|| episode.stable_at(thresholds)).flatten();
        let since = episode.began().unwrap_or(now);
        let incident = describe(thresholds.language, node, since, Some(flapping), ready_now);
        return Judged { incident: Some(incident), wake };
    }
    if ready_now {
        return well;
    }
    let left = episode.left_ready();
    let since = left.or(ready.last_transition).map_or(now, |at| at.min(now));
    let incident = describe(thresholds.language, node, since, None, false);
    match patience(node, &incident).map(|seconds| after(since, seconds)) {
        Some(back) if thresholds.patient && now < back => Judged { incident: None, wake: Some(back) },
        _ => Judged { incident: Some(incident), wake: None },
    }
}

/// Whether the node is out of order now, so that its own diagnosis tells of what it does to others.
pub fn is_down(node: &NodeState, thresholds: &Thresholds, now: Timestamp) -> bool {
    judge(node, thresholds, now).incident.is_some_and(|incident| !incident.ready_now)
}

/// For how many seconds from its beginning an incident is likely to pass by itself.
fn patience(node: &NodeState, incident: &NodeIncident) -> Option<i64> {
    match incident.cause {
        SHUTTING_DOWN => Some(SHUTDOWN),
        // Taken out by somebody before it fell silent.
        STATUS_UNKNOWN if node.facts.unschedulable => Some(SHUTDOWN),
        CSI_NOT_INITIALIZED | MISSING_CAPACITY => Some(STARTING),
        RUNTIME_NOT_READY if says(&incident.message, NOT_ASKED_YET) => Some(STARTING),
        _ => None,
    }
}

/// The latest restless time of a node: its changes between Ready and not Ready, back to where it had been stable.
struct Episode<'a> {
    flips: Vec<&'a ReadyTransition>,
}

impl<'a> Episode<'a> {
    fn new(node: &'a NodeState, thresholds: &Thresholds, now: Timestamp) -> Self {
        let joined = node.facts.created.map(|at| after(at, JOINING));
        let mut flips: Vec<&ReadyTransition> = Vec::new();
        for transition in &node.ready_history {
            // False and Unknown are both not Ready: one outage may show both.
            if flips.last().is_none_or(|last| is_ready(last) != is_ready(transition)) {
                flips.push(transition);
            }
        }
        // Joining ends with the first Ready; a node that leaves it again soon after has an outage like any other.
        let is_joining = |t: &ReadyTransition| joined.is_some_and(|joined| t.at <= joined);
        let settled = flips.iter().position(|t| is_ready(t)).map_or(flips.len(), |first| first + 1);
        let joining = flips.iter().take(settled).take_while(|t| is_joining(t)).count();
        flips.drain(..joining);
        let mut start = flips.len();
        let mut next = now;
        for (index, flip) in flips.iter().enumerate().rev() {
            if is_ready(flip) && seconds_between(flip.at, next) >= thresholds.flapping_stable {
                break;
            }
            start = index;
            next = flip.at;
        }
        Self { flips: flips.split_off(start) }
    }

    fn flapping(&self, thresholds: &Thresholds) -> Option<Flapping> {
        let many = thresholds.flapping_transitions.max(2);
        let restless = self.flips.windows(many).any(|window| match window {
            [first, .., last] => seconds_between(first.at, last.at) <= thresholds.flapping_window,
            _ => false,
        });
        let (first, last) = (self.flips.first()?, self.flips.last()?);
        restless.then(|| Flapping { transitions: self.flips.len(), window: seconds_between(first.at, last.at) })
    }

    /// When it first left Ready.
    fn began(&self) -> Option<Timestamp> {
        self.flips.iter().find(|t| !is_ready(t)).or(self.flips.first()).map(|t| t.at)
    }

    /// When it left Ready the last time.
    fn left_ready(&self) -> Option<Timestamp> {
        self.flips.last().filter(|t| !is_ready(t)).map(|t| t.at)
    }

    fn stable_at(&self, thresholds: &Thresholds) -> Option<Timestamp> {
        self.flips.last().map(|t| after(t.at, thresholds.flapping_stable))
    }
}

fn is_ready(transition: &ReadyTransition) -> bool {
    transition.status == "True"
}

/// How telling a cause is: what the kubelet found out over what it could not.
fn rank(cause: &str) -> u8 {
    const ORDER: [&str; 10] = [
        NOT_READY,
        STATUS_UNKNOWN,
        NEVER_UPDATED,
        SHUTTING_DOWN,
        MISSING_CAPACITY,
        CSI_NOT_INITIALIZED,
        RUNTIME_NOT_READY,
        NETWORK_NOT_READY,
        RUNTIME_DOWN,
        PLEG_UNHEALTHY,
    ];
    (0..).zip(ORDER).find(|(_, known)| *known == cause).map_or(0, |(rank, _)| rank)
}

/// What a kubelet says that has not asked its runtime yet.
const NOT_ASKED_YET: &str = "container runtime status check may not have completed yet";

fn says(message: &str, sign: &str) -> bool {
    message.to_ascii_lowercase().contains(sign)
}

/// What a message of the Ready condition means. Several errors are told as `[a, b]`.
pub fn classify(reason: &str, message: &str) -> &'static str {
    const SIGNS: [(&str, &str); 14] = [
        ("node is shutting down", SHUTTING_DOWN),
        // Both are said of a kubelet that has just started, whatever its PLEG says by then.
        (NOT_ASKED_YET, RUNTIME_NOT_READY),
        ("pleg is not healthy", PLEG_UNHEALTHY),
        ("pleg has yet to be successful", PLEG_UNHEALTHY),
        ("container runtime is down", RUNTIME_DOWN),
        ("container runtime network not ready", NETWORK_NOT_READY),
        ("networkpluginnotready", NETWORK_NOT_READY),
        ("network state unknown", NETWORK_NOT_READY),
        ("container runtime not ready", RUNTIME_NOT_READY),
        // After the runtime, without which a kubelet does not know its disk either.
        ("csinode is not yet initialized", CSI_NOT_INITIALIZED),
        ("failed to initialize csinode", CSI_NOT_INITIALIZED),
        ("missing node capacity for resources", MISSING_CAPACITY),
        ("kubelet never posted node status", NEVER_UPDATED),
        ("kubelet stopped posting node status", STATUS_UNKNOWN),
    ];
    let message = message.to_ascii_lowercase();
    match SIGNS.iter().find(|(sign, _)| message.contains(sign)) {
        Some((_, cause)) => cause,
        None if reason == "NodeStatusUnknown" => STATUS_UNKNOWN,
        None if reason == "NodeStatusNeverUpdated" => NEVER_UPDATED,
        None => NOT_READY,
    }
}

fn describe(
    language: Language,
    node: &NodeState,
    since: Timestamp,
    flapping: Option<Flapping>,
    ready_now: bool,
) -> NodeIncident {
    let facts = &node.facts;
    let complaint = node.last_kubelet_complaint.as_ref().filter(|(at, _)| *at >= since);
    let present = facts.condition("Ready").filter(|_| !ready_now);
    let said = node.ready_history.iter().filter(|t| t.at >= since && !is_ready(t));
    let messages = present
        .map(|c| (c.reason.as_str(), c.message.as_str()))
        .into_iter()
        .chain(complaint.map(|(_, message)| ("KubeletNotReady", message.as_str())))
        .chain(said.rev().map(|t| (t.reason.as_str(), t.message.as_str())));
    // The first among equals: what is said now goes before what was said.
    let mut best = (NOT_READY, "");
    for (reason, message) in messages {
        let cause = classify(reason, message);
        // What a kubelet says that has just come back tells nothing of why it was away.
        if best.1.is_empty() || (rank(cause) > rank(best.0) && !says(message, NOT_ASKED_YET)) {
            best = (cause, message);
        }
    }
    let (cause, message) = best;
    let mut evidence: Vec<_> =
        facts.condition("Ready").map(|c| evidence::node_condition(&facts.name, c)).into_iter().collect();
    if let Some((at, words)) = complaint.filter(|(_, words)| present.is_none_or(|c| c.message != *words)) {
        let source = format!("node/{}.status.conditions[Ready] (before)", facts.name);
        evidence.push(evidence::field_at(source, words, Some(*at)));
    }
    if let Some(f) = flapping {
        let value = format!("{} changes between Ready and not Ready in {}", f.transitions, text::duration(f.window));
        evidence.push(evidence::field_at(format!("node/{} (as seen)", facts.name), value, Some(since)));
    }
    if node.not_ready_events > 0 {
        let value = format!("{} in the last hour", node.not_ready_events);
        evidence.push(evidence::field(format!("node/{} event/NodeNotReady", facts.name), value));
    }
    let mut meaning =
        if ready_now { words::was_so(language, cause, message) } else { words::is_so(language, cause, message) };
    if let Some(taint) =
        facts.taints.iter().find(|taint| OFF.contains(&&*taint.key)).filter(|_| cause == STATUS_UNKNOWN)
    {
        meaning = say!(language, "its machine is off, as its taint {taint} says", taint = taint.key);
        evidence.push(evidence::field(format!("node/{}.spec.taints", facts.name), &taint.key));
    }
    let summary = match flapping {
        Some(f) => say!(
            language,
            "node {name} is flapping ({changes} changes of Ready in {window}){and_now}: {meaning}",
            name = facts.name,
            changes = f.transitions,
            window = text::duration(f.window),
            and_now = if ready_now { phrase!(language, " and Ready at the moment; before that") } else { "" },
            meaning
        ),
        None => say!(language, "node {name} is not ready: {meaning}", name = facts.name, meaning),
    };
    NodeIncident {
        cause,
        since,
        flapping,
        ready_now,
        message: text::line(message, text::EVIDENCE_MAX),
        summary: text::line(&summary, text::SUMMARY_MAX),
        remedies: remedies::of(language, cause, node, flapping.is_some()),
        evidence,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::facts::{Condition, NodeFacts, Resources, Taint};

    const PLEG: &str = "[container runtime is down, PLEG is not healthy: pleg was last seen active 4m9.760138488s ago; threshold is 3m0s]";
    const DOWN: &str = "container runtime is down";
    const STOPPED: &str = "Kubelet stopped posting node status.";

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minute * 60).unwrap()
    }

    /// A node made a day ago with these transitions (minute, status, message).
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

    fn judged(history: &[(i64, &str, &str)], minute: i64) -> Judged {
        judge(&node(history), &Thresholds::default(), at(minute))
    }

    fn incident(history: &[(i64, &str, &str)], minute: i64) -> NodeIncident {
        judged(history, minute).incident.unwrap()
    }

    #[test]
    fn the_message_tells_the_cause() {
        for (reason, message, cause) in [
            ("KubeletNotReady", DOWN, RUNTIME_DOWN),
            ("KubeletNotReady", PLEG, PLEG_UNHEALTHY),
            ("KubeletNotReady", "PLEG is not healthy: pleg has yet to be successful", PLEG_UNHEALTHY),
            (
                "KubeletNotReady",
                "[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]",
                RUNTIME_NOT_READY,
            ),
            (
                "KubeletNotReady",
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
                NETWORK_NOT_READY,
            ),
            (
                "KubeletNotReady",
                "container runtime not ready: RuntimeReady=false reason:ShimDead message:no shim",
                RUNTIME_NOT_READY,
            ),
            ("KubeletNotReady", "[container runtime is down, node is shutting down]", SHUTTING_DOWN),
            ("NodeStatusUnknown", STOPPED, STATUS_UNKNOWN),
            ("NodeStatusNeverUpdated", "Kubelet never posted node status.", NEVER_UPDATED),
            ("KubeletNotReady", "CSINode is not yet initialized", CSI_NOT_INITIALIZED),
            (
                "KubeletNotReady",
                "Failed to initialize CSINode: timed out waiting for the condition",
                CSI_NOT_INITIALIZED,
            ),
            ("KubeletNotReady", "missing node capacity for resources: cpu, memory", MISSING_CAPACITY),
            (
                "KubeletNotReady",
                "[CSINode is not yet initialized, missing node capacity for resources: ephemeral-storage]",
                CSI_NOT_INITIALIZED,
            ),
            (
                "KubeletNotReady",
                "[container runtime is down, missing node capacity for resources: ephemeral-storage]",
                RUNTIME_DOWN,
            ),
            ("KubeletNotReady", "some error of a later release", NOT_READY),
        ] {
            assert_eq!(classify(reason, message), cause, "{message}");
        }
    }

    #[test]
    fn a_ready_node_is_well_and_a_cordoned_one_too() {
        let mut cordoned = node(&[(-600, "True", "")]);
        cordoned.facts.unschedulable = true;
        assert_eq!(judge(&cordoned, &Thresholds::default(), at(0)), Judged { incident: None, wake: None });
    }

    #[test]
    fn a_planned_end_is_no_incident_for_ten_minutes() {
        let announced = node(&[(-600, "True", ""), (0, "False", "node is shutting down"), (1, "Unknown", STOPPED)]);
        let mut cordoned = node(&[(-600, "True", ""), (0, "Unknown", STOPPED)]);
        cordoned.facts.unschedulable = true;
        let patient = Thresholds::default();
        for (planned, cause) in [(&announced, SHUTTING_DOWN), (&cordoned, STATUS_UNKNOWN)] {
            assert_eq!(judge(planned, &patient, at(9)), Judged { incident: None, wake: Some(at(10)) });
            assert_eq!(judge(planned, &patient, at(10)).incident.unwrap().cause, cause);
            assert!(judge(planned, &patient.for_snapshot(), at(9)).incident.is_some(), "a dump tells now or never");
        }
        let down = node(&[(-600, "True", ""), (0, "Unknown", STOPPED)]);
        assert!(judge(&down, &patient, at(0)).incident.is_some(), "nobody planned that");
    }

    #[test]
    fn what_a_kubelet_says_while_it_starts_is_no_incident_for_a_minute() {
        let patient = Thresholds::default();
        for (message, cause) in [
            ("CSINode is not yet initialized", CSI_NOT_INITIALIZED),
            ("missing node capacity for resources: ephemeral-storage", MISSING_CAPACITY),
            ("[container runtime status check may not have completed yet]", RUNTIME_NOT_READY),
        ] {
            let starting = node(&[(-600, "True", ""), (0, "False", message)]);
            assert_eq!(judge(&starting, &patient, at(0)), Judged { incident: None, wake: Some(at(1)) });
            assert_eq!(judge(&starting, &patient, at(1)).incident.unwrap().cause, cause);
            // It came back from an outage, which goes on until it is Ready.
            let after = node(&[(-600, "True", ""), (-5, "Unknown", STOPPED), (0, "False", message)]);
            assert_eq!(judge(&after, &patient, at(0)).incident.unwrap().cause, cause);
        }
        let said_no = node(&[(-600, "True", ""), (0, "False", "container runtime not ready: RuntimeReady=false")]);
        assert!(judge(&said_no, &patient, at(0)).incident.is_some(), "it was asked, and says no");
    }

    #[test]
    fn a_taint_tells_that_the_machine_is_off() {
        let mut off = node(&[(-600, "True", ""), (0, "Unknown", STOPPED)]);
        let taint = |key: &str| Taint { key: key.to_owned(), value: String::new(), effect: "NoSchedule".to_owned() };
        off.facts.taints = vec![taint("node.kubernetes.io/unreachable"), taint(OFF[0])];
        let incident = judge(&off, &Thresholds::default(), at(1)).incident.unwrap();
        let says =
            "node n1 is not ready: its machine is off, as its taint node.cloudprovider.kubernetes.io/shutdown says";
        assert_eq!((incident.cause, incident.summary.as_str()), (STATUS_UNKNOWN, says));
    }

    #[test]
    fn one_outage_is_one_incident_though_it_changes_its_words() {
        let first = [(-600, "True", ""), (0, "False", PLEG)];
        let then = [(-600, "True", ""), (0, "False", PLEG), (3, "Unknown", STOPPED)];
        let (a, b) = (incident(&first, 1), incident(&then, 4));
        assert_eq!((a.cause, b.cause), (PLEG_UNHEALTHY, PLEG_UNHEALTHY), "what the kubelet said last still stands");
        assert_eq!((a.since, a.flapping), (at(0), None));
        assert_eq!(a.since, b.since);
        assert_eq!(
            a.summary,
            "node n1 is not ready: its container runtime has not answered for 4m9s (PLEG is not healthy)"
        );
        assert!(judged(&[(-600, "True", ""), (0, "False", DOWN), (3, "True", "")], 4).incident.is_none(), "over");
    }

    #[test]
    fn a_complaint_of_an_earlier_outage_explains_nothing() {
        let history = [(-300, "False", PLEG), (-290, "True", ""), (0, "Unknown", STOPPED)];
        assert_eq!(incident(&history, 1).cause, STATUS_UNKNOWN);
    }

    #[test]
    fn three_changes_in_an_hour_are_flapping_until_stable() {
        let history = [(-600, "True", ""), (0, "False", DOWN), (5, "True", ""), (20, "False", PLEG), (24, "True", "")];
        let found = judged(&history, 30);
        let flapping = found.incident.unwrap();
        assert!(flapping.ready_now);
        assert_eq!(flapping.cause, PLEG_UNHEALTHY);
        assert_eq!(flapping.flapping, Some(Flapping { transitions: 4, window: 24 * 60 }));
        assert_eq!(flapping.since, at(0));
        assert_eq!(found.wake, Some(at(54)));
        let says = "node n1 is flapping (4 changes of Ready in 24 min) and Ready at the moment; before that: its container \
                    runtime had not answered for 4m9s (PLEG was not healthy)";
        assert_eq!(flapping.summary, says, "it answers now");
        assert!(judged(&history, 53).incident.is_some());
        assert!(judged(&history, 54).incident.is_none(), "30 min of Ready end it");
    }

    #[test]
    fn the_incident_keeps_its_beginning_when_it_turns_out_to_be_flapping() {
        let one = [(-600, "True", ""), (0, "False", DOWN)];
        let three = [(-600, "True", ""), (0, "False", DOWN), (5, "True", ""), (20, "Unknown", STOPPED)];
        assert_eq!(incident(&one, 1).since, incident(&three, 21).since);
        assert_eq!(incident(&three, 21).cause, RUNTIME_DOWN, "over unknown");
    }

    #[test]
    fn slow_changes_are_incidents_of_their_own() {
        let history = [(-600, "True", ""), (0, "False", DOWN), (5, "True", ""), (120, "False", DOWN)];
        let found = incident(&history, 121);
        assert_eq!((found.flapping, found.since), (None, at(120)));
        // Unknown after False is no change between Ready and not Ready.
        let outage =
            [(-600, "True", ""), (0, "False", DOWN), (1, "Unknown", STOPPED), (2, "False", DOWN), (3, "True", "")];
        assert!(judged(&outage, 4).incident.is_none());
    }

    #[test]
    fn a_node_that_joins_gets_some_minutes() {
        let mut joining = node(&[(
            0,
            "False",
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized",
        )]);
        joining.facts.created = Some(at(0));
        let thresholds = Thresholds::default();
        assert_eq!(judge(&joining, &thresholds, at(4)), Judged { incident: None, wake: Some(at(5)) });
        let late = judge(&joining, &thresholds, at(5)).incident.unwrap();
        assert_eq!(late.cause, NETWORK_NOT_READY);
        assert_eq!(late.summary, "node n1 is not ready: its pod network is not set up (cni plugin not initialized)");
        assert_eq!(late.since, at(0));
        // Joining and one outage soon after is not flapping.
        let mut young = node(&[(0, "False", DOWN), (1, "True", ""), (10, "False", DOWN), (12, "True", "")]);
        young.facts.created = Some(at(0));
        assert!(judge(&young, &thresholds, at(13)).incident.is_none());
        // Two outages are, however young the node is.
        let mut ill =
            node(&[(0, "False", DOWN), (1, "True", ""), (3, "False", DOWN), (4, "True", ""), (8, "False", DOWN)]);
        ill.facts.created = Some(at(0));
        assert!(judge(&ill, &thresholds, at(8)).incident.unwrap().flapping.is_some());
    }

    #[test]
    fn a_node_without_status_yet_is_no_incident() {
        let mut bare = node(&[(0, "False", DOWN)]);
        bare.facts.conditions.clear();
        assert!(judge(&bare, &Thresholds::default(), at(600)).incident.is_none());
    }
}
