//! Deployments and other replica controllers: stuck rollouts and missing pods.

use super::creation::{self, Creation};
use super::failure::{Own, Verdict, Why, build_failure};
use super::pods::{Pods, count, is_of_update};
use super::{known, remedies, template};
use crate::case::{Category, FailingPod, WorkloadCase, WorkloadJudged, evidence};
use crate::facts::{ReplicaSetFacts, Timestamp, after};
use crate::language::{phrase, translate};
use crate::signals::rollout::Rollout;

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let workload = case.workload;
    if workload.desired <= 0 {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    let rejection = match creation::find(case, |_| false) {
        // All pods exist, so earlier rejections do not matter.
        _ if workload.is_settled() => None,
        Creation::NotBefore(at) if pods.failing.is_empty() => return WorkloadJudged::later(at),
        Creation::Accepted | Creation::NotBefore(_) => None,
        Creation::Rejected(own) => Some(own),
    };
    let verdict = stuck(case, &pods, rejection).map_or_else(|rejection| short(case, &pods, rejection), Some);
    let until = verdict.as_ref().and_then(|verdict| pod_deadline(case, verdict));
    match (verdict, until) {
        (Some(_), Some(until)) => WorkloadJudged::later(until),
        (Some(verdict), None) => WorkloadJudged::failing(build_failure(case, &pods, verdict)),
        (None, _) => WorkloadJudged::default(),
    }
}

/// Seconds until the pods of a node that is down are checked again. The node has its own diagnosis.
const NODE_RECHECK: i64 = 600;

/// Time until which a pod may still show why a rollout makes no progress: a pod that is judged soon, or one that only
/// its node keeps from being ready. A snapshot does not change, unless a longer threshold is set for the pods.
fn pod_deadline(case: &WorkloadCase<'_>, verdict: &Verdict<'_>) -> Option<Timestamp> {
    let is_unexplained = matches!(&verdict.why, Why::Own(own) if known::is_of_rollout(own.cause));
    let is_asked = case.workload.overrides.as_ref().is_some_and(|overrides| overrides.never_ready.is_some());
    if !is_unexplained || !(case.thresholds.patient || is_asked) {
        return None;
    }
    let of_node = |pod: &FailingPod| pod.category == Category::Node && is_of_update(case, pod);
    let of_node = case.failing.iter().any(of_node).then(|| after(case.now, NODE_RECHECK));
    case.undecided.or(of_node)
}

/// A rollout that makes no progress while older pods exist. Otherwise returns `rejection` unchanged.
fn stuck<'a>(
    case: &WorkloadCase<'a>,
    pods: &Pods<'a>,
    rejection: Option<Box<Own>>,
) -> Result<Verdict<'a>, Option<Box<Own>>> {
    let workload = case.workload;
    let desired = count(workload.desired);
    let older = workload.replica_sets.iter().skip(1).any(|set| set.desired > 0 || set.ready > 0) || pods.old_ready > 0;
    if workload.paused || !older || pods.updated_ready >= desired || workload.is_settled() {
        return Err(rejection);
    }
    let group = pods.among(|pod| is_of_update(case, pod)).dominant(|_| true);
    let why = match (group, rejection) {
        // A node that is down has its own diagnosis; the earlier rejection still applies.
        (Some(group), Some(rejection)) if group.is_of_node() => Why::Own(rejection),
        (Some(group), _) => Why::Pods(group),
        (None, Some(rejection)) => Why::Own(rejection),
        (None, None) => match deadline_exceeded(case) {
            Some(own) => Why::Own(own),
            None => return Err(None),
        },
    };
    let stands = match (pods.old_ready, pods.updated_ready) {
        (0, 0) if pods.down > 0 => phrase!(
            case,
            "the rollout is stuck, and the old pods are down with their node",
            "ロールアウトが止まり、古い Pod もノードとともに停止"
        )
        .to_owned(),
        (0, 0) => {
            phrase!(case, "the rollout is stuck and no pod is ready", "ロールアウトが止まり、Ready な Pod がない")
                .to_owned()
        }
        (0, ready) => translate!(
            case,
            "the rollout is stuck with {ready} of {desired} new pods ready",
            "ロールアウトが止まり、新しい Pod は {desired} 中 {ready} が Ready",
            ready,
            desired
        ),
        (1, _) => phrase!(
            case,
            "the rollout is stuck, 1 old pod still serves",
            "ロールアウトが止まり、古い Pod 1 個がまだ稼働"
        )
        .to_owned(),
        (old, _) => translate!(
            case,
            "the rollout is stuck, {old} old pods still serve",
            "ロールアウトが止まり、古い Pod {old} 個がまだ稼働",
            old
        ),
    };
    let mut verdict = Verdict::new("RolloutStuck", pods.severity(case), stands, why);
    add_rollback(case, &mut verdict);
    Ok(verdict)
}

