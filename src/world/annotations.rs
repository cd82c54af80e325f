//! What pods and workloads carry of their diagnoses, where they are to carry any: of those that carry something, and no others.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Source, Touched, World};
use crate::api::{DiagnosisKind, DiagnosisState};
use crate::facts::{Carried, ObjectKey, Timestamp, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::plan::annotation::{self, Standing, Step, Wanted, Written};
use crate::plan::{Annotation, Bearer, DiagnosisKey, Intent, Plan, Reference};

/// What is annotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Annotate {
    pub pods: bool,
    pub workloads: bool,
}

/// For so many seconds nothing of a kind is tried in a namespace where no role grants it.
const NOT_GRANTED_FOR: i64 = 300;

#[derive(Debug, Default)]
pub(super) struct Annotations {
    wanted: Annotate,
    by_bearer: HashMap<Bearer, Known>,
    /// Where we may not, by kind and namespace, since when.
    refused: HashMap<(String, Arc<str>), Timestamp>,
}

/// One that carries something, or is about to.
#[derive(Debug)]
struct Known {
    uid: Arc<str>,
    standing: Standing,
}

impl Annotations {
    pub(super) fn kept(&self) -> usize {
        self.by_bearer.len() + self.refused.len()
    }

    fn covers(&self, bearer: &Bearer) -> bool {
        match bearer {
            Bearer::Pod(_) => self.wanted.pods,
            Bearer::Workload(_) => self.wanted.workloads,
        }
    }

    pub(super) fn workloads(&self) -> impl Iterator<Item = WorkloadKey> {
        self.by_bearer.keys().filter_map(|bearer| match bearer {
            Bearer::Workload(key) => Some(key.clone()),
            Bearer::Pod(_) => None,
        })
    }

    /// The watch shows what an object carries. Whether that is new.
    fn seen(&mut self, bearer: &Bearer, uid: &Arc<str>, carried: Option<Carried>) -> bool {
        if let Some(known) = self.by_bearer.get_mut(bearer).filter(|known| known.uid == *uid) {
            let is_new = known.standing.carried != carried;
            known.standing.carried = carried;
            return is_new;
        }
        // What was written is of another object of that name.
        let is_known = self.by_bearer.remove(bearer).is_some();
        if carried.is_none() {
            return is_known;
        }
        let standing = Standing { carried, written: None };
        self.by_bearer.insert(bearer.clone(), Known { uid: uid.clone(), standing });
        true
    }

    fn wrote(&mut self, bearer: &Bearer, uid: &Arc<str>, written: Written) {
        let known = self.by_bearer.entry(bearer.clone());
        let known = known.or_insert_with(|| Known { uid: uid.clone(), standing: Standing::default() });
        known.standing.written = Some(written);
    }

    pub(super) fn forget(&mut self, bearer: &Bearer) {
        self.by_bearer.remove(bearer);
    }

    /// Another replica has led.
    pub(super) fn forget_written(&mut self) {
        self.by_bearer.retain(|_, known| known.standing.carried.is_some());
        self.by_bearer.values_mut().for_each(|known| known.standing.written = None);
        self.refused.clear();
    }

    /// Until when nothing of this kind is tried there.
    fn refused_until(&mut self, object: &Reference, now: Timestamp) -> Option<Timestamp> {
        let place = (object.kind.to_string(), object.key.namespace.clone());
        let until = after(*self.refused.get(&place)?, NOT_GRANTED_FOR);
        if now >= until {
            self.refused.remove(&place);
            return None;
        }
        Some(until)
    }
}

impl World {
    /// From now on these carry what is told of them.
    pub fn annotate(&mut self, wanted: Annotate) {
        self.annotations.wanted = wanted;
    }

    /// The watch shows what an object carries; the subject that is to be looked at where that is new.
    pub(super) fn annotation_seen(
        &mut self,
        bearer: Bearer,
        uid: &Arc<str>,
        carried: Option<Carried>,
    ) -> Option<(Subject, Lane)> {
        let is_new = self.annotations.covers(&bearer) && self.annotations.seen(&bearer, uid, carried);
        is_new.then_some((Subject::Annotation(bearer), Lane::Resync))
    }

    /// What is told of an object has changed.
    pub(super) fn annotation_due(&self, bearer: Bearer) -> Option<(Subject, Lane)> {
        self.annotations.covers(&bearer).then_some((Subject::Annotation(bearer), Lane::Change))
    }

    /// What a diagnosis is about.
    pub(super) fn annotation_of_object(&self, key: &DiagnosisKey) -> Option<Bearer> {
        match key.kind {
            DiagnosisKind::Pod => self.records.brief(&key.object).map(|record| Bearer::Pod((&*record.pod_uid).into())),
            DiagnosisKind::Node => None,
            DiagnosisKind::Workload => match self.workload_objects.subject(key)? {
                Subject::Workload(workload) => Some(Bearer::Workload(workload.clone())),
                _ => None,
            },
        }
    }

    /// All that carry something, or should.
    pub(super) fn all_annotations(&self) -> Touched {
        let carrying = self.annotations.by_bearer.keys().cloned();
        let pods = self.records.active().map(|record| Bearer::Pod((&*record.pod_uid).into()));
        let workloads = self.workload_objects.workloads().map(Bearer::Workload);
        let all = carrying.chain(pods).chain(workloads).filter(|bearer| self.annotations.covers(bearer));
        all.map(|bearer| (Subject::Annotation(bearer), Lane::Resync)).collect()
    }

