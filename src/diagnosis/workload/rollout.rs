//! Deployments, and what keeps a number of pods alike: a rollout that is stuck, pods that are missing.

use super::case::{FailingPod, WorkloadCase, WorkloadJudged};
use super::creation::{self, Creation};
use super::pods::{Pods, count, is_of_update};
use super::tell::{Own, Verdict, Why, tell};
use super::{known, remedies, template};
use crate::api::TemplateChange;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::rollout::Rollout;
use crate::diagnosis::{Category, evidence};
use crate::facts::{ReplicaSetFacts, Timestamp, after};

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let workload = case.workload;
    if workload.desired <= 0 {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    let refused = match creation::look(case, |_| false) {
        // Whatever was refused once: all pods are there.
        _ if workload.is_settled() => None,
        Creation::NotBefore(at) if pods.failing.is_empty() => return WorkloadJudged::later(at),
        Creation::Well | Creation::NotBefore(_) => None,
        Creation::Refused(own) => Some(own),
    };
    let verdict = stuck(case, &pods, refused).map_or_else(|refused| short(case, &pods, refused), Some);
    let until = verdict.as_ref().and_then(|verdict| may_say(case, verdict));
    match (verdict, until) {
        (Some(_), Some(until)) => WorkloadJudged::later(until),
        (Some(verdict), None) => WorkloadJudged::failing(tell(case, &pods, verdict)),
        (None, _) => WorkloadJudged::default(),
    }
}

/// A node that is down tells of itself: its pods are looked at again so many seconds later.
const OF_NODE: i64 = 600;

/// Until when a pod may still say what a rollout lacks that made no progress: one that is soon to be judged, or that only its
/// node keeps from being ready. A snapshot says no more, unless its pods were meant to be given longer.
fn may_say(case: &WorkloadCase<'_>, verdict: &Verdict<'_>) -> Option<Timestamp> {
    let is_unexplained = matches!(&verdict.why, Why::Own(own) if known::is_of_rollout(own.cause));
    let is_asked = case.workload.wishes.as_ref().is_some_and(|wishes| wishes.never_ready.is_some());
    if !is_unexplained || !(case.thresholds.patient || is_asked) {
        return None;
    }
    let of_node = |pod: &FailingPod| pod.category == Category::Node && is_of_update(case, pod);
    let of_node = case.failing.iter().any(of_node).then(|| after(case.now, OF_NODE));
    case.undecided.or(of_node)
}

/// The rollout does not get on while older pods are still there; gives back what was refused where it is not so.
fn stuck<'a>(
    case: &WorkloadCase<'a>,
    pods: &Pods<'a>,
    refused: Option<Box<Own>>,
) -> Result<Verdict<'a>, Option<Box<Own>>> {
    let workload = case.workload;
    let desired = count(workload.desired);
    let older = workload.replica_sets.iter().skip(1).any(|set| set.desired > 0 || set.ready > 0) || pods.old_ready > 0;
    if workload.paused || !older || pods.updated_ready >= desired || workload.is_settled() {
        return Err(refused);
    }
    let group = pods.among(|pod| is_of_update(case, pod)).dominant(|_| true);
    let why = match (group, refused) {
        // A node that is down tells that itself; what was wrong before is still wrong.
        (Some(group), Some(refused)) if group.is_of_node() => Why::Own(refused),
        (Some(group), _) => Why::Pods(group),
        (None, Some(refused)) => Why::Own(refused),
        (None, None) => match deadline_exceeded(case) {
            Some(own) => Why::Own(own),
            None => return Err(None),
        },
    };
    let stands = match (pods.old_ready, pods.updated_ready) {
        (0, 0) if pods.down > 0 => {
            phrase!(case, "the rollout is stuck, and the old pods are down with their node").to_owned()
        }
        (0, 0) => phrase!(case, "the rollout is stuck and no pod is ready").to_owned(),
        (0, ready) => say!(case, "the rollout is stuck with {ready} of {desired} new pods ready", ready, desired),
        (1, _) => phrase!(case, "the rollout is stuck, 1 old pod still serves").to_owned(),
        (old, _) => say!(case, "the rollout is stuck, {old} old pods still serve", old),
    };
    let mut verdict = Verdict::new("RolloutStuck", pods.severity(case), stands, why);
    go_back(case, &mut verdict);
    Ok(verdict)
}

/// Fewer pods are ready than are asked for.
fn short<'a>(case: &WorkloadCase<'a>, pods: &Pods<'a>, refused: Option<Box<Own>>) -> Option<Verdict<'a>> {
    let workload = case.workload;
    let group = pods.dominant(|pod| is_of_update(case, pod));
    let (why, (problem, stands)) = if let Some(group) = group.filter(|g| refused.is_none() || !g.is_of_node()) {
        (Why::Pods(group), pods.standing(case.language(), count(workload.desired)))
    } else {
        let own = refused.or_else(|| deadline_exceeded(case).filter(|_| !workload.paused && !workload.is_settled()))?;
        (Why::Own(own), pods.lacking(case.language(), workload))
    };
    let mut verdict = Verdict::new(problem, pods.severity(case), stands, why);
    go_back(case, &mut verdict);
    Some(verdict)
}

