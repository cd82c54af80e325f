//! `WorkloadDiagnosis`: the failure of a workload, the causes of its pods, and the replicas that still serve.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{is_zero, labels_of, short_hash};
use super::{Head, Root, ServiceImpact, WorkloadRef};

/// What the diagnosis is about.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "shindan.dev",
    version = "v1alpha1",
    kind = "WorkloadDiagnosis",
    plural = "workloaddiagnoses",
    namespaced,
    shortname = "wdx",
    category = "diagnoses",
    status = "WorkloadDiagnosisStatus",
    derive = "PartialEq",
    doc = "Why a workload fails, as diagnosed by the Shindan operator. Only the operator writes it.",
    printcolumn(name = "Cause", type_ = "string", json_path = ".status.cause"),
    printcolumn(name = "Problem", type_ = "string", json_path = ".status.problem"),
    printcolumn(name = "Severity", type_ = "string", json_path = ".status.severity"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.pods.display"),
    printcolumn(name = "Since", type_ = "date", json_path = ".status.firstSeen"),
    printcolumn(name = "Failing", type_ = "integer", json_path = ".status.pods.failing", priority = 1),
    printcolumn(name = "Container", type_ = "string", json_path = ".status.container", priority = 1),
    printcolumn(name = "Confidence", type_ = "string", json_path = ".status.confidence", priority = 1),
    printcolumn(name = "Summary", type_ = "string", json_path = ".status.summary", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadDiagnosisSpec {
    /// The workload; the object is named after it: `deployment-web`.
    #[serde(default)]
    pub workload: WorkloadRef,
    /// The UID of the workload.
    #[serde(rename = "workloadUID", default)]
    pub workload_uid: String,
}

/// The diagnosis itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadDiagnosisStatus {
    #[serde(flatten)]
    pub head: Head,
    /// What is wrong with the workload as a whole: `RolloutStuck`, `Unavailable`, `PartlyFailing`, `PodsThrownOut`,
    /// `BlockedOnOrdinal`, `FailingOnNodes`, `NoPods`, `JobFailed`, `NotScheduled`, ...
    #[serde(default)]
    pub problem: String,
    /// The container that most of the failing pods have in common, where one is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// How many pods there are, and how they fare.
    #[serde(default)]
    pub pods: PodCounts,
    /// Why its pods fail, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseCount>,
    /// Who is served meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
    /// What the failing template has otherwise than the last good one: names, never values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub template_changes: Vec<TemplateChange>,
    /// The failures of each template, newest last; the pods that had them may be gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateLedger>,
    /// What the cause lies in, and how far it reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<RootReach>,
    /// Events of its pods that were combined in that of the workload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folded_events: u32,
}

/// Pods of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCounts {
    /// Pods that are asked for.
    #[serde(default)]
    pub desired: u32,
    /// Pods that are Ready.
    #[serde(default)]
    pub ready: u32,
    /// Pods with an Active diagnosis.
    #[serde(default)]
    pub failing: u32,
    /// `2/3`, ready of desired, as the column shows it.
    #[serde(default)]
    pub display: String,
}

/// A cause, and how many pods have it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CauseCount {
    /// As `status.cause` of their diagnoses has it.
    #[serde(default)]
    pub cause: String,
    /// The culprit in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// How many pods.
    #[serde(default)]
    pub pods: u32,
    /// Two of them; each has a `PodDiagnosis` of its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_pods: Vec<String>,
}

/// Who serves while others fail.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Serving {
    /// Ready pods of the newest template.
    #[serde(default)]
    pub updated_ready: u32,
    /// Ready pods of older templates.
    #[serde(default)]
    pub old_ready: u32,
    /// Services that select its pods, with what they have left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceImpact>,
}

/// One difference between two templates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateChange {
    /// Such as `containers[web].image`.
    #[serde(default)]
    pub field: String,
    /// In the last good template; absent where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// In the failing template; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What is remembered of the pods of one template.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateLedger {
    /// The `ReplicaSet`, or the hash of the revision.
    #[serde(default)]
    pub template: String,
    /// Pods of it that failed, those that are gone included.
    #[serde(default)]
    pub failed_pods: u32,
    /// Restarts of all of them.
    #[serde(default)]
    pub restarts: u32,
    /// Their last cause.
    #[serde(default)]
    pub cause: String,
    /// When the first of them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<Timestamp>,
    /// When the last of them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Timestamp>,
}

/// A root, and how much hangs on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootReach {
    #[serde(flatten)]
    pub root: Root,
    /// Pods that fail because of it, in all namespaces.
    #[serde(default)]
    pub pods: u32,
    /// Workloads that fail because of it; each bare pod counts as one.
    #[serde(default)]
    pub workloads: u32,
    /// Namespaces where it is felt.
    #[serde(default)]
    pub namespaces: u32,
}

impl WorkloadDiagnosis {
    /// Labels derived from spec and status.
    pub fn labels_of(spec: &WorkloadDiagnosisSpec, status: &WorkloadDiagnosisStatus) -> BTreeMap<String, String> {
        labels_of(&status.head, Some(&spec.workload))
    }

    /// Name of the object for a workload. It contains the kind, because workloads of different kinds can share a name.
    pub fn name_of(kind: &str, name: &str) -> String {
        const MOST: usize = 253;
        let full = format!("{}-{name}", kind.to_ascii_lowercase());
        if full.len() <= MOST {
            return full;
        }
        let hash = short_hash(&full);
        let keep = full.char_indices().map(|(i, _)| i).take_while(|i| *i <= MOST - 1 - hash.len()).last().unwrap_or(0);
        format!("{}-{hash}", full[..keep].trim_end_matches(['-', '.']))
    }
}
