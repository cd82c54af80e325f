//! Our objects and other hands: what is being written, what somebody else changed or deleted, and how often it was put
//! back.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::facts::{Timestamp, after, seconds_between};

/// Two writers that disagree meet at most once in so many seconds.
const LONGEST_REPAIR_PAUSE: i64 = 300;

#[derive(Debug)]
pub(super) struct Custody<K> {
    /// Somebody else changed or deleted these: the version that is there now.
    foreign: HashMap<K, Option<String>>,
    /// A write is under way: what the watch shows meanwhile may be that very write. Whether it makes anew what was deleted
    /// before it began.
    writing: HashMap<K, bool>,
    /// How often an object was put back, and when last: two writers that disagree are not to fight at full speed.
    repairs: HashMap<K, (u32, Timestamp)>,
    /// Those that a running list has not named yet.
    unlisted: Option<HashSet<K>>,
}

/// Whether an object is to be put back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// It is as we wrote it.
    None,
    NotBefore(Timestamp),
    /// Over this version; `None`: it is not there any more.
    Now(Option<String>),
}

impl<K> Default for Custody<K> {
    fn default() -> Self {
        Self { foreign: HashMap::new(), writing: HashMap::new(), repairs: HashMap::new(), unlisted: None }
    }
}

impl<K: Clone + Eq + Hash> Custody<K> {
    pub(super) fn kept(&self) -> usize {
        self.foreign.len() + self.writing.len() + self.repairs.len()
    }

    pub(super) fn is_writing(&self, key: &K) -> bool {
        self.writing.contains_key(key)
    }

    pub(super) fn writing(&self) -> impl Iterator<Item = &K> {
        self.writing.keys()
    }

    pub(super) fn begin_write(&mut self, key: &K, now: Timestamp) {
        self.writing.insert(key.clone(), self.is_deleted(key));
        if self.foreign.contains_key(key) {
            let (times, _) = self.repairs_lately(key, now);
            self.repairs.insert(key.clone(), (times + 1, now));
        }
    }

    /// A write has ended: with this version, or without success. What the watch showed meanwhile is somebody else's only
    /// if it is newer still. Whether the object is to be looked at again.
    pub(super) fn written(&mut self, key: &K, version: Option<&str>) -> bool {
        let made_anew = self.writing.remove(key).unwrap_or(false);
        let ours = |seen: &Option<String>| match (seen, version) {
            (Some(seen), Some(version)) => !is_newer(seen, version),
            (None, Some(_)) => made_anew,
            (_, None) => false,
        };
        if self.foreign.get(key).is_some_and(ours) {
            self.foreign.remove(key);
        }
        self.foreign.contains_key(key)
    }

    /// How often an object was put back of late, and when last.
    fn repairs_lately(&self, key: &K, now: Timestamp) -> (u32, Timestamp) {
        const FORGIVEN_AFTER: i64 = 900;
        let known = self.repairs.get(key).copied();
        known.filter(|(_, last)| seconds_between(*last, now) <= FORGIVEN_AFTER).unwrap_or((0, now))
    }

    pub(super) fn repair(&self, key: &K, now: Timestamp) -> Repair {
        let Some(version) = self.foreign.get(key) else { return Repair::None };
        // At once the first time, then after 2 s, doubling.
        let due = match self.repairs_lately(key, now) {
            (0, _) => now,
            (times, last) => after(last, (1_i64 << times.min(9)).min(LONGEST_REPAIR_PAUSE)),
        };
        if now < due { Repair::NotBefore(due) } else { Repair::Now(version.clone()) }
    }

    pub(super) fn begin_list<'a>(&mut self, known: impl Iterator<Item = &'a K>)
    where
        K: 'a,
    {
        self.unlisted = Some(known.cloned().collect());
    }

    /// What the list did not name.
    pub(super) fn end_list(&mut self) -> Vec<K> {
        self.unlisted.take().into_iter().flatten().collect()
    }

    /// The watch shows an object of ours in this version; `ours` is the one that we wrote, where we know of it. Whether it
    /// is to be looked at.
    pub(super) fn seen(&mut self, key: &K, ours: Option<&str>, version: &str) -> bool {
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(key);
        }
        if !ours.is_some_and(|ours| is_newer(version, ours)) {
            if ours == Some(version) && self.is_deleted(key) {
                // It was deleted, and this is what we have made since.
                self.foreign.remove(key);
            }
            return false;
        }
        self.foreign.insert(key.clone(), Some(version.to_owned()));
        !self.is_writing(key)
    }

    /// It is not there any more. Whether it is to be looked at.
    pub(super) fn missing(&mut self, key: &K) -> bool {
        self.foreign.insert(key.clone(), None);
        match self.writing.get_mut(key) {
            // It may be what is being written that is gone again.
            Some(made_anew) => *made_anew = false,
            None => return true,
        }
        false
    }

    /// Whether somebody else deleted the object, and it was not put back yet.
    pub(super) fn is_deleted(&self, key: &K) -> bool {
        self.foreign.get(key).is_some_and(Option::is_none)
    }

    /// After a conflict: this is the version that is there.
    pub(super) fn reread(&mut self, key: &K, version: &str) {
        if let Some(foreign) = self.foreign.get_mut(key) {
            *foreign = Some(version.to_owned());
        }
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.foreign.remove(key);
        self.repairs.remove(key);
    }
}

/// Whether a watch shows a later version than ours. Resource versions of one resource may be compared as numbers
/// (Kubernetes 1.35 says so, and it has always been true); one that is no number counts as foreign if it differs.
fn is_newer(theirs: &str, ours: &str) -> bool {
    match (theirs.parse::<u64>(), ours.parse::<u64>()) {
        (Ok(theirs), Ok(ours)) => theirs > ours,
        _ => theirs != ours,
    }
}
