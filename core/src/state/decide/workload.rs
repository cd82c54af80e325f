//! Decisions for workloads: their diagnosis, and what their failing pods have in common.

mod ending;

use std::sync::Arc;

use crate::api::{
    DiagnosisKind, DiagnosisState, Head, PodCounts, Root, Severity, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
    WorkloadRef,
};
use crate::case::{
    Case, Category, FailingPod, GonePod, Health, Operation, Remedy, RootKind, WorkloadCase, WorkloadFailure,
};
use crate::facts::route::NetworkKind;
use crate::facts::{Labels, Lookup, LookupResult, Timestamp, WorkloadFacts, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::reconcile;
use crate::reconcile::past_failures::{self, Ending};
use crate::reconcile::{Bearer, DiagnosisKey, Intent, Object, Plan, Record, node_and_workload};
use crate::rules::{self, diagnose, follows_from_pods, is_of_service, judge_workload, lies_in_template, node};
use crate::state::cluster::lookups;
use crate::state::cluster::pods::Place;
use crate::state::reported::failure_history::Restarted;
use crate::state::reported::reach::SharedRoot;
use crate::state::reported::summary_entry::SummaryEntry;
use crate::state::{Decision, Source, World, earliest};

/// Pods of a workload fail one after the other. The first diagnosis waits this many seconds after the first failure to
/// cover them together.
const GATHERING: i64 = 5;

/// A workload waits for pods whose diagnosis is due within this many seconds.
const DUE_SOON: i64 = 120;

/// The `problem` of a workload that recovered.
const NO_PROBLEM: &str = "None";

/// The facts that a workload is diagnosed from.
struct Known {
    facts: WorkloadFacts,
    since: Timestamp,
    seen: Timestamp,
}

/// The watched workload of a pod's diagnosis.
pub(in crate::state) fn workload_of(record: &SummaryEntry) -> Option<&WorkloadKey> {
    record.workload.as_ref().filter(|key| key.watched_kind().is_some())
}

/// All workloads that may need a diagnosis or a change of it.
pub(in crate::state) fn all_unsettled(world: &World) -> crate::state::Touched {
    let unmatched = world.cluster.services.workloads_of_unmatched_services();
    let kept = crate::facts::WorkloadKind::ALL.into_iter().flat_map(|kind| world.cluster.owners.of_kind(kind)).cloned();
    let diagnosed = world.reported.workload_records.workloads();
    let objects = world.cluster.objects.keys().cloned();
    let network = world.cluster.network.keys().map(|(kind, key)| kind.workload(&key));
    kept.chain(diagnosed)
        .chain(unmatched)
        .chain(objects)
        .chain(network)
        .map(|key| (Subject::Workload(key), Lane::Resync))
        .collect()
}

pub(in crate::state) fn decide(world: &mut World, key: &WorkloadKey, now: Timestamp) -> Decision {
    if key.watched_kind().is_none() {
        return match NetworkKind::of(key) {
            Some(kind) => super::network::decide(world, kind, key, now),
            None => super::object::decide(world, key, now),
        };
    }
    let object = DiagnosisKey::of_workload(key);
    before_judging(world, key, &object, now).unwrap_or_else(|| decide_on_workload(world, key, &object, now))
}

/// Returns a decision if the workload cannot be diagnosed now, or need not be.
fn before_judging(world: &mut World, key: &WorkloadKey, object: &DiagnosisKey, now: Timestamp) -> Option<Decision> {
    let is_listed = key.watched_kind().is_some_and(|kind| world.cluster.is_listed(Source::Workloads(kind)));
    if !is_listed
        || !world.cluster.is_listed(Source::Objects(DiagnosisKind::Workload))
        || !world.cluster.is_listed(Source::Pods)
    {
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
    if world.cluster.gone_workloads.contains(key) && world.reported.workload_records.is_deleted(&object.object) {
        // The diagnosis was deleted with its workload, for example with the namespace.
        world.reported.workload_records.remove(&object.object);
    }
    if let Some(plan) = world.reported.workload_records.overdue(&object.object, world.settings.policy.language, now) {
        return Some(plan.into());
    }
    if world.cluster.gone_workloads.contains(key) {
        return Some(mark_gone(world, key, object, now).into());
    }
    let failing =
        if world.reported.has_active_diagnosis(object) { world.cluster.workloads.failing(key).count() } else { 0 };
    world.reported.failure_history.paused_until(key, failing, now).and_then(later)
}

fn decide_on_workload(world: &mut World, key: &WorkloadKey, object: &DiagnosisKey, now: Timestamp) -> Decision {
    let (failing, restarts): (Vec<_>, Vec<_>) = failing_pods(world, key).into_iter().unzip();
    let subject = Subject::Workload(key.clone());
    let Some(known) = known_workload(world, key) else {
        if let Some(decision) = world.verify_existence(key, now) {
            return decision;
        }
        // The workload was deleted while its first diagnosis was being written.
        if failing.is_empty() && world.cluster.lookups.is_not_there(key) {
            world.cluster.gone_workloads.insert(key.clone());
            return mark_gone(world, key, object, now).into();
        }
        // The workload is settled, so it is not watched in full. It is looked up again only if it has failing pods
        // or unmatched Services.
        if failing.is_empty() && world.cluster.services.unmatched_services_of(key).is_empty() {
            if let Some(until) = waits_for_services(world, key, now) {
                return Plan { intent: None, wake: Some(until) }.into();
            }
            return workload_recovers(world, key, object, None, now).into();
        }
        return world.cluster.request_lookups(
            &subject,
            vec![(Lookup::Workload(key.clone()), Timestamp::UNIX_EPOCH)],
            now,
        );
    };
    let labels = known.facts.template.as_ref().map(|template| template.labels.clone()).unwrap_or_default();
    if !world.settings.is_selected(&key.namespace, &labels) {
        return node_and_workload::ignored(
            world.reported.workload_records.get(&object.object).as_ref(),
            &world.settings.policy,
            now,
        )
        .into();
    }
    // Endpoints are updated a moment after the status of the workload.
    let settled =
        if world.settings.lookups_enabled { after(known.since, lookups::SETTLE).min(now) } else { known.since };
    let services = world.cluster.lookups.services_for(&key.namespace, &labels, settled);
    let events = world.cluster.owners.events_of(key, &known.facts.replica_sets);
    let jobs = world.cluster.owners.jobs_of(key);
    let ready = world.cluster.workloads.ready_by_owner(key);
    let gone = gone_pods(world, key, &jobs);
    let unmatched = world.cluster.services.unmatched_services_of(key);
    let active_status = world.reported.active_status(object, &known.facts.uid);
    let has_given_up = known.facts.condition("Progressing").is_some_and(|progress| progress.status == "False");
    let undecided = has_given_up.then(|| undecided(world, key, now)).flatten();
    let gates = if has_given_up { world.cluster.gates(key) } else { Vec::new() };
    let names = world.cluster.lookups.names();
    let judged = judge_workload(&WorkloadCase {
        failing: &failing,
        failed: &world.reported.failure_history.templates(key),
        undecided,
        gates: &gates,
        repeatedly_removed: world.cluster.workloads.repeatedly_removed(key, now),
        gone: &gone,
        ready: ready.as_deref(),
        jobs: &jobs,
        events: &events,
        orphans: &unmatched,
        services: services.as_deref(),
        seen: known.seen,
        current: active_status.as_ref(),
        ..WorkloadCase::of_status(&known.facts, known.since, names, &world.settings.thresholds, now)
    });
    let is_active = world.reported.has_active_diagnosis(object);
    if judged.failure.as_ref().is_some_and(|failure| is_unwanted(world, key, Some(&labels), failure, now)) {
        let last = world.reported.workload_records.get(&object.object);
        let plan = node_and_workload::ignored(last.as_ref(), &world.settings.policy, now);
        return Plan { wake: earliest(plan.wake, judged.wake), ..plan }.into();
    }
    let Some(failure) = judged.failure else {
        if judged.stands {
            return Decision::default();
        }
        if let Some(last) = made_quiet(world, object, &failing) {
            return node_and_workload::ignored(Some(&last), &world.settings.policy, now).into();
        }
        // A workload has not recovered while its diagnosis is pending or while it waits for its next pod.
        let later = judged.wake.or_else(|| world.reported.waits_for_pods(key, &known.facts, now));
        let undecided = later.or_else(|| waits_for_services(world, key, now)).filter(|_| is_active);
        if let Some(until) = undecided {
            return Plan { intent: None, wake: Some(until) }.into();
        }
        let mut plan = workload_recovers(world, key, object, Some(&known.facts), now);
        plan.wake = earliest(plan.wake, judged.wake);
        return plan.into();
    };
    // The diagnosis includes the last good template and the Services that still have endpoints. The pods of the
    // workload look up the workload too, and that result is recent enough.
    let template_from = if world.cluster.lookups.is_there(key) { Timestamp::UNIX_EPOCH } else { settled };
    let mut needed_lookups =
        vec![(Lookup::Workload(key.clone()), template_from), (Lookup::Services(key.namespace.clone()), settled)];
    let awaited = needed_lookups
        .iter()
        .filter_map(|(lookup, since)| world.cluster.lookups.awaited(lookup, *since, crate::state::LOOKUP_TIMEOUT, now));
    let gathered = after(world.reported.failure_history.began(key, now), GATHERING);
    let awaited = awaited.max().into_iter().chain(Some(gathered).filter(|due| !is_active && now < *due));
    needed_lookups.extend(names_for(world, &failure));
    let mut plan = match awaited.max().filter(|_| world.settings.lookups_enabled) {
        Some(until) => Plan { intent: None, wake: Some(until) },
        None => workload_fails(world, key, &known.facts, *failure, (&failing, &restarts), now),
    };
    plan.wake = earliest(plan.wake, judged.wake);
    let mut decision = world.cluster.request_lookups(&subject, needed_lookups, now);
    decision.plan = Plan { wake: earliest(plan.wake, decision.plan.wake), ..plan };
    decision
}

/// The lookups of the names that the remedies need, if names may be read.
fn names_for(world: &World, failure: &WorkloadFailure) -> Vec<(Lookup, Timestamp)> {
    let names = failure.needed_names.iter().filter(|_| world.settings.reads_names).cloned();
    names.map(|of| (Lookup::Names(of), Timestamp::UNIX_EPOCH)).collect()
}

/// Whether the user ignores this failure: its cause, or the cause of all its failing pods.
pub(super) fn is_unwanted(
    world: &World,
    key: &WorkloadKey,
    labels: Option<&Labels>,
    failure: &WorkloadFailure,
    now: Timestamp,
) -> bool {
    if world.cluster.overrides.ignore(key, &failure.cause) || rules::is_ignored(&failure.cause, &key.namespace, labels)
    {
        return true;
    }
    if !failure.causes.is_empty() || !follows_from_pods(&failure.cause) {
        return false;
    }
    let of_it = |uid: &Arc<str>| {
        world.cluster.pods.place(uid).is_some_and(|place| place.siblings_of_workload.workload.as_ref() == Some(key))
    };
    world
        .cluster
        .unhealthy()
        .filter(of_it)
        .any(|uid| world.with_case(&uid, now, diagnose).is_some_and(|outcome| outcome.left_out.is_some()))
}

/// The next time at which an undiagnosed, unready pod of this workload is due: soon, or later if its probe fails or
/// its threshold was overridden.
fn undecided(world: &World, key: &WorkloadKey, now: Timestamp) -> Option<Timestamp> {
    let wakes = world.cluster.undiagnosed_unready(key).filter_map(|uid| {
        let is_to_wait = |case: &Case<'_>| {
            case.surroundings.overrides.never_ready.is_some() || case.events_with("Unhealthy").next().is_some()
        };
        let (outcome, is_to_wait) = world.with_case(uid, now, |case| (diagnose(case), is_to_wait(case)))?;
        let is_near = |wake: &Timestamp| *wake > now && (is_to_wait || *wake <= after(now, DUE_SOON));
        outcome.wake.filter(|wake| is_near(wake) && matches!(outcome.health, Health::Healthy))
    });
    wakes.min()
}

/// After a restart it is unknown at first whether the unmatched Service still has no endpoints.
fn waits_for_services(world: &World, key: &WorkloadKey, now: Timestamp) -> Option<Timestamp> {
    let diagnosis = world.reported.workload_records.summary_entry(&DiagnosisKey::of_workload(key).object)?;
    let waits = is_of_service(&diagnosis.cause) && !world.cluster.are_services_judged(&key.namespace);
    waits.then(|| after(now, lookups::SETTLE))
}

/// The watched workload with its looked-up `ReplicaSets`. A workload that is not kept is taken from the lookup.
fn known_workload(world: &World, key: &WorkloadKey) -> Option<Known> {
    let looked_up = world.cluster.lookups.known_workload(key);
    match world.cluster.owners.get(key) {
        Some(owner) => {
            let mut facts = owner.facts.clone();
            let looked_up = looked_up.unwrap_or_default();
            (facts.replica_sets, facts.revisions) = (looked_up.replica_sets, looked_up.revisions);
            // In a dump all pods have been diagnosed already.
            let seen =
                if world.settings.lookups_enabled { owner.seen.max(world.cluster.listed_at) } else { owner.since };
            Some(Known { facts, since: owner.since, seen })
        }
        None => looked_up.map(|facts| Known { facts, since: Timestamp::UNIX_EPOCH, seen: Timestamp::UNIX_EPOCH }),
    }
}

pub(super) fn workload_fails(
    world: &mut World,
    key: &WorkloadKey,
    facts: &WorkloadFacts,
    failure: WorkloadFailure,
    (failing, restarts): (&[FailingPod], &[Restarted]),
    now: Timestamp,
) -> Plan {
    let object = DiagnosisKey::of_workload(key);
    let root = failure.root.as_ref().map(|root| world.reported.reach.of(root, &key.namespace, &key.to_string()));
    let (cause, exceeded) = (failure.cause.clone(), failure.exceeded.clone());
    let shared = failure.root.as_ref().filter(|_| !lies_in_template(&cause));
    let reported_by_another = shared.is_some_and(|root| {
        world
            .reported
            .reach
            .reported_by_another(SharedRoot { root, cause: &cause, exceeded: &exceeded }, key, now)
            .is_some()
    });
    // Failures caused by a node do not concern the pod template, nor do transient ones.
    let is_of_template = |pod: &FailingPod| pod.category != Category::Node && pod.severity != Severity::Info;
    let each = failing.iter().zip(restarts.iter().copied());
    let restarting: Vec<_> = each.filter(|(pod, _)| is_of_template(pod)).collect();
    let reported_by_node = failure.root.as_ref().is_some_and(|root| is_reported_by_node(world, root, now));
    let quiet = failure.quiet || reported_by_another || reported_by_node;
    let is_rise_reported = failure.worse_by_node;
    let operation = failure.remedies.iter().find(|remedy| remedy.command.is_some()).map(|remedy| remedy.operation);
    let mut status = status_of(failure, failing);
    status.templates = world.reported.failure_history.update(key, &restarting, now);
    status.folded_events = world.reported.event_aggregation.of(key);
    status.root = root;
    let spec = WorkloadDiagnosisSpec {
        workload: WorkloadRef {
            api_version: key.api_version.to_string(),
            kind: key.kind.to_string(),
            name: key.name.to_string(),
            display: key.to_string(),
        },
        workload_uid: facts.uid.to_string(),
    };
    let (reach, is_refused) = (status.root.clone(), status.causes.is_empty());
    let last = world.reported.workload_records.get(&object.object);
    let is_new_failure = last.as_ref().is_some_and(|ended| is_of_another_template(key, failing, &ended.object));
    let same_failure_quiet = if is_new_failure { 0 } else { world.settings.policy.same_failure_quiet };
    let failing = node_and_workload::Failing {
        object: Object::Workload(spec, status),
        exceeded: exceeded.clone(),
        operation,
        quiet,
        is_rise_reported,
        same_failure_quiet,
    };
    let plan = node_and_workload::failing(&object, last.as_ref(), failing, &world.settings.policy, now);
    if let (Some(Intent::Apply(write)), Some(reach)) = (&plan.intent, reach) {
        if is_refused {
            world.reported.reach.refuse(&reach.root, &object.object, &key.to_string());
        }
        if write.announcement.is_some() {
            let shared = SharedRoot { root: &reach.root, cause: &cause, exceeded: &exceeded };
            world.reported.reach.set_reporter(shared, key, now);
        }
    }
    plan
}

/// Whether the root is a node that is down. The node's own diagnosis reports it.
fn is_reported_by_node(world: &World, root: &Root, now: Timestamp) -> bool {
    let node = world.cluster.nodes.get(&root.name).filter(|_| root.kind == RootKind::Node.as_str());
    node.is_some_and(|node| node::is_down(node, &world.settings.thresholds, now))
}

pub(super) fn workload_recovers(
    world: &mut World,
    key: &WorkloadKey,
    object: &DiagnosisKey,
    facts: Option<&WorkloadFacts>,
    now: Timestamp,
) -> Plan {
    let last = world.reported.workload_records.get(&object.object);
    let ending = match last.as_ref().filter(|last| last.is_active()).map(|last| &last.object) {
        Some(Object::Workload(_, status)) => ending::of(world, key, facts, status, now),
        _ => Ending::default(),
    };
    world.cluster.lookups.forget(&Subject::Workload(key.clone()));
    if !world.reported.has_active_diagnosis(object) {
        world.reported.failure_history.forget(key);
        world.reported.event_aggregation.forget(key);
    }
    let ready = world.cluster.workloads.ready_by_owner(key).iter().flatten().map(|(_, ready)| ready).sum::<u32>();
    // A workload that has no desired pods can be neither healthy nor unhealthy, so no Event reports its recovery.
    let is_scaled_down = facts.is_some_and(|facts| has_no_desired_pods(key, facts));
    let update = |object: &mut Object| {
        if let Object::Workload(spec, status) = object {
            set_recovered(status, key, facts, ready);
            past_failures::add(spec, status, ending, now);
        }
    };
    node_and_workload::recovered(last.as_ref(), update, !is_scaled_down, &world.settings.policy, now)
}

pub(super) fn mark_gone(world: &mut World, key: &WorkloadKey, object: &DiagnosisKey, now: Timestamp) -> Plan {
    world.reported.failure_history.forget(key);
    world.reported.event_aggregation.forget(key);
    world.cluster.lookups.forget(&Subject::Workload(key.clone()));
    let last = world.reported.workload_records.get(&object.object);
    if last.is_none() {
        world.cluster.gone_workloads.remove(key);
    }
    reconcile::gone(last.as_ref(), &world.settings.policy, now)
}

/// Forgets a deleted workload once its ended diagnosis is removed.
pub(in crate::state) fn forget_gone_workload(world: &mut World, key: &DiagnosisKey) {
    if key.kind != DiagnosisKind::Workload {
        return;
    }
    let ended =
        world.reported.workload_records.summary_entry(&key.object).filter(|summary_entry| !summary_entry.is_active());
    if let Some(workload) = ended.and_then(|summary_entry| summary_entry.workload.as_ref()) {
        world.cluster.gone_workloads.remove(workload);
    }
}

/// The Active diagnosis of a workload for which a rule of a user has since made the failures of all pods worth no alarm, so
/// that there is nothing to wait for.
fn made_quiet(world: &World, object: &DiagnosisKey, failing: &[FailingPod]) -> Option<Record> {
    let is_quiet = failing.iter().all(|pod| pod.severity == Severity::Info);
    let last = world.reported.workload_records.get(&object.object).filter(|last| is_quiet && last.is_active())?;
    failing.iter().any(|pod| last.has_newer_rule(&pod.cause)).then_some(last)
}

/// The pods of a workload that have an Active diagnosis, sorted by name, each with its restarts.
pub(super) fn failing_pods(world: &World, key: &WorkloadKey) -> Vec<(FailingPod, Restarted)> {
    // A Deployment already has a replacement for a pod that is being deleted. A `StatefulSet` or `DaemonSet` waits
    // for the deletion to finish.
    let is_replaced = |place: &Place| place.deleting && &*key.kind == "Deployment";
    let records = world.cluster.workloads.failing(key).filter_map(|uid| {
        let place = world.cluster.pods.place(uid).filter(|place| !is_replaced(place))?;
        let record = world.reported.pod_records.get(&place.key()).filter(|record| record.is_active_of(uid))?;
        let restarted = restarts_of(&record);
        Some((failing_pod(world, uid, record)?, restarted))
    });
    let mut pods: Vec<_> = records.collect();
    pods.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    pods
}

fn failing_pod(world: &World, uid: &Arc<str>, record: Record) -> Option<FailingPod> {
    let Object::Pod(spec, status) = record.object else { return None };
    let owner = world.cluster.pods.place(uid).and_then(|place| place.siblings_of_workload.owner.clone());
    // These workloads have no ReplicaSet per template; their pods carry a revision hash instead.
    let has_revisions = spec.workload.is_some_and(|w| matches!(&*w.kind, "StatefulSet" | "DaemonSet"));
    let full = if has_revisions { world.cluster.pods.full(uid) } else { None };
    let revision = full.as_ref().and_then(|full| full.facts.labels.get("controller-revision-hash"));
    let remedies = status.head.remedies.into_iter().zip(record.composition.operations);
    Some(FailingPod {
        name: record.key.object.name.as_ref().into(),
        uid: uid.clone(),
        template: revision.map(Into::into).or(owner),
        node: spec.node_name.as_deref().map(Into::into),
        cause: status.head.cause,
        category: Category::named(&status.head.category).unwrap_or(Category::Lifecycle),
        container: status.container,
        container_type: status.container_type,
        severity: status.head.severity,
        confidence: status.head.confidence,
        summary: record.composition.summary.head_of(&status.head.summary).to_owned(),
        remedies: remedies.map(|(remedy, operation)| Remedy::recorded(remedy, operation)).collect(),
        root: status.root,
        since: status.head.first_seen,
        ready: world.cluster.pods.place(uid).is_some_and(|place| place.ready),
        over: world.cluster.pods.place(uid).is_some_and(|place| place.over),
        restarts: status.restarts.map_or(0, |restarts| restarts.count),
    })
}

/// The pods of a Job or `CronJob` that were deleted while they failed.
fn gone_pods(world: &World, key: &WorkloadKey, jobs: &[WorkloadFacts]) -> Vec<GonePod> {
    if !matches!(&*key.kind, "Job" | "CronJob") {
        return Vec::new();
    }
    let of_it = |record: &&SummaryEntry| {
        record.state == DiagnosisState::Gone && workload_of(record).is_some_and(|of| of == key)
    };
    let gone = world.reported.pod_records.ended_of(key).filter(of_it).filter_map(|summary_entry| {
        let pod = failing_pod(
            world,
            &Arc::from(&*summary_entry.subject_uid),
            world.reported.pod_records.get(&summary_entry.key)?,
        )?;
        Some(GonePod { pod: without_its_remedies(pod), at: summary_entry.last_transition? })
    });
    let mut gone: Vec<GonePod> = gone.collect();
    let runs = jobs.iter().map(|run| &run.key).chain([key]);
    for last in runs.flat_map(|job| world.reported.undiagnosed_failures.of(job)) {
        // The pod may have been diagnosed after its last failure was captured.
        if !gone.iter().any(|known| known.pod.uid == last.pod.uid) {
            gone.push(last);
        }
    }
    gone.retain(|gone| gone.pod.severity != Severity::Info);
    gone.sort_by(|a, b| a.pod.name.cmp(&b.pod.name));
    gone
}

/// Registers a new version of a workload.
pub(in crate::state) fn workload(world: &mut World, mut facts: WorkloadFacts, now: Timestamp) -> crate::state::Touched {
    if facts.object().is_some() {
        return super::object::object(world, facts, now);
    }
    let key = facts.key.clone();
    world.cluster.gone_workloads.remove(&key);
    let at_start = key.watched_kind().is_none_or(|kind| !world.cluster.is_listed(Source::Workloads(kind)));
    let is_known_to_fail = is_failing(world, &key);
    let labelled = facts.labelled().filter(|_| !facts.deleting);
    let carried = facts.carried.take();
    let annotation = world.reported.annotations.annotation_seen(Bearer::Workload(key.clone()), &facts.uid, carried);
    let by_us = annotation.is_some() && is_moved_by_an_annotation(&mut facts);
    let mut touched = world.cluster.apply_overrides(&facts);
    touched.extend(annotation);
    let claims = facts.template.as_ref().filter(|_| !facts.is_complete()).map(|of| &of.claims);
    let affected = world.cluster.network.workload(&key, labelled.as_ref(), claims);
    touched.extend(world.cluster.network.subjects(affected));
    if world.cluster.services.workload(&key, labelled) {
        touched.extend(world.cluster.look_at_services(&key.namespace));
    }
    let cron = facts.owner_key().filter(|owner| &*owner.kind == "CronJob");
    touched.extend(world.cluster.given_up(&facts));
    let seen = world.cluster.owners.put(facts, is_known_to_fail, at_start, by_us, now);
    if seen == crate::state::cluster::owners::Seen::Healthy && !is_known_to_fail {
        return touched;
    }
    world.cluster.lookups.outdated(&Lookup::Workload(key.clone()), now);
    touched.extend([Some(key), cron].into_iter().flatten().map(|key| (Subject::Workload(key), Lane::Change)));
    touched
}

pub(in crate::state) fn workload_deleted(
    world: &mut World,
    key: &WorkloadKey,
    now: Timestamp,
) -> crate::state::Touched {
    world.cluster.owners.remove(key);
    world.cluster.objects.remove(key);
    world.cluster.owners.forget_events(key);
    world.cluster.overrides.forget(key);
    world.reported.annotations.forget(&Bearer::Workload(key.clone()));
    let affected = world.cluster.network.workload(key, None, None);
    let mut touched = world.cluster.network.subjects(affected);
    if world.cluster.services.workload(key, None) {
        touched.extend(world.cluster.look_at_services(&key.namespace));
    }
    let object = DiagnosisKey::of_workload(key);
    // A write in flight may be the first one of this diagnosis.
    if !world.reported.workload_records.contains(&object.object)
        && !world.reported.workload_records.is_writing(&object.object)
    {
        // The delayed first diagnosis must not use a stale lookup result. Jobs are kept: their pods find the
        // CronJob through them.
        let lookup = Lookup::Workload(key.clone());
        if &*key.kind != "Job" && world.cluster.lookups.is_requested(&lookup) {
            world.cluster.lookups.store(lookup, LookupResult::Workload(None), now);
        }
        return touched;
    }
    world.cluster.gone_workloads.insert(key.clone());
    touched.push((Subject::Workload(key.clone()), Lane::Change));
    touched
}

/// Whether a workload is kept even if it is settled.
fn is_failing(world: &World, key: &WorkloadKey) -> bool {
    world.reported.has_active_diagnosis(&DiagnosisKey::of_workload(key))
        || world.cluster.workloads.failing(key).next().is_some()
}

/// Whether an annotation of ours may have changed the generation of the workload. A Deployment counts annotation
/// changes; such a change is not news, even before its controller has observed it.
fn is_moved_by_an_annotation(facts: &mut WorkloadFacts) -> bool {
    let is_counted = &*facts.key.kind == "Deployment";
    if is_counted && facts.observed_generation == Some(facts.generation - 1) {
        facts.observed_generation = Some(facts.generation);
    }
    is_counted
}

fn restarts_of(record: &Record) -> Restarted {
    let restarts = record.object.pod_status().and_then(|status| status.restarts.as_ref());
    restarts.map_or_else(Restarted::default, |restarts| Restarted {
        count: restarts.count,
        last: restarts.history.iter().filter_map(|run| run.finished_at).max(),
    })
}

/// Removes the remedies that need the pod, because it is gone.
pub(in crate::state) fn without_its_remedies(mut pod: FailingPod) -> FailingPod {
    pod.remedies.retain(|remedy| !matches!(remedy.operation, Operation::ChangePod | Operation::UsePod));
    pod
}

/// Whether failing pods belong to a template that the ended diagnosis did not report, because another one was rolled
/// out since. Pods of Jobs have no template in this sense.
fn is_of_another_template(key: &WorkloadKey, failing: &[FailingPod], ended: &Object) -> bool {
    let Object::Workload(_, ended) = ended else { return false };
    let was_reported = |name: &str| ended.templates.iter().any(|template| template.template == *name);
    let is_rolled_out = matches!(&*key.kind, "Deployment" | "StatefulSet" | "DaemonSet") && !ended.templates.is_empty();
    is_rolled_out && failing.iter().filter_map(|pod| pod.template.as_deref()).any(|name| !was_reported(name))
}

fn has_no_desired_pods(key: &WorkloadKey, facts: &WorkloadFacts) -> bool {
    let has_pods = facts.object().is_none() && &*key.kind != "CronJob";
    facts.suspended || (facts.desired <= 0 && has_pods)
}

/// Updates the status of a workload that recovered. The cause and its pods stay; the remedies, the served impact and
/// the template changes are cleared because they no longer apply.
fn set_recovered(status: &mut WorkloadDiagnosisStatus, key: &WorkloadKey, facts: Option<&WorkloadFacts>, ready: u32) {
    let is_object = facts.is_some_and(|facts| facts.object().is_some());
    let runs_to_an_end = is_object || matches!(&*key.kind, "Job" | "CronJob");
    let desired = facts.map_or(status.pods.desired, |facts| u32::try_from(facts.desired).unwrap_or(0));
    status.head.summary = match facts {
        Some(facts) if facts.suspended => "it is suspended".to_owned(),
        Some(facts) if has_no_desired_pods(key, facts) => "its desired number of pods is zero".to_owned(),
        Some(facts) if facts.is_complete() => "the Job is complete".to_owned(),
        Some(facts) if facts.last_successful.is_some_and(|at| Some(at) >= status.head.first_seen) => {
            "a run has succeeded".to_owned()
        }
        _ if runs_to_an_end => "it is healthy again".to_owned(),
        _ if (ready, desired) == (1, 1) => "its only pod is ready".to_owned(),
        _ => format!("{ready} of {desired} pods are ready"),
    };
    NO_PROBLEM.clone_into(&mut status.problem);
    // Pods that still exist are being scaled down.
    let ready = if facts.is_some_and(|facts| has_no_desired_pods(key, facts)) { 0 } else { ready };
    status.head.remedies.clear();
    status.serving = None;
    status.template_changes.clear();
    // Jobs have no pods that should be ready.
    let display = if runs_to_an_end { String::new() } else { format!("{ready}/{desired}") };
    status.pods = PodCounts { desired, ready, failing: 0, display };
}

fn status_of(failure: WorkloadFailure, failing: &[FailingPod]) -> WorkloadDiagnosisStatus {
    let category = failure.category.as_str();
    // The outage of a node may have begun before its pods failed for another reason.
    let is_of_it = |pod: &&FailingPod| pod.category != Category::Node || failure.category == Category::Node;
    let pods_fail = failing.iter().filter(is_of_it).filter_map(|pod| pod.since).min();
    WorkloadDiagnosisStatus {
        head: Head {
            remedies: failure.remedies.into_iter().map(Into::into).collect(),
            evidence: failure.evidence,
            first_seen: pods_fail.into_iter().chain(failure.since).min(),
            ..Head::active(&failure.cause, category, failure.severity, failure.confidence, failure.summary)
        },
        problem: failure.problem.to_owned(),
        container: failure.container,
        pods: failure.pods,
        causes: failure.causes,
        serving: failure.serving,
        template_changes: failure.template_changes,
        templates: Vec::new(),
        root: None,
        folded_events: 0,
        past_failures: Vec::new(),
    }
}
