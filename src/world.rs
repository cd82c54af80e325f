//! What is known of the cluster: facts by UID, and which pods a change concerns.

use std::sync::Arc;

use crate::facts::{EventFacts, Looked, NodeFacts, ObjectKey, PodFacts, Want};

/// One thing that the cluster told us. `cluster::watch` and `cluster::lookup` make them; nothing else changes the world.
#[derive(Debug)]
pub enum Change {
    /// A list of this kind begins (the first one, or a relist after an expired version).
    ListStarted(Source),
    /// The list is complete: what was known and not named since `ListStarted` is gone (Pods, Nodes, Objects; Events only
    /// merge, an absence removes nothing).
    ListDone(Source),
    Pod(Box<PodFacts>),
    PodDeleted(Box<PodFacts>),
    Node(Box<NodeFacts>),
    NodeDeleted(Arc<str>),
    Event(Box<EventFacts>),
    /// One of our own objects as the API server has it now (from the metadata-only watch).
    Object {
        key: ObjectKey,
        resource_version: String,
    },
    ObjectDeleted(ObjectKey),
    /// The answer to a diagnosis' question.
    Looked {
        want: Want,
        looked: Looked,
    },
}

/// What is listed and watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    Pods,
    Nodes,
    Events,
    /// Our own PodDiagnosis objects.
    Objects,
}
