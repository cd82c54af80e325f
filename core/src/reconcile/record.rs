//! Record of a diagnosis, as last acknowledged by the API server.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::{Composition, DiagnosisKey, Object, Write};
use crate::api::{DiagnosisState, Evidence, PodDiagnosisSpec, PodDiagnosisStatus};
use crate::case::Diagnosis;
use crate::facts::Timestamp;
use crate::rules::catalog;

/// A diagnosis as last acknowledged. It is serialized to be compressed, without the names that are stored beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    #[serde(skip, default = "no_key")]
    pub key: DiagnosisKey,
    /// The UID of our object.
    #[serde(skip)]
    pub uid: String,
    #[serde(skip)]
    pub resource_version: String,
    pub object: Object,
    pub composition: Composition,
    /// When we last wrote the object. After a restart, when it last changed.
    pub written_at: Timestamp,
    /// The causes of this episode so far, each with its container. Alternating causes are announced once each.
    pub causes: Vec<(String, Option<String>)>,
    /// The cause in the last Warning Event, of this episode or of an earlier one that this one followed without an
    /// Event.
    pub announced: Option<String>,
    /// What this episode of a pod has shown so far, so that recurring findings count as new only once.
    pub shown: Shown,
    /// Whether restarts were written without a new summary. The next failure updates both.
    pub summary_is_behind: bool,
}

fn no_key() -> DiagnosisKey {
    DiagnosisKey::of_node("")
}

/// The record of a pod's diagnosis, with its spec and status.
#[derive(Debug, Clone, Copy)]
pub struct PodRecord<'a> {
    pub record: &'a Record,
    pub spec: &'a PodDiagnosisSpec,
    pub status: &'a PodDiagnosisStatus,
}

/// Hashes of the evidence, other findings and first remedies, and of the STATUS values since the last restart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shown {
    parts: BTreeSet<u32>,
    words: BTreeSet<u32>,
    restarts: u32,
}

impl Shown {
    pub fn of(status: &PodDiagnosisStatus) -> Self {
        let mut shown = Self::default();
        shown.add(status);
        shown
    }

    pub fn add(&mut self, status: &PodDiagnosisStatus) {
        self.parts.extend(signs(status).chain(remedy(status)));
        let restarts = restarts(status);
        if self.restarts != restarts {
            self.restarts = restarts;
            self.words.clear();
        }
        self.words.insert(hash(&status.pod_status));
    }

    /// Whether this STATUS value was shown since the last restart.
    pub fn has_status_of(&self, status: &PodDiagnosisStatus) -> bool {
        self.restarts == restarts(status) && self.words.contains(&hash(&status.pod_status))
    }

    /// Whether all evidence and findings of the status were shown before.
    pub fn has_all_of(&self, status: &PodDiagnosisStatus) -> bool {
        signs(status).all(|sign| self.parts.contains(&sign))
    }

    /// Whether the first remedy was shown before.
    pub fn has_remedy_of(&self, status: &PodDiagnosisStatus) -> bool {
        remedy(status).is_none_or(|remedy| self.parts.contains(&remedy))
    }
}

fn restarts(status: &PodDiagnosisStatus) -> u32 {
    status.restarts.as_ref().map_or(0, |r| r.count)
}

/// Half a hash suffices: a collision only delays a write.
#[allow(clippy::cast_possible_truncation, reason = "any 32 of its bits")]
fn hash(part: impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish() as u32
}

fn signs(status: &PodDiagnosisStatus) -> impl Iterator<Item = u32> {
    // A termination moves between `state` and `lastState` while the kubelet backs off.
    let source = |e: &Evidence| e.source.replace(".lastState.", ".state.");
    let evidence = status.head.evidence.iter().map(move |e| hash(("evidence", &status.head.cause, source(e))));
    evidence.chain(status.other_findings.iter().map(|o| hash(("finding", &o.cause, &o.container))))
}

