//! What there is in a cluster now: each kind that diagnoses hang on, listed once with whoever's rights these are.
//!
//! The operator watches and asks for what it lacks; whoever asks once lists, and judges that as a dump.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use kube::api::{GetParams, ListParams, Resource};
use kube::core::{ObjectMeta, Request};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::PAGE;
pub use super::call::Failure;
use super::call::{self, Listed, Pages};
use super::wire::{self, Dump};
use crate::facts::ObjectKey;

/// A kind of object, and where it is listed.
struct Kind {
    name: fn() -> Cow<'static, str>,
    plural: fn() -> Cow<'static, str>,
    path: fn(Option<&str>) -> String,
    is_namespaced: bool,
    /// What is poorer without it.
    without: &'static str,
}

impl Kind {
    const fn of<K: Resource<DynamicType = ()>>(without: &'static str) -> Self {
        Self {
            name: || K::kind(&()),
            plural: || K::plural(&()),
            path: |namespace| K::url_path(&(), namespace),
            is_namespaced: true,
            without,
        }
    }

    const fn of_no_namespace<K: Resource<DynamicType = ()>>(without: &'static str) -> Self {
        Self { is_namespaced: false, ..Self::of::<K>(without) }
    }

    fn path(&self, namespace: Option<&str>) -> String {
        (self.path)(namespace.filter(|_| self.is_namespaced))
    }

    /// Whether nodes can be judged by it where there are no pods.
    fn is_of_nodes(&self) -> bool {
        ["Node", "Event"].contains(&&*(self.name)())
    }
}

const PODS: Kind = Kind::of::<wire::Pod>("nothing can be diagnosed");
/// In the order in which they are told to be lacking.
const AROUND: [Kind; 13] = [
    Kind::of::<wire::Event>("causes that only an Event tells are not found, or are less certain"),
    Kind::of::<wire::Deployment>("what stops a rollout is not told"),
    Kind::of::<wire::ReplicaSet>("what a rollout has changed is not told"),
    Kind::of::<wire::StatefulSet>("what stops a rollout is not told"),
    Kind::of::<wire::DaemonSet>("what stops a rollout is not told"),
    Kind::of::<wire::ControllerRevision>("what a rollout has changed is not told"),
    Kind::of::<wire::Job>("Jobs and what they retry are not told"),
    Kind::of::<wire::CronJob>("CronJobs are not told"),
    Kind::of::<wire::Service>("who suffers is not told"),
    Kind::of::<wire::EndpointSlice>("who suffers is counted by the pods' labels"),
    Kind::of::<wire::PersistentVolumeClaim>("why a claim is not bound is not told"),
    Kind::of_no_namespace::<wire::StorageClass>("StorageClasses are not looked at"),
    Kind::of_no_namespace::<wire::Node>("what lies in the nodes is not found"),
];

/// Everything that was listed.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub dump: Dump,
    pub lacking: Vec<Lacking>,
    /// All pods of the cluster are in it, so that what is left of a node can be counted.
    pub has_all_pods: bool,
}

/// What whoever asks may not list.
#[derive(Debug)]
pub struct Lacking {
    /// The plural of a kind, where none of it could be listed.
    pub what: Cow<'static, str>,
    /// What is poorer without it.
    pub without: &'static str,
    /// The API server's own words.
    pub refusal: Failure,
}

impl std::fmt::Display for Lacking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not allowed to list {}: {}", self.what, self.without)
    }
}

/// How far a list is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    pub plural: &'a str,
    pub listed: u64,
    /// As far as the API server tells.
    pub left: u64,
}

