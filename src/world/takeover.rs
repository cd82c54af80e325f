//! What a replica does that has followed so far and is to write now: what it knows of the cluster stands, what it believes
//! to be written is replaced by what is.

use std::collections::HashSet;
use std::sync::Arc;

use super::outers::Outers;
use super::records::Records;
use super::{Change, Decision, Source, Touched, World, ledger, reach, stories};
use super::{earliest, folds, lookups, strays};
use crate::diagnosis::Ledger;
use crate::facts::{ObjectKey, Timestamp, Want, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::plan::Plan;

/// A pod whose facts were asked for is looked at again after so many seconds, whether or not they came.
const ASK_AGAIN: i64 = 30;

/// What is in doubt after a takeover.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// What the watch of our objects said while these were read.
    meanwhile: Option<Vec<Change>>,
    /// Workloads with a diagnosis of which nothing is kept: they are settled, or were deleted while another replica led.
    workloads: HashSet<WorkloadKey>,
}

impl Doubts {
    pub(super) fn kept(&self) -> usize {
        self.workloads.len() + self.meanwhile.as_ref().map_or(0, Vec::len)
    }
}

impl World {
    /// Forgets what was written: another replica has led, and all our objects are read back now, by [`Self::restore`] and
    /// [`Self::restore_outer`], until [`Self::took_over`].
    pub fn begin_takeover(&mut self) {
        self.records.all().for_each(|record| self.workloads.unset_failing(record));
        self.records = Records::new(self.records.caps());
        self.node_objects = Outers::default();
        self.workload_objects = Outers::default();
        self.reach = reach::Reach::default();
        self.stories = stories::Stories::default();
        self.folds = folds::Folds::default();
        self.gone_workloads.clear();
        self.spared = strays::Spared::default();
        self.annotations.forget_written();
        self.lookups = lookups::Lookups::default();
        self.doubts = Doubts { meanwhile: Some(Vec::new()), workloads: HashSet::new() };
    }

    /// Keeps what is said of our own objects while they are read, until all of them are.
    pub(super) fn put_off(&mut self, change: Change) -> Option<Change> {
        let is_of_ours = matches!(
            change,
            Change::Object { .. }
                | Change::ObjectDeleted(_)
                | Change::ListStarted(Source::Objects(_))
                | Change::ListDone(Source::Objects(_))
        );
        match &mut self.doubts.meanwhile {
            Some(meanwhile) if is_of_ours => {
                meanwhile.push(change);
                None
            }
            _ => Some(change),
        }
    }

    /// All our objects were read: whatever may have something to tell is looked at.
    pub fn took_over(&mut self, now: Timestamp) -> Touched {
        let meanwhile = self.doubts.meanwhile.take().unwrap_or_default();
        let mut touched: Touched = meanwhile.into_iter().flat_map(|change| self.apply(change, now)).collect();
        self.doubts.workloads =
            self.workload_objects.workloads().filter(|key| self.owners.get(key).is_none()).collect();
        let unwell: Vec<Arc<str>> = self.pods.all_unwell().collect();
        for uid in unwell {
            let Some(key) = self.pods.place(&uid).map(super::pods::Place::key) else { continue };
            let is_known = self.records.brief(&key).is_some_and(|record| record.is_active_of(&uid));
            if is_known {
                self.pods.remember(&uid, self.records.history(&key, &uid));
            }
            touched.push((Subject::Pod(uid), if is_known { Lane::Resync } else { Lane::NewFailure }));
        }
        touched.extend(self.outer_subjects().into_iter().map(|subject| (subject, Lane::Resync)));
        touched.extend(self.all_annotations());
        touched
    }

    /// While another replica led, a pod may have become well whose diagnosis is Active still: of such a pod only a few words
    /// are kept. All of it is read once, as otherwise nothing would ever be decided for it.
    pub(super) fn with_its_pod(&mut self, key: &ObjectKey, plan: Plan, now: Timestamp) -> Decision {
        let subject = Subject::Object(key.clone());
        let active = self.records.brief(key).filter(|record| record.is_active());
        let slim = active.filter(|record| self.pods.is_slim(&record.pod_uid));
        let node = slim.and_then(|record| self.pods.place(&record.pod_uid)).and_then(|place| place.node.clone());
        let Some(node) = node else {
            self.lookups.forget(&subject);
            return plan.into();
        };
        let mut decision = self.look_for(&subject, vec![(Want::PodsOn(node), Timestamp::UNIX_EPOCH)], now);
        let wake = earliest(decision.plan.wake, Some(after(now, ASK_AGAIN)));
        decision.plan = Plan { wake: earliest(plan.wake, wake), ..plan };
        decision
    }

    /// Asks whether a workload is there of which nothing is kept, where that is in doubt.
    pub(super) fn dispel_doubt(&mut self, key: &WorkloadKey, now: Timestamp) -> Option<Decision> {
        if !self.doubts.workloads.contains(key) {
            return None;
        }
        if self.lookups.is_there(key) || self.lookups.is_not_there(key) {
            self.doubts.workloads.remove(key);
            return None;
        }
        let wants = vec![(Want::Workload(key.clone()), Timestamp::UNIX_EPOCH)];
        Some(self.look_for(&Subject::Workload(key.clone()), wants, now))
    }
}

impl super::pods::Pods {
    /// Adds what an object of ours remembers of a pod's runs.
    fn remember(&mut self, uid: &str, past: Ledger) {
        let Some(mut pod) = self.full(uid).filter(|_| !past.runs.is_empty()) else { return };
        ledger::merge(&mut pod.ledger, past);
        self.keep(&pod);
    }
}
