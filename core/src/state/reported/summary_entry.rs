//! Summary entries: the frequently read fields of acknowledged diagnoses. The full records are compressed.

use std::borrow::Cow;
use std::sync::Arc;

use crate::api::{DiagnosisKind, DiagnosisState, Root, Severity};
use crate::case::{Diagnosis, RootKind};
use crate::facts::{ObjectKey, Timestamp, WorkloadKey, WorkloadName};
use crate::outbox::Subject;
use crate::reconcile::Record;
use crate::rules;
use crate::state::pool::Pool;

/// Summary of a diagnosis.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryEntry {
    pub kind: DiagnosisKind,
    pub key: ObjectKey,
    /// The UID of the pod, node or workload.
    pub subject_uid: Box<str>,
    /// The node of the pod.
    pub node: Option<Box<str>>,
    /// The workload that it is about, or that the pod belongs to.
    pub workload: Option<WorkloadKey>,
    pub state: DiagnosisState,
    pub cause: Cow<'static, str>,
    pub container: Option<Box<str>>,
    pub severity: Severity,
    /// The root of the pod's failure. Pods that fail together share it.
    pub root: Option<Arc<Root>>,
    pub announced: bool,
    pub repeats: u32,
    pub transition: u32,
    pub last_transition: Option<Timestamp>,
}

impl SummaryEntry {
    pub(in crate::state) fn of(record: &Record, workloads: &mut Pool<WorkloadName>, roots: &mut Pool<Root>) -> Self {
        let (object, head, key) = (&record.object, record.object.head(), record.key.object.clone());
        let pod = record.pod();
        Self {
            kind: record.key.kind,
            subject_uid: object.subject_uid().into(),
            node: pod.and_then(|pod| pod.spec.node_name.as_deref()).map(Into::into),
            workload: object.workload().map(|of| workloads.share(WorkloadName::of(of, &key.namespace)).into()),
            key,
            state: head.state,
            cause: rules::find(&head.cause).map_or_else(|| head.cause.clone().into(), |rule| rule.cause.into()),
            container: object.container().map(Into::into),
            severity: head.severity,
            root: pod.and_then(|pod| pod.status.root.clone()).map(|root| roots.share(root)),
            announced: head.announced,
            repeats: pod.map_or(0, |pod| pod.status.repeats),
            transition: head.transition,
            last_transition: head.last_transition,
        }
    }

    /// The node that an Active diagnosis names as its root.
    pub(in crate::state) fn failed_node(&self) -> Option<Arc<str>> {
        let root = self.root.as_ref().filter(|_| self.is_active())?;
        (root.kind == RootKind::Node.as_str()).then(|| root.name.as_str().into())
    }

    /// The subject of the diagnosis, as queued in the outbox.
    pub(in crate::state) fn subject(&self) -> Option<Subject> {
        match self.kind {
            DiagnosisKind::Pod => Some(Subject::Object(self.key.clone().into())),
            DiagnosisKind::Node => Some(Subject::Node(self.key.name.as_ref().into())),
            DiagnosisKind::Workload => self.workload.clone().map(Subject::Workload),
        }
    }

    pub(in crate::state) fn is_active(&self) -> bool {
        self.state == DiagnosisState::Active
    }

    /// Whether the diagnosis is Active and about the subject with this UID.
    pub(in crate::state) fn is_active_of(&self, subject_uid: &str) -> bool {
        *self.subject_uid == *subject_uid && self.is_active()
    }

    pub(in crate::state) fn is_same_failure(&self, diagnosis: &Diagnosis) -> bool {
        self.cause == diagnosis.cause && self.container.as_deref() == diagnosis.container.as_deref()
    }
}
