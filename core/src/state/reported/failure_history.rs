//! Failure history of each failing workload, by pod template. It includes pods that were replaced.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::TemplateLedger;
use crate::case::FailingPod;
use crate::facts::{Timestamp, WorkloadKey, after};

/// Most templates kept per workload, and most recovered pods kept per template.
const TEMPLATES: usize = 5;
const PODS: usize = 500;
/// A workload with more failing pods than this is diagnosed less often than once a second, with many pods only every
/// `LONGEST_PAUSE` seconds.
const PODS_A_SECOND: usize = 100;
const LONGEST_PAUSE: i64 = 10;

#[derive(Debug, Default)]
pub(in crate::state) struct FailureHistory {
    by_workload: HashMap<WorkloadKey, Vec<HistoryEntry>>,
    /// When each workload without a diagnosis was first seen to fail.
    began: HashMap<WorkloadKey, Timestamp>,
    /// Since when a diagnosed workload has no failing pods.
    no_failures: HashMap<WorkloadKey, Timestamp>,
    /// When each workload with many failing pods was last diagnosed.
    judged: HashMap<WorkloadKey, Timestamp>,
}

/// The history of one template.
#[derive(Debug)]
struct HistoryEntry {
    ledger: TemplateLedger,
    /// Restarts of each pod seen in this run. Restarts counted by an earlier run are only in the ledger.
    pods: HashMap<Arc<str>, u32>,
    /// The newest failure that an earlier run counted. Pods that fail since then or longer are counted already.
    counted_until: Option<Timestamp>,
}

/// A failing pod and its restarts.
pub(in crate::state) type Restarting<'a> = (&'a FailingPod, Restarted);

/// Number of restarts, and the time of the last termination.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::state) struct Restarted {
    pub(in crate::state) count: u32,
    pub(in crate::state) last: Option<Timestamp>,
}

impl FailureHistory {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_workload.len() + self.began.len() + self.no_failures.len() + self.judged.len()
    }

    /// Restores the history from the diagnosis of a workload.
    pub(in crate::state) fn restore(&mut self, key: WorkloadKey, templates: &[TemplateLedger]) {
        let entry = |ledger: &TemplateLedger| HistoryEntry {
            ledger: ledger.clone(),
            pods: HashMap::new(),
            counted_until: ledger.last_failure,
        };
        self.by_workload.insert(key, templates.iter().map(entry).collect());
    }

    pub(in crate::state) fn forget(&mut self, key: &WorkloadKey) {
        self.by_workload.remove(key);
        self.began.remove(key);
        self.no_failures.remove(key);
        self.judged.remove(key);
    }

    /// Until when a diagnosed workload with many failing pods is not diagnosed again. Each pod triggers a check, and
    /// each check examines all of them. `None`: check it now.
    pub(in crate::state) fn paused_until(
        &mut self,
        key: &WorkloadKey,
        failing: usize,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let pause = i64::try_from(failing / PODS_A_SECOND).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
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

    /// The templates whose pods failed since the workload did.
    pub(in crate::state) fn templates(&self, key: &WorkloadKey) -> Vec<String> {
        let entries = self.by_workload.get(key).into_iter().flatten();
        entries.map(|entry| entry.ledger.template.clone()).collect()
    }

    /// Since when a diagnosed workload has no failing pods.
    pub(in crate::state) fn no_failures_since(&mut self, key: &WorkloadKey, now: Timestamp) -> Timestamp {
        *self.no_failures.entry(key.clone()).or_insert(now)
    }

    /// Since when the workload fails.
    pub(in crate::state) fn began(&mut self, key: &WorkloadKey, now: Timestamp) -> Timestamp {
        *self.began.entry(key.clone()).or_insert(now)
    }

    /// Counts the pods that fail now and returns the history of all templates.
    pub(in crate::state) fn update(
        &mut self,
        key: &WorkloadKey,
        failing: &[Restarting<'_>],
        now: Timestamp,
    ) -> Vec<TemplateLedger> {
        self.no_failures.remove(key);
        let entries = self.by_workload.entry(key.clone()).or_default();
        for (pod, restarts) in failing {
            let template = pod.template.as_deref().unwrap_or_default();
            let place = entries.iter().position(|entry| entry.ledger.template == template);
            let place = place.unwrap_or_else(|| {
                entries.push(HistoryEntry::new(template));
                entries.len() - 1
            });
            entries[place].count(pod, *restarts, now);
        }
        let fails: HashSet<&Arc<str>> = failing.iter().map(|(pod, _)| &pod.uid).collect();
        for entry in entries.iter_mut().filter(|entry| entry.pods.len() > PODS) {
            entry.pods.retain(|uid, _| fails.contains(uid));
        }
        let present: HashSet<&str> = failing.iter().filter_map(|(pod, _)| pod.template.as_deref()).collect();
        while entries.len() > TEMPLATES {
            let old = entries.iter().position(|entry| !present.contains(entry.ledger.template.as_str()));
            entries.remove(old.unwrap_or(0));
        }
        entries.iter().map(|entry| entry.ledger.clone()).collect()
    }
}

impl HistoryEntry {
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
    fn workload_with_many_failing_pods_is_diagnosed_at_least_every_ten_seconds() {
        let name = WorkloadName {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: "demo".into(),
            name: "web".into(),
        };
        let (mut failure_history, key) = (FailureHistory::default(), WorkloadKey::from(name));
        let at = |seconds| after(Timestamp::UNIX_EPOCH, seconds);
        for now in 0..3 {
            assert_eq!(failure_history.paused_until(&key, 99, at(now)), None);
            assert_eq!(failure_history.paused_until(&key, 99, at(now)), None, "each of a few pods is evaluated");
        }
        assert_eq!(failure_history.paused_until(&key, 300, at(10)), None, "at once the first time");
        assert_eq!(failure_history.paused_until(&key, 300, at(11)), Some(at(13)));
        assert_eq!(failure_history.paused_until(&key, 300, at(13)), None);
        assert_eq!(failure_history.paused_until(&key, 50_000, at(14)), Some(at(23)));
        assert_eq!(failure_history.paused_until(&key, 20, at(15)), None, "no pause when few pods are left");
    }
}
