//! Runs the operator: connects, restores its state from its own objects, starts the watches and runs the engine.

pub mod engine;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

pub use engine::{Cluster, Engine, Pace};

use shindan_core::case::Thresholds;
use shindan_core::facts::{CustomKind, KindFields, Lookup, LookupResult, Overrides};
use shindan_core::reconcile::{DiagnosisKey, Intent, Policy};
use shindan_core::state::{Annotate, Caps, Change, Selection, Source, Touched, World};

use crate::cluster::client::{ClientError, Clients, Target};
use crate::cluster::kinds;
use crate::cluster::lease::{Elector, Leadership, Timing};
use crate::cluster::lookup::{LookupClient, LookupError};
use crate::cluster::publish::{Current, PublishError, Published, Publisher};
use crate::cluster::restore::{self, Restored};
use crate::cluster::rules::{Named, Rules};
use crate::cluster::{Scope, client, network, watch as watches};
use crate::http::{self, Health};
use crate::metrics::Metrics;
use crate::notify;
use crate::notify::send::HttpPost;
use crate::notify::task::Notifier;

/// Capacity of the channel of changes. A change of a pod holds all facts of the pod, a few kilobytes.
const CHANGES: usize = 128;
/// Capacity of the channel of marks. A mark that does not fit in waits in the task of notifications.
const MARKS: usize = 32;
/// How long the start waits for the result of the leader election.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the start waits for the rules of the cluster.
const RULES_TIMEOUT: Duration = Duration::from_secs(10);
/// How long releasing the Lease may take.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);

/// The part of /readyz that is missing until the watches are started.
const STARTING: &str = "start";
/// Meaning of `--nodes=false`, for the log and /readyz.
const WITHOUT_NODES: &str =
    "not read because of --nodes=false: causes that need a Node or a StorageClass are not found";

/// Settings of `shindan run`.
#[derive(Debug, Clone)]
pub struct Settings {
    pub target: Target,
    pub scope: Scope,
    /// Custom resources to diagnose.
    pub kinds: Vec<CustomKind>,
    pub listen: SocketAddr,
    pub thresholds: Thresholds,
    pub policy: Policy,
    pub caps: Caps,
    pub pace: Pace,
    /// Whether paths of requests, autoscalers and disruption budgets are diagnosed.
    pub network: bool,
    /// Whether the logs of terminated containers may be read.
    pub previous_logs: bool,
    /// Which objects are annotated with their diagnosis.
    pub annotate: Annotate,
    /// Overrides that apply to all diagnoses.
    pub overrides: Overrides,
    /// Which pods and workloads are reported.
    pub selection: Selection,
    /// Leader election among several replicas. `None`: this is the only replica.
    pub election: Option<Election>,
    /// Receivers of notifications. `None`: nothing is sent.
    pub notify: Option<notify::Settings>,
}

/// Settings of the leader election.
#[derive(Debug, Clone)]
pub struct Election {
    /// Namespace of the Lease. Default: the namespace of the pod or of the kubeconfig's context.
    pub namespace: Option<String>,
    pub timing: Timing,
}

/// Why the operator could not start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot listen on {address}: {source}. Is another process there? Pass another address with --listen")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("--notify: {0}")]
    Notify(String),
    #[error("the watches have ended; this is a bug, please report it")]
    WatchesEnded,
}

/// Connection of the engine to a real cluster.
#[derive(Debug, Clone)]
struct Live {
    publisher: Publisher,
    lookup: LookupClient,
    reader: Reader,
}

/// Reads our own objects.
#[derive(Clone)]
struct Reader {
    client: Client,
    scope: Arc<Scope>,
    health: Health,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Cluster for Live {
    async fn publish(&self, intent: &Intent) -> Result<Published, PublishError> {
        self.publisher.publish(intent).await
    }

    async fn current(&self, key: &DiagnosisKey) -> Result<Option<Current>, PublishError> {
        self.publisher.current(key).await
    }

    async fn look(&self, lookup: &Lookup) -> Result<LookupResult, LookupError> {
        self.lookup.look(lookup).await
    }

    async fn mark(&self, key: &DiagnosisKey, text: Option<&str>) -> Result<Option<Current>, PublishError> {
        self.publisher.mark(key, text).await
    }

    async fn restore(&self, pages: mpsc::Sender<Restored>) {
        let Reader { client, scope, health } = &self.reader;
        restore::objects_when_ready(client, scope, health, pages).await;
    }
}

/// Runs the operator until SIGTERM or SIGINT.
pub async fn run(settings: Settings) -> Result<(), AppError> {
    let metrics = Metrics::new();
    let health = Health::counted(&metrics);
    let stop = stop_signal();
    let clients = client::connect(&settings.target).await?;
    let version = clients.probe(client::WRITE_ANSWER).await?;
    tracing::info!(server = %clients.server, %version, "connected");

    health.missing(STARTING, "nothing is listed yet");
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|source| AppError::Listen { address: settings.listen, source })?;
    let address = listener.local_addr().unwrap_or(settings.listen);
    tracing::info!(%address, "serving /healthz, /readyz and /metrics");
    let serving = tokio::spawn(http::serve(listener, metrics.clone(), health.clone(), stopped(stop.clone())));

