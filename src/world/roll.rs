//! All pods, each at a number of its own and found by its UID or its name. There are as many entries as pods, most of them
//! well, so that each byte of one counts: the tables hold numbers only, and a UID is 24 bytes.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;
use slab::Slab;

use super::pods::Pod;
use super::uid::Uid;
use crate::facts::ObjectKey;

/// Where a pod stands; another one may stand there once it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Number(u32);

#[derive(Debug, Default)]
pub(super) struct Roll {
    entries: Slab<Entry>,
    by_uid: HashTable<Number>,
    /// Of two of one name the newer. The names themselves stand where the pods are.
    by_name: HashTable<Number>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Entry {
    uid: Uid,
    pod: Pod,
}

impl Number {
    /// No API server has so many pods that they run out.
    fn of(at: usize) -> Self {
        Self(u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn at(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Roll {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Number, &Pod)> {
        self.entries.iter().map(|(at, entry)| (Number::of(at), &entry.pod))
    }

    pub(super) fn get(&self, number: Number) -> Option<&Pod> {
        self.entries.get(number.at()).map(|entry| &entry.pod)
    }

    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut Pod> {
        self.entries.get_mut(number.at()).map(|entry| &mut entry.pod)
    }

    pub(super) fn uid(&self, number: Number) -> Option<Arc<str>> {
        self.entries.get(number.at()).map(|entry| (&entry.uid).into())
    }

    pub(super) fn number(&self, uid: &str) -> Option<Number> {
        self.number_of(&Uid::of(uid))
    }

    fn number_of(&self, uid: &Uid) -> Option<Number> {
        let is_this = |number: &Number| self.entries.get(number.at()).is_some_and(|entry| entry.uid == *uid);
        self.by_uid.find(self.hasher.hash_one(uid), is_this).copied()
    }

    pub(super) fn named(&self, key: &ObjectKey) -> Option<Number> {
        let is_called = |number: &Number| self.get(*number).is_some_and(|pod| pod.place().is(key));
        self.by_name.find(self.hasher.hash_one(key), is_called).copied()
    }

    /// Puts a pod there, and tells what was there of it before.
    pub(super) fn put(&mut self, uid: &str, key: &ObjectKey, pod: Pod) -> (Number, Option<Pod>) {
        let uid = Uid::of(uid);
        let known = self.number_of(&uid);
        let (number, before) = match known.and_then(|number| Some((number, self.get_mut(number)?))) {
            Some((number, there)) => (number, Some(std::mem::replace(there, pod))),
            None => (self.enter(uid, pod), None),
        };
        self.name(number, key);
        (number, before)
    }

    fn enter(&mut self, uid: Uid, pod: Pod) -> Number {
        let hash = self.hasher.hash_one(&uid);
        let number = Number::of(self.entries.insert(Entry { uid, pod }));
        let uid_of = |number: &Number| self.entries.get(number.at()).map(|entry| &entry.uid);
        self.by_uid.insert_unique(hash, number, |number| uid_of(number).map_or(0, |uid| self.hasher.hash_one(uid)));
        number
    }

    fn name(&mut self, number: Number, key: &ObjectKey) {
        let Self { entries, by_name, hasher, .. } = self;
        let place = |number: &Number| entries.get(number.at()).map(|entry| entry.pod.place());
        let is_called = |number: &Number| place(number).is_some_and(|place| place.is(key));
        let hash = |number: &Number| place(number).map_or(0, |place| hasher.hash_one(place.key()));
        *by_name.entry(hasher.hash_one(key), is_called, hash).or_insert(number).get_mut() = number;
    }

    pub(super) fn remove(&mut self, uid: &str) -> Option<(Number, Pod)> {
        let uid = Uid::of(uid);
        let number = self.number_of(&uid)?;
        if let Ok(found) = self.by_uid.find_entry(self.hasher.hash_one(&uid), |other| *other == number) {
            found.remove();
        }
        let pod = self.entries.try_remove(number.at())?.pod;
        if let Ok(found) = self.by_name.find_entry(self.hasher.hash_one(pod.place().key()), |other| *other == number) {
            found.remove();
        }
        Some((number, pod))
    }
}
