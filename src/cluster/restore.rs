//! Reads our own objects at the start.
//!
//! After a restart the operator neither repeats Events nor loses the restart history.

use std::collections::HashMap;
use std::time::Duration;

use kube::Client;
use kube::api::{ListParams, Resource};
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

mod lenient;
mod posted;

use posted::PostedEvents;
use shindan_core::api::{
    DiagnosisKind, NodeDiagnosis, NodeDiagnosisSpec, NodeDiagnosisStatus, PodDiagnosis, PodDiagnosisSpec,
    PodDiagnosisStatus, WorkloadDiagnosis, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
};
use shindan_core::facts::ObjectKey;
use shindan_core::reconcile::{DiagnosisKey, Object, Record};
use shindan_core::state::{Touched, World};

use super::call::{Listed, Pages};
use super::publish::NOTIFIED;
use super::{Failure, Scope};
use crate::http::Health;
use crate::notify;

/// Page size. Our objects are up to 8 KiB each.
const OBJECTS_PAGE: u32 = 100;
/// Time limit of one page.
const LIMIT: Duration = Duration::from_secs(30);
/// Pause after the first failed try. It doubles with each further try.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Name of this step in [`Health`].
const PART: &str = "restore";

/// Objects of one page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    pub records: Vec<Record>,
    /// Objects that this version cannot parse.
    pub unreadable: Vec<DiagnosisKey>,
    /// Texts of the annotation [`NOTIFIED`].
    pub notified: HashMap<DiagnosisKey, String>,
}

impl Restored {
    /// Parses one object, for tests and fuzzing.
    pub fn of(kind: DiagnosisKind, object: &str) -> serde_json::Result<Self> {
        Ok(match kind {
            DiagnosisKind::Node => page::<NodeDiagnosis>(vec![serde_json::from_str(object)?]),
            DiagnosisKind::Workload => page::<WorkloadDiagnosis>(vec![serde_json::from_str(object)?]),
            DiagnosisKind::Pod => page::<PodDiagnosis>(vec![serde_json::from_str(object)?]),
        })
    }

    /// Hands the diagnoses to the notifications.
    pub fn notify(&self, notifications: &notify::Handle) {
        for record in &self.records {
            let mark = self.notified.get(&record.key).map(String::as_str);
            notifications.restored(&record.key, &record.object, mark);
        }
    }

    /// Restores the objects in `world`. Returns the subjects to evaluate.
    pub fn into_world(self, world: &mut World) -> Touched {
        world.reported.spare(self.unreadable);
        world.restore(self.records)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(
        "the API server does not know all of our kinds of objects; install the CRDs: `shindan crd | kubectl apply --server-side \
         -f -`"
    )]
    NotInstalled,
    #[error("cannot read our {what} objects: {failure}")]
    Failed { what: &'static str, failure: Failure },
}

impl RestoreError {
    /// A stable label for metrics and logs.
    pub fn category(&self) -> &'static str {
        match self {
            Self::NotInstalled => "not_installed",
            Self::Failed { failure, .. } => failure.category(),
        }
    }
}

/// Reads all our objects in the scope page by page, as there may be thousands. An object may come twice if an expired
/// list starts again.
pub async fn objects(client: &Client, scope: &Scope, pages: &mpsc::Sender<Restored>) -> Result<(), RestoreError> {
    let posted = PostedEvents::new(client, scope);
    for namespace in scope.each() {
        read::<PodDiagnosis>(client, namespace, Some(&posted), pages).await?;
        read::<WorkloadDiagnosis>(client, namespace, Some(&posted), pages).await?;
    }
    if scope.nodes {
        read::<NodeDiagnosis>(client, None, Some(&posted), pages).await?;
    }
    Ok(())
}

