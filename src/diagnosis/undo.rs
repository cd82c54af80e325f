//! The way back to a template that was good. Without a revision, `kubectl rollout undo` goes back by one, wherever that
//! leads: here it is never said without.

use std::fmt::Display;

use super::{Case, remedy, target};
use crate::api::Remedy;
use crate::diagnosis::language::say;
use crate::facts::{OwnFacts, StatefulSetFacts, WorkloadFacts};

fn rollout(workload: &WorkloadFacts, verb: &str) -> String {
    let key = &workload.key;
    format!("kubectl -n {} rollout {verb} {}/{}", key.namespace, key.kind.to_ascii_lowercase(), key.name)
}

/// Lets a rollout go on that is paused.
pub(super) fn resume(workload: &WorkloadFacts) -> String {
    rollout(workload, "resume")
}

/// Goes back to this revision. A rollout that is paused must go on for that.
pub(super) fn command(workload: &WorkloadFacts, revision: impl Display) -> String {
    let undo = format!("{} --to-revision={revision}", rollout(workload, "undo"));
    if workload.paused { format!("{} && {undo}", resume(workload)) } else { undo }
}

/// The same for a StatefulSet, whose status tells revisions by their names.
pub(super) fn command_by_name(workload: &WorkloadFacts, revision: &str) -> String {
    let number = format!(
        "$(kubectl -n {} get controllerrevision {revision} -o jsonpath='{{.revision}}')",
        workload.key.namespace
    );
    command(workload, number)
}

/// Whether this is about a way back.
pub(super) fn is_one(remedy: &Remedy) -> bool {
    let is = |command: &str| command.contains(" rollout undo ") || command.contains(" rollout history ");
    remedy.command.as_deref().is_some_and(is)
}

/// What the template of a pod may go back to.
enum Back {
    Nowhere,
    /// Its name, and the command.
    To(String, String),
    /// There may be a good one.
    Unknown,
}

/// Go back, for the reason that `text` begins with, as far as a pod knows where to.
pub(super) fn of_pod(case: &Case<'_>, text: &str) -> Option<Remedy> {
    let target = target::of(case);
    let history = target.history_command()?;
    let back = case.surroundings.known_workload().map_or(Back::Unknown, |workload| back(case, workload));
    match back {
        Back::Nowhere => None,
        Back::To(revision, command) => {
            let text = say!(case, "{text} go back to revision {revision}.", text, revision);
            Some(remedy::command(target.with_source(remedy::mitigate(text)), command))
        }
        Back::Unknown => {
            let text = say!(case, "{text} go back to a revision that worked (rollout undo --to-revision=N).", text);
            Some(remedy::command(target.with_source(remedy::mitigate(text)), history))
        }
    }
}

/// The same, where pods of an older template still serve and none of this one is ready.
pub(super) fn of_stuck_rollout(case: &Case<'_>) -> Option<Remedy> {
    let siblings = &case.surroundings.siblings;
    if siblings.other_template_ready == 0 || siblings.same_template_ready > 0 {
        return None;
    }
    let rollout = target::of(case).display();
    of_pod(
        case,
        &say!(case, "The rollout of {rollout} is stuck on this, and pods of an older template still serve:", rollout),
    )
}

fn back(case: &Case<'_>, workload: &WorkloadFacts) -> Back {
    // What was never changed has one revision.
    let without_change = if workload.generation == 1 { Back::Nowhere } else { Back::Unknown };
    match (&*workload.key.kind, &workload.own) {
        ("Deployment", _) => of_deployment(case, workload),
        (_, OwnFacts::StatefulSet(set)) if set.is_updating() => of_update(case, workload, set),
        _ => without_change,
    }
}

fn of_deployment(case: &Case<'_>, workload: &WorkloadFacts) -> Back {
    let Some((newest, older)) = workload.replica_sets.split_first() else { return Back::Unknown };
    if older.is_empty() {
        return Back::Nowhere;
    }
    if case.pod.owner.as_ref().is_none_or(|owner| owner.name != newest.name) {
        return Back::Unknown;
    }
    // In a rollout, pods of an older template that are not well are the first to go.
    let good = older.iter().find(|set| set.ready > 0).or_else(|| older.iter().find(|set| set.desired > 0));
    good.map_or(Back::Unknown, |set| Back::To(set.revision.to_string(), command(workload, set.revision)))
}

fn of_update(case: &Case<'_>, workload: &WorkloadFacts, set: &StatefulSetFacts) -> Back {
    let is_new = case.pod.labels.get("controller-revision-hash").is_some_and(|hash| set.is_update(hash));
    if !is_new || case.surroundings.siblings.ready == 0 {
        return Back::Unknown;
    }
    Back::To(set.current_revision.clone(), command_by_name(workload, &set.current_revision))
}
