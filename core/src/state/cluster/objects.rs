//! Objects that are diagnosed by their own status, such as custom resources, and which of them controls which.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::facts::{EventFacts, Owner, Timestamp, WorkloadFacts, WorkloadKey, WorkloadName};
use crate::message::text;

/// Most owners above an object that are followed. Owner references can form a cycle.
const DEEPEST: usize = 8;
/// Most objects below an object that are read.
const BELOW: usize = 100;
/// Most Warning Events of an object that are kept, the newest of each reason.
const EVENTS: usize = 3;

/// Identity of a custom resource. The version of the API is not part of it: an owner reference may name another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::state) struct Id {
    group: Arc<str>,
    kind: Arc<str>,
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Id {
    pub(in crate::state) fn of(key: &WorkloadName) -> Self {
        let (kind, namespace, name) = (key.kind.clone(), key.namespace.clone(), key.name.clone());
        Self { group: key.group().into(), kind, namespace, name }
    }

    fn of_owner(owner: &Owner, namespace: &Arc<str>) -> Self {
        let (api_version, kind) = (owner.api_version.clone(), owner.kind.clone());
        Self::of(&WorkloadName { api_version, kind, namespace: namespace.clone(), name: owner.name.clone() })
    }

    /// Without the namespace: the owner of a namespaced object can be cluster-scoped.
    fn anywhere(&self) -> Self {
        Self { namespace: "".into(), ..self.clone() }
    }
}

#[derive(Debug, Default)]
pub(in crate::state) struct Objects {
    by_id: BTreeMap<Id, Kept>,
    by_uid: HashMap<Arc<str>, Id>,
    /// The objects that refer to an owner of this name, in any namespace.
    owned: HashMap<Id, BTreeSet<Id>>,
}

#[derive(Debug)]
pub(in crate::state) struct Kept {
    pub(in crate::state) facts: WorkloadFacts,
    /// When it was first seen in its present state.
    pub(in crate::state) since: Timestamp,
    /// Its last Warning Events, oldest first.
    pub(in crate::state) events: Vec<EventFacts>,
    /// The cause that a rule sees in its fields, and since when: a field that changes is not always another failure.
    of_fields: Option<(&'static str, Timestamp)>,
}

impl Objects {
    pub(in crate::state) fn kept(&self) -> usize {
        self.by_id.len() + self.by_uid.len() + self.owned.len()
    }

    pub(in crate::state) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Registers a new version.
    pub(in crate::state) fn put(&mut self, facts: WorkloadFacts, now: Timestamp) {
        let id = Id::of(&facts.key);
        let known = self.by_id.get(&id).filter(|known| situation(&known.facts) == situation(&facts));
        let since = known.map_or(now, |known| known.since);
        let same = self.take(&id).filter(|known| known.facts.uid == facts.uid);
        let (events, of_fields) = same.map_or_else(Default::default, |known| (known.events, known.of_fields));
        if let Some(owner) = &facts.owner {
            let owner = Id::of_owner(owner, &facts.key.namespace).anywhere();
            self.owned.entry(owner).or_default().insert(id.clone());
        }
        self.by_uid.insert(facts.uid.clone(), id.clone());
        self.by_id.insert(id, Kept { facts, since, events, of_fields });
    }

    pub(in crate::state) fn remove(&mut self, key: &WorkloadKey) {
        self.take(&Id::of(key));
    }

    fn take(&mut self, id: &Id) -> Option<Kept> {
        let known = self.by_id.remove(id)?;
        self.by_uid.remove(&known.facts.uid);
        if let Some(owner) = &known.facts.owner {
            let owner = Id::of_owner(owner, &id.namespace).anywhere();
            if let Some(owned) = self.owned.get_mut(&owner) {
                owned.remove(id);
                if owned.is_empty() {
                    self.owned.remove(&owner);
                }
            }
        }
        Some(known)
    }

