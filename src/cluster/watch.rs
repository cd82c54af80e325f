//! The watches. Each is a task that converts the responses of the API server to [`Change`]s.
//!
//! A watch ends only when the channel closes. It waits only for the API server and for capacity of the channel, so the
//! receiver must never await a write.

use std::sync::Arc;

use http_body_util::{BodyExt, Either};
use k8s_openapi::NamespaceResourceScope;
use kube::client::Body;
use kube::{Api, Client, Resource};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

mod kinds;
mod listing;
mod standing;
mod task;
mod trouble;

use kinds::{Diagnosed, Own, Watched};
use listing::{Gate, Listing};
use shindan_core::api::REPORTER;
use shindan_core::api::{NodeDiagnosis, PodDiagnosis, WorkloadDiagnosis};
use shindan_core::state::{Change, Source};
use shindan_core::wire::{self, Event, Node, Pod};
use standing::{SourceStates, WatchState};
use task::{Settings, Strategies, Task};
pub(super) use trouble::failure_of;

use super::Scope;
use crate::http::Health;
use crate::metrics::Metrics;
use crate::telemetry::STEPS;

/// Timeout of a watch, which ends one whose connection is dead. Resuming from the last version is cheap.
const OBJECT_SECONDS: u32 = 90;
/// Timeout of a watch of Events. They have no watch cache, so etcd serves each start of a watch.
const EVENT_SECONDS: u32 = 290;

/// Watches of Normal Events: name and field selector. A selector has no OR, and each watch lists all Events on the
/// server. So one watch covers all Events about pods except those of every normal start, and [`kinds`] drops the rest.
const NORMAL: [(&str, &str); 3] = [
    (
        "about_pods",
        "involvedObject.kind=Pod,reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started",
    ),
    ("node_not_ready", "reason=NodeNotReady"),
    ("job_already_active", "reason=JobAlreadyActive"),
];

/// Namespace of the Events about Nodes.
const OF_NODES: &str = "default";

/// Starts all watches. They end when the set is dropped or the channel closes.
///
/// Each source is missing in `health` until it has been listed once, and again if it fails later. Must be called within
/// a tokio runtime.
pub fn spawn(
    client: &Client,
    scope: &Scope,
    changes: &mpsc::Sender<Change>,
    metrics: &Metrics,
    health: &Health,
) -> JoinSet<()> {
    let mut starter = Starter {
        client,
        scope,
        changes,
        metrics,
        sources: SourceStates::new(health.clone()),
        strategies: Arc::new(Strategies::default()),
        tasks: JoinSet::new(),
    };
    // Our own objects and the nodes come first: they are few, and diagnoses depend on them.
    starter.own::<PodDiagnosis>("poddiagnoses");
    starter.own::<WorkloadDiagnosis>("workloaddiagnoses");
    if scope.nodes {
        starter.start(Api::<Own<NodeDiagnosis>>::all, "nodediagnoses", None, OBJECT_SECONDS, Listing::Alone);
        starter.start(Api::<Node>::all, "nodes", None, OBJECT_SECONDS, Listing::Alone);
    }
    starter.everywhere::<Pod>("pods", None, OBJECT_SECONDS, &starter.gate(Source::Pods, 1));
    starter.listed::<wire::Deployment>("deployments");
    starter.listed::<wire::StatefulSet>("statefulsets");
    starter.listed::<wire::DaemonSet>("daemonsets");
    starter.listed::<wire::Job>("jobs");
    starter.listed::<wire::CronJob>("cronjobs");
    starter.listed::<wire::Service>("services");
    starter.events();
    starter.tasks
}

struct Starter<'a> {
    client: &'a Client,
    scope: &'a Scope,
    changes: &'a mpsc::Sender<Change>,
    metrics: &'a Metrics,
    sources: Arc<SourceStates>,
    strategies: Arc<Strategies>,
    tasks: JoinSet<()>,
}

