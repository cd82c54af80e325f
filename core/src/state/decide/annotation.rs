//! Decides on the annotation of a pod or workload.

use std::sync::Arc;

use crate::api::DiagnosisKind;
use crate::facts::{ObjectKey, Timestamp, WorkloadKey};
use crate::reconcile::annotation::{Desired, Step, Written};
use crate::reconcile::{Annotation, Bearer, DiagnosisKey, Intent, Plan, Reference, annotation};
use crate::state::{Source, World};

pub(in crate::state) fn decide(world: &mut World, bearer: &Bearer, now: Timestamp) -> Plan {
    let standing = match bearer {
        Bearer::Pod(uid) => pod_to_annotate(world, uid),
        Bearer::Workload(key) => {
            let Some(kind) = key.watched_kind() else { return Plan::default() };
            let needed = [Source::Workloads(kind), Source::Objects(DiagnosisKind::Workload)];
            if !needed.into_iter().all(|source| world.cluster.is_listed(source)) {
                // All annotations are checked once these sources are listed.
                return Plan::default();
            }
            workload_to_annotate(world, key)
        }
    };
    let Some((object, reported)) = standing.filter(|_| world.reported.annotations.covers(bearer)) else {
        world.reported.annotations.forget(bearer);
        return Plan::default();
    };
    let known =
        world.reported.annotations.by_bearer.get(bearer).map(|known| known.standing.clone()).unwrap_or_default();
    let desired = reported.as_ref().map(|(cause, transition)| Desired { cause, transition: *transition });
    let transition = desired.map(|desired| desired.transition);
    match annotation::step(desired, &known, now) {
        Step::Nothing => Plan::default(),
        Step::Forget(from) if now < from => Plan { intent: None, wake: Some(from) },
        Step::Forget(_) => {
            world.reported.annotations.forget(bearer);
            Plan::default()
        }
        Step::Adopt => {
            let uid = object.uid.as_deref().unwrap_or_default().into();
            world.reported.annotations.wrote(bearer, &uid, Written { transition, at: Timestamp::UNIX_EPOCH });
            Plan::default()
        }
        Step::NotBefore(at) => Plan { intent: None, wake: Some(at) },
        Step::Write => {
            let closed = world.reported.suspension_end(&object.key.namespace, now);
            if let Some(until) = closed.max(world.reported.annotations.refused_until(&object, now)) {
                return Plan { intent: None, wake: Some(until) };
            }
            let text = desired.and_then(|_| annotation_text(world, bearer));
            let intent = Intent::Annotate(Box::new(Annotation { object, text, transition }));
            Plan { intent: Some(intent), wake: None }
        }
    }
}

/// The pod with the cause and transition of its diagnosis. Mirror pods are skipped: the kubelet owns them and
/// reverts their annotations.
fn pod_to_annotate(world: &World, uid: &Arc<str>) -> Option<(Reference, Option<(String, u32)>)> {
    let key = world.cluster.pods.place(uid).filter(|_| !world.cluster.pods.is_mirror(uid))?.key();
    let record = world.reported.pod_records.summary_entry(&key).filter(|record| record.is_active_of(uid));
    let reported = record.map(|record| (record.cause.to_string(), record.transition));
    Some((reference("v1", "Pod", key, uid), reported))
}

fn workload_to_annotate(world: &World, key: &WorkloadKey) -> Option<(Reference, Option<(String, u32)>)> {
    if world.cluster.gone_workloads.contains(key) {
        return None;
    }
    let object = DiagnosisKey::of_workload(key).object;
    let active =
        world.reported.workload_records.summary_entry(&object).filter(|summary_entry| summary_entry.is_active());
    let uid = match active {
        Some(active) => (&*active.subject_uid).into(),
        None => world.reported.annotations.by_bearer.get(&Bearer::Workload(key.clone()))?.uid.clone(),
    };
    let reported = active.map(|summary_entry| (summary_entry.cause.to_string(), summary_entry.transition));
    let name = ObjectKey { namespace: key.namespace.clone(), name: key.name.clone() };
    Some((reference(&key.api_version, &key.kind, name, &uid), reported))
}

/// The annotation text for the current diagnosis.
fn annotation_text(world: &World, bearer: &Bearer) -> Option<String> {
    let record = match bearer {
        Bearer::Pod(uid) => world.reported.pod_records.get(&world.cluster.pods.place(uid)?.key()),
        Bearer::Workload(key) => world.reported.workload_records.get(&DiagnosisKey::of_workload(key).object),
    };
    let object = record?.object;
    Some(annotation::text(&object.head().cause, &object.head().summary))
}

fn reference(api_version: &str, kind: &str, key: ObjectKey, uid: &str) -> Reference {
    Reference {
        api_version: api_version.to_owned().into(),
        kind: kind.to_owned().into(),
        key,
        uid: Some(uid.to_owned()),
    }
}
