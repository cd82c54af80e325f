//! Kubernetes Events.

use std::sync::Arc;

use super::Timestamp;

/// A core/v1 Event. Repeats with the same (object, container, reason, message) are aggregated into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFacts {
    pub regarding: Regarding,
    pub reason: Arc<str>,
    pub message: Arc<str>,
    pub warning: bool,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    pub count: u32,
    /// `reportingComponent`, or else `source.component`.
    pub reporter: Arc<str>,
}

impl EventFacts {
    /// Whether this Event about a mirror pod is about the static pod with this UID: either its own Event, or an Event
    /// about another manifest with the same name. The kubelet ignores that manifest and reports it only here.
    pub fn is_of_static_pod(&self, static_uid: &str) -> bool {
        *self.regarding.uid == *static_uid || &*self.reason == "FailedValidation"
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Regarding {
    /// Empty if the Event is not trusted, because it is in a namespace that may not report about the object.
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    /// Empty if the sender did not know it (the node controller sets the name of the node here).
    pub uid: Arc<str>,
    /// From a field path such as `spec.containers{redis}`.
    pub container: Option<Arc<str>>,
}