    let instance = Publisher::default_instance();
    let (candidacy, leadership) = match &settings.election {
        Some(election) => {
            let (candidacy, leadership) = Candidacy::begin(&clients, election, &instance, &health);
            (Some(candidacy), leadership)
        }
        None => (None, Leadership::always()),
    };
    let operating = operate(settings, &clients, &instance, leadership, &metrics, &health, stop);
    let ended = Box::pin(operating).await;
    if let Some(candidacy) = candidacy {
        candidacy.end().await;
    }
    ended?;
    // Let scrapes and probes in progress complete.
    let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
    Ok(())
}

/// Restores the state of an earlier run, then runs the engine until the operator is stopped.
async fn operate(
    settings: Settings,
    clients: &Clients,
    instance: &str,
    mut leadership: Leadership,
    metrics: &Metrics,
    health: &Health,
    stop: watch::Receiver<bool>,
) -> Result<(), AppError> {
    let live = Live {
        publisher: Publisher::new(clients.write.clone(), instance, leadership.clone(), metrics.clone())
            .reporting_to(health.clone()),
        lookup: LookupClient::new(clients.write.clone(), metrics.clone()).within(settings.scope.clone()),
        reader: Reader {
            client: clients.watch.clone(),
            scope: Arc::new(settings.scope.clone()),
            health: health.clone(),
        },
    };
    let scope = &settings.scope;
    let mut world = World::new(settings.thresholds, settings.policy, settings.caps);
    if !scope.namespaces.is_empty() {
        tracing::info!(namespaces = scope.namespaces.join(","), "only these namespaces are diagnosed");
        world.cluster.know_some_pods_only();
    }
    if !scope.nodes {
        tracing::info!("{WITHOUT_NODES}");
        health.without(Source::Nodes.as_str(), WITHOUT_NODES);
        world.cluster.do_without_nodes();
    }
    if settings.previous_logs {
        world.settings.read_logs();
    }
    if settings.network {
        world.cluster.follow_network(&scope.namespaces, network::lists(scope));
    }
    world.reported.annotations.annotate(settings.annotate);
    world.cluster.respect(settings.overrides.clone());
    world.settings.restrict_to(settings.selection.clone());
    // If this replica already leads, its first read of our objects counts for this term and is not repeated.
    let _ = tokio::time::timeout(ELECTION_TIMEOUT, leadership.known()).await;
    let restored_in = leadership.term();
    let notifications = settings.notify.clone().map(|of| Notifications::begin(of, metrics)).transpose()?;
    let handle = notifications.as_ref().map(|of| &of.handle);
    let touched = tokio::select! {
        touched = restore(&mut world, &live, handle) => touched,
        () = stopped(stop.clone()) => return Ok(()),
    };

    let (sender, changes) = mpsc::channel(CHANGES);
    // Without rules, the kinds that they name are known to be none.
    let (named, of_rules) = watch::channel((!scope.nodes).then(KindFields::default));
    let board = kinds::board(health);
    let named = Named { kinds: named, standings: board.subscribe() };
    let rules = if scope.nodes { Some(follow_rules(&live, clients, metrics, &sender, named).await) } else { None };
    let _watches = watches::spawn(&clients.watch, scope, &sender, metrics, health);
    let _kinds = kinds::spawn(&settings.kinds, of_rules, &clients.watch, scope, &sender, board);
    // From here on, each source is missing until it is listed.
    health.ready(STARTING);
    let _network = settings.network.then(|| network::spawn(&clients.watch, scope, &sender, health));
    drop(sender);
    // Events improve diagnoses but are not required, so they delay readiness only for a limited time.
    let (events, wait) = (health.clone(), settings.pace.wait_for_events);
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        events.tolerate(Source::Events.as_str());
    });
    let engine = Engine::new(world, live, metrics.clone(), settings.pace, changes);
    let mut engine = engine.elected(leadership, restored_in);
    let (notifications, sending) = notifications.map(Notifications::split).unzip();
    if let Some((handle, marks)) = notifications {
        engine = engine.notifying(handle, marks);
    }
    engine.enqueue(touched);
    engine.run(stopped(stop.clone())).await;
    [rules, sending].into_iter().flatten().for_each(|task| task.abort());
    if *stop.borrow() { Ok(()) } else { Err(AppError::WatchesEnded) }
}

