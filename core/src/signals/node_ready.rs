//! The signal `nodeReady`.

mod episode;
#[cfg(test)]
mod tests;

pub use self::episode::Flapping;
use self::episode::{Episode, is_ready};
use super::{Catalogue, Context, Matched, PodSignal, Source, Subject, signal};
use crate::api::Evidence;
use crate::case::{Case, Finding, Thresholds, Verdict, evidence};
use crate::facts::{EventFacts, NodeState, Phase, Timestamp, after, seconds_between};
use crate::message::{self, text};

/// Seconds that a new node gets to start its network and its runtime. Until then it is not an incident.
const JOINING: i64 = 300;

/// The end of the time that a new node has to start its network and its drivers; `None` if that is over.
pub(crate) fn joining_until(node: &NodeState, now: Timestamp) -> Option<Timestamp> {
    node.facts.created.map(|created| after(created, JOINING)).filter(|joined| now < *joined)
}

/// Taints of a node whose machine is off, set by the cloud provider or an administrator.
const OFF: [&str; 2] = ["node.cloudprovider.kubernetes.io/shutdown", "node.kubernetes.io/out-of-service"];

/// The message of a kubelet that has just started and has not checked its runtime yet.
const NOT_ASKED_YET: &str = "container runtime status check may not have completed yet";

signal! {
    /// A node that is not Ready, or whose Ready condition changes often (flapping). One incident lasts until the node has been
    /// stable for a while; its message is the one that explains most of all that the condition had meanwhile.
    /// Source: Node status.conditions[Ready]; for a pod whose Node is not known, the pod's own status and Events.
    pub(crate) struct NodeReady<'a> as "nodeReady" {
        node: Option<&'a NodeState>,
        case: Option<&'a Case<'a>>,
        source: NodeSource<'a>,
        incident: Incident<'a>,
        condition_reason: &'a str,
        condition_message: &'a str,
    }
    reason: |of| of.condition_reason, message: of.condition_message;

    /// What reports that the node is not Ready: `node`, its Node object; else, where that is not known, `podReason` (status.reason
    /// NodeLost), `podPhase` (status.phase Unknown) or `podEvent` (Event NodeNotReady on the pod).
    "source": fn source(&self) -> &'static str {
        match self.source {
            NodeSource::Node => "node",
            NodeSource::PodReason => "podReason",
            NodeSource::PodPhase => "podPhase",
            NodeSource::PodEvent(_) => "podEvent",
        }
    }

    /// Whether the node is Ready at the moment. Only a flapping node is. Source: status.conditions[Ready].status.
    "isReady": fn is_ready(&self) -> bool { self.incident.is_ready }

    /// Whether the node goes in and out of Ready. Source: transitions of status.conditions[Ready].
    "isFlapping": fn is_flapping(&self) -> bool { self.incident.flapping.is_some() }

    /// Number of changes between Ready and not Ready, where the node is flapping.
    /// Source: transitions of status.conditions[Ready].
    "transitions": fn transitions(&self) -> Option<i64> {
        self.incident.flapping.and_then(|flapping| flapping.transitions.try_into().ok())
    }

    /// Time from the first to the last of these changes, such as `24 min`. Source: transitions of status.conditions[Ready].
    "window": fn window(&self) -> Option<String> { self.incident.flapping.map(|flapping| text::duration(flapping.window)) }

    /// The message of the incident, at most 100 characters. Source: status.conditions[Ready].message.
    "message": fn message(&self) -> String { message::fit_error(self.condition_message, 100) }

    /// For how long the runtime has not answered the kubelet, such as `4m9s`; empty if the message names no time.
    /// Source: `pleg was last seen active 4m9.76s ago` in the message.
    "runtimeSilence": fn runtime_silence(&self) -> String { pleg_age(self.condition_message).unwrap_or_default() }

    /// Message of the container runtime, such as `cni plugin not initialized`, at most 120 characters; empty if it has none.
    /// Source: RuntimeStatus of the CRI, after `message:` in the message.
    "runtimeMessage": fn runtime_message(&self) -> String { after_mark(self.condition_message, "message:") }

    /// Error of the write of the CSINode object, at most 120 characters; empty if the message has none.
    /// Source: kubelet pkg/volume/csi/csi_plugin.go.
    "csiNodeError": fn csi_node_error(&self) -> String { after_mark(self.condition_message, "initialize CSINode: ") }

    /// Resources whose capacity the kubelet does not know, such as `cpu, memory`; empty if the message names none.
    /// Source: kubelet pkg/kubelet/nodestatus/setters.go.
    "missingResources": fn missing_resources(&self) -> String {
        after_mark(self.condition_message, "missing node capacity for resources: ")
    }

    /// Whether the kubelet has just started and has not asked its runtime yet.
    /// Source: `container runtime status check may not have completed yet` in the message.
    "runtimeNotAskedYet": fn runtime_not_asked_yet(&self) -> bool {
        self.condition_message.to_ascii_lowercase().contains(NOT_ASKED_YET)
    }

    /// Whether the node is cordoned. Source: spec.unschedulable.
    "isCordoned": fn is_cordoned(&self) -> bool { self.node.is_some_and(|node| node.facts.unschedulable) }

    /// Whether the node leaves service on purpose: it is cordoned, or an autoscaler or the cloud provider has announced that it
    /// removes or stops it. Source: spec.unschedulable, spec.taints, status.conditions[VMEventScheduled].
    "isLeaving": fn is_leaving(&self) -> bool { self.node.is_some_and(|node| node.facts.is_leaving()) }

    /// Key of a taint that states that the machine is off; empty if the node has none. Source: spec.taints.
    "offTaint": fn off_taint(&self) -> &str {
        let taints = self.node.iter().flat_map(|node| &node.facts.taints);
        taints.map(|taint| taint.key.as_str()).find(|key| OFF.contains(key)).unwrap_or_default()
    }
}

