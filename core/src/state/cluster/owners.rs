//! Watched workloads. All facts are kept for those that have not reached their desired state, none for the others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::facts::{
    EventFacts, ReplicaSetFacts, Timestamp, WorkloadFacts, WorkloadKey, WorkloadKind, WorkloadName, seconds_between,
};
use crate::message::text;
use crate::state::cleanup::CleanupSchedule;
use crate::state::cluster::objects::Id;

/// How long Events of a workload are kept, in seconds, and for how many reasons. The newest Event of each reason is
/// kept.
const EVENTS_KEPT: i64 = 3600;
const REASONS: usize = 6;
/// Most workloads with Events.
const WORKLOADS: usize = 5000;

#[derive(Debug, Default)]
pub(in crate::state) struct Owners {
    by_key: HashMap<WorkloadKey, Owner>,
    /// The workloads of each custom resource that are not settled.
    of_custom: HashMap<Id, BTreeSet<WorkloadKey>>,
    /// The Jobs of each `CronJob` that are not settled.
    jobs: HashMap<WorkloadKey, BTreeSet<WorkloadKey>>,
    /// Includes unknown workloads, because an Event may arrive first.
    events: BTreeMap<WorkloadKey, Vec<EventFacts>>,
    unlisted: HashMap<WorkloadKind, HashSet<WorkloadKey>>,
    cleanup: CleanupSchedule,
}

#[derive(Debug)]
pub(in crate::state) struct Owner {
    pub(in crate::state) facts: WorkloadFacts,
    /// When the workload entered its present state.
    pub(in crate::state) since: Timestamp,
    /// When the workload was first seen in this state.
    pub(in crate::state) seen: Timestamp,
    /// How often our annotations changed the generation since the workload is kept.
    moved: i64,
}

/// The effect of a new version of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::state) enum Seen {
    /// The workload was healthy and still is.
    Healthy,
    /// The workload is kept, or was until now.
    Kept,
}

impl Owners {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_key.len() + self.of_custom.len() + self.jobs.len() + self.events.len()
    }

    /// Registers a new version. `keep`: the workload fails or failed, so all its facts are kept. `by_us`: one change of
    /// the generation was caused by our annotation.
    pub(in crate::state) fn put(
        &mut self,
        facts: WorkloadFacts,
        keep: bool,
        at_start: bool,
        by_us: bool,
        now: Timestamp,
    ) -> Seen {
        let key = facts.key.clone();
        if let Some(unlisted) = key.watched_kind().and_then(|kind| self.unlisted.get_mut(&kind)) {
            unlisted.remove(&key);
        }
        if facts.is_settled() && !keep {
            return if self.remove(&key).is_some() { Seen::Kept } else { Seen::Healthy };
        }
        if let Some(cron) = facts.owner_key().filter(|owner| &*owner.kind == "CronJob") {
            self.jobs.entry(cron).or_default().insert(key.clone());
        }
        if let Some(owner) = custom_owner(&facts) {
            self.of_custom.entry(owner).or_default().insert(key.clone());
        }
        let known = self.by_key.get(&key);
        let has_moved = known.is_some_and(|old| by_us && old.facts.generation < facts.generation);
        let moved = known.map_or(0, |old| old.moved) + i64::from(has_moved);
        let (since, seen) = match known {
            Some(old) if situation(&old.facts, old.moved) == situation(&facts, moved) => (old.since, old.seen),
            None if at_start => (began(&facts).map_or(now, |at| at.min(now)), now),
            _ => (now, now),
        };
        self.by_key.insert(key, Owner { facts, since, seen, moved });
        Seen::Kept
    }

    /// Removes a workload that is settled or gone.
    pub(in crate::state) fn remove(&mut self, key: &WorkloadKey) -> Option<Owner> {
        let owner = self.by_key.remove(key)?;
        if let Some(custom) = custom_owner(&owner.facts)
            && let Some(owned) = self.of_custom.get_mut(&custom)
        {
            owned.remove(key);
            if owned.is_empty() {
                self.of_custom.remove(&custom);
            }
        }
        if let Some(cron) = owner.facts.owner_key()
            && let Some(jobs) = self.jobs.get_mut(&cron)
        {
            jobs.remove(key);
            if jobs.is_empty() {
                self.jobs.remove(&cron);
            }
        }
        Some(owner)
    }

    pub(in crate::state) fn get(&self, key: &WorkloadKey) -> Option<&Owner> {
        self.by_key.get(key)
    }

    pub(in crate::state) fn of_kind(&self, kind: WorkloadKind) -> impl Iterator<Item = &WorkloadKey> {
        self.by_key.keys().filter(move |key| key.watched_kind() == Some(kind))
    }

    /// The unsettled workloads that a custom resource controls.
    pub(in crate::state) fn of_custom(&self, owner: &Id) -> impl Iterator<Item = &WorkloadKey> {
        self.of_custom.get(owner).into_iter().flatten()
    }

    /// The unsettled Jobs of a `CronJob`.
    pub(in crate::state) fn jobs_of(&self, cron: &WorkloadKey) -> Vec<WorkloadFacts> {
        let jobs = self.jobs.get(cron).into_iter().flatten();
        jobs.filter_map(|key| self.by_key.get(key)).map(|owner| owner.facts.clone()).collect()
    }

    pub(in crate::state) fn begin_list(&mut self, kind: WorkloadKind, beside: impl Iterator<Item = WorkloadKey>) {
        let known = self.of_kind(kind).cloned().chain(beside).collect();
        self.unlisted.insert(kind, known);
    }

    /// Ends the list and returns the workloads that it did not contain.
    pub(in crate::state) fn end_list(&mut self, kind: WorkloadKind) -> HashSet<WorkloadKey> {
        self.unlisted.remove(&kind).unwrap_or_default()
    }

    /// Adds an Event. Returns whether it is new.
    pub(in crate::state) fn event(&mut self, key: &WorkloadKey, mut event: EventFacts, now: Timestamp) -> bool {
        self.clean_up(now);
        if !self.events.contains_key(key) {
            self.make_room();
        }
        text::shorten_event(&mut event.message);
        let events = self.events.entry(key.clone()).or_default();
        events.retain(|event| is_fresh(event, now));
        if events.contains(&event) {
            return false;
        }
        events.retain(|old| old.reason != event.reason || old.last > event.last);
        events.push(event);
        events.sort_by_key(|event| event.last);
        if events.len() > REASONS {
            events.remove(0);
        }
        true
    }

    /// Drops the oldest Event of the namespace with the most entries. The workload of an Event may not exist, so one
    /// namespace must not displace the Events of others.
    fn make_room(&mut self) {
        if self.events.len() < WORKLOADS {
            return;
        }
        let mut keys: HashMap<&Arc<str>, Vec<&WorkloadKey>> = HashMap::new();
        for key in self.events.keys() {
            keys.entry(&key.namespace).or_default().push(key);
        }
        let last =
            |key: &&WorkloadKey| self.events.get(*key).and_then(|events| events.last()).and_then(|event| event.last);
        let most = keys.into_values().max_by_key(Vec::len).unwrap_or_default();
        if let Some(oldest) = most.into_iter().min_by_key(last).cloned() {
            self.events.remove(&oldest);
        }
    }

    fn clean_up(&mut self, now: Timestamp) {
        if !self.cleanup.is_due(now) {
            return;
        }
        self.events.retain(|_, events| {
            events.retain(|event| is_fresh(event, now));
            !events.is_empty()
        });
    }

    /// Events of a workload or of the Jobs of a `CronJob`, oldest first.
    pub(in crate::state) fn events_of(&self, key: &WorkloadKey, sets: &[ReplicaSetFacts]) -> Vec<EventFacts> {
        let is_own = |event: &&EventFacts| {
            let regarding = &event.regarding;
            &*regarding.kind != "ReplicaSet" || sets.iter().any(|set| *set.name == *regarding.name)
        };
        let jobs = self.jobs.get(key).into_iter().flatten();
        let mut all: Vec<EventFacts> = std::iter::once(key)
            .chain(jobs)
            .filter_map(|key| self.events.get(key))
            .flatten()
            .filter(is_own)
            .cloned()
            .collect();
        all.sort_by_key(|event| event.last);
        all
    }

    pub(in crate::state) fn forget_events(&mut self, key: &WorkloadKey) {
        self.events.remove(key);
    }
}

