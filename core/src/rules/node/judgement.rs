//! Ranks all failures of a node for its own diagnosis. Diagnoses of pods only use the incident of the Ready condition,
//! because a node with little disk space keeps its pods running.

use super::finding::{NodeFinding, ReadyTrouble};
use super::{judge, reboot};
use crate::api::{Evidence, OtherFinding};
use crate::case::{Thresholds, evidence};
use crate::facts::{
    Condition, MACHINE_CONFIG, MACHINE_CONFIG_REASON, NodeComplaint, NodeState, Timestamp, after, seconds_between,
};
use crate::message::{self, Message, text};
use crate::rules::catalog;
use crate::signals::node_condition::{NodeCondition, is_raised};
use crate::signals::node_event::NodeEvent;
use crate::signals::node_ready::{Judged, joining_until};
use crate::signals::{Context, Signal, Subject};

/// Seconds for which an Event counts. The kubelet repeats Events while a failure lasts (garbage collection every 5
/// minutes, a failed start every few seconds).
const COUNTS_FOR: i64 = 900;

/// Findings about a node, and the time to check again.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub failure: Option<NodeFinding>,
    pub others: Vec<OtherFinding>,
    pub wake: Option<Timestamp>,
}

/// Judges a node: first the incident of its Ready condition, then its other conditions, then its Events.
pub fn judgement(node: &NodeState, thresholds: &Thresholds, now: Timestamp) -> Judgement {
    let subject = Subject::Node { node, thresholds };
    let Judged { incident, wake } = judge(node, thresholds, now);
    let is_down = incident.as_ref().is_some_and(|ready| !ready.is_ready());
    // While a kubelet does not report, the other conditions are out of date or overwritten.
    let is_silent = is_down && node.facts.conditions.iter().any(|c| c.kind == "Ready" && c.status == "Unknown");
    // Nor do those of a node that has not been Ready yet count while it starts.
    let joined = joining_until(node, now);
    let is_starting = joined.is_some() && !node.facts.is_ready();
    let is_young = joined.is_some();
    let is_held_back = is_young && node.facts.conditions.iter().any(|c| is_raised(c) && is_of_network(c));
    let beside = if is_silent || is_starting { Vec::new() } else { of_conditions(node, subject, is_young) };
    let of_events = if is_starting { Vec::new() } else { of_events(node, subject, now) };
    let event_ends = of_events.iter().filter_map(|finding| finding.since).map(|last| after(last, COUNTS_FOR)).min();
    let (rebooted, until) = reboot::of(thresholds.language, node, now).unzip();
    let incident = incident.and_then(|ready| {
        let context = Context::new(subject, None, &ready);
        let (_, cause) = catalog::first(&context)?;
        let warning = node.last_warning.as_deref().filter(|e| is_down && seconds_between(e.last, now) < COUNTS_FOR);
        let mut evidence = ready.evidence_of_node();
        evidence.extend(warning.map(|event| of_event(node, event)));
        let finding = NodeFinding::of(&cause, &context, Some(ready.incident.since), evidence);
        let trouble = ReadyTrouble { flapping: ready.incident.flapping, ready_now: ready.is_ready() };
        Some(NodeFinding { ready: Some(trouble), ..finding })
    });
    let (incident, beside) = with_root_first(incident, beside);
    let mut findings = incident.into_iter().chain(beside).chain(of_events).chain(rebooted);
    let failure = findings.next();
    let others = findings.map(|other| OtherFinding {
        cause: other.cause.to_owned(),
        container: None,
        summary: message::fit(&other.summary, text::SUMMARY_MAX),
    });
    Judgement {
        others: others.collect(),
        failure,
        wake: wake.into_iter().chain(event_ends).chain(until).chain(joined.filter(|_| is_held_back)).min(),
    }
}

/// Findings for the conditions other than Ready that report a problem, most severe first.
/// The network of a young node may still start.
fn of_conditions(node: &NodeState, subject: Subject<'_>, is_young: bool) -> Vec<NodeFinding> {
    let conditions = node.facts.conditions.iter().filter(|c| is_raised(c) && c.kind != "Ready");
    let conditions = conditions.filter(|c| !is_young || !is_of_network(c));
    ranked(conditions.filter_map(|condition| {
        let name = &node.facts.name;
        let evidence = if condition.kind == MACHINE_CONFIG {
            evidence::field(format!("node/{name}.metadata.annotations[{MACHINE_CONFIG_REASON}]"), &*condition.message)
        } else {
            evidence::node_condition(name, condition)
        };
        found(&NodeCondition { condition }, subject, condition.last_transition, evidence)
    }))
}

/// Puts a failure of the kernel before the incident of the Ready condition that it causes: one that began earlier.
fn with_root_first(
    incident: Option<NodeFinding>,
    mut beside: Vec<NodeFinding>,
) -> (Option<NodeFinding>, Vec<NodeFinding>) {
    const OF_KERNEL: [&str; 2] = ["NodeFilesystemDamaged", "NodeKernelDeadlock"];
    let Some(incident) = incident else { return (None, beside) };
    let is_root = |of: &NodeFinding| OF_KERNEL.contains(&of.cause) && of.since.is_some() && of.since < incident.since;
    match beside.iter().position(is_root) {
        Some(place) => {
            let root = NodeFinding { ready: incident.ready, ..beside.remove(place) };
            beside.insert(0, NodeFinding { ready: None, ..incident });
            (Some(root), beside)
        }
        None => (Some(incident), beside),
    }
}

/// Whether the condition is about the network of the node, which is set up after the node has joined.
fn is_of_network(condition: &Condition) -> bool {
    condition.kind.starts_with("Network")
}

/// Findings for the Events that still count.
fn of_events(node: &NodeState, subject: Subject<'_>, now: Timestamp) -> Vec<NodeFinding> {
    let mut events: Vec<_> = node.complaints.iter().filter(|e| seconds_between(e.last, now) < COUNTS_FOR).collect();
    // Of Events with the same cause, one that only reports a timeout has the least information.
    let is_timeout = |event: &NodeComplaint| Message::parse(&event.message).class_name() == "timeout";
    events.sort_by_cached_key(|event| (is_timeout(event), std::cmp::Reverse(event.last)));
    ranked(
        events
            .into_iter()
            .filter_map(|event| found(&NodeEvent { event }, subject, Some(event.last), of_event(node, event))),
    )
}

fn of_event(node: &NodeState, event: &NodeComplaint) -> Evidence {
    let source = format!("node/{} event/{}", node.facts.name, event.reason);
    evidence::field_at(source, &event.message, Some(event.last))
}

/// The finding of an occurrence, and the index of its cause among those of the signal.
fn found(
    signal: &dyn Signal,
    subject: Subject<'_>,
    since: Option<Timestamp>,
    evidence: Evidence,
) -> Option<(usize, NodeFinding)> {
    let context = Context::new(subject, None, signal);
    let (place, cause) = catalog::first(&context)?;
    Some((place, NodeFinding::of(&cause, &context, since, vec![evidence])))
}

/// Sorts by severity and keeps the first finding of each cause.
fn ranked(found: impl Iterator<Item = (usize, NodeFinding)>) -> Vec<NodeFinding> {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(place, finding)| (finding.severity, *place));
    found.dedup_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, finding)| finding).collect()
}
