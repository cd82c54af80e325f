//! Puts the parts together: connects, takes up where an earlier run stopped, watches, and runs the engine.

mod engine;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

pub use engine::{Cluster, Engine, Pace};

use crate::cluster::client::{ClientError, Clients, Target};
use crate::cluster::lease::{Elector, Leadership, Timing};
use crate::cluster::lookup::{Lookup, LookupError};
use crate::cluster::publish::{Current, PublishError, Published, Publisher};
use crate::cluster::restore::{self, Restored};
use crate::cluster::{Scope, client, watch as watches};
use crate::diagnosis::{Thresholds, rules};
use crate::facts::{Looked, Want, Wishes};
use crate::http::{self, Health};
use crate::metrics::Metrics;
use crate::plan::{DiagnosisKey, Intent, Policy};
use crate::world::{Annotate, Caps, Selection, Source, Touched, World};

/// Changes that may wait for the engine: each pod comes with all its facts, a few kilobytes.
const CHANGES: usize = 128;
/// How long the start waits to know who leads.
const ELECTION_AT_START: Duration = Duration::from_secs(5);
/// How long giving the Lease back may take.
const GIVING_BACK: Duration = Duration::from_secs(3);

/// What `--nodes=false` means, for the log and /readyz.
const WITHOUT_NODES: &str = "not read, as --nodes=false says: what a node or a StorageClass would explain is not told";

/// Everything that `shindan run` can be told.
#[derive(Debug, Clone)]
pub struct Settings {
    pub target: Target,
    pub scope: Scope,
    pub listen: SocketAddr,
    pub thresholds: Thresholds,
    pub policy: Policy,
    pub caps: Caps,
    pub pace: Pace,
    /// The logs of ended runs may be read.
    pub previous_logs: bool,
    /// What carries its diagnosis.
    pub annotate: Annotate,
    /// What is asked of all diagnoses.
    pub wishes: Wishes,
    /// Of what something is told.
    pub selection: Selection,
    /// Of several replicas one writes; `None`: this is the only one.
    pub election: Option<Election>,
}

/// How the replica that writes is elected.
#[derive(Debug, Clone)]
pub struct Election {
    /// Where the Lease is; else the namespace of the pod or of the kubeconfig's context.
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
    #[error("the watches have ended; this is a bug, please report it")]
    WatchesEnded,
}

/// The cluster as the engine uses it.
#[derive(Debug, Clone)]
struct Live {
    publisher: Publisher,
    lookup: Lookup,
    reader: Reader,
}

/// Reads our own objects back.
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

    async fn look(&self, want: &Want) -> Result<Looked, LookupError> {
        self.lookup.look(want).await
    }

    async fn restore(&self, pages: mpsc::Sender<Restored>) {
        let Reader { client, scope, health } = &self.reader;
        restore::objects_when_ready(client, scope, health, pages).await;
    }
}

/// Runs the operator until SIGTERM or SIGINT.
pub async fn run(settings: Settings) -> Result<(), AppError> {
    let metrics = Metrics::new(rules::known().map(|known| known.cause));
    let health = Health::counted(&metrics);
    let stop = stop_signal();
    let clients = client::connect(&settings.target).await?;
    let version = clients.probe(client::WRITE_ANSWER).await?;
    tracing::info!(server = %clients.server, %version, "connected");

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
    // Scrapes and probes that are under way get their answers.
    let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
    Ok(())
}

/// Takes up where an earlier run stopped, and works until it is stopped.
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
        lookup: Lookup::new(clients.write.clone(), metrics.clone()).within(settings.scope.clone()),
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
        world.know_some_pods_only();
    }
    if !scope.nodes {
        tracing::info!("{WITHOUT_NODES}");
        health.without(Source::Nodes.as_str(), WITHOUT_NODES);
        world.do_without_nodes();
    }
    if settings.previous_logs {
        world.read_logs();
    }
    world.annotate(settings.annotate);
    world.respect(settings.wishes.clone());
    world.tell_only_of(settings.selection.clone());
    // What is read while we lead already need not be read once more.
    let _ = tokio::time::timeout(ELECTION_AT_START, leadership.known()).await;
    let restored_in = leadership.term();
    let touched = tokio::select! {
        touched = restore(&mut world, &live) => touched,
        () = stopped(stop.clone()) => return Ok(()),
    };

    let (sender, changes) = mpsc::channel(CHANGES);
    let _watches = watches::spawn(&clients.watch, scope, &sender, metrics, health);
    drop(sender);
    // Events help, but the operator works without them: they do not keep it from being ready for long.
    let (events, wait) = (health.clone(), settings.pace.wait_for_events);
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        events.tolerate(Source::Events.as_str());
    });
    let engine = Engine::new(world, live, metrics.clone(), settings.pace, changes);
    let mut engine = engine.elected(leadership, restored_in);
    engine.enqueue(touched);
    engine.run(stopped(stop.clone())).await;
    if *stop.borrow() { Ok(()) } else { Err(AppError::WatchesEnded) }
}

/// Our own objects, as an earlier run left them.
async fn restore(world: &mut World, live: &Live) -> Touched {
    let (sender, mut pages) = mpsc::channel::<Restored>(1);
    let (mut touched, mut unreadable) = (Vec::new(), 0);
    let take = async {
        while let Some(page) = pages.recv().await {
            unreadable += page.unreadable.len();
            touched.extend(page.into_world(world));
        }
    };
    tokio::join!(live.restore(sender), take);
    tracing::info!(objects = touched.len(), unreadable, "took up our own objects");
    touched
}

/// This replica stands for election, beside everything else.
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
            // Dropped or sent: it is over.
            let _ = ended.await;
        }));
        (Self { over, task }, leadership)
    }

    /// Gives the Lease back: nothing is written any more.
    async fn end(self) {
        let _ = self.over.send(());
        let _ = tokio::time::timeout(GIVING_BACK, self.task).await;
    }
}

/// Turns true at SIGTERM or SIGINT.
fn stop_signal() -> watch::Receiver<bool> {
    use tokio::signal::unix::{SignalKind, signal};
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
            tracing::warn!("cannot handle signals; the process ends at once when it is told to");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("stopping");
        sender.send_replace(true);
    });
    receiver
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // The sender lives as long as the process; without it there is no signal to wait for.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
