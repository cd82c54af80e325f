//! Event aggregation: takes the Warning Event from a write where enough Events like it were emitted.

use crate::facts::route::NetworkKind;
use crate::facts::{Timestamp, WorkloadKey};
use crate::reconcile::{Intent, Object, Plan, Write};
use crate::state::World;
use crate::state::reported::event_aggregation::{Disposition, Group};

/// Removes the Warning Event from the write of a diagnosis if enough Events were emitted for the same cause of the pod's
/// workload, of its root, of the bare pods of its namespace, or of the paths of requests of its namespace. Returns whether
/// this is a newly aggregated Event.
pub(in crate::state) fn aggregate(world: &mut World, plan: &mut Plan, now: Timestamp) -> bool {
    let Some(Intent::Apply(write)) = &mut plan.intent else { return false };
    if write.announcement.as_ref().is_none_or(|announcement| !announcement.warning) {
        return false;
    }
    let groups = groups(write);
    if groups.is_empty() {
        return false;
    }
    let most = world.settings.policy.events_per_workload;
    // No Event of a workload reports the failures of these, so at least one of the namespace is emitted.
    let is_alone = |group: &Group| matches!(group, Group::Bare(..) | Group::Network(..));
    let most = if groups.iter().any(is_alone) { most.max(1) } else { most };
    let uid = write.object.subject_uid().to_owned();
    let transition = (uid.as_str(), write.object.head().transition);
    let aggregation = &mut world.reported.event_aggregation;
    let disposition = aggregation.aggregate(&groups, transition, most, now);
    if disposition == Disposition::Emitted {
        let is_last = |group: &&Group| is_alone(group) && aggregation.is_last(group, transition, most);
        if let (Some(last), Some(announcement)) = (groups.iter().find(is_last), write.announcement.as_mut()) {
            let is_of_pods = matches!(last, Group::Bare(..));
            announcement.note_that_others_are_suppressed(is_of_pods, world.settings.policy.language);
        }
        return false;
    }
    let before = world.reported.records(write.key.kind).summary_entry(&write.key.object);
    let announced = before.is_some_and(|record| record.is_active_of(&uid) && record.announced);
    write.announcement = None;
    let head = write.object.head_mut();
    head.event_owed = false;
    head.announced = announced;
    disposition == Disposition::Aggregated
}

/// The groups whose Events this one counts among. A workload with pods always has its own Event.
fn groups(write: &Write) -> Vec<Group> {
    let namespace = &write.key.object.namespace;
    match &write.object {
        Object::Pod(spec, status) => {
            let cause = || status.head.cause.clone();
            let workload = spec.workload.as_ref().map(|workload| WorkloadKey::of(workload, namespace));
            let own = match workload.filter(|key| key.watched_kind().is_some()) {
                Some(key) => Group::Workload(key, cause()),
                None => Group::Bare(namespace.clone(), cause()),
            };
            let of_root = status.root.clone().map(|root| Group::Root(namespace.clone(), root, cause()));
            std::iter::once(own).chain(of_root).collect()
        }
        Object::Workload(spec, status) => {
            let key = WorkloadKey::of(&spec.workload, namespace);
            let is_of_network = NetworkKind::of(&key).is_some();
            is_of_network.then(|| Group::Network(namespace.clone(), status.head.cause.clone())).into_iter().collect()
        }
        Object::Node(..) => Vec::new(),
    }
}
