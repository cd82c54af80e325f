//! Event aggregation: which Warning Events are suppressed. After a few Events of one workload and cause, of one root and
//! cause in a namespace, of the bare pods of a namespace with one cause, or of the objects on paths of requests of a
//! namespace with one cause, the rest add no information. The objects are still written.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::api::Root;
use crate::facts::{Timestamp, WorkloadKey, seconds_between};
use crate::state::cleanup::CleanupSchedule;

/// How long the Events of a group are counted, in seconds.
const WINDOW: i64 = 600;

#[derive(Debug, Default)]
pub(in crate::state) struct EventAggregation {
    emitted: HashMap<Group, VecDeque<EmittedEvent>>,
    aggregated: HashMap<WorkloadKey, u32>,
    /// Pods and objects whose write lacks its Event, with the time. A retry of the write counts once.
    under_way: HashMap<Arc<str>, Timestamp>,
    cleanup: CleanupSchedule,
}

/// Pods or objects for which a few Events suffice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::state) enum Group {
    /// Pods of one workload that share a cause.
    Workload(WorkloadKey, String),
    /// Pods of one namespace that share a root and a cause.
    Root(Arc<str>, Root, String),
    /// Pods of one namespace that share a cause and belong to no watched workload: bare pods, and pods of other
    /// controllers, whose names anyone who creates a pod can make up.
    Bare(Arc<str>, String),
    /// Objects on paths of requests of one namespace that share a cause: many Ingresses may lead to one Service.
    Network(Arc<str>, String),
}

/// An emitted transition of a pod or object. Retries of a write count once.
#[derive(Debug, PartialEq, Eq)]
struct EmittedEvent {
    at: Timestamp,
    uid: Arc<str>,
    transition: u32,
}

/// Whether an Event is emitted or aggregated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::state) enum Disposition {
    Emitted,
    Aggregated,
    /// Aggregated when the write was tried before.
    AggregatedAgain,
}

impl EventAggregation {
    pub(in crate::state) fn kept(&self) -> usize {
        self.emitted.len() + self.aggregated.len() + self.under_way.len()
    }

    /// Decides about the Event of this transition. At most `most` Events of each group are emitted.
    pub(in crate::state) fn aggregate(
        &mut self,
        groups: &[Group],
        (uid, transition): (&str, u32),
        most: usize,
        now: Timestamp,
    ) -> Disposition {
        self.clean_up(now);
        let is_this = |event: &EmittedEvent| *event.uid == *uid && event.transition == transition;
        let is_recent = |event: &&EmittedEvent| seconds_between(event.at, now) < WINDOW;
        let recent = |group| self.emitted.get(group).into_iter().flatten().filter(is_recent);
        if groups.iter().any(|group| recent(group).any(is_this)) {
            return Disposition::Emitted;
        }
        if groups.iter().any(|group| recent(group).count() >= most) {
            if self.under_way.insert(uid.into(), now).is_some() {
                return Disposition::AggregatedAgain;
            }
            for group in groups {
                if let Group::Workload(workload, _) = group {
                    *self.aggregated.entry(workload.clone()).or_default() += 1;
                }
            }
            return Disposition::Aggregated;
        }
        for group in groups {
            let events = self.emitted.entry(group.clone()).or_default();
            events.retain(|event| is_recent(&event));
            events.push_back(EmittedEvent { at: now, uid: uid.into(), transition });
        }
        Disposition::Emitted
    }

    /// Whether this emitted Event is the last one of a group for now, so that its note can state it.
    pub(in crate::state) fn is_last(&self, group: &Group, (uid, transition): (&str, u32), most: usize) -> bool {
        let events = self.emitted.get(group);
        let last = events.and_then(|events| events.get(most.checked_sub(1)?));
        last.is_some_and(|event| *event.uid == *uid && event.transition == transition)
    }

    /// The diagnosis of this pod or object was written.
    pub(in crate::state) fn written(&mut self, uid: &str) {
        self.under_way.remove(uid);
    }

    /// Number of Events aggregated since the workload began to fail.
    pub(in crate::state) fn of(&self, workload: &WorkloadKey) -> u32 {
        self.aggregated.get(workload).copied().unwrap_or(0)
    }

    pub(in crate::state) fn restore(&mut self, workload: WorkloadKey, aggregated: u32) {
        if aggregated > 0 {
            self.aggregated.insert(workload, aggregated);
        }
    }

    pub(in crate::state) fn forget(&mut self, workload: &WorkloadKey) {
        self.aggregated.remove(workload);
    }

    fn clean_up(&mut self, now: Timestamp) {
        if !self.cleanup.is_due(now) {
            return;
        }
        let is_recent = |at: Timestamp| seconds_between(at, now) < WINDOW;
        self.emitted.retain(|_, events| events.back().is_some_and(|event| is_recent(event.at)));
        // Writes that were not retried for this long are abandoned.
        self.under_way.retain(|_, tried| is_recent(*tried));
    }
}
