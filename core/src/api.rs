//! Types of the custom resources.
//!
//! Enumerations are open strings in the schema, so that an older CRD accepts the values of a newer operator.
//! The operator reads its own objects through `wire`, which accepts unknown values.

/// Who reports our Events; the watches leave out what it reported.
pub const REPORTER: &str = "shindan.dev/operator";

mod diagnosis_rule;
mod node_diagnosis;
mod parts;
mod pod_diagnosis;
mod values;
mod workload_diagnosis;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use diagnosis_rule::{CauseException, DiagnosisRule, DiagnosisRuleSpec, DiagnosisRuleStatus, RuleTest};
pub use node_diagnosis::{
    AffectedWorkload, FlappingReport, LastWords, NodeDiagnosis, NodeDiagnosisSpec, NodeDiagnosisStatus, ReadyChange,
};
pub use parts::{Evidence, Head, OtherFinding, Remedy, Root, ServiceImpact, StatusCondition, WorkloadRef, labels};
pub(crate) use parts::{reason_of, short_hash};
pub use pod_diagnosis::{
    Backoff, Impact, PodDiagnosis, PodDiagnosisSpec, PodDiagnosisStatus, Restarts, Run, WorkloadImpact,
};
pub use values::{Confidence, ContainerType, DiagnosisKind, DiagnosisState, EndedBy, RemedyKind, Severity, Weight};
pub use workload_diagnosis::{
    CauseCount, PastFailure, PodCounts, RootReach, Serving, TemplateChange, TemplateLedger, WorkloadDiagnosis,
    WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
};

/// The API group.
pub const GROUP: &str = "shindan.dev";
/// The version that is served and stored.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as objects name them.
pub const API_VERSION: &str = "shindan.dev/v1alpha1";

/// The definition of a kind of diagnoses as it is installed.
pub fn crd(kind: DiagnosisKind) -> CustomResourceDefinition {
    parts::installed(match kind {
        DiagnosisKind::Pod => PodDiagnosis::crd(),
        DiagnosisKind::Node => NodeDiagnosis::crd(),
        DiagnosisKind::Workload => WorkloadDiagnosis::crd(),
    })
}

/// The definitions of all kinds as they are installed: those of the diagnoses, then that of rules.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let of_rules = parts::installed_with_status(DiagnosisRule::crd());
    DiagnosisKind::ALL.into_iter().map(crd).chain([of_rules]).collect()
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    /// An object of each kind, with every field, as version 0.1 wrote it.
    const OBJECTS_OF_0_1: &str = include_str!("api/objects-of-0.1.yaml");

    fn read_and_written<T: DeserializeOwned + Serialize>(object: &serde_json::Value) -> serde_json::Value {
        serde_json::to_value(serde_json::from_value::<T>(object.clone()).unwrap()).unwrap()
    }

    fn schema(definition: &serde_json::Value) -> &serde_json::Value {
        &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    }

    /// An API server refuses a selectable field that is not a plain one, and more than eight.
    #[test]
    fn diagnoses_are_selected_by_plain_fields() {
        for (kind, expected) in [
            (DiagnosisKind::Pod, &["cause", "state", "severity", "workload.kind", "workload.name"][..]),
            (DiagnosisKind::Workload, &["cause", "state", "severity", "workload.kind", "workload.name"]),
            (DiagnosisKind::Node, &["cause", "state", "severity"]),
        ] {
            let definition = serde_json::to_value(crd(kind)).unwrap();
            let fields = definition["spec"]["versions"][0]["selectableFields"].as_array().unwrap();
            let paths: Vec<_> = fields.iter().map(|field| field["jsonPath"].as_str().unwrap()).collect();
            let names: Vec<_> = paths.iter().map(|path| path[1..].split_once('.').unwrap().1).collect();
            assert_eq!(names, expected, "{kind:?}");
            for path in paths {
                let steps = path[1..].split('.');
                let field = steps.fold(schema(&definition), |schema, step| &schema["properties"][step]);
                assert_eq!(field["type"], "string", "{kind:?} {path}");
            }
        }
    }

    #[test]
    fn conditions_are_a_map_by_type() {
        for definition in crds() {
            let definition = serde_json::to_value(definition).unwrap();
            let conditions = &schema(&definition)["properties"]["status"]["properties"]["conditions"];
            let kind = (&conditions["x-kubernetes-list-type"], &conditions["x-kubernetes-list-map-keys"]);
            assert_eq!(kind, (&"map".into(), &serde_json::json!(["type"])), "{}", definition["metadata"]["name"]);
            let required = conditions["items"]["required"].as_array().unwrap();
            assert!(required.contains(&"type".into()), "the key is required");
        }
    }

    /// An update of the CRDs must not make stored objects invalid.
    #[test]
    fn no_condition_of_version_0_1_occurs_twice() {
        let objects: Vec<serde_json::Value> = serde_saphyr::from_str(OBJECTS_OF_0_1).unwrap();
        for object in &objects {
            let conditions = object["status"]["conditions"].as_array().unwrap();
            let types: std::collections::BTreeSet<_> = conditions.iter().map(|c| c["type"].as_str().unwrap()).collect();
            assert_eq!(types.len(), conditions.len(), "{object}");
        }
    }

    #[test]
    fn objects_of_version_0_1_are_read_and_written_without_a_change() {
        let objects: Vec<serde_json::Value> = serde_saphyr::from_str(OBJECTS_OF_0_1).unwrap();
        assert_eq!(objects.len(), DiagnosisKind::ALL.len());
        for object in &objects {
            let again = match object["kind"].as_str() {
                Some("PodDiagnosis") => read_and_written::<PodDiagnosis>(object),
                Some("NodeDiagnosis") => read_and_written::<NodeDiagnosis>(object),
                Some("WorkloadDiagnosis") => read_and_written::<WorkloadDiagnosis>(object),
                kind => panic!("{kind:?}"),
            };
            assert_eq!(again, *object);
        }
    }
}
