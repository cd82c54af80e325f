//! How far each root reaches: which pods, workloads and namespaces fail of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api::{DiagnosisState, Root, RootReach};
use crate::diagnosis::RootKind;
use crate::facts::{ObjectKey, Timestamp, seconds_between};
use crate::plan::{DiagnosisKey, Outer, OuterRecord, Record};

/// A root is told once in so many seconds, however many workloads fail of it.
const TOLD_FOR: i64 = 600;

#[derive(Debug, Default)]
pub(super) struct Reach {
    by_root: HashMap<Place, HashMap<ObjectKey, String>>,
    /// Workloads that have no pods for it: a quota, a webhook.
    refused: HashMap<Place, HashSet<ObjectKey>>,
    /// The workload whose Event told of a root, and when.
    told: HashMap<Place, (String, Timestamp)>,
}

/// A root, and the namespace that it lives in, if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    root: Root,
    namespace: Option<Arc<str>>,
}

impl Place {
    fn of(root: &Root, namespace: &Arc<str>) -> Self {
        let is_everywhere = RootKind::named_so(&root.kind).is_some_and(RootKind::is_of_the_cluster);
        Self { root: root.clone(), namespace: (!is_everywhere).then(|| namespace.clone()) }
    }
}

impl Reach {
    pub(super) fn add(&mut self, record: &Record) {
        if record.status.state != DiagnosisState::Active {
            return;
        }
        let Some(root) = &record.status.root else { return };
        let workload =
            record.spec.workload.as_ref().map_or_else(|| format!("Pod/{}", record.key.name), |w| w.display.clone());
        let place = Place::of(root, &record.key.namespace);
        self.by_root.entry(place).or_default().insert(record.key.clone(), workload);
    }

    pub(super) fn remove(&mut self, record: &Record) {
        let Some(root) = &record.status.root else { return };
        let place = Place::of(root, &record.key.namespace);
        let Some(pods) = self.by_root.get_mut(&place) else { return };
        pods.remove(&record.key);
        if pods.is_empty() {
            self.by_root.remove(&place);
        }
    }

    /// The object of a workload as it is now written: whether it is refused its pods by a root.
    pub(super) fn set_refused(&mut self, record: &OuterRecord) {
        self.forget_refused(&record.key);
        let Outer::Workload(_, status) = &record.object else { return };
        let is_refused = status.head.state == DiagnosisState::Active && status.causes.is_empty();
        if let Some(reach) = status.root.as_ref().filter(|_| is_refused) {
            let place = Place::of(&reach.root, &record.key.object.namespace);
            self.refused.entry(place).or_default().insert(record.key.object.clone());
        }
    }

    pub(super) fn forget_refused(&mut self, key: &DiagnosisKey) {
        self.refused.retain(|_, refused| {
            refused.remove(&key.object);
            !refused.is_empty()
        });
    }

    /// What hangs on a root, seen from a namespace.
    pub(super) fn of(&self, root: &Root, namespace: &Arc<str>) -> RootReach {
        let place = Place::of(root, namespace);
        let pods = self.by_root.get(&place);
        let refused = || self.refused.get(&place).into_iter().flatten();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let all = || pods.into_iter().flatten();
        let workloads: HashSet<_> = all().map(|(key, workload)| (&key.namespace, workload)).collect();
        let namespaces: HashSet<_> =
            all().map(|(key, _)| &key.namespace).chain(refused().map(|key| &key.namespace)).collect();
        RootReach {
            root: root.clone(),
            pods: count(all().count()),
            workloads: count(workloads.len() + refused().count()),
            namespaces: count(namespaces.len()),
        }
    }

    /// Whether another workload's Event told of this root a short while ago.
    pub(super) fn was_told_by_another(
        &self,
        root: &Root,
        namespace: &Arc<str>,
        workload: &str,
        now: Timestamp,
    ) -> bool {
        let told = self.told.get(&Place::of(root, namespace));
        told.is_some_and(|(by, at)| *by != format!("{namespace}/{workload}") && seconds_between(*at, now) < TOLD_FOR)
    }

    pub(super) fn tells(&mut self, root: &Root, namespace: &Arc<str>, workload: &str, now: Timestamp) {
        self.told.retain(|_, (_, at)| seconds_between(*at, now) < TOLD_FOR);
        self.told.insert(Place::of(root, namespace), (format!("{namespace}/{workload}"), now));
    }
}
