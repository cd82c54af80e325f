//! Failures of Job pods that were deleted before they were diagnosed.

use std::collections::HashMap;

use crate::case::GonePod;
use crate::facts::{Timestamp, WorkloadKey, seconds_between};

/// How long a failure is kept, in seconds. The diagnosis of the Job takes it over within this time.
const KEPT: i64 = 300;
/// Most failed pods kept per Job.
const PODS: usize = 2;

#[derive(Debug, Default)]
pub(in crate::state) struct UndiagnosedFailures(HashMap<WorkloadKey, Vec<GonePod>>);

impl UndiagnosedFailures {
    pub(in crate::state) fn kept(&self) -> usize {
        self.0.len()
    }

    pub(in crate::state) fn of(&self, job: &WorkloadKey) -> impl Iterator<Item = GonePod> {
        self.0.get(job).into_iter().flatten().cloned()
    }

    pub(in crate::state) fn keep(&mut self, job: WorkloadKey, gone: GonePod) {
        self.0.retain(|_, pods| {
            pods.retain(|old| seconds_between(old.at, gone.at) < KEPT);
            !pods.is_empty()
        });
        let pods = self.0.entry(job).or_default();
        if pods.len() < PODS {
            pods.push(gone);
        }
    }

    /// Extends the time of a captured failure, because the pod still exists.
    pub(in crate::state) fn extend(&mut self, job: &WorkloadKey, uid: &str, now: Timestamp) {
        let pods = self.0.get_mut(job).into_iter().flatten();
        pods.filter(|gone| &*gone.pod.uid == uid).for_each(|gone| gone.at = now);
    }
}
