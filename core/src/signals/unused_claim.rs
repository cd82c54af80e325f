//! The signal `unusedClaim`.

use super::signal;
use crate::case::{ClaimProblem, WorkloadCase};

signal! {
    /// A PersistentVolumeClaim with a volume that no pod uses.
    /// Source: the claim, and spec.volumes of pods and templates.
    pub(crate) struct UnusedClaim<'a> as "unusedClaim" { case: &'a WorkloadCase<'a>, problem: &'a ClaimProblem }
    reason: |_of| "", message: "";

    /// Its name. Source: metadata.name.
    "name": fn name(&self) -> &str { &self.case.workload.key.name }

    /// Its size: `10Gi`. Source: spec.resources.requests.storage.
    "size": fn size(&self) -> &str { &self.problem.size }

    /// Its StorageClass; empty if it names none. Source: spec.storageClassName.
    "class": fn class(&self) -> &str { &self.problem.class }
}
