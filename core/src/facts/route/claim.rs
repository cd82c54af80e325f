//! PersistentVolumeClaims, as far as it matters whether a pod uses them.

use super::Identity;

/// A PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VolumeClaimFacts {
    pub identity: Identity,
    pub is_bound: bool,
    /// `spec.resources.requests.storage`, as it stands there.
    pub size: String,
    /// The StorageClass. Empty: the default one, or none.
    pub class: String,
}
