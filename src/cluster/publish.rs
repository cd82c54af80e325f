//! The only writer: server-side applies of diagnoses, their Events, and annotations.

#![allow(clippy::disallowed_types, reason = "it writes")]

use std::time::Duration;

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, Resource};
use kube::core::{Request, Status};
use kube::{Client, core::ObjectMeta};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

mod annotation;
mod error;
mod event;
mod rule;

pub use error::PublishError;

use shindan_core::api::{API_VERSION, DiagnosisKind, NodeDiagnosis, PodDiagnosis, WorkloadDiagnosis};
use shindan_core::reconcile::{Announcement, DiagnosisKey, Intent, Object, Write};

use super::FIELD_MANAGER;
use super::call::{self, Failure};
use super::lease::Leadership;
use crate::http::Health;
use crate::metrics::Metrics;
use crate::telemetry::STEPS;

/// Time limit of one request, including its body.
const LIMIT: Duration = Duration::from_secs(15);
/// How long /readyz reports a denied write. This is longer than the pause between two tries.
const REFUSED: Duration = Duration::from_secs(600);
/// Annotation of our objects: which receivers of `--notify` know of the incident.
pub const NOTIFIED: &str = "shindan.dev/notified";
/// Accept header that requests only the metadata: nothing but uid and resourceVersion is read from the response.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Writes the intents of the engine.
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

/// Result of a successful write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Published {
    /// UID of the applied object. Empty after a delete, or an Event without a write.
    pub uid: String,
    pub resource_version: String,
    /// Whether no Event remains to be posted: it was posted, existed already, or was not needed.
    pub announced: bool,
}

/// Identity and version of an object in the cluster.
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

impl From<Reply> for Current {
    fn from(Reply { metadata: ReplyMeta { uid, resource_version } }: Reply) -> Self {
        Self { uid, resource_version }
    }
}

impl Publisher {
    /// A publisher. `instance` names this process in Events, usually [`Self::default_instance`].
    pub fn new(client: Client, instance: &str, leadership: Leadership, metrics: Metrics) -> Self {
        let instance = event::reporting_instance(instance);
        Self { client, instance, leadership, metrics, health: Health::default() }
    }

    /// Reports denied writes to `health`.
    #[must_use]
    pub fn reporting_to(self, health: Health) -> Self {
        Self { health, ..self }
    }

    /// The pod's name, or else the host's.
    pub fn default_instance() -> String {
        let named = ["POD_NAME", "HOSTNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
        named.filter(|name| !name.is_empty()).or_else(host).unwrap_or_else(|| FIELD_MANAGER.to_owned())
    }

    /// Writes an intent: one request, and a second one for an Event.
    ///
    /// A failed Event does not fail the write. [`Published::announced`] reports it.
    pub async fn publish(&self, intent: &Intent) -> Result<Published, PublishError> {
        match intent {
            Intent::Apply(write) => self.apply_object(write).await,
            Intent::Annotate(annotation) => self.annotate(annotation).await,
            Intent::Delete { key, resource_version } => self.delete(key, resource_version.clone()).await,
            Intent::Announce(announcement) => {
                self.announce(announcement).await?;
                Ok(Published { announced: true, ..Published::default() })
            }
        }
    }

    /// UID and version of an object, for the retry after a conflict. `None`: it does not exist.
    pub async fn current(&self, key: &DiagnosisKey) -> Result<Option<Current>, PublishError> {
        let request = objects(key).get_metadata(&key.object.name, &GetParams::default());
        Ok(call::found(self.send::<Reply>("get", request).await)?.map(Current::from))
    }

    /// Sets or removes our annotation on one of our objects. It is a merge patch, so that later applies keep it. `None`: the
    /// object does not exist.
    pub async fn mark(&self, key: &DiagnosisKey, text: Option<&str>) -> Result<Option<Current>, PublishError> {
        let body = serde_json::json!({"metadata": {"annotations": {NOTIFIED: text}}});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let request = objects(key).patch_metadata(&key.object.name, &params, &Patch::Merge(&body));
        let marked = self.noted(writing(key.kind), self.send::<Reply>("mark", request).await);
        Ok(call::found(marked)?.map(Current::from))
    }

    async fn apply_object(&self, write: &Write) -> Result<Published, PublishError> {
        match &write.object {
            Object::Pod(spec, status) => self.apply(write, spec, status).await,
            Object::Node(spec, status) => self.apply(write, spec, status).await,
            Object::Workload(spec, status) => self.apply(write, spec, status).await,
        }
    }

    async fn apply(
        &self,
        write: &Write,
        spec: &impl Serialize,
        status: &impl Serialize,
    ) -> Result<Published, PublishError> {
        let Write { key, object, composition: _, resource_version, announcement } = write;
        let namespace = Some(key.object.namespace.to_string()).filter(|namespace| !namespace.is_empty());
        let applied = Applied {
            api_version: API_VERSION,
            kind: key.kind.as_str(),
            metadata: ObjectMeta {
                name: Some(key.object.name.to_string()),
                namespace,
                labels: Some(object.labels()),
                resource_version: resource_version.clone(),
                ..ObjectMeta::default()
            },
            spec,
            status,
        };
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let request = objects(key).patch_metadata(&key.object.name, &params, &Patch::Apply(&applied));
        tracing::trace!(target: STEPS, step = "sent", object = %key);
        let reply: Reply = self.noted(writing(key.kind), self.send("apply", request).await)?;
        tracing::trace!(target: STEPS, step = "answered", object = %key);
        let ReplyMeta { uid, resource_version } = reply.metadata;
        let announced = match announcement {
            None => true,
            Some(announcement) => self.announce_after(announcement.clone(), &uid).await,
        };
        Ok(Published { uid, resource_version, announced })
    }

    /// Posts the Event of an acknowledged write. Returns whether it was posted.
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
            // The name of an Event is derived from its transition, so an existing Event is the same one.
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

    /// Reports to `health` whether this kind of write is denied.
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
        // Checked just before the request, because the process may have been frozen since the decision.
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

/// Name of the write on /readyz, by kind.
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

/// Whether the API server will refuse the request until an administrator acts. A 404 counts only if the kind is
/// unknown, in which case the status does not name it.
fn is_refusal(status: &Status) -> bool {
    let kind_is_unknown = || status.details.as_ref().is_none_or(|details| details.name.is_empty());
    !is_namespace_gone(status) && (status.code == 403 || (status.code == 404 && kind_is_unknown()))
}

/// Whether the error concerns the namespace, not the object.
fn is_namespace_gone(status: &Status) -> bool {
    let details = status.details.as_ref();
    match status.code {
        404 => details.is_some_and(|d| d.kind == "namespaces"),
        403 => details.is_some_and(|d| d.causes.iter().any(|c| c.reason == "NamespaceTerminating")),
        _ => false,
    }
}
