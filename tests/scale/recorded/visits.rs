//! Deployments that are created and deleted while the rest of the cluster stays the same, each with new names and UIDs. New
//! pods of each fail in one of the ten ways.

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Fleet, Look, NEW_PODS, PODS, Place, REPLACED, STUCK, WAYS, way};
use crate::etcd::Put;

/// Deployments from this number on are visitors.
const FIRST: usize = 1_000_000;
/// One visitor in this many has its own namespace, which is deleted with it.
const WITH_NAMESPACE: usize = 3;
/// The namespaces of the others.
const HOSTS: usize = 10;
/// Prefix of the namespaces of visitors, and of no others.
const PREFIX: &str = "visit";
/// Kinds of objects in the namespaces of visitors, as in etcd's keys.
const KINDS: [&str; 7] = ["pods", "replicasets", "deployments", "services/specs", "endpointslices", "jobs", "events"];

/// The namespace of a visitor.
pub(super) fn namespace_of(deployment: usize) -> Option<String> {
    let visit = Visit(deployment.checked_sub(FIRST)? / STUCK);
    Some(visit.own_namespace().unwrap_or_else(|| host(visit.0 % HOSTS)))
}

fn host(n: usize) -> String {
    format!("{PREFIX}ed-{n}")
}

/// One Deployment with all its objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit(usize);

impl Visit {
    pub(crate) fn new(number: usize) -> Self {
        Self(number)
    }

    fn deployment(self) -> usize {
        FIRST + self.0 * STUCK
    }

    /// A namespace that is created and deleted with it.
    pub(crate) fn own_namespace(self) -> Option<String> {
        self.0.is_multiple_of(WITH_NAMESPACE).then(|| format!("{PREFIX}-{}", self.0))
    }

    fn pod(self, index: usize) -> Place {
        Place { deployment: self.deployment(), index }
    }

    /// Its failing pods.
    pub(crate) fn failing(self) -> Vec<Place> {
        (0..NEW_PODS).map(|index| self.pod(index)).collect()
    }

    /// One of its healthy pods.
    pub(crate) fn healthy(self) -> Place {
        self.pod(PODS - 1)
    }

    pub(crate) fn cause(self) -> &'static str {
        WAYS[way(self.deployment())].0
    }
}

impl Place {
    /// The replacement of this pod.
    pub(crate) fn next(self) -> Self {
        Self { index: self.index + REPLACED, ..self }
    }
}

impl Fleet {
    /// Namespaces that exist before the first visitor and stay.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = Put> {
        (0..HOSTS).map(|n| self.namespace_named(&host(n)))
    }

    pub(crate) fn namespace_named(&self, name: &str) -> Put {
        self.namespace.put(&[("name", name)])
    }

    /// All its objects, Events first, because they may arrive before their pods.
    pub(crate) fn arrival(&self, visit: Visit) -> Vec<Put> {
        let events = visit.failing().into_iter().flat_map(|place| self.events_about(place));
        events.chain(self.deployment(visit.deployment())).collect()
    }

    /// A pod and its Events.
    pub(crate) fn pod_with_events(&self, place: Place) -> Vec<Put> {
        self.events_about(place).chain([self.as_filled(place)]).collect()
    }

    pub(crate) fn recovered(&self, place: Place) -> Put {
        self.looking(place, Look::Healthy)
    }

    /// Prefixes of the keys that visitors of an earlier run may have left.
    pub(crate) fn left_by_visitors() -> impl Iterator<Item = String> {
        KINDS.iter().chain(&["namespaces"]).map(|kind| format!("/registry/{kind}/{PREFIX}"))
    }
}

/// The object with a deletion timestamp.
pub(crate) fn terminating(put: &Put, now: Timestamp) -> Result<Put> {
    let mut object: Value = serde_json::from_str(&put.value)?;
    let metadata = object["metadata"].as_object_mut().context("no metadata")?;
    metadata.insert("deletionTimestamp".to_owned(), json!(format!("{now:.0}")));
    if object["kind"] == "Namespace" {
        object["status"]["phase"] = json!("Terminating");
    } else {
        object["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    }
    Ok(Put { key: put.key.clone(), value: object.to_string() })
}

/// Whether it is a pod.
pub(crate) fn is_pod(put: &Put) -> bool {
    put.key.starts_with("/registry/pods/")
}
