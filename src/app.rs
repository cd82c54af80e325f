//! Puts the parts together: connects, takes up where an earlier run stopped, watches, and runs the engine.

mod engine;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

pub use engine::{Cluster, Engine, Pace};

use crate::cluster::client::{ClientError, Target};
use crate::cluster::lookup::{Lookup, LookupError};
use crate::cluster::publish::{Current, PublishError, Published, Publisher};
use crate::cluster::{client, restore, watch as watches};
use crate::diagnosis::{Thresholds, rules};
use crate::facts::{Looked, Want};
use crate::http::{self, Health};
use crate::metrics::Metrics;
use crate::plan::{DiagnosisKey, Intent, Policy};
use crate::world::{Caps, Source, World};

/// Changes that may wait for the engine: each pod comes with all its facts, a few kilobytes.
const CHANGES: usize = 128;

/// Everything that `shindan run` can be told.
#[derive(Debug, Clone)]
pub struct Settings {
    pub target: Target,
    /// Only these namespaces; all where empty.
    pub namespaces: Vec<String>,
    pub listen: SocketAddr,
    pub thresholds: Thresholds,
    pub policy: Policy,
    pub caps: Caps,
    pub pace: Pace,
    /// The logs of ended runs may be read.
    pub previous_logs: bool,
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
}

/// Runs the operator until SIGTERM or SIGINT.
pub async fn run(settings: Settings) -> Result<(), AppError> {
    let metrics = Metrics::new(rules::known().map(|known| known.cause));
    let health = Health::default();
    let stop = stop_signal();
    let clients = client::connect(&settings.target).await?;
    let version = clients.probe().await?;
    tracing::info!(server = %clients.server, %version, "connected");

    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|source| AppError::Listen { address: settings.listen, source })?;
    let address = listener.local_addr().unwrap_or(settings.listen);
    tracing::info!(%address, "serving /healthz, /readyz and /metrics");
    let serving = tokio::spawn(http::serve(listener, metrics.clone(), health.clone(), stopped(stop.clone())));

    let mut world = World::new(settings.thresholds, settings.policy, settings.caps);
    if settings.previous_logs {
        world.read_logs();
    }
    let (mut touched, mut unreadable) = (Vec::new(), 0);
    let take = |page: restore::Restored| {
        unreadable += page.unreadable.len();
        touched.extend(world.restore(page.objects));
        touched.extend(world.restore_outer(page.outers));
    };
    tokio::select! {
        () = restore::objects_when_ready(&clients.watch, &settings.namespaces, &health, take) => {}
        () = stopped(stop.clone()) => return Ok(()),
    }
    tracing::info!(objects = touched.len(), unreadable, "took up our own objects");

    let (sender, changes) = mpsc::channel(CHANGES);
    let scope = watches::Scope { namespaces: settings.namespaces.clone() };
    let _watches = watches::spawn(&clients.watch, &scope, &sender, &metrics, &health);
    drop(sender);
    let live = Live {
        publisher: Publisher::new(clients.write.clone(), &Publisher::default_instance(), metrics.clone()),
        lookup: Lookup::new(clients.write.clone(), metrics.clone()),
    };
    // Events help, but the operator works without them: they do not keep it from being ready for long.
    let (events, wait) = (health.clone(), settings.pace.wait_for_events);
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        events.ready(Source::Events.as_str());
    });
    let mut engine = Engine::new(world, live, metrics, settings.pace, changes);
    engine.enqueue(touched);
    engine.run(stopped(stop.clone())).await;
    if !*stop.borrow() {
        return Err(AppError::WatchesEnded);
    }
    // Scrapes and probes that are under way get their answers.
    let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
    Ok(())
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
