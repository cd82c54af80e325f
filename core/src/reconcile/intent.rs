//! Planned writes, as data. `cluster::publish` performs them.

use std::borrow::Cow;

use super::{Annotation, Composition, Object, note};
use crate::api::{DiagnosisKind, WorkloadDiagnosis};
use crate::facts::{ObjectKey, Timestamp, WorkloadKey};
use crate::language::Language;

/// A write that `cluster::publish` performs.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// One server-side apply of a diagnosis, followed by its Event.
    Apply(Box<Write>),
    /// Delete an object.
    Delete { key: DiagnosisKey, resource_version: String },
    /// Emit an Event without a write; it belongs to an earlier one.
    Announce(Box<Announcement>),
    /// Set or remove an annotation on a diagnosed object.
    Annotate(Box<Annotation>),
}

/// The key of one of our objects. Different kinds may share a namespace and a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiagnosisKey {
    pub kind: DiagnosisKind,
    /// The namespace is empty for a node.
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
        // The group distinguishes a custom resource from a workload, and from kinds of other groups with this name.
        let kind =
            if key.is_custom() { Cow::from(format!("{}.{}", key.kind, key.group())) } else { Cow::from(&*key.kind) };
        let name = WorkloadDiagnosis::name_of(&kind, &key.name);
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

/// A diagnosis to apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub key: DiagnosisKey,
    pub object: Object,
    pub composition: Composition,
    /// The version to replace. On a conflict the object is read again. `None` creates it.
    pub resource_version: Option<String>,
    /// Emitted after the write is acknowledged.
    pub announcement: Option<Announcement>,
}

/// A Kubernetes Event (`events.k8s.io/v1`). Its name is derived from the transition, so that a retry conflicts instead
/// of creating a second Event.
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

impl Announcement {
    /// States in the note that further Events of this namespace and cause are suppressed: of bare pods, or of objects on
    /// paths of requests.
    pub(crate) fn note_that_others_are_suppressed(&mut self, is_of_pods: bool, language: Language) {
        self.note = note::with_limit(language, &self.note, is_of_pods);
    }
}

/// A reference to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub api_version: Cow<'static, str>,
    pub kind: Cow<'static, str>,
    pub key: ObjectKey,
    pub uid: Option<String>,
}

impl Reference {
    /// The namespace of Events about it: `default` for cluster-scoped objects, where `kubectl describe node` finds
    /// them.
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
