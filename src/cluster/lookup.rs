//! Reads what is not watched: the workload of a failing pod, the Services and the unbound claims of its namespace, and,
//! where that is allowed, what a run that ended wrote last.
//!
//! The world asks, caches and forgets; here is only the reading: each with an end, each counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Client;
use kube::api::{GetParams, ListParams, LogParams, Resource, VersionMatch};
use kube::core::{Request, Selector};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::wire::{self, Interner, Workload};
use super::{Failure, PAGE, Scope, call};
use crate::diagnosis::text;
use crate::facts::{
    ClaimsFacts, LogKey, Looked, ReachedFacts, Timestamp, Want, WorkloadFacts, WorkloadKey, timed_line,
};
use crate::metrics::Metrics;

/// How long one request may take, its answer read.
const REQUEST: Duration = Duration::from_secs(10);
/// How long one lookup may take with all its requests.
const WHOLE: Duration = Duration::from_secs(30);

/// Of a log, so many lines from its end are asked for, and so many bytes at most (of the oldest of these lines first).
const LOG_LINES: i64 = 60;
const LOG_ASKED: i64 = 64 << 10;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    #[error("cannot read {what}: {failure}")]
    Failed { what: &'static str, failure: Failure },
    /// A controller that is not one of Kubernetes' own: named, never read.
    #[error("{0} is of a foreign kind, which is never read")]
    Foreign(WorkloadKey),
}

impl LookupError {
    /// A stable word for metrics and logs.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Failed { failure, .. } => failure.category(),
            Self::Foreign(_) => "foreign",
        }
    }
}

/// Answers a diagnosis' questions. Cheap to clone.
#[derive(Clone)]
pub struct Lookup {
    client: Client,
    scope: Scope,
    metrics: Metrics,
    /// That logs cannot be read is said once.
    told_forbidden: Arc<AtomicBool>,
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup").finish_non_exhaustive()
    }
}

