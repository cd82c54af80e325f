//! What pods of Jobs failed of that went before they had a diagnosis: under restartPolicy OnFailure a Job deletes its pod
//! the moment it gives up, and nothing else tells why.
//!
//! They are heard when the deletion is first seen, from what was known before it: while a pod goes, its kubelet tells of the
//! end that the deletion made, and forgets the ones before.

use std::collections::HashMap;
use std::sync::Arc;

use super::World;
use super::about_workloads::without_its_commands;
use crate::diagnosis::{Case, FailingPod, GonePod, Health, diagnose, immediate_workload};
use crate::facts::{Timestamp, WorkloadKey, after, seconds_between};

/// So many seconds: until its Job is told, whose diagnosis keeps it from then on.
const KEPT: i64 = 300;
/// What rules wait for an Event that is not there yet is less, in seconds.
const NOTHING_MORE_COMES: i64 = 15;
/// The most pods of a Job.
const PODS: usize = 2;

#[derive(Debug, Default)]
pub(super) struct LastWords(HashMap<WorkloadKey, Vec<GonePod>>);

impl LastWords {
    pub(super) fn kept(&self) -> usize {
        self.0.len()
    }

    pub(super) fn of(&self, job: &WorkloadKey) -> impl Iterator<Item = GonePod> {
        self.0.get(job).into_iter().flatten().cloned()
    }

    fn keep(&mut self, job: WorkloadKey, gone: GonePod) {
        self.0.retain(|_, pods| {
            pods.retain(|old| seconds_between(old.at, gone.at) < KEPT);
            !pods.is_empty()
        });
        let pods = self.0.entry(job).or_default();
        if pods.len() < PODS {
            pods.push(gone);
        }
    }

    /// The pod was still there.
    fn seen(&mut self, job: &WorkloadKey, uid: &str, now: Timestamp) {
        let pods = self.0.get_mut(job).into_iter().flatten();
        pods.filter(|gone| &*gone.pod.uid == uid).for_each(|gone| gone.at = now);
    }
}

impl World {
    /// A pod is about to go, or to be forgotten; what is known of it is from before that.
    pub(super) fn hear_last_words(&mut self, uid: &Arc<str>, now: Timestamp) {
        let Some(pod) = self.pods.full(uid) else { return };
        let Some(job) = immediate_workload(&pod.facts).filter(|own| &*own.kind == "Job") else { return };
        if pod.facts.deletion.is_some() {
            self.last_words.seen(&job, uid, now);
            return;
        }
        if self.records.brief(&pod.facts.key).is_some_and(|record| record.is_active_of(uid)) {
            return;
        }
        // As if all that rules wait for had come: nothing more will.
        let surroundings = self.surroundings(&pod, now);
        let case = self.case_with(&pod, &surroundings, after(now, NOTHING_MORE_COMES));
        let Health::Failing(found) = diagnose(&case).health else { return };
        // What else may be wrong with it is not what its Job gave up for.
        if has_failed(&case, found.container.as_deref()) {
            let pod = FailingPod { since: Some(now), ready: false, ..FailingPod::of(&pod.facts, *found) };
            let pod = without_its_commands(pod);
            self.last_words.keep(job, GonePod { pod, at: now });
        }
    }
}

fn has_failed(case: &Case<'_>, container: Option<&str>) -> bool {
    let container = container.and_then(|name| case.pod.container(name));
    container.and_then(|container| container.last_end()).is_some_and(|end| end.exit_code != 0)
}