/// Starts to follow the rules of the cluster, and waits until they are known: a diagnosis with a cause of a rule would otherwise
/// change to another cause and back at each start.
async fn follow_rules(
    live: &Live,
    clients: &Clients,
    metrics: &Metrics,
    changes: &mpsc::Sender<Change>,
    named: Named,
) -> JoinHandle<()> {
    let client = clients.watch.clone();
    let publisher = live.publisher.clone();
    let rules = Rules::new(client, publisher, metrics.clone(), changes.clone(), named, engine::precise_clock);
    let (sender, listed) = oneshot::channel();
    let task = tokio::spawn(rules.run(sender));
    let _ = tokio::time::timeout(RULES_TIMEOUT, listed).await;
    task
}

/// Restores our own objects into `world`, as an earlier run left them.
async fn restore(world: &mut World, live: &Live, notifications: Option<&notify::Handle>) -> Touched {
    let (sender, mut pages) = mpsc::channel::<Restored>(1);
    let (mut touched, mut unreadable) = (Vec::new(), 0);
    let take = async {
        while let Some(page) = pages.recv().await {
            unreadable += page.unreadable.len();
            if let Some(handle) = notifications {
                page.notify(handle);
            }
            touched.extend(page.into_world(world));
        }
    };
    tokio::join!(live.restore(sender), take);
    tracing::info!(objects = touched.len(), unreadable, "restored our own objects");
    touched
}

/// The task that sends notifications, and its links to the engine.
struct Notifications {
    handle: notify::Handle,
    marks: mpsc::Receiver<notify::Mark>,
    task: JoinHandle<()>,
}

impl Notifications {
    fn begin(settings: notify::Settings, metrics: &Metrics) -> Result<Self, AppError> {
        let names: Vec<_> = settings.receivers.iter().map(|receiver| receiver.name).collect();
        tracing::info!(receivers = names.join(","), "sending notifications of incidents");
        let post = HttpPost::new(&settings).map_err(AppError::Notify)?;
        let (sender, marks) = mpsc::channel(MARKS);
        let handle = notify::Handle::default();
        let notifier = Notifier::new(settings, handle.clone(), post, metrics.clone(), sender);
        Ok(Self { handle, marks, task: tokio::spawn(notifier.run()) })
    }

    fn split(self) -> ((notify::Handle, mpsc::Receiver<notify::Mark>), JoinHandle<()>) {
        ((self.handle, self.marks), self.task)
    }
}

/// The task of this replica that takes part in the leader election.
struct Candidacy {
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Candidacy {
    fn begin(clients: &Clients, election: &Election, instance: &str, health: &Health) -> (Self, Leadership) {
        let client = clients.write.clone();
        let namespace = election.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
        let (elector, leadership) = Elector::new(client, &namespace, instance, election.timing, health.clone());
        let (over, ended) = oneshot::channel();
        let task = tokio::spawn(elector.run(async {
            // The election ends when the sender is dropped or used.
            let _ = ended.await;
        }));
        (Self { over, task }, leadership)
    }

    /// Ends the election and releases the Lease. Nothing may be written afterwards.
    async fn end(self) {
        let _ = self.over.send(());
        let _ = tokio::time::timeout(RELEASE_TIMEOUT, self.task).await;
    }
}

/// A flag that becomes true on SIGTERM or SIGINT.
fn stop_signal() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        if terminated().await.is_err() {
            tracing::warn!("cannot handle signals; the process will exit without a graceful shutdown");
            return std::future::pending().await;
        }
        tracing::info!("stopping");
        sender.send_replace(true);
    });
    receiver
}

/// Resolves on SIGTERM or SIGINT.
#[cfg(unix)]
async fn terminated() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Ok(())
}

/// Resolves on Ctrl-C; Windows has no SIGTERM.
#[cfg(not(unix))]
async fn terminated() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // The sender lives as long as the process. Without a sender there is no signal to wait for.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