pub(crate) const SOURCE: Source = Source {
    definition: &NodeReady::DEFINITION,
    read: |case| read(case).into_iter().map(|signal| Box::new(signal) as Box<dyn PodSignal<'_> + '_>).collect(),
};

/// The source that reports that a node is not Ready.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NodeSource<'a> {
    Node,
    PodReason,
    PodPhase,
    PodEvent(&'a EventFacts),
}

/// The time during which the node was not Ready, and the thresholds that apply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incident<'a> {
    /// When the node first left Ready.
    pub(crate) since: Timestamp,
    pub(crate) flapping: Option<Flapping>,
    is_ready: bool,
    /// When a flapping node that is Ready counts as stable.
    pub(crate) stable_at: Option<Timestamp>,
    /// The end of the time that a new node has to join.
    joining_until: Option<Timestamp>,
    catalogue: &'a dyn Catalogue,
    thresholds: &'a Thresholds,
    now: Timestamp,
}

impl<'a> Incident<'a> {
    /// The incident of a pod whose Node object is not known.
    fn of_unknown_node(case: &'a Case<'a>) -> Self {
        Self {
            since: case.observed.situation_since,
            flapping: None,
            is_ready: false,
            stable_at: None,
            joining_until: None,
            catalogue: case.catalogue,
            thresholds: case.thresholds,
            now: case.now,
        }
    }
}

impl<'a> NodeReady<'a> {
    fn subject(&self) -> Option<Subject<'a>> {
        let of_node = |node| Subject::Node { node, thresholds: self.incident.thresholds };
        self.case.map(Subject::Pod).or(self.node.map(of_node))
    }

    /// The first matching cause.
    fn cause(&self) -> Option<Matched> {
        self.incident.catalogue.first(&Context::new(self.subject()?, None, self))
    }

    /// The evidence of the incident in the Node object.
    pub(crate) fn evidence_of_node(&self) -> Vec<Evidence> {
        let Some(node) = self.node else { return Vec::new() };
        let name = &node.facts.name;
        let ready = node.facts.condition("Ready");
        let mut evidence: Vec<_> = ready.map(|c| evidence::node_condition(name, c)).into_iter().collect();
        let complaint = node.last_kubelet_complaint.as_ref().filter(|(at, _)| *at >= self.incident.since);
        let present = ready.filter(|_| !self.incident.is_ready);
        if let Some((at, message)) = complaint.filter(|(_, message)| present.is_none_or(|c| c.message != *message)) {
            let source = format!("node/{name}.status.conditions[Ready] (before)");
            evidence.push(evidence::field_at(source, message, Some(*at)));
        }
        if let Some(f) = self.incident.flapping {
            let value =
                format!("{} changes between Ready and not Ready in {}", f.transitions, text::duration(f.window));
            evidence.push(evidence::field_at(format!("node/{name} (as seen)"), value, Some(self.incident.since)));
        }
        if node.not_ready_events > 0 {
            let value = format!("{} in the last hour", node.not_ready_events);
            evidence.push(evidence::field(format!("node/{name} event/NodeNotReady"), value));
        }
        if !self.off_taint().is_empty() {
            evidence.push(evidence::field(format!("node/{name}.spec.taints"), self.off_taint()));
        }
        evidence
    }
}

