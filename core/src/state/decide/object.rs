//! Decisions for objects that are diagnosed by their own status, such as custom resources.
//!
//! They share the diagnosis and its life cycle with workloads. A chain of objects, of which each controls the next, is
//! reported once: at the highest object that fails, with the cause of the lowest. A failed part of a healthy object, such
//! as an earlier revision, is not reported.

use std::collections::BTreeSet;

use super::workload::{failing_pods, is_unwanted, mark_gone, workload_fails, workload_recovers};
use crate::api::DiagnosisKind;
use crate::case::{FailingPod, WorkloadCase, WorkloadJudged};
use crate::facts::{Labels, Names, Timestamp, WorkloadFacts, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::reconcile::{Bearer, DiagnosisKey, Plan, node_and_workload};
use crate::rules::{answers_for_its_parts, cause_of_fields, is_explained_by_pods, judge_workload};
use crate::state::cluster::ClusterState;
use crate::state::cluster::objects::Id;
use crate::state::reported::failure_history::Restarted;
use crate::state::{Decision, Source, Touched, World, earliest};

/// Registers a new version of an object. Returns it and the objects above it.
pub(in crate::state) fn object(world: &mut World, mut facts: WorkloadFacts, now: Timestamp) -> Touched {
    let key = facts.key.clone();
    world.cluster.gone_workloads.remove(&key);
    let carried = facts.carried.take();
    let annotation = world.reported.annotations.annotation_seen(Bearer::Workload(key.clone()), &facts.uid, carried);
    let mut touched = world.cluster.apply_overrides(&facts);
    touched.extend(annotation);
    let above = world.cluster.objects.above(facts.owner.as_ref(), &key.namespace);
    touched.extend(above.into_iter().map(|of| (Subject::Workload(of.key.clone()), Lane::Change)));
    world.cluster.objects.put(facts, now);
    touched.push((Subject::Workload(key), Lane::Change));
    touched
}

/// The objects whose diagnosis depends on the pods of a workload.
pub(in crate::state) fn above(cluster: &ClusterState, workload: &WorkloadKey) -> Touched {
    let all = objects_above(cluster, workload).into_iter();
    all.map(|facts| (Subject::Workload(facts.key.clone()), Lane::Change)).collect()
}

/// The objects that control a workload, the nearest first. A workload that is such an object itself is the first.
fn objects_above<'w>(cluster: &'w ClusterState, workload: &WorkloadKey) -> Vec<&'w WorkloadFacts> {
    if cluster.objects.is_empty() {
        return Vec::new();
    }
    if let Some(kept) = cluster.objects.get(workload) {
        let above = cluster.objects.above(kept.facts.owner.as_ref(), &workload.namespace);
        return std::iter::once(&kept.facts).chain(above).collect();
    }
    let owner = cluster.owners.get(workload).and_then(|owner| owner.facts.owner.as_ref());
    cluster.objects.above(owner, &workload.namespace)
}

/// Workloads with failing pods that an object controls, directly or not, and the object itself.
fn failing_below(cluster: &ClusterState, object: &WorkloadFacts, below: &[&WorkloadFacts]) -> BTreeSet<WorkloadKey> {
    let ids = below.iter().map(|facts| Id::of(&facts.key)).chain([Id::of(&object.key)]);
    let of = |id: &Id| cluster.workloads.of_custom(id).chain(cluster.owners.of_custom(id)).cloned().collect::<Vec<_>>();
    let all = ids.flat_map(|id| of(&id));
    all.filter(|key| cluster.workloads.failing(key).next().is_some()).collect()
}

