//! What each failing workload has been through, template by template: pods that were replaced are not forgotten.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::TemplateLedger;
use crate::diagnosis::FailingPod;
use crate::facts::{Timestamp, WorkloadKey};

/// Templates that are remembered and, of each, pods that do not fail any more.
const TEMPLATES: usize = 5;
const PODS: usize = 500;

#[derive(Debug, Default)]
pub(super) struct Stories {
    by_workload: HashMap<WorkloadKey, Vec<Chapter>>,
    /// When each workload was first seen to fail, until it is told.
    began: HashMap<WorkloadKey, Timestamp>,
    /// Since when none of the pods of a workload that was told fails.
    calm: HashMap<WorkloadKey, Timestamp>,
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