    pub(super) fn decide_annotation(&mut self, bearer: &Bearer, now: Timestamp) -> Plan {
        let standing = match bearer {
            Bearer::Pod(uid) => self.pod_to_annotate(uid),
            Bearer::Workload(key) => {
                let Some(kind) = key.watched_kind() else { return Plan::default() };
                let needed = [Source::Workloads(kind), Source::Objects(DiagnosisKind::Workload)];
                if !needed.into_iter().all(|source| self.is_listed(source)) {
                    // All are looked at once these are.
                    return Plan::default();
                }
                self.workload_to_annotate(key)
            }
        };
        let Some((object, told)) = standing.filter(|_| self.annotations.covers(bearer)) else {
            self.annotations.forget(bearer);
            return Plan::default();
        };
        let known = self.annotations.by_bearer.get(bearer).map(|known| known.standing.clone()).unwrap_or_default();
        let wanted = told.as_ref().map(|(cause, transition)| Wanted { cause, transition: *transition });
        let transition = wanted.map(|wanted| wanted.transition);
        match annotation::step(wanted, &known, now) {
            Step::Nothing => Plan::default(),
            Step::Rest(from) if now < from => Plan { intent: None, wake: Some(from) },
            Step::Rest(_) => {
                self.annotations.forget(bearer);
                Plan::default()
            }
            Step::TakeUp => {
                let uid = object.uid.as_deref().unwrap_or_default().into();
                self.annotations.wrote(bearer, &uid, Written { transition, at: Timestamp::UNIX_EPOCH });
                Plan::default()
            }
            Step::NotBefore(at) => Plan { intent: None, wake: Some(at) },
            Step::Write => {
                let closed = self.opens_at(&object.key.namespace, now);
                if let Some(until) = closed.max(self.annotations.refused_until(&object, now)) {
                    return Plan { intent: None, wake: Some(until) };
                }
                let text = wanted.and_then(|_| self.annotation_text(bearer));
                let intent = Intent::Annotate(Box::new(Annotation { object, text, transition }));
                Plan { intent: Some(intent), wake: None }
            }
        }
    }

    /// A pod that there is, with cause and transition of what is told of it. (A kubelet owns the mirror of its static pod: it
    /// would not keep what is put there.)
    fn pod_to_annotate(&self, uid: &Arc<str>) -> Option<(Reference, Option<(String, u32)>)> {
        let key = self.pods.place(uid).filter(|_| !self.pods.is_mirror(uid))?.key();
        let record = self.records.brief(&key).filter(|record| record.is_active_of(uid));
        let told = record.map(|record| (record.cause.to_string(), record.transition));
        Some((reference("v1", "Pod", key, uid), told))
    }

    fn workload_to_annotate(&self, key: &WorkloadKey) -> Option<(Reference, Option<(String, u32)>)> {
        if self.gone_workloads.contains(key) {
            return None;
        }
        let object = DiagnosisKey::of_workload(key);
        let active = self.workload_objects.brief(&object).filter(|brief| brief.state == DiagnosisState::Active);
        let uid = match active {
            Some(_) => self.workload_objects.get(&object)?.object.subject_uid().into(),
            None => self.annotations.by_bearer.get(&Bearer::Workload(key.clone()))?.uid.clone(),
        };
        let told = active.map(|brief| (brief.cause.to_string(), brief.transition));
        let name = ObjectKey { namespace: key.namespace.clone(), name: key.name.clone() };
        Some((reference(&key.api_version, &key.kind, name, &uid), told))
    }

    /// What is told of it now.
    fn annotation_text(&self, bearer: &Bearer) -> Option<String> {
        match bearer {
            Bearer::Pod(uid) => {
                let status = self.records.get(&self.pods.place(uid)?.key())?.status;
                Some(annotation::text(&status.cause, &status.summary))
            }
            Bearer::Workload(key) => {
                let record = self.workload_objects.get(&DiagnosisKey::of_workload(key))?;
                let head = record.object.head();
                Some(annotation::text(&head.cause, &head.summary))
            }
        }
    }

    /// The annotation of a subject is there, or off. The watch shows it in its own time.
    pub fn annotated(&mut self, subject: &Subject, annotation: &Annotation, now: Timestamp) -> Touched {
        let Subject::Annotation(bearer) = subject else { return Vec::new() };
        let uid = annotation.object.uid.as_deref().unwrap_or_default().into();
        self.annotations.wrote(bearer, &uid, Written { transition: annotation.transition, at: now });
        // What has changed meanwhile, and whether anything is to be remembered.
        vec![(subject.clone(), Lane::Resync)]
    }

    /// No role grants it. Whether that is news.
    pub fn may_not_annotate(&mut self, object: &Reference, now: Timestamp) -> bool {
        let place = (object.kind.to_string(), object.key.namespace.clone());
        self.annotations.refused.insert(place, now).is_none()
    }
}

fn reference(api_version: &str, kind: &str, key: ObjectKey, uid: &str) -> Reference {
    Reference {
        api_version: api_version.to_owned().into(),
        kind: kind.to_owned().into(),
        key,
        uid: Some(uid.to_owned()),
    }
}
