//! Follows the custom resources of `--kinds`: one watch for each kind, once its definition is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::api::ApiResource;
use kube::discovery::Scope as KindScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use shindan_core::facts::{CustomKind, WorkloadKey};
use shindan_core::state::Change;
use shindan_core::wire::{CustomResource, Interner};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Failure, Scope};
use crate::http::Health;

/// Pause between two searches for a kind that is not installed.
const LOOK: Duration = Duration::from_secs(20);
/// Timeout of a watch, which ends one whose connection is dead.
const WATCH_SECONDS: u32 = 290;

/// Starts to follow the kinds. The tasks end when the set is dropped or the engine ends.
pub fn spawn(
    kinds: &[CustomKind],
    client: &Client,
    scope: &Scope,
    changes: &mpsc::Sender<Change>,
    health: &Health,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let lacking = Lacking { health: health.clone(), kinds: Arc::default() };
    for kind in kinds {
        for namespace in scope.each() {
            let follower = Follower {
                kind: kind.clone(),
                client: client.clone(),
                namespace: namespace.map(str::to_owned),
                changes: changes.clone(),
                lacking: lacking.clone(),
                troubles: BTreeSet::new(),
            };
            tasks.spawn(follower.run());
        }
    }
    tasks
}

/// The kinds that cannot be followed now, on /readyz.
#[derive(Clone)]
struct Lacking {
    health: Health,
    kinds: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Lacking {
    /// Notes why a kind cannot be followed; `None`: it can be.
    fn note(&self, kind: &CustomKind, why: Option<String>) {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => kinds.insert(kind.to_string(), why),
            None => kinds.remove(&kind.to_string()),
        };
        if kinds.is_empty() {
            self.health.ready(PART);
        } else {
            self.health.lacking(PART, kinds.values().cloned().collect::<Vec<_>>().join("; "));
        }
    }
}

struct Follower {
    kind: CustomKind,
    client: Client,
    /// `None`: all namespaces.
    namespace: Option<String>,
    changes: mpsc::Sender<Change>,
    lacking: Lacking,
    /// Categories of failures that were logged since the last success.
    troubles: BTreeSet<&'static str>,
}

/// The engine has ended.
struct Ended;

impl Follower {
    async fn run(mut self) {
        loop {
            match self.find().await {
                Ok(Some((resource, scope))) => {
                    if let Err(Ended) = self.follow(&resource, scope).await {
                        return;
                    }
                }
                Ok(None) => self.trouble("not_installed", format!("{} is not installed; waiting for it", self.kind)),
                Err(failure) => self.trouble(failure.category(), failure.to_string()),
            }
            if self.changes.is_closed() {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The present version of the kind.
    async fn find(&self) -> Result<Option<(ApiResource, KindScope)>, Failure> {
        match kube::discovery::group(&self.client, self.kind.group()).await {
            Ok(group) => {
                let mut resources = group.recommended_resources().into_iter();
                let found = resources.find(|(resource, _)| resource.plural == self.kind.plural());
                Ok(found.map(|(resource, capabilities)| (resource, capabilities.scope)))
            }
            Err(kube::Error::Discovery(_)) => Ok(None),
            Err(error) => match Failure::from_kube(error) {
                failure if failure.is_not_found() => Ok(None),
                failure => Err(failure),
            },
        }
    }

    /// Follows the objects until the kind is removed.
    async fn follow(&mut self, resource: &ApiResource, scope: KindScope) -> Result<(), Ended> {
        let client = self.client.clone();
        let api: Api<CustomResource> = match (&self.namespace, scope) {
            (Some(namespace), KindScope::Namespaced) => Api::namespaced_with(client, namespace, resource),
            _ => Api::all_with(client, resource),
        };
        let config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(super::PAGE);
        let mut stream = pin!(watcher(api, config).default_backoff());
        let mut strings = Interner::default();
        let mut present: BTreeSet<WorkloadKey> = BTreeSet::new();
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    let failure = super::watch::failure_of(error);
                    if failure.is_not_found() {
                        tracing::info!(kind = %self.kind, "the kind is no longer installed");
                        return self.listed(resource, BTreeSet::new()).await;
                    }
                    self.trouble(failure.category(), self.explained(&failure));
                    continue;
                }
            };
            match event {
                watcher::Event::Init => present.clear(),
                watcher::Event::InitApply(object) => {
                    let object = object.of(resource);
                    present.insert(object.key(&mut strings));
                    self.seen(object, &mut strings).await?;
                }
                watcher::Event::InitDone => {
                    self.troubles.clear();
                    self.lacking.note(&self.kind, None);
                    self.listed(resource, std::mem::take(&mut present)).await?;
                    strings.clean_up();
                }
                watcher::Event::Apply(object) => self.seen(object.of(resource), &mut strings).await?,
                watcher::Event::Delete(object) => {
                    self.send(Change::WorkloadDeleted(object.of(resource).key(&mut strings))).await?;
                }
            }
        }
        Ok(())
    }

    async fn seen(&self, object: CustomResource, strings: &mut Interner) -> Result<(), Ended> {
        match object.into_facts(strings) {
            Some(facts) => self.send(Change::Workload(Box::new(facts))).await,
            None => Ok(()),
        }
    }

    async fn listed(&self, resource: &ApiResource, present: BTreeSet<WorkloadKey>) -> Result<(), Ended> {
        // Of several namespaces, each has its own list.
        if self.namespace.is_some() && !present.is_empty() {
            return Ok(());
        }
        let (api_version, kind) = (Arc::from(resource.api_version.as_str()), Arc::from(resource.kind.as_str()));
        self.send(Change::ResourcesListed { api_version, kind, present }).await
    }

    async fn send(&self, change: Change) -> Result<(), Ended> {
        self.changes.send(change).await.map_err(|_| Ended)
    }

    fn explained(&self, failure: &Failure) -> String {
        if failure.is_forbidden() {
            return format!(
                "not allowed to list and watch {kind}; `shindan rules rbac {kind}` prints the role ({failure})",
                kind = self.kind
            );
        }
        failure.to_string()
    }

    /// Logs a failure once until the next success.
    fn trouble(&mut self, category: &'static str, message: String) {
        if self.troubles.insert(category) {
            tracing::warn!(kind = %self.kind, category, "{message}");
        }
        self.lacking.note(&self.kind, Some(message));
    }
}

/// Name of the custom resources on /readyz.
const PART: &str = "kinds";