impl Starter<'_> {
    /// The gate of the watches that together form one source: `selectors` watches per namespace.
    fn gate(&self, source: Source, selectors: usize) -> Arc<Gate> {
        Arc::new(Gate::new(source, self.watches_of(selectors)))
    }

    fn watches_of(&self, selectors: usize) -> usize {
        selectors * self.scope.each().len()
    }

    fn events(&mut self) {
        let apart = self.scope.nodes && !self.reads(OF_NODES);
        let gate = Arc::new(Gate::new(Source::Events, self.watches_of(1 + NORMAL.len()) + usize::from(apart)));
        // Our own Events would return as evidence, under reasons that the kubelet uses too.
        let warnings = format!("type!=Normal,reportingComponent!={REPORTER}");
        self.everywhere::<Event>("warnings", Some(&warnings), EVENT_SECONDS, &gate);
        for (name, selected) in NORMAL {
            let fields = format!("type=Normal,reportingComponent!={REPORTER},{selected}");
            self.everywhere::<Event>(name, Some(&fields), EVENT_SECONDS, &gate);
        }
        if apart {
            let api = |client| Api::<Event>::namespaced(client, OF_NODES);
            let fields = format!("involvedObject.kind=Node,reportingComponent!={REPORTER}");
            self.start(api, "of_nodes", Some(&fields), EVENT_SECONDS, Listing::Shared(gate));
        }
    }

    fn reads(&self, namespace: &str) -> bool {
        self.scope.namespaces.is_empty() || self.scope.namespaces.iter().any(|name| name == namespace)
    }

    /// Watches the versions of our own objects.
    fn own<K>(&mut self, name: &'static str)
    where
        K: Diagnosed + Resource<Scope = NamespaceResourceScope>,
    {
        let gate = self.gate(Source::Objects(K::KIND), 1);
        self.everywhere::<Own<K>>(name, None, OBJECT_SECONDS, &gate);
    }

    fn listed<K>(&mut self, name: &'static str)
    where
        K: Watched + Resource<Scope = NamespaceResourceScope>,
    {
        let gate = self.gate(K::SOURCE, 1);
        self.everywhere::<K>(name, None, OBJECT_SECONDS, &gate);
    }

    fn everywhere<K>(&mut self, name: &'static str, fields: Option<&str>, seconds: u32, gate: &Arc<Gate>)
    where
        K: Watched + Resource<Scope = NamespaceResourceScope>,
    {
        let listing = if gate.is_single() { Listing::Alone } else { Listing::Shared(gate.clone()) };
        let scope = self.scope;
        for namespace in scope.each() {
            let api = |client: Client| match namespace {
                Some(namespace) => Api::<K>::namespaced(client, namespace),
                None => Api::<K>::all(client),
            };
            self.start(api, name, fields, seconds, listing.clone());
        }
    }

    fn start<K: Watched>(
        &mut self,
        api: impl FnOnce(Client) -> Api<K>,
        name: &'static str,
        fields: Option<&str>,
        seconds: u32,
        listing: Listing,
    ) {
        let state = self.sources.of(K::SOURCE);
        let settings = Settings { name, fields: fields.map(str::to_owned), seconds };
        let task = Task {
            api: api(self.observed(K::SOURCE, name, state.clone())),
            settings,
            listing,
            strategies: self.strategies.clone(),
            changes: self.changes.clone(),
            watch: self.metrics.watch(K::SOURCE, name),
            state,
        };
        self.tasks.spawn(task.run());
    }

    /// A client that records each response as a sign of life of this watch. Bookmarks and the resume of a watch are not
    /// visible to the task, so only this distinguishes a quiet watch from a dead one.
    fn observed(&self, source: Source, name: &'static str, state: WatchState) -> Client {
        let watch = self.metrics.watch(source, name);
        let client = self.client.clone();
        let namespace = client.default_namespace().to_owned();
        let service =
            tower::service_fn(move |request: http::Request<Body>| {
                let (client, watch, state) = (client.clone(), watch.clone(), state.clone());
                // The permission to list does not include the permission to watch.
                let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
                async move {
                    let response = client.send(request).await?;
                    if response.status().is_success() {
                        watch.alive();
                        if is_watch && state.found() {
                            tracing::info!(watch = name, "the watch works again");
                        }
                    }
                    let is_traced = is_watch && tracing::enabled!(target: STEPS, tracing::Level::TRACE);
                    let traced = move |frame| {
                        tracing::trace!(target: STEPS, step = "read", watch = name);
                        frame
                    };
                    Ok::<_, kube::Error>(
                        response.map(|body| {
                            if is_traced { Either::Left(body.map_frame(traced)) } else { Either::Right(body) }
                        }),
                    )
                }
            });
        Client::new(service, namespace)
    }
}
