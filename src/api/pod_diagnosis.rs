//! `PodDiagnosis`: what is wrong with one pod, how we know, who suffers and what to do.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Confidence, ContainerType, DiagnosisState, RemedyKind, Severity, Weight};

/// The labels that `kubectl get -l` and alerts select by.
pub mod labels {
    pub const CAUSE: &str = "shindan.dev/cause";
    pub const CATEGORY: &str = "shindan.dev/category";
    pub const STATE: &str = "shindan.dev/state";
    pub const SEVERITY: &str = "shindan.dev/severity";
    pub const WORKLOAD_KIND: &str = "shindan.dev/workload-kind";
    pub const WORKLOAD_NAME: &str = "shindan.dev/workload-name";
}

/// What the diagnosis is about.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "shindan.dev",
    version = "v1alpha1",
    kind = "PodDiagnosis",
    plural = "poddiagnoses",
    namespaced,
    shortname = "pdx",
    category = "diagnoses",
    status = "PodDiagnosisStatus",
    derive = "PartialEq",
    doc = "Why a pod fails, as worked out by the Shindan operator. Written by the operator only.",
    printcolumn(name = "Cause", type_ = "string", json_path = ".status.cause"),
    printcolumn(name = "Container", type_ = "string", json_path = ".status.container"),
    printcolumn(name = "Severity", type_ = "string", json_path = ".status.severity"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Restarts", type_ = "integer", json_path = ".status.restarts.count"),
    printcolumn(name = "Since", type_ = "date", json_path = ".status.firstSeen"),
    printcolumn(name = "Pod-Status", type_ = "string", json_path = ".status.podStatus", priority = 1),
    printcolumn(name = "Workload", type_ = "string", json_path = ".spec.workload.display", priority = 1),
    printcolumn(name = "Node", type_ = "string", json_path = ".spec.nodeName", priority = 1),
    printcolumn(name = "Confidence", type_ = "string", json_path = ".status.confidence", priority = 1),
    printcolumn(name = "Summary", type_ = "string", json_path = ".status.summary", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct PodDiagnosisSpec {
    /// The name of the pod; the object has the same name.
    #[serde(default)]
    pub pod_name: String,
    /// The UID of the pod: another pod under the same name takes the object over when it fails too.
    #[serde(rename = "podUID", default)]
    pub pod_uid: String,
    /// The node that the pod is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// The top controller of the pod: the Deployment, not its ReplicaSet; the `CronJob`, not its Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadRef>,
}

/// A controller by reference.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    /// `apps/v1`, say.
    #[serde(default)]
    pub api_version: String,
    /// `Deployment`, say.
    #[serde(default)]
    pub kind: String,
    /// In the namespace of the pod.
    #[serde(default)]
    pub name: String,
    /// `Deployment/web`, as the column shows it.
    #[serde(default)]
    pub display: String,
}

/// The diagnosis itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodDiagnosisStatus {
    /// `Active`, `Recovered` or `Gone`.
    pub state: DiagnosisState,
    /// The root cause, never a mere state such as `CrashLoopBackOff`. See docs/causes.md.
    #[serde(default)]
    pub cause: String,
    /// The family of the cause: stable for alerts.
    #[serde(default)]
    pub category: String,
    /// `Critical`, `Warning` or `Info`.
    pub severity: Severity,
    /// `Certain`, `Likely` or `Possible`.
    pub confidence: Confidence,
    /// The culprit; absent where no container is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// `App`, `Init`, `Sidecar` or `Ephemeral`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_type: Option<ContainerType>,
    /// What `kubectl get pods` printed under STATUS at this write.
    #[serde(default)]
    pub pod_status: String,
    /// One line that an on-call engineer can act on; 200 characters at most.
    #[serde(default)]
    pub summary: String,
    /// What to do, most likely first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
    /// How we know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Everything else that is wrong, and what is only a consequence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_findings: Vec<OtherFinding>,
    /// How often and in which rhythm containers ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<Restarts>,
    /// Who else suffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
    /// When the failure was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<Timestamp>,
    /// When state, cause, container or severity last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition: Option<Timestamp>,
    /// Counts the transitions; names the Event of each.
    #[serde(default)]
    pub transition: u32,
    /// Whether the Event of this transition is to be posted by whoever reads this (cleared by the next write).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub event_owed: bool,
    /// Whether a Warning Event told of this failure; its end is then told as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub announced: bool,
    /// How many ended diagnoses of the same workload, container and cause this object stands for, beside its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// How many entries of history, patches and evidence were cut to keep the object small.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated: u32,
    /// `Healthy`, in the standard form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<HealthyCondition>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// `Mitigate` or `Fix`.
    pub kind: RemedyKind,
    /// What to do, in words.
    #[serde(default)]
    pub text: String,
    /// A command to type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A patch for `kubectl patch`, as YAML; never applied by the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// One reason to believe the diagnosis, or to doubt it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// A field path, `event/<reason>`, or a Node condition.
    #[serde(default)]
    pub source: String,
    /// What was read there: the value of the field, the message of the Event.
    #[serde(default)]
    pub value: String,
    /// When it was so: of an Event, a run's end, or a condition's last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// `Supports` or `Contradicts`.
    pub weight: Weight,
}

