//! Ranks all failures of a node for its own diagnosis. Diagnoses of pods only use the incident of the Ready condition,
//! because a node with little disk space keeps its pods running.

use super::finding::{NodeFinding, ReadyTrouble};
use super::{judge, reboot};
use crate::api::{Evidence, OtherFinding};
use crate::case::{Thresholds, evidence};
use crate::facts::{NodeState, Timestamp, after, seconds_between};
use crate::message::{self, text};
use crate::rules::catalog;
use crate::signals::node_condition::NodeCondition;
use crate::signals::node_event::NodeEvent;
use crate::signals::node_ready::Judged;
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
    // While a kubelet does not report, its other conditions are out of date or overwritten.
    let is_down = incident.as_ref().is_some_and(|ready| !ready.is_ready());
    let beside = if is_down { Vec::new() } else { of_conditions(node, subject) };
    let of_events = of_events(node, subject, now);
    let event_ends = of_events.iter().filter_map(|finding| finding.since).map(|last| after(last, COUNTS_FOR)).min();
    let (rebooted, until) = reboot::of(thresholds.language, node, now).unzip();
    let incident = incident.and_then(|ready| {
        let context = Context { subject, container: None, signal: &ready };
        let (_, cause) = catalog::first(&context)?;
        let finding = NodeFinding::of(cause, &context, Some(ready.incident.since), ready.evidence_of_node());
        let trouble = ReadyTrouble { flapping: ready.incident.flapping, ready_now: ready.is_ready() };
        Some(NodeFinding { ready: Some(trouble), ..finding })
    });
    let mut findings = incident.into_iter().chain(beside).chain(of_events).chain(rebooted);
    let failure = findings.next();
    let others = findings.map(|other| OtherFinding {
        cause: other.cause.to_owned(),
        container: None,
        summary: message::fit(&other.summary, text::SUMMARY_MAX),
    });
    Judgement { others: others.collect(), failure, wake: wake.into_iter().chain(event_ends).chain(until).min() }
}

/// Findings for the conditions other than Ready that are True, most severe first.
fn of_conditions(node: &NodeState, subject: Subject<'_>) -> Vec<NodeFinding> {
    let conditions = node.facts.conditions.iter().filter(|c| c.status == "True" && c.kind != "Ready");
    ranked(conditions.filter_map(|condition| {
        let evidence = evidence::node_condition(&node.facts.name, condition);
        found(&NodeCondition { condition }, subject, condition.last_transition, evidence)
    }))
}

/// Findings for the Events that still count.
fn of_events(node: &NodeState, subject: Subject<'_>, now: Timestamp) -> Vec<NodeFinding> {
    let mut events: Vec<_> = node.complaints.iter().filter(|e| seconds_between(e.last, now) < COUNTS_FOR).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.last));
    ranked(events.into_iter().filter_map(|event| {
        let source = format!("node/{} event/{}", node.facts.name, event.reason);
        let evidence = evidence::field_at(source, &event.message, Some(event.last));
        found(&NodeEvent { event }, subject, Some(event.last), evidence)
    }))
}

/// The finding of an occurrence, and the index of its cause among those of the signal.
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

/// Sorts by severity and keeps the first finding of each cause.
fn ranked(found: impl Iterator<Item = (usize, NodeFinding)>) -> Vec<NodeFinding> {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(place, finding)| (finding.severity, *place));
    found.dedup_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, finding)| finding).collect()
}