impl Lookup {
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self { client, scope: Scope::default(), metrics, told_forbidden: Arc::default() }
    }

    /// Asks for nothing outside `scope`. What is asked for by name is always inside: it comes from what is watched.
    #[must_use]
    pub fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Reads what is wanted.
    pub async fn look(&self, want: &Want) -> Result<Looked, LookupError> {
        let began = Instant::now();
        let kind = kind_label(want);
        let looked = match tokio::time::timeout(WHOLE, self.read(want)).await {
            Ok(looked) => looked,
            Err(_) => Err(LookupError::Failed { what: kind, failure: Failure::Timeout(WHOLE) }),
        };
        let result = match &looked {
            Ok(Looked::Workload(None)) => "absent",
            Ok(_) => "found",
            Err(error) => error.category(),
        };
        self.metrics.looked_up(kind, result, began.elapsed());
        looked
    }

    async fn read(&self, want: &Want) -> Result<Looked, LookupError> {
        let failed = |failure| LookupError::Failed { what: kind_label(want), failure };
        match want {
            Want::Services(namespace) => self.services(namespace).await.map_err(failed),
            Want::Reached(namespace) => self.reached(namespace).await.map_err(failed),
            Want::Workload(key) if key.is_known() => {
                self.workload(key).await.map(|found| Looked::Workload(found.map(Box::new))).map_err(failed)
            }
            Want::Workload(key) => Err(LookupError::Foreign(key.clone())),
            Want::PodsOn(node) => self.pods_on(node).await.map_err(failed),
            Want::Log(key) => self.log(key).await.map_err(failed),
            Want::Claims(namespace) => self.claims(namespace).await.map_err(failed),
        }
    }

    async fn claims(&self, namespace: &str) -> Result<Looked, Failure> {
        let mut claims: Vec<wire::PersistentVolumeClaim> = self.list(namespace, None).await?;
        claims.retain(|claim| !claim.is_bound());
        if claims.is_empty() {
            return Ok(Looked::Claims(ClaimsFacts::default()));
        }
        let about = "involvedObject.kind=PersistentVolumeClaim";
        let events: Vec<wire::Event> = self.pages(Some(namespace), Some(about)).await?;
        let mut strings = Interner::default();
        let events: Vec<_> = events.into_iter().map(|event| event.into_facts(&mut strings)).collect();
        let unbound = wire::unbound_claims(namespace, &claims, &events);
        if !self.scope.nodes {
            return Ok(Looked::Claims(ClaimsFacts { unbound, classes: None }));
        }
        let classes: Vec<wire::StorageClass> = self.pages(None, None).await?;
        Ok(Looked::Claims(ClaimsFacts {
            unbound,
            classes: Some(classes.iter().map(wire::StorageClass::facts).collect()),
        }))
    }

    async fn pods_on(&self, node: &str) -> Result<Looked, Failure> {
        let there = format!("spec.nodeName={node}");
        let mut strings = Interner::default();
        let mut found = Vec::new();
        for namespace in self.scope.each() {
            let pods: Vec<wire::Pod> = self.pages(namespace, Some(&there)).await?;
            found.extend(pods.into_iter().map(|pod| pod.into_facts(&mut strings)));
        }
        Ok(Looked::Pods(found))
    }

    /// The last lines of the run that ended. What nobody keeps any more is an empty log, and no failure.
    async fn log(&self, key: &LogKey) -> Result<Looked, Failure> {
        let params = LogParams {
            container: Some(key.container.to_string()),
            previous: key.run.previous,
            timestamps: true,
            tail_lines: Some(LOG_LINES),
            limit_bytes: Some(LOG_ASKED),
            ..LogParams::default()
        };
        let pods = Request::new(wire::Pod::url_path(&(), Some(&key.pod.namespace)));
        let request = pods.logs(&key.pod.name, &params).map_err(|e| Failure::Unreadable(e.to_string()))?;
        match call::bytes(&self.client, request, REQUEST).await {
            Ok(log) => {
                let log = String::from_utf8_lossy(&log);
                let lines: Vec<&str> = log.lines().filter_map(|line| until(line, key.run.ended)).collect();
                Ok(Looked::Log(text::log_tail(&lines.join("\n")).into()))
            }
            Err(failure) if matches!(failure.category(), "not_found" | "invalid") => Ok(Looked::Log("".into())),
            Err(failure) => {
                if failure.is_forbidden() && !self.told_forbidden.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "the logs of ended containers cannot be read: {failure}. Apply deploy/components/previous-logs, or do \
                         without --previous-logs"
                    );
                }
                Err(failure)
            }
        }
    }

    async fn services(&self, namespace: &str) -> Result<Looked, Failure> {
        let services: Vec<wire::Service> = self.list(namespace, None).await?;
        // Without a Service nobody can have lost an endpoint.
        let slices: Vec<wire::EndpointSlice> =
            if services.is_empty() { Vec::new() } else { self.list(namespace, None).await? };
        Ok(Looked::Services(wire::services_of(namespace, &services, &slices, &[])))
    }

    async fn reached(&self, namespace: &str) -> Result<Looked, Failure> {
        let services: Vec<wire::Service> = self.list(namespace, None).await?;
        let slices: Vec<wire::EndpointSlice> = self.list(namespace, None).await?;
        let pods: Vec<wire::Pod> = self.pages(Some(namespace), None).await?;
        Ok(Looked::Reached(ReachedFacts {
            services: wire::services_of(namespace, &services, &slices, &[]),
            pods: pods.into_iter().map(|pod| pod.metadata.labels.into_iter().flatten().collect()).collect(),
        }))
    }

    async fn workload(&self, key: &WorkloadKey) -> Result<Option<WorkloadFacts>, Failure> {
        match &*key.kind {
            "Deployment" => self.deployment(key).await,
            "ReplicaSet" => self.get::<wire::ReplicaSet>(key).await,
            "StatefulSet" => self.with_revisions::<wire::StatefulSet>(key).await,
            "DaemonSet" => self.with_revisions::<wire::DaemonSet>(key).await,
            "Job" => self.get::<wire::Job>(key).await,
            "CronJob" => self.get::<wire::CronJob>(key).await,
            "ReplicationController" => self.get::<wire::ReplicationController>(key).await,
            _ => Ok(None),
        }
    }

    async fn get<K>(&self, key: &WorkloadKey) -> Result<Option<WorkloadFacts>, Failure>
    where
        K: Resource<DynamicType = ()> + Workload + DeserializeOwned,
    {
        let found = self.get_as::<K, K>(key).await?;
        Ok(found.map(|object| object.into_facts(&mut Interner::default())))
    }

    async fn deployment(&self, key: &WorkloadKey) -> Result<Option<WorkloadFacts>, Failure> {
        let Some((mut facts, selector)) = self.get_with_selector::<wire::Deployment>(key).await? else {
            return Ok(None);
        };
        let sets: Vec<wire::ReplicaSet> = self.list(&key.namespace, selector).await?;
        facts.replica_sets = wire::own_replica_sets(&facts, &sets);
        Ok(Some(facts))
    }

    async fn with_revisions<K>(&self, key: &WorkloadKey) -> Result<Option<WorkloadFacts>, Failure>
    where
        K: Resource<DynamicType = ()> + Workload + DeserializeOwned,
    {
        let Some((mut facts, selector)) = self.get_with_selector::<K>(key).await? else { return Ok(None) };
        match self.list::<wire::ControllerRevision>(&key.namespace, selector).await {
            Ok(revisions) => facts.revisions = wire::own_revisions(&facts, &revisions),
            // A role from before they were read: all else is known without.
            Err(failure) if failure.is_forbidden() => {}
            Err(failure) => return Err(failure),
        }
        Ok(Some(facts))
    }

    async fn get_with_selector<K>(
        &self,
        key: &WorkloadKey,
    ) -> Result<Option<(WorkloadFacts, Option<Selector>)>, Failure>
    where
        K: Resource<DynamicType = ()> + Workload + DeserializeOwned,
    {
        let found: Option<WithSelector<K>> = self.get_as::<K, _>(key).await?;
        Ok(found.map(|found| (found.object.into_facts(&mut Interner::default()), found.selector)))
    }

    /// GETs a `K`, read as a `T`. `None`: it does not exist.
    async fn get_as<K, T>(&self, key: &WorkloadKey) -> Result<Option<T>, Failure>
    where
        K: Resource<DynamicType = ()>,
        T: DeserializeOwned,
    {
        let path = Request::new(K::url_path(&(), Some(&key.namespace)));
        let request = path.get(&key.name, &GetParams::default()).map_err(|e| Failure::Unreadable(e.to_string()))?;
        match call::json(&self.client, request, REQUEST).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Lists what there may be many of.
    async fn pages<K>(&self, namespace: Option<&str>, fields: Option<&str>) -> Result<Vec<K>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let params = ListParams { field_selector: fields.map(str::to_owned), ..ListParams::default().limit(PAGE) };
        call::list(&self.client, &K::url_path(&(), namespace), params, REQUEST).await
    }

    /// Lists what there is little of, all at once.
    async fn list<K>(&self, namespace: &str, selector: Option<Selector>) -> Result<Vec<K>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        // What the API server has in its cache will do: the world asks a moment after a change, and again while it matters. A
        // list of the newest waits there for word from etcd, 50 ms on average, and has all watches of the server told. (No limit:
        // with one, kube asks for the newest.)
        let mut params = ListParams::default().at("0").matching(VersionMatch::NotOlderThan);
        if let Some(selector) = &selector {
            params = params.labels_from(selector);
        }
        call::list(&self.client, &K::url_path(&(), Some(namespace)), params, REQUEST).await
    }
}

