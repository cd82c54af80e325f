//! What is to be done for a node: its judgement, and who suffers there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::brief::Brief;
use super::{Decision, Source, World, earliest, lookups};
use crate::api::{
    AffectedWorkload, DiagnosisKind, FlappingReport, Head, LastWords, NodeDiagnosisSpec, NodeDiagnosisStatus,
    ReadyChange,
};
use crate::diagnosis::node::{Flapping, NodeFinding};
use crate::diagnosis::{Category, RootKind, text};
use crate::facts::{NodeState, ReadyTransition, Timestamp, Want};
use crate::plan::{DiagnosisKey, Outer, Plan, outer};

/// Changes of the Ready condition that an object tells.
const HISTORY: usize = 10;
/// Workloads that an object names.
const AFFECTED: usize = 15;
/// `DaemonSets` that an object names.
const DAEMON_SETS: usize = 10;

impl World {
    pub(super) fn decide_node(&mut self, name: &Arc<str>, now: Timestamp) -> Decision {
        let mut plan = self.plan_for_node(name, now);
        let mut wants = Vec::new();
        // A node that is not ready explains its pods, and no watch event may ever come of them: those of which only a few
        // words were kept are read once.
        let want = Want::PodsOn(name.clone());
        let is_down = self.nodes.get(name).is_some_and(|node| !node.facts.is_ready());
        if is_down && self.pods.any_slim_on(name) {
            match self.lookups.next(&want, now, now) {
                lookups::Next::Now => wants.push(want),
                lookups::Next::At(at) => plan.wake = earliest(plan.wake, Some(at)),
            }
        } else {
            self.lookups.withdraw(&want);
        }
        Decision { plan, wants, ..Decision::default() }
    }

    fn plan_for_node(&mut self, name: &Arc<str>, now: Timestamp) -> Plan {
        let key = DiagnosisKey::of_node(name);
        if !self.is_listed(Source::Objects(DiagnosisKind::Node)) || !self.is_listed(Source::Nodes) {
            return Plan::default();
        }
        if self.node_objects.is_writing(&key) {
            return Plan { intent: None, wake: Some(crate::facts::after(now, 1)) };
        }
        if let Some(plan) = self.node_objects.overdue(&key, self.policy.language, now) {
            return plan;
        }
        let judged = self.nodes.judged(name, &self.thresholds, now);
        let last = self.node_objects.get(&key);
        let Some((node, judged)) = self.nodes.get(name).zip(judged) else {
            return outer::gone(last.as_ref(), &self.policy, now);
        };
        let mut plan = match judged.failure {
            Some(found) if self.wishes.is_ignored(found.cause) => outer::unwanted(last.as_ref(), &self.policy, now),
            Some(found) => {
                let quiet = found.quiet;
                let is_back = found.ready.is_some_and(|ready| ready.ready_now);
                let spec = NodeDiagnosisSpec { node_name: name.to_string(), node_uid: node.facts.uid.to_string() };
                let mut status = status_of(node, found);
                status.other_findings = judged.others;
                self.tell_who_suffers(name, is_back, &mut status);
                // Each outage is told: where they come too often, the node is flapping, and that is told once.
                let failing = outer::Failing {
                    object: Outer::Node(spec, status),
                    quiet,
                    worse_is_told: false,
                    same_failure_quiet: 0,
                };
                outer::failing(&key, last.as_ref(), failing, &self.policy, now)
            }
            None => outer::over(last.as_ref(), tell_end, true, &self.policy, now),
        };
        plan.wake = earliest(plan.wake, judged.wake);
        plan
    }

    /// `is_back`: it flaps and is Ready at the moment, so that only pods suffer that are not Ready yet.
    fn tell_who_suffers(&self, name: &Arc<str>, is_back: bool, status: &mut NodeDiagnosisStatus) {
        let is_down = self.nodes.get(name).is_some_and(|node| !node.facts.is_ready());
        let mut by_workload: BTreeMap<(String, String), u32> = BTreeMap::new();
        for place in self.pods.places_on(name).filter(|place| !place.over) {
            if !is_down && ((is_back && place.ready) || !self.is_said_to_suffer_from(name, &place.key())) {
                continue;
            }
            let workload =
                place.kin.workload.as_ref().map_or_else(|| format!("Pod/{}", place.key().name), ToString::to_string);
            *by_workload.entry((place.kin.namespace.to_string(), workload)).or_default() += 1;
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
        status.daemon_sets_missing = self.daemon_sets_missing(name);
        status.daemon_sets_missing.truncate(DAEMON_SETS);
    }

    /// Whether the diagnosis of a pod there says that it fails of this node.
    fn is_said_to_suffer_from(&self, node: &str, pod: &crate::facts::ObjectKey) -> bool {
        self.records.brief(pod).and_then(suffers_from).is_some_and(|from| *from == *node)
    }

    /// `DaemonSets` that run on most of the other nodes and not on this one.
    fn daemon_sets_missing(&self, name: &Arc<str>) -> Vec<String> {
        let others = self.nodes.all().len().saturating_sub(1);
        if others == 0 {
            return Vec::new();
        }
        let here: Vec<_> = self.pods.places_on(name).filter_map(|place| place.kin.workload.as_ref()).collect();
        let most = |pods: u32| usize::try_from(pods).unwrap_or(0) * 2 > others;
        let everywhere = self.workloads.totals().filter(|(key, total)| &*key.kind == "DaemonSet" && most(*total));
        let missing = everywhere.filter(|(key, _)| !here.contains(key));
        let mut names: Vec<String> = missing.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect();
        names.sort();
        names
    }
}

/// The node of which a pod fails, as its diagnosis says.
pub(super) fn suffers_from(record: &Brief) -> Option<Arc<str>> {
    let root = record.root.as_ref().filter(|_| record.is_active())?;
    (root.kind == RootKind::Node.as_str()).then(|| root.name.as_str().into())
}

fn status_of(node: &NodeState, found: NodeFinding) -> NodeDiagnosisStatus {
    let present = node.facts.condition("Ready").map_or("", |ready| ready.message.as_str());
    let complaint = node
        .last_kubelet_complaint
        .as_ref()
        .filter(|(at, words)| found.since.is_none_or(|since| *at >= since) && words != present);
    let last_words =
        complaint.map(|(at, words)| LastWords { time: Some(*at), message: text::line(words, text::EVIDENCE_MAX) });
    let kept = node.ready_history.len().saturating_sub(HISTORY);
    NodeDiagnosisStatus {
        head: Head {
            remedies: found.remedies,
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

/// How a node that is well again stands now. What was wrong with it stays: its cause, and its history.
fn tell_end(object: &mut Outer) {
    let Outer::Node(_, status) = object else { return };
    "it is Ready, and nothing else is wrong with it".clone_into(&mut status.head.summary);
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

/// The history that an object kept over a restart of the operator.
pub(super) fn history_of(status: &NodeDiagnosisStatus) -> Vec<ReadyTransition> {
    let kept = status.ready_history.iter().map(|change| ReadyTransition {
        at: change.time,
        status: change.status.clone(),
        reason: change.reason.clone(),
        message: change.message.clone(),
    });
    kept.collect()
}
