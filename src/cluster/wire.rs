//! What the API server (or a dump) sends, as slim types, and how it becomes facts.
//!
//! Only fields that a fact needs are here. No odd object may fail the page or the document that it stands in: each
//! field takes any shape and keeps what it can use (see `lenient`); words are strings, not enumerations.
//! `metadata` is an `ObjectMeta`, because `kube::Resource` asks for one, built from the few fields that are used:
//! `managedFields` and annotations cost no memory.

mod claim;
mod dump;
mod event;
mod istio;
mod lenient;
mod meta;
mod node;
mod pod;
mod probe;
mod room;
mod service;
mod workload;

use std::collections::HashSet;
use std::sync::Arc;

use crate::facts::Labels;

pub use claim::{PersistentVolumeClaim, StorageClass, unbound_claims};
pub use dump::{Dump, Problem};
pub use event::Event;
pub use node::Node;
pub use pod::Pod;
pub use service::{EndpointSlice, Endpoints, Service, services_of};
pub use workload::{
    ControllerRevision, CronJob, DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet, Workload,
    own_replica_sets, own_revisions,
};

/// Strings that many objects share: one copy each.
#[derive(Debug, Default)]
pub struct Interner {
    known: HashSet<Arc<str>>,
}

impl Interner {
    /// The shared copy of `text`.
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let new: Arc<str> = Arc::from(text);
        self.known.insert(new.clone());
        new
    }

    /// The shared copy of labels, which a template's pods have in common.
    pub fn labels(&mut self, labels: Labels) -> Labels {
        labels.shared(|text| self.intern(text))
    }

    /// Forgets what nobody else holds any more.
    pub fn sweep(&mut self) {
        self.known.retain(|text| Arc::strong_count(text) > 1);
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}
