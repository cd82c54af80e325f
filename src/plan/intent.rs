//! What is to be written, as data: `cluster::publish` does it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Annotation, OuterWrite};
use crate::api::{DiagnosisKind, PodDiagnosisSpec, PodDiagnosisStatus, WorkloadDiagnosis};
use crate::facts::{ObjectKey, Timestamp, WorkloadKey};

/// What `cluster::publish` is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// One server-side apply, and then the Event that it owes.
    Apply(Box<ObjectWrite>),
    /// The same for a node or a workload.
    ApplyOuter(Box<OuterWrite>),
    /// Remove an object that is kept no longer.
    Delete { key: DiagnosisKey, resource_version: String },
    /// An Event without a write, owed by an earlier one.
    Announce(Box<Announcement>),
    /// A merge of one annotation into what is diagnosed, or out of it.
    Annotate(Box<Annotation>),
}

/// An object of ours: kinds may share a namespace and a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiagnosisKey {
    pub kind: DiagnosisKind,
    /// Without a namespace for a node.
    pub object: ObjectKey,
}

impl DiagnosisKey {
    pub fn of_pod(object: ObjectKey) -> Self {
        Self { kind: DiagnosisKind::Pod, object }
    }

    pub fn of_node(name: &str) -> Self {
        Self { kind: DiagnosisKind::Node, object: ObjectKey::new("", name) }
    }

    pub fn of_workload(key: &WorkloadKey) -> Self {
        let name = WorkloadDiagnosis::name_of(&key.kind, &key.name);
        Self { kind: DiagnosisKind::Workload, object: ObjectKey::new(key.namespace.clone(), name) }
    }
}

impl std::fmt::Display for DiagnosisKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            DiagnosisKind::Node => write!(f, "{} {}", self.kind.as_str(), self.object.name),
            kind => write!(f, "{} {}", kind.as_str(), self.object),
        }
    }
}

/// A PodDiagnosis to be applied whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectWrite {
    pub key: ObjectKey,
    pub labels: BTreeMap<String, String>,
    pub spec: PodDiagnosisSpec,
    pub status: PodDiagnosisStatus,
    /// The version that this replaces; a conflict means that it is to be reread. `None`: it does not exist yet.
    pub resource_version: Option<String>,
    /// Posted after the write is acknowledged.
    pub announcement: Option<Announcement>,
}

/// A Kubernetes Event (`events.k8s.io/v1`) to be posted under a name that follows from the transition, so that a second
/// post is a conflict and not a second Event.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// The namespace and name of the Event itself.
    pub key: ObjectKey,
    pub regarding: Reference,
    /// The diagnosis.
    pub related: Option<Reference>,
    pub warning: bool,
    /// The cause, or `Recovered`.
    pub reason: String,
    pub action: Action,
    /// At most 1 kB.
    pub note: String,
    pub time: Timestamp,
}

/// An object by reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub api_version: Cow<'static, str>,
    pub kind: Cow<'static, str>,
    pub key: ObjectKey,
    pub uid: Option<String>,
}

impl Reference {
    /// Where Events about it live: for what has no namespace in `default`, where `kubectl describe node` finds them.
    pub fn namespace(&self) -> &str {
        if self.key.namespace.is_empty() { "default" } else { &self.key.namespace }
    }
}

/// What happened to a diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Diagnosed,
    Changed,
    Recovered,
}

impl Action {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Diagnosed => "Diagnosed",
            Self::Changed => "Changed",
            Self::Recovered => "Recovered",
        }
    }
}