/// Hash of the first remedy without its amounts, because free capacity changes all the time.
fn remedy(status: &PodDiagnosisStatus) -> Option<u32> {
    let without_amounts = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    status.head.remedies.first().map(|first| hash(("remedy", &status.head.cause, without_amounts(&first.text))))
}

impl Record {
    /// The record of an object that an earlier run or another replica wrote.
    pub fn restored(key: DiagnosisKey, uid: String, resource_version: String, object: Object) -> Self {
        let head = object.head();
        let written_at = head.last_transition.unwrap_or(Timestamp::UNIX_EPOCH);
        let mut causes = vec![(head.cause.clone(), object.container().map(str::to_owned))];
        let status = object.pod_status().filter(|status| status.head.state == DiagnosisState::Active);
        for run in status.and_then(|status| status.restarts.as_ref()).iter().flat_map(|restarts| &restarts.history) {
            let earlier = (run.cause.clone().unwrap_or_default(), Some(run.container.clone()));
            if run.cause.is_some() && !causes.contains(&earlier) {
                causes.push(earlier);
            }
        }
        let announced = head.announced.then(|| head.cause.clone());
        let shown = object.pod_status().map(Shown::of).unwrap_or_default();
        let composition = Composition::recognized(&object);
        Self {
            key,
            uid,
            resource_version,
            object,
            composition,
            written_at,
            causes,
            announced,
            shown,
            summary_is_behind: false,
        }
    }

    /// The record after an acknowledged write.
    pub fn after(last: Option<&Self>, write: &Write, uid: String, resource_version: String, now: Timestamp) -> Self {
        let object = write.object.clone();
        let episode = last.filter(|record| record.is_active_of(object.subject_uid()));
        let restarts = |object: &Object| Some(object.pod_status()?.restarts.as_ref()?.count);
        let summary_is_behind = episode.is_some_and(|before| {
            before.object.head().summary == object.head().summary
                && (before.summary_is_behind || restarts(&before.object) != restarts(&object))
        });
        let (mut causes, mut shown) = (Vec::new(), Shown::default());
        if object.head().state == DiagnosisState::Active {
            (causes, shown) = episode.map(|before| (before.causes.clone(), before.shown.clone())).unwrap_or_default();
            let cause = (object.head().cause.clone(), object.container().map(str::to_owned));
            if !causes.contains(&cause) {
                causes.push(cause);
            }
            object.pod_status().iter().for_each(|status| shown.add(status));
        }
        let is_warning = write.announcement.as_ref().is_some_and(|event| event.warning);
        let announced = match last {
            _ if is_warning => Some(object.head().cause.clone()),
            last => last.and_then(|record| record.announced.clone()),
        };
        Self {
            key: write.key.clone(),
            uid,
            resource_version,
            object,
            composition: write.composition.clone(),
            written_at: now,
            causes,
            announced,
            shown,
            summary_is_behind,
        }
    }

    pub fn is_active(&self) -> bool {
        self.object.head().state == DiagnosisState::Active
    }

    /// Whether the diagnosis is Active and about the subject with this UID.
    pub fn is_active_of(&self, subject_uid: &str) -> bool {
        self.object.subject_uid() == subject_uid && self.is_active()
    }

    /// Whether a rule of a user has changed the recorded cause, or this one, since the diagnosis was written.
    pub fn has_newer_rule(&self, cause: &str) -> bool {
        catalog::is_any_newer(&[&self.object.head().cause, cause], self.written_at)
    }

    pub fn is_same_failure(&self, diagnosis: &Diagnosis) -> bool {
        self.object.head().cause == diagnosis.cause && self.object.container() == diagnosis.container.as_deref()
    }

    /// This record with its spec and status, if it is about a pod.
    pub fn pod(&self) -> Option<PodRecord<'_>> {
        match &self.object {
            Object::Pod(spec, status) => Some(PodRecord { record: self, spec, status }),
            Object::Node(..) | Object::Workload(..) => None,
        }
    }
}
