//! The time at which a watch received each diagnosis.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::StreamExt;
use kube::api::{Api, PartialObjectMeta};
use kube::core::ObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Client, Resource};
use shindan_core::api::{NodeDiagnosis, PodDiagnosis, WorkloadDiagnosis};
use tokio::sync::Notify;

/// A PodDiagnosis.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) first: Instant,
    pub(crate) labels: HashMap<&'static str, String>,
    version: String,
}

impl Sight {
    pub(crate) fn is_active(&self) -> bool {
        self.labels.get("state").is_none_or(|state| state == "Active")
    }
}

const LABELS: [&str; 2] = ["cause", "state"];

struct Seen {
    pods: HashMap<String, Sight>,
    /// Diagnoses of nodes and workloads.
    others: HashMap<String, String>,
    /// Time of the last write.
    last: Instant,
}

#[derive(Clone)]
pub(crate) struct Sights {
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
}

impl Sights {
    /// Watches until the end of the program.
    pub(crate) fn watch(client: &Client) -> Self {
        let seen = Seen { pods: HashMap::new(), others: HashMap::new(), last: Instant::now() };
        let sights = Self { seen: Arc::new(Mutex::new(seen)), changed: Arc::new(Notify::new()) };
        tokio::spawn(sights.clone().follow::<PodDiagnosis>(client.clone(), true));
        tokio::spawn(sights.clone().follow::<WorkloadDiagnosis>(client.clone(), false));
        tokio::spawn(sights.clone().follow::<NodeDiagnosis>(client.clone(), false));
        sights
    }

    async fn follow<K>(self, client: Client, of_pods: bool)
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + 'static,
    {
        let api = Api::<PartialObjectMeta<K>>::all(client);
        let mut objects = std::pin::pin!(watcher(api, Config::default()).default_backoff());
        while let Some(event) = objects.next().await {
            let (meta, deleted) = match event {
                Ok(Event::InitApply(object) | Event::Apply(object)) => (object.metadata, false),
                Ok(Event::Delete(object)) => (object.metadata, true),
                Ok(Event::Init | Event::InitDone) | Err(_) => continue,
            };
            self.saw(meta, of_pods, deleted);
        }
    }

    fn saw(&self, meta: ObjectMeta, of_pods: bool, deleted: bool) {
        let now = Instant::now();
        let key = format!("{}/{}", meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default());
        let version = meta.resource_version.unwrap_or_default();
        let mut seen = self.seen();
        if deleted {
            if of_pods {
                seen.pods.remove(&key);
            } else {
                seen.others.remove(&key);
            }
        } else if of_pods {
            let mut all = meta.labels.unwrap_or_default();
            let labels = LABELS.iter().filter_map(|name| Some((*name, all.remove(&format!("shindan.dev/{name}"))?)));
            let labels: HashMap<_, _> = labels.collect();
            match seen.pods.get_mut(&key) {
                // A restarted watch delivers known objects again.
                Some(sight) if sight.version == version => return,
                Some(sight) => *sight = Sight { first: sight.first, labels, version },
                None => {
                    seen.pods.insert(key, Sight { first: now, labels, version });
                }
            }
        } else if seen.others.insert(key, version.clone()) == Some(version) {
            return;
        }
        seen.last = now;
        drop(seen);
        self.changed.notify_waiters();
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of diagnoses of pods, and of nodes and workloads.
    pub(crate) fn count(&self) -> (usize, usize) {
        let seen = self.seen();
        (seen.pods.len(), seen.others.len())
    }

    pub(crate) fn has_all(&self, keys: &[String]) -> bool {
        let seen = self.seen();
        keys.iter().all(|key| seen.pods.contains_key(key))
    }

    pub(crate) fn active(&self) -> usize {
        self.seen().pods.values().filter(|sight| sight.is_active()).count()
    }

    pub(crate) fn of(&self, key: &str) -> Option<Sight> {
        self.seen().pods.get(key).cloned()
    }

    /// Waits for the diagnosis of this pod, and returns the time of its arrival.
    pub(crate) async fn first(&self, key: &str) -> Instant {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(sight) = self.of(key) {
                return sight.first;
            }
            changed.await;
        }
    }

    /// Arrival of the last new diagnosis.
    pub(crate) fn last_first(&self) -> Option<Instant> {
        self.seen().pods.values().map(|sight| sight.first).max()
    }

    /// Time since the last write.
    pub(crate) fn quiet_for(&self) -> Duration {
        self.seen().last.elapsed()
    }

    /// Waits until `done` holds; fails after `stall_timeout` without a write.
    pub(crate) async fn until(&self, what: &str, stall_timeout: Duration, done: impl Fn(&Self) -> bool) -> Result<()> {
        let began = Instant::now();
        self.unless(what, done, || self.quiet_for().min(began.elapsed()) >= stall_timeout).await
    }

    /// Waits until `done` holds, at most for `time`.
    pub(crate) async fn within(&self, what: &str, time: Duration, done: impl Fn(&Self) -> bool) -> Result<()> {
        let began = Instant::now();
        self.unless(what, done, || began.elapsed() >= time).await
    }

    async fn unless(&self, what: &str, done: impl Fn(&Self) -> bool, is_over: impl Fn() -> bool) -> Result<()> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if done(self) {
                return Ok(());
            }
            ensure!(
                !is_over(),
                "gave up waiting for {what}: nothing was written for {} s; {:?}, {} active",
                self.quiet_for().as_secs(),
                self.count(),
                self.active()
            );
            let _ = tokio::time::timeout(Duration::from_millis(500), changed).await;
        }
    }

    /// Waits for this time without a write.
    pub(crate) async fn settled(&self, quiet: Duration) {
        while self.quiet_for() < quiet {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
