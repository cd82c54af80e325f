//! What becomes of our writes: under way, acknowledged, refused, or overtaken by another hand.

use std::sync::Arc;

use super::brief::Brief;
use super::{Touched, World, about_nodes};
use crate::api::WorkloadDiagnosisStatus;
use crate::diagnosis::told_as;
use crate::facts::{ObjectKey, Timestamp, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::plan::{self, Bearer, DiagnosisKey, Outer, OuterWrite};

/// How long nothing is written in a namespace that refused a write because it is going, in seconds.
const CLOSED_FOR: i64 = 60;

impl World {
    pub(super) fn begin_write(&mut self, key: &DiagnosisKey, now: Timestamp) {
        match self.outers(key.kind) {
            Some(outers) => outers.begin_write(key, now),
            None => self.records.begin_write(&key.object, now),
        }
    }

    /// Until when nothing is written of this object, as its namespace is going. One that is deleted already has gone with it: to
    /// put it back would only be refused, one object a minute.
    pub(super) fn closed_until(&mut self, object: &DiagnosisKey, now: Timestamp) -> Option<Timestamp> {
        let open = self.opens_at(&object.object.namespace, now)?;
        if self.is_deleted(object) {
            self.removed(object);
        }
        Some(open)
    }

    /// When anything may be written again in a namespace that is going.
    pub(super) fn opens_at(&mut self, namespace: &Arc<str>, now: Timestamp) -> Option<Timestamp> {
        let open = after(*self.closed.get(namespace)?, CLOSED_FOR);
        if now >= open {
            self.closed.remove(namespace);
            return None;
        }
        Some(open)
    }

    /// Whether somebody else deleted it.
    fn is_deleted(&mut self, object: &DiagnosisKey) -> bool {
        match self.outers(object.kind) {
            Some(outers) => outers.is_deleted(object),
            None => self.records.is_deleted(&object.object),
        }
    }

    /// A write that was decided on did not succeed.
    pub fn not_written(&mut self, key: &DiagnosisKey) -> Touched {
        match self.outers(key.kind) {
            Some(outers) => outers.not_written(key),
            None => self.records.written(&key.object, None),
        }
    }

    /// A write was refused because its namespace is going: our object goes with it, and no other is written there.
    pub fn namespace_gone(&mut self, key: &DiagnosisKey, now: Timestamp) {
        self.closed.retain(|_, since| now < after(*since, CLOSED_FOR));
        self.closed.insert(key.object.namespace.clone(), now);
        self.removed(key);
    }

    /// The write of a subject was acknowledged.
    pub fn acknowledged(
        &mut self,
        write: &plan::ObjectWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Touched {
        let mut workloads = Vec::new();
        let mut suffered = None;
        self.folds.written(&write.spec.pod_uid);
        if let Some(before) = self.records.brief(&write.key) {
            self.workloads.unset_failing(before);
            self.reach.remove(before);
            suffered = about_nodes::suffers_from(before);
            workloads.extend(Self::workload_of(before).cloned());
        }
        let mut touched = self.records.acknowledged(write, uid, resource_version, now);
        if let Some(record) = self.records.brief(&write.key) {
            self.workloads.set_failing(record);
            self.reach.add(record);
            workloads.extend(Self::workload_of(record).cloned());
            if self.is_orphan(record) {
                // Its pod went while it was being written.
                touched.push((Subject::Object(write.key.clone()), Lane::Change));
            }
        }
        let suffers = self.records.brief(&write.key).and_then(about_nodes::suffers_from);
        touched.extend(self.records.brief(&write.key).and_then(|record| self.teller_beside(record, now)));
        if suffered != suffers {
            // Its node tells how many suffer there.
            touched.extend([suffered, suffers].into_iter().flatten().map(|node| (Subject::Node(node), Lane::Resync)));
        }
        touched.extend(self.annotation_due(Bearer::Pod(write.spec.pod_uid.as_str().into())));
        workloads.dedup();
        touched.extend(workloads.into_iter().map(|key| (Subject::Workload(key), Lane::Change)));
        touched
    }

    /// The workload that told of the root of this pod, if it is another's: it tells as well how far that reaches.
    fn teller_beside(&self, record: &Brief, now: Timestamp) -> Option<(Subject, Lane)> {
        let (root, workload) = (record.root.as_ref()?, record.workload.as_ref()?);
        let teller = self.reach.told_by_another((root, &record.cause), workload, now)?;
        Some((Subject::Workload(teller.clone()), Lane::Resync))
    }

    /// The write of a node's or a workload's diagnosis was acknowledged.
    pub fn outer_acknowledged(
        &mut self,
        write: &OuterWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Touched {
        let Some(outers) = self.outers(write.key.kind) else { return Vec::new() };
        let mut touched = outers.acknowledged(write, uid, resource_version, now);
        if let Some(record) = self.workload_objects.get(&write.key) {
            self.reach.set_refused(&record);
            if let Outer::Workload(spec, WorkloadDiagnosisStatus { head, root: Some(reach), .. }) = &record.object {
                let workload = WorkloadKey::of(&spec.workload, &write.key.object.namespace);
                let what = told_as(&head.cause, &head.evidence);
                let teller = self.reach.told_by_another((&reach.root, &what), &workload, now).cloned();
                touched.extend(teller.map(|teller| (Subject::Workload(teller), Lane::Resync)));
            }
        }
        touched.extend(self.annotation_of_object(&write.key).and_then(|bearer| self.annotation_due(bearer)));
        touched
    }

    /// An object is removed: nothing is told any more of what it was about.
    pub fn removed(&mut self, key: &DiagnosisKey) -> Touched {
        let bearer = self.annotation_of_object(key);
        self.forget_burial(key);
        if let Some(outers) = self.outers(key.kind) {
            outers.remove(key);
            self.reach.forget_refused(key);
        } else {
            self.records.written(&key.object, None);
            if let Some(record) = self.records.remove(&key.object) {
                self.workloads.unset_failing(&record);
                self.reach.remove(&record);
            }
        }
        bearer.and_then(|bearer| self.annotation_due(bearer)).into_iter().collect()
    }

    /// The Event that a diagnosis owed for this transition is there.
    pub fn announced(&mut self, key: &DiagnosisKey, transition: u32) {
        match self.outers(key.kind) {
            Some(outers) => outers.announced(key, transition),
            None => self.records.announced(&key.object, transition),
        }
    }

    /// This Event, which an object owed, is there.
    pub fn owed_is_there(&mut self, key: &ObjectKey, event: &ObjectKey) {
        let owed = self.records.get(key).filter(|record| plan::event_key(key, &record.spec, &record.status) == *event);
        if let Some(transition) = owed.map(|record| record.status.transition) {
            self.records.announced(key, transition);
        }
    }

    /// The Event that a node's or a workload's diagnosis owed is there.
    pub fn outer_owed_is_there(&mut self, key: &DiagnosisKey) {
        if let Some(outers) = self.outers(key.kind)
            && let Some(transition) = outers.brief(key).map(|brief| brief.transition)
        {
            outers.announced(key, transition);
        }
    }

    /// The Event of a failure that got no object is there.
    pub fn announced_without_object(&mut self, pod_uid: &str) {
        self.records.told_unrecorded(pod_uid);
    }

    /// The API server refused a write because the object is not the one we know: this is the one that it has.
    pub fn conflicted(&mut self, key: &DiagnosisKey, current: Option<(String, String)>) -> Touched {
        if let Some(outers) = self.outers(key.kind) {
            outers.conflicted(key, current);
            return Vec::new();
        }
        let key = &key.object;
        self.records.conflicted(key, current);
        // Where the pod itself was the subject, nobody would look at its object any more.
        let orphan = self.records.brief(key).filter(|record| self.is_orphan(record));
        orphan.map(|_| (Subject::Object(key.clone()), Lane::Change)).into_iter().collect()
    }
}
