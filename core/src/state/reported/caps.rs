//! Caps on the number of pod diagnoses: of a namespace, and of the same failure of a workload.

use std::collections::HashMap;
use std::sync::Arc;

use super::records::Records;
use super::summary_entry::SummaryEntry;
use crate::api::{DiagnosisKind, DiagnosisState};
use crate::facts::{ObjectKey, WorkloadKey};
use crate::outbox::{Lane, Subject};
use crate::reconcile::{Intent, Object, Plan, Write};
use crate::state::Touched;

/// Limits on the number of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub per_namespace: usize,
    /// Ended diagnoses with the same workload, container and cause.
    pub ended_per_failure: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { per_namespace: 500, ended_per_failure: 3 }
    }
}

/// What the caps require: diagnoses to replace, and failures that get no object.
#[derive(Debug)]
pub(in crate::state) struct Capacity {
    caps: Caps,
    /// Ended diagnoses that a pending write replaces, once it is acknowledged.
    replaced_by: HashMap<ObjectKey, Vec<ObjectKey>>,
    /// Failures without an object, by pod UID: the cause, and whether its Event was emitted.
    unrecorded: HashMap<Arc<str>, (String, bool)>,
}

impl Capacity {
    pub(in crate::state) fn new(caps: Caps) -> Self {
        Self { caps, replaced_by: HashMap::new(), unrecorded: HashMap::new() }
    }

    pub(in crate::state) fn kept(&self) -> usize {
        self.unrecorded.len() + self.replaced_by.len()
    }

    pub(in crate::state) fn caps(&self) -> Caps {
        self.caps
    }

    pub(in crate::state) fn beyond_caps(&self) -> usize {
        self.unrecorded.len()
    }

    /// Forgets the failure without an object of a pod that is gone or recovered.
    pub(in crate::state) fn forget_pod(&mut self, uid: &str) {
        self.unrecorded.remove(uid);
    }

    /// The Event of a failure without an object was emitted.
    pub(in crate::state) fn announced_unrecorded(&mut self, uid: &str) {
        if let Some((_, is_announced)) = self.unrecorded.get_mut(uid) {
            *is_announced = true;
        }
    }

    /// Whether the plan is for a failure without an object whose Event was already emitted.
    pub(in crate::state) fn is_announced(&self, plan: &Plan) -> bool {
        let Some(Intent::Apply(write)) = &plan.intent else { return false };
        let known = self.unrecorded.get(write.object.subject_uid());
        known.is_some_and(|(cause, is_announced)| *is_announced && *cause == write.object.head().cause)
    }

    /// Applies the caps to a plan. Returns the other subjects to check. `aggregated`: the Event was aggregated.
    pub(in crate::state) fn within_caps(
        &mut self,
        mut plan: Plan,
        aggregated: bool,
        records: &mut Records,
    ) -> (Plan, Touched) {
        let Some(Intent::Apply(write)) = &mut plan.intent else { return (plan, Vec::new()) };
        if write.key.kind != DiagnosisKind::Pod {
            return (plan, Vec::new());
        }
        if records.contains(&write.key.object) {
            if write.object.head().state != DiagnosisState::Active {
                self.stand_for_others(write, records);
            }
            return (plan, Vec::new());
        }
        self.room_for_another(plan, aggregated, records)
    }

    /// Applies the cap of the namespace to a new object. If it is full, the oldest ended diagnosis is evicted; if all
    /// are Active, the failure gets an Event only.
    fn room_for_another(&mut self, mut plan: Plan, aggregated: bool, records: &mut Records) -> (Plan, Touched) {
        let is_announced = aggregated || self.is_announced(&plan);
        let Some(Intent::Apply(write)) = &mut plan.intent else { return (plan, Vec::new()) };
        let namespace = &write.key.object.namespace;
        let there = records.number_in_namespace(namespace);
        // Objects to be evicted count as removed, and first writes in flight count as present.
        let going = records.number_of_evicted(namespace);
        let coming = records.first_writes().filter(|key| key.namespace == *namespace).count();
        if there + coming - going.min(there) < self.caps.per_namespace {
            self.unrecorded.remove(write.object.subject_uid());
            return (plan, Vec::new());
        }
        if let Some(key) = records.oldest_ended(namespace).cloned() {
            self.unrecorded.remove(write.object.subject_uid());
            records.evict(&key);
            return (plan, vec![(Subject::Object(key.into()), Lane::Resync)]);
        }
        let uid: Arc<str> = write.object.subject_uid().into();
        let announcement = write.announcement.take().filter(|_| !is_announced);
        self.unrecorded.insert(uid, (write.object.head().cause.clone(), is_announced));
        plan.intent = announcement.map(|mut announcement| {
            announcement.related = None;
            Intent::Announce(Box::new(announcement))
        });
        (plan, Vec::new())
    }

    /// A write of this object was acknowledged. Evicts the diagnoses that it replaces, and returns them.
    pub(in crate::state) fn acknowledged(&mut self, key: &ObjectKey, records: &mut Records) -> Touched {
        let mut others = self.replaced_by.remove(key).unwrap_or_default();
        // An object may have been deleted externally since.
        others.retain(|key| records.contains(key));
        others.iter().for_each(|key| records.evict(key));
        others.into_iter().map(|key| (Subject::Object(key.into()), Lane::Resync)).collect()
    }

    /// A planned write of this object failed, or the object was removed.
    pub(in crate::state) fn not_written(&mut self, key: &ObjectKey) {
        self.replaced_by.remove(key);
    }

    /// Replaces the oldest ended diagnoses of the same failure beyond the cap, and adds their repeats to this one.
    fn stand_for_others(&mut self, write: &mut Write, records: &Records) {
        let Object::Pod(spec, status) = &mut write.object else { return };
        let key = &write.key.object;
        let Some(workload) = spec.workload.as_ref().map(|own| WorkloadKey::of(own, &key.namespace)) else { return };
        let taken = |key: &ObjectKey| records.is_evicted(key) || self.replaced_by.values().flatten().any(|k| k == key);
        let mut ended: Vec<&SummaryEntry> = records
            .ended_of(&workload)
            .filter(|other| {
                other.key != *key
                    && other.workload.as_ref() == Some(&workload)
                    && other.cause == status.head.cause
                    && other.container.as_deref() == status.container.as_deref()
                    && !taken(&other.key)
            })
            .collect();
        ended.sort_by_key(|other| other.last_transition);
        let excess = (ended.len() + 1).saturating_sub(self.caps.ended_per_failure).min(ended.len());
        let others = &ended[..excess];
        status.repeats += others.iter().map(|other| other.repeats + 1).sum::<u32>();
        // Keeps the failure from being announced again within the quiet period.
        status.head.announced |= others.iter().any(|other| other.announced);
        let others: Vec<ObjectKey> = others.iter().map(|other| other.key.clone()).collect();
        if !others.is_empty() {
            self.replaced_by.insert(key.clone(), others);
        }
    }
}
