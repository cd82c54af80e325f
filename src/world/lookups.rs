//! Answers to what diagnoses wanted to know, kept for a while.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diagnosis::{Observed, immediate_workload, top_workload};
use crate::facts::{
    Looked, PodFacts, ServiceFacts, Siblings, Surroundings, Timestamp, Want, WorkloadFacts, WorkloadKey, after,
};

/// While a pod fails, what lies around it is read again after so many seconds.
const REFRESH: i64 = 300;
/// Endpoints follow a pod's readiness after a moment; an answer from before that would be wrong for five minutes.
const SETTLE: i64 = 2;
/// The same question is asked at most once in so many seconds, however many pods ask.
const SPACING: i64 = 10;

#[derive(Debug, Default)]
pub(super) struct Lookups {
    answers: HashMap<Want, Answer>,
}

#[derive(Debug, Default)]
struct Answer {
    looked: Option<Looked>,
    at: Option<Timestamp>,
    fetched_at: Option<Timestamp>,
    asked_by: HashSet<Arc<str>>,
}

/// Whether a want is to be fetched now, or looked at again later.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Now,
    At(Timestamp),
}

impl Lookups {
    /// When to fetch an answer for a pod in this situation. `Now` is said once: the fetch is then under way.
    pub(super) fn next(&mut self, want: &Want, observed: Observed, now: Timestamp) -> Next {
        let answer = self.answers.entry(want.clone()).or_default();
        let settled = if observed.at_start { observed.first } else { after(observed.situation_since, SETTLE) };
        let due = match answer.at {
            Some(at) if at >= settled => after(at, REFRESH),
            _ => settled,
        };
        let due = answer.fetched_at.map_or(due, |last| due.max(after(last, SPACING)));
        if now < due {
            return Next::At(due);
        }
        answer.fetched_at = Some(now);
        Next::Now
    }

    /// An answer has become wrong: it is fetched anew once its source has had time to follow.
    pub(super) fn outdated(&mut self, want: &Want, now: Timestamp) {
        if let Some(answer) = self.answers.get_mut(want) {
            answer.at = None;
            answer.fetched_at = Some(after(now, SETTLE - SPACING));
        }
    }

    pub(super) fn asked(&mut self, want: &Want, uid: &Arc<str>) {
        self.answers.entry(want.clone()).or_default().asked_by.insert(uid.clone());
    }

    /// The pods that wait for this answer.
    pub(super) fn answered(&mut self, want: Want, looked: Looked, now: Timestamp) -> Vec<Arc<str>> {
        let answer = self.answers.entry(want).or_default();
        answer.looked = Some(looked);
        answer.at = Some(now);
        answer.asked_by.iter().cloned().collect()
    }

    /// A pod is gone: what only it asked for is forgotten.
    pub(super) fn forget(&mut self, uid: &str) {
        self.answers.retain(|_, answer| {
            let asked = answer.asked_by.remove(uid);
            !(asked && answer.asked_by.is_empty())
        });
    }

    /// What is known around a pod.
    pub(super) fn around(&self, pod: &PodFacts, siblings: Siblings) -> Surroundings {
        let job = immediate_workload(pod).filter(|own| &*own.kind == "Job").and_then(|own| self.workload(own));
        let top = top_workload(pod, job.as_ref().and_then(Option::as_ref));
        Surroundings { siblings, workload: top.and_then(|top| self.workload(top)), job, services: self.services(pod) }
    }

    fn workload(&self, key: WorkloadKey) -> Option<Option<WorkloadFacts>> {
        match self.answers.get(&Want::Workload(key))?.looked.as_ref()? {
            Looked::Workload(facts) => Some(facts.as_deref().cloned()),
            Looked::Services(_) | Looked::Pods(_) => None,
        }
    }

    fn services(&self, pod: &PodFacts) -> Option<Vec<ServiceFacts>> {
        match self.answers.get(&Want::Services(pod.key.namespace.clone()))?.looked.as_ref()? {
            Looked::Services(all) => Some(all.iter().filter(|s| s.selects(&pod.labels)).cloned().collect()),
            Looked::Workload(_) | Looked::Pods(_) => None,
        }
    }
}
