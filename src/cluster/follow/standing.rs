//! Whether the objects of each kind can be read now: for /readyz, and for the status of the rules that name the kind.

use std::collections::BTreeMap;

use tokio::sync::watch;

use crate::http::Health;

/// A kind that can be followed.
pub trait Kind: Ord + Clone + Send + Sync + 'static {
    /// The name of these kinds on /readyz.
    const PART: &'static str;

    /// Why the kind is not followed. `None` if it is, or need not be. `all`: the kinds that are followed with it.
    fn trouble(&self, access: &Access, all: &Standings<Self>) -> Option<String>;
}

/// Whether the objects of a kind can be read. A later one is worse.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Followed,
    NotInstalled,
    /// The requests fail, with this message.
    Failing(String),
    Forbidden,
}

/// The state of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// For each namespace that is read apart; `None`: for all together.
    access: BTreeMap<Option<String>, Access>,
    /// The name of the kind, once it was found.
    pub name: Option<String>,
}

impl Standing {
    /// The worst access of all namespaces. `None` before the first result.
    pub fn access(&self) -> Option<&Access> {
        self.access.values().max()
    }
}

/// The state of each kind.
pub type Standings<K> = BTreeMap<K, Standing>;

/// Where the tasks note the state of their kinds.
#[derive(Debug, Clone)]
pub struct Board<K> {
    standings: watch::Sender<Standings<K>>,
    health: Health,
}

impl<K: Kind> Board<K> {
    /// Without any kind.
    pub fn new(health: Health) -> Self {
        Self { standings: watch::Sender::new(BTreeMap::new()), health }
    }

    pub(in crate::cluster) fn standings(&self) -> watch::Ref<'_, Standings<K>> {
        self.standings.borrow()
    }

    /// The state of each kind, and its changes.
    pub fn subscribe(&self) -> watch::Receiver<Standings<K>> {
        self.standings.subscribe()
    }

    /// Notes whether the objects of a kind can be read in a namespace.
    pub(in crate::cluster) fn note(&self, kind: &K, namespace: Option<&str>, access: Access) {
        self.change(|standings| {
            let standing = standings.entry(kind.clone()).or_default();
            standing.access.insert(namespace.map(str::to_owned), access);
        });
    }

    /// Notes the name of a kind.
    pub(in crate::cluster) fn found(&self, kind: &K, name: &str) {
        self.change(|standings| standings.entry(kind.clone()).or_default().name = Some(name.to_owned()));
    }

    /// Removes a kind that is no longer followed.
    pub(in crate::cluster) fn forget(&self, kind: &K) {
        self.change(|standings| {
            standings.remove(kind);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Standings<K>)) {
        let is_changed = self.standings.send_if_modified(|standings| {
            let before = standings.clone();
            change(standings);
            *standings != before
        });
        if !is_changed {
            return;
        }
        let standings = self.standings.borrow();
        let trouble = |(kind, standing): (&K, &Standing)| kind.trouble(standing.access()?, &standings);
        let troubles: Vec<String> = standings.iter().filter_map(trouble).collect();
        if troubles.is_empty() {
            self.health.ready(K::PART);
        } else {
            self.health.lacking(K::PART, troubles.join("; "));
        }
    }
}

#[cfg(test)]
mod tests {
    use shindan_core::facts::CustomKind;

    use super::*;

    #[test]
    fn kind_that_is_forbidden_in_one_namespace_is_not_followed() {
        let health = Health::default();
        let board = Board::new(health.clone());
        let kind = CustomKind::parse("widgets.acme.example").unwrap();
        board.note(&CustomKind::parse("brokers.acme.example").unwrap(), None, Access::Followed);
        board.note(&kind, Some("a"), Access::Forbidden);
        board.note(&kind, Some("b"), Access::Followed);
        let standings = board.subscribe();
        assert_eq!(standings.borrow()[&kind].access(), Some(&Access::Forbidden));
        assert_eq!(
            health.lacks(),
            ["kinds: not allowed to list and watch widgets.acme.example; \
                 `shindan rules rbac brokers.acme.example,widgets.acme.example` prints the role"]
        );
        board.note(&kind, Some("a"), Access::Followed);
        assert!(health.lacks().is_empty());
        board.note(&kind, Some("a"), Access::NotInstalled);
        board.forget(&kind);
        assert!(health.lacks().is_empty() && !standings.borrow().contains_key(&kind));
    }
}
