//! What there is in a cluster now: each kind that diagnoses hang on, listed once with whoever's rights these are.
//!
//! The operator watches and asks for what it lacks; whoever asks once lists, and judges that as a dump.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use kube::api::{ListParams, Resource};
use kube::core::Request;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::PAGE;
use super::call::{self, Failure};
use super::wire::{self, Dump};
use crate::facts::ObjectKey;

/// A kind of object, where it is listed.
struct Kind {
    plural: &'static str,
    group: &'static str,
    is_namespaced: bool,
    /// What is poorer without it.
    without: &'static str,
}

const fn kind(group: &'static str, plural: &'static str, without: &'static str) -> Kind {
    Kind { plural, group, is_namespaced: true, without }
}

const PODS: Kind = kind("/api/v1", "pods", "nothing can be diagnosed");
const NODES: Kind = Kind { is_namespaced: false, ..kind("/api/v1", "nodes", "what lies in the nodes is not found") };
/// In the order in which they are told to be lacking.
const AROUND: [Kind; 13] = [
    kind("/apis/events.k8s.io/v1", "events", "causes that only an Event tells are not found, or are less certain"),
    kind("/apis/apps/v1", "deployments", "what stops a rollout is not told"),
    kind("/apis/apps/v1", "replicasets", "what a rollout has changed is not told"),
    kind("/apis/apps/v1", "statefulsets", "what stops a rollout is not told"),
    kind("/apis/apps/v1", "daemonsets", "what stops a rollout is not told"),
    kind("/apis/apps/v1", "controllerrevisions", "what a rollout has changed is not told"),
    kind("/apis/batch/v1", "jobs", "Jobs and what they retry are not told"),
    kind("/apis/batch/v1", "cronjobs", "CronJobs are not told"),
    kind("/api/v1", "services", "who suffers is not told"),
    kind("/apis/discovery.k8s.io/v1", "endpointslices", "who suffers is counted by the pods' labels"),
    kind("/api/v1", "persistentvolumeclaims", "why a claim is not bound is not told"),
    Kind {
        is_namespaced: false,
        ..kind("/apis/storage.k8s.io/v1", "storageclasses", "StorageClasses are not looked at")
    },
    NODES,
];

/// Everything that was listed.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub dump: Dump,
    /// What could not be listed, and what that means: a line each.
    pub lacking: Vec<String>,
    /// All pods of the cluster are in it, so that what is left of a node can be counted.
    pub has_all_pods: bool,
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
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl std::fmt::Debug for Lister<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lister").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Lister<'_> {
    /// Lists a namespace, or all of them, and what belongs to none. Without the pods there is nothing to be said.
    pub async fn snapshot(&self, namespace: Option<&str>) -> Result<Snapshot, Failure> {
        let mut snapshot = Snapshot { has_all_pods: namespace.is_none(), ..Snapshot::default() };
        self.list(&PODS, namespace, None, &mut snapshot.dump).await?;
        for kind in &AROUND {
            match self.list(kind, namespace, None, &mut snapshot.dump).await {
                Ok(()) => {}
                // The API server has no such kind: nobody uses it here.
                Err(failure) if failure.is_not_found() => {}
                Err(failure) if failure.is_refusal() => {
                    snapshot.lacking.push(format!("not allowed to list {}: {}", kind.plural, kind.without));
                }
                Err(failure) => return Err(failure),
            }
        }
        let waits_for_a_node = snapshot.dump.pods.iter().any(|pod| pod.node_name.is_none() && !pod.is_over());
        if !snapshot.has_all_pods && waits_for_a_node && !snapshot.dump.nodes.is_empty() {
            self.others(&mut snapshot).await?;
        }
        Ok(snapshot)
    }

    /// What pods of other namespaces take of the nodes.
    async fn others(&self, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let placed = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
        match self.list(&PODS, None, Some(placed), &mut snapshot.dump).await {
            Ok(()) => snapshot.has_all_pods = true,
            Err(failure) if failure.is_refusal() => {
                snapshot.lacking.push(
                    "not allowed to list the pods of other namespaces: what is left of a node is not told".to_owned(),
                );
            }
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
        let Kind { plural, group, is_namespaced, .. } = kind;
        let path = match namespace.filter(|_| *is_namespaced) {
            Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
            None => format!("{group}/{plural}"),
        };
        let collection = Request::new(path);
        let mut params = ListParams::default().limit(PAGE);
        params.field_selector = fields.map(ToOwned::to_owned);
        let mut listed = 0;
        loop {
            let request = collection.list(&params).map_err(|e| Failure::Unreadable(e.to_string()))?;
            let page = call::bytes(self.client, request, self.limit).await?;
            let page = String::from_utf8_lossy(&page);
            let Page { metadata, items } =
                serde_json::from_str(&page).map_err(|e| Failure::Unreadable(format!("{plural}: {e}")))?;
            dump.read(&page);
            listed += u64::try_from(items.len()).unwrap_or(0);
            (self.progress)(Progress { plural, listed, left: metadata.remaining_item_count });
            params.continue_token = metadata.r#continue.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(());
            }
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Page {
    metadata: PageMeta,
    items: Vec<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PageMeta {
    r#continue: Option<String>,
    remaining_item_count: u64,
}

/// Whether an object is there.
pub async fn metadata(client: &Client, path: &str, name: &str, limit: Duration) -> Result<(), Failure> {
    let request = Request::new(path).get_metadata(name, &kube::api::GetParams::default());
    let request = request.map_err(|e| Failure::Unreadable(e.to_string()))?;
    call::json::<IgnoredAny>(client, request, limit).await.map(|_| ())
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
        metadata: kube::core::ObjectMeta,
    }
    let path = wire::Pod::url_path(&(), namespace);
    let params = ListParams::default().labels(selector).limit(PAGE);
    let pods: Vec<Named> = call::list(client, &path, params, limit).await?;
    let keys = pods.into_iter().map(|Named { metadata }| {
        ObjectKey::new(metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default())
    });
    Ok(keys.collect())
}
