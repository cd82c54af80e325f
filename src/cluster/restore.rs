//! What we wrote before: our objects, and our Events on Nodes, read once at the start.
//!
//! So a restart neither repeats an Event nor loses the history of restarts.

use std::time::Duration;

use kube::Client;
use kube::api::{ListParams, Resource};
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

mod lenient;

use super::wire::{self, Interner};
use super::{Failure, PAGE, REPORTER, call};
use crate::api::PodDiagnosis;
use crate::facts::{EventFacts, ObjectKey};
use crate::http::Health;
use crate::world::Stored;

/// Objects of one page: ours are up to 8 KiB each.
const OBJECTS_PAGE: u32 = 100;
/// How long one page may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Pauses between tries, doubling.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The name of this step in [`Health`].
const PART: &str = "restore";

/// An object under our name that tells us nothing; its version allows to replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub key: ObjectKey,
    pub resource_version: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    pub objects: Vec<Stored>,
    pub unreadable: Vec<Unreadable>,
}

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(
        "the API server does not know PodDiagnosis objects; install the CRD: \
         `shindan crd | kubectl apply --server-side -f -`"
    )]
    NotInstalled,
    #[error("cannot read our {what}: {failure}")]
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

/// Reads all our objects; of the given namespaces only, where there are any.
pub async fn objects(client: &Client, namespaces: &[String]) -> Result<Restored, RestoreError> {
    let mut restored = Restored::default();
    for namespace in scopes(namespaces) {
        let path = PodDiagnosis::url_path(&(), namespace);
        let params = ListParams::default().limit(OBJECTS_PAGE);
        let found = call::list::<Found>(client, &path, params, LIMIT).await.map_err(|failure| {
            if failure.is_not_found() {
                RestoreError::NotInstalled
            } else {
                RestoreError::Failed { what: "PodDiagnosis objects", failure }
            }
        })?;
        for object in found {
            match object {
                Found::Stored(stored) => restored.objects.push(*stored),
                Found::Unreadable(unreadable) => restored.unreadable.push(unreadable),
            }
        }
    }
    Ok(restored)
}

/// [`objects`], tried until it succeeds; `health` says meanwhile why it does not.
pub async fn objects_when_ready(client: &Client, namespaces: &[String], health: &Health) -> Restored {
    health.missing(PART, "our own objects are not read yet");
    let mut pause = FIRST_PAUSE;
    let mut said = String::new();
    loop {
        match objects(client, namespaces).await {
            Ok(restored) => {
                health.ready(PART);
                return restored;
            }
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

/// The Events that we posted about Nodes. They are in the namespace `default`, as a Node has none.
pub async fn own_node_events(client: &Client) -> Result<Vec<EventFacts>, RestoreError> {
    let selector = format!("involvedObject.kind=Node,reportingComponent={REPORTER}");
    let params = ListParams::default().limit(PAGE).fields(&selector);
    let path = wire::Event::url_path(&(), Some("default"));
    let events = call::list::<wire::Event>(client, &path, params, LIMIT).await;
    let events = events.map_err(|failure| RestoreError::Failed { what: "Events on Nodes", failure })?;
    let mut strings = Interner::default();
    Ok(events.into_iter().map(|event| event.into_facts(&mut strings)).collect())
}

fn scopes(namespaces: &[String]) -> Vec<Option<&str>> {
    if namespaces.is_empty() { vec![None] } else { namespaces.iter().map(|n| Some(n.as_str())).collect() }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Identity {
    metadata: ObjectMeta,
}

/// An object of a page, understood as it is read, so that no page is held as a tree.
enum Found {
    Stored(Box<Stored>),
    Unreadable(Unreadable),
}

impl<'de> Deserialize<'de> for Found {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(d)?;
        let mut part = |name| object.get_mut(name).map(Value::take).unwrap_or_default();
        let (spec, status) = (part("spec"), part("status"));
        let metadata = Identity::deserialize(object).unwrap_or_default().metadata;
        let key = ObjectKey::new(metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default());
        let resource_version = metadata.resource_version.unwrap_or_default();
        let Some(status) = lenient::status(status) else {
            tracing::warn!(
                object = %key,
                "a PodDiagnosis without a state that this version knows is left as it is: it is replaced if its pod fails \
                 again; delete it if no newer version of the operator is to read it"
            );
            return Ok(Self::Unreadable(Unreadable { key, resource_version }));
        };
        Ok(Self::Stored(Box::new(Stored {
            key,
            uid: metadata.uid.unwrap_or_default(),
            resource_version,
            spec: lenient::spec(spec),
            status,
        })))
    }
}
