//! Types that the three kinds of diagnoses share.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Confidence, DiagnosisState, RemedyKind, Severity, Weight};

/// Labels for selection by `kubectl get -l` and alerts.
pub mod labels {
    pub const CAUSE: &str = "shindan.dev/cause";
    pub const CATEGORY: &str = "shindan.dev/category";
    pub const STATE: &str = "shindan.dev/state";
    pub const SEVERITY: &str = "shindan.dev/severity";
    pub const WORKLOAD_KIND: &str = "shindan.dev/workload-kind";
    pub const WORKLOAD_NAME: &str = "shindan.dev/workload-name";
}

/// A controller by reference.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    /// The API version, such as `apps/v1`.
    #[serde(default)]
    pub api_version: String,
    /// The kind, such as `Deployment`.
    #[serde(default)]
    pub kind: String,
    /// The name, in the namespace of the pod.
    #[serde(default)]
    pub name: String,
    /// Text of the column, such as `Deployment/web`.
    #[serde(default)]
    pub display: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
pub(super) fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// `Mitigate`, `Fix` or `Investigate`.
    pub kind: RemedyKind,
    /// What to do.
    #[serde(default)]
    pub text: String,
    /// A command that does it, or reads what a person needs to decide on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A patch for `kubectl patch`, as YAML; never applied by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// Data that supports the diagnosis or contradicts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// A field path, `event/<reason>`, or a Node condition.
    #[serde(default)]
    pub source: String,
    /// The value of the field, or the message of the Event.
    #[serde(default)]
    pub value: String,
    /// Time of the Event, of the end of the run, or of the last change of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// `Supports` or `Contradicts`.
    pub weight: Weight,
}

/// Another problem of the object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherFinding {
    /// The cause, one of those of `status.cause`.
    #[serde(default)]
    pub cause: String,
    /// The affected container, if the problem is one of a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The problem in one line.
    #[serde(default)]
    pub summary: String,
}

/// A Service that selects the pods.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceImpact {
    /// The name, in the namespace of the pod.
    #[serde(default)]
    pub name: String,
    /// Number of ready endpoints of the Service, including other pods.
    #[serde(default)]
    pub ready_endpoints: u32,
}

/// A condition in the standard form, with times in our own type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusCondition {
    /// The type: `Healthy`, `Ready` or `Stalled` of a diagnosis, `Ready` or `TestsPassed` of a rule.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// `True`, `False` or `Unknown`.
    pub status: Cow<'static, str>,
    /// The cause while the object fails, without its prefix; `Recovered` or `Gone` afterwards. Of a rule, why it has this status.
    pub reason: String,
    /// The summary, or what is wrong with the rule.
    #[serde(default)]
    pub message: String,
    /// Time of the last change of `status`.
    pub last_transition_time: Timestamp,
}

/// Converts a text to a valid label value. Invalid characters are replaced, because owner references can contain any
/// text. Over 63 characters it is cut and ends in a hash, so that two long names stay distinct.
pub(super) fn label_value(text: &str) -> String {
    const MOST: usize = 63;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let valid: String = text.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    let valid = valid.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if valid.len() <= MOST {
        return valid.to_owned();
    }
    let hash = short_hash(text);
    format!("{}-{hash}", valid[..MOST - 1 - hash.len()].trim_end_matches(['-', '.', '_']))
}

/// Ten hexadecimal digits of a stable hash. Rust's default hash may change between versions.
pub(crate) fn short_hash(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.iter().take(5).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    format!("{first:010x}")
}

/// The reason of Events and conditions for a cause: its name without the prefix, which a reason cannot have.
pub(crate) fn reason_of(cause: &str) -> &str {
    cause.rsplit_once('/').map_or(cause, |(_, name)| name)
}

/// Labels of all diagnoses.
pub(super) fn labels_of(head: &Head, workload: Option<&WorkloadRef>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut put = |key: &str, value: &str| out.insert(key.to_owned(), label_value(value));
    put(labels::CAUSE, &head.cause);
    put(labels::CATEGORY, &head.category);
    put(labels::STATE, head.state.as_str());
    put(labels::SEVERITY, head.severity.as_str());
    if let Some(workload) = workload {
        put(labels::WORKLOAD_KIND, &workload.kind);
        put(labels::WORKLOAD_NAME, &workload.name);
    }
    out
}

