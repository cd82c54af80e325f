//! Ranks all failures of a node for its own diagnosis. Diagnoses of pods only use the incident of the Ready condition,
//! because a node with little disk space keeps its pods running.

use super::finding::{NodeFinding, ReadyTrouble};
use super::{is_announcement, judge, reboot};
use crate::api::{Evidence, OtherFinding, Severity};
use crate::case::{Thresholds, evidence};
use crate::facts::{
    Condition, MACHINE_CONFIG, MACHINE_CONFIG_REASON, NodeComplaint, NodeState, Timestamp, after, seconds_between,
};
use crate::message::{self, Message, text};
use crate::rules::catalog;
use crate::signals::node_condition::{NodeCondition, is_raised};
use crate::signals::node_event::NodeEvent;
use crate::signals::node_lifecycle::NodeLifecycle;
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
    let (beside, due) =
        if is_silent || is_starting { (Vec::new(), None) } else { of_conditions(node, subject, is_young, now) };
    let (of_lifecycle, lifecycle_due) = of_lifecycle(node, subject, now);
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
    let mut findings = incident.into_iter().chain(beside).chain(of_events).chain(of_lifecycle).chain(rebooted);
    let failure = findings.next();
    let others = findings.map(|other| OtherFinding {
        cause: other.cause.to_owned(),
        container: None,
        summary: message::fit(&other.summary, text::SUMMARY_MAX),
    });
    Judgement {
        others: others.collect(),
        failure,
        wake: [wake, event_ends, until, due, lifecycle_due, joined.filter(|_| is_held_back)]
            .into_iter()
            .flatten()
            .min(),
    }
}

/// Findings for the conditions other than Ready that report a problem, most severe first.
/// The network of a young node may still start. A condition of an agent may be wrong for a moment, so each counts after the
/// threshold of its cause.
fn of_conditions(
    node: &NodeState,
    subject: Subject<'_>,
    is_young: bool,
    now: Timestamp,
) -> (Vec<NodeFinding>, Option<Timestamp>) {
    let conditions = node.facts.conditions.iter().filter(|c| is_raised(c) && c.kind != "Ready");
    let conditions = conditions.filter(|c| !is_young || !is_of_network(c));
    due(conditions.filter_map(|condition| {
        let name = &node.facts.name;
        let evidence = if condition.kind == MACHINE_CONFIG {
            evidence::field(format!("node/{name}.metadata.annotations[{MACHINE_CONFIG_REASON}]"), &*condition.message)
        } else {
            evidence::node_condition(name, condition)
        };
        found(&NodeCondition { condition }, subject, condition.last_transition, now, evidence)
    }))
}

/// Findings for what announces that the node leaves service: recorded without a Warning Event.
fn of_lifecycle(node: &NodeState, subject: Subject<'_>, now: Timestamp) -> (Vec<NodeFinding>, Option<Timestamp>) {
    let counts =
        |event: &NodeComplaint| is_announcement(&event.reason) && seconds_between(event.last, now) < COUNTS_FOR;
    let all = NodeLifecycle::all(node, counts);
    let ends = all.iter().filter_map(|one| one.event).map(|event| after(event.last, COUNTS_FOR)).min();
    let (found, due) = due(all.iter().filter_map(|one| {
        let source = format!("node/{}.spec", node.facts.name);
        let evidence = match (one.taint, one.event) {
            (Some(taint), _) => evidence::field_at(format!("{source}.taints"), taint.to_string(), one.since()),
            (None, Some(event)) => of_event(node, event),
            (None, None) => evidence::field_at(format!("{source}.unschedulable"), "true", one.since()),
        };
        found(one, subject, one.since(), now, evidence)
    }));
    let quiet = |found: NodeFinding| NodeFinding { quiet: found.severity == Severity::Info, ..found };
    (found.into_iter().map(quiet).collect(), ends.into_iter().chain(due).min())
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
    let counts = |e: &&NodeComplaint| !is_announcement(&e.reason) && seconds_between(e.last, now) < COUNTS_FOR;
    let mut events: Vec<_> = node.complaints.iter().filter(counts).collect();
    // Of Events with the same cause, one that only reports a timeout has the least information.
    let is_timeout = |event: &NodeComplaint| Message::parse(&event.message).class_name() == "timeout";
    events.sort_by_cached_key(|event| (is_timeout(event), std::cmp::Reverse(event.last)));
    let found = events
        .into_iter()
        .filter_map(|event| found(&NodeEvent { event }, subject, Some(event.last), now, of_event(node, event))?.ok());
    ranked(found)
}

fn of_event(node: &NodeState, event: &NodeComplaint) -> Evidence {
    let source = format!("node/{} event/{}", node.facts.name, event.reason);
    evidence::field_at(source, &event.message, Some(event.last))
}

/// A finding, and the index of its cause among those of the signal; or the time when its threshold ends.
type Found = Result<(usize, NodeFinding), Timestamp>;

/// The finding of an occurrence that began at `since`.
fn found(
    signal: &dyn Signal,
    subject: Subject<'_>,
    since: Option<Timestamp>,
    now: Timestamp,
    evidence: Evidence,
) -> Option<Found> {
    let context = Context::new(subject, None, signal);
    let (place, cause) = catalog::first(&context)?;
    let thresholds = subject.thresholds();
    let usual = if thresholds.patient { cause.threshold(thresholds, &context) } else { 0 };
    let due = since.map(|since| after(since, thresholds.of(cause.name(), usual))).filter(|due| now < *due);
    let finding = || (place, NodeFinding::of(&cause, &context, since, vec![evidence]));
    Some(due.map_or_else(|| Ok(finding()), Err))
}

/// The findings whose threshold has passed, ranked, and the time when the next one passes.
fn due(found: impl Iterator<Item = Found>) -> (Vec<NodeFinding>, Option<Timestamp>) {
    let (mut passed, mut next) = (Vec::new(), None);
    for one in found {
        match one {
            Ok(finding) => passed.push(finding),
            Err(at) => next = next.into_iter().chain([at]).min(),
        }
    }
    (ranked(passed.into_iter()), next)
}

/// Sorts by severity and keeps the first finding of each cause.
fn ranked(found: impl Iterator<Item = (usize, NodeFinding)>) -> Vec<NodeFinding> {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(place, finding)| (finding.severity, *place));
    found.dedup_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, finding)| finding).collect()
}
