//! Fields of custom resources that rules of users read. Only these are kept of an object, and only for the kinds of a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CustomKind;

/// Most bytes that are kept of one object, as JSON. A field that does not fit is absent.
const KEPT: usize = 8192;
/// A field that an object lacks.
const NULL: &str = "null";

/// Paths of fields: `spec.replicas`. A path of a map or a list means all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldPaths(BTreeSet<Arc<str>>);

impl FieldPaths {
    /// Whether no field is read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|path| &**path)
    }
}

impl FromIterator<Arc<str>> for FieldPaths {
    fn from_iter<T: IntoIterator<Item = Arc<str>>>(paths: T) -> Self {
        Self(paths.into_iter().collect())
    }
}

/// The kinds that rules name, with the fields that they read of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindFields(BTreeMap<CustomKind, FieldPaths>);

impl KindFields {
    /// Adds a kind, and fields of it.
    pub fn add(&mut self, kind: &CustomKind, paths: impl IntoIterator<Item = Arc<str>>) {
        self.0.entry(kind.clone()).or_default().0.extend(paths);
    }

    /// Adds the kinds and fields of others.
    pub fn extend(&mut self, others: &Self) {
        for (kind, paths) in &others.0 {
            self.add(kind, paths.0.iter().cloned());
        }
    }

    /// Whether no rule names a kind.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds and their fields.
    pub fn iter(&self) -> impl Iterator<Item = (&CustomKind, &FieldPaths)> {
        self.0.iter()
    }

    /// The kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &CustomKind> {
        self.0.keys()
    }

    /// The fields of a kind.
    pub fn of(&self, kind: &CustomKind) -> Option<&FieldPaths> {
        self.0.get(kind)
    }
}

/// The kept fields of an object: each path with its value as JSON, which takes less memory than a tree. A field that the object
/// lacks is null: it was read, too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObjectFields(Box<[(Arc<str>, Box<str>)]>);

impl ObjectFields {
    /// Reads the fields of an object. If they are too large together, the largest ones are left out.
    pub fn read(paths: &FieldPaths, object: &Value) -> Self {
        let found = paths.0.iter().map(|path| {
            let value = path.split('.').try_fold(object, |value, key| value.get(key));
            (path.clone(), value.map_or_else(|| NULL.into(), |value| value.to_string().into_boxed_str()))
        });
        let mut fields: Vec<(Arc<str>, Box<str>)> = found.collect();
        fields.sort_by_key(|(_, json)| json.len());
        let mut left = KEPT;
        for (_, json) in &mut fields {
            match left.checked_sub(json.len()) {
                Some(rest) => left = rest,
                None => *json = NULL.into(),
            }
        }
        Self(fields.into())
    }

    /// The value of a field. `None` if the object has none, or if it is too large.
    pub fn get(&self, path: &str) -> Option<Value> {
        let (_, json) = self.0.iter().find(|(known, _)| **known == *path)?;
        serde_json::from_str(json).ok().filter(|value: &Value| !value.is_null())
    }

    /// Whether all these fields were read. Those of a new rule are read with the next list.
    pub fn has_read(&self, paths: &FieldPaths) -> bool {
        paths.iter().all(|path| self.0.iter().any(|(known, _)| **known == *path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(paths: &[&str]) -> FieldPaths {
        paths.iter().map(|path| Arc::from(*path)).collect()
    }

    #[test]
    fn only_the_named_fields_are_kept() {
        let object = json!({"spec": {"replicas": 3, "image": "a"}, "status": {"ready": null, "zones": ["a"]}});
        let all = paths(&["spec.replicas", "spec.image.tag", "status.ready", "status.zones", "metadata.name"]);
        let kept = ObjectFields::read(&all, &object);
        assert_eq!(kept.get("spec.replicas"), Some(json!(3)));
        assert_eq!(kept.get("status.zones"), Some(json!(["a"])));
        for absent in ["spec.image", "spec.image.tag", "status.ready", "metadata.name"] {
            assert_eq!(kept.get(absent), None, "{absent}");
        }
        assert!(kept.has_read(&all) && !kept.has_read(&paths(&["spec.replicas", "spec.mode"])));
    }

    #[test]
    fn field_that_is_too_large_does_not_displace_a_small_one() {
        let object = json!({"spec": {"text": "x".repeat(9000), "mode": "fast", "list": "y".repeat(5000)}});
        let kept = ObjectFields::read(&paths(&["spec", "spec.list", "spec.mode", "spec.text"]), &object);
        assert_eq!(kept.get("spec.mode"), Some(json!("fast")));
        assert_eq!(kept.get("spec.list").map(|list| list.as_str().map(str::len)), Some(Some(5000)));
        assert_eq!((kept.get("spec.text"), kept.get("spec")), (None, None));
    }
}
