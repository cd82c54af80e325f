//! How much is kept of what: a cluster that goes on as it is must not make any of it grow.

use super::World;

impl World {
    /// Entries, by what they are of.
    pub fn kept(&self) -> [(&'static str, usize); 17] {
        let outers = self.node_objects.kept() + self.workload_objects.kept();
        [
            ("pods", self.pods.kept()),
            ("nodes", self.nodes.kept()),
            ("events", self.events.kept()),
            ("owners", self.owners.kept()),
            ("workloads", self.workloads.kept()),
            ("services", self.services.kept()),
            ("lookups", self.lookups.kept()),
            ("objects", self.records.kept()),
            ("outer_objects", outers),
            ("stories", self.stories.kept()),
            ("folds", self.folds.kept()),
            ("reach", self.reach.kept()),
            ("last_words", self.last_words.kept()),
            ("endings", self.gone_workloads.len() + self.closed.len() + self.doubts.kept()),
            ("spared", self.spared.kept()),
            ("wishes", self.wishes.kept()),
            ("annotations", self.annotations.kept()),
        ]
    }
}