/// One who lists.
pub struct Lister<'a> {
    pub client: &'a Client,
    /// How long one page may take.
    pub limit: Duration,
    /// It is asked about nodes only: of them much can be told without the pods.
    pub of_nodes: bool,
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl std::fmt::Debug for Lister<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lister").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Lister<'_> {
    /// Lists a namespace, or all of them, and what belongs to none. Without the pods there is nothing to be said but of nodes.
    pub async fn snapshot(&self, namespace: Option<&str>) -> Result<Snapshot, Failure> {
        let mut snapshot = Snapshot { has_all_pods: namespace.is_none(), ..Snapshot::default() };
        match self.list(&PODS, namespace, None, &mut snapshot.dump).await {
            Err(refusal) if self.of_nodes && refusal.is_forbidden() => {
                snapshot.has_all_pods = false;
                let without = "what suffers on the nodes is not told";
                snapshot.lacking.push(Lacking { what: (PODS.plural)(), without, refusal });
            }
            listed => listed?,
        }
        // What belongs to pods is of no use without them.
        let has_pods = snapshot.lacking.is_empty();
        for kind in AROUND.iter().filter(|kind| has_pods || kind.is_of_nodes()) {
            match self.list(kind, namespace, None, &mut snapshot.dump).await {
                Ok(()) => {}
                // The API server has no such kind: nobody uses it here.
                Err(failure) if failure.is_not_found() => {}
                Err(refusal) if refusal.is_forbidden() => {
                    snapshot.lacking.push(Lacking { what: (kind.plural)(), without: kind.without, refusal });
                }
                Err(failure) => return Err(failure),
            }
        }
        let waits_for_a_node = snapshot.dump.pods.iter().any(|pod| pod.node_name.is_none() && !pod.is_over());
        if let Some(namespace) = namespace.filter(|_| waits_for_a_node && !snapshot.dump.nodes.is_empty()) {
            self.others(namespace, &mut snapshot).await?;
        }
        Ok(snapshot)
    }

    /// What pods of other namespaces take of the nodes.
    async fn others(&self, namespace: &str, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let placed =
            format!("metadata.namespace!={namespace},spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed");
        match self.list(&PODS, None, Some(&placed), &mut snapshot.dump).await {
            Ok(()) => snapshot.has_all_pods = true,
            Err(refusal) if refusal.is_forbidden() => snapshot.lacking.push(Lacking {
                what: "the pods of other namespaces".into(),
                without: "what is left of a node is not told",
                refusal,
            }),
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    async fn list(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        fields: Option<&str>,
        dump: &mut Dump,
    ) -> Result<(), Failure> {
        let (name, plural) = ((kind.name)(), (kind.plural)());
        let mut params = ListParams::default().limit(PAGE);
        params.field_selector = fields.map(ToOwned::to_owned);
        let path = kind.path(namespace);
        let mut pages = Pages::<Box<RawValue>>::new(self.client, &path, params, self.limit);
        let mut listed = 0;
        while let Some(page) = pages.next().await? {
            let Listed::Page(items) = page else {
                return Err(Failure::Unreadable(format!("the list of {plural} has expired meanwhile; try again")));
            };
            dump.read_items(&name, &items);
            listed += u64::try_from(items.len()).unwrap_or(0);
            (self.progress)(Progress { plural: &plural, listed, left: pages.left() });
        }
        Ok(())
    }
}

/// Whether there is an object of this kind, which is one of those that are listed.
pub async fn is_there(
    client: &Client,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
    limit: Duration,
) -> Result<bool, Failure> {
    let Some(kind) = AROUND.iter().chain([&PODS]).find(|known| (known.name)() == kind) else { return Ok(false) };
    Ok(metadata(client, kind.path(namespace), name, limit).await?.is_some())
}

/// How it stands with a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    There,
    /// It is being deleted: nothing new can be written there.
    Going,
    Missing,
}

pub async fn namespace(client: &Client, name: &str, limit: Duration) -> Result<Place, Failure> {
    let found = metadata(client, "/api/v1/namespaces".to_owned(), name, limit).await?;
    Ok(match found {
        None => Place::Missing,
        Some(metadata) if metadata.deletion_timestamp.is_some() => Place::Going,
        Some(_) => Place::There,
    })
}

/// Of an object, where it is there.
async fn metadata(client: &Client, path: String, name: &str, limit: Duration) -> Result<Option<ObjectMeta>, Failure> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        metadata: ObjectMeta,
    }
    let request = Request::new(path).get_metadata(name, &GetParams::default());
    let request = request.map_err(|e| Failure::Unreadable(e.to_string()))?;
    match call::json::<Named>(client, request, limit).await {
        Ok(named) => Ok(Some(named.metadata)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The pods that carry these labels.
pub async fn pods_with(
    client: &Client,
    namespace: Option<&str>,
    selector: &str,
    limit: Duration,
) -> Result<BTreeSet<ObjectKey>, Failure> {
    #[derive(Deserialize)]
    struct Named {
        metadata: ObjectMeta,
    }
    let path = wire::Pod::url_path(&(), namespace);
    let params = ListParams::default().labels(selector).limit(PAGE);
    let pods: Vec<Named> = call::list(client, &path, params, limit).await?;
    let keys = pods.into_iter().map(|Named { metadata }| {
        ObjectKey::new(metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default())
    });
    Ok(keys.collect())
}
