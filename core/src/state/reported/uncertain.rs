//! What is uncertain after this replica became the leader.

use std::collections::HashSet;

use crate::facts::WorkloadKey;
use crate::state::Change;

/// State that is uncertain after becoming the leader.
#[derive(Debug, Default)]
pub(in crate::state) struct UncertainState {
    /// Changes of our objects that arrived while they were being restored.
    pub(in crate::state) deferred: Option<Vec<Change>>,
    /// Diagnosed workloads that are not kept: settled, or deleted while another replica was the leader.
    pub(in crate::state) workloads: HashSet<WorkloadKey>,
}

impl UncertainState {
    pub(in crate::state) fn kept(&self) -> usize {
        self.workloads.len() + self.deferred.as_ref().map_or(0, Vec::len)
    }
}
