//! Decisions for nodes: their diagnosis and the affected workloads.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{
    AffectedWorkload, DiagnosisKind, FlappingReport, Head, LastWords, NodeDiagnosisSpec, NodeDiagnosisStatus,
    ReadyChange, Severity,
};
use crate::case::Category;
use crate::facts::{Lookup, NodeState, ReadyTransition, Remaining, Timestamp, WorkloadKind};
use crate::message::text;
use crate::reconcile;
use crate::reconcile::{DiagnosisKey, Object, Plan, Record, node_and_workload};
use crate::rules;
use crate::rules::node::{Flapping, NodeFinding};
use crate::state::cluster::lookups;
use crate::state::{Decision, Source, World, earliest};

/// Most changes of the Ready condition in a diagnosis.
const HISTORY: usize = 10;
/// Most affected workloads in a diagnosis.
const AFFECTED: usize = 15;
/// Most missing `DaemonSets` in a diagnosis.
const DAEMON_SETS: usize = 10;

pub(in crate::state) fn decide(world: &mut World, name: &Arc<str>, now: Timestamp) -> Decision {
    let mut plan = plan_for_node(world, name, now);
    let mut needed_lookups = Vec::new();
    // A node that is not ready explains the failure of its pods, but their watch events may never come. The facts
    // of pods with a slim entry are therefore read once.
    let lookup = Lookup::PodsOn(name.clone());
    let is_down = world.cluster.nodes.get(name).is_some_and(|node| !node.facts.is_ready());
    if is_down && world.cluster.pods.any_slim_on(name) {
        match world.cluster.lookups.next(&lookup, now, now) {
            lookups::Next::Now => needed_lookups.push(lookup),
            lookups::Next::At(at) => plan.wake = earliest(plan.wake, Some(at)),
        }
    } else {
        world.cluster.lookups.withdraw(&lookup);
    }
    Decision { plan, needed_lookups, ..Decision::default() }
}

fn plan_for_node(world: &mut World, name: &Arc<str>, now: Timestamp) -> Plan {
    let key = DiagnosisKey::of_node(name);
    if !world.cluster.is_listed(Source::Objects(DiagnosisKind::Node)) || !world.cluster.is_listed(Source::Nodes) {
        return Plan::default();
    }
    if world.reported.node_records.is_writing(&key.object) {
        return Plan { intent: None, wake: Some(crate::facts::after(now, 1)) };
    }
    if let Some(plan) = world.reported.node_records.overdue(&key.object, world.settings.policy.language, now) {
        return plan;
    }
    let remaining = remaining(world, name).map(Box::new);
    world.cluster.nodes.remain(name, remaining);
    let judged = world.cluster.nodes.judged(name, &world.settings.thresholds, now);
    let last = world.reported.node_records.get(&key.object);
    let Some((node, judged)) = world.cluster.nodes.get(name).zip(judged) else {
        return reconcile::gone(last.as_ref(), &world.settings.policy, now);
    };
    let mut plan = match judged.failure {
        Some(found)
            if world.cluster.overrides.is_ignored(found.cause)
                || rules::is_ignored(found.cause, "", Some(&node.facts.labels)) =>
        {
            node_and_workload::ignored(last.as_ref(), &world.settings.policy, now)
        }
        // A note, such as of a cordon, does not keep a failure active that is over.
        Some(found) if found.severity == Severity::Info && last.as_ref().is_some_and(is_failure) => {
            let plan = node_and_workload::recovered(last.as_ref(), set_recovered, true, &world.settings.policy, now);
            Plan { wake: earliest(plan.wake, Some(crate::facts::after(now, 1))), ..plan }
        }
        Some(found) => {
            let quiet = found.quiet;
            let is_back = found.ready.is_some_and(|ready| ready.ready_now);
            let spec = NodeDiagnosisSpec { node_name: name.to_string(), node_uid: node.facts.uid.to_string() };
            let mut status = status_of(node, found);
            status.other_findings = judged.others;
            fill_affected(world, name, is_back, &mut status);
            // Each outage gets an Event. Frequent outages become one flapping incident with one Event.
            let failing = node_and_workload::Failing {
                object: Object::Node(spec, status),
                exceeded: String::new(),
                operation: None,
                quiet,
                is_rise_reported: false,
                same_failure_quiet: 0,
            };
            node_and_workload::failing(&key, last.as_ref(), failing, &world.settings.policy, now)
        }
        None => node_and_workload::recovered(last.as_ref(), set_recovered, true, &world.settings.policy, now),
    };
    plan.wake = earliest(plan.wake, judged.wake);
    plan
}

/// Whether the diagnosis reports a present failure, and not only a note.
fn is_failure(record: &Record) -> bool {
    record.is_active() && record.object.head().severity != Severity::Info
}

