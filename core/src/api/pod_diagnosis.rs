//! `PodDiagnosis`: the failure of a pod, with evidence, impact and remedies.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{is_zero, labels_of};
use super::{ContainerType, Head, OtherFinding, Root, ServiceImpact, WorkloadRef};

/// The object that is diagnosed.
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
    doc = "Why a pod fails, as diagnosed by the Shindan operator. Only the operator writes it.",
    selectable = ".status.cause",
    selectable = ".status.state",
    selectable = ".status.severity",
    selectable = ".spec.workload.kind",
    selectable = ".spec.workload.name",
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
    /// The UID of the pod. If a new pod of the same name fails, its diagnosis replaces this one.
    #[serde(rename = "podUID", default)]
    pub pod_uid: String,
    /// The node that the pod is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// The top controller of the pod: the Deployment, not its ReplicaSet; the `CronJob`, not its Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadRef>,
}

/// The diagnosis. It has no `observedGeneration`, because each write of the operator raises the generation of the object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodDiagnosisStatus {
    #[serde(flatten)]
    pub head: Head,
    /// The container that fails; absent if no container causes the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// `App`, `Init`, `Sidecar` or `Ephemeral`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_type: Option<ContainerType>,
    /// What `kubectl get pods` printed under STATUS at this write.
    #[serde(default)]
    pub pod_status: String,
    /// Other failures of the pod, and consequences of the cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_findings: Vec<OtherFinding>,
    /// The object outside the pod that causes the failure and may affect other pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
    /// Number and times of the containers' restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<Restarts>,
    /// Affected containers, Services and replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
    /// The number of earlier diagnoses of the same workload, container and cause that this object replaces.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
}

/// Restarts of the containers of the pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restarts {
    /// Number of restarts of the failing container, or of all containers if none causes the failure.
    #[serde(default)]
    pub count: u32,
    /// Runs of those containers that were not observed, according to the restart count; `history` does not have them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u32,
    /// The present back-off of the kubelet, such as `2m40s`: from its message, or computed if the recorded runs suffice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<String>,
    /// When the kubelet will start the container again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_restart_time: Option<Timestamp>,
    /// The last runs, newest last, including those that the kubelet has already overwritten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Run>,
}

/// A back-off from the kubelet's message.
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
    /// Number of the run, from 1; a gap means runs that were not observed. Absent for a run of an earlier pod of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Time of the start; absent if the container was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Time of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// The exit code that the runtime reported: 128 + n after signal n.
    #[serde(default)]
    pub exit_code: i32,
    /// The signal that ended the run, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The reason of the termination: `Error`, `OOMKilled`, `Completed`, ...
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The diagnosed cause of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Impact of the failure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    /// Whether the pod is Ready nevertheless.
    #[serde(default)]
    pub pod_ready: bool,
    /// Healthy containers of the pod that are affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub healthy_containers: Vec<String>,
    /// Services that select the pod, with their ready endpoints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceImpact>,
    /// The pods of the pod's workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadImpact>,
}

/// The pods of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadImpact {
    /// Desired number of pods.
    #[serde(default)]
    pub desired: u32,
    /// Number of ready pods of the newest template.
    #[serde(default)]
    pub updated_ready: u32,
    /// Number of ready pods of older templates.
    #[serde(default)]
    pub old_ready: u32,
    /// Number of its pods with an Active diagnosis.
    #[serde(default)]
    pub failing: u32,
    /// Whether pods of a new template fail while pods of an old one still serve.
    #[serde(default)]
    pub rollout_stuck: bool,
}

impl PodDiagnosis {
    /// Labels derived from spec and status.
    pub fn labels_of(spec: &PodDiagnosisSpec, status: &PodDiagnosisStatus) -> BTreeMap<String, String> {
        labels_of(&status.head, spec.workload.as_ref())
    }
}
