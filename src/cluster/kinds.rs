//! Follows the custom resources of `--kinds` and of rules: one watch for each kind, once its definition is installed.

mod set;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Client;
use kube::api::ApiResource;
use shindan_core::facts::{CustomKind, FieldPaths, WorkloadKey};
use shindan_core::state::Change;
use shindan_core::wire::{CustomResource, Dynamic, Interner, keeping};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::Scope;
use super::follow::{self, Access, Follower, Kind, Served, Target};
use crate::http::Health;
pub use set::NamedKinds;
use set::Set;

/// Where the tasks note the state of the kinds.
pub type Board = follow::Board<CustomKind>;
/// The state of each kind.
pub type Standings = follow::Standings<CustomKind>;

/// A board without any kind.
pub fn board(health: &Health) -> Board {
    Board::new(health.clone())
}

/// Starts to follow the kinds of `--kinds` and those of `named`. The tasks end when the set is dropped or the engine
/// ends.
pub fn spawn(
    kinds: &[CustomKind],
    named: watch::Receiver<NamedKinds>,
    client: &Client,
    scope: &Scope,
    changes: &mpsc::Sender<Change>,
    board: Board,
) -> JoinSet<()> {
    let (client, scope, sender) = (client.clone(), scope.clone(), changes.clone());
    let start = move |kind: &CustomKind, paths: &Arc<FieldPaths>, board: &Board| {
        let mut tasks = JoinSet::new();
        for namespace in scope.each() {
            let target = CustomTarget { kind: kind.clone(), paths: paths.clone() };
            tasks.spawn(Follower::new(target, &client, namespace, &sender, board).run());
        }
        tasks
    };
    let set = Set {
        always: kinds.iter().cloned().collect(),
        start: Box::new(start),
        changes: changes.clone(),
        board,
        running: BTreeMap::new(),
        sent: None,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(set.run(named));
    tasks
}

impl Kind for CustomKind {
    const PART: &'static str = "kinds";

    fn trouble(&self, access: &Access, all: &Standings) -> Option<String> {
        match access {
            Access::Followed => None,
            Access::NotInstalled => Some(format!("{self} is not installed; waiting for it")),
            Access::Failing(message) => Some(message.clone()),
            Access::Forbidden => {
                // The printed role replaces an earlier one, so it is for all kinds.
                let all = all.keys().map(ToString::to_string).collect::<Vec<_>>().join(",");
                Some(format!("not allowed to list and watch {self}; `shindan rules rbac {all}` prints the role"))
            }
        }
    }
}

/// A kind, with the fields of its objects that rules read.
struct CustomTarget {
    kind: CustomKind,
    paths: Arc<FieldPaths>,
}

impl Target for CustomTarget {
    type Kind = CustomKind;
    type Object = Dynamic<CustomResource>;
    type Key = WorkloadKey;

    fn kind(&self) -> &CustomKind {
        &self.kind
    }

    fn served(&self) -> Served<'_> {
        Served::InGroup(self.kind.group())
    }

    fn is_it(&self, resource: &ApiResource) -> bool {
        resource.plural == self.kind.plural()
    }

    fn reading<R>(&self, poll: impl FnOnce() -> R) -> R {
        keeping(&self.paths, poll)
    }

    fn seen(
        &self,
        object: Self::Object,
        resource: &ApiResource,
        strings: &mut Interner,
    ) -> (WorkloadKey, Option<Change>) {
        let object = object.0.of(resource);
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

    /// Its diagnoses stay: nothing shows that they have ended.
    fn unavailable(&self, _: Option<&str>) -> Option<Change> {
        None
    }
}
