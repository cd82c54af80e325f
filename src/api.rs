//! The custom resources as types, nothing else.
//!
//! Every enumeration is an open string in the schema, so that a newer operator's word is never rejected by an older CRD.
//! What the operator reads back of its own objects goes through `cluster::wire`, which takes any word.

mod node_diagnosis;
mod parts;
mod pod_diagnosis;
mod values;
mod workload_diagnosis;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use node_diagnosis::{
    AffectedWorkload, FlappingReport, LastWords, NodeDiagnosis, NodeDiagnosisSpec, NodeDiagnosisStatus, ReadyChange,
};
pub(crate) use parts::short_hash;
pub use parts::{Evidence, Head, HealthyCondition, OtherFinding, Remedy, Root, ServiceImpact, WorkloadRef, labels};
pub use pod_diagnosis::{
    Backoff, Impact, PodDiagnosis, PodDiagnosisSpec, PodDiagnosisStatus, Restarts, Run, WorkloadImpact,
};
pub use values::{Confidence, ContainerType, DiagnosisKind, DiagnosisState, RemedyKind, Severity, Weight};
pub use workload_diagnosis::{
    CauseCount, PodCounts, RootReach, Serving, TemplateChange, TemplateLedger, WorkloadDiagnosis,
    WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
};

/// The API group.
pub const GROUP: &str = "shindan.dev";
/// The version that is served and stored.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as objects name them.
pub const API_VERSION: &str = "shindan.dev/v1alpha1";

/// The definition of a kind as it is installed.
pub fn crd(kind: DiagnosisKind) -> CustomResourceDefinition {
    parts::installed(match kind {
        DiagnosisKind::Pod => PodDiagnosis::crd(),
        DiagnosisKind::Node => NodeDiagnosis::crd(),
        DiagnosisKind::Workload => WorkloadDiagnosis::crd(),
    })
}
