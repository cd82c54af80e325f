//! The set of the followed kinds: those of `--kinds`, and those that rules name for as long as they do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shindan_core::facts::{CustomKind, FieldPaths, KindFields};
use shindan_core::state::Change;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::Board;
use crate::cluster::follow::Access;

/// The kinds that the rules name. `None` until the rules are known.
pub type NamedKinds = Option<KindFields>;

/// Starts the tasks that follow a kind and keep these fields of its objects.
pub(super) type Start = Box<dyn FnMut(&CustomKind, &Arc<FieldPaths>, &Board) -> JoinSet<()> + Send>;

/// The engine has ended.
struct Ended;

/// The followed kinds.
pub(super) struct Set {
    /// Those of `--kinds`.
    pub(super) always: BTreeSet<CustomKind>,
    pub(super) start: Start,
    pub(super) changes: mpsc::Sender<Change>,
    pub(super) board: Board,
    /// The tasks of each kind, and the fields that they keep.
    pub(super) running: BTreeMap<CustomKind, (Arc<FieldPaths>, JoinSet<()>)>,
    /// The kinds that the engine knows as followed: group and kind.
    pub(super) sent: Option<BTreeSet<(String, String)>>,
}

impl Set {
    /// Follows the kinds until the engine ends.
    pub(super) async fn run(mut self, mut named: watch::Receiver<NamedKinds>) {
        let mut standings = self.board.subscribe();
        let mut are_rules_followed = true;
        loop {
            let of_rules = named.borrow_and_update().clone();
            self.follow(of_rules.as_ref()).await;
            standings.mark_unchanged();
            if of_rules.is_some() && self.retire_others().await.is_err() {
                return;
            }
            tokio::select! {
                changed = named.changed(), if are_rules_followed => are_rules_followed = changed.is_ok(),
                changed = standings.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Starts to follow new kinds, and ends the tasks of those that nothing names.
    async fn follow(&mut self, of_rules: Option<&KindFields>) {
        let all: BTreeSet<CustomKind> =
            of_rules.into_iter().flat_map(KindFields::kinds).chain(&self.always).cloned().collect();
        let ended: Vec<CustomKind> = self.running.keys().filter(|kind| !all.contains(*kind)).cloned().collect();
        for kind in ended {
            tracing::info!(%kind, "no longer followed: no rule and no flag names it");
            self.end(&kind).await;
            self.board.forget(&kind);
        }
        for kind in all {
            let paths = of_rules.and_then(|of_rules| of_rules.of(&kind)).cloned().unwrap_or_default();
            if self.running.get(&kind).is_some_and(|(known, _)| **known == paths) {
                continue;
            }
            // With other fields, all objects are read again.
            self.end(&kind).await;
            let paths = Arc::new(paths);
            let tasks = (self.start)(&kind, &paths, &self.board);
            self.running.insert(kind, (paths, tasks));
        }
    }

    /// Ends the tasks of a kind. Afterwards none of them sends a change.
    async fn end(&mut self, kind: &CustomKind) {
        if let Some((_, mut tasks)) = self.running.remove(kind) {
            tasks.shutdown().await;
        }
    }

    /// Reports which kinds are followed, so that the diagnoses of others end. Waits until the name of each kind is known.
    async fn retire_others(&mut self) -> Result<(), Ended> {
        let followed = {
            let standings = self.board.standings();
            let mut followed = BTreeSet::new();
            for kind in self.running.keys() {
                match standings.get(kind).map(|standing| (standing.name.clone(), standing.access())) {
                    Some((_, Some(Access::NotInstalled))) => {}
                    Some((Some(name), _)) => {
                        followed.insert((kind.group().to_owned(), name));
                    }
                    _ => return Ok(()),
                }
            }
            followed
        };
        if self.sent.as_ref() == Some(&followed) {
            return Ok(());
        }
        self.sent = Some(followed.clone());
        self.changes.send(Change::ResourcesFollowed(followed)).await.map_err(|_| Ended)
    }
}
