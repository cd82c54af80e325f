//! All failures of a node, ranked: for its own diagnosis. Its pods look at the incident of its Ready condition alone: a node
//! that is short of disk keeps its pods running.

use super::finding::{NodeFinding, ReadyTrouble};
use super::{Judged, judge, reboot};
use crate::api::{Evidence, OtherFinding};
use crate::diagnosis::signals::node_condition::NodeCondition;
use crate::diagnosis::signals::node_event::NodeEvent;
use crate::diagnosis::signals::{Context, Signal, Subject};
use crate::diagnosis::{Thresholds, catalog, evidence, text};
use crate::facts::{NodeState, Timestamp, after, seconds_between};

/// An Event counts for so many seconds: the kubelet repeats what lasts (garbage collection every 5 minutes, a start that fails
/// every few seconds).
const COUNTS_FOR: i64 = 900;

/// The judgement on a node as a whole, and when to ask again.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub failure: Option<NodeFinding>,
    pub others: Vec<OtherFinding>,
    pub wake: Option<Timestamp>,
}

/// What is wrong with a node: the incident of its Ready condition first, then its other conditions, then Events on it.
pub fn judgement(node: &NodeState, thresholds: &Thresholds, now: Timestamp) -> Judgement {
    let subject = Subject::Node { node, language: thresholds.language };
    let Judged { incident, wake } = judge(node, thresholds, now);
    // A kubelet that does not report leaves its other conditions as they were, or has them overwritten.
    let is_down = incident.as_ref().is_some_and(|(ready, _)| !ready.is_ready());
    let beside = if is_down { Vec::new() } else { of_conditions(node, subject) };
    let of_events = of_events(node, subject, now);
    let event_ends = of_events.iter().filter_map(|finding| finding.since).map(|last| after(last, COUNTS_FOR)).min();
    let (rebooted, until) = reboot::of(thresholds.language, node, now).unzip();
    let incident = incident.map(|(ready, cause)| {
        let context = Context { subject, container: None, signal: &ready };
        let finding = NodeFinding::of(cause, &context, Some(ready.incident.since), ready.evidence_of_node());
        let trouble = ReadyTrouble { flapping: ready.incident.flapping, ready_now: ready.is_ready() };
        NodeFinding { ready: Some(trouble), ..finding }
    });
    let mut findings = incident.into_iter().chain(beside).chain(of_events).chain(rebooted);
    let failure = findings.next();
    let others = findings.map(|other| OtherFinding {
        cause: other.cause.to_owned(),
        container: None,
        summary: text::line(&other.summary, text::SUMMARY_MAX),
    });
    Judgement { others: others.collect(), failure, wake: wake.into_iter().chain(event_ends).chain(until).min() }
}

/// The conditions of a node beside Ready that are True, the worst first.
fn of_conditions(node: &NodeState, subject: Subject<'_>) -> Vec<NodeFinding> {
    let conditions = node.facts.conditions.iter().filter(|c| c.status == "True" && c.kind != "Ready");
    ranked(conditions.filter_map(|condition| {
        let evidence = evidence::node_condition(&node.facts.name, condition);
        found(&NodeCondition { condition }, subject, condition.last_transition, evidence)
    }))
}

/// The Events of a node that still count.
fn of_events(node: &NodeState, subject: Subject<'_>, now: Timestamp) -> Vec<NodeFinding> {
    let mut events: Vec<_> = node.complaints.iter().filter(|e| seconds_between(e.last, now) < COUNTS_FOR).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.last));
    ranked(events.into_iter().filter_map(|event| {
        let source = format!("node/{} event/{}", node.facts.name, event.reason);
        let evidence = evidence::field_at(source, &event.message, Some(event.last));
        found(&NodeEvent { event }, subject, Some(event.last), evidence)
    }))
}

/// The finding of an occurrence, and the place of its cause among those of the signal.
fn found(
    signal: &dyn Signal,
    subject: Subject<'_>,
    since: Option<Timestamp>,
    evidence: Evidence,
) -> Option<(usize, NodeFinding)> {
    let context = Context { subject, container: None, signal };
    let (place, cause) = catalog::first(&context)?;
    Some((place, NodeFinding::of(cause, &context, since, vec![evidence])))
}

/// The worst first, and the first of each cause.
fn ranked(found: impl Iterator<Item = (usize, NodeFinding)>) -> Vec<NodeFinding> {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(place, finding)| (finding.severity, *place));
    found.dedup_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, finding)| finding).collect()
}
