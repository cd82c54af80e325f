//! Diagnosis annotations on pods and workloads. Only objects that have or need an annotation are kept.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api::DiagnosisKind;
use crate::facts::{Carried, Timestamp, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::reconcile::annotation::{Standing, Written};
use crate::reconcile::{Annotation, Bearer, DiagnosisKey, Reference};
use crate::state::{Reported, Touched};

/// Which objects are annotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Annotate {
    pub pods: bool,
    pub workloads: bool,
}

/// How long annotations of a kind are suspended in a namespace whose roles do not allow them, in seconds.
const NOT_GRANTED_FOR: i64 = 300;

#[derive(Debug, Default)]
pub struct Annotations {
    enabled: Annotate,
    pub(in crate::state) by_bearer: HashMap<Bearer, Known>,
    /// Kinds and namespaces in which a write was forbidden, with the time.
    refused: HashMap<(String, Arc<str>), Timestamp>,
}

/// An object that has an annotation, or is about to get one.
#[derive(Debug)]
pub(in crate::state) struct Known {
    pub(in crate::state) uid: Arc<str>,
    pub(in crate::state) standing: Standing,
}

impl Annotations {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_bearer.len() + self.refused.len()
    }

    pub(in crate::state) fn covers(&self, bearer: &Bearer) -> bool {
        match bearer {
            Bearer::Pod(_) => self.enabled.pods,
            Bearer::Workload(_) => self.enabled.workloads,
        }
    }

    pub(in crate::state) fn workloads(&self) -> impl Iterator<Item = WorkloadKey> {
        self.by_bearer.keys().filter_map(|bearer| match bearer {
            Bearer::Workload(key) => Some(key.clone()),
            Bearer::Pod(_) => None,
        })
    }

    /// Registers the annotation that the watch shows. Returns whether it changed.
    fn seen(&mut self, bearer: &Bearer, uid: &Arc<str>, carried: Option<Carried>) -> bool {
        if let Some(known) = self.by_bearer.get_mut(bearer).filter(|known| known.uid == *uid) {
            let is_new = known.standing.carried != carried;
            known.standing.carried = carried;
            return is_new;
        }
        // The known annotation belongs to a deleted object of the same name.
        let is_known = self.by_bearer.remove(bearer).is_some();
        if carried.is_none() {
            return is_known;
        }
        let standing = Standing { carried, written: None };
        self.by_bearer.insert(bearer.clone(), Known { uid: uid.clone(), standing });
        true
    }

    pub(in crate::state) fn wrote(&mut self, bearer: &Bearer, uid: &Arc<str>, written: Written) {
        let known = self.by_bearer.entry(bearer.clone());
        let known = known.or_insert_with(|| Known { uid: uid.clone(), standing: Standing::default() });
        known.standing.written = Some(written);
    }

    pub(in crate::state) fn forget(&mut self, bearer: &Bearer) {
        self.by_bearer.remove(bearer);
    }

    /// Forgets what was written, because another replica was the leader since.
    pub(in crate::state) fn forget_written(&mut self) {
        self.by_bearer.retain(|_, known| known.standing.carried.is_some());
        self.by_bearer.values_mut().for_each(|known| known.standing.written = None);
        self.refused.clear();
    }

    /// Until when writes for this kind and namespace are suspended.
    pub(in crate::state) fn refused_until(&mut self, object: &Reference, now: Timestamp) -> Option<Timestamp> {
        let place = (object.kind.to_string(), object.key.namespace.clone());
        let until = after(*self.refused.get(&place)?, NOT_GRANTED_FOR);
        if now >= until {
            self.refused.remove(&place);
            return None;
        }
        Some(until)
    }

    /// Enables annotations on these objects.
    pub fn annotate(&mut self, enabled: Annotate) {
        self.enabled = enabled;
    }

    /// Registers the annotation that the watch shows. Returns the subject to check if it changed.
    pub(in crate::state) fn annotation_seen(
        &mut self,
        bearer: Bearer,
        uid: &Arc<str>,
        carried: Option<Carried>,
    ) -> Option<(Subject, Lane)> {
        let is_new = self.covers(&bearer) && self.seen(&bearer, uid, carried);
        is_new.then_some((Subject::Annotation(bearer), Lane::Resync))
    }

    /// The subject to check after the diagnosis of an object changed.
    pub(in crate::state) fn annotation_due(&self, bearer: Bearer) -> Option<(Subject, Lane)> {
        self.covers(&bearer).then_some((Subject::Annotation(bearer), Lane::Change))
    }

    /// The annotation was written or removed. The watch shows it later.
    pub fn annotated(&mut self, subject: &Subject, annotation: &Annotation, now: Timestamp) -> Touched {
        let Subject::Annotation(bearer) = subject else { return Vec::new() };
        let uid = annotation.object.uid.as_deref().unwrap_or_default().into();
        self.wrote(bearer, &uid, Written { transition: annotation.transition, at: now });
        // The diagnosis may have changed since, or the entry may be obsolete.
        vec![(subject.clone(), Lane::Resync)]
    }

    /// Suspends annotations of this kind in a namespace after a forbidden write. Returns whether they were not
    /// suspended before.
    pub fn may_not_annotate(&mut self, object: &Reference, now: Timestamp) -> bool {
        let place = (object.kind.to_string(), object.key.namespace.clone());
        self.refused.insert(place, now).is_none()
    }
}

impl Reported {
    /// The object that a diagnosis is about.
    pub(in crate::state) fn annotation_of_object(&self, key: &DiagnosisKey) -> Option<Bearer> {
        match key.kind {
            DiagnosisKind::Pod => {
                self.pod_records.summary_entry(&key.object).map(|record| Bearer::Pod((&*record.subject_uid).into()))
            }
            DiagnosisKind::Node => None,
            DiagnosisKind::Workload => {
                let summary_entry = self.workload_records.summary_entry(&key.object)?;
                summary_entry.workload.clone().map(Bearer::Workload)
            }
        }
    }

    /// All objects that have an annotation or should have one.
    pub(in crate::state) fn all_annotations(&self) -> Touched {
        let carrying = self.annotations.by_bearer.keys().cloned();
        let pods = self.pod_records.active().map(|record| Bearer::Pod((&*record.subject_uid).into()));
        let workloads = self.workload_records.workloads().map(Bearer::Workload);
        let all = carrying.chain(pods).chain(workloads).filter(|bearer| self.annotations.covers(bearer));
        all.map(|bearer| (Subject::Annotation(bearer), Lane::Resync)).collect()
    }
}
