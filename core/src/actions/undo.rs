//! Rollbacks to a good template. `kubectl rollout undo` without a revision goes to the previous one, good or not, so
//! the commands here always state a revision.

use std::fmt::Display;

use crate::case::{Case, Operation, Remedy, remedy, target};
use crate::facts::{OwnFacts, StatefulSetFacts, WorkloadFacts};
use crate::language::translate;

fn rollout(workload: &WorkloadFacts, verb: &str) -> String {
    let key = &workload.key;
    format!("kubectl -n {} rollout {verb} {}/{}", key.namespace, key.kind.to_ascii_lowercase(), key.name)
}

/// The command that resumes a paused rollout.
pub(crate) fn resume(workload: &WorkloadFacts) -> String {
    rollout(workload, "resume")
}

/// The command that rolls back to this revision. A paused rollout is resumed for it.
pub(crate) fn command(workload: &WorkloadFacts, revision: impl Display) -> String {
    let undo = format!("{} --to-revision={revision}", rollout(workload, "undo"));
    if workload.paused { format!("{} && {undo}", resume(workload)) } else { undo }
}

/// Same as [`command`] for a StatefulSet, whose status lists revisions by name.
pub(crate) fn command_by_name(workload: &WorkloadFacts, revision: &str) -> String {
    let number = format!(
        "$(kubectl -n {} get controllerrevision {revision} -o jsonpath='{{.revision}}')",
        workload.key.namespace
    );
    command(workload, number)
}

/// Rollback target for the template of a pod.
enum RollbackTarget {
    Nowhere,
    /// Name of the revision, and the command.
    To(String, String),
    /// A good revision may exist.
    Unknown,
}

/// A remedy that rolls back for the reason that `text` begins with, as far as the target is known from the pod.
pub(super) fn of_pod(case: &Case<'_>, text: &str) -> Option<Remedy> {
    with_exactness(case, text).map(|(remedy, _)| remedy)
}

/// Same as [`of_pod`], and whether its command rolls back. If the revision must still be chosen, it lists the revisions.
fn with_exactness(case: &Case<'_>, text: &str) -> Option<(Remedy, bool)> {
    let target = target::of(case);
    let history = target.history_command()?;
    let back =
        case.surroundings.known_workload().map_or(RollbackTarget::Unknown, |workload| rollback_target(case, workload));
    let (text, command, is_exact) = match back {
        RollbackTarget::Nowhere => return None,
        RollbackTarget::To(revision, command) => {
            let text = translate!(
                case,
                "{text} go back to revision {revision}.",
                "{text}リビジョン {revision} に戻す。",
                text,
                revision
            );
            (text, command, true)
        }
        RollbackTarget::Unknown => {
            let text = translate!(
                case,
                "{text} go back to a revision that worked (rollout undo --to-revision=N).",
                "{text}正常だったリビジョンに戻す (rollout undo --to-revision=N)。",
                text
            );
            (text, history, false)
        }
    };
    Some((remedy::command_for(target.with_source(remedy::mitigate(text)), Operation::Rollback, command), is_exact))
}

/// Puts the rollback of a stuck rollout first, since it restores what users had, whatever the cause is. A rollback
/// whose revision must still be chosen comes after a first remedy that is a complete patch.
pub(crate) fn ahead_of(case: &Case<'_>, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let Some((rollback, is_exact)) = of_stuck_rollout(case) else { return remedies };
    remedies.retain(|remedy| remedy.operation != Operation::Rollback);
    let is_second = !is_exact && remedies.first().is_some_and(|first| first.patch.is_some());
    remedies.insert(usize::from(is_second), rollback);
    remedies
}

/// Same as [`of_pod`] for a stuck rollout: pods of an older template serve and none of this one is ready.
fn of_stuck_rollout(case: &Case<'_>) -> Option<(Remedy, bool)> {
    let siblings = &case.surroundings.siblings;
    if siblings.other_template_ready == 0 || siblings.same_template_ready > 0 {
        return None;
    }
    let rollout = target::of(case).display();
    with_exactness(
        case,
        &translate!(
            case,
            "The rollout of {rollout} is stuck on this, and pods of an older template still serve:",
            "{rollout} のロールアウトがこれで止まり、古いテンプレートの Pod がまだ稼働している:",
            rollout
        ),
    )
}

fn rollback_target(case: &Case<'_>, workload: &WorkloadFacts) -> RollbackTarget {
    // A workload that was never changed has only one revision.
    let without_change = if workload.generation == 1 { RollbackTarget::Nowhere } else { RollbackTarget::Unknown };
    match (&*workload.key.kind, &workload.own) {
        ("Deployment", _) => of_deployment(case, workload),
        (_, OwnFacts::StatefulSet(set)) if set.is_updating() => of_update(case, workload, set),
        _ => without_change,
    }
}

fn of_deployment(case: &Case<'_>, workload: &WorkloadFacts) -> RollbackTarget {
    let Some((newest, older)) = workload.replica_sets.split_first() else { return RollbackTarget::Unknown };
    if older.is_empty() {
        return RollbackTarget::Nowhere;
    }
    if case.pod.owner.as_ref().is_none_or(|owner| owner.name != newest.name) {
        return RollbackTarget::Unknown;
    }
    let ready = older.iter().find(|set| set.ready > 0);
    ready.or_else(|| workload.served_before_newest()).map_or(RollbackTarget::Unknown, |set| {
        RollbackTarget::To(set.revision.to_string(), command(workload, set.revision))
    })
}

fn of_update(case: &Case<'_>, workload: &WorkloadFacts, set: &StatefulSetFacts) -> RollbackTarget {
    let is_new = case.pod.labels.get("controller-revision-hash").is_some_and(|hash| set.is_update(hash));
    let has_been_ready = case.surroundings.siblings.other_template_ready > 0 || workload.has_completed_current(set);
    if !is_new || !has_been_ready {
        return RollbackTarget::Unknown;
    }
    RollbackTarget::To(set.current_revision.clone(), command_by_name(workload, &set.current_revision))
}
