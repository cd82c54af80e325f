//! Drift detection for our objects: writes in flight, external edits and deletions, and repairs.

use std::collections::{HashMap, HashSet};

use crate::facts::{ObjectKey, Timestamp, after, seconds_between};

/// The longest pause between repairs, in seconds, so that two conflicting writers do not compete at full speed.
const LONGEST_REPAIR_PAUSE: i64 = 300;

#[derive(Debug, Default)]
pub(in crate::state) struct DriftDetection {
    /// Objects that were changed or deleted externally, with their current version.
    foreign: HashMap<ObjectKey, Option<String>>,
    /// Writes in flight. The watch may show their own result. The value states whether the write recreates an object
    /// that was deleted before.
    writing: HashMap<ObjectKey, bool>,
    /// How often an object was repaired, and when last. Limits the rate of repairs.
    repairs: HashMap<ObjectKey, (u32, Timestamp)>,
    /// Objects that the current list has not contained yet.
    unlisted: Option<HashSet<ObjectKey>>,
}

/// Whether an object must be repaired.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::state) enum Repair {
    /// The object is as we wrote it.
    None,
    NotBefore(Timestamp),
    /// Overwrite this version. `None` recreates a deleted object.
    Now(Option<String>),
}

impl DriftDetection {
    pub(in crate::state) fn kept(&self) -> usize {
        self.foreign.len() + self.writing.len() + self.repairs.len()
    }

    pub(in crate::state) fn is_writing(&self, key: &ObjectKey) -> bool {
        self.writing.contains_key(key)
    }

    pub(in crate::state) fn writing(&self) -> impl Iterator<Item = &ObjectKey> {
        self.writing.keys()
    }

    pub(in crate::state) fn begin_write(&mut self, key: &ObjectKey, now: Timestamp) {
        self.writing.insert(key.clone(), self.is_deleted(key));
        if self.foreign.contains_key(key) {
            let (times, _) = self.repairs_lately(key, now);
            self.repairs.insert(key.clone(), (times + 1, now));
        }
    }

    /// A write has ended with this version, or failed. Only a newer version counts as an external edit. Returns whether
    /// the object must be checked again.
    pub(in crate::state) fn written(&mut self, key: &ObjectKey, version: Option<&str>) -> bool {
        let recreated = self.writing.remove(key).unwrap_or(false);
        let ours = |seen: &Option<String>| match (seen, version) {
            (Some(seen), Some(version)) => !is_newer(seen, version),
            (None, Some(_)) => recreated,
            (_, None) => false,
        };
        if self.foreign.get(key).is_some_and(ours) {
            self.foreign.remove(key);
        }
        self.foreign.contains_key(key)
    }

    /// How often an object was repaired recently, and when last.
    fn repairs_lately(&self, key: &ObjectKey, now: Timestamp) -> (u32, Timestamp) {
        const FORGIVEN_AFTER: i64 = 900;
        let known = self.repairs.get(key).copied();
        known.filter(|(_, last)| seconds_between(*last, now) <= FORGIVEN_AFTER).unwrap_or((0, now))
    }

    pub(in crate::state) fn repair(&self, key: &ObjectKey, now: Timestamp) -> Repair {
        let Some(version) = self.foreign.get(key) else { return Repair::None };
        // Immediately the first time, then after 2 s, doubling.
        let due = match self.repairs_lately(key, now) {
            (0, _) => now,
            (times, last) => after(last, (1_i64 << times.min(9)).min(LONGEST_REPAIR_PAUSE)),
        };
        if now < due { Repair::NotBefore(due) } else { Repair::Now(version.clone()) }
    }

    pub(in crate::state) fn begin_list<'a>(&mut self, known: impl Iterator<Item = &'a ObjectKey>) {
        self.unlisted = Some(known.cloned().collect());
    }

    /// Ends the list and returns the objects that it did not contain.
    pub(in crate::state) fn end_list(&mut self) -> Vec<ObjectKey> {
        self.unlisted.take().into_iter().flatten().collect()
    }

    /// The watch shows one of our objects at this version. `ours` is the version that we wrote, if known. Returns
    /// whether the object must be checked.
    pub(in crate::state) fn seen(&mut self, key: &ObjectKey, ours: Option<&str>, version: &str) -> bool {
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(key);
        }
        if !ours.is_some_and(|ours| is_newer(version, ours)) {
            if ours == Some(version) && self.is_deleted(key) {
                // It was deleted, and this is the object that we recreated.
                self.foreign.remove(key);
            }
            return false;
        }
        self.foreign.insert(key.clone(), Some(version.to_owned()));
        !self.is_writing(key)
    }

    /// The object does not exist any more. Returns whether it must be checked.
    pub(in crate::state) fn missing(&mut self, key: &ObjectKey) -> bool {
        self.foreign.insert(key.clone(), None);
        match self.writing.get_mut(key) {
            // The deleted object may be the one that is being written.
            Some(recreated) => *recreated = false,
            None => return true,
        }
        false
    }

    /// Whether the object was deleted externally and not recreated yet.
    pub(in crate::state) fn is_deleted(&self, key: &ObjectKey) -> bool {
        self.foreign.get(key).is_some_and(Option::is_none)
    }

    /// Registers the current version after a conflict.
    pub(in crate::state) fn reread(&mut self, key: &ObjectKey, version: &str) {
        if let Some(foreign) = self.foreign.get_mut(key) {
            *foreign = Some(version.to_owned());
        }
    }

    pub(in crate::state) fn forget(&mut self, key: &ObjectKey) {
        self.foreign.remove(key);
        self.repairs.remove(key);
    }
}

/// Whether the watch shows a later version than ours. Resource versions of one resource are comparable as numbers
/// (guaranteed since Kubernetes 1.35). A version that is not a number counts as newer if it differs.
fn is_newer(theirs: &str, ours: &str) -> bool {
    match (theirs.parse::<u64>(), ours.parse::<u64>()) {
        (Ok(theirs), Ok(ours)) => theirs > ours,
        _ => theirs != ours,
    }
}
