//! What pods of Jobs failed of that went before they had a diagnosis: under restartPolicy OnFailure a Job deletes its pod
//! the moment it gives up, and nothing else tells why.

use std::collections::HashMap;
use std::sync::Arc;

use super::World;
use super::about_workloads::without_its_commands;
use crate::diagnosis::{Case, Category, FailingPod, GonePod, Health, diagnose, immediate_workload};
use crate::facts::{Container, Phase, PodFacts, State, Timestamp, WorkloadKey, after, seconds_between};

/// So many seconds: until its Job is told, whose diagnosis keeps it from then on.
const KEPT: i64 = 300;
/// What rules wait for an Event that is not there yet is less, in seconds.
const NOTHING_MORE_COMES: i64 = 15;
/// The most pods of a Job.
const PODS: usize = 2;

#[derive(Debug, Default)]
pub(super) struct LastWords(HashMap<WorkloadKey, Vec<GonePod>>);

impl LastWords {
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
}

impl World {
    /// A pod is about to be forgotten.
    pub(super) fn hear_last_words(&mut self, uid: &Arc<str>, now: Timestamp) {
        let Some(pod) = self.pods.full(uid) else { return };
        let Some(job) = immediate_workload(&pod.facts).filter(|own| &*own.kind == "Job") else { return };
        if self.records.brief(&pod.facts.key).is_some_and(|record| *record.pod_uid == **uid) {
            return;
        }
        let Some(facts) = before_it_went(&pod.facts) else { return };
        // As if all that rules wait for had come: nothing more will.
        let surroundings = self.surroundings(&pod, now);
        let case = Case { pod: &facts, ..self.case_with(&pod, &surroundings, after(now, NOTHING_MORE_COMES)) };
        let Health::Failing(found) = diagnose(&case).health else { return };
        // Anything else is of its end.
        if found.category == Category::Crash {
            let pod = FailingPod { since: Some(now), ready: false, ..FailingPod::of(&pod.facts, *found) };
            let pod = without_its_commands(pod);
            self.last_words.keep(job, GonePod { pod, at: now });
        }
    }
}

/// A pod as it was between its last restart and its deletion, which is taken for the reason of whatever ends at about that
/// time. `None`: none of its containers had failed.
fn before_it_went(pod: &PodFacts) -> Option<PodFacts> {
    let mut facts = pod.clone();
    (facts.deletion, facts.phase) = (None, Phase::Running);
    for container in &mut facts.containers {
        container.state = match (&container.last, &container.state) {
            (Some(_), _) => State::Waiting { reason: "CrashLoopBackOff".to_owned(), message: String::new() },
            (None, State::Terminated(_)) => State::Running { started_at: None },
            (None, state) => state.clone(),
        };
    }
    let has_failed = |container: &Container| container.last.as_ref().is_some_and(|end| end.exit_code != 0);
    facts.containers.iter().any(has_failed).then_some(facts)
}
