//! Facts of objects that are diagnosed by their own status, such as custom resources.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CustomKind, ObjectFields, Timestamp};

/// The parts of a status that the conditions do not contain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObjectFacts {
    /// `status.phase`, or the field of the kind that has its meaning: `state`, `printableStatus`, `health.status`.
    pub phase: String,
    /// When it entered the phase, if the status contains that.
    pub phase_since: Option<Timestamp>,
    pub reason: String,
    pub message: String,
    /// For an Argo CD Application: the objects that are Degraded, the first with its message. Source: status.resources.
    pub degraded: Box<str>,
    /// For an Argo CD Application: `Synced`, `OutOfSync` or `Unknown`. Source: status.sync.status.
    pub sync: String,
    /// For an Argo CD Application: the phase of the last sync. Source: status.operationState.phase.
    pub operation: String,
    /// When it ended, for a kind that runs to an end.
    pub ended: Option<Timestamp>,
    /// The newest time of its conditions, or its creation: its spec has probably not changed since.
    pub changed: Option<Timestamp>,
    /// Its kind by plural and group, as rules name it; empty for objects that are no custom resources.
    pub resource: Arc<str>,
    /// The fields that rules read. `None`: no rule reads a field of this kind.
    pub fields: Option<Box<ObjectFields>>,
}

impl ObjectFacts {
    /// Whether it is an object of this kind.
    pub fn is_of(&self, kind: &CustomKind) -> bool {
        let rest = self.resource.strip_prefix(kind.plural()).and_then(|rest| rest.strip_prefix('.'));
        rest == Some(kind.group())
    }
}

/// Whether this API group is one of custom resources: it is not built into Kubernetes, and not our own.
pub fn is_custom_group(group: &str) -> bool {
    let is_of = |domain: &str| group == domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    group.contains('.') && !is_of("k8s.io") && !is_of("kubernetes.io") && !is_of("shindan.dev")
}

#[cfg(test)]
mod tests {
    use super::is_custom_group;

    #[test]
    fn groups_of_kubernetes_are_not_custom() {
        for group in
            ["", "apps", "batch", "policy", "autoscaling", "networking.k8s.io", "metrics.k8s.io", "shindan.dev"]
        {
            assert!(!is_custom_group(group), "{group}");
        }
        for group in ["cert-manager.io", "cluster.x-k8s.io", "argoproj.io", "serving.knative.dev", "kubevirt.io"] {
            assert!(is_custom_group(group), "{group}");
        }
    }
}