impl<'a> PodSignal<'a> for NodeReady<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let Incident { since, thresholds, now, .. } = self.incident;
        if let Some(joined) = self.incident.joining_until {
            return Err(joined);
        }
        if self.is_flapping() {
            return Ok(());
        }
        let usual = if thresholds.patient { cause.threshold } else { 0 };
        let seconds = thresholds.of(cause.name, usual);
        let due = after(since, seconds);
        if now >= due { Ok(()) } else { Err(due) }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let mut evidence = self.evidence_of_node();
        let Some(case) = self.case else { return evidence };
        match self.source {
            NodeSource::PodReason => {
                evidence.push(evidence::field("status.reason", format!("NodeLost: {}", case.pod.message)));
            }
            NodeSource::PodPhase => evidence.push(evidence::field("status.phase", "Unknown")),
            NodeSource::Node | NodeSource::PodEvent(_) => {}
        }
        evidence.extend(case.pod.condition("Ready").filter(|c| c.status != "True").map(evidence::condition));
        let event = match self.source {
            NodeSource::PodEvent(event) => Some(event),
            _ => case.events_with("NodeNotReady").next_back(),
        };
        evidence.extend(event.map(evidence::event));
        evidence
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        // The Event of the node reports it.
        Verdict::Yes(Box::new(finding.quiet()))
    }
}

/// The incident of a node's Ready condition, if it exceeds its threshold, and the time to check again.
#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) incident: Option<NodeReady<'a>>,
    pub(crate) wake: Option<Timestamp>,
}

/// Finds the incident of a node's Ready condition.
pub(crate) fn judge<'a>(
    node: &'a NodeState,
    catalogue: &'a dyn Catalogue,
    thresholds: &'a Thresholds,
    now: Timestamp,
) -> Judged<'a> {
    let found = of_node(node, None, catalogue, thresholds, now).and_then(|ready| Some((ready.cause()?, ready)));
    match found {
        None => Judged { incident: None, wake: None },
        Some((cause, ready)) => match ready.due(&cause) {
            Ok(()) => Judged { wake: ready.incident.stable_at, incident: Some(ready) },
            Err(at) => Judged { incident: None, wake: Some(at) },
        },
    }
}

/// Whether the node is not Ready and has a diagnosis, which reports the impact on its pods.
pub(crate) fn is_down(node: &NodeState, catalogue: &dyn Catalogue, thresholds: &Thresholds, now: Timestamp) -> bool {
    judge(node, catalogue, thresholds, now).incident.is_some_and(|ready| !ready.is_ready())
}

/// The incident of a node's Ready condition. A cordoned node has none.
pub(crate) fn of_node<'a>(
    node: &'a NodeState,
    case: Option<&'a Case<'a>>,
    catalogue: &'a dyn Catalogue,
    thresholds: &'a Thresholds,
    now: Timestamp,
) -> Option<NodeReady<'a>> {
    let ready = node.facts.condition("Ready")?;
    let ready_now = node.facts.is_ready();
    let been_ready = ready_now || node.ready_history.iter().any(is_ready);
    let joining_until = node.facts.created.filter(|_| !been_ready).map(|created| after(created, JOINING));
    let episode = Episode::new(node, JOINING, thresholds, now);
    let flapping = episode.flapping(thresholds);
    let since = match flapping {
        Some(_) => episode.began().unwrap_or(now),
        None if ready_now => return None,
        None => episode.left_ready().or(ready.last_transition).map_or(now, |at| at.min(now)),
    };
    let incident = Incident {
        since,
        flapping,
        is_ready: ready_now,
        stable_at: episode.stable_at(thresholds).filter(|_| ready_now),
        joining_until: joining_until.filter(|joined| now < *joined),
        catalogue,
        thresholds,
        now,
    };
    Some(most_specific(node, case, incident))
}

