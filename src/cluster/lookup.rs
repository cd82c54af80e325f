//! Reads objects that are not watched: the workload of a failing pod, the Services and unbound claims of its namespace,
//! and, if enabled, the previous logs of a container.
//!
//! The world decides what to look up and caches the results. This module only reads, with a time limit and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Client;
use kube::api::{GetParams, ListParams, LogParams, Resource, VersionMatch};
use kube::core::{Request, Selector};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use shindan_core::facts::{
    ClaimsFacts, EndedRun, LogKey, Lookup, LookupResult, ReachedFacts, Timestamp, WorkloadFacts, WorkloadKey,
    timed_line,
};
use shindan_core::message::text;
use shindan_core::wire::{self, Interner, Workload};
use tokio::time::Instant;

use super::{Failure, PAGE, Scope, call};
use crate::metrics::Metrics;

/// Time limit of one request, including its body.
const REQUEST: Duration = Duration::from_secs(10);
/// Time limit of one lookup with all its requests.
const WHOLE: Duration = Duration::from_secs(30);

/// Limits of a log: lines from its end, and bytes. The byte limit drops the last lines.
const LOG_LINES: i64 = 60;
const LOG_LIMIT: i64 = 64 << 10;

/// Why a lookup failed.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    #[error("cannot read {what}: {failure}")]
    Failed { what: &'static str, failure: Failure },
    /// The controller is of a custom kind. It is named in the diagnosis but never read.
    #[error("{0} is of a foreign kind, which is never read")]
    Foreign(WorkloadKey),
    /// The operator has no access to ConfigMaps and Secrets, and does not ask for names.
    #[error("names of other objects are not read")]
    Names,
}

impl LookupError {
    /// A stable label for metrics and logs.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Failed { failure, .. } => failure.category(),
            Self::Foreign(_) => "foreign",
            Self::Names => "names",
        }
    }
}

/// Client for the lookups of a diagnosis. Cheap to clone.
#[derive(Clone)]
pub struct LookupClient {
    client: Client,
    scope: Scope,
    metrics: Metrics,
    /// Whether the missing permission to read logs has been logged.
    logged_forbidden: Arc<AtomicBool>,
}

impl std::fmt::Debug for LookupClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookupClient").finish_non_exhaustive()
    }
}

