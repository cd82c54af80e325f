//! Deployments, and what keeps a number of pods alike: a rollout that is stuck, pods that are missing.

use super::case::{WorkloadCase, WorkloadJudged};
use super::creation::{self, Creation};
use super::pods::{Pods, count, is_of_update};
use super::tell::{Own, Verdict, Why, tell};
use super::{known, remedies, template};
use crate::api::{Confidence, TemplateChange};
use crate::facts::{ReplicaSetFacts, WorkloadFacts};

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
    match stuck(case, &pods, refused).map_or_else(|refused| short(case, &pods, refused), Some) {
        Some(verdict) => WorkloadJudged::failing(tell(case, &pods, verdict)),
        None => WorkloadJudged::default(),
    }
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
        (0, 0) if pods.down > 0 => "the rollout is stuck, and the old pods are down with their node".to_owned(),
        (0, 0) => "the rollout is stuck and no pod is ready".to_owned(),
        (0, ready) => format!("the rollout is stuck with {ready} of {desired} new pods ready"),
        (1, _) => "the rollout is stuck, 1 old pod still serves".to_owned(),
        (old, _) => format!("the rollout is stuck, {old} old pods still serve"),
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
        (Why::Pods(group), pods.standing(count(workload.desired)))
    } else {
        let own = refused.or_else(|| deadline_exceeded(case).filter(|_| !workload.paused && !workload.is_settled()))?;
        (Why::Own(own), pods.lacking(workload))
    };
    let mut verdict = Verdict::new(problem, pods.severity(case), stands, why);
    go_back(case, &mut verdict);
    Some(verdict)
}

/// What the newest template has otherwise, and how to go back to the one before, where that one was good.
fn go_back(case: &WorkloadCase<'_>, verdict: &mut Verdict<'_>) {
    let Some((good, newest)) = last_good(case) else { return };
    let blames_newest = match &verdict.why {
        Why::Pods(group) => !group.is_of_node() && group.pods.iter().any(|pod| is_of_update(case, pod)),
        Why::Own(_) => true,
    };
    if !blames_newest {
        return;
    }
    verdict.changes = changes(good, newest);
    // A template that is the same, or that only the number of pods stands against, is no better the other way round.
    if !verdict.changes.is_empty() || good.ready > 0 {
        verdict.remedies.push(remedies::undo(case, good));
    }
}

/// The newest of the older templates that has ready pods, else the one before the newest, unless its pods fail as well; and
/// the newest.
fn last_good<'a>(case: &WorkloadCase<'a>) -> Option<(&'a ReplicaSetFacts, &'a ReplicaSetFacts)> {
    let (newest, older) = case.workload.replica_sets.split_first()?;
    let ready = |set: &&ReplicaSetFacts| {
        let seen = case.ready.iter().filter(|(maker, _)| *maker == set.name).map(|(_, ready)| *ready).sum::<u32>();
        seen > 0 || (case.ready.is_empty() && set.ready > 0)
    };
    let fails = |set: &ReplicaSetFacts| case.failing.iter().any(|pod| pod.template.as_ref() == Some(&set.name));
    let good = older.iter().find(ready).or_else(|| older.first().filter(|set| !fails(set)))?;
    Some((good, newest))
}

fn changes(good: &ReplicaSetFacts, newest: &ReplicaSetFacts) -> Vec<TemplateChange> {
    match (&good.template, &newest.template) {
        (Some(before), Some(after)) => template::changes(before, after),
        _ => Vec::new(),
    }
}

/// The Deployment has given up waiting, and no pod says why.
fn deadline_exceeded(case: &WorkloadCase<'_>) -> Option<Box<Own>> {
    let workload: &WorkloadFacts = case.workload;
    let condition = workload.condition("Progressing")?;
    if condition.status != "False" || condition.reason != "ProgressDeadlineExceeded" {
        return None;
    }
    let seconds = workload.progress_deadline.unwrap_or(600);
    Some(Box::new(Own {
        cause: known::PROGRESS_DEADLINE_EXCEEDED,
        confidence: Confidence::Likely,
        summary: format!("no progress for {seconds} s (progressDeadlineSeconds), and no pod says why"),
        remedies: remedies::no_progress(case),
        evidence: Vec::new(),
        root: None,
    }))
}
