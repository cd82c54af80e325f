//! What is to be written, as data: `cluster::publish` does it.

use std::collections::BTreeMap;

use crate::api::{PodDiagnosisSpec, PodDiagnosisStatus};
use crate::facts::{ObjectKey, Timestamp};

/// What `cluster::publish` is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// One server-side apply, and then the Event that it owes.
    Apply(Box<ObjectWrite>),
    /// Remove an object that is kept no longer.
    Delete { key: ObjectKey, resource_version: String },
    /// An Event without a write: owed by an earlier one, or about a Node.
    Announce(Box<Announcement>),
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
    /// The PodDiagnosis.
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
    pub api_version: &'static str,
    pub kind: &'static str,
    pub key: ObjectKey,
    pub uid: Option<String>,
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
