//! The custom resources as types, nothing else.
//!
//! Every enumeration is an open string in the schema, so that a newer operator's word is never rejected by an older CRD.
//! What the operator reads back of its own objects goes through `cluster::wire`, which takes any word.

mod pod_diagnosis;
mod values;

pub(crate) use pod_diagnosis::short_hash;
pub use pod_diagnosis::{
    Backoff, Evidence, HealthyCondition, Impact, OtherFinding, PodDiagnosis, PodDiagnosisSpec, PodDiagnosisStatus,
    Remedy, Restarts, Run, ServiceImpact, WorkloadImpact, WorkloadRef, crd, labels,
};
pub use values::{Confidence, ContainerType, DiagnosisState, RemedyKind, Severity, Weight};

/// The API group.
pub const GROUP: &str = "shindan.dev";
/// The version that is served and stored.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as objects name them.
pub const API_VERSION: &str = "shindan.dev/v1alpha1";
