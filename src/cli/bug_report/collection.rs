//! The listed objects, reduced to what a bug report contains as they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use shindan_core::facts::{NamedKind, NamesOf};
use shindan_core::redact::{is_of_other_namespace, mask, only_requests};
use shindan_core::rules::catalog;
use shindan_core::wire::fields_read;

use crate::cluster::snapshot::Item;

/// Objects without secrets, and without the fields that no diagnosis reads.
#[derive(Debug)]
pub(super) struct Collection<'a> {
    namespace: Option<&'a str>,
    objects: Mutex<Vec<Value>>,
}

impl<'a> Collection<'a> {
    pub(super) fn new(namespace: Option<&'a str>) -> Self {
        Self { namespace, objects: Mutex::default() }
    }

    pub(super) fn add(&self, item: Item<'_>) {
        let Ok(mut object) = serde_json::from_str::<Value>(item.json.get()) else { return };
        let Some(map) = object.as_object_mut() else { return };
        map.insert("apiVersion".to_owned(), item.api_version.into());
        map.insert("kind".to_owned(), item.kind.into());
        let Some(mut read) = fields_read(&object, catalog::current().fields()) else { return };
        mask(&mut read);
        if item.kind == "Pod" && self.namespace.is_some_and(|namespace| is_of_other_namespace(&read, namespace)) {
            only_requests(&mut read);
        }
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).push(read);
    }

    pub(super) fn into_objects(self) -> Vec<Value> {
        self.objects.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Objects of which a diagnosis only reads the names, or the names of their keys.
pub(super) fn named(names: &BTreeMap<NamesOf, BTreeSet<Arc<str>>>) -> Vec<Value> {
    let mut objects: BTreeMap<(NamedKind, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (of, names) in names {
        // Those are among the listed objects.
        if of.kind == NamedKind::PersistentVolumeClaim {
            continue;
        }
        match &of.object {
            Some(object) => {
                objects.entry((of.kind, &*of.namespace, &**object)).or_default().extend(names.iter().map(|key| &**key));
            }
            None => names.iter().for_each(|name| {
                objects.entry((of.kind, &*of.namespace, &**name)).or_default();
            }),
        }
    }
    let objects = objects.into_iter().map(|((kind, namespace, name), keys)| {
        let mut object = json!({"apiVersion": api_version(kind), "kind": kind.as_str(), "metadata": {"name": name}});
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.into();
        }
        if !keys.is_empty() {
            object["data"] = keys.into_iter().map(|key| (key.to_owned(), Value::from(""))).collect();
        }
        object
    });
    objects.collect()
}

fn api_version(kind: NamedKind) -> &'static str {
    match kind {
        NamedKind::PriorityClass => "scheduling.k8s.io/v1",
        NamedKind::RuntimeClass => "node.k8s.io/v1",
        _ => "v1",
    }
}
