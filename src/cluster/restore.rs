//! What we wrote before: our objects, read once at the start.
//!
//! So a restart neither repeats an Event nor loses the history of restarts.

use std::time::Duration;

use kube::Client;
use kube::api::{ListParams, Resource};
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

mod lenient;
mod told;

use super::call::{Listed, Pages};
use super::{Failure, Scope};
use crate::api::{
    DiagnosisKind, NodeDiagnosis, NodeDiagnosisSpec, NodeDiagnosisStatus, PodDiagnosis, PodDiagnosisSpec,
    PodDiagnosisStatus, WorkloadDiagnosis, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
};
use crate::facts::{ObjectKey, Timestamp};
use crate::http::Health;
use crate::plan::{DiagnosisKey, Outer, OuterRecord};
use crate::world::{Stored, Touched, World};
use told::Told;

/// Objects of one page: ours are up to 8 KiB each.
const OBJECTS_PAGE: u32 = 100;
/// How long one page may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Pauses between tries, doubling.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The name of this step in [`Health`].
const PART: &str = "restore";

/// What a page held.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    pub objects: Vec<Stored>,
    /// Of nodes and workloads.
    pub outers: Vec<OuterRecord>,
    /// They tell us nothing.
    pub unreadable: Vec<DiagnosisKey>,
}

impl Restored {
    /// What is kept of one object of a page, whoever has written it.
    pub fn of(kind: DiagnosisKind, object: &str) -> serde_json::Result<Self> {
        Ok(match kind {
            DiagnosisKind::Node => page::<NodeDiagnosis>(vec![serde_json::from_str(object)?]),
            DiagnosisKind::Workload => page::<WorkloadDiagnosis>(vec![serde_json::from_str(object)?]),
            DiagnosisKind::Pod => page::<PodDiagnosis>(vec![serde_json::from_str(object)?]),
        })
    }

    /// Gives the world what it held, and tells what is to be looked at.
    pub fn into_world(self, world: &mut World) -> Touched {
        world.spare(self.unreadable);
        let mut touched = world.restore(self.objects);
        touched.extend(world.restore_outer(self.outers));
        touched
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(
        "the API server does not know all of our kinds of objects; install the CRDs: \
         `shindan crd | kubectl apply --server-side -f -`"
    )]
    NotInstalled,
    #[error("cannot read our {what} objects: {failure}")]
    Failed { what: &'static str, failure: Failure },
}

impl RestoreError {
    /// A stable word for metrics and logs.
    pub fn category(&self) -> &'static str {
        match self {
            Self::NotInstalled => "not_installed",
            Self::Failed { failure, .. } => failure.category(),
        }
    }
}

/// Reads all our objects within the scope, a page at a time, as there may be thousands. An object may come twice, as a list
/// that was interrupted begins anew.
pub async fn objects(client: &Client, scope: &Scope, pages: &mpsc::Sender<Restored>) -> Result<(), RestoreError> {
    let told = Told::new(client, scope);
    for namespace in scope.each() {
        read::<PodDiagnosis>(client, namespace, Some(&told), pages).await?;
        read::<WorkloadDiagnosis>(client, namespace, Some(&told), pages).await?;
    }
    if scope.nodes {
        read::<NodeDiagnosis>(client, None, Some(&told), pages).await?;
    }
    Ok(())
}

/// Reads all objects of one kind at once, for one who only reads: `namespace` is of no account for those of nodes.
pub async fn all(client: &Client, kind: DiagnosisKind, namespace: Option<&str>) -> Result<Restored, RestoreError> {
    let (sender, mut pages) = mpsc::channel(1);
    let reading = async {
        // Moved in, so that the channel ends with it.
        let sender = sender;
        match kind {
            DiagnosisKind::Pod => read::<PodDiagnosis>(client, namespace, None, &sender).await,
            DiagnosisKind::Workload => read::<WorkloadDiagnosis>(client, namespace, None, &sender).await,
            DiagnosisKind::Node => read::<NodeDiagnosis>(client, None, None, &sender).await,
        }
    };
    let taking = async {
        let mut all = Restored::default();
        while let Some(page) = pages.recv().await {
            all.objects.extend(page.objects);
            all.outers.extend(page.outers);
            all.unreadable.extend(page.unreadable);
        }
        all
    };
    let (read, all) = tokio::join!(reading, taking);
    read.map(|()| all)
}

/// Reads all objects of one kind.
async fn read<K: Kept>(
    client: &Client,
    namespace: Option<&str>,
    told: Option<&Told<'_>>,
    pages: &mpsc::Sender<Restored>,
) -> Result<(), RestoreError> {
    let path = K::url_path(&(), namespace);
    let params = ListParams::default().limit(OBJECTS_PAGE);
    let failed = |failure: Failure| {
        if failure.is_not_found() {
            RestoreError::NotInstalled
        } else {
            RestoreError::Failed { what: K::KIND.as_str(), failure }
        }
    };
    let mut listing = Pages::new(client, &path, params, LIMIT);
    while let Some(listed) = listing.next().await.map_err(failed)? {
        let Listed::Page(found) = listed else { continue };
        let mut page = page::<K>(found);
        if let Some(told) = told {
            told.settle(&mut page).await;
        }
        if pages.send(page).await.is_err() {
            // Nobody wants to know any more.
            return Ok(());
        }
    }
    Ok(())
}

