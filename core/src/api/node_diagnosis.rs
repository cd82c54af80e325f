//! `NodeDiagnosis`: the failure of a node, its start and its impact.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{is_zero, labels_of};
use super::{Head, OtherFinding};

/// The object that is diagnosed.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "shindan.dev",
    version = "v1alpha1",
    kind = "NodeDiagnosis",
    plural = "nodediagnoses",
    shortname = "ndx",
    category = "diagnoses",
    status = "NodeDiagnosisStatus",
    derive = "PartialEq",
    doc = "Why a node is unhealthy, as diagnosed by the Shindan operator. Only the operator writes it.",
    selectable = ".status.cause",
    selectable = ".status.state",
    selectable = ".status.severity",
    printcolumn(name = "Cause", type_ = "string", json_path = ".status.cause"),
    printcolumn(name = "Flapping", type_ = "string", json_path = ".status.flapping.display"),
    printcolumn(name = "Severity", type_ = "string", json_path = ".status.severity"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Pods", type_ = "integer", json_path = ".status.pods"),
    printcolumn(name = "Since", type_ = "date", json_path = ".status.firstSeen"),
    printcolumn(name = "Confidence", type_ = "string", json_path = ".status.confidence", priority = 1),
    printcolumn(name = "Summary", type_ = "string", json_path = ".status.summary", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct NodeDiagnosisSpec {
    /// The name of the node; the object has the same name.
    #[serde(default)]
    pub node_name: String,
    /// The UID of the node. If a new node of the same name fails, its diagnosis replaces this one.
    #[serde(rename = "nodeUID", default)]
    pub node_uid: String,
}

/// The diagnosis. It has no `observedGeneration`, because each write of the operator raises the generation of the object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDiagnosisStatus {
    #[serde(flatten)]
    pub head: Head,
    /// Other problems of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_findings: Vec<OtherFinding>,
    /// The last message of the kubelet before the control plane replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<LastWords>,
    /// Set while the node is flapping: its Ready condition changes often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flapping: Option<FlappingReport>,
    /// The last changes of its Ready condition, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready_history: Vec<ReadyChange>,
    /// Number of affected pods on the node.
    #[serde(default)]
    pub pods: u32,
    /// Workloads of those pods, the one with the most pods first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected: Vec<AffectedWorkload>,
    /// Number of affected workloads that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub affected_beside: u32,
    /// `DaemonSets` that should run on this node but do not, such as `kube-system/kube-proxy`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemon_sets_missing: Vec<String>,
}

/// A message of the kubelet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastWords {
    /// The time of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// The message of the Ready condition.
    #[serde(default)]
    pub message: String,
}

/// Changes of the Ready condition of a flapping node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlappingReport {
    /// Number of changes between Ready and not Ready.
    #[serde(default)]
    pub changes: u32,
    /// Seconds from the first of these changes to the last.
    #[serde(default)]
    pub window_seconds: u32,
    /// Text of the column, such as `5 in 12m`.
    #[serde(default)]
    pub display: String,
}

/// A change of a Node's Ready condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadyChange {
    /// Time of the change.
    pub time: Timestamp,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// The reason, such as `KubeletNotReady`.
    #[serde(default)]
    pub reason: String,
    /// The message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A workload with pods on the node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AffectedWorkload {
    /// Namespace of the workload and its pods.
    #[serde(default)]
    pub namespace: String,
    /// Kind and name, such as `Deployment/web`; `Pod/web` for a bare pod.
    #[serde(default)]
    pub workload: String,
    /// Number of its pods on the node.
    #[serde(default)]
    pub pods: u32,
}

impl NodeDiagnosis {
    /// Labels derived from the status.
    pub fn labels_of(status: &NodeDiagnosisStatus) -> BTreeMap<String, String> {
        labels_of(&status.head, None)
    }
}
