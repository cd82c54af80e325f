//! What a Kubernetes Event says.

use std::sync::Arc;

use super::Timestamp;

/// A core/v1 Event, folded: one of these stands for all repeats of the same (object, container, reason, message).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFacts {
    pub regarding: Regarding,
    pub reason: Arc<str>,
    pub message: Arc<str>,
    pub warning: bool,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    pub count: u32,
    /// `reportingComponent`, else `source.component`.
    pub reporter: Arc<str>,
}

impl EventFacts {
    /// Whether this Event, by its name of a pod that mirrors this static pod, is about it: sent of the static pod itself, or
    /// of another manifest with its name, which the kubelet ignores and only ever tells of here.
    pub fn is_of_static_pod(&self, static_uid: &str) -> bool {
        *self.regarding.uid == *static_uid || &*self.reason == "FailedValidation"
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Regarding {
    /// Empty where the Event is not to be believed: it stands in a namespace that has no say about the object.
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    /// Empty where the sender did not know it (the node controller puts the node's name here).
    pub uid: Arc<str>,
    /// From a field path such as `spec.containers{redis}`.
    pub container: Option<Arc<str>>,
}