    /// Adds a Warning Event about an object that is kept. Returns its key if the Event is new.
    pub(in crate::state) fn event(&mut self, event: &EventFacts) -> Option<WorkloadKey> {
        let kept = self.by_uid.get(&event.regarding.uid).and_then(|id| self.by_id.get_mut(id))?;
        let is_about_it = event.regarding.kind == kept.facts.key.kind && event.regarding.name == kept.facts.key.name;
        if !event.warning || !is_about_it || event.last.is_none() || kept.events.contains(event) {
            return None;
        }
        let is_outdated = kept.events.iter().any(|known| known.reason == event.reason && known.last > event.last);
        if is_outdated {
            return None;
        }
        let mut event = event.clone();
        text::shorten_event(&mut event.message);
        kept.events.retain(|known| known.reason != event.reason || known.last > event.last);
        kept.events.push(event);
        kept.events.sort_by(|a, b| (a.last, &a.reason).cmp(&(b.last, &b.reason)));
        if kept.events.len() > EVENTS {
            kept.events.remove(0);
        }
        Some(kept.facts.key.clone())
    }

    pub(in crate::state) fn get(&self, key: &WorkloadKey) -> Option<&Kept> {
        self.by_id.get(&Id::of(key))
    }

    /// Registers the cause that a rule sees in the fields of an object. Returns since when.
    pub(in crate::state) fn see_cause(
        &mut self,
        key: &WorkloadKey,
        cause: Option<&'static str>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let kept = self.by_id.get_mut(&Id::of(key))?;
        let known = kept.of_fields.filter(|(known, _)| Some(*known) == cause);
        kept.of_fields = known.or_else(|| Some((cause?, now)));
        kept.of_fields.map(|(_, since)| since)
    }

    pub(in crate::state) fn keys(&self) -> impl Iterator<Item = &WorkloadKey> {
        self.by_id.values().map(|kept| &kept.facts.key)
    }

    /// The object that this one refers to as its controller.
    fn controller(&self, owner: &Owner, namespace: &Arc<str>) -> Option<&Kept> {
        let id = Id::of_owner(owner, namespace);
        let here = self.by_id.get(&id);
        let found = here.or_else(|| self.by_id.get(&Id { namespace: "default".into(), ..id }));
        found.filter(|kept| is_same(owner, &kept.facts))
    }

    /// The objects above an owner reference, the nearest first.
    pub(in crate::state) fn above(&self, owner: Option<&Owner>, namespace: &Arc<str>) -> Vec<&WorkloadFacts> {
        let mut above: Vec<&WorkloadFacts> = Vec::new();
        let mut next = owner.and_then(|owner| self.controller(owner, namespace));
        while let Some(Kept { facts, .. }) = next.filter(|_| above.len() < DEEPEST) {
            above.push(facts);
            next = facts.owner.as_ref().and_then(|owner| self.controller(owner, &facts.key.namespace));
        }
        above
    }

    /// The objects that this one controls, directly or not, the lowest first.
    pub(in crate::state) fn below<'o>(&'o self, facts: &'o WorkloadFacts) -> Vec<&'o WorkloadFacts> {
        let mut found: Vec<&WorkloadFacts> = Vec::new();
        let mut level = vec![facts];
        for _ in 0..DEEPEST {
            let ids = level.iter().flat_map(|of| {
                let owned = self.owned.get(&Id::of(&of.key).anywhere()).into_iter().flatten();
                owned.filter_map(|id| self.by_id.get(id)).filter(|kept| is_below(&kept.facts, of))
            });
            level = ids.map(|kept| &kept.facts).filter(|of| of.key != facts.key).take(BELOW).collect();
            found.extend(&level);
            if level.is_empty() || found.len() >= BELOW {
                break;
            }
        }
        found.into_iter().rev().take(BELOW).collect()
    }
}

fn is_below(facts: &WorkloadFacts, above: &WorkloadFacts) -> bool {
    let is_near = facts.key.namespace == above.key.namespace || &*above.key.namespace == "default";
    is_near && facts.owner.as_ref().is_some_and(|owner| is_same(owner, above))
}

/// Whether the owner reference means this object, and not an earlier one of its name. A manifest has no UID.
fn is_same(owner: &Owner, facts: &WorkloadFacts) -> bool {
    let is_made_up = *facts.uid == *format!("{}/{}", facts.key.namespace, facts.key.name);
    owner.uid == facts.uid || owner.uid.is_empty() || is_made_up
}

/// The state that thresholds depend on; a change restarts them.
fn situation(facts: &WorkloadFacts) -> (i64, &str, Vec<(&str, &str)>) {
    let conditions = facts.conditions.iter().map(|c| (c.kind.as_str(), c.status.as_str()));
    (facts.generation, facts.object().map_or("", |own| &own.phase), conditions.collect())
}