/// A line without the time before it, unless it was written after the run had ended: while we asked, the next run may have
/// begun. (The end is in whole seconds, and the last word is stamped when the runtime reads it.)
fn until(line: &str, ended: Option<Timestamp>) -> Option<&str> {
    let (written, words) = timed_line(line);
    let is_later = written.zip(ended).is_some_and(|(written, ended)| written.as_second() > ended.as_second() + 1);
    (!is_later).then_some(words)
}

/// A workload with the selector by which it owns; where that cannot be read, all of its namespace are listed, and
/// the owner references tell.
struct WithSelector<K> {
    object: K,
    selector: Option<Selector>,
}

impl<'de, K: DeserializeOwned> serde::Deserialize<'de> for WithSelector<K> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut value = serde_json::Value::deserialize(d)?;
        let selector = value.pointer_mut("/spec/selector").map(serde_json::Value::take);
        let selector = selector.and_then(|s| serde_json::from_value::<LabelSelector>(s).ok());
        let object = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Self { object, selector: selector.and_then(|s| s.try_into().ok()) })
    }
}

/// A word of a closed set, for metrics.
fn kind_label(want: &Want) -> &'static str {
    let key = match want {
        Want::Services(_) => return "Services",
        Want::Reached(_) => return "Reached",
        Want::PodsOn(_) => return "PodsOn",
        Want::Log(_) => return "Log",
        Want::Claims(_) => return "Claims",
        Want::Workload(key) => key,
    };
    match &*key.kind {
        "Deployment" => "Deployment",
        "ReplicaSet" => "ReplicaSet",
        "StatefulSet" => "StatefulSet",
        "DaemonSet" => "DaemonSet",
        "Job" => "Job",
        "CronJob" => "CronJob",
        "ReplicationController" => "ReplicationController",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_next_run_wrote_is_left_out() {
        let ended = "2026-11-21T09:00:05Z".parse().ok();
        assert_eq!(until("2026-11-21T09:00:06.1Z the last word", ended), Some("the last word"));
        assert_eq!(until("2026-11-21T09:00:07.1Z starting", ended), None);
        assert_eq!(until("2026-11-21T09:00:05.1Z", ended), Some(""));
        assert_eq!(until("unable to retrieve container logs", ended), Some("unable to retrieve container logs"));
    }
}
