//! `DiagnosisRule`: causes of users, exceptions from causes, and the tests that make a rule active.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StatusCondition;

/// What the rule adds and changes.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "shindan.dev",
    version = "v1alpha1",
    kind = "DiagnosisRule",
    plural = "diagnosisrules",
    shortname = "dxr",
    status = "DiagnosisRuleStatus",
    derive = "PartialEq",
    doc = "Causes of your own for the Shindan operator, exceptions from its causes, and their tests. It is active once it \
           compiles and all its tests pass.",
    printcolumn(name = "Active", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Tests", type_ = "string", json_path = ".status.tests"),
    printcolumn(name = "Matches", type_ = "integer", json_path = ".status.matches"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosisRuleSpec {
    /// Causes, in the form of the cause files of docs/rules.md. Their names have a prefix: `acme.example/BadLicense`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "objects")]
    pub causes: Vec<serde_json::Value>,
    /// Exceptions from causes of the catalogue or of other rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<CauseException>,
    /// Objects and the causes that they must have. The rule is active only if all tests pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<RuleTest>,
}

/// Where a cause is not reported, or applies only under a further condition: either `ignore` or `when`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CauseException {
    /// The name of the cause.
    pub cause: String,
    /// The namespaces in which the exception holds; all where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Labels that the pod (or the pod template of the workload, or the node) has; any where empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// The cause is not reported, and what only follows from it is not reported either.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore: bool,
    /// A CEL expression over the fields of the signal of the cause. The cause applies only where it holds; otherwise the next
    /// cause that applies is reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// Objects, and the cause that one of them must have.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleTest {
    /// The name that a failing test is reported by.
    pub name: String,
    /// Pods, Nodes, Events, workloads and other objects, as `kubectl get -o yaml` prints them. Only the fields that matter are
    /// needed.
    #[schemars(schema_with = "objects")]
    pub objects: Vec<serde_json::Value>,
    /// The time of the diagnosis; the newest time in the objects where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The cause that one of the objects has. Absent: none of them has a cause of this rule, nor one that the rule excepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// Texts that the summary of that cause contains, ignoring case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_name: Vec<String>,
}

/// Whether the rule is active, and why not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosisRuleStatus {
    /// The generation of the spec that the conditions are about.
    #[serde(default)]
    pub observed_generation: i64,
    /// `Ready`: the rule is active. `TestsPassed`: all its tests passed.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    /// Number of passed tests and of all: `3/3`.
    #[serde(default)]
    pub tests: String,
    /// Number of Active diagnoses with a cause of this rule.
    #[serde(default)]
    pub matches: u32,
}

/// Objects of any form: the operator checks them, and reports errors in the status.
fn objects(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}
