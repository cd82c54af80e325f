//! `NodeDiagnosis`: the failure of a node, its start and its impact.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{is_zero, labels_of};
use super::{Head, OtherFinding};

/// What the diagnosis is about.
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
    /// The UID of the node: another machine under the same name takes the object over when it fails too.
    #[serde(rename = "nodeUID", default)]
    pub node_uid: String,
}

/// The diagnosis itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDiagnosisStatus {
    #[serde(flatten)]
    pub head: Head,
    /// Everything else that is wrong with the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_findings: Vec<OtherFinding>,
    /// The last message of the kubelet before the control plane replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<LastWords>,
    /// The node goes in and out of Ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flapping: Option<FlappingReport>,
    /// The last changes of its Ready condition, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready_history: Vec<ReadyChange>,
    /// Pods on the node that it affects.
    #[serde(default)]
    pub pods: u32,
    /// Whose pods those are, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected: Vec<AffectedWorkload>,
    /// Workloads that are affected beside those that are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub affected_beside: u32,
    /// `DaemonSets` that should run on this node and do not, such as `kube-system/kube-proxy`.
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
    /// As the Ready condition had it.
    #[serde(default)]
    pub message: String,
}

/// How restless a node is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlappingReport {
    /// Changes between Ready and not Ready.
    #[serde(default)]
    pub changes: u32,
    /// From the first of them to the last, in seconds.
    #[serde(default)]
    pub window_seconds: u32,
    /// `5 in 12m`, as the column shows it.
    #[serde(default)]
    pub display: String,
}

/// A change of a Node's Ready condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadyChange {
    /// When it changed.
    pub time: Timestamp,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// Such as `KubeletNotReady`.
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
    /// Of the workload and its pods.
    #[serde(default)]
    pub namespace: String,
    /// `Deployment/web`; `Pod/web` for a bare one.
    #[serde(default)]
    pub workload: String,
    /// How many of its pods are on the node.
    #[serde(default)]
    pub pods: u32,
}

impl NodeDiagnosis {
    /// Labels derived from the status.
    pub fn labels_of(status: &NodeDiagnosisStatus) -> BTreeMap<String, String> {
        labels_of(&status.head, None)
    }
}
