//! All that is wrong with a node, ranked: for its own diagnosis. (Its pods look at the incident of its Ready condition
//! alone: a node that is short of disk keeps its pods running.)

use super::finding::{NodeFinding, ReadyTrouble};
use super::{NodeIncident, complaints, conditions, judge, reboot};
use crate::api::{Confidence, OtherFinding, Severity};
use crate::diagnosis::{Thresholds, text};
use crate::facts::{NodeState, Timestamp};

/// The judgement on a node as a whole, and when to ask again.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub failure: Option<NodeFinding>,
    pub others: Vec<OtherFinding>,
    pub wake: Option<Timestamp>,
}

/// What is wrong with a node: the incident of its Ready condition first, then its other conditions, then what Events
/// tell of it.
pub fn judgement(node: &NodeState, thresholds: &Thresholds, now: Timestamp) -> Judgement {
    let ready = judge(node, thresholds, now);
    let told = complaints::of(thresholds.language, node, now);
    let is_down = ready.incident.as_ref().is_some_and(|incident| !incident.ready_now);
    // A kubelet that is silent or out of order keeps its other conditions as they were, or has them overwritten.
    let beside = if is_down { Vec::new() } else { conditions::of(thresholds.language, node) };
    let (rebooted, until) = reboot::of(thresholds.language, node, now).unzip();
    let findings = ready.incident.map(of_incident).into_iter().chain(beside).chain(told.findings);
    let mut findings = findings.chain(rebooted);
    let failure = findings.next();
    let others = findings.map(|other| OtherFinding {
        cause: other.cause.to_owned(),
        container: None,
        summary: text::line(&other.summary, text::SUMMARY_MAX),
    });
    Judgement { others: others.collect(), failure, wake: ready.wake.into_iter().chain(told.wake).chain(until).min() }
}

fn of_incident(incident: NodeIncident) -> NodeFinding {
    NodeFinding {
        cause: incident.cause,
        severity: Severity::Critical,
        confidence: if incident.flapping.is_some() { Confidence::Likely } else { Confidence::Certain },
        since: Some(incident.since),
        summary: incident.summary,
        remedies: incident.remedies,
        evidence: incident.evidence,
        ready: Some(ReadyTrouble { flapping: incident.flapping, ready_now: incident.ready_now }),
        quiet: false,
    }
}
