//! The diagnosis of a pod, node or workload, as it is written to the API server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DiagnosisKey, Reference};
use crate::api::{
    DiagnosisKind, Head, Impact, NodeDiagnosis, NodeDiagnosisSpec, NodeDiagnosisStatus, PodDiagnosis, PodDiagnosisSpec,
    PodDiagnosisStatus, RootReach, WorkloadDiagnosis, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus, WorkloadRef,
};
use crate::facts::ObjectKey;

/// Most bytes of a status. With its metadata an object takes at most 8 KiB.
pub(super) const STATUS_MAX: usize = 7 * 1024;

/// The spec and status of a diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Object {
    Pod(PodDiagnosisSpec, PodDiagnosisStatus),
    Node(NodeDiagnosisSpec, NodeDiagnosisStatus),
    Workload(WorkloadDiagnosisSpec, WorkloadDiagnosisStatus),
}

impl Object {
    pub fn head(&self) -> &Head {
        match self {
            Self::Pod(_, status) => &status.head,
            Self::Node(_, status) => &status.head,
            Self::Workload(_, status) => &status.head,
        }
    }

    pub fn head_mut(&mut self) -> &mut Head {
        match self {
            Self::Pod(_, status) => &mut status.head,
            Self::Node(_, status) => &mut status.head,
            Self::Workload(_, status) => &mut status.head,
        }
    }

    pub fn kind(&self) -> DiagnosisKind {
        match self {
            Self::Pod(..) => DiagnosisKind::Pod,
            Self::Node(..) => DiagnosisKind::Node,
            Self::Workload(..) => DiagnosisKind::Workload,
        }
    }

    pub fn labels(&self) -> BTreeMap<String, String> {
        match self {
            Self::Pod(spec, status) => PodDiagnosis::labels_of(spec, status),
            Self::Node(_, status) => NodeDiagnosis::labels_of(status),
            Self::Workload(spec, status) => WorkloadDiagnosis::labels_of(spec, status),
        }
    }

    /// The UID of the pod, node or workload.
    pub fn subject_uid(&self) -> &str {
        match self {
            Self::Pod(spec, _) => &spec.pod_uid,
            Self::Node(spec, _) => &spec.node_uid,
            Self::Workload(spec, _) => &spec.workload_uid,
        }
    }

    /// The status, if it is the diagnosis of a pod.
    pub fn pod_status(&self) -> Option<&PodDiagnosisStatus> {
        match self {
            Self::Pod(_, status) => Some(status),
            Self::Node(..) | Self::Workload(..) => None,
        }
    }

    /// The container that fails.
    pub fn container(&self) -> Option<&str> {
        match self {
            Self::Pod(_, status) => status.container.as_deref(),
            Self::Workload(_, status) => status.container.as_deref(),
            Self::Node(..) => None,
        }
    }

    /// The workload that it is about, or that the pod belongs to.
    pub fn workload(&self) -> Option<&WorkloadRef> {
        match self {
            Self::Pod(spec, _) => spec.workload.as_ref(),
            Self::Workload(spec, _) => Some(&spec.workload),
            Self::Node(..) => None,
        }
    }

    /// Clears the Event fields, because no Event will be emitted.
    pub fn without_event(&mut self) {
        let head = self.head_mut();
        head.event_owed = false;
        head.announced = false;
    }

    /// The pod, node or workload, as a reference for Events.
    pub(super) fn regarding(&self, key: &DiagnosisKey) -> Reference {
        let uid = Some(self.subject_uid().to_owned()).filter(|uid| !uid.is_empty());
        match self {
            Self::Pod(..) => Reference { api_version: "v1".into(), kind: "Pod".into(), key: key.object.clone(), uid },
            Self::Node(spec, _) => Reference {
                api_version: "v1".into(),
                kind: "Node".into(),
                key: ObjectKey::new("", spec.node_name.as_str()),
                uid,
            },
            Self::Workload(spec, _) => Reference {
                api_version: spec.workload.api_version.clone().into(),
                kind: spec.workload.kind.clone().into(),
                key: ObjectKey::new(key.object.namespace.clone(), spec.workload.name.as_str()),
                uid,
            },
        }
    }