fn page<K: Kept>(found: Vec<Found<K>>) -> Restored {
    let mut page = Restored::default();
    for object in found {
        match object {
            Found::Stored(stored) => K::keep(*stored, &mut page),
            Found::Unreadable(unreadable) => page.unreadable.push(unreadable),
        }
    }
    page
}

/// For as long as it lives our objects are not read: also one that is given up says nothing for ever.
struct Reading<'a>(&'a Health);

impl<'a> Reading<'a> {
    fn begin(health: &'a Health) -> Self {
        health.missing(PART, "our own objects are not read yet");
        Self(health)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.ready(PART);
    }
}

/// [`objects`], tried until it succeeds; `health` says meanwhile why it does not.
pub async fn objects_when_ready(client: &Client, scope: &Scope, health: &Health, pages: mpsc::Sender<Restored>) {
    let _reading = Reading::begin(health);
    let mut pause = FIRST_PAUSE;
    let mut said = String::new();
    loop {
        match objects(client, scope, &pages).await {
            Ok(()) => return,
            Err(error) => {
                let text = error.to_string();
                health.missing(PART, text.clone());
                if said != text {
                    tracing::warn!(kind = error.category(), "{text}; trying again");
                    said = text;
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Identity {
    metadata: ObjectMeta,
}

/// A kind of ours: what is kept of it.
trait Kept: Resource<DynamicType = ()> + 'static {
    const KIND: DiagnosisKind;
    type Spec: DeserializeOwned + Default;
    type Status: DeserializeOwned;

    fn keep(read: Read<Self>, into: &mut Restored);
}

/// One of our objects.
struct Read<K: Kept + ?Sized> {
    key: ObjectKey,
    uid: String,
    resource_version: String,
    spec: K::Spec,
    status: K::Status,
}

impl<K: Kept> Read<K> {
    fn into_outer(self, outer: impl FnOnce(K::Spec, K::Status) -> Outer) -> OuterRecord {
        let object = outer(self.spec, self.status);
        OuterRecord {
            key: DiagnosisKey { kind: K::KIND, object: self.key },
            uid: self.uid,
            resource_version: self.resource_version,
            written_at: object.head().last_transition.unwrap_or(Timestamp::UNIX_EPOCH),
            told: vec![object.head().cause.clone()],
            announced: Some(object.head().cause.clone()).filter(|_| object.head().announced),
            object,
        }
    }
}

impl Kept for PodDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Pod;
    type Spec = PodDiagnosisSpec;
    type Status = PodDiagnosisStatus;

    fn keep(read: Read<Self>, into: &mut Restored) {
        let Read { key, uid, resource_version, spec, status } = read;
        into.objects.push(Stored { key, uid, resource_version, spec, status });
    }
}

impl Kept for NodeDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Node;
    type Spec = NodeDiagnosisSpec;
    type Status = NodeDiagnosisStatus;

    fn keep(read: Read<Self>, into: &mut Restored) {
        into.outers.push(read.into_outer(Outer::Node));
    }
}

impl Kept for WorkloadDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Workload;
    type Spec = WorkloadDiagnosisSpec;
    type Status = WorkloadDiagnosisStatus;

    fn keep(read: Read<Self>, into: &mut Restored) {
        into.outers.push(read.into_outer(Outer::Workload));
    }
}

/// An object of a page, understood as it is read, so that no page is held as a tree.
enum Found<K: Kept> {
    Stored(Box<Read<K>>),
    Unreadable(DiagnosisKey),
}

impl<'de, K: Kept> Deserialize<'de> for Found<K> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(d)?;
        let mut part = |name| object.get_mut(name).map(Value::take).unwrap_or_default();
        let (spec, status) = (part("spec"), part("status"));
        let metadata = Identity::deserialize(object).unwrap_or_default().metadata;
        let key = ObjectKey::new(metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default());
        let resource_version = metadata.resource_version.unwrap_or_default();
        let Some(status) = lenient::status(status) else {
            tracing::warn!(
                kind = K::KIND.as_str(),
                object = %key,
                "a diagnosis without a state that this version knows is left as it is: it is replaced if what it is about \
                 fails again; delete it if no newer version of the operator is to read it"
            );
            return Ok(Self::Unreadable(DiagnosisKey { kind: K::KIND, object: key }));
        };
        Ok(Self::Stored(Box::new(Read {
            key,
            uid: metadata.uid.unwrap_or_default(),
            resource_version,
            spec: lenient::spec(spec),
            status,
        })))
    }
}