fn custom_owner(facts: &WorkloadFacts) -> Option<Id> {
    facts.owner_key().filter(|owner| owner.is_custom()).map(|owner| Id::of(&owner))
}

fn is_fresh(event: &EventFacts, now: Timestamp) -> bool {
    event.last.is_some_and(|at| seconds_between(at, now) < EVENTS_KEPT)
}

/// The state that thresholds depend on; a change restarts them. `moved`: number of generations to ignore.
fn situation(facts: &WorkloadFacts, moved: i64) -> (i64, Vec<(&str, &str, &str)>) {
    let conditions = facts.conditions.iter().map(|c| (c.kind.as_str(), c.status.as_str(), c.reason.as_str()));
    (facts.generation - moved, conditions.collect())
}

/// When the workload entered its present state, according to its conditions.
fn began(facts: &WorkloadFacts) -> Option<Timestamp> {
    facts.conditions.iter().filter_map(|c| c.last_transition).max().or(facts.created)
}

/// The watched workload of an Event. Events of a `ReplicaSet` are not included; its Deployment reports the same
/// failures.
pub(in crate::state) fn key_of(event: &EventFacts) -> Option<WorkloadKey> {
    let regarding = &event.regarding;
    let (kind, name) = match &*regarding.kind {
        // The name of its Deployment, and a hash. The ReplicaSet is compared with those of the Deployment later.
        "ReplicaSet" => (Arc::from("Deployment"), Arc::from(regarding.name.rsplit_once('-')?.0)),
        _ => (regarding.kind.clone(), regarding.name.clone()),
    };
    let of = WorkloadKind::ALL.into_iter().find(|of| *of.as_str() == *kind)?;
    let namespace = regarding.namespace.clone();
    let name = WorkloadName { api_version: Arc::from(of.api_version()), kind, namespace, name };
    Some(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Regarding;

    fn event(namespace: &str, name: &str, second: i64) -> EventFacts {
        EventFacts {
            regarding: Regarding {
                kind: "Job".into(),
                namespace: namespace.into(),
                name: name.into(),
                uid: "".into(),
                container: None,
            },
            reason: "FailedCreate".into(),
            message: "no".into(),
            warning: true,
            first: None,
            last: Timestamp::from_second(second).ok(),
            count: 1,
            reporter: "".into(),
        }
    }

    #[test]
    fn events_of_made_up_workloads_displace_only_those_of_their_namespace() {
        let mut owners = Owners::default();
        let mut add = |namespace: &str, name: &str, second: i64| {
            let event = event(namespace, name, second);
            let key = key_of(&event).unwrap();
            owners.event(&key, event, Timestamp::UNIX_EPOCH);
            (key, owners.events.len())
        };
        let (real, _) = add("shop", "import", 0);
        let mut most = 0;
        for n in 1..(WORKLOADS + 100) {
            let (_, len) = add("evil", &format!("j{n}"), i64::try_from(n).unwrap());
            most = most.max(len);
        }
        assert_eq!(most, WORKLOADS);
        assert_eq!(owners.events_of(&real, &[]).len(), 1);
    }
}