impl LookupClient {
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self { client, scope: Scope::default(), metrics, logged_forbidden: Arc::default() }
    }

    /// Limits requests to `scope`. Objects requested by name are always in the scope: their names come from watched
    /// objects.
    #[must_use]
    pub fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Performs a lookup.
    pub async fn look(&self, lookup: &Lookup) -> Result<LookupResult, LookupError> {
        let began = Instant::now();
        let kind = kind_label(lookup);
        let outcome = match tokio::time::timeout(WHOLE, self.read(lookup)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(LookupError::Failed { what: kind, failure: Failure::Timeout(WHOLE) }),
        };
        let result = match &outcome {
            Ok(LookupResult::Workload(None)) => "absent",
            Ok(_) => "found",
            Err(error) => error.category(),
        };
        self.metrics.record_lookup(kind, result, began.elapsed());
        outcome
    }

    async fn read(&self, lookup: &Lookup) -> Result<LookupResult, LookupError> {
        let failed = |failure| LookupError::Failed { what: kind_label(lookup), failure };
        match lookup {
            Lookup::Services(namespace) => self.services(namespace).await.map_err(failed),
            Lookup::Reached(namespace) => self.reached(namespace).await.map_err(failed),
            Lookup::Workload(key) if key.is_known() => {
                self.workload(key).await.map(|found| LookupResult::Workload(found.map(Box::new))).map_err(failed)
            }
            Lookup::Workload(key) => Err(LookupError::Foreign(key.clone())),
            Lookup::PodsOn(node) => self.pods_on(node).await.map_err(failed),
            Lookup::Log(key) => self.log(key).await.map_err(failed),
            Lookup::Claims(namespace) => self.claims(namespace).await.map_err(failed),
            Lookup::Names(_) => Err(LookupError::Names),
        }
    }

    async fn claims(&self, namespace: &str) -> Result<LookupResult, Failure> {
        let mut claims: Vec<wire::PersistentVolumeClaim> = self.list(namespace, None).await?;
        claims.retain(|claim| !claim.is_bound());
        if claims.is_empty() {
            return Ok(LookupResult::Claims(ClaimsFacts::default()));
        }
        let about = "involvedObject.kind=PersistentVolumeClaim";
        let events: Vec<wire::Event> = self.pages(Some(namespace), Some(about)).await?;
        let mut strings = Interner::default();
        let events: Vec<_> = events.into_iter().map(|event| event.into_facts(&mut strings)).collect();
        let unbound = wire::unbound_claims(namespace, &claims, &events);
        if !self.scope.nodes {
            return Ok(LookupResult::Claims(ClaimsFacts { unbound, classes: None }));
        }
        let classes: Vec<wire::StorageClass> = self.pages(None, None).await?;
        Ok(LookupResult::Claims(ClaimsFacts {
            unbound,
            classes: Some(classes.iter().map(wire::StorageClass::facts).collect()),
        }))
    }

    async fn pods_on(&self, node: &str) -> Result<LookupResult, Failure> {
        let there = format!("spec.nodeName={node}");
        let mut strings = Interner::default();
        let mut found = Vec::new();
        for namespace in self.scope.each() {
            let pods: Vec<wire::Pod> = self.pages(namespace, Some(&there)).await?;
            found.extend(pods.into_iter().map(|pod| pod.into_facts(&mut strings)));
        }
        Ok(LookupResult::Pods(found))
    }

    /// The last lines of a run of the container. If the kubelet no longer has the log, the result is empty, not an error.
    async fn log(&self, key: &LogKey) -> Result<LookupResult, Failure> {
        let lines = if key.run.previous {
            self.lines_of_run(key, true).await
        } else {
            match self.lines_of_run(key, false).await {
                // The container was restarted before the request arrived. Its run is the previous one now.
                Ok(None) => self.lines_of_run(key, true).await,
                lines => lines,
            }
        };
        if lines.as_ref().is_err_and(Failure::is_forbidden) && !self.logged_forbidden.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "not allowed to read the logs of terminated containers. Apply deploy/components/previous-logs, or \
                 remove --previous-logs"
            );
        }
        Ok(LookupResult::Log(text::log_tail(&lines?.unwrap_or_default()).into()))
    }

    /// The lines that a run wrote, read from the log of the container's previous or last run. `None` if there are none.
    async fn lines_of_run(&self, key: &LogKey, previous: bool) -> Result<Option<String>, Failure> {
        let params = LogParams {
            container: Some(key.container.to_string()),
            previous,
            timestamps: true,
            tail_lines: Some(LOG_LINES),
            limit_bytes: Some(LOG_LIMIT),
            ..LogParams::default()
        };
        let pods = Request::new(wire::Pod::url_path(&(), Some(&key.pod.namespace)));
        let request = pods.logs(&key.pod.name, &params).map_err(|e| Failure::Unreadable(e.to_string()))?;
        match call::bytes(&self.client, request, REQUEST).await {
            Ok(log) => Ok(of_run(&String::from_utf8_lossy(&log), key.run)),
            Err(failure) if matches!(failure.category(), "not_found" | "invalid") => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn services(&self, namespace: &str) -> Result<LookupResult, Failure> {
        let services: Vec<wire::Service> = self.list(namespace, None).await?;
        // A namespace without Services has no endpoints to lose.
        let slices: Vec<wire::EndpointSlice> =
            if services.is_empty() { Vec::new() } else { self.list(namespace, None).await? };
        Ok(LookupResult::Services(wire::services_of(namespace, &services, &slices, &[])))
    }

    async fn reached(&self, namespace: &str) -> Result<LookupResult, Failure> {
        let services: Vec<wire::Service> = self.list(namespace, None).await?;
        let slices: Vec<wire::EndpointSlice> = self.list(namespace, None).await?;
        let pods: Vec<wire::Pod> = self.pages(Some(namespace), None).await?;
        Ok(LookupResult::Reached(ReachedFacts {
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
            // The role may be of an older version without this permission. The workload is still useful without
            // revisions.
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

    /// GETs a `K` and deserializes it as a `T`. `None`: it does not exist.
    async fn get_as<K, T>(&self, key: &WorkloadKey) -> Result<Option<T>, Failure>
    where
        K: Resource<DynamicType = ()>,
        T: DeserializeOwned,
    {
        let path = Request::new(K::url_path(&(), Some(&key.namespace)));
        let request = path.get(&key.name, &GetParams::default()).map_err(|e| Failure::Unreadable(e.to_string()))?;
        call::found(call::json(&self.client, request, REQUEST).await)
    }

    /// Lists a large collection page by page.
    async fn pages<K>(&self, namespace: Option<&str>, fields: Option<&str>) -> Result<Vec<K>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let params = ListParams { field_selector: fields.map(str::to_owned), ..ListParams::default().limit(PAGE) };
        call::list(&self.client, &K::url_path(&(), namespace), params, REQUEST).await
    }

    /// Lists a small collection in one request.
    async fn list<K>(&self, namespace: &str, selector: Option<Selector>) -> Result<Vec<K>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        // Version 0 lets the API server answer from its watch cache. A consistent list would wait for etcd, 50 ms on
        // average, and would make the server notify all its watches. The lookup is repeated, so a slightly old answer
        // is enough. A limit would make kube request a consistent list.
        let mut params = ListParams::default().at("0").matching(VersionMatch::NotOlderThan);
        if let Some(selector) = &selector {
            params = params.labels_from(selector);
        }
        call::list(&self.client, &K::url_path(&(), Some(namespace)), params, REQUEST).await
    }
}

/// The lines of a log with timestamps that were written during a run. Status times have no fractions of a second.
///
/// A line without a timestamp continues the one before. At the beginning it is the kubelet's own: the log is not there.
fn of_run(log: &str, run: EndedRun) -> Option<String> {
    let is_of_run = |written: Timestamp| {
        run.started.is_none_or(|started| written.as_second() >= started.as_second())
            && run.ended.is_none_or(|ended| written.as_second() <= ended.as_second() + 1)
    };
    let mut is_its = false;
    let lines = log.lines().filter_map(|line| {
        let (written, words) = timed_line(line);
        is_its = written.map_or(is_its, is_of_run);
        is_its.then_some(words)
    });
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A workload with its selector. If the selector cannot be parsed, all objects of the namespace are listed and filtered
/// by owner reference.
struct WithSelector<K> {
    object: K,
    selector: Option<Selector>,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for WithSelector<K> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Selecting {
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            selector: LabelSelector,
        }
        let text = <&RawValue>::deserialize(d)?.get();
        let selecting = serde_json::from_str::<Selecting>(text).ok();
        let object = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        Ok(Self { object, selector: selecting.and_then(|of| of.spec.selector.try_into().ok()) })
    }
}

/// The kind as a label of a closed set, for metrics.
fn kind_label(lookup: &Lookup) -> &'static str {
    let key = match lookup {
        Lookup::Services(_) => return "Services",
        Lookup::Reached(_) => return "Reached",
        Lookup::PodsOn(_) => return "PodsOn",
        Lookup::Log(_) => return "Log",
        Lookup::Claims(_) => return "Claims",
        Lookup::Names(_) => return "Names",
        Lookup::Workload(key) => key,
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
    use std::sync::atomic::AtomicUsize;

    use kube::client::Body;
    use shindan_core::facts::ObjectKey;

    use super::*;

    #[test]
    fn only_the_lines_of_the_run_are_read() {
        let run = |started: &str, ended: &str| EndedRun {
            previous: false,
            started: started.parse().ok(),
            ended: ended.parse().ok(),
        };
        let run = run("2026-11-21T09:00:05Z", "2026-11-21T09:00:07Z");
        let log = "2026-11-21T09:00:04.9Z the run before\n\
                   2026-11-21T09:00:05.1Z starting\n\
                   2026-11-21T09:00:08.1Z\n\
                   2026-11-21T09:00:08.2Z the last line,\n\
                   continued\n\
                   2026-11-21T09:00:09.1Z the run after\n\
                   continued too";
        assert_eq!(of_run(log, run).as_deref(), Some("starting\n\nthe last line,\ncontinued"));
        assert_eq!(of_run("", run), None);
        assert_eq!(of_run("2026-11-21T09:00:09.1Z the run after", run), None);
        assert_eq!(of_run("unable to retrieve container logs for containerd://1", run), None);
    }

    /// What is read of the first run of a container that is restarted before this request of a lookup, the first being 0.
    async fn read_while_restarting(restarted_before: usize) -> LookupResult {
        let requests = Arc::new(AtomicUsize::new(0));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let is_restarted = requests.fetch_add(1, Ordering::SeqCst) >= restarted_before;
            let is_previous = request.uri().query().is_some_and(|query| query.contains("previous=true"));
            let (code, body) = match (is_previous, is_restarted) {
                (true, false) => {
                    (400, r#"{"status": "Failure", "reason": "BadRequest", "code": 400, "message": "not found"}"#)
                }
                (false, true) => (200, "2026-11-21T09:00:09.1Z the run after"),
                (true, true) | (false, false) => (200, "2026-11-21T09:00:05.1Z address in use"),
            };
            let response = http::Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            std::future::ready(Ok::<_, std::convert::Infallible>(response.unwrap()))
        });
        let key = LogKey {
            pod: ObjectKey::new("shop", "web"),
            uid: "u".into(),
            container: "app".into(),
            exit_code: 1,
            run: EndedRun {
                previous: false,
                started: "2026-11-21T09:00:05Z".parse().ok(),
                ended: "2026-11-21T09:00:06Z".parse().ok(),
            },
        };
        let client = LookupClient::new(Client::new(service, "shop"), Metrics::new());
        client.look(&Lookup::Log(Box::new(key))).await.unwrap()
    }

    #[tokio::test]
    async fn a_restart_during_a_lookup_does_not_hide_the_log() {
        for restarted_before in 0..3 {
            let read = read_while_restarting(restarted_before).await;
            let LookupResult::Log(log) = read else { panic!("{read:?}") };
            assert_eq!(&*log, "address in use", "restarted before request {restarted_before}");
        }
    }
}
