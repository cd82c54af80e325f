//! `PodDiagnosis`: what is wrong with one pod, how we know, who suffers and what to do.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{is_zero, labels_of};
use super::{
    Confidence, ContainerType, DiagnosisState, Evidence, HealthyCondition, OtherFinding, Remedy, Root, ServiceImpact,
    Severity, WorkloadRef,
};

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
    /// What the cause lies in, where that is outside the pod and others may suffer from it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
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

impl PodDiagnosis {
    /// The labels that follow from spec and status.
    pub fn labels_of(spec: &PodDiagnosisSpec, status: &PodDiagnosisStatus) -> BTreeMap<String, String> {
        labels_of(&status.cause, &status.category, status.state, status.severity, spec.workload.as_ref())
    }
}