/// Reads all objects of one kind for the command line. `namespace` is ignored for NodeDiagnoses.
pub async fn all(client: &Client, kind: DiagnosisKind, namespace: Option<&str>) -> Result<Restored, RestoreError> {
    let (sender, mut pages) = mpsc::channel(1);
    let reading = async {
        // Moved into the block, so that the channel closes when the read ends.
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
            all.records.extend(page.records);
            all.unreadable.extend(page.unreadable);
            all.notified.extend(page.notified);
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
    posted: Option<&PostedEvents<'_>>,
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
        if let Some(posted) = posted {
            posted.settle(&mut page).await;
        }
        if pages.send(page).await.is_err() {
            // The receiver is gone.
            return Ok(());
        }
    }
    Ok(())
}

fn page<K: Kept>(found: Vec<Found<K>>) -> Restored {
    let mut page = Restored::default();
    for object in found {
        match object {
            Found::Stored(mut stored) => {
                if let Some(text) = stored.notified.take() {
                    let key = DiagnosisKey { kind: K::KIND, object: stored.key.clone() };
                    page.notified.insert(key, text);
                }
                K::keep(*stored, &mut page);
            }
            Found::Unreadable(unreadable) => page.unreadable.push(unreadable),
        }
    }
    page
}

/// Guard that marks our objects as missing in [`Health`] during the read. A cancelled read clears the mark too.
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

/// Retries [`objects`] until it succeeds. Meanwhile `health` has the reason of the last failure.
pub async fn objects_when_ready(client: &Client, scope: &Scope, health: &Health, pages: mpsc::Sender<Restored>) {
    let _reading = Reading::begin(health);
    let mut pause = FIRST_PAUSE;
    let mut logged = String::new();
    loop {
        match objects(client, scope, &pages).await {
            Ok(()) => return,
            Err(error) => {
                let text = error.to_string();
                health.missing(PART, text.clone());
                if logged != text {
                    tracing::warn!(kind = error.category(), "{text}; trying again");
                    logged = text;
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

/// A kind of our own API group, and how it is restored.
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
    notified: Option<String>,
    spec: K::Spec,
    status: K::Status,
}

impl<K: Kept> Read<K> {
    fn into_record(self, object: impl FnOnce(K::Spec, K::Status) -> Object) -> Record {
        let key = DiagnosisKey { kind: K::KIND, object: self.key };
        Record::restored(key, self.uid, self.resource_version, object(self.spec, self.status))
    }
}

impl Kept for PodDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Pod;
    type Spec = PodDiagnosisSpec;
    type Status = PodDiagnosisStatus;

    fn keep(read: Read<Self>, into: &mut Restored) {
        into.records.push(read.into_record(Object::Pod));
    }
}

impl Kept for NodeDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Node;
    type Spec = NodeDiagnosisSpec;
    type Status = NodeDiagnosisStatus;

    fn keep(read: Read<Self>, into: &mut Restored) {
        into.records.push(read.into_record(Object::Node));
    }
}

impl Kept for WorkloadDiagnosis {
    const KIND: DiagnosisKind = DiagnosisKind::Workload;
    type Spec = WorkloadDiagnosisSpec;
    type Status = WorkloadDiagnosisStatus;

    fn keep(read: Read<Self>, into: &mut Restored) {
        into.records.push(read.into_record(Object::Workload));
    }
}

/// An object of a page. It is parsed while it is read, so that no page is held as a JSON tree.
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
        let notified = metadata.annotations.and_then(|mut all| all.remove(NOTIFIED));
        let Some(status) = lenient::status(status) else {
            tracing::warn!(
                kind = K::KIND.as_str(),
                object = %key,
                "a diagnosis has a state that this version does not know and is kept unchanged. It is replaced if \
                 its object fails again. Delete it if no newer version of the operator needs it"
            );
            return Ok(Self::Unreadable(DiagnosisKey { kind: K::KIND, object: key }));
        };
        Ok(Self::Stored(Box::new(Read {
            key,
            uid: metadata.uid.unwrap_or_default(),
            resource_version,
            notified,
            spec: lenient::spec(spec),
            status,
        })))
    }
}
