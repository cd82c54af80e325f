//! Follows the custom resources of `--kinds` and of rules: one watch for each kind, once its definition is installed.

mod set;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use kube::api::ApiResource;
use kube::discovery::Scope as KindScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use shindan_core::facts::{CustomKind, FieldPaths, WorkloadKey};
use shindan_core::state::Change;
use shindan_core::wire::{CustomResource, Interner, keeping};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::{Failure, Scope};
pub use set::NamedKinds;
use set::Set;
pub use standing::{Access, Board, Standing, Standings};

/// Pause between two searches for a kind that is not installed.
const LOOK: Duration = Duration::from_secs(20);
/// Timeout of a watch, which ends one whose connection is dead.
const WATCH_SECONDS: u32 = 290;

/// Starts to follow the kinds of `--kinds` and those of `named`. The tasks end when the set is dropped or the engine
/// ends.
pub fn spawn(
    kinds: &[CustomKind],
    named: watch::Receiver<NamedKinds>,
    client: &Client,
    scope: &Scope,
    changes: &mpsc::Sender<Change>,
    board: Board,
) -> JoinSet<()> {
    let (client, scope, sender) = (client.clone(), scope.clone(), changes.clone());
    let start = move |kind: &CustomKind, paths: &Arc<FieldPaths>, board: &Board| {
        let mut tasks = JoinSet::new();
        for namespace in scope.each() {
            let follower = Follower {
                kind: kind.clone(),
                paths: paths.clone(),
                client: client.clone(),
                namespace: namespace.map(str::to_owned),
                changes: sender.clone(),
                board: board.clone(),
                troubles: BTreeSet::new(),
            };
            tasks.spawn(follower.run());
        }
        tasks
    };
    let set = Set {
        always: kinds.iter().cloned().collect(),
        start: Box::new(start),
        changes: changes.clone(),
        board,
        running: BTreeMap::new(),
        sent: None,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(set.run(named));
    tasks
}

struct Follower {
    kind: CustomKind,
    /// The fields of its objects that rules read.
    paths: Arc<FieldPaths>,
    client: Client,
    /// `None`: all namespaces.
    namespace: Option<String>,
    changes: mpsc::Sender<Change>,
    board: Board,
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
                    self.board.found(&self.kind, &resource.kind);
                    if let Err(Ended) = self.follow(&resource, scope).await {
                        return;
                    }
                }
                Ok(None) => self.trouble("not_installed", Access::NotInstalled, ""),
                Err(failure) => self.fails(&failure),
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
        // The objects are read while the stream is polled.
        while let Some(event) = poll_fn(|cx| keeping(&self.paths, || stream.as_mut().poll_next(cx))).await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    let failure = super::watch::failure_of(error);
                    if failure.is_not_found() {
                        tracing::info!(kind = %self.kind, "the kind is no longer installed");
                        self.board.note(&self.kind, self.namespace.as_deref(), Access::NotInstalled);
                        return self.listed(resource, BTreeSet::new()).await;
                    }
                    self.fails(&failure);
                    if failure.is_forbidden() {
                        // The back-off of the stream would delay the first read after the permission is given.
                        return Ok(());
                    }
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
                    self.board.note(&self.kind, self.namespace.as_deref(), Access::Followed);
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

    fn fails(&mut self, failure: &Failure) {
        let message = failure.to_string();
        let access = if failure.is_forbidden() { Access::Forbidden } else { Access::Failing(message.clone()) };
        self.trouble(failure.category(), access, &message);
    }

    /// Notes why the kind cannot be followed, and logs it once until the next success.
    fn trouble(&mut self, category: &'static str, access: Access, failure: &str) {
        if self.troubles.insert(category) {
            tracing::warn!(kind = %self.kind, category, failure, "{}", access.trouble(&self.kind).unwrap_or_default());
        }
        self.board.note(&self.kind, self.namespace.as_deref(), access);
    }
}