pub(in crate::state) fn decide(world: &mut World, key: &WorkloadKey, now: Timestamp) -> Decision {
    let object = DiagnosisKey::of_workload(key);
    if let Some(decision) = before_judging(world, key, &object, now) {
        return decision;
    }
    let Some(kept) = world.cluster.objects.get(key) else { return Decision::default() };
    let (facts, since) = (kept.facts.clone(), kept.since);
    if facts.deleting {
        return mark_gone(world, key, &object, now).into();
    }
    let above = world.cluster.objects.above(facts.owner.as_ref(), &key.namespace);
    let is_cycle = above.iter().any(|above| above.key == *key);
    // The object above is reported with the cause of this one, or does without it.
    if !is_cycle && above.into_iter().any(answers_for_its_parts) {
        return workload_recovers(world, key, &object, Some(&facts), now).into();
    }
    let below = if is_explained_by_pods(&facts) { world.cluster.objects.below(&facts) } else { Vec::new() };
    let workloads = failing_below(&world.cluster, &facts, &below);
    let pods = workloads.iter().flat_map(|workload| failing_pods(world, workload));
    let (failing, restarts): (Vec<_>, Vec<_>) = pods.unzip();
    let owned: Vec<WorkloadFacts> = below.into_iter().cloned().collect();
    let with_events = owned.iter().map(|part| &part.key).chain([key]).filter_map(|of| world.cluster.objects.get(of));
    let events: Vec<_> = with_events.flat_map(|kept| &kept.events).cloned().collect();
    let active_status = world.reported.active_status(&object, &facts.uid);
    let names = Names::default();
    let case = WorkloadCase {
        failing: &failing,
        owned: &owned,
        events: &events,
        current: active_status.as_ref(),
        ..WorkloadCase::of_status(&facts, since, &names, &world.settings.thresholds, now)
    };
    let seen = world.cluster.objects.see_cause(key, cause_of_fields(&case), now);
    let fields_since = if world.settings.lookups_enabled { seen } else { facts.created };
    let judged = judge_workload(&WorkloadCase { fields_since, ..case });
    plan_of(world, &facts, judged, (&failing, &restarts), now).into()
}

/// The plan for an object after its judgement. `pods` are its failing pods, and their restarts.
pub(super) fn plan_of(
    world: &mut World,
    facts: &WorkloadFacts,
    judged: WorkloadJudged,
    pods: (&[FailingPod], &[Restarted]),
    now: Timestamp,
) -> Plan {
    let (key, object) = (&facts.key, DiagnosisKey::of_workload(&facts.key));
    let plan = match judged.failure {
        Some(failure) if is_unwanted(world, key, None, &failure, now) => {
            let last = world.reported.workload_records.get(&object.object);
            node_and_workload::ignored(last.as_ref(), &world.settings.policy, now)
        }
        Some(failure) => workload_fails(world, key, facts, *failure, pods, now),
        None if judged.stands => Plan::default(),
        None => workload_recovers(world, key, &object, Some(facts), now),
    };
    Plan { wake: earliest(plan.wake, judged.wake), ..plan }
}

/// Returns a decision if the object cannot be diagnosed now, or need not be.
pub(super) fn before_judging(
    world: &mut World,
    key: &WorkloadKey,
    object: &DiagnosisKey,
    now: Timestamp,
) -> Option<Decision> {
    let is_listed = |source| world.cluster.is_listed(source);
    if !is_listed(Source::Objects(DiagnosisKind::Workload)) || !is_listed(Source::Pods) {
        return Some(Decision::default());
    }
    let later = |at| Some(Plan { intent: None, wake: Some(at) }.into());
    if world.reported.workload_records.is_writing(&object.object) {
        return later(after(now, 1));
    }
    if let Some(open) = world.suspended_until(object, now) {
        return later(open);
    }
    if world.settings.is_excluded(&key.namespace) {
        return Some(world.plan_unselected(object).into());
    }
    if let Some(plan) = world.reported.workload_records.overdue(&object.object, world.settings.policy.language, now) {
        return Some(plan.into());
    }
    if world.cluster.gone_workloads.contains(key) {
        return Some(mark_gone(world, key, object, now).into());
    }
    if !world.settings.is_selected(&key.namespace, &Labels::default()) {
        let last = world.reported.workload_records.get(&object.object);
        return Some(node_and_workload::ignored(last.as_ref(), &world.settings.policy, now).into());
    }
    None
}

#[cfg(test)]
mod tests;