/// Causes of pods that wait for a place which a pod of their own workload may have, or which is closed to all.
const FOR_A_PLACE: [&str; 4] =
    ["HostPortConflict", "PodAntiAffinityConflict", "ExistingAntiAffinityConflict", "NodesUnschedulable"];

/// What the newest template has otherwise, and how to go back to one that was good.
fn go_back(case: &WorkloadCase<'_>, verdict: &mut Verdict<'_>) {
    let Some((newest, older)) = case.workload.replica_sets.split_first() else { return };
    let good = last_good(case, older);
    let Some(back) = good.or_else(|| before(case, older)) else { return };
    if !verdict.why.blames_newest(case) {
        return;
    }
    verdict.changes = template::between(back.template.as_deref(), newest.template.as_deref());
    // A template that is the same, or that only the number of pods stands against, is no better the other way round.
    if verdict.changes.is_empty() && back.ready == 0 {
        return;
    }
    let undo = remedies::undo(case, back, good.is_some());
    // Where the newest template was good once, something else may have changed since.
    let was_complete = case.workload.condition("Progressing").is_some_and(|c| c.reason == "NewReplicaSetAvailable");
    // Where a pod of the old template has the place of the new one, or would find none either, no template is to blame.
    let waits_for_place = matches!(&verdict.why, Why::Pods(group) if FOR_A_PLACE.contains(&&*group.lead.cause));
    let lacks_room = has_no_room_for_one_more(verdict);
    let is_doubtful = (good.is_none() && was_complete) || waits_for_place || lacks_room;
    let place = if is_doubtful { &mut verdict.after } else { &mut verdict.remedies };
    place.push(undo);
}

/// Whether the new pods request as much as the old ones, and the quota has no room for both at once.
fn has_no_room_for_one_more(verdict: &Verdict<'_>) -> bool {
    matches!(&verdict.why, Why::Own(own) if own.cause == "QuotaExceeded") && !requests_differ(&verdict.changes)
}

fn requests_differ(changes: &[TemplateChange]) -> bool {
    changes.iter().any(|change| change.field.contains(".resources."))
}

impl WorkloadCase<'_> {
    /// Whether a rollout creates pods beside old ones that still serve, and the new pods request the same as the old.
    pub(crate) fn surges_alike(&self) -> bool {
        let Some((newest, older)) = self.workload.replica_sets.split_first() else { return false };
        last_good(self, older).is_some_and(|back| {
            let changes = template::between(back.template.as_deref(), newest.template.as_deref());
            (!changes.is_empty() || back.ready > 0) && !requests_differ(&changes)
        })
    }
}

/// The newest of the older templates whose pods are known to have been ready: they are now, or only their node is down. That a
/// rollout keeps pods proves nothing: it keeps those that never were ready too, where deleting them would leave too few.
fn last_good<'a>(case: &WorkloadCase<'_>, older: &'a [ReplicaSetFacts]) -> Option<&'a ReplicaSetFacts> {
    let ready = |set: &&ReplicaSetFacts| {
        case.ready.map_or(set.ready > 0, |seen| seen.iter().any(|(maker, ready)| *maker == set.name && *ready > 0))
    };
    let of_node = |pod: &FailingPod, set: &ReplicaSetFacts| {
        pod.template.as_ref() == Some(&set.name) && pod.category == Category::Node
    };
    let is_down = |set: &&ReplicaSetFacts| {
        set.desired > 0 && !fails(case, set) && case.failing.iter().any(|pod| of_node(pod, set))
    };
    older.iter().find(ready).or_else(|| older.iter().find(is_down))
}

/// The template before the newest, unless something is known against it: its pods have failed, or the Deployment was not
/// available when the newest was made, so that they were not ready.
fn before<'a>(case: &WorkloadCase<'_>, older: &'a [ReplicaSetFacts]) -> Option<&'a ReplicaSetFacts> {
    let has_failed = |set: &ReplicaSetFacts| case.failed.iter().any(|template| **template == *set.name);
    let newest = case.workload.replica_sets.first();
    let was_unavailable = case.workload.condition("Available").is_some_and(|condition| {
        let since = condition.last_transition.zip(newest.and_then(|newest| newest.created));
        condition.status == "False" && since.is_some_and(|(since, created)| since < created)
    });
    older.first().filter(|set| !was_unavailable && !fails(case, set) && !has_failed(set))
}

/// Whether pods of this template fail of themselves.
fn fails(case: &WorkloadCase<'_>, set: &ReplicaSetFacts) -> bool {
    let of_itself = |pod: &FailingPod| pod.template.as_ref() == Some(&set.name) && pod.category != Category::Node;
    case.failing.iter().any(of_itself)
}

/// The Deployment has exceeded its progress deadline, and no pod shows why.
fn deadline_exceeded(case: &WorkloadCase<'_>) -> Option<Box<Own>> {
    if !case.workload.has_given_up() {
        return None;
    }
    let gates = (!case.gates.is_empty()).then(|| evidence::field("pod/spec.schedulingGates", case.gates.join(", ")));
    Own::of(case, &Rollout { case }, gates.into_iter().collect()).map(|(_, own)| own)
}
