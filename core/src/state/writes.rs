//! Results of our writes: acknowledged, failed, refused, or in conflict with another writer.

use super::cluster::workloads::Workloads;
use super::reported::SUSPENDED_FOR;
use super::reported::summary_entry::SummaryEntry;
use super::{Touched, World, decide};
use crate::api::DiagnosisKind;
use crate::facts::{ObjectKey, Timestamp, after};
use crate::outbox::{Lane, Subject};
use crate::reconcile::{DiagnosisKey, Write};

impl World {
    /// Until when writes of this object are suspended because its namespace is terminating. An object that was deleted
    /// with the namespace is forgotten, because recreating it would only be refused.
    pub(super) fn suspended_until(&mut self, object: &DiagnosisKey, now: Timestamp) -> Option<Timestamp> {
        let open = self.reported.suspension_end(&object.object.namespace, now)?;
        if self.reported.records(object.kind).is_deleted(&object.object) {
            self.removed(object);
        }
        Some(open)
    }

    /// A write was refused because its namespace is terminating. The object is forgotten, and writes to the namespace
    /// are suspended.
    pub fn namespace_gone(&mut self, key: &DiagnosisKey, now: Timestamp) {
        self.reported.suspended_namespaces.retain(|_, since| now < after(*since, SUSPENDED_FOR));
        self.reported.suspended_namespaces.insert(key.object.namespace.clone(), now);
        self.removed(key);
    }

    /// The write of a diagnosis was acknowledged. Returns the subjects that it affects.
    pub fn acknowledged(&mut self, write: &Write, uid: String, resource_version: String, now: Timestamp) -> Touched {
        let key = &write.key;
        let (before, mut touched) = self.reported.records_mut(key.kind).acknowledged(write, uid, resource_version, now);
        match key.kind {
            DiagnosisKind::Pod => {
                touched.extend(self.reported.capacity.acknowledged(&key.object, &mut self.reported.pod_records));
                touched.extend(self.pod_acknowledged(&key.object, before.as_ref(), now));
            }
            DiagnosisKind::Node => {}
            DiagnosisKind::Workload => {
                self.reported.event_aggregation.written(write.object.subject_uid());
                touched.extend(self.reported.workload_acknowledged(&key.object, now));
            }
        }
        touched.extend(
            self.reported.annotation_of_object(key).and_then(|bearer| self.reported.annotations.annotation_due(bearer)),
        );
        touched
    }

    /// Updates what depends on the diagnoses of pods: counts of failing pods, reach of roots, affected pods of nodes.
    fn pod_acknowledged(&mut self, key: &ObjectKey, before: Option<&SummaryEntry>, now: Timestamp) -> Touched {
        let mut touched = decide::network::pod_diagnosed(self, key);
        if let Some(before) = before {
            uncount(&mut self.cluster.workloads, before);
            self.reported.reach.remove(before);
        }
        let Some(record) = self.reported.pod_records.summary_entry(key) else { return touched };
        self.reported.event_aggregation.written(&record.subject_uid);
        count(&mut self.cluster.workloads, record);
        self.reported.reach.add(record);
        if decide::pod::is_pod_gone(self, record) {
            // The pod was deleted during the write.
            touched.push((Subject::Object(key.clone().into()), Lane::Change));
        }
        touched.extend(self.reported.other_reporter(record, now));
        let nodes = (before.and_then(SummaryEntry::failed_node), record.failed_node());
        if nodes.0 != nodes.1 {
            // The node's diagnosis includes the number of affected pods.
            let nodes = [nodes.0, nodes.1].into_iter().flatten();
            touched.extend(nodes.map(|node| (Subject::Node(node), Lane::Resync)));
        }
        let mut workloads: Vec<_> =
            before.into_iter().chain([record]).filter_map(decide::workload::workload_of).cloned().collect();
        workloads.dedup();
        touched.extend(workloads.into_iter().map(|key| (Subject::Workload(key), Lane::Change)));
        let tops: Vec<_> = [before.and_then(|before| before.workload.as_ref()), record.workload.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        touched.extend(tops.into_iter().flat_map(|key| decide::object::above(&self.cluster, key)));
        touched
    }

    /// An annotation of ours is about to be set on one of our objects. Its new version is no external edit.
    pub fn marking(&mut self, key: &DiagnosisKey, now: Timestamp) {
        if !self.reported.records(key.kind).is_writing(&key.object) {
            self.reported.begin_write(key, now);
        }
    }

    /// The annotation of [`Self::marking`] was set, with this version of the object, or it failed.
    pub fn marked(&mut self, key: &DiagnosisKey, resource_version: Option<String>) -> Touched {
        self.reported.records_mut(key.kind).marked(&key.object, resource_version)
    }

    /// An object was removed.
    pub fn removed(&mut self, key: &DiagnosisKey) -> Touched {
        let bearer = self.reported.annotation_of_object(key);
        decide::workload::forget_gone_workload(self, key);
        let removed = self.reported.records_mut(key.kind).remove(&key.object);
        match key.kind {
            DiagnosisKind::Pod => {
                self.reported.capacity.not_written(&key.object);
                if let Some(record) = removed {
                    uncount(&mut self.cluster.workloads, &record);
                    self.reported.reach.remove(&record);
                }
            }
            DiagnosisKind::Node | DiagnosisKind::Workload => self.reported.reach.forget_refused(key),
        }
        bearer.and_then(|bearer| self.reported.annotations.annotation_due(bearer)).into_iter().collect()
    }

    /// The API server refused a write because the object has another version. `current` is the version in the API
    /// server.
    pub fn conflicted(&mut self, key: &DiagnosisKey, current: Option<(String, String)>) -> Touched {
        self.reported.records_mut(key.kind).conflicted(&key.object, current);
        let key = match key.kind {
            DiagnosisKind::Pod => &key.object,
            DiagnosisKind::Node | DiagnosisKind::Workload => return Vec::new(),
        };
        // If the pod was the subject of the write, its diagnosis would not be checked again.
        let without_pod =
            self.reported.pod_records.summary_entry(key).filter(|record| decide::pod::is_pod_gone(self, record));
        without_pod.map(|_| (Subject::Object(key.clone().into()), Lane::Change)).into_iter().collect()
    }
}

/// Counts a pod with an Active diagnosis among the failing pods of its workload.
pub(super) fn count(workloads: &mut Workloads, record: &SummaryEntry) {
    match &record.workload {
        Some(key) if record.is_active() => workloads.set_failing(key, &record.subject_uid),
        _ => uncount(workloads, record),
    }
}

pub(super) fn uncount(workloads: &mut Workloads, record: &SummaryEntry) {
    if let Some(key) = &record.workload {
        workloads.unset_failing(key, &record.subject_uid);
    }
}
