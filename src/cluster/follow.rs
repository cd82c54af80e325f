//! Follows objects of a kind that may not be installed, or not yet: one watch, once its definition is there.

mod standing;

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures::Stream;
use kube::api::ApiResource;
use kube::core::DynamicResourceScope;
use kube::discovery::Scope as KindScope;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use shindan_core::state::Change;
use shindan_core::wire::Interner;
use tokio::sync::mpsc;

use super::Failure;
pub use standing::{Access, Board, Kind, Standing, Standings};

/// Pause between two searches for a kind that is not installed.
const LOOK: Duration = Duration::from_secs(20);
/// Timeout of a watch, which ends one whose connection is dead.
const WATCH_SECONDS: u32 = 290;

/// Where a kind is served.
pub(super) enum Served<'a> {
    /// In this API group, at the most stable of its versions: a group may recommend one that does not have the kind.
    InGroup(&'a str),
    /// Always, as this resource.
    Always(ApiResource, KindScope),
}

/// A kind to follow, and the changes that its objects mean.
pub(super) trait Target: Send + Sync + 'static {
    type Kind: Kind + Display;
    type Object: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static;
    type Key: Ord + Send;

    fn kind(&self) -> &Self::Kind;

    fn served(&self) -> Served<'_>;

    /// Whether this resource of its group is the kind.
    fn is_it(&self, resource: &ApiResource) -> bool;

    /// Polls the watch, which reads the objects.
    fn reading<R>(&self, poll: impl FnOnce() -> R) -> R {
        poll()
    }

    /// The key of an object, and the change that it means; `None`: nothing is read of it.
    fn seen(&self, object: Self::Object, resource: &ApiResource, strings: &mut Interner)
    -> (Self::Key, Option<Change>);

    fn deleted(&self, key: Self::Key) -> Change;

    /// All objects of a namespace, or of all; none if the kind was removed.
    fn listed(&self, resource: &ApiResource, namespace: Option<&str>, present: BTreeSet<Self::Key>) -> Option<Change>;

    /// The kind is not installed, or may not be read.
    fn unavailable(&self, namespace: Option<&str>) -> Option<Change>;
}

/// The task that follows one kind, in one namespace or in all.
pub(super) struct Follower<T: Target> {
    target: T,
    client: Client,
    /// `None`: all namespaces.
    namespace: Option<String>,
    changes: mpsc::Sender<Change>,
    board: Board<T::Kind>,
    /// Categories of failures that were logged since the last success.
    troubles: BTreeSet<&'static str>,
    /// Whether the engine knows that the kind is unavailable.
    is_unavailable: bool,
}

/// The engine has ended.
struct Ended;

impl<T: Target> Follower<T> {
    pub(super) fn new(
        target: T,
        client: &Client,
        namespace: Option<&str>,
        changes: &mpsc::Sender<Change>,
        board: &Board<T::Kind>,
    ) -> Self {
        Self {
            target,
            client: client.clone(),
            namespace: namespace.map(str::to_owned),
            changes: changes.clone(),
            board: board.clone(),
            troubles: BTreeSet::new(),
            is_unavailable: false,
        }
    }

    /// Runs until the engine ends.
    pub(super) async fn run(mut self) {
        // It only returns when the engine has ended.
        let _ = self.follow_always().await;
    }

    async fn follow_always(&mut self) -> Result<(), Ended> {
        loop {
            match self.find().await {
                Ok(Some((resource, scope))) => {
                    self.board.found(self.target.kind(), &resource.kind);
                    self.follow(&resource, scope).await?;
                }
                Ok(None) => self.unavailable("not_installed", Access::NotInstalled, "").await?,
                Err(failure) => self.fails(&failure).await?,
            }
            if self.changes.is_closed() {
                return Err(Ended);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The present version of the kind.
    async fn find(&self) -> Result<Option<(ApiResource, KindScope)>, Failure> {
        let group = match self.target.served() {
            Served::Always(resource, scope) => return Ok(Some((resource, scope))),
            Served::InGroup(group) => group,
        };
        match kube::discovery::group(&self.client, group).await {
            Ok(group) => {
                let mut resources = group.resources_by_stability().into_iter();
                let found = resources.find(|(resource, _)| self.target.is_it(resource));
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
        let api: Api<T::Object> = match (&self.namespace, scope) {
            (Some(namespace), KindScope::Namespaced) => Api::namespaced_with(client, namespace, resource),
            _ => Api::all_with(client, resource),
        };
        let config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(super::PAGE);
        let mut stream = pin!(watcher(api, config).default_backoff());
        let mut strings = Interner::default();
        let mut present: BTreeSet<T::Key> = BTreeSet::new();
        while let Some(event) = poll_fn(|cx| self.target.reading(|| stream.as_mut().poll_next(cx))).await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    let failure = super::watch::failure_of(error);
                    if failure.is_not_found() {
                        tracing::info!(kind = %self.target.kind(), "the kind is no longer installed");
                        self.note(Access::NotInstalled);
                        return self.listed(resource, BTreeSet::new()).await;
                    }
                    self.fails(&failure).await?;
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
                    let (key, change) = self.target.seen(object, resource, &mut strings);
                    present.insert(key);
                    self.send(change).await?;
                }
                watcher::Event::InitDone => {
                    self.troubles.clear();
                    self.is_unavailable = false;
                    self.note(Access::Followed);
                    self.listed(resource, std::mem::take(&mut present)).await?;
                    strings.clean_up();
                }
                watcher::Event::Apply(object) => {
                    let (_, change) = self.target.seen(object, resource, &mut strings);
                    self.send(change).await?;
                }
                watcher::Event::Delete(object) => {
                    let (key, _) = self.target.seen(object, resource, &mut strings);
                    self.send(Some(self.target.deleted(key))).await?;
                }
            }
        }
        Ok(())
    }

    async fn listed(&self, resource: &ApiResource, present: BTreeSet<T::Key>) -> Result<(), Ended> {
        self.send(self.target.listed(resource, self.namespace.as_deref(), present)).await
    }

    async fn send(&self, change: Option<Change>) -> Result<(), Ended> {
        match change {
            Some(change) => self.changes.send(change).await.map_err(|_| Ended),
            None => Ok(()),
        }
    }

    async fn fails(&mut self, failure: &Failure) -> Result<(), Ended> {
        let message = failure.to_string();
        if failure.is_forbidden() {
            return self.unavailable(failure.category(), Access::Forbidden, &message).await;
        }
        self.trouble(failure.category(), Access::Failing(message.clone()), &message);
        Ok(())
    }

    /// The kind cannot be followed now: reports it once to the engine.
    async fn unavailable(&mut self, category: &'static str, access: Access, failure: &str) -> Result<(), Ended> {
        self.trouble(category, access, failure);
        if std::mem::replace(&mut self.is_unavailable, true) {
            return Ok(());
        }
        self.send(self.target.unavailable(self.namespace.as_deref())).await
    }

    fn note(&self, access: Access) {
        self.board.note(self.target.kind(), self.namespace.as_deref(), access);
    }

    /// Notes why the kind cannot be followed, and logs it once until the next success.
    fn trouble(&mut self, category: &'static str, access: Access, failure: &str) {
        if let Some(trouble) = self.target.kind().trouble(&access, &self.board.standings())
            && self.troubles.insert(category)
        {
            tracing::warn!(kind = %self.target.kind(), category, failure, "{trouble}");
        }
        self.note(access);
    }
}
