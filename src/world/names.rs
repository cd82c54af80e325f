//! Pods by namespace and name. There are as many as pods and few ask for one, so only UIDs are kept here: the names stand
//! where the pods are.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::pods::Pod;
use crate::facts::ObjectKey;

#[derive(Debug, Default)]
pub(super) struct Names {
    uids: HashTable<Arc<str>>,
    hasher: RandomState,
}

type Pods = HashMap<Arc<str>, Pod>;

impl Names {
    /// A pod that is known has this name; one that had it before has it no more.
    pub(super) fn put(&mut self, key: &ObjectKey, uid: &Arc<str>, pods: &Pods) {
        let hash = |uid: &Arc<str>| self.hasher.hash_one(pods.get(uid).map(|pod| pod.place().key()));
        let is_same = |other: &Arc<str>| is_called(other, key, pods);
        let entry = self.uids.entry(self.hasher.hash_one(Some(key)), is_same, hash);
        *entry.or_insert_with(|| uid.clone()).get_mut() = uid.clone();
    }

    pub(super) fn remove(&mut self, key: &ObjectKey, uid: &Arc<str>) {
        if let Ok(entry) = self.uids.find_entry(self.hasher.hash_one(Some(key)), |other| other == uid) {
            entry.remove();
        }
    }

    pub(super) fn get(&self, key: &ObjectKey, pods: &Pods) -> Option<&Arc<str>> {
        self.uids.find(self.hasher.hash_one(Some(key)), |uid| is_called(uid, key, pods))
    }
}

fn is_called(uid: &str, key: &ObjectKey, pods: &Pods) -> bool {
    pods.get(uid).is_some_and(|pod| pod.place().is(key))
}
