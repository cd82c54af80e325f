//! PersistentVolumeClaims that no pod uses.

use crate::case::{ClaimProblem, evidence};
use crate::facts::route::{Network, NetworkKind, VolumeClaimFacts};

/// Seconds that a claim may be unused: a pod is replaced, or a manifest is applied in parts.
const UNUSED: i64 = 3600;

/// What is wrong with a claim. One that a workload or a StatefulSet keeps for later pods is in use, and one without a
/// volume costs nothing.
pub fn problem(network: &Network, claim: &VolumeClaimFacts) -> Option<ClaimProblem> {
    let key = &claim.identity.key;
    let is_known = network.listed.has(NetworkKind::Pod, &key.namespace);
    let is_unused = is_known && claim.is_bound && !network.uses_claim(&key.namespace, &key.name);
    is_unused.then(|| ClaimProblem {
        size: claim.size.clone(),
        class: claim.class.clone(),
        grace: UNUSED,
        evidence: vec![evidence::field("status.phase", "Bound"), evidence::field("pods that use it", "none")],
    })
}