    /// Whether two diagnoses are equal except for volatile fields: texts, times and numbers of affected objects.
    pub(super) fn equals_except_volatile(&self, other: &Self) -> bool {
        self.without_volatile() == other.without_volatile()
    }

    fn without_volatile(&self) -> Self {
        let mut without_volatile = self.clone();
        let head = without_volatile.head_mut();
        head.summary.clear();
        head.remedies.clear();
        head.conditions.clear();
        for evidence in &mut head.evidence {
            evidence.value.clear();
            evidence.time = None;
        }
        match &mut without_volatile {
            Self::Pod(..) => {}
            Self::Node(_, status) => {
                status.last_words = None;
                status.pods = 0;
                status.affected.clear();
                status.affected_beside = 0;
                status.other_findings.iter_mut().for_each(|other| other.summary.clear());
                status.ready_history.iter_mut().for_each(|change| change.message.clear());
            }
            Self::Workload(_, status) => {
                status.folded_events = 0;
                // That other workloads are affected is written soon; their number, later.
                let shared = |reach: RootReach| RootReach {
                    workloads: reach.workloads.min(2),
                    root: reach.root,
                    ..RootReach::default()
                };
                status.root = status.root.take().map(shared);
                if let Some(serving) = &mut status.serving {
                    serving.services.iter_mut().for_each(|service| service.ready_endpoints = 0);
                }
                for template in &mut status.templates {
                    (template.restarts, template.last_failure) = (0, None);
                }
            }
        }
        without_volatile
    }

    /// Cuts the longest fields until the object fits, and counts the cuts.
    pub(super) fn shrink(&mut self) {
        while self.size() > STATUS_MAX {
            let cut = match self {
                Self::Pod(_, status) => {
                    let history = status.restarts.as_mut().map(|restarts| &mut restarts.history);
                    history.filter(|history| history.len() > 1).map(|history| history.remove(0)).is_some()
                }
                Self::Node(_, status) => {
                    if status.ready_history.len() > 4 {
                        Some(status.ready_history.remove(0)).is_some()
                    } else {
                        status.affected_beside += u32::from(!status.affected.is_empty());
                        status.affected.pop().is_some()
                    }
                }
                Self::Workload(_, status) => {
                    status.template_changes.pop().is_some()
                        || (status.templates.len() > 1 && Some(status.templates.remove(0)).is_some())
                }
            };
            let head = self.head_mut();
            let patch = head.remedies.iter_mut().rev().find(|remedy| !cut && remedy.patch.is_some());
            if let Some(remedy) = patch {
                remedy.patch = None;
            } else if !cut && head.evidence.len() > 1 {
                head.evidence.pop();
            } else if !cut && !self.remove_one_name() && self.head_mut().remedies.pop().is_none() {
                return;
            }
            self.head_mut().truncated += 1;
        }
    }

    /// Removes one of the additional findings or names. Returns whether there was one.
    fn remove_one_name(&mut self) -> bool {
        match self {
            Self::Pod(_, status) => {
                let of_impact =
                    |impact: &mut Impact| impact.healthy_containers.pop().is_some() || impact.services.pop().is_some();
                status.other_findings.pop().is_some() || status.impact.as_mut().is_some_and(of_impact)
            }
            Self::Node(_, status) => {
                status.other_findings.pop().is_some() || status.daemon_sets_missing.pop().is_some()
            }
            Self::Workload(_, status) => {
                let services = status.serving.as_mut().and_then(|serving| serving.services.pop());
                services.is_some()
                    || (status.causes.len() > 1 && status.causes.pop().is_some())
                    || status.past_failures.pop().is_some()
            }
        }
    }

    /// The serialized size of the status.
    pub(super) fn size(&self) -> usize {
        let bytes = match self {
            Self::Pod(_, status) => serde_json::to_vec(status),
            Self::Node(_, status) => serde_json::to_vec(status),
            Self::Workload(_, status) => serde_json::to_vec(status),
        };
        bytes.map_or(0, |bytes| bytes.len())
    }
}
