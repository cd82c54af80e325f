//! The task of one watch.

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
use shindan_core::state::Change;
use shindan_core::wire::Interner;
use tokio::sync::mpsc;

use super::kinds::Watched;
use super::listing::{Listing, Lists};
use super::standing::WatchState;
use super::trouble::{Trouble, refuses_streaming};
use crate::cluster::PAGE;
use crate::metrics::WatchHandle;
use crate::telemetry::STEPS;

/// Number of changes between two removals of unreferenced interned strings.
const CLEAN_UP_EVERY: u32 = 10_000;
/// Number of streaming lists that may start without completing before the watch falls back to paged lists. The server
/// may ignore the parameter, or the list may take longer than the timeout of the watch.
const STREAMS_WITHOUT_END: u32 = 2;

/// Backoff between retries of a watch: a quarter of kube's. With kube's longest pauses (30 to 60 s) the leader would
/// miss changes for that long after an outage.
#[derive(Default)]
struct RetryBackoff(DefaultBackoff);

impl Iterator for RetryBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next().map(|pause| pause / 4)
    }
}

impl Backoff for RetryBackoff {
    fn reset(&mut self) {
        self.0.reset();
    }
}

/// What all watches share about the server.
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
        // `any_semantic` has no effect with a page size.
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
    pub(super) state: WatchState,
}

/// State of a watch between two items.
struct Progress {
    lists: Lists,
    strings: Interner,
    changes: u32,
    streams_begun: u32,
}

impl Progress {
    fn remove_unused_strings(&mut self) {
        self.changes = 0;
        self.strings.clean_up();
    }
}

enum Stop {
    /// The receiver of the changes is gone.
    Closed,
    /// Fall back to paged lists.
    Paged,
}

impl<K: Watched> Task<K> {
    pub(super) async fn run(self) {
        let mut progress = Progress {
            lists: Lists::new(self.listing.clone(), K::SOURCE),
            strings: Interner::default(),
            changes: 0,
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
        let mut stream =
            pin!(watcher(self.api.clone(), self.settings.config(streaming)).backoff(RetryBackoff::default()));
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
        // The stream ends only if the backoff ends, which it does not.
        Stop::Closed
    }

    async fn take(&self, event: watcher::Event<K>, streaming: bool, progress: &mut Progress) -> ControlFlow<Stop> {
        use watcher::Event;
        if matches!(event, Event::Init) {
            progress.lists.begin();
            progress.streams_begun += 1;
            if streaming && progress.streams_begun > STREAMS_WITHOUT_END {
                tracing::info!(watch = self.settings.name, "a streamed list did not complete; listing in pages");
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
                progress.remove_unused_strings();
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
        progress.changes += 1;
        if progress.changes >= CLEAN_UP_EVERY {
            progress.remove_unused_strings();
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
            self.state.listed();
            self.send(Change::ListDone(K::SOURCE)).await?;
        }
        ControlFlow::Continue(())
    }

    async fn send(&self, change: Change) -> ControlFlow<Stop> {
        if let Change::Pod(pod) = &change {
            tracing::trace!(target: STEPS, step = "decoded", pod = %pod.key, uid = %pod.uid);
        }
        match self.changes.send(change).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(Stop::Closed),
        }
    }

    /// Logs an error once per kind of failure, not on each retry.
    fn report(&self, error: watcher::Error) {
        let what = K::plural(&());
        let trouble = Trouble::of(error, &what);
        self.watch.failed(trouble.category);
        if trouble.is_expiry() {
            tracing::info!(watch = self.settings.name, "the resource version has expired; relisting");
            return;
        }
        if self.state.lost(trouble.clone()) {
            tracing::warn!(watch = self.settings.name, kind = trouble.category, "{}; trying again", trouble.message);
        }
    }
}
