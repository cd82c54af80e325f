//! Lists the current state of a cluster once, with the permissions of the user: every kind that a diagnosis depends on.
//!
//! The operator watches and looks up. The command line lists once and evaluates the result like a dump.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{GetParams, ListParams, Resource};
use kube::core::{ObjectMeta, Request};
use serde::Deserialize;
use serde_json::value::RawValue;

mod custom;
mod network;
mod workloads;

use super::PAGE;
pub use super::call::Failure;
use super::discovery::ResourceType;
pub use custom::CustomTypes;
use shindan_core::facts::route::NetworkKind;
use shindan_core::facts::{NamedKind, NamesOf, ObjectKey};
use shindan_core::wire::{self, Dump, NamedObject};
pub use workloads::workloads;

use super::call::{self, Listed, Pages};

/// A kind to list.
struct Kind {
    api_version: fn() -> Cow<'static, str>,
    name: fn() -> Cow<'static, str>,
    plural: fn() -> Cow<'static, str>,
    path: fn(Option<&str>) -> String,
    is_namespaced: bool,
    /// What is missing from the diagnoses without it.
    without: &'static str,
}

impl Kind {
    const fn of<K: Resource<DynamicType = ()>>(without: &'static str) -> Self {
        Self {
            api_version: || K::api_version(&()),
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

    /// Whether node diagnoses use it even without pods.
    fn is_of_nodes(&self) -> bool {
        ["Node", "Event"].contains(&&*(self.name)())
    }
}

const PODS: Kind = Kind::of::<wire::Pod>("nothing can be diagnosed");
/// Kinds other than pods, in the order in which missing permissions are reported.
const RELATED_KINDS: [Kind; 13] = [
    Kind::of::<wire::Event>("causes that only Events show are missing or less certain"),
    Kind::of::<wire::Deployment>("causes of stuck rollouts are missing"),
    Kind::of::<wire::ReplicaSet>("changes of rollouts are missing"),
    Kind::of::<wire::StatefulSet>("causes of stuck rollouts are missing"),
    Kind::of::<wire::DaemonSet>("causes of stuck rollouts are missing"),
    Kind::of::<wire::ControllerRevision>("changes of rollouts are missing"),
    Kind::of::<wire::Job>("diagnoses of Jobs and their retries are missing"),
    Kind::of::<wire::CronJob>("diagnoses of CronJobs are missing"),
    Kind::of::<wire::Service>("the impact is missing"),
    Kind::of::<wire::EndpointSlice>("the impact is computed from the labels of pods"),
    Kind::of::<wire::PersistentVolumeClaim>("causes of unbound claims are missing"),
    Kind::of_no_namespace::<wire::StorageClass>("StorageClasses are not checked"),
    Kind::of_no_namespace::<wire::Node>("causes in the nodes are not found"),
];

/// Objects that were listed.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub dump: Dump,
    pub lacking: Vec<Lacking>,
    /// Whether it contains all pods of the cluster, so that the free resources of a node are known.
    pub has_all_pods: bool,
}

/// A kind that the user is not allowed to list.
#[derive(Debug)]
pub struct Lacking {
    /// Plural of the kind.
    pub what: Cow<'static, str>,
    /// What is missing from the diagnoses without it.
    pub without: &'static str,
    /// Error of the API server.
    pub refusal: Failure,
}

impl std::fmt::Display for Lacking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not allowed to list {}: {}", self.what, self.without)
    }
}

/// Progress of a list.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    pub plural: &'a str,
    pub listed: u64,
    /// Remaining objects, if the API server reports them.
    pub left: u64,
}

/// An object of a list as the API server sent it, without its type.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub json: &'a RawValue,
}

/// The type of the objects of a list.
#[derive(Clone, Copy)]
struct Type<'t> {
    api_version: &'t str,
    kind: &'t str,
    plural: &'t str,
}

/// Settings of a snapshot.
pub struct Lister<'a> {
    pub client: &'a Client,
    /// Time limit of one page.
    pub limit: Duration,
    /// Whether only nodes or custom resources are diagnosed. This is possible without access to pods.
    pub without_pods: bool,
    /// Whether the paths of requests, autoscalers and disruption budgets are diagnosed too.
    pub with_routes: bool,
    pub custom: CustomTypes<'a>,
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Receives each object.
    pub each: &'a (dyn Fn(Item<'_>) + Sync),
}

