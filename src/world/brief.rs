//! What is asked of all acknowledged diagnoses again and again; the records themselves are packed away.

use std::borrow::Cow;

use crate::api::{DiagnosisState, Head, Root, Severity};
use crate::diagnosis::{Diagnosis, rules};
use crate::facts::{ObjectKey, Timestamp, WorkloadKey};
use crate::plan::Record;

/// Of the diagnosis of a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    pub key: ObjectKey,
    pub pod_uid: Box<str>,
    pub node: Option<Box<str>>,
    pub workload: Option<WorkloadKey>,
    pub state: DiagnosisState,
    pub cause: Cow<'static, str>,
    pub container: Option<Box<str>>,
    pub severity: Severity,
    pub root: Option<Root>,
    pub announced: bool,
    pub repeats: u32,
    pub transition: u32,
    pub last_transition: Option<Timestamp>,
}

impl Brief {
    pub(super) fn of(record: &Record) -> Self {
        let (spec, status) = (&record.spec, &record.status);
        Self {
            key: record.key.clone(),
            pod_uid: spec.pod_uid.as_str().into(),
            node: spec.node_name.as_deref().map(Into::into),
            workload: spec.workload.as_ref().map(|workload| WorkloadKey::of(workload, &record.key.namespace)),
            state: status.state,
            cause: rules::find(&status.cause).map_or_else(|| status.cause.clone().into(), |rule| rule.cause.into()),
            container: status.container.as_deref().map(Into::into),
            severity: status.severity,
            root: status.root.clone(),
            announced: status.announced,
            repeats: status.repeats,
            transition: status.transition,
            last_transition: status.last_transition,
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.state == DiagnosisState::Active
    }

    /// Whether it tells of a present failure of the pod with this UID.
    pub(super) fn is_active_of(&self, pod_uid: &str) -> bool {
        *self.pod_uid == *pod_uid && self.is_active()
    }

    pub(super) fn is_same_failure(&self, diagnosis: &Diagnosis) -> bool {
        self.cause == diagnosis.cause && self.container.as_deref() == diagnosis.container.as_deref()
    }
}

/// Of the diagnosis of a node or of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct OuterBrief {
    pub state: DiagnosisState,
    pub cause: Cow<'static, str>,
    pub severity: Severity,
    pub transition: u32,
}

impl OuterBrief {
    pub(super) fn of(head: &Head) -> Self {
        let (state, severity, transition) = (head.state, head.severity, head.transition);
        Self { state, cause: head.cause.clone().into(), severity, transition }
    }
}
