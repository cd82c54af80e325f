//! Facts: plain data that rules read, extracted from API objects.
//!
//! Nothing here does I/O, reads a clock or can fail. `wire` converts objects to facts. Fields that no rule reads are
//! left out, because each field takes memory for every unhealthy pod.

mod annotation;
mod custom_kind;
mod event;
mod health;
mod labels;
mod manager;
mod names;
mod node;
mod object;
mod object_fields;
mod overrides;
mod pod;
mod quantity;
mod resources;
pub mod route;
mod selector;
pub(crate) mod similar;
mod surroundings;
mod workload;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use annotation::{Carried, DIAGNOSIS};
pub use custom_kind::CustomKind;
pub use event::{EventFacts, Regarding};
pub use health::{UnhealthyDevice, VolumeFault};
pub use jiff::Timestamp;
pub use labels::Labels;
pub use manager::{ARGO_CD_TRACKING, HELM_RELEASE, Manager};
pub use names::{NamedKind, Names, NamesOf, nearest};
pub use node::{
    Announcement, CORDON_TAINT, Cordon, MACHINE_CONFIG, MACHINE_CONFIG_REASON, NodeComplaint, NodeFacts, NodeState,
    ReadyTransition, Reboot, Remaining, SystemOom, Taint,
};
pub use object::{ObjectFacts, is_custom_group};
pub use object_fields::{FieldPaths, KindFields, ObjectFields};
pub use overrides::{IGNORE, NEVER_READY_AFTER, Overrides, parse_duration};
pub use pod::{
    Condition, Container, ContainerRef, EnvRef, Expression, HostPort, KeyItem, Mount, Operator, Owner, Phase, PodFacts,
    PodTerm, Port, Probe, ProbeHandler, ProbeKind, RefKind, RestartPolicy, RestartRule, SelectorTerm, State,
    Terminated, Toleration, TolerationOperator, Volume, VolumeSource,
};
pub use quantity::{format_bytes, format_cpu, parse_bytes, parse_cpu};
pub use resources::Resources;
pub use selector::LabelSelector;
pub use surroundings::{
    ClaimClass, ClaimFacts, ClaimsFacts, ClassFacts, EndedRun, LogKey, Lookup, LookupResult, NetworkAgent, PullQueue,
    ReachedFacts, ServiceFacts, Siblings, Surroundings,
};
pub use workload::{
    ContainerTemplate, CronJobFacts, DaemonSetFacts, JobFacts, Labelled, OwnFacts, ReplicaSetFacts, RevisionFacts,
    StatefulSetFacts, TemplateFacts, WorkloadFacts, WorkloadKey, WorkloadKind, WorkloadName, kind_with_group,
};

/// Namespace and name of an object. The namespace is empty for cluster-scoped objects.
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

/// Splits a log line into its timestamp, if it has one, and the text.
pub fn timed_line(line: &str) -> (Option<Timestamp>, &str) {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    first.parse().map_or((None, line), |time| (Some(time), rest))
}

/// Seconds from `earlier` to `later`, never negative, because the clocks of nodes and API servers differ.
pub fn seconds_between(earlier: Timestamp, later: Timestamp) -> i64 {
    (later.as_second() - earlier.as_second()).max(0)
}

/// Adds seconds to `at`, within the range of a [`Timestamp`].
pub fn after(at: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_second(at.as_second().saturating_add(seconds)).unwrap_or(at)
}