/// The fields that the status of each kind has: the cause, what to do, and the lifecycle.
///
/// There is no `observedGeneration`. Without a status subresource each write raises `metadata.generation`, so kstatus and
/// Argo CD, which compare the two, would report every diagnosis as in progress. The generation of the diagnosed workload
/// does not show how current a diagnosis is either: it also depends on Pods, Events and Nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// `Active`, `Recovered` or `Gone`.
    pub state: DiagnosisState,
    /// The root cause, such as `LivenessProbeFailed`; not a state such as `CrashLoopBackOff`. See docs/causes.md.
    #[serde(default)]
    pub cause: String,
    /// The group of the cause; stable, for alerts.
    #[serde(default)]
    pub category: String,
    /// `Critical`, `Warning` or `Info`.
    pub severity: Severity,
    /// `Certain`, `Likely` or `Possible`.
    pub confidence: Confidence,
    /// The failure in one line of at most 200 characters.
    #[serde(default)]
    pub summary: String,
    /// What to do, most promising first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
    /// The fields and messages that the cause was derived from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// When the failure was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<Timestamp>,
    /// When state, cause, container or severity last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition: Option<Timestamp>,
    /// The number of transitions. It is part of the name of each one's Event.
    #[serde(default)]
    pub transition: u32,
    /// Whether the Event of this transition was still to be emitted at this write. The next write clears it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub event_owed: bool,
    /// Whether a Warning Event was emitted for this failure; its end is then announced too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub announced: bool,
    /// The number of entries (history, patches, evidence) that were cut to keep the object small.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated: u32,
    /// `Healthy`, and `Ready` and `Stalled` as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StatusCondition>,
}

impl Head {
    /// Creates the head of a new failure. Planning the write carries over the values of an earlier one.
    pub fn active(cause: &str, category: &str, severity: Severity, confidence: Confidence, summary: String) -> Self {
        Self {
            state: DiagnosisState::Active,
            cause: cause.to_owned(),
            category: category.to_owned(),
            severity,
            confidence,
            summary,
            remedies: Vec::new(),
            evidence: Vec::new(),
            first_seen: None,
            last_transition: None,
            transition: 0,
            event_owed: false,
            announced: false,
            truncated: 0,
            conditions: Vec::new(),
        }
    }
}

/// An object outside the failing pods that many failures can share: a registry, a ConfigMap, a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// `Node`, `Registry`, `Image`, `ConfigMap`, `Secret`, `ServiceAccount`, `PersistentVolumeClaim`, `PersistentVolume`,
    /// `StorageClass`, `CSIDriver`, `RuntimeClass`, `Scheduler`, `NodeLabel`, `Taint`, `Capacity`, `ExtendedResource`, `Host`, ...
    #[serde(default)]
    pub kind: String,
    /// Its name; in the namespace of the pod, if its kind has one.
    #[serde(default)]
    pub name: String,
}

impl std::fmt::Display for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Completes a CRD for installation.
///
/// It has no status subresource: one apply writes spec and status together, so that clients never see an incomplete
/// object. `spec` and `status` are atomic and preserve unknown fields, so that the CRD accepts the writes of a newer
/// operator.
pub(super) fn installed(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        version.subresources = None;
        let Some(schema) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) else { continue };
        signed_formats(schema);
        let Some(properties) = schema.properties.as_mut() else { continue };
        for part in ["spec", "status"] {
            if let Some(part) = properties.get_mut(part) {
                conditions_by_type(part);
                part.x_kubernetes_map_type = Some("atomic".to_owned());
                part.x_kubernetes_preserve_unknown_fields = Some(true);
            }
        }
    }
    crd
}

/// The definition of rules as it is installed: users write the spec, and the operator the status.
pub(super) fn installed_with_status(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let schemas =
        crd.spec.versions.iter_mut().filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
    schemas.for_each(|schema| {
        signed_formats(schema);
        schema.properties.iter_mut().filter_map(|parts| parts.get_mut("status")).for_each(conditions_by_type);
    });
    crd
}

/// Makes the conditions a map by their type, as the API conventions ask: no type occurs twice, and a server-side apply
/// merges single conditions.
fn conditions_by_type(status: &mut JSONSchemaProps) {
    if let Some(conditions) = status.properties.as_mut().and_then(|fields| fields.get_mut("conditions")) {
        conditions.x_kubernetes_list_type = Some("map".to_owned());
        conditions.x_kubernetes_list_map_keys = Some(vec!["type".to_owned()]);
    }
}

/// Replaces unsigned formats, which Kubernetes does not support. Since 1.36 the API server warns about unknown formats.
fn signed_formats(schema: &mut JSONSchemaProps) {
    if schema.format.as_deref() == Some("uint32") {
        schema.format = Some("int64".to_owned());
    }
    schema.properties.iter_mut().flatten().for_each(|(_, field)| signed_formats(field));
    if let Some(JSONSchemaPropsOrArray::Schema(item)) = &mut schema.items {
        signed_formats(item);
    }
}

#[cfg(test)]
mod tests {
    use super::label_value;

    #[test]
    fn label_values_are_accepted_by_the_api_server() {
        for (text, label) in [
            ("web", "web"),
            ("system:node", "system_node"),
            ("-web.", "web"),
            ("$(rm)\n", "rm"),
            ("診断", ""),
            ("a.b_c-d", "a.b_c-d"),
        ] {
            assert_eq!(label_value(text), label);
        }
        let long = label_value(&"é".repeat(70));
        assert_eq!(long, "");
        let long = label_value(&"web.".repeat(20));
        assert!(long.len() <= 63 && long.starts_with("web.web.") && !long.contains(".-"), "{long}");
    }
}
