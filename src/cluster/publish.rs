//! The only writer: one server-side apply a diagnosis, the Event that it owes, and the annotation of what it is about.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, Resource};
use kube::core::{Request, Status};
use kube::{Client, core::ObjectMeta};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

mod annotation;
mod error;
mod event;

pub use error::PublishError;

use super::FIELD_MANAGER;
use super::call::{self, Failure};
use super::lease::Leadership;
use crate::api::{API_VERSION, DiagnosisKind, NodeDiagnosis, PodDiagnosis, WorkloadDiagnosis};
use crate::http::Health;
use crate::metrics::Metrics;
use crate::plan::{Announcement, DiagnosisKey, Intent, Outer, OuterWrite};

/// How long one request may take, its answer read.
const LIMIT: Duration = Duration::from_secs(15);
/// For how long a refusal speaks for the present: longer than the pause between two tries of a write.
const REFUSED: Duration = Duration::from_secs(600);
/// The reply to a write is read for uid and resourceVersion alone, so that is all we ask for.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Writes what the plan says.
#[derive(Clone)]
pub struct Publisher {
    client: Client,
    /// `reportingInstance` of our Events.
    instance: String,
    leadership: Leadership,
    metrics: Metrics,
    health: Health,
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Publisher").field("instance", &self.instance).finish_non_exhaustive()
    }
}

/// What the API server acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Published {
    /// Of the object that was applied; empty after a delete or an Event alone.
    pub uid: String,
    pub resource_version: String,
    /// No Event is owed any more: it was posted, was there already, or there was none to post.
    pub announced: bool,
}

/// An object as the API server has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    pub uid: String,
    pub resource_version: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Applied<'a, Spec, Status> {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    spec: &'a Spec,
    status: &'a Status,
}

/// What an object is known by.
struct Identity<'a> {
    key: &'a DiagnosisKey,
    labels: BTreeMap<String, String>,
    /// The version that is replaced.
    resource_version: Option<&'a String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Reply {
    metadata: ReplyMeta,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ReplyMeta {
    uid: String,
    resource_version: String,
}

impl Publisher {
    /// `instance` names this process in Events: [`Self::default_instance`] unless told otherwise.
    pub fn new(client: Client, instance: &str, leadership: Leadership, metrics: Metrics) -> Self {
        let instance = event::reporting_instance(instance);
        Self { client, instance, leadership, metrics, health: Health::default() }
    }

    /// What it is not allowed to do is named there.
    #[must_use]
    pub fn reporting_to(self, health: Health) -> Self {
        Self { health, ..self }
    }