/// Something else that is wrong in the pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherFinding {
    /// A cause as `status.cause` names them.
    #[serde(default)]
    pub cause: String,
    /// The container that it concerns, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// One line about it.
    #[serde(default)]
    pub summary: String,
}

/// Restarts of the containers of the pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restarts {
    /// Restarts of the culprit, or of all containers where none is to blame.
    #[serde(default)]
    pub count: u32,
    /// Runs of those containers that ended while nobody looked, as the restart count tells; `history` never had them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u32,
    /// The kubelet's present back-off, such as `2m40s`: in its own words, else worked out from the history where that
    /// is known well enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<String>,
    /// When the kubelet will start the container again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_restart_time: Option<Timestamp>,
    /// The last runs, newest last, kept where the kubelet has already overwritten them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Run>,
}

/// A back-off as the kubelet's message tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    pub text: String,
    pub seconds: i64,
}

/// One run of a container.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The container that ran.
    #[serde(default)]
    pub container: String,
    /// Which run of the container it was, 1 the first; a gap is of runs that nobody saw. Absent for a run of an earlier
    /// pod of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// When it was started; absent where it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// As the runtime reported it: 128 + n after signal n.
    #[serde(default)]
    pub exit_code: i32,
    /// The signal that ended it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The kubelet's word for the end: `Error`, `OOMKilled`, `Completed`, ...
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The cause that this run was put down to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Who else suffers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    /// Whether the pod is Ready all the same.
    #[serde(default)]
    pub pod_ready: bool,
    /// Containers of the pod that run well and go down with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub healthy_containers: Vec<String>,
    /// Services that select the pod, and what they have left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceImpact>,
    /// How the rest of the pod's workload fares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadImpact>,
}

/// A Service that selects the pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceImpact {
    /// In the namespace of the pod.
    #[serde(default)]
    pub name: String,
    /// Endpoints of the Service that are ready, of all pods.
    #[serde(default)]
    pub ready_endpoints: u32,
}

/// The pods of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadImpact {
    /// Pods that are asked for.
    #[serde(default)]
    pub desired: u32,
    /// Ready pods of the newest template.
    #[serde(default)]
    pub updated_ready: u32,
    /// Ready pods of older templates.
    #[serde(default)]
    pub old_ready: u32,
    /// Its pods with an Active diagnosis.
    #[serde(default)]
    pub failing: u32,
    /// Pods of a new template fail while those of the old one still serve.
    #[serde(default)]
    pub rollout_stuck: bool,
}

/// A condition in the standard form, with times in our own type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthyCondition {
    /// `Healthy`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The cause while it fails; how it ended afterwards.
    pub reason: String,
    /// One line for people.
    #[serde(default)]
    pub message: String,
    /// When `status` changed last.
    pub last_transition_time: Timestamp,
}

impl PodDiagnosis {
    /// The labels that follow from spec and status.
    pub fn labels_of(spec: &PodDiagnosisSpec, status: &PodDiagnosisStatus) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        let mut put = |key: &str, value: &str| out.insert(key.to_owned(), label_value(value));
        put(labels::CAUSE, &status.cause);
        put(labels::CATEGORY, &status.category);
        put(labels::STATE, status.state.as_str());
        put(labels::SEVERITY, status.severity.as_str());
        if let Some(workload) = &spec.workload {
            put(labels::WORKLOAD_KIND, &workload.kind);
            put(labels::WORKLOAD_NAME, &workload.name);
        }
        out
    }
}

/// A valid label value: over 63 characters it is cut and ends in a hash, so that two long names stay two.
fn label_value(text: &str) -> String {
    const MOST: usize = 63;
    if text.len() <= MOST {
        return text.to_owned();
    }
    let hash = short_hash(text);
    let keep = text.char_indices().map(|(i, _)| i).take_while(|i| *i <= MOST - 1 - hash.len()).last().unwrap_or(0);
    format!("{}-{hash}", text[..keep].trim_end_matches(['-', '.', '_']))
}

/// Ten hexadecimal digits of a stable hash (not of Rust's default one, which may change between versions).
pub(crate) fn short_hash(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.iter().take(5).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    format!("{first:010x}")
}

/// The CRD as it is installed.
///
/// Without a status subresource: one apply writes spec and status at once, so that an object is never seen half-written.
/// `spec` and `status` are atomic and keep unknown fields, so that this CRD never rejects a newer operator's write.
pub fn crd() -> CustomResourceDefinition {
    let mut crd = PodDiagnosis::crd();
    for version in &mut crd.spec.versions {
        version.subresources = None;
        let schema = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut());
        let Some(properties) = schema.and_then(|s| s.properties.as_mut()) else { continue };
        for part in ["spec", "status"] {
            if let Some(part) = properties.get_mut(part) {
                part.x_kubernetes_map_type = Some("atomic".to_owned());
                part.x_kubernetes_preserve_unknown_fields = Some(true);
            }
        }
    }
    crd
}
