//! Which of our Events are there. An object says for good that its last transition owes one; after a restart only those are
//! posted again that are not there.

use std::collections::HashSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{ListParams, Resource};
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::Restored;
use crate::cluster::call::{Listed, Pages};
use crate::cluster::{Failure, PAGE, REPORTER, Scope};
use crate::facts::ObjectKey;
use crate::plan;

/// All of them are read within this time, or none: in a cluster with so many Events it is quicker to post ours again.
const WITHIN: Duration = Duration::from_secs(3);

/// Our Events, read when the first object owes one.
pub(super) struct Told<'a> {
    client: &'a Client,
    scope: &'a Scope,
    names: OnceCell<HashSet<ObjectKey>>,
}

impl<'a> Told<'a> {
    pub(super) fn new(client: &'a Client, scope: &'a Scope) -> Self {
        Self { client, scope, names: OnceCell::new() }
    }

    /// Takes from what the objects owe all that is there.
    pub(super) async fn settle(&self, page: &mut Restored) {
        for stored in page.objects.iter_mut().filter(|stored| stored.status.event_owed) {
            let event = plan::event_key(&stored.key, &stored.spec, &stored.status);
            stored.status.event_owed = !self.is_there(&event).await;
        }
        for record in page.outers.iter_mut().filter(|record| record.object.head().event_owed) {
            let event = plan::outer::event_key(&record.key, &record.object);
            record.object.head_mut().event_owed = !self.is_there(&event).await;
        }
    }

    async fn is_there(&self, event: &ObjectKey) -> bool {
        self.names.get_or_init(|| self.read()).await.contains(event)
    }

    /// Where they cannot be read, none: each is posted again then, and the API server refuses those that are there.
    async fn read(&self) -> HashSet<ObjectKey> {
        let failure = match tokio::time::timeout(WITHIN, ours(self.client, self.scope)).await {
            Ok(Ok(names)) => return names,
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Timeout(WITHIN),
        };
        tracing::info!(%failure, "our own Events cannot be read; those of the last minutes are posted again");
        HashSet::new()
    }
}

async fn ours(client: &Client, scope: &Scope) -> Result<HashSet<ObjectKey>, Failure> {
    let params = ListParams::default().limit(PAGE).fields(&format!("reportingComponent={REPORTER}"));
    let mut names = HashSet::new();
    for namespace in scope.each() {
        let path = Event::url_path(&(), namespace);
        let mut listing = Pages::<Named>::new(client, &path, params.clone(), WITHIN);
        while let Some(listed) = listing.next().await? {
            // What a list that begins anew names again is the same.
            if let Listed::Page(events) = listed {
                names.extend(events.into_iter().map(|event| event.metadata.into()));
            }
        }
    }
    Ok(names)
}

#[derive(Deserialize)]
struct Named {
    metadata: Name,
}

#[derive(Deserialize)]
struct Name {
    namespace: String,
    name: String,
}

impl From<Name> for ObjectKey {
    fn from(Name { namespace, name }: Name) -> Self {
        Self::new(namespace, name)
    }
}