impl std::fmt::Debug for Lister<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lister").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Lister<'_> {
    /// Lists one namespace, or all, and cluster-scoped objects. Fails without access to pods, unless only nodes or custom
    /// resources are diagnosed.
    pub async fn snapshot(&self, namespace: Option<&str>) -> Result<Snapshot, Failure> {
        let mut snapshot = Snapshot { has_all_pods: namespace.is_none(), ..Snapshot::default() };
        let pods = self.list(&PODS, namespace, None, &mut snapshot.dump).await;
        if pods.is_ok() {
            self.know_all(&PODS, namespace, &mut snapshot.dump);
        }
        match pods {
            Err(refusal) if self.without_pods && refusal.is_forbidden() => {
                snapshot.has_all_pods = false;
                let without = "failures of pods are missing";
                snapshot.lacking.push(Lacking { what: (PODS.plural)(), without, refusal });
            }
            listed => listed?,
        }
        // Kinds that only explain pods are not needed without pods.
        let has_pods = snapshot.lacking.is_empty();
        for kind in RELATED_KINDS.iter().filter(|kind| has_pods || kind.is_of_nodes()) {
            match self.list(kind, namespace, None, &mut snapshot.dump).await {
                Ok(()) => self.know_all(kind, namespace, &mut snapshot.dump),
                // The kind does not exist in this cluster, so there are no objects of it.
                Err(failure) if failure.is_not_found() => {}
                Err(refusal) if refusal.is_forbidden() => {
                    snapshot.lacking.push(Lacking { what: (kind.plural)(), without: kind.without, refusal });
                }
                Err(failure) => return Err(failure),
            }
        }
        if self.with_routes {
            self.routes(namespace, &mut snapshot).await?;
        }
        self.custom(namespace, &mut snapshot).await?;
        let waits_for_a_node = snapshot.dump.pods.iter().any(|pod| pod.node_name.is_none() && !pod.is_over());
        if let Some(namespace) = namespace.filter(|_| waits_for_a_node && !snapshot.dump.nodes.is_empty()) {
            self.others(namespace, &mut snapshot).await?;
        }
        Ok(snapshot)
    }

    /// Lists the pods of other namespaces, for the resources they use on nodes.
    async fn others(&self, namespace: &str, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let placed =
            format!("metadata.namespace!={namespace},spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed");
        match self.list(&PODS, None, Some(&placed), &mut snapshot.dump).await {
            Ok(()) => snapshot.has_all_pods = true,
            Err(refusal) if refusal.is_forbidden() => snapshot.lacking.push(Lacking {
                what: "the pods of other namespaces".into(),
                without: "free resources of nodes are unknown",
                refusal,
            }),
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    /// Notes that all objects of a kind were listed. Only the paths of requests depend on it.
    fn know_all(&self, kind: &Kind, namespace: Option<&str>, dump: &mut Dump) {
        let name = (kind.name)();
        if let Some(kind) = NetworkKind::ALL.into_iter().find(|of| self.with_routes && of.as_str() == name) {
            network::know_all(kind, namespace, dump);
        }
    }

    async fn list(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        fields: Option<&str>,
        dump: &mut Dump,
    ) -> Result<(), Failure> {
        let (api_version, name, plural) = ((kind.api_version)(), (kind.name)(), (kind.plural)());
        let of = Type { api_version: &api_version, kind: &name, plural: &plural };
        let add = |dump: &mut Dump, items: &[Box<RawValue>]| dump.read_items(&name, items);
        self.list_at(of, &kind.path(namespace), fields, dump, add).await
    }

    /// Lists the objects of a path, and adds each page with `add`.
    async fn list_at(
        &self,
        of: Type<'_>,
        path: &str,
        fields: Option<&str>,
        dump: &mut Dump,
        add: impl Fn(&mut Dump, &[Box<RawValue>]),
    ) -> Result<(), Failure> {
        let Type { api_version, kind, plural } = of;
        let mut params = ListParams::default().limit(PAGE);
        params.field_selector = fields.map(ToOwned::to_owned);
        let mut pages = Pages::<Box<RawValue>>::new(self.client, path, params, self.limit);
        let mut listed = 0;
        while let Some(page) = pages.next().await? {
            let Listed::Page(items) = page else {
                return Err(Failure::Unreadable(format!(
                    "the list of {plural} expired while it was being read; try again"
                )));
            };
            add(dump, &items);
            items.iter().for_each(|json| (self.each)(Item { api_version, kind, json }));
            listed += u64::try_from(items.len()).unwrap_or(0);
            (self.progress)(Progress { plural, listed, left: pages.left() });
        }
        Ok(())
    }
}

/// Whether an object of one of the listed kinds exists.
pub async fn is_there(
    client: &Client,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
    limit: Duration,
) -> Result<bool, Failure> {
    let Some(path) = collection(kind, namespace) else { return Ok(false) };
    Ok(metadata(client, path, name, limit).await?.is_some())
}

/// The path of the objects of a kind. `None`: it is not listed.
fn collection(kind: &str, namespace: Option<&str>) -> Option<String> {
    if let Some(kind) = NetworkKind::diagnosed().find(|known| known.as_str() == kind) {
        return Some(network::path(kind, namespace));
    }
    let kind = RELATED_KINDS.iter().chain([&PODS]).find(|known| (known.name)() == kind)?;
    Some(kind.path(namespace))
}

/// Whether a custom resource exists.
pub async fn is_custom_there(
    client: &Client,
    of: &ResourceType,
    namespace: Option<&str>,
    name: &str,
    limit: Duration,
) -> Result<bool, Failure> {
    Ok(metadata(client, of.path(namespace), name, limit).await?.is_some())
}

/// The names of the objects of a kind, or of the keys of one object. No values are kept, and only one object is read with
/// its values.
pub async fn names(client: &Client, of: &NamesOf, limit: Duration) -> Result<BTreeSet<Arc<str>>, Failure> {
    let (group, plural) = match of.kind {
        NamedKind::ConfigMap => ("api/v1", "configmaps"),
        NamedKind::Secret => ("api/v1", "secrets"),
        NamedKind::ServiceAccount => ("api/v1", "serviceaccounts"),
        NamedKind::PersistentVolumeClaim => ("api/v1", "persistentvolumeclaims"),
        NamedKind::PersistentVolume => ("api/v1", "persistentvolumes"),
        NamedKind::PriorityClass => ("apis/scheduling.k8s.io/v1", "priorityclasses"),
        NamedKind::RuntimeClass => ("apis/node.k8s.io/v1", "runtimeclasses"),
    };
    let path = match &*of.namespace {
        "" => format!("/{group}/{plural}"),
        namespace => format!("/{group}/namespaces/{namespace}/{plural}"),
    };
    let unreadable = |e: kube::core::request::Error| Failure::Unreadable(e.to_string());
    if let Some(object) = &of.object {
        let request = Request::new(path).get(object, &GetParams::default()).map_err(unreadable)?;
        let found: NamedObject = call::json(client, request, limit).await?;
        return Ok(found.into_keys().collect());
    }
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        metadata: ObjectMeta,
    }
    #[derive(Deserialize)]
    struct List {
        items: Vec<Named>,
    }
    let request = Request::new(path).list_metadata(&ListParams::default()).map_err(unreadable)?;
    let list: List = call::json(client, request, limit).await?;
    Ok(list.items.into_iter().filter_map(|named| named.metadata.name).map(Arc::from).collect())
}

