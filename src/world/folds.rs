//! Which Warning Events of pods are left out: after a few of one workload and cause, or of one root and cause in a namespace,
//! the rest say nothing new. The objects are written all the same.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::sweeps::Sweeps;
use crate::api::Root;
use crate::facts::{Timestamp, WorkloadKey, seconds_between};

/// Events of one group are counted for so many seconds.
const WINDOW: i64 = 600;

#[derive(Debug, Default)]
pub(super) struct Folds {
    told: HashMap<Group, VecDeque<Told>>,
    folded: HashMap<WorkloadKey, u32>,
    /// Pods whose write lacks its Event, since when: tried again, it counts once.
    under_way: HashMap<Arc<str>, Timestamp>,
    sweeps: Sweeps,
}

/// Pods of which a few tell for all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// Of one workload, with one cause.
    Workload(WorkloadKey, String),
    /// In one namespace, of whatever workload, with one cause: those who look there see it told.
    Root(Arc<str>, Root, String),
}

/// A transition of a pod that an Event told; a write that is tried again is the same one.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    at: Timestamp,
    pod: Arc<str>,
    transition: u32,
}

/// What becomes of an Event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Told,
    Folded,
    /// As it was when its write was tried before.
    FoldedAgain,
}

impl Folds {
    pub(super) fn kept(&self) -> usize {
        self.told.len() + self.folded.len() + self.under_way.len()
    }

    /// What becomes of the Event of this transition, where `most` of each of its groups may be told.
    pub(super) fn fold(
        &mut self,
        groups: &[Group],
        (pod, transition): (&str, u32),
        most: usize,
        now: Timestamp,
    ) -> Fate {
        self.sweep(now);
        let is_this = |told: &Told| *told.pod == *pod && told.transition == transition;
        let is_recent = |told: &&Told| seconds_between(told.at, now) < WINDOW;
        let recent = |group| self.told.get(group).into_iter().flatten().filter(is_recent);
        if groups.iter().any(|group| recent(group).any(is_this)) {
            return Fate::Told;
        }
        if groups.iter().any(|group| recent(group).count() >= most) {
            if self.under_way.insert(pod.into(), now).is_some() {
                return Fate::FoldedAgain;
            }
            for group in groups {
                if let Group::Workload(workload, _) = group {
                    *self.folded.entry(workload.clone()).or_default() += 1;
                }
            }
            return Fate::Folded;
        }
        for group in groups {
            let told = self.told.entry(group.clone()).or_default();
            told.retain(|told| is_recent(&told));
            told.push_back(Told { at: now, pod: pod.into(), transition });
        }
        Fate::Told
    }

    /// The diagnosis of this pod is written.
    pub(super) fn written(&mut self, pod: &str) {
        self.under_way.remove(pod);
    }

    /// How many Events of its pods were folded since the workload began to fail.
    pub(super) fn of(&self, workload: &WorkloadKey) -> u32 {
        self.folded.get(workload).copied().unwrap_or(0)
    }

    pub(super) fn restore(&mut self, workload: WorkloadKey, folded: u32) {
        if folded > 0 {
            self.folded.insert(workload, folded);
        }
    }

    pub(super) fn forget(&mut self, workload: &WorkloadKey) {
        self.folded.remove(workload);
    }

    fn sweep(&mut self, now: Timestamp) {
        if !self.sweeps.is_due(now) {
            return;
        }
        let is_recent = |at: Timestamp| seconds_between(at, now) < WINDOW;
        self.told.retain(|_, told| told.back().is_some_and(|told| is_recent(told.at)));
        // Those that nobody has tried to write for so long never will be.
        self.under_way.retain(|_, tried| is_recent(*tried));
    }
}
