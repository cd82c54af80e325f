//! What ended the failure of a workload, as far as the watched data and the lookups of the failure show it.

use crate::api::{EndedBy, WorkloadDiagnosisStatus};
use crate::case::{Category, RootKind};
use crate::facts::{ObjectKey, OwnFacts, Timestamp, WorkloadFacts, WorkloadKey};
use crate::reconcile::past_failures::Ending;
use crate::rules::node;
use crate::state::World;

/// What ended the failure that `status` describes. `facts` has the ReplicaSets and revisions of the last lookup, which may
/// be from before the change.
pub(super) fn of(
    world: &World,
    key: &WorkloadKey,
    facts: Option<&WorkloadFacts>,
    status: &WorkloadDiagnosisStatus,
    now: Timestamp,
) -> Ending {
    facts
        .and_then(|facts| of_desired_state(key, facts, status).or_else(|| of_template(world, key, facts, status)))
        .or_else(|| of_surroundings(world, key, status, now))
        .unwrap_or_default()
}

fn ended_by(by: EndedBy) -> Ending {
    Ending { by, ..Ending::default() }
}

/// The workload has no desired pods, or a later run has succeeded.
fn of_desired_state(key: &WorkloadKey, facts: &WorkloadFacts, status: &WorkloadDiagnosisStatus) -> Option<Ending> {
    let has_succeeded = facts.last_successful.is_some_and(|at| Some(at) >= status.head.first_seen);
    let by = if facts.suspended {
        EndedBy::Suspended
    } else if super::has_no_desired_pods(key, facts) {
        EndedBy::ScaledToZero
    } else if has_succeeded {
        EndedBy::RunSucceeded
    } else {
        return None;
    };
    Some(ended_by(by))
}

/// A template of a workload: a ReplicaSet or a ControllerRevision.
#[derive(Debug, Clone, Copy)]
struct Template {
    revision: i64,
    /// The revision that it had before it was rolled back to.
    former: Option<i64>,
    created: Option<Timestamp>,
}

/// The pods have another template than those that failed.
fn of_template(
    world: &World,
    key: &WorkloadKey,
    facts: &WorkloadFacts,
    status: &WorkloadDiagnosisStatus,
) -> Option<Ending> {
    // Otherwise pods of the failed template may be on their way.
    if !facts.is_settled() {
        return None;
    }
    let is_of_this_failure = |last: Option<Timestamp>| last >= status.head.first_seen;
    let failed: Vec<&str> = status
        .templates
        .iter()
        .filter(|ledger| is_of_this_failure(ledger.last_failure))
        .map(|ledger| ledger.template.as_str())
        .collect();
    if failed.is_empty() {
        return None;
    }
    let is_failed = |name: &str| failed.contains(&name);
    let of_failed = failed.iter().filter_map(|name| template(facts, name));
    let failed_revision = of_failed.clone().map(|of| of.revision).max();
    let failed_created = of_failed.filter_map(|of| of.created).min();
    let (new, newest) = match &facts.own {
        OwnFacts::None if &*key.kind == "Deployment" => {
            let ready = world.cluster.workloads.ready_by_owner(key)?;
            if ready.iter().any(|(name, _)| is_failed(name)) {
                return None;
            }
            let (name, _) = ready.into_iter().max_by_key(|(_, ready)| *ready)?;
            (template(facts, &name), facts.revision)
        }
        OwnFacts::StatefulSet(set) => {
            if set.update_revision.is_empty() || failed.iter().any(|name| set.is_update(name)) {
                return None;
            }
            (template(facts, &set.update_revision), None)
        }
        OwnFacts::DaemonSet(_) => {
            let newest = facts.revisions.first()?;
            if failed.iter().any(|name| newest.is_called(name)) {
                return None;
            }
            (template(facts, &newest.name), None)
        }
        _ => return None,
    };
    let has_lower_revision =
        |new: Template| new.revision > 0 && failed_revision.is_some_and(|failed| new.revision < failed);
    let is_older = |new: Template| new.created.zip(failed_created).is_some_and(|(new, failed)| new < failed);
    Some(match new {
        // The lookup is from before the change.
        Some(new) if has_lower_revision(new) => {
            Ending { by: EndedBy::Rollback, revision: Some(new.revision), object: None }
        }
        Some(new) if is_older(new) || new.former.is_some() => {
            Ending { by: EndedBy::Rollback, revision: new.former, object: None }
        }
        new => {
            let revision = newest.or(new.map(|new| new.revision)).filter(|revision| *revision > 0);
            Ending { by: EndedBy::Rollout, revision, object: None }
        }
    })
}

/// A template by the name of its ReplicaSet or by its `controller-revision-hash`.
fn template(facts: &WorkloadFacts, name: &str) -> Option<Template> {
    let sets = facts.replica_sets.iter().filter(|set| *set.name == *name).map(|set| Template {
        revision: set.revision,
        former: set.former_revision,
        created: set.created,
    });
    let revisions = facts.revisions.iter().filter(|of| of.is_called(name)).map(|of| Template {
        revision: of.revision,
        former: None,
        created: of.created,
    });
    sets.chain(revisions).next()
}

/// The node, the object that was missing, or the pods.
fn of_surroundings(
    world: &World,
    key: &WorkloadKey,
    status: &WorkloadDiagnosisStatus,
    now: Timestamp,
) -> Option<Ending> {
    let root = status.root.as_ref().map(|reach| &reach.root);
    let of_kind = |kinds: &[RootKind]| root.filter(|root| kinds.iter().any(|kind| root.kind == kind.as_str()));
    let is_of_node = status.head.category == Category::Node.as_str();
    let node = of_kind(&[RootKind::Node]).filter(|_| is_of_node);
    let (remaining, replaced) = failed_pods(world, key, status);
    if remaining == 0 {
        let ending = Ending { by: EndedBy::PodsReplaced, revision: None, object: node.cloned() };
        return Some(ending).filter(|_| replaced > 0);
    }
    if let Some(node) = node {
        let is_down = |of| node::is_down(of, &world.settings.thresholds, now);
        let is_healthy = world.cluster.nodes.get(&node.name).is_some_and(|of| !is_down(of));
        let ending = Ending { by: EndedBy::NodeRecovered, revision: None, object: Some(node.clone()) };
        return Some(ending).filter(|_| is_healthy);
    }
    // A pod that remains refers to the same objects, so what it lacked is there now.
    let referenced = of_kind(&[RootKind::ConfigMap, RootKind::Secret, RootKind::RuntimeClass]);
    let is_of_image = status.head.category == Category::Image.as_str();
    Some(match referenced.filter(|_| !is_of_image) {
        Some(root) => Ending { by: EndedBy::ObjectChanged, revision: None, object: Some(root.clone()) },
        None => ended_by(EndedBy::PodsRecovered),
    })
}

/// How many of the sample pods remain, and how many were deleted or replaced.
fn failed_pods(world: &World, key: &WorkloadKey, status: &WorkloadDiagnosisStatus) -> (usize, usize) {
    let names = status.causes.iter().flat_map(|of| &of.sample_pods);
    let keys = names.map(|name| ObjectKey::new(key.namespace.clone(), name.as_str()));
    let uids = keys.filter_map(|key| Some(&world.reported.pod_records.summary_entry(&key)?.subject_uid));
    let is_there = |uid: &str| world.cluster.pods.place(uid).is_some_and(|place| !place.deleting && !place.over);
    let (there, gone): (Vec<_>, Vec<_>) = uids.partition(|uid| is_there(uid));
    (there.len(), gone.len())
}
