//! What the cluster holds of one diagnosis, as last acknowledged.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::api::{DiagnosisState, Evidence, PodDiagnosisSpec, PodDiagnosisStatus};
use crate::diagnosis::Diagnosis;
use crate::facts::{ObjectKey, Timestamp};

/// It is serializable to be kept small, and without what stands beside it then: the names by which it is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    #[serde(skip)]
    pub key: ObjectKey,
    /// The UID of the PodDiagnosis.
    #[serde(skip)]
    pub uid: String,
    #[serde(skip)]
    pub resource_version: String,
    pub spec: PodDiagnosisSpec,
    pub status: PodDiagnosisStatus,
    /// When the object was last written by us; after a restart, when it last changed.
    pub written_at: Timestamp,
    /// The causes that this episode was put down to so far, each with its container, so that two causes that alternate
    /// are told once each.
    pub told: Vec<(String, Option<String>)>,
    /// What this episode has shown so far, so that what comes and goes is news once.
    pub shown: Shown,
    /// The restarts were written without a new summary: the next failure brings both together again.
    pub summary_is_behind: bool,
}

/// Evidence, side findings and the first remedy by hash, and the words under STATUS since the last restart.
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

    /// Whether it showed this word under STATUS since the last restart.
    pub fn has_word_of(&self, status: &PodDiagnosisStatus) -> bool {
        self.restarts == restarts(status) && self.words.contains(&hash(&status.pod_status))
    }

    /// Whether the status shows no evidence and no side finding that was not shown before.
    pub fn has_all_of(&self, status: &PodDiagnosisStatus) -> bool {
        signs(status).all(|sign| self.parts.contains(&sign))
    }

    /// Whether what is to be done first was shown before.
    pub fn has_remedy_of(&self, status: &PodDiagnosisStatus) -> bool {
        remedy(status).is_none_or(|remedy| self.parts.contains(&remedy))
    }
}

fn restarts(status: &PodDiagnosisStatus) -> u32 {
    status.restarts.as_ref().map_or(0, |r| r.count)
}

/// Of two that are taken for one, the second is written a little later: half a hash will do.
#[allow(clippy::cast_possible_truncation, reason = "any 32 of its bits")]
fn hash(part: impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish() as u32
}

fn signs(status: &PodDiagnosisStatus) -> impl Iterator<Item = u32> {
    // The end of a run moves from one to the other and back while the kubelet backs off.
    let source = |e: &Evidence| e.source.replace(".lastState.", ".state.");
    let evidence = status.evidence.iter().map(move |e| hash(("evidence", &status.cause, source(e))));
    evidence.chain(status.other_findings.iter().map(|o| hash(("finding", &o.cause, &o.container))))
}

/// What is to be done first. How much of it is not followed: what is free changes all the time.
fn remedy(status: &PodDiagnosisStatus) -> Option<u32> {
    let without_amounts = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    status.remedies.first().map(|first| hash(("remedy", &status.cause, without_amounts(&first.text))))
}

impl Record {
    /// Whether it tells of a present failure of the pod with this UID.
    pub fn is_active_of(&self, pod_uid: &str) -> bool {
        self.spec.pod_uid == pod_uid && self.status.state == DiagnosisState::Active
    }

    pub fn is_same_failure(&self, diagnosis: &Diagnosis) -> bool {
        self.status.cause == diagnosis.cause && self.status.container.as_deref() == diagnosis.container.as_deref()
    }
}
