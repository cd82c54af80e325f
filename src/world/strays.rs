//! Objects of our kinds that were neither written nor read back by the replica that leads: somebody else made them, or a
//! write of an earlier leader came in late. What they tell is nobody's diagnosis, so they are removed.

use std::collections::HashSet;

use super::{Touched, World};
use crate::outbox::{Lane, Subject};
use crate::plan::{DiagnosisKey, Intent, Plan};

/// Objects that a newer version of the operator may have written: they are not ours to judge, and stay.
#[derive(Debug, Default)]
pub(super) struct Spared(HashSet<DiagnosisKey>);

impl Spared {
    pub(super) fn kept(&self) -> usize {
        self.0.len()
    }

    pub(super) fn forget(&mut self, key: &DiagnosisKey) {
        self.0.remove(key);
    }
}

impl World {
    /// Leaves these objects as they are, until what they are about fails.
    pub fn spare(&mut self, objects: impl IntoIterator<Item = DiagnosisKey>) {
        self.spared.0.extend(objects);
    }

    /// What is to be looked at where the watch shows an object of which nothing is known.
    pub(super) fn stray(&mut self, key: DiagnosisKey, resource_version: String) -> Touched {
        if self.is_stray(&key) { vec![(Subject::Stray { key, resource_version }, Lane::Resync)] } else { Vec::new() }
    }

    /// Only in this version: whatever has been written there since is told by the watch as well.
    pub(super) fn decide_stray(&mut self, key: &DiagnosisKey, resource_version: &str) -> Plan {
        if !self.is_stray(key) {
            return Plan::default();
        }
        let (key, resource_version) = (key.clone(), resource_version.to_owned());
        Plan { intent: Some(Intent::Delete { key, resource_version }), wake: None }
    }

    fn is_stray(&mut self, key: &DiagnosisKey) -> bool {
        let is_ours = match self.outers(key.kind) {
            Some(outers) => outers.contains(key) || outers.is_writing(key),
            None => self.records.brief(&key.object).is_some() || self.records.is_writing(&key.object),
        };
        !is_ours && !self.spared.0.contains(key)
    }
}