/// State of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    There,
    /// It is terminating: objects can no longer be created in it.
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

/// Metadata of an object. `None`: it does not exist.
async fn metadata(client: &Client, path: String, name: &str, limit: Duration) -> Result<Option<ObjectMeta>, Failure> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        metadata: ObjectMeta,
    }
    let request = Request::new(path).get_metadata(name, &GetParams::default());
    let request = request.map_err(|e| Failure::Unreadable(e.to_string()))?;
    let found = call::found(call::json::<Named>(client, request, limit).await)?;
    Ok(found.map(|named| named.metadata))
}

/// The keys of the objects of one of the listed kinds that match a label selector.
pub async fn with(
    client: &Client,
    kind: &str,
    namespace: Option<&str>,
    selector: &str,
    limit: Duration,
) -> Result<BTreeSet<ObjectKey>, Failure> {
    let Some(path) = collection(kind, namespace) else { return Ok(BTreeSet::new()) };
    labelled(client, &path, selector, limit).await
}

/// The keys of the custom resources that match a label selector.
pub async fn custom_with(
    client: &Client,
    of: &ResourceType,
    namespace: Option<&str>,
    selector: &str,
    limit: Duration,
) -> Result<BTreeSet<ObjectKey>, Failure> {
    labelled(client, &of.path(namespace), selector, limit).await
}

async fn labelled(
    client: &Client,
    path: &str,
    selector: &str,
    limit: Duration,
) -> Result<BTreeSet<ObjectKey>, Failure> {
    #[derive(Deserialize)]
    struct Named {
        metadata: ObjectMeta,
    }
    let params = ListParams::default().labels(selector).limit(PAGE);
    let objects: Vec<Named> = call::list(client, path, params, limit).await?;
    let keys = objects.into_iter().map(|Named { metadata }| {
        ObjectKey::new(metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default())
    });
    Ok(keys.collect())
}
