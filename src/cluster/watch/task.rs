//! One watch.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Config, DefaultBackoff, watcher};
use tokio::sync::mpsc;

use super::kinds::Watched;
use super::listing::{Listing, Lists};
use super::standing::Standing;
use super::trouble::{Trouble, refuses_streaming};
use crate::cluster::PAGE;
use crate::cluster::wire::Interner;
use crate::metrics::WatchHandle;
use crate::world::Change;

/// After how many changes the strings that nobody holds any more are forgotten.
const SWEEP_EVERY: u32 = 10_000;
/// Streaming lists that may begin without one that ends, before paged lists are tried: a server that ignores the
/// parameter, or one list that takes longer than a watch may.
const STREAMS_WITHOUT_END: u32 = 2;

/// The pauses between two tries of a watch: a quarter of kube's, whose longest ones (30 to 60 s) are kind to the API server, but
/// leave a leader blind for so long after an outage.
#[derive(Default)]
struct Patience(DefaultBackoff);

impl Iterator for Patience {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next().map(|pause| pause / 4)
    }
}

impl Backoff for Patience {
    fn reset(&mut self) {
        self.0.reset();
    }
}

/// What the watches learn of the server together.
#[derive(Debug, Default)]
pub(super) struct Strategies {
    streaming_refused: AtomicBool,
}

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) name: &'static str,
    pub(super) fields: Option<String>,
    pub(super) seconds: u32,
}

impl Settings {
    fn config(&self, streaming: bool) -> Config {
        // No `any_semantic`: with a page size it does nothing.
        let mut config = Config::default().timeout(self.seconds).page_size(PAGE);
        if let Some(fields) = &self.fields {
            config = config.fields(fields);
        }
        if streaming { config.streaming_lists() } else { config }
    }
}

pub(super) struct Task<K> {
    pub(super) api: Api<K>,
    pub(super) settings: Settings,
    pub(super) listing: Listing,
    pub(super) strategies: Arc<Strategies>,
    pub(super) changes: mpsc::Sender<Change>,
    pub(super) watch: WatchHandle,
    pub(super) standing: Standing,
}

/// What a watch remembers from one item to the next.
struct Progress {
    lists: Lists,
    strings: Interner,
    since_sweep: u32,
    streams_begun: u32,
}

impl Progress {
    fn sweep(&mut self) {
        self.since_sweep = 0;
        self.strings.sweep();
    }
}

enum Stop {
    /// Nobody reads the changes any more.
    Closed,
    /// List in pages from now on.
    Paged,
}

impl<K: Watched> Task<K> {
    pub(super) async fn run(self) {
        let mut progress = Progress {
            lists: Lists::new(self.listing.clone(), K::SOURCE),
            strings: Interner::default(),
            since_sweep: 0,
            streams_begun: 0,
        };
        let mut streaming = true;
        loop {
            streaming &= !self.strategies.streaming_refused.load(Ordering::Relaxed);
            match self.follow(streaming, &mut progress).await {
                Stop::Closed => return,
                Stop::Paged => streaming = false,
            }
        }
    }

    async fn follow(&self, streaming: bool, progress: &mut Progress) -> Stop {
        let mut stream = pin!(watcher(self.api.clone(), self.settings.config(streaming)).backoff(Patience::default()));
        while let Some(item) = stream.next().await {
            let flow = match item {
                Ok(event) => self.take(event, streaming, progress).await,
                Err(error) if streaming && refuses_streaming(&error) => {
                    if !self.strategies.streaming_refused.swap(true, Ordering::Relaxed) {
                        tracing::info!("the API server does not stream lists; listing in pages");
                    }
                    ControlFlow::Break(Stop::Paged)
                }
                Err(error) => {
                    self.report(error);
                    ControlFlow::Continue(())
                }
            };
            if let ControlFlow::Break(stop) = flow {
                return stop;
            }
        }
        // The pauses never end, so the stream has no end.
        Stop::Closed
    }

    async fn take(&self, event: watcher::Event<K>, streaming: bool, progress: &mut Progress) -> ControlFlow<Stop> {
        use watcher::Event;
        if matches!(event, Event::Init) {
            progress.lists.begin();
            progress.streams_begun += 1;
            if streaming && progress.streams_begun > STREAMS_WITHOUT_END {
                tracing::info!(watch = self.settings.name, "a streamed list does not end; listing in pages");
                return ControlFlow::Break(Stop::Paged);
            }
            return ControlFlow::Continue(());
        }
        match event {
            Event::Init => {}
            Event::InitApply(object) => {
                self.open_list(progress).await?;
                progress.lists.name(object.meta());
                self.apply(object, progress).await?;
            }
            Event::InitDone => {
                self.open_list(progress).await?;
                self.end_list(progress).await?;
                progress.sweep();
            }
            Event::Apply(object) => {
                progress.lists.applied(object.meta());
                self.apply(object, progress).await?;
            }
            Event::Delete(object) => {
                progress.lists.deleted(object.meta());
                if let Some(change) = object.deleted(&mut progress.strings) {
                    self.send(change).await?;
                }
            }
        }
        self.watch.alive();
        progress.since_sweep += 1;
        if progress.since_sweep >= SWEEP_EVERY {
            progress.sweep();
        }
        ControlFlow::Continue(())
    }

    async fn apply(&self, object: K, progress: &mut Progress) -> ControlFlow<Stop> {
        if object.is_read() {
            self.send(object.applied(&mut progress.strings)).await?;
        }
        ControlFlow::Continue(())
    }

    async fn open_list(&self, progress: &mut Progress) -> ControlFlow<Stop> {
        if progress.lists.opens() {
            self.send(Change::ListStarted(K::SOURCE)).await?;
        }
        ControlFlow::Continue(())
    }

    async fn end_list(&self, progress: &mut Progress) -> ControlFlow<Stop> {
        progress.streams_begun = 0;
        let done = progress.lists.end();
        for meta in done.gone {
            if let Some(change) = K::stub(meta).deleted(&mut progress.strings) {
                self.send(change).await?;
            }
        }
        self.watch.listed();
        if done.complete {
            self.standing.listed();
            self.send(Change::ListDone(K::SOURCE)).await?;
        }
        ControlFlow::Continue(())
    }

    async fn send(&self, change: Change) -> ControlFlow<Stop> {
        match self.changes.send(change).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(Stop::Closed),
        }
    }

    /// Said once for each kind of trouble, not at each try.
    fn report(&self, error: watcher::Error) {
        let what = K::plural(&());
        let trouble = Trouble::of(error, &what);
        self.watch.failed(trouble.category);
        if trouble.is_expiry() {
            tracing::info!(watch = self.settings.name, "the version to go on from has expired; listing anew");
            return;
        }
        if self.standing.lost(trouble.clone()) {
            tracing::warn!(watch = self.settings.name, kind = trouble.category, "{}; trying again", trouble.message);
        }
    }
}
