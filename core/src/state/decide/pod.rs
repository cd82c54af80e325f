//! Decisions for pods, and for diagnoses whose pod is gone.

use std::sync::Arc;

use crate::api::DiagnosisState;
use crate::case::{Case, Health};
use crate::facts::{Lookup, ObjectKey, Siblings, Surroundings, Timestamp, after};
use crate::outbox::Subject;
use crate::reconcile;
use crate::reconcile::Plan;
use crate::rules::diagnose;
use crate::state::cluster::lookups;
use crate::state::cluster::unhealthy::Full;
use crate::state::{Decision, LOOKUP_TIMEOUT, Source, SummaryEntry, World, earliest};

impl World {
    /// Calls `look` with the case of a pod as it would be diagnosed now. Used by the offline command and by tests.
    pub fn with_case<T>(&self, uid: &str, now: Timestamp, look: impl FnOnce(&Case<'_>) -> T) -> Option<T> {
        let pod = self.cluster.pods.full(uid)?;
        let surroundings = surroundings(self, &pod, now);
        Some(look(&case_with(self, &pod, &surroundings, now)))
    }
}

pub(in crate::state) fn decide(world: &mut World, uid: &Arc<str>, now: Timestamp) -> Decision {
    let Some(mut pod) = world.cluster.pods.full(uid) else { return Decision::default() };
    let key = pod.facts.key.clone();
    if !world.settings.is_selected(&key.namespace, &pod.facts.labels) {
        return world.plan_unselected_pod(uid, &key).into();
    }
    let (fresh_from, first_seen) = (world.reported.fresh_from(&pod.facts, pod.observed), pod.observed.first);
    let surroundings = surroundings(world, &pod, now);
    let mut outcome = diagnose(&case_with(world, &pod, &surroundings, now));
    outcome.needed_lookups.retain(|lookup| match lookup {
        Lookup::Log(_) => world.settings.reads_logs,
        Lookup::Names(_) => world.settings.reads_names,
        _ => true,
    });
    if let Health::Failing(diagnosis) = &outcome.health {
        // Before the write, so that the restart history includes the cause of the last termination.
        world.cluster.pods.attribute(&mut pod, &diagnosis.attributions);
    }
    let case = case_with(world, &pod, &surroundings, now);
    let last = world.reported.pod_records.get(&key);
    let is_active = last.as_ref().is_some_and(|record| record.is_active_of(uid));
    let is_superseded = reconcile::superseded(&case);
    let needs_workload = needs_workload_lookup(&case) || !is_active && remedies_depend_on_workload(&case);
    // A failure that predates the operator's start can be reported a moment later. Waiting for the impact then
    // saves a second write.
    let at_once = case.observed.at_start && last.is_none();
    let decisive = outcome.needed_lookups.iter().filter_map(|lookup| match lookup {
        Lookup::Claims(_) => Some((lookup, case.observed.situation_since)),
        Lookup::Log(_) => Some((lookup, first_seen)),
        Lookup::Workload(_) if needs_workload || at_once => Some((lookup, first_seen)),
        Lookup::Services(_) if at_once => Some((lookup, first_seen)),
        Lookup::Workload(_) | Lookup::Services(_) | Lookup::Reached(_) | Lookup::PodsOn(_) | Lookup::Names(_) => None,
    });
    let awaited =
        decisive.filter_map(|(lookup, since)| world.cluster.lookups.awaited(lookup, since, LOOKUP_TIMEOUT, now)).max();
    let mut plan = if !is_active && pod.superseded && case.pod.is_over() {
        // The failure of another pod must not make this superseded pod a failure again.
        decide_object(world, &key, now)
    } else if let Some(until) = awaited.filter(|_| world.settings.lookups_enabled) {
        // This also applies to known failures: after a restart, or when the situation changes, an early write would
        // replace known details with less precise ones.
        Plan { intent: None, wake: Some(until) }
    } else {
        let ended_recently = match &outcome.health {
            Health::Failing(diagnosis) if reconcile::is_news(last.as_ref(), uid, diagnosis) => {
                world.reported.pod_records.ended_recently(diagnosis, &pod.facts, now, &world.settings.policy)
            }
            _ => false,
        };
        reconcile::failing_or_healthy(last.as_ref(), &case, &outcome, ended_recently, &world.settings.policy)
    };
    plan.wake = earliest(plan.wake, outcome.wake);
    if case.surroundings.siblings.thrown_out_lately > 0 && case.pod.is_over() {
        // A repeated loss of pods recovers only after enough time without another loss.
        plan.wake = earliest(plan.wake, Some(after(now, Siblings::LATELY)));
    }
    let is_healthy = matches!(outcome.health, Health::Healthy);
    if is_superseded {
        world.cluster.pods.supersede(uid);
    }
    if !is_healthy || !outcome.needed_lookups.is_empty() {
        world.cluster.lookups.set_requests(&Subject::Pod(uid.clone()), &outcome.needed_lookups);
    } else if !is_active {
        // An Active diagnosis keeps its lookup results between two failures.
        world.cluster.lookups.forget(&Subject::Pod(uid.clone()));
        world.reported.capacity.forget_pod(uid);
    }
    let mut needed_lookups = Vec::new();
    for lookup in outcome.needed_lookups {
        // The log of a terminated container does not change any more.
        let from = if matches!(lookup, Lookup::Log(_)) { first_seen } else { fresh_from };
        match world.cluster.lookups.next(&lookup, from, now) {
            lookups::Next::Now => needed_lookups.push(lookup),
            lookups::Next::At(at) => plan.wake = earliest(plan.wake, Some(at)),
        }
    }
    Decision { plan, needed_lookups, ..Decision::default() }
}

/// Whether the pod of an Active diagnosis is gone. Always false before the pods are listed.
pub(in crate::state) fn is_pod_gone(world: &World, record: &SummaryEntry) -> bool {
    record.is_active() && world.cluster.is_listed(Source::Pods) && !world.cluster.pods.contains(&record.subject_uid)
}

/// Whether the diagnosis was deleted together with its pod, for example with its namespace. It must not be
/// restored: the namespace may have been recreated since.
pub(in crate::state) fn was_deleted_with_pod(world: &World, key: &ObjectKey) -> bool {
    world.reported.pod_records.is_deleted(key)
        && world.reported.pod_records.summary_entry(key).is_some_and(|record| is_pod_gone(world, record))
}

pub(in crate::state) fn decide_object(world: &World, key: &ObjectKey, now: Timestamp) -> Plan {
    let Some(summary_entry) = world.reported.pod_records.summary_entry(key) else { return Plan::default() };
    let is_evicted = world.reported.pod_records.is_evicted(key) && !summary_entry.is_active();
    if let Some(plan) =
        world.reported.pod_records.overdue(key, world.settings.policy.language, now).filter(|_| !is_evicted)
    {
        return plan;
    }
    let Some(record) = world.reported.pod_records.get(key) else { return Plan::default() };
    match summary_entry.state {
        DiagnosisState::Active if is_pod_gone(world, summary_entry) => {
            reconcile::gone(Some(&record), &world.settings.policy, now)
        }
        DiagnosisState::Active => Plan::default(),
        _ if is_evicted => reconcile::removed(&record),
        _ => reconcile::ended(Some(&record), &world.settings.policy, now),
    }
}

pub(in crate::state) fn surroundings(world: &World, pod: &Full, now: Timestamp) -> Surroundings {
    let siblings = world.cluster.workloads.siblings(&pod.facts, now);
    let around = world.cluster.lookups.around(
        &pod.facts,
        world.reported.fresh_from(&pod.facts, pod.observed),
        pod.observed.situation_since,
        siblings,
    );
    let workload = crate::case::top_workload(&pod.facts, around.known_job());
    let queue = world.reported.reach.queue(&pod.facts, workload.as_ref());
    let network_agent = world.reported.reach.network_agent(&pod.facts);
    let overrides = world.cluster.overrides.around(&pod.facts, workload.as_ref());
    let is_given_up = workload.as_ref().is_some_and(|key| world.cluster.has_given_up_on(key, &pod.facts));
    let waits = pod.facts.node_name.is_none();
    let events = world.cluster.events.of(&pod.facts.uid);
    let scale_up_failures = if waits { world.cluster.scale_ups.failures(&pod.facts, events, now) } else { Vec::new() };
    Surroundings { queue, network_agent, overrides, is_given_up, scale_up_failures, ..around }
}

pub(in crate::state) fn case_with<'a>(
    world: &'a World,
    pod: &'a Full,
    surroundings: &'a Surroundings,
    now: Timestamp,
) -> Case<'a> {
    Case {
        pod: &pod.facts,
        node: pod.facts.node_name.as_ref().and_then(|name| world.cluster.nodes.get(name)),
        nodes: world.cluster.nodes.all(),
        events: world.cluster.events.of(&pod.facts.uid),
        ledger: &pod.ledger,
        surroundings,
        catalogue: crate::rules::catalog::STANDARD,
        thresholds: &world.settings.thresholds,
        observed: pod.observed,
        status_before: &pod.status_before,
        now,
        lines: None,
    }
}

/// Whether only the workload can show that this pod is a failure. A Job may have succeeded at a retry or still have
/// retries left, and a Deployment may have replaced the pod.
fn needs_workload_lookup(case: &Case<'_>) -> bool {
    let around = case.surroundings;
    let has_crashed = || case.pod.containers.iter().any(|c| c.last_end().is_some_and(|end| end.exit_code != 0));
    if case.pod.is_of_job() && around.job.is_none() && has_crashed() {
        return true;
    }
    let top = crate::case::top_workload(case.pod, around.known_job());
    case.pod.has_failed() && around.workload.is_none() && top.is_some_and(|top| top.is_known())
}

/// Whether the first remedy is probably another once the workload is known. It is a part of the Event, which is written once.
/// A StatefulSet or DaemonSet may wait until the pod is deleted, a rollout has a revision to go back to, and a change must be
/// made in the chart that the template comes from.
fn remedies_depend_on_workload(case: &Case<'_>) -> bool {
    let is_in_order = case.pod.owner.as_ref().is_some_and(|owner| matches!(&*owner.kind, "StatefulSet" | "DaemonSet"));
    is_in_order
        || case.surroundings.siblings.other_template_ready > 0
        || case.pod.labels.get("app.kubernetes.io/managed-by").is_some()
}
