//! Becoming the leader: the known cluster state stays valid, the known diagnoses are replaced by the stored ones.

use std::collections::HashSet;
use std::sync::Arc;

use super::cluster::lookups;
use super::reported::caps::Capacity;
use super::reported::records::Records;
use super::reported::uncertain::UncertainState;
use super::reported::{event_aggregation, failure_history, orphans, reach};
use super::writes::uncount;
use super::{Decision, Touched, World, decide, earliest};
use crate::api::DiagnosisKind;
use crate::facts::{Lookup, ObjectKey, Timestamp, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::reconcile::Plan;

/// A pod whose facts were requested is checked again after this many seconds, whether or not they arrived.
const RECHECK_AFTER: i64 = 30;

impl World {
    /// Forgets all diagnoses, because another replica was the leader. All of them are restored through
    /// [`Self::restore`], until [`Self::took_over`].
    pub fn begin_restore(&mut self) {
        self.reported.pod_records.all().for_each(|record| uncount(&mut self.cluster.workloads, record));
        self.reported.pod_records = Records::new(DiagnosisKind::Pod);
        self.reported.capacity = Capacity::new(self.reported.capacity.caps());
        self.reported.node_records = Records::new(DiagnosisKind::Node);
        self.reported.workload_records = Records::new(DiagnosisKind::Workload);
        self.reported.reach = reach::Reach::default();
        self.reported.failure_history = failure_history::FailureHistory::default();
        self.reported.event_aggregation = event_aggregation::EventAggregation::default();
        self.cluster.gone_workloads.clear();
        self.reported.spared = orphans::Spared::default();
        self.reported.annotations.forget_written();
        self.cluster.lookups = lookups::Lookups::default();
        self.reported.uncertain = UncertainState { deferred: Some(Vec::new()), workloads: HashSet::new() };
    }

    /// Ends the restore. Returns all subjects that may need a diagnosis or a change of one.
    pub fn took_over(&mut self, now: Timestamp) -> Touched {
        let deferred = self.reported.uncertain.deferred.take().unwrap_or_default();
        let mut touched: Touched = deferred.into_iter().flat_map(|change| self.apply(change, now)).collect();
        self.reported.uncertain.workloads =
            self.reported.workload_records.workloads().filter(|key| self.cluster.owners.get(key).is_none()).collect();
        let unhealthy: Vec<Arc<str>> = self.cluster.pods.unhealthy_uids().collect();
        for uid in unhealthy {
            let Some(key) = self.cluster.pods.place(&uid).map(crate::state::cluster::pods::Place::key) else {
                continue;
            };
            let is_known =
                self.reported.pod_records.summary_entry(&key).is_some_and(|record| record.is_active_of(&uid));
            if is_known {
                self.cluster.pods.remember(&uid, self.reported.pod_records.history(&key, &uid));
            }
            touched.push((Subject::Pod(uid), if is_known { Lane::Resync } else { Lane::NewFailure }));
        }
        decide::network::pods_restored(self);
        touched.extend(self.regular_subjects().into_iter().map(|subject| (subject, Lane::Resync)));
        touched.extend(self.reported.all_annotations());
        touched
    }

    /// While another replica was the leader, a pod may have recovered whose diagnosis is still Active. Only a slim
    /// entry of it is kept, so its facts are read once; otherwise its diagnosis would never end.
    pub(super) fn with_pod_lookup(&mut self, key: &ObjectKey, plan: Plan, now: Timestamp) -> Decision {
        let subject = Subject::Object(key.clone().into());
        let active = self.reported.pod_records.summary_entry(key).filter(|record| record.is_active());
        let slim = active.filter(|record| self.cluster.pods.is_slim(&record.subject_uid));
        let node = slim
            .and_then(|record| self.cluster.pods.place(&record.subject_uid))
            .and_then(|place| place.node.as_deref().cloned());
        let Some(node) = node else {
            self.cluster.lookups.forget(&subject);
            return plan.into();
        };
        let mut decision =
            self.cluster.request_lookups(&subject, vec![(Lookup::PodsOn(node), Timestamp::UNIX_EPOCH)], now);
        let wake = earliest(decision.plan.wake, Some(after(now, RECHECK_AFTER)));
        decision.plan = Plan { wake: earliest(plan.wake, wake), ..plan };
        decision
    }

    /// Looks up a diagnosed workload that is not kept, if it may have been deleted.
    pub(super) fn verify_existence(&mut self, key: &WorkloadKey, now: Timestamp) -> Option<Decision> {
        if !self.reported.uncertain.workloads.contains(key) {
            return None;
        }
        if self.cluster.lookups.is_there(key) || self.cluster.lookups.is_not_there(key) {
            self.reported.uncertain.workloads.remove(key);
            return None;
        }
        let needed_lookups = vec![(Lookup::Workload(key.clone()), Timestamp::UNIX_EPOCH)];
        Some(self.cluster.request_lookups(&Subject::Workload(key.clone()), needed_lookups, now))
    }
}