/// Picks the message since the start of the incident whose cause comes first in the catalogue. Among equals the current
/// message wins.
fn most_specific<'a>(node: &'a NodeState, case: Option<&'a Case<'a>>, incident: Incident<'a>) -> NodeReady<'a> {
    let occurrence = |reason: &'a str, message: &'a str| NodeReady {
        node: Some(node),
        case,
        source: NodeSource::Node,
        incident,
        condition_reason: reason,
        condition_message: message,
    };
    let present = node.facts.condition("Ready").filter(|_| !incident.is_ready);
    let complaint = node.last_kubelet_complaint.as_ref().filter(|(at, _)| *at >= incident.since);
    let past = node.ready_history.iter().filter(|t| t.at >= incident.since && !is_ready(t));
    let messages = present
        .map(|c| (c.reason.as_str(), c.message.as_str()))
        .into_iter()
        .chain(complaint.map(|(_, message)| ("KubeletNotReady", message.as_str())))
        .chain(past.rev().map(|t| (t.reason.as_str(), t.message.as_str())));
    let mut best = occurrence("", "");
    let mut best_place = None;
    for (reason, message) in messages {
        if best_place.is_some() && message == best.condition_message {
            continue;
        }
        let candidate = occurrence(reason, message);
        let place = candidate.cause().map_or(usize::MAX, |cause| cause.place);
        // A kubelet that has just restarted cannot report why it was down.
        let explains_more = best_place.is_none_or(|best| place < best) && !candidate.runtime_not_asked_yet();
        if best.condition_message.is_empty() || explains_more {
            (best, best_place) = (candidate, Some(place));
        }
    }
    best
}

/// The incident of the pod's node.
fn read<'a>(case: &'a Case<'a>) -> Option<NodeReady<'a>> {
    let pod = case.pod;
    if pod.node_name.is_none() || pod.is_over() || pod.deletion.is_some() {
        return None;
    }
    match case.node {
        Some(node) if node.facts.is_ready() => None,
        Some(node) => of_node(node, Some(case), case.catalogue, case.thresholds, case.now),
        None if pod.is_ready() => None,
        None => unknown_node(case),
    }
}

/// An unknown node that is not Ready according to the pod.
fn unknown_node<'a>(case: &'a Case<'a>) -> Option<NodeReady<'a>> {
    let pod = case.pod;
    let (source, reason, message) = if pod.reason == "NodeLost" {
        // Old clusters write it into the pod's status.
        (NodeSource::PodReason, "NodeLost", pod.message.as_str())
    } else if pod.phase == Phase::Unknown && pod.start_time.is_some() {
        // A kubelet accepted the pod and no longer reports it. Without a start time, the pod is a manifest.
        (NodeSource::PodPhase, "", "")
    } else {
        let event = case.events_with("NodeNotReady").next_back()?;
        // The node controller writes the Event and the condition together. A much older Event belongs to an earlier
        // outage.
        let marked = pod.condition("Ready").and_then(|c| c.last_transition);
        if matches!((event.last, marked), (Some(event), Some(marked)) if seconds_between(event, marked) > 60) {
            return None;
        }
        (NodeSource::PodEvent(event), "NodeNotReady", &*event.message)
    };
    let incident = Incident::of_unknown_node(case);
    Some(NodeReady {
        node: None,
        case: Some(case),
        source,
        incident,
        condition_reason: reason,
        condition_message: message,
    })
}

/// Shortens a PLEG age: `4m9s` for `pleg was last seen active 4m9.760138488s ago`.
fn pleg_age(message: &str) -> Option<String> {
    let age = message.split_once("last seen active ")?.1.split_once(" ago")?.0;
    let whole = age.split_once('.').map_or_else(|| age.to_owned(), |(whole, _)| format!("{whole}s"));
    (whole.len() <= 12 && !whole.is_empty()).then_some(whole)
}

/// The rest of the message after a marker.
fn after_mark(message: &str, mark: &str) -> String {
    message
        .split_once(mark)
        .map_or_else(String::new, |(_, rest)| message::Message::parse(rest.trim_end_matches(']')).summary(120, &[]))
}