    /// The pod's name, else the host's.
    pub fn default_instance() -> String {
        let named = ["POD_NAME", "HOSTNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
        named.filter(|name| !name.is_empty()).or_else(host).unwrap_or_else(|| FIELD_MANAGER.to_owned())
    }

    /// Does what is intended: one request, and one more for an Event.
    ///
    /// An Event that cannot be posted does not fail the write that owes it; it is told in [`Published::announced`].
    pub async fn publish(&self, intent: &Intent) -> Result<Published, PublishError> {
        match intent {
            Intent::Apply(write) => {
                let key = DiagnosisKey::of_pod(write.key.clone());
                let resource_version = write.resource_version.as_ref();
                let identity = Identity { key: &key, labels: write.labels.clone(), resource_version };
                self.apply(identity, &write.spec, &write.status, write.announcement.as_ref()).await
            }
            Intent::ApplyOuter(write) => self.apply_outer(write).await,
            Intent::Annotate(annotation) => self.annotate(annotation).await,
            Intent::Delete { key, resource_version } => self.delete(key, resource_version.clone()).await,
            Intent::Announce(announcement) => {
                self.announce(announcement).await?;
                Ok(Published { announced: true, ..Published::default() })
            }
        }
    }

    /// Uid and version of an object, to go on after a conflict. `None`: it does not exist.
    pub async fn current(&self, key: &DiagnosisKey) -> Result<Option<Current>, PublishError> {
        let request = objects(key).get_metadata(&key.object.name, &GetParams::default());
        match self.send::<Reply>("get", request).await {
            Ok(reply) => {
                Ok(Some(Current { uid: reply.metadata.uid, resource_version: reply.metadata.resource_version }))
            }
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn apply_outer(&self, write: &OuterWrite) -> Result<Published, PublishError> {
        let OuterWrite { key, object, resource_version, announcement } = write;
        let identity = Identity { key, labels: object.labels(), resource_version: resource_version.as_ref() };
        match object {
            Outer::Node(spec, status) => self.apply(identity, spec, status, announcement.as_ref()).await,
            Outer::Workload(spec, status) => self.apply(identity, spec, status, announcement.as_ref()).await,
        }
    }

    async fn apply(
        &self,
        identity: Identity<'_>,
        spec: &impl Serialize,
        status: &impl Serialize,
        announcement: Option<&Announcement>,
    ) -> Result<Published, PublishError> {
        let Identity { key, labels, resource_version } = identity;
        let namespace = Some(key.object.namespace.to_string()).filter(|namespace| !namespace.is_empty());
        let object = Applied {
            api_version: API_VERSION,
            kind: key.kind.as_str(),
            metadata: ObjectMeta {
                name: Some(key.object.name.to_string()),
                namespace,
                labels: Some(labels),
                resource_version: resource_version.cloned(),
                ..ObjectMeta::default()
            },
            spec,
            status,
        };
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let request = objects(key).patch_metadata(&key.object.name, &params, &Patch::Apply(&object));
        let reply: Reply = self.noted(writing(key.kind), self.send("apply", request).await)?;
        let ReplyMeta { uid, resource_version } = reply.metadata;
        let announced = match announcement {
            None => true,
            Some(announcement) => self.announce_after(announcement.clone(), &uid).await,
        };
        Ok(Published { uid, resource_version, announced })
    }

    /// Posts the Event of a write that is acknowledged; the object tells of an Event that it still owes.
    async fn announce_after(&self, mut announcement: Announcement, uid: &str) -> bool {
        if let Some(related) = &mut announcement.related {
            related.uid.get_or_insert_with(|| uid.to_owned());
        }
        match self.announce(&announcement).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(event = %announcement.key, %error, "an Event could not be posted");
                false
            }
        }
    }

    async fn announce(&self, announcement: &Announcement) -> Result<(), PublishError> {
        let event = event::event(announcement, &self.instance);
        let posted = match event::path_and_body(&event) {
            Ok((path, body)) => {
                let request = Request::new(path).create(&PostParams::default(), body);
                self.noted("post_events", self.send::<serde::de::IgnoredAny>("post", request).await)
            }
            Err(error) => Err(Failure::Unreadable(error.to_string())),
        };
        let result = match &posted {
            Ok(_) => "posted",
            // Its name follows from the transition: this very Event is there already.
            Err(Failure::Api { status, .. }) if status.code == 409 => "exists",
            Err(failure) => failure.category(),
        };
        self.metrics.posted_event(result);
        match posted {
            Err(failure) if result != "exists" => Err(failure.into()),
            _ => Ok(()),
        }
    }

    async fn delete(&self, key: &DiagnosisKey, resource_version: String) -> Result<Published, PublishError> {
        let version = Preconditions { resource_version: Some(resource_version), uid: None };
        let request = objects(key).delete(&key.object.name, &DeleteParams::background().preconditions(version));
        match self.noted(deleting(key.kind), self.send::<serde::de::IgnoredAny>("delete", request).await) {
            Ok(_) => {}
            Err(failure) if failure.is_not_found() => {}
            Err(failure) => return Err(failure.into()),
        }
        Ok(Published { announced: true, ..Published::default() })
    }

    /// Tells of a right that is lacking, and that it is there again.
    fn noted<T>(&self, part: &'static str, result: Result<T, Failure>) -> Result<T, Failure> {
        match &result {
            Ok(_) => self.health.ready(part),
            Err(Failure::Api { status, .. }) if is_refusal(status) => {
                self.health.lacking_for(part, status.message.clone(), REFUSED);
            }
            Err(_) => {}
        }
        result
    }

    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        verb: &'static str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<T, Failure> {
        let mut request = request.map_err(|e| Failure::Unreadable(e.to_string()))?;
        // Asked at the last moment: this process may have been frozen since the write was decided on.
        if self.leadership.term().is_none() {
            return Err(Failure::NotLeading);
        }
        request.headers_mut().entry(http::header::ACCEPT).or_insert(http::HeaderValue::from_static(METADATA_ONLY));
        let began = Instant::now();
        let reply = call::json(&self.client, request, LIMIT).await;
        let code = match &reply {
            Ok(_) => "200",
            Err(failure) => failure.code(),
        };
        if verb != "get" {
            self.metrics.wrote(verb, code, began.elapsed());
        }
        reply
    }
}

fn objects(key: &DiagnosisKey) -> Request {
    let namespace = Some(&*key.object.namespace).filter(|namespace| !namespace.is_empty());
    Request::new(match key.kind {
        DiagnosisKind::Pod => PodDiagnosis::url_path(&(), namespace),
        DiagnosisKind::Node => NodeDiagnosis::url_path(&(), None),
        DiagnosisKind::Workload => WorkloadDiagnosis::url_path(&(), namespace),
    })
}

/// The part of the operator that writes objects of a kind, as /readyz names it.
fn writing(kind: DiagnosisKind) -> &'static str {
    match kind {
        DiagnosisKind::Pod => "write_poddiagnoses",
        DiagnosisKind::Node => "write_nodediagnoses",
        DiagnosisKind::Workload => "write_workloaddiagnoses",
    }
}

fn deleting(kind: DiagnosisKind) -> &'static str {
    match kind {
        DiagnosisKind::Pod => "delete_poddiagnoses",
        DiagnosisKind::Node => "delete_nodediagnoses",
        DiagnosisKind::Workload => "delete_workloaddiagnoses",
    }
}

/// Whether it will be refused again until an administrator changes something. (An object that is not there is no such
/// thing: only of what it does not know at all does the API server not name the kind.)
fn is_refusal(status: &Status) -> bool {
    let kind_is_unknown = || status.details.as_ref().is_none_or(|details| details.name.is_empty());
    !is_namespace_gone(status) && (status.code == 403 || (status.code == 404 && kind_is_unknown()))
}

/// Whether the refusal is about the namespace and not about the object.
fn is_namespace_gone(status: &Status) -> bool {
    let details = status.details.as_ref();
    match status.code {
        404 => details.is_some_and(|d| d.kind == "namespaces"),
        403 => details.is_some_and(|d| d.causes.iter().any(|c| c.reason == "NamespaceTerminating")),
        _ => false,
    }
}
