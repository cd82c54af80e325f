//! Follows the custom resources of `--kinds`: one watch for each kind, once its definition is installed.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;
use kube::api::ApiResource;
use shindan_core::facts::{CustomKind, WorkloadKey};
use shindan_core::state::Change;
use shindan_core::wire::{CustomResource, Interner};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Scope;
use super::follow::{Follower, Lacking, Served, Target};
use crate::http::Health;

/// Starts to follow the kinds. The tasks end when the set is dropped or the engine ends.
pub fn spawn(
    kinds: &[CustomKind],
    client: &Client,
    scope: &Scope,
    changes: &mpsc::Sender<Change>,
    health: &Health,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let lacking = Lacking::new(health, "kinds");
    for kind in kinds {
        for namespace in scope.each() {
            tasks.spawn(Follower::new(kind.clone(), client, namespace, changes, &lacking).run());
        }
    }
    tasks
}

impl Target for CustomKind {
    type Object = CustomResource;
    type Key = WorkloadKey;

    fn served(&self) -> Served<'_> {
        Served::InGroup(self.group())
    }

    fn is_it(&self, resource: &ApiResource) -> bool {
        resource.plural == self.plural()
    }

    fn is_expected(&self) -> bool {
        true
    }

    fn seen(
        &self,
        object: CustomResource,
        resource: &ApiResource,
        strings: &mut Interner,
    ) -> (WorkloadKey, Option<Change>) {
        let object = object.of(resource);
        let key = object.key(strings);
        (key, object.into_facts(strings).map(|facts| Change::Workload(Box::new(facts))))
    }

    fn deleted(&self, key: WorkloadKey) -> Change {
        Change::WorkloadDeleted(key)
    }

    fn listed(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        present: BTreeSet<WorkloadKey>,
    ) -> Option<Change> {
        // Of several namespaces, each has its own list.
        if namespace.is_some() && !present.is_empty() {
            return None;
        }
        let (api_version, kind) = (Arc::from(resource.api_version.as_str()), Arc::from(resource.kind.as_str()));
        Some(Change::ResourcesListed { api_version, kind, present })
    }

    fn unavailable(&self, _: Option<&str>) -> Option<Change> {
        None
    }

    fn grant(&self) -> String {
        format!("`shindan rules rbac {self}` prints the role")
    }
}
