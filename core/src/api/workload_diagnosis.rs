//! `WorkloadDiagnosis`: the failure of a workload, the causes of its pods, and the replicas that still serve.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{is_zero, labels_of, short_hash};
use super::{EndedBy, Head, Root, ServiceImpact, WorkloadRef};

/// The object that is diagnosed.
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
    selectable = ".status.cause",
    selectable = ".status.state",
    selectable = ".status.severity",
    selectable = ".spec.workload.kind",
    selectable = ".spec.workload.name",
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
    /// The workload; the object is named after it: `deployment-web`. For a custom resource the name contains its group:
    /// `certificate.cert-manager.io-web`.
    #[serde(default)]
    pub workload: WorkloadRef,
    /// The UID of the workload.
    #[serde(rename = "workloadUID", default)]
    pub workload_uid: String,
}

/// The diagnosis. It has no `observedGeneration`, because each write of the operator raises the generation of the object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadDiagnosisStatus {
    #[serde(flatten)]
    pub head: Head,
    /// The problem of the workload as a whole: `RolloutStuck`, `Unavailable`, `PartlyFailing`, `PodsThrownOut`,
    /// `BlockedOnOrdinal`, `FailingOnNodes`, `NoPods`, `JobFailed`, `NotScheduled`; of a custom resource `Failed`,
    /// `NotReady`, `NotObserved`, ...
    #[serde(default)]
    pub problem: String,
    /// The failing container of most failing pods; absent if no container causes the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Numbers of desired, ready and failing pods.
    #[serde(default)]
    pub pods: PodCounts,
    /// Causes of its failing pods, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseCount>,
    /// Pods and Services that still work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
    /// Differences between the failing template and the last good one. Values of variables are not included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub template_changes: Vec<TemplateChange>,
    /// Failures of each template, newest last, including those of deleted pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateLedger>,
    /// The root of the failure, and the number of objects that it affects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<RootReach>,
    /// Number of Events of its pods that were aggregated into the Events of the workload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folded_events: u32,
    /// Failures of the workload that have ended, and what ended them; newest first, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_failures: Vec<PastFailure>,
}

/// Pods of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCounts {
    /// Desired number of pods.
    #[serde(default)]
    pub desired: u32,
    /// Number of Ready pods.
    #[serde(default)]
    pub ready: u32,
    /// Number of pods with an Active diagnosis.
    #[serde(default)]
    pub failing: u32,
    /// Text of the column: ready and desired pods, such as `2/3`.
    #[serde(default)]
    pub display: String,
}

/// A cause, and the number of pods that have it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CauseCount {
    /// The cause, as in `status.cause` of the diagnoses of the pods.
    #[serde(default)]
    pub cause: String,
    /// The failing container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Number of pods.
    #[serde(default)]
    pub pods: u32,
    /// Names of two of them; each has a `PodDiagnosis` of the same name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_pods: Vec<String>,
}

/// Pods and Services that work while other pods fail.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Serving {
    /// Number of ready pods of the newest template.
    #[serde(default)]
    pub updated_ready: u32,
    /// Number of ready pods of older templates.
    #[serde(default)]
    pub old_ready: u32,
    /// Services that select its pods, with their ready endpoints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceImpact>,
}

/// One difference between two templates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateChange {
    /// The field, such as `containers[web].image`.
    #[serde(default)]
    pub field: String,
    /// The value in the last good template; absent if the field was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The value in the failing template; absent if the field is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Failures of the pods of one template.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateLedger {
    /// The `ReplicaSet`, or the hash of the revision.
    #[serde(default)]
    pub template: String,
    /// Number of its pods that failed, including deleted ones.
    #[serde(default)]
    pub failed_pods: u32,
    /// Number of restarts of all its pods.
    #[serde(default)]
    pub restarts: u32,
    /// The last cause.
    #[serde(default)]
    pub cause: String,
    /// Time of the first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<Timestamp>,
    /// Time of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Timestamp>,
}

/// A root, and the number of objects that it affects.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootReach {
    #[serde(flatten)]
    pub root: Root,
    /// Number of pods that fail because of it, in all namespaces.
    #[serde(default)]
    pub pods: u32,
    /// Number of workloads that fail because of it; each bare pod counts as one.
    #[serde(default)]
    pub workloads: u32,
    /// Number of namespaces with these workloads.
    #[serde(default)]
    pub namespaces: u32,
}

/// A failure of the workload that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastFailure {
    /// The cause, as it was when the failure ended.
    #[serde(default)]
    pub cause: String,
    /// When the failure was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When the failure ended; with `repeats`, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What ended the failure: `Rollback`, `Rollout`, `ScaledToZero`, `Suspended`, `RunSucceeded`, `NodeRecovered`,
    /// `ObjectChanged`, `PodsReplaced`, `PodsRecovered`, `WorkloadDeleted`; or `Unknown`.
    #[serde(default)]
    pub ended_by: EndedBy,
    /// The revision that was rolled out or rolled back to; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// The node that recovered or that the pods left, or the object that was created or changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Root>,
    /// How often the failure returned within an hour after it had ended without a change. These count as one failure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
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