/// The pods on a node that leaves service, and a budget that keeps one of them there.
fn remaining(world: &World, name: &Arc<str>) -> Option<Remaining> {
    world.cluster.nodes.get(name).filter(|node| node.facts.is_leaving())?;
    let mut remaining = Remaining::default();
    for place in world.cluster.pods.places_on(name).filter(|place| !place.over) {
        let is_evicted = match &place.siblings_of_workload.workload {
            Some(workload) => *workload.kind != *WorkloadKind::DaemonSet.as_str(),
            // The name of a pod that a kubelet reads from a manifest ends with that of its node.
            None => !place.key().name.ends_with(&**name),
        };
        remaining.pods += u32::from(is_evicted);
        remaining.ending += u32::from(is_evicted && place.deleting);
    }
    if let Some((budget, pod)) = world.cluster.network.blocked_on(name) {
        remaining.budget = budget.to_string();
        remaining.blocked = pod.to_string();
    }
    Some(remaining)
}

/// Fills in the affected pods. `is_back`: the node is flapping but currently Ready, so only pods that are not Ready
/// yet count.
fn fill_affected(world: &World, name: &Arc<str>, is_back: bool, status: &mut NodeDiagnosisStatus) {
    let is_down = world.cluster.nodes.get(name).is_some_and(|node| !node.facts.is_ready());
    let mut by_workload: BTreeMap<(String, String), u32> = BTreeMap::new();
    for place in world.cluster.pods.places_on(name).filter(|place| !place.over) {
        if !is_down && ((is_back && place.ready) || !world.reported.is_affected_by(name, &place.key())) {
            continue;
        }
        let workload = place
            .siblings_of_workload
            .workload
            .as_ref()
            .map_or_else(|| format!("Pod/{}", place.key().name), ToString::to_string);
        *by_workload.entry((place.siblings_of_workload.namespace.to_string(), workload)).or_default() += 1;
    }
    status.pods = by_workload.values().sum();
    let mut affected: Vec<AffectedWorkload> = by_workload
        .into_iter()
        .map(|((namespace, workload), pods)| AffectedWorkload { namespace, workload, pods })
        .collect();
    affected.sort_by_key(|workload| std::cmp::Reverse(workload.pods));
    status.affected_beside = u32::try_from(affected.len().saturating_sub(AFFECTED)).unwrap_or(u32::MAX);
    affected.truncate(AFFECTED);
    status.affected = affected;
    status.daemon_sets_missing = world.cluster.daemon_sets_missing(name);
    status.daemon_sets_missing.truncate(DAEMON_SETS);
}

fn status_of(node: &NodeState, found: NodeFinding) -> NodeDiagnosisStatus {
    let present = node.facts.condition("Ready").map_or("", |ready| ready.message.as_str());
    let complaint = node
        .last_kubelet_complaint
        .as_ref()
        .filter(|(at, message)| found.since.is_none_or(|since| *at >= since) && message != present);
    let last_words =
        complaint.map(|(at, message)| LastWords { time: Some(*at), message: text::line(message, text::EVIDENCE_MAX) });
    let kept = node.ready_history.len().saturating_sub(HISTORY);
    NodeDiagnosisStatus {
        head: Head {
            remedies: found.remedies.into_iter().map(Into::into).collect(),
            evidence: found.evidence,
            first_seen: found.since,
            ..Head::active(found.cause, Category::Node.as_str(), found.severity, found.confidence, found.summary)
        },
        other_findings: Vec::new(),
        last_words,
        flapping: found.ready.and_then(|ready| ready.flapping).map(report),
        ready_history: node.ready_history.iter().skip(kept).map(change).collect(),
        pods: 0,
        affected: Vec::new(),
        affected_beside: 0,
        daemon_sets_missing: Vec::new(),
    }
}

/// Updates the status of a node that recovered. Its cause and history stay.
fn set_recovered(object: &mut Object) {
    let Object::Node(_, status) = object else { return };
    "it is Ready and has no other problem".clone_into(&mut status.head.summary);
    status.head.remedies.clear();
    (status.pods, status.affected_beside) = (0, 0);
    status.affected.clear();
    status.daemon_sets_missing.clear();
}

fn report(flapping: Flapping) -> FlappingReport {
    let window = text::duration(flapping.window);
    FlappingReport {
        changes: u32::try_from(flapping.transitions).unwrap_or(u32::MAX),
        window_seconds: u32::try_from(flapping.window).unwrap_or(0),
        display: format!("{} in {window}", flapping.transitions),
    }
}

fn change(transition: &ReadyTransition) -> ReadyChange {
    ReadyChange {
        time: transition.at,
        status: text::line(&transition.status, 20),
        reason: text::line(&transition.reason, 100),
        message: if transition.status == "True" { String::new() } else { text::line(&transition.message, 160) },
    }
}

/// The history of the Ready condition, restored from the node's diagnosis after a restart of the operator.
pub(in crate::state) fn history_of(status: &NodeDiagnosisStatus) -> Vec<ReadyTransition> {
    let kept = status.ready_history.iter().map(|change| ReadyTransition {
        at: change.time,
        status: change.status.clone(),
        reason: change.reason.clone(),
        message: change.message.clone(),
    });
    kept.collect()
}
