//! Checks which of our Events exist. The status of an object keeps the note that its last transition owes an Event;
//! after a restart only the missing Events are posted.

use std::collections::HashSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{ListParams, Resource};
use serde::Deserialize;
use shindan_core::api::REPORTER;
use shindan_core::facts::ObjectKey;
use shindan_core::reconcile;
use tokio::sync::OnceCell;

use super::Restored;
use crate::cluster::call::{Listed, Pages};
use crate::cluster::{Failure, PAGE, Scope};

/// Time limit of the read. If there are so many Events, posting ours again is faster than reading them.
const WITHIN: Duration = Duration::from_secs(3);

/// The names of our existing Events, read when the first object owes an Event.
pub(super) struct PostedEvents<'a> {
    client: &'a Client,
    scope: &'a Scope,
    names: OnceCell<HashSet<ObjectKey>>,
}

impl<'a> PostedEvents<'a> {
    pub(super) fn new(client: &'a Client, scope: &'a Scope) -> Self {
        Self { client, scope, names: OnceCell::new() }
    }

    /// Clears the owed Events that exist.
    pub(super) async fn settle(&self, page: &mut Restored) {
        for record in page.records.iter_mut().filter(|record| record.object.head().event_owed) {
            let event = reconcile::event_key(&record.key, &record.object);
            record.object.head_mut().event_owed = !self.is_there(&event).await;
        }
    }

    async fn is_there(&self, event: &ObjectKey) -> bool {
        self.names.get_or_init(|| self.read()).await.contains(event)
    }

    /// Reads the names. On failure the result is empty: all owed Events are posted again, and the API server rejects
    /// existing ones.
    async fn read(&self) -> HashSet<ObjectKey> {
        let failure = match tokio::time::timeout(WITHIN, ours(self.client, self.scope)).await {
            Ok(Ok(names)) => return names,
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Timeout(WITHIN),
        };
        tracing::info!(%failure, "cannot read our own Events; posting those of the last minutes again");
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
            // A list that starts again repeats names, which the set merges.
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