/// Fewer pods are ready than desired.
fn short<'a>(case: &WorkloadCase<'a>, pods: &Pods<'a>, rejection: Option<Box<Own>>) -> Option<Verdict<'a>> {
    let workload = case.workload;
    let group = pods.dominant(|pod| is_of_update(case, pod));
    let (why, (problem, stands)) = if let Some(group) = group.filter(|g| rejection.is_none() || !g.is_of_node()) {
        (Why::Pods(group), pods.standing(case.language(), count(workload.desired)))
    } else {
        let own =
            rejection.or_else(|| deadline_exceeded(case).filter(|_| !workload.paused && !workload.is_settled()))?;
        (Why::Own(own), pods.lacking(case.language(), workload))
    };
    let mut verdict = Verdict::new(problem, pods.severity(case), stands, why);
    add_rollback(case, &mut verdict);
    Some(verdict)
}

/// Causes of pods that wait for a place which another pod of the workload may occupy, or which is closed for all.
const PLACEMENT_CAUSES: [&str; 5] =
    ["HostPortConflict", "PodAntiAffinityConflict", "ExistingAntiAffinityConflict", "NodesUnschedulable", "RwopInUse"];

/// Adds the changes of the newest template and the rollback to a good one.
fn add_rollback(case: &WorkloadCase<'_>, verdict: &mut Verdict<'_>) {
    let Some((newest, older)) = case.workload.replica_sets.split_first() else { return };
    let good =
        last_good(case, older).or_else(|| case.workload.served_before_newest().filter(|set| is_unblamed(case, set)));
    let Some(back) = good.or_else(|| before(case, older)) else { return };
    if !verdict.why.blames_newest(case) {
        return;
    }
    verdict.changes = template::between(back.template.as_deref(), newest.template.as_deref());
    // Rolling back does not help if the templates are equal or if only the number of replicas is the problem.
    if verdict.changes.is_empty() && back.ready == 0 {
        return;
    }
    let undo = match good {
        Some(good) => Some(remedies::undo(case, good.revision, good.ready > 0)),
        None => remedies::revisions(case),
    };
    // The template is not the cause if a pod of the old template occupies the place, or if that pod would not find one
    // either.
    let waits_for_place = matches!(&verdict.why, Why::Pods(group) if PLACEMENT_CAUSES.contains(&&*group.lead.cause));
    let lacks_room = is_quota_exceeded(verdict) && !requests_differ(back, newest);
    let is_doubtful = good.is_none() || waits_for_place || lacks_room;
    let place = if is_doubtful { &mut verdict.after } else { &mut verdict.remedies };
    place.extend(undo);
}

fn is_quota_exceeded(verdict: &Verdict<'_>) -> bool {
    matches!(&verdict.why, Why::Own(own) if own.cause == "QuotaExceeded")
}

fn requests_differ(before: &ReplicaSetFacts, after: &ReplicaSetFacts) -> bool {
    let templates = before.template.as_deref().zip(after.template.as_deref());
    templates.is_some_and(|(before, after)| template::requests_differ(before, after))
}

impl WorkloadCase<'_> {
    /// Whether a rollout creates pods beside old ones that still serve, with equal requests.
    pub(crate) fn surges_alike(&self) -> bool {
        let Some((newest, older)) = self.workload.replica_sets.split_first() else { return false };
        last_good(self, older).is_some_and(|back| {
            let changes = template::between(back.template.as_deref(), newest.template.as_deref());
            (!changes.is_empty() || back.ready > 0) && !requests_differ(back, newest)
        })
    }
}

/// The newest older template whose pods are known to have been ready: they are Ready now, or only their node is down.
/// The existence of pods proves nothing, because a rollout also keeps unready pods if too few would remain.
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

/// The template before the newest, unless it is known to be bad: its pods have failed, or the Deployment was
/// unavailable when the newest was created.
fn before<'a>(case: &WorkloadCase<'_>, older: &'a [ReplicaSetFacts]) -> Option<&'a ReplicaSetFacts> {
    let newest = case.workload.replica_sets.first();
    let was_unavailable = case.workload.condition("Available").is_some_and(|condition| {
        let since = condition.last_transition.zip(newest.and_then(|newest| newest.created));
        condition.status == "False" && since.is_some_and(|(since, created)| since < created)
    });
    older.first().filter(|set| !was_unavailable && is_unblamed(case, set))
}

/// Whether no failure of this template is known.
fn is_unblamed(case: &WorkloadCase<'_>, set: &ReplicaSetFacts) -> bool {
    !fails(case, set) && case.failed.iter().all(|template| **template != *set.name)
}

/// Whether pods of this template fail for reasons other than their node.
fn fails(case: &WorkloadCase<'_>, set: &ReplicaSetFacts) -> bool {
    let of_itself = |pod: &FailingPod| pod.template.as_ref() == Some(&set.name) && pod.category != Category::Node;
    case.failing.iter().any(of_itself)
}

/// The Deployment has exceeded its progress deadline and no pod shows the reason.
fn deadline_exceeded(case: &WorkloadCase<'_>) -> Option<Box<Own>> {
    if !case.workload.has_given_up() {
        return None;
    }
    let gates = (!case.gates.is_empty()).then(|| evidence::field("pod/spec.schedulingGates", case.gates.join(", ")));
    Own::of(case, &Rollout { case }, gates.into_iter().collect())
}
