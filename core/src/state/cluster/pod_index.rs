//! Index of all pods, by UID and by name. There is an entry for each pod, most of them healthy, so every byte counts:
//! the tables contain only numbers, and an entry takes 56 bytes.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;
use slab::Slab;

use super::pods::Pod;
use super::uid::Uid;
use crate::facts::ObjectKey;
use crate::state::steps;

/// The slot of a pod. Slots are reused once a pod is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::state) struct Slot(u32);

#[derive(Debug, Default)]
pub(in crate::state) struct PodIndex {
    entries: Slab<Entry>,
    /// The UIDs that are not in the format of the API server.
    other_uids: HashMap<Slot, Arc<str>>,
    by_uid: HashTable<Slot>,
    /// The newer of two pods with the same name. The names themselves are in the pod entries.
    by_name: HashTable<Slot>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Entry {
    uid: Uid,
    pod: Pod,
}

impl Slot {
    /// Does not overflow: no API server has 2^32 pods.
    fn of(at: usize) -> Self {
        Self(u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn at(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl PodIndex {
    pub(in crate::state) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(in crate::state) fn all(&self) -> impl Iterator<Item = (Slot, &Pod)> {
        self.entries.iter().inspect(|_| steps::count()).map(|(at, entry)| (Slot::of(at), &entry.pod))
    }

    pub(in crate::state) fn get(&self, slot: Slot) -> Option<&Pod> {
        steps::count();
        self.entries.get(slot.at()).map(|entry| &entry.pod)
    }

    pub(in crate::state) fn get_mut(&mut self, slot: Slot) -> Option<&mut Pod> {
        self.entries.get_mut(slot.at()).map(|entry| &mut entry.pod)
    }

    pub(in crate::state) fn uid(&self, slot: Slot) -> Option<Arc<str>> {
        steps::count();
        let entry = self.entries.get(slot.at())?;
        Some(self.other_uids.get(&slot).cloned().unwrap_or_else(|| entry.uid.text()))
    }

    pub(in crate::state) fn slot(&self, uid: &str) -> Option<Slot> {
        self.slot_of(Uid::of(uid, &self.hasher))
    }

    fn slot_of(&self, uid: Uid) -> Option<Slot> {
        let is_this = |slot: &Slot| self.entries.get(slot.at()).is_some_and(|entry| entry.uid == uid);
        self.by_uid.find(self.hasher.hash_one(uid), is_this).copied()
    }

    pub(in crate::state) fn named(&self, key: &ObjectKey) -> Option<Slot> {
        let has_name = |slot: &Slot| self.get(*slot).is_some_and(|pod| pod.place().is(key));
        self.by_name.find(self.hasher.hash_one(key), has_name).copied()
    }

    /// Inserts a pod. Returns its slot and the entry that it replaced.
    pub(in crate::state) fn put(&mut self, uid: &str, key: &ObjectKey, pod: Pod) -> (Slot, Option<Pod>) {
        let (text, exact) = (uid, Uid::exact(uid));
        let uid = exact.unwrap_or_else(|| Uid::hashed(text, &self.hasher));
        let known = self.slot_of(uid);
        let (slot, before) = match known.and_then(|slot| Some((slot, self.get_mut(slot)?))) {
            Some((slot, there)) => (slot, Some(std::mem::replace(there, pod))),
            None => (self.insert_new(uid, pod), None),
        };
        if exact.is_none() {
            self.other_uids.insert(slot, text.into());
        }
        self.index_name(slot, key);
        (slot, before)
    }

    fn insert_new(&mut self, uid: Uid, pod: Pod) -> Slot {
        let hash = self.hasher.hash_one(uid);
        if self.entries.len() == self.entries.capacity() {
            // By an eighth: doubled, a table of 100,000 pods has room for 31,000 that never come.
            self.entries.reserve_exact(self.entries.len() / 8 + 64);
        }
        let slot = Slot::of(self.entries.insert(Entry { uid, pod }));
        let uid_of = |slot: &Slot| self.entries.get(slot.at()).map(|entry| &entry.uid);
        self.by_uid.insert_unique(hash, slot, |slot| uid_of(slot).map_or(0, |uid| self.hasher.hash_one(uid)));
        slot
    }

    fn index_name(&mut self, slot: Slot, key: &ObjectKey) {
        let Self { entries, by_name, hasher, .. } = self;
        let place = |slot: &Slot| entries.get(slot.at()).map(|entry| entry.pod.place());
        let has_name = |slot: &Slot| place(slot).is_some_and(|place| place.is(key));
        let hash = |slot: &Slot| place(slot).map_or(0, |place| hasher.hash_one(place.key()));
        *by_name.entry(hasher.hash_one(key), has_name, hash).or_insert(slot).get_mut() = slot;
    }

    pub(in crate::state) fn remove(&mut self, uid: &str) -> Option<(Slot, Pod)> {
        let uid = Uid::of(uid, &self.hasher);
        let slot = self.slot_of(uid)?;
        self.other_uids.remove(&slot);
        if let Ok(found) = self.by_uid.find_entry(self.hasher.hash_one(uid), |other| *other == slot) {
            found.remove();
        }
        let pod = self.entries.try_remove(slot.at())?.pod;
        if let Ok(found) = self.by_name.find_entry(self.hasher.hash_one(pod.place().key()), |other| *other == slot) {
            found.remove();
        }
        Some((slot, pod))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There is one for each pod: 8 bytes more are 1 MiB with 100,000 pods.
    #[test]
    fn entry_is_small() {
        assert_eq!(size_of::<Entry>(), 56);
    }
}
