//! What each failing workload has been through, template by template: pods that were replaced are not forgotten.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::TemplateLedger;
use crate::diagnosis::FailingPod;
use crate::facts::{Timestamp, WorkloadKey, after};

/// Templates that are remembered and, of each, pods that do not fail any more.
const TEMPLATES: usize = 5;
const PODS: usize = 500;
/// A workload with more failing pods than this is judged less often than once a second, and with many, once in so many
/// seconds.
const PODS_A_SECOND: usize = 100;
const LONGEST_REST: i64 = 10;

#[derive(Debug, Default)]
pub(super) struct Stories {
    by_workload: HashMap<WorkloadKey, Vec<Chapter>>,
    /// When each workload was first seen to fail, until it is told.
    began: HashMap<WorkloadKey, Timestamp>,
    /// Since when none of the pods of a workload that was told fails.
    calm: HashMap<WorkloadKey, Timestamp>,
    /// When each of those with many failing pods was judged last.
    judged: HashMap<WorkloadKey, Timestamp>,
}

/// One template.
#[derive(Debug)]
struct Chapter {
    ledger: TemplateLedger,
    /// Restarts of each pod that we saw; those that an earlier run of the operator counted are in the ledger alone.
    pods: HashMap<Arc<str>, u32>,
    /// Pods that an earlier run counted are told by the time since when they fail: the newest of them.
    counted_until: Option<Timestamp>,
}

/// A pod that fails, and how often it has restarted.
pub(super) type Restarting<'a> = (&'a FailingPod, Restarted);

/// How often, and when its last run ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Restarted {
    pub(super) count: u32,
    pub(super) last: Option<Timestamp>,
}

impl Stories {
    pub(super) fn kept(&self) -> usize {
        self.by_workload.len() + self.began.len() + self.calm.len() + self.judged.len()
    }

    /// Takes back what the object of a workload remembers.
    pub(super) fn restore(&mut self, key: WorkloadKey, templates: &[TemplateLedger]) {
        let chapter = |ledger: &TemplateLedger| Chapter {
            ledger: ledger.clone(),
            pods: HashMap::new(),
            counted_until: ledger.last_failure,
        };
        self.by_workload.insert(key, templates.iter().map(chapter).collect());
    }

    pub(super) fn forget(&mut self, key: &WorkloadKey) {
        self.by_workload.remove(key);
        self.began.remove(key);
        self.calm.remove(key);
        self.judged.remove(key);
    }

    /// Until when a workload with so many failing pods, which is told already, is not judged again: each of them touches
    /// it, and each judgement looks at all of them. `None`: it is judged now.
    pub(super) fn rests(&mut self, key: &WorkloadKey, failing: usize, now: Timestamp) -> Option<Timestamp> {
        let pause = i64::try_from(failing / PODS_A_SECOND).unwrap_or(LONGEST_REST).min(LONGEST_REST);
        if pause == 0 {
            self.judged.remove(key);
            return None;
        }
        let due = self.judged.get(key).map(|last| after(*last, pause)).filter(|due| now < *due);
        if due.is_none() {
            self.judged.insert(key.clone(), now);
        }
        due
    }

    /// The templates whose pods have failed since the workload did.
    pub(super) fn templates(&self, key: &WorkloadKey) -> Vec<String> {
        let chapters = self.by_workload.get(key).into_iter().flatten();
        chapters.map(|chapter| chapter.ledger.template.clone()).collect()
    }

    /// Since when nothing fails of a workload that was told.
    pub(super) fn calm_since(&mut self, key: &WorkloadKey, now: Timestamp) -> Timestamp {
        *self.calm.entry(key.clone()).or_insert(now)
    }

    /// Since when the workload is seen to fail.
    pub(super) fn began(&mut self, key: &WorkloadKey, now: Timestamp) -> Timestamp {
        *self.began.entry(key.clone()).or_insert(now)
    }

    /// Counts the pods that fail now, and tells all that is known.
    pub(super) fn tell(
        &mut self,
        key: &WorkloadKey,
        failing: &[Restarting<'_>],
        now: Timestamp,
    ) -> Vec<TemplateLedger> {
        self.calm.remove(key);
        let chapters = self.by_workload.entry(key.clone()).or_default();
        for (pod, restarts) in failing {
            let template = pod.template.as_deref().unwrap_or_default();
            let place = chapters.iter().position(|chapter| chapter.ledger.template == template);
            let place = place.unwrap_or_else(|| {
                chapters.push(Chapter::new(template));
                chapters.len() - 1
            });
            chapters[place].count(pod, *restarts, now);
        }
        let fails: HashSet<&Arc<str>> = failing.iter().map(|(pod, _)| &pod.uid).collect();
        for chapter in chapters.iter_mut().filter(|chapter| chapter.pods.len() > PODS) {
            chapter.pods.retain(|uid, _| fails.contains(uid));
        }
        let present: HashSet<&str> = failing.iter().filter_map(|(pod, _)| pod.template.as_deref()).collect();
        while chapters.len() > TEMPLATES {
            let old = chapters.iter().position(|chapter| !present.contains(chapter.ledger.template.as_str()));
            chapters.remove(old.unwrap_or(0));
        }
        chapters.iter().map(|chapter| chapter.ledger.clone()).collect()
    }
}

impl Chapter {
    fn new(template: &str) -> Self {
        let ledger = TemplateLedger { template: template.to_owned(), ..TemplateLedger::default() };
        Self { ledger, pods: HashMap::new(), counted_until: None }
    }

    fn count(&mut self, pod: &FailingPod, restarted: Restarted, now: Timestamp) {
        let (since, restarts) = (pod.since.unwrap_or(now), restarted.count);
        let was_counted = self.counted_until.is_some_and(|until| since <= until);
        let ledger = &mut self.ledger;
        if let Some(before) = self.pods.get_mut(&pod.uid) {
            ledger.restarts += restarts.saturating_sub(*before);
            *before = restarts;
        } else {
            if !was_counted {
                ledger.failed_pods += 1;
                ledger.restarts += restarts;
            }
            self.pods.insert(pod.uid.clone(), restarts);
        }
        ledger.first_failure = Some(ledger.first_failure.map_or(since, |first| first.min(since)));
        let latest = restarted.last.map_or(since, |last| last.min(now).max(since));
        if ledger.last_failure.is_none_or(|last| last <= latest) {
            ledger.last_failure = Some(latest);
            ledger.cause.clone_from(&pod.cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::WorkloadName;

    #[test]
    fn one_with_many_failing_pods_is_judged_less_often_and_never_more_than_ten_seconds_late() {
        let name = WorkloadName {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: "demo".into(),
            name: "web".into(),
        };
        let (mut stories, key) = (Stories::default(), WorkloadKey::from(name));
        let at = |seconds| after(Timestamp::UNIX_EPOCH, seconds);
        for now in 0..3 {
            assert_eq!(stories.rests(&key, 99, at(now)), None);
            assert_eq!(stories.rests(&key, 99, at(now)), None, "each of a few is looked at");
        }
        assert_eq!(stories.rests(&key, 300, at(10)), None, "at once the first time");
        assert_eq!(stories.rests(&key, 300, at(11)), Some(at(13)));
        assert_eq!(stories.rests(&key, 300, at(13)), None);
        assert_eq!(stories.rests(&key, 50_000, at(14)), Some(at(23)));
        assert_eq!(stories.rests(&key, 20, at(15)), None, "when most of them are well it is not kept waiting");
    }
}
