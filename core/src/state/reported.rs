//! What was reported: our objects as the API server acknowledged them, Events, and what was remembered for them.

pub(in crate::state) mod annotations;
pub(in crate::state) mod caps;
pub(in crate::state) mod drift;
pub(in crate::state) mod ended;
pub(in crate::state) mod event_aggregation;
pub(in crate::state) mod failure_history;
pub(in crate::state) mod orphans;
pub(in crate::state) mod reach;
pub(in crate::state) mod records;
pub(in crate::state) mod summary_entry;
pub(in crate::state) mod uncertain;
pub(in crate::state) mod undiagnosed_failures;

use std::collections::HashMap;
use std::sync::Arc;

use self::annotations::Annotations;
use self::caps::Capacity;
use self::event_aggregation::EventAggregation;
use self::failure_history::FailureHistory;
use self::orphans::Spared;
use self::reach::{Reach, SharedRoot};
use self::records::Records;
use self::uncertain::UncertainState;
use self::undiagnosed_failures::UndiagnosedFailures;
use super::cluster::lookups;
use super::{Caps, Change, Source, SummaryEntry, Touched};
use crate::api::{DiagnosisKind, DiagnosisState, WorkloadDiagnosisStatus};
use crate::case::Observed;
use crate::facts::{ObjectKey, PodFacts, Timestamp, WorkloadFacts, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::reconcile;
use crate::reconcile::{DiagnosisKey, Object, Record};

/// The longest that an Active diagnosis without failing pods waits for the next failing pod before it recovers, in
/// seconds.
const BETWEEN_PODS: i64 = 600;

/// How long writes to a namespace are suspended after one was refused because the namespace is terminating, in seconds.
pub(super) const SUSPENDED_FOR: i64 = 60;

/// What was reported.
#[derive(Debug)]
pub struct Reported {
    pub(in crate::state) pod_records: Records,
    pub(in crate::state) node_records: Records,
    pub(in crate::state) workload_records: Records,
    pub(in crate::state) capacity: Capacity,
    pub(in crate::state) failure_history: FailureHistory,
    pub(in crate::state) event_aggregation: EventAggregation,
    pub(in crate::state) undiagnosed_failures: UndiagnosedFailures,
    pub(in crate::state) reach: Reach,
    /// Namespaces that are being deleted, with the time of the refused write. Writes to them are suspended.
    pub(in crate::state) suspended_namespaces: HashMap<Arc<str>, Timestamp>,
    pub(in crate::state) uncertain: UncertainState,
    pub(in crate::state) spared: Spared,
    pub annotations: Annotations,
}

impl Reported {
    pub(in crate::state) fn new(caps: Caps) -> Self {
        Self {
            pod_records: Records::new(DiagnosisKind::Pod),
            node_records: Records::new(DiagnosisKind::Node),
            workload_records: Records::new(DiagnosisKind::Workload),
            capacity: Capacity::new(caps),
            failure_history: FailureHistory::default(),
            event_aggregation: EventAggregation::default(),
            undiagnosed_failures: UndiagnosedFailures::default(),
            reach: Reach::default(),
            suspended_namespaces: HashMap::new(),
            uncertain: UncertainState::default(),
            spared: Spared::default(),
            annotations: Annotations::default(),
        }
    }

    pub(in crate::state) fn records(&self, kind: DiagnosisKind) -> &Records {
        match kind {
            DiagnosisKind::Pod => &self.pod_records,
            DiagnosisKind::Node => &self.node_records,
            DiagnosisKind::Workload => &self.workload_records,
        }
    }

    pub(in crate::state) fn records_mut(&mut self, kind: DiagnosisKind) -> &mut Records {
        match kind {
            DiagnosisKind::Pod => &mut self.pod_records,
            DiagnosisKind::Node => &mut self.node_records,
            DiagnosisKind::Workload => &mut self.workload_records,
        }
    }

    /// The last acknowledged diagnosis.
    pub fn summary_entry(&self, key: &DiagnosisKey) -> Option<&SummaryEntry> {
        self.records(key.kind).summary_entry(&key.object)
    }

    /// All last acknowledged diagnoses.
    pub fn summary_entries(&self) -> impl Iterator<Item = &SummaryEntry> {
        DiagnosisKind::ALL.into_iter().flat_map(|kind| self.records(kind).all())
    }

    /// Number of failures that got an Event but no object, because their namespace has reached its cap with Active
    /// diagnoses.
    pub fn beyond_caps(&self) -> usize {
        self.capacity.beyond_caps()
    }

    /// Whether the diagnosis of this pod names the node as its root.
    pub(in crate::state) fn is_affected_by(&self, node: &str, pod: &crate::facts::ObjectKey) -> bool {
        self.pod_records.summary_entry(pod).and_then(SummaryEntry::failed_node).is_some_and(|from| *from == *node)
    }

    /// The earliest time of lookup results that are valid for this failure. For pods found at the start, any result
    /// after that is valid. Known failures are refreshed on their own schedule.
    pub(in crate::state) fn fresh_from(&self, pod: &PodFacts, observed: Observed) -> Timestamp {
        if observed.at_start {
            return observed.first;
        }
        let active = self.pod_records.summary_entry(&pod.key).filter(|record| record.is_active_of(&pod.uid));
        let began = active.and_then(|r| r.last_transition).unwrap_or(observed.situation_since);
        after(began, lookups::SETTLE)
    }

    /// Restores the failure history and the Event count from the diagnosis of a workload.
    pub(in crate::state) fn restore_workload(&mut self, record: &Record, status: &WorkloadDiagnosisStatus) {
        let Some(workload) = record.object.workload() else { return };
        let key = WorkloadKey::of(workload, &record.key.object.namespace);
        self.failure_history.restore(key.clone(), &status.templates);
        self.event_aggregation.restore(key, status.folded_events);
    }

    /// The status of the workload's Active diagnosis, if it is for the workload with this UID.
    pub(in crate::state) fn active_status(&self, object: &DiagnosisKey, uid: &str) -> Option<WorkloadDiagnosisStatus> {
        let record = self.workload_records.get(&object.object).filter(|record| record.object.subject_uid() == uid)?;
        match record.object {
            Object::Workload(_, status) if status.head.state == DiagnosisState::Active => Some(status),
            _ => None,
        }
    }

    /// Until when a workload without failing pods is considered to be between two failures, because it lacks some of
    /// its desired pods.
    pub(in crate::state) fn waits_for_pods(
        &mut self,
        key: &WorkloadKey,
        facts: &WorkloadFacts,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let runs_to_an_end = matches!(&*key.kind, "Job" | "CronJob");
        if runs_to_an_end || facts.desired <= 0 || facts.is_settled() {
            return None;
        }
        let until = after(self.failure_history.no_failures_since(key, now), BETWEEN_PODS);
        (now < until).then_some(until)
    }

    /// Whether this diagnosis is Active, regardless of the workload's UID.
    pub(in crate::state) fn has_active_diagnosis(&self, object: &DiagnosisKey) -> bool {
        self.workload_records.summary_entry(&object.object).is_some_and(SummaryEntry::is_active)
    }

    /// Defers changes of our own objects until all of them are restored.
    pub(in crate::state) fn defer(&mut self, change: Change) -> Option<Change> {
        let is_of_ours = matches!(
            change,
            Change::Object { .. }
                | Change::ObjectDeleted(_)
                | Change::ListStarted(Source::Objects(_))
                | Change::ListDone(Source::Objects(_))
        );
        match &mut self.uncertain.deferred {
            Some(deferred) if is_of_ours => {
                deferred.push(change);
                None
            }
            _ => Some(change),
        }
    }

    pub(in crate::state) fn begin_write(&mut self, key: &DiagnosisKey, now: Timestamp) {
        self.records_mut(key.kind).begin_write(&key.object, now);
    }

    /// When the suspension of writes to a namespace ends.
    pub(in crate::state) fn suspension_end(&mut self, namespace: &Arc<str>, now: Timestamp) -> Option<Timestamp> {
        let open = after(*self.suspended_namespaces.get(namespace)?, SUSPENDED_FOR);
        if now >= open {
            self.suspended_namespaces.remove(namespace);
            return None;
        }
        Some(open)
    }

    /// A planned write failed.
    pub fn not_written(&mut self, key: &DiagnosisKey) -> Touched {
        if key.kind == DiagnosisKind::Pod {
            self.capacity.not_written(&key.object);
        }
        self.records_mut(key.kind).not_written(&key.object)
    }

    pub(in crate::state) fn workload_acknowledged(&mut self, key: &ObjectKey, now: Timestamp) -> Touched {
        let Some(record) = self.workload_records.get(key) else { return Vec::new() };
        self.reach.set_refused(&record);
        let Object::Workload(spec, WorkloadDiagnosisStatus { head, root: Some(reach), .. }) = &record.object else {
            return Vec::new();
        };
        let workload = WorkloadKey::of(&spec.workload, &key.namespace);
        let shared = SharedRoot { root: &reach.root, cause: &head.cause, exceeded: &record.composition.exceeded };
        let reporter = self.reach.reported_by_another(shared, &workload, now).cloned();
        reporter.map(|reporter| (Subject::Workload(reporter), Lane::Resync)).into_iter().collect()
    }

    /// The other workload that reported the root of this pod. Its diagnosis includes the impact of the root.
    pub(in crate::state) fn other_reporter(&self, record: &SummaryEntry, now: Timestamp) -> Option<(Subject, Lane)> {
        let (root, workload) = (record.root.as_ref()?, record.workload.as_ref()?);
        let shared = SharedRoot { root, cause: &record.cause, exceeded: "" };
        let reporter = self.reach.reported_by_another(shared, workload, now)?;
        Some((Subject::Workload(reporter.clone()), Lane::Resync))
    }

    /// The pending Event of this transition was emitted.
    pub fn announced(&mut self, key: &DiagnosisKey, transition: u32) {
        self.records_mut(key.kind).announced(&key.object, transition);
    }

    /// The pending Event of an object was found in the cluster, or was emitted without a write.
    pub fn owed_is_there(&mut self, key: &DiagnosisKey, event: &ObjectKey) {
        let record = self.records(key.kind).get(&key.object);
        let owed = record.filter(|record| reconcile::event_key(key, &record.object) == *event);
        if let Some(transition) = owed.map(|record| record.object.head().transition) {
            self.announced(key, transition);
        }
    }

    /// The Event of a failure without an object was emitted.
    pub fn announced_without_object(&mut self, pod_uid: &str) {
        self.capacity.announced_unrecorded(pod_uid);
    }
}
