//! Sizes of all collections. An unchanged cluster must not make any of them grow.

use super::World;

impl World {
    /// Number of entries of each collection.
    pub fn kept(&self) -> [(&'static str, usize); 20] {
        [
            ("pods", self.cluster.pods.kept()),
            ("nodes", self.cluster.nodes.kept()),
            ("events", self.cluster.events.kept()),
            ("scale_ups", self.cluster.scale_ups.kept()),
            ("owners", self.cluster.owners.kept()),
            ("objects", self.cluster.objects.kept()),
            ("workloads", self.cluster.workloads.kept()),
            ("services", self.cluster.services.kept()),
            ("network", self.cluster.network.kept()),
            ("lookups", self.cluster.lookups.kept()),
            ("pod_diagnoses", self.reported.pod_records.kept() + self.reported.capacity.kept()),
            ("node_and_workload_diagnoses", self.reported.node_records.kept() + self.reported.workload_records.kept()),
            ("failure_history", self.reported.failure_history.kept()),
            ("event_aggregation", self.reported.event_aggregation.kept()),
            ("reach", self.reported.reach.kept()),
            ("undiagnosed_failures", self.reported.undiagnosed_failures.kept()),
            (
                "endings",
                self.cluster.gone_workloads.len()
                    + self.reported.suspended_namespaces.len()
                    + self.reported.uncertain.kept(),
            ),
            ("spared", self.reported.spared.kept()),
            ("overrides", self.cluster.overrides.kept()),
            ("annotations", self.reported.annotations.kept()),
        ]
    }
}
