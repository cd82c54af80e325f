//! StatefulSets: one failing pod can block all others.

use super::creation::{self, Creation};
use super::failure::{Verdict, Why, build_failure};
use super::pods::{Pods, count, is_of_update};
use super::{remedies, revisions};
use crate::case::{FailingPod, Operation, Remedy, WorkloadCase, WorkloadJudged};
use crate::facts::{EventFacts, OwnFacts, StatefulSetFacts};
use crate::language::{Language, translate};

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let workload = case.workload;
    let OwnFacts::StatefulSet(set) = &workload.own else { return WorkloadJudged::default() };
    if workload.desired <= 0 {
        return WorkloadJudged::default();
    }
    let pods = Pods::of(case);
    if let Some(group) = pods.dominant(|pod| is_of_update(case, pod)) {
        // The pod that blocks the others is not Ready, and its diagnosis must have the reported cause.
        let lead = group
            .pods
            .iter()
            .filter(|pod| !pod.ready)
            .filter_map(|pod| Some((workload.ordinal(&pod.name)?, *pod)))
            .min_by_key(|(at, _)| *at);
        let held = lead.and_then(|(at, pod)| held_up(case, set, at, pod));
        let (problem, stands) = match held {
            Some(stands) if set.ordered => ("BlockedOnOrdinal", stands),
            Some(stands) => ("RolloutStuck", stands),
            None => pods.standing(case.language(), count(workload.desired)),
        };
        let is_outdated = |pod: &&FailingPod| {
            pod.template.as_deref().is_some_and(|template| workload.is_newest(template) == Some(false))
        };
        let stands = if set.on_delete && group.pods.iter().all(is_outdated) {
            translate!(
                case,
                "{stands}, on an older template (updateStrategy OnDelete)",
                "{stands} (古いテンプレートのまま: updateStrategy OnDelete)",
                stands
            )
        } else {
            stands
        };
        let mut verdict = Verdict::new(problem, pods.severity(case), stands, Why::Pods(group));
        if set.is_updating() && verdict.why.blames_newest(case) {
            verdict.changes = revisions::changes(case, &set.current_revision, &set.update_revision);
        }
        if set.ordered
            && let Some((_, pod)) = lead
            && problem == "BlockedOnOrdinal"
        {
            if set.is_updating() && is_of_update(case, pod) {
                verdict.remedies.extend(rollback(case, &pods, set, pod));
            }
            // The cause is fixed first, and may be outside the template.
            let is_deleted = pod.remedies.iter().any(|remedy| remedy.operation == Operation::ReplacePod);
            if !set.on_delete && !is_deleted {
                verdict.after.push(remedies::replace(case, pod));
            }
        }
        if !set.ordered
            && set.is_updating()
            && pods.old_ready > 0
            && lead.is_some_and(|(_, pod)| is_of_update(case, pod))
        {
            verdict.remedies.push(remedies::undo_by_name(case, &set.current_revision));
        }
        return WorkloadJudged::failing(build_failure(case, &pods, verdict));
    }
    match creation::find(case, |event| is_of_missing_pod(case, set, event)) {
        Creation::Accepted => WorkloadJudged::default(),
        Creation::NotBefore(at) => WorkloadJudged::later(at),
        Creation::Rejected(own) => {
            let (problem, stands) = pods.lacking(case.language(), workload);
            let verdict = Verdict::new(problem, pods.severity(case), stands, Why::Own(own));
            WorkloadJudged::failing(build_failure(case, &pods, verdict))
        }
    }
}

/// Rollback to the revision whose pods still serve, or to the one that was complete, unless it is known to fail as well.
fn rollback(case: &WorkloadCase<'_>, pods: &Pods<'_>, set: &StatefulSetFacts, pod: &FailingPod) -> Option<Remedy> {
    let has_failed = case.failed.contains(&set.current_revision);
    if pods.old_ready > 0 || (!has_failed && case.workload.has_completed_current(set)) {
        return Some(remedies::undo_and_replace(case, &set.current_revision, pod));
    }
    if has_failed { None } else { remedies::revisions(case) }
}

/// The pods that wait for the pod with this ordinal: during creation, those above it; during an update, which goes from
/// the highest down, those below.
fn held_up(case: &WorkloadCase<'_>, set: &StatefulSetFacts, at: i64, pod: &FailingPod) -> Option<String> {
    let workload = case.workload;
    let name = &workload.key.name;
    let last = set.first_ordinal.saturating_add(workload.desired) - 1;
    if set.is_updating() && is_of_update(case, pod) {
        let lowest = set.first_ordinal.max(set.partition);
        return (at > lowest).then(|| {
            translate!(
                case,
                "{pod} fails, and {waiting} for the update",
                "{pod} が失敗し、{waiting} (更新待ち)",
                pod = pod.name,
                waiting = waiting(case.language(), name, lowest, at - 1)
            )
        });
    }
    let absent = workload.current < workload.desired && at < last && set.ordered;
    absent.then(|| {
        translate!(
            case,
            "{pod} fails, and {waiting} to be created",
            "{pod} が失敗し、{waiting} (作成待ち)",
            pod = pod.name,
            waiting = waiting(case.language(), name, at + 1, last)
        )
    })
}

fn waiting(language: Language, name: &str, from: i64, to: i64) -> String {
    if from == to {
        translate!(language, "{name}-{from} waits", "{name}-{from} が待っている", name, from)
    } else {
        translate!(
            language,
            "{name}-{from} to {name}-{to} wait",
            "{name}-{from} から {name}-{to} が待っている",
            name,
            from,
            to
        )
    }
}

/// `Create Pod db-1 in StatefulSet db failed error: ...`, and the same for a claim, `for Pod db-1 in StatefulSet`. If
/// the pod exists by now, the Event is out of date.
fn is_of_missing_pod(case: &WorkloadCase<'_>, set: &StatefulSetFacts, event: &EventFacts) -> bool {
    let workload = case.workload;
    if workload.current >= workload.desired {
        return false;
    }
    let mut words = event.message.split_whitespace();
    let named = words.by_ref().find(|word| *word == "Pod").and_then(|_| words.next());
    let at = named.and_then(|pod| workload.ordinal(pod));
    at.is_none_or(|at| !set.ordered || at >= set.first_ordinal.saturating_add(workload.current))
}
