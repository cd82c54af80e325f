//! State of all measurements: the cluster, the watch of diagnoses, and the pods that were not changed yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use jiff::Timestamp;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Client, Resource};
use serde_json::Value;
use shindan_core::api::PodDiagnosis;

use super::bare::Bodies;
use super::etcd::Etcd;
use super::recorded::{Fleet, Place};
use super::sights::Sights;
use super::subject::must_exist;

/// Named measurements; the names have the unit.
pub(crate) type Figures = BTreeMap<String, f64>;

#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Binary of the operator
    #[arg(long)]
    pub(crate) binary: PathBuf,
    /// Binary of the bare client in Go
    #[arg(long)]
    go_client: Option<PathBuf>,
    /// Kubeconfig with all permissions
    #[arg(long)]
    pub(crate) kubeconfig: PathBuf,
    /// Address of etcd, without TLS
    #[arg(long, default_value = "http://127.0.0.1:2379")]
    pub(crate) etcd: String,
    /// Number of pods of the cluster
    #[arg(long)]
    pub(crate) pods: usize,
    /// The script that started the cluster, to restart its API server
    #[arg(long)]
    pub(crate) script: PathBuf,
    /// Folder of figures and logs
    #[arg(long, default_value = "target/bench")]
    pub(crate) out: PathBuf,
}

impl Options {
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let folder = self.out.join(self.pods.to_string());
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    pub(crate) fn go_client(&self) -> Result<&Path> {
        let client = self.go_client.as_deref().context("--go-client is required to measure the Go client")?;
        must_exist(client)?;
        Ok(client)
    }

    fn touched(&self) -> Result<PathBuf> {
        Ok(self.folder()?.join("touched.json"))
    }

    pub(crate) fn bodies(&self) -> Result<PathBuf> {
        Ok(self.folder()?.join("bodies.json"))
    }
}

pub(crate) struct Lab {
    pub(crate) options: Options,
    pub(crate) client: Client,
    pub(crate) etcd: Etcd,
    pub(crate) fleet: Fleet,
    pub(crate) sights: Sights,
    /// Healthy pods that were not changed.
    healthy: Mutex<Vec<Place>>,
    touched: Mutex<Vec<Place>>,
}

impl Lab {
    #[allow(clippy::disallowed_methods, reason = "recorded times are moved to now")]
    pub(crate) async fn new(options: Options) -> Result<Self> {
        must_exist(&options.binary)?;
        let file = Kubeconfig::read_from(&options.kubeconfig)?;
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        let fleet = Fleet::new(options.pods, Timestamp::now())?;
        let lab = Self {
            etcd: Etcd::new(&options.etcd)?,
            sights: Sights::watch(&client),
            healthy: Mutex::new(Vec::new()),
            // Left by an earlier run that was interrupted.
            touched: Mutex::new(
                std::fs::read(options.touched()?).map_or(Ok(Vec::new()), |kept| serde_json::from_slice(&kept))?,
            ),
            options,
            client,
            fleet,
        };
        lab.put_back().await?;
        Ok(lab)
    }

    /// Restores the cluster as it was filled: without diagnoses and our Events, and with the original pods.
    pub(crate) async fn put_back(&self) -> Result<()> {
        self.etcd.remove("/registry/shindan.dev/").await?;
        self.etcd.remove("/registry/events/").await?;
        let touched = std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        let pods = touched.iter().map(|place| self.fleet.as_filled(*place));
        self.etcd.put(pods.chain(self.fleet.events())).await?;
        *self.healthy.lock().unwrap_or_else(PoisonError::into_inner) = self.fleet.healthy();
        self.keep_touched()?;
        self.sights.until("diagnoses to go", Duration::from_secs(60), |sights| sights.count() == (0, 0)).await?;
        // After a time without changes, all writes have reached the API server's caches.
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(())
    }

    /// Takes up to this many healthy pods.
    pub(crate) fn take_healthy(&self, most: usize) -> Result<Vec<Place>> {
        let mut healthy = self.healthy.lock().unwrap_or_else(PoisonError::into_inner);
        let most = most.min(healthy.len());
        let taken: Vec<Place> = healthy.drain(..most).collect();
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).extend(&taken);
        self.keep_touched()?;
        Ok(taken)
    }

    fn keep_touched(&self) -> Result<()> {
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::fs::write(self.options.touched()?, serde_json::to_vec(&*touched)?)?)
    }

    /// Healthy pods that stay healthy, for updates without effect.
    pub(crate) fn bystanders(&self) -> Vec<Place> {
        let healthy = self.healthy.lock().unwrap_or_else(PoisonError::into_inner);
        healthy.iter().rev().take(10_000).copied().collect()
    }

    pub(crate) fn failing(&self) -> usize {
        self.fleet.failing().count()
    }

    /// Stops or starts the API server.
    pub(crate) fn api_server(&self, what: &str) -> Result<()> {
        let status = Command::new(&self.options.script).args(["api-server", what]).status()?;
        ensure!(status.success(), "the API server did not {what}");
        Ok(())
    }

    /// Saves the operator's writes for a pod of average size, which the bare clients use.
    pub(crate) async fn keep_bodies(&self) -> Result<()> {
        let mut sized = Vec::new();
        for place in self.fleet.failing().step_by(self.failing().div_ceil(50).max(1)) {
            let object = self.get(&PodDiagnosis::url_path(&(), Some(&place.namespace())), &place.name()).await?;
            sized.push((object.to_string().len(), place, object));
        }
        sized.sort_by_key(|(size, ..)| *size);
        let (_, place, diagnosis) = sized.swap_remove(sized.len() / 2);
        let (ns, name) = (place.namespace(), place.name());
        let uid = diagnosis["spec"]["podUID"].as_str().context("a diagnosis without a UID")?.to_owned();
        let path = format!("/apis/events.k8s.io/v1/namespaces/{ns}/events");
        let events = self.list(&path).await?;
        let ours = |event: &&Value| {
            event["reportingController"] == "shindan.dev/operator" && event["regarding"]["name"] == *name
        };
        let event = events["items"].as_array().and_then(|items| items.iter().find(ours)).cloned();
        let event = event.context("the operator posted no Event about a pod")?;
        let own = event["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let with_placeholders = |object: Value| {
            let text = slim(object).to_string().replace(&own, "@name@.0123456789abcdef");
            text.replace(&name, "@name@").replace(&ns, "@ns@").replace(&uid, "@uid@")
        };
        let bodies = Bodies { diagnosis: with_placeholders(diagnosis), event: with_placeholders(event) };
        Ok(std::fs::write(self.options.bodies()?, serde_json::to_vec(&bodies)?)?)
    }

    pub(crate) async fn get(&self, path: &str, name: &str) -> Result<Value> {
        let request = Request::new(path).get(name, &kube::api::GetParams::default())?;
        Ok(self.client.request(request).await?)
    }

    async fn list(&self, path: &str) -> Result<Value> {
        let request = Request::new(path).list(&kube::api::ListParams::default())?;
        Ok(self.client.request(request).await?)
    }
}

/// Removes the fields that the API server adds.
fn slim(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| ["name", "namespace", "labels"].contains(&&**field));
    }
    object
}
