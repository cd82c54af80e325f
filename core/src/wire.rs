//! Wire types: slim versions of the objects that the API server (or a dump) sends, and their conversion to facts.
//!
//! They only contain the fields that facts need. An unusual object must not fail its page or document, so each field
//! accepts any shape and keeps the usable part (see `lenient`), and enumerations are strings. `metadata` is an
//! `ObjectMeta`, because `kube::Resource` requires it, with only the needed fields: annotations take no memory, nor do
//! `managedFields`, except the entry of a Node that shows who cordoned it.

mod capture;
mod claim;
mod dump;
mod dynamic;
mod event;
mod istio;
mod lenient;
mod meta;
mod named;
mod node;
mod object;
mod part;
mod pod;
mod probe;
mod room;
mod route;
mod rule;
mod service;
mod workload;

use std::collections::HashSet;
use std::sync::Arc;

use crate::facts::Labels;

pub use capture::keeping;
pub use claim::{PersistentVolumeClaim, StorageClass, unbound_claims};
pub use dump::{Dump, Problem, fields_read};
pub use dynamic::{Dynamic, HasMetadata};
pub use event::Event;
pub use named::NamedObject;
pub use node::Node;
pub use object::CustomResource;
pub use pod::Pod;
pub use route::{Autoscaler, Budget, Gateway, GatewayClass, Ingress, IngressClass, NetworkWire, ReferenceGrant, Route};
pub use rule::{RULE_DEPTH, WireRule};
pub use service::{EndpointSlice, Endpoints, Service, services_of};
pub use workload::{
    ControllerRevision, CronJob, DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet, Workload,
    own_replica_sets, own_revisions,
};

/// Pool of strings that many objects share.
#[derive(Debug, Clone, Default)]
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

    /// The shared copy of labels. Pods of one template have equal labels.
    pub fn labels(&mut self, labels: Labels) -> Labels {
        labels.shared(|text| self.intern(text))
    }

    /// Drops strings that are no longer used elsewhere.
    pub fn clean_up(&mut self) {
        self.known.retain(|text| Arc::strong_count(text) > 1);
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}
