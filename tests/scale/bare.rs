//! The bare client in Rust: the same LIST and watch of pods, and the same two writes for each failing pod, without diagnosis.
//!
//! Its cost is that of the API server and the client library; the difference to the operator is the cost of the operator.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use futures::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::api::core::v1;
use kube::api::{Api, ListParams};
use kube::core::{ObjectMeta, Request};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};
use serde::{Deserialize, Deserializer, Serialize};
use shindan::cluster::client::{self, Target};
use shindan_core::api::PodDiagnosis;
use tokio::task::JoinSet;

/// Same values as in the operator.
const PAGE: u32 = 500;
const OWN_PAGE: u32 = 100;
const WATCH_SECONDS: u32 = 90;
const WRITES: usize = 16;
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Printed when all pods are listed.
pub(crate) const LISTED: &str = "listed";

/// Bodies of writes of the operator, with placeholders `@ns@`, `@name@` and `@uid@`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Bodies {
    pub(crate) diagnosis: String,
    pub(crate) event: String,
}

impl Bodies {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("{}: run the operator first", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }
}

#[derive(Debug, Clone, Default, Deserialize, Resource)]
#[resource(inherit = v1::Pod)]
#[serde(default)]
struct SlimPod {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    status: SlimStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SlimStatus {
    phase: String,
    conditions: Vec<SlimCondition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SlimCondition {
    r#type: String,
    status: String,
}

fn slim<'de, D: Deserializer<'de>>(d: D) -> Result<ObjectMeta, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Slim {
        name: Option<String>,
        namespace: Option<String>,
        uid: Option<String>,
        resource_version: Option<String>,
    }
    let Slim { name, namespace, uid, resource_version } = Slim::deserialize(d)?;
    Ok(ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() })
}

impl SlimPod {
    fn fails(&self) -> bool {
        let ready = |c: &SlimCondition| c.r#type == "Ready" && c.status == "True";
        self.status.phase != "Succeeded" && !self.status.conditions.iter().any(ready)
    }

    fn key(self) -> Key {
        let meta = self.metadata;
        [meta.namespace, meta.name, meta.uid].map(Option::unwrap_or_default)
    }
}

/// Namespace, name, UID.
type Key = [String; 3];

/// Runs until it is killed. With `known`, pods that have a diagnosis already are skipped.
pub(crate) async fn run(kubeconfig: PathBuf, bodies: &Path, known: bool) -> Result<()> {
    let bodies = Arc::new(Bodies::read(bodies)?);
    let clients = client::connect(&Target { kubeconfig: Some(kubeconfig), ..Target::default() }).await?;
    let mut written_pods: HashSet<String> = if known { written(&clients.watch).await? } else { HashSet::new() };
    let config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE).streaming_lists();
    let mut pods = std::pin::pin!(watcher(Api::<SlimPod>::all(clients.watch.clone()), config).default_backoff());
    let (mut waiting, mut writing, mut listed) = (VecDeque::new(), JoinSet::new(), false);
    loop {
        while listed && writing.len() < WRITES {
            let Some(key) = waiting.pop_front() else { break };
            writing.spawn(write(clients.write.clone(), bodies.clone(), key));
        }
        tokio::select! {
            Some(event) = pods.next() => match event {
                Ok(Event::InitApply(pod) | Event::Apply(pod)) => {
                    let name = name_of(&pod.metadata);
                    if !pod.fails() {
                        written_pods.remove(&name);
                    } else if written_pods.insert(name) {
                        waiting.push_back(pod.key());
                    }
                }
                Ok(Event::Delete(pod)) => {
                    written_pods.remove(&name_of(&pod.metadata));
                }
                Ok(Event::InitDone) => {
                    listed = true;
                    println!("{LISTED}");
                }
                Ok(Event::Init) => {}
                Err(error) => eprintln!("{error}"),
            },
            Some(written) = writing.join_next() => {
                if let Err(error) = written? {
                    eprintln!("{error}");
                }
            }
        }
    }
}

fn name_of(meta: &ObjectMeta) -> String {
    format!("{}/{}", meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

async fn write(client: Client, bodies: Arc<Bodies>, key: Key) -> Result<()> {
    let [ns, name, uid] = &key;
    let fill = |text: &str| text.replace("@ns@", ns).replace("@name@", name).replace("@uid@", uid).into_bytes();
    let path = format!("{}/{name}?fieldManager=bare&force=true", PodDiagnosis::url_path(&(), Some(ns)));
    let apply = http::Request::patch(path).header(CONTENT_TYPE, "application/apply-patch+yaml");
    client.request_text(apply.header(ACCEPT, METADATA_ONLY).body(fill(&bodies.diagnosis))?).await?;
    let path = format!("/apis/events.k8s.io/v1/namespaces/{ns}/events");
    let post = http::Request::post(path).header(CONTENT_TYPE, "application/json");
    client.request_text(post.header(ACCEPT, METADATA_ONLY).body(fill(&bodies.event))?).await?;
    Ok(())
}

/// Returns the pods that have a diagnosis.
async fn written(client: &Client) -> Result<HashSet<String>> {
    #[derive(Deserialize)]
    struct Page {
        metadata: PageMeta,
        items: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct PageMeta {
        r#continue: Option<String>,
    }
    #[derive(Deserialize)]
    struct Item {
        #[serde(deserialize_with = "slim")]
        metadata: ObjectMeta,
    }
    let mut all = HashSet::new();
    let mut params = ListParams::default().limit(OWN_PAGE);
    loop {
        let request = Request::new(PodDiagnosis::url_path(&(), None)).list(&params)?;
        let page: Page = client.request(request).await?;
        all.extend(page.items.iter().map(|item| name_of(&item.metadata)));
        match page.metadata.r#continue.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(all),
        }
    }
}
