//! What the cluster holds of one diagnosis, as last acknowledged.

use crate::api::{PodDiagnosisSpec, PodDiagnosisStatus};
use crate::diagnosis::Diagnosis;
use crate::facts::{ObjectKey, Timestamp};

#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub key: ObjectKey,
    /// The UID of the PodDiagnosis.
    pub uid: String,
    pub resource_version: String,
    pub spec: PodDiagnosisSpec,
    pub status: PodDiagnosisStatus,
    /// When the object was last written by us; after a restart, when it last changed.
    pub written_at: Timestamp,
    /// The causes that this episode was put down to so far, each with its container, so that two causes that alternate
    /// are told once each.
    pub told: Vec<(String, Option<String>)>,
}

impl Record {
    pub fn is_same_failure(&self, diagnosis: &Diagnosis) -> bool {
        self.status.cause == diagnosis.cause && self.status.container.as_deref() == diagnosis.container.as_deref()
    }
}
