//! Plain data that a rule may read: what the cluster said, freed of API types.
//!
//! Nothing here does I/O, reads a clock or can fail. `cluster::wire` makes facts from objects; a field that no rule
//! reads is not here, because every field is paid for in memory by every pod that is not well.

mod annotation;
mod event;
mod labels;
mod manager;
mod node;
mod pod;
mod quantity;
mod resources;
mod selector;
mod surroundings;
mod wishes;
mod workload;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use annotation::{Carried, DIAGNOSIS};
pub use event::{EventFacts, Regarding};
pub use jiff::Timestamp;
pub use labels::Labels;
pub use manager::{ARGO_CD_TRACKING, HELM_RELEASE, Manager};
pub use node::{NodeComplaint, NodeFacts, NodeState, ReadyTransition, Reboot, SystemOom, Taint};
pub use pod::{
    Condition, Container, ContainerRef, EnvRef, Expression, HostPort, Mount, Operator, Owner, Phase, PodFacts, PodTerm,
    Port, Probe, ProbeHandler, ProbeKind, RefKind, RestartPolicy, SelectorTerm, State, Terminated, Toleration, Volume,
    VolumeSource,
};
pub use quantity::{format_bytes, format_cpu, parse_bytes, parse_cpu};
pub use resources::Resources;
pub use selector::LabelSelector;
pub use surroundings::{
    ClaimClass, ClaimFacts, ClaimsFacts, ClassFacts, EndedRun, LogKey, Looked, PullQueue, ReachedFacts, ServiceFacts,
    Siblings, Surroundings, Want,
};
pub use wishes::{IGNORE, NEVER_READY_AFTER, Wishes, parse_duration};
pub use workload::{
    ContainerTemplate, CronJobFacts, DaemonSetFacts, JobFacts, Labelled, OwnFacts, ReplicaSetFacts, RevisionFacts,
    StatefulSetFacts, TemplateFacts, WorkloadFacts, WorkloadKey, WorkloadKind, WorkloadName,
};

/// The namespace and name of an object; the namespace is empty for a cluster-scoped one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ObjectKey {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl ObjectKey {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}

/// A line of a log with the time that was written before it, where there is one.
pub fn timed_line(line: &str) -> (Option<Timestamp>, &str) {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    first.parse().map_or((None, line), |time| (Some(time), rest))
}

/// Seconds from `earlier` to `later`, never negative: the clocks of nodes and API servers differ.
pub fn seconds_between(earlier: Timestamp, later: Timestamp) -> i64 {
    (later.as_second() - earlier.as_second()).max(0)
}

/// `at` moved by whole seconds, held within the range of a [`Timestamp`].
pub fn after(at: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_second(at.as_second().saturating_add(seconds)).unwrap_or(at)
}
