//! The watched kinds, and the conversion of their objects to changes.

use std::fmt::Debug;

use kube::Resource;
use kube::api::PartialObjectMeta;
use kube::core::ObjectMeta;
use serde::de::DeserializeOwned;
use shindan_core::api::{DiagnosisKind, NodeDiagnosis, PodDiagnosis, WorkloadDiagnosis};
use shindan_core::facts::{ObjectKey, WorkloadKind};
use shindan_core::reconcile::DiagnosisKey;
use shindan_core::state::{Change, Source};
use shindan_core::wire::{self, Event, Interner, Node, Pod, Workload};

/// Our own objects. Only their metadata is watched: their content is known.
pub(super) type Own<K> = PartialObjectMeta<K>;

pub(super) trait Watched:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static
{
    const SOURCE: Source;

    /// Whether any rule reads this object.
    fn is_read(&self) -> bool {
        true
    }

    fn applied(self, strings: &mut Interner) -> Change;

    /// The change for a deleted object. `None`: its deletion has no effect.
    fn deleted(self, strings: &mut Interner) -> Option<Change>;

    /// An object with only the fields that [`Self::deleted`] needs.
    fn stub(metadata: ObjectMeta) -> Self;
}

impl Watched for Pod {
    const SOURCE: Source = Source::Pods;

    fn applied(self, strings: &mut Interner) -> Change {
        Change::Pod(Box::new(self.into_facts(strings)))
    }

    fn deleted(self, strings: &mut Interner) -> Option<Change> {
        Some(Change::PodDeleted(Box::new(self.into_facts(strings))))
    }

    fn stub(metadata: ObjectMeta) -> Self {
        let mut pod = Self::default();
        pod.metadata = metadata;
        pod
    }
}

impl Watched for Node {
    const SOURCE: Source = Source::Nodes;

    fn applied(self, strings: &mut Interner) -> Change {
        Change::Node(Box::new(self.into_facts(strings)))
    }

    fn deleted(self, strings: &mut Interner) -> Option<Change> {
        Some(Change::NodeDeleted(strings.intern(self.metadata.name.as_deref().unwrap_or_default())))
    }

    fn stub(metadata: ObjectMeta) -> Self {
        let mut node = Self::default();
        node.metadata = metadata;
        node
    }
}

/// Reasons of Normal Events that a rule reads.
const NORMAL_REASONS: [&str; 8] = [
    "Killing",
    "Preempted",
    "TaintManagerEviction",
    "TriggeredScaleUp",
    "NotTriggerScaleUp",
    "Nominated",
    "NodeNotReady",
    "JobAlreadyActive",
];

impl Watched for Event {
    const SOURCE: Source = Source::Events;

    fn is_read(&self) -> bool {
        !self.is_normal() || NORMAL_REASONS.contains(&self.reason())
    }

    fn applied(self, strings: &mut Interner) -> Change {
        Change::Event(Box::new(self.into_facts(strings)))
    }

    /// An Event that expired still happened, so its deletion is no change.
    fn deleted(self, _: &mut Interner) -> Option<Change> {
        None
    }

    fn stub(metadata: ObjectMeta) -> Self {
        let mut event = Self::default();
        event.metadata = metadata;
        event
    }
}

impl Watched for wire::Service {
    const SOURCE: Source = Source::Services;

    fn applied(self, strings: &mut Interner) -> Change {
        let namespace = strings.intern(self.metadata.namespace.as_deref().unwrap_or_default());
        Change::Service { namespace, service: self.facts() }
    }

    fn deleted(self, _: &mut Interner) -> Option<Change> {
        let meta = self.metadata;
        Some(Change::ServiceDeleted(ObjectKey::new(meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default())))
    }

    fn stub(metadata: ObjectMeta) -> Self {
        let mut service = Self::default();
        service.metadata = metadata;
        service
    }
}

macro_rules! watched_workloads {
    ($($kind:ident),*) => {$(
        impl Watched for wire::$kind {
            const SOURCE: Source = Source::Workloads(WorkloadKind::$kind);

            fn applied(self, strings: &mut Interner) -> Change {
                Change::Workload(Box::new(self.into_facts(strings)))
            }

            fn deleted(self, strings: &mut Interner) -> Option<Change> {
                Some(Change::WorkloadDeleted(self.into_facts(strings).key))
            }

            fn stub(metadata: ObjectMeta) -> Self {
                let mut workload = Self::default();
                workload.metadata = metadata;
                workload
            }
        }
    )*};
}

watched_workloads!(Deployment, StatefulSet, DaemonSet, Job, CronJob);

/// A kind of our own API group.
pub(super) trait Diagnosed: Resource<DynamicType = ()> + Clone + Debug + Send + 'static {
    const KIND: DiagnosisKind;
}

impl Diagnosed for PodDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Pod;
}

impl Diagnosed for NodeDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Node;
}

impl Diagnosed for WorkloadDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Workload;
}

impl<K: Diagnosed> Watched for Own<K> {
    const SOURCE: Source = Source::Objects(K::KIND);

    fn applied(self, strings: &mut Interner) -> Change {
        let resource_version = self.metadata.resource_version.clone().unwrap_or_default();
        Change::Object { key: key(K::KIND, &self.metadata, strings), resource_version }
    }

    fn deleted(self, strings: &mut Interner) -> Option<Change> {
        Some(Change::ObjectDeleted(key(K::KIND, &self.metadata, strings)))
    }

    fn stub(metadata: ObjectMeta) -> Self {
        Self { types: None, metadata, _phantom: std::marker::PhantomData }
    }
}

fn key(kind: DiagnosisKind, meta: &ObjectMeta, strings: &mut Interner) -> DiagnosisKey {
    let object = ObjectKey {
        namespace: strings.intern(meta.namespace.as_deref().unwrap_or_default()),
        name: meta.name.as_deref().unwrap_or_default().into(),
    };
    DiagnosisKey { kind, object }
}
