//! The custom resource as a variable of conditions: `resource.spec.replicas`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::expression::to_cel;
use crate::signals::Value;

/// The fields of a custom resource that a condition reads, as nested maps.
///
/// The maps above each field exist even if the object lacks them: `has(resource.status.zone)` is false for an object without a
/// status, and no error.
#[derive(Default)]
pub(super) struct Resource(BTreeMap<String, Node>);

enum Node {
    Value(Value),
    Map(Resource),
}

impl Resource {
    /// Adds a field. `Value::None`: the object lacks it.
    pub(super) fn add(&mut self, path: &str, value: Value) {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        match rest {
            None if value == Value::None => {}
            None => {
                self.0.insert(key.to_owned(), Node::Value(value));
            }
            Some(rest) => match self.0.entry(key.to_owned()).or_insert_with(|| Node::Map(Self::default())) {
                Node::Map(below) => below.add(rest, value),
                // A field above is read as well, and contains this one.
                Node::Value(_) => {}
            },
        }
    }

    pub(super) fn into_cel(self) -> cel::Value {
        map(self.0.into_iter().map(|(key, node)| match node {
            Node::Value(value) => (key, to_cel(value)),
            Node::Map(below) => (key, below.into_cel()),
        }))
    }
}

/// A value of JSON for conditions.
pub(super) fn of_json(json: Json) -> cel::Value {
    match json {
        Json::Null => cel::Value::Null,
        Json::Bool(flag) => cel::Value::Bool(flag),
        Json::String(text) => cel::Value::String(Arc::new(text)),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => cel::Value::Int(whole),
            None => cel::Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::Array(items) => cel::Value::List(Arc::new(items.into_iter().map(of_json).collect())),
        Json::Object(entries) => map(entries.into_iter().map(|(key, value)| (key, of_json(value)))),
    }
}

fn map(entries: impl Iterator<Item = (String, cel::Value)>) -> cel::Value {
    let map: HashMap<Key, cel::Value> = entries.map(|(key, value)| (Key::from(key), value)).collect();
    cel::Value::Map(Map { map: Arc::new(map) })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::super::expression::Expression;
    use crate::case::fields::{Fields, Path};
    use crate::signals::Value;

    struct Widget;

    impl Fields for Widget {
        fn value(&self, path: &Path) -> Cow<'_, Value> {
            let object = json!({
                "metadata": {"labels": {"app.kubernetes.io/name": "w"}},
                "spec": {"replicas": 3, "ratio": 0.5, "zones": ["a", "b"], "mode": "fast", "parts": [{"size": 2}, {"size": 7}]},
                "status": {"ready": 1},
            });
            let field = path.of_resource().unwrap_or_default();
            let found = field.split('.').try_fold(&object, |value, key| value.get(key)).cloned();
            Cow::Owned(found.map_or(Value::None, Value::from))
        }
    }

    #[test]
    fn condition_reads_any_field_and_is_false_where_it_is_absent() {
        let holds = |source: &str| Expression::compile(source).unwrap().holds(&Widget);
        for source in [
            "resource.spec.replicas > resource.status.ready",
            "resource.spec.ratio < 0.75 && resource.spec.ratio < 1",
            "'b' in resource.spec.zones && size(resource.spec.zones) == 2",
            "resource.spec.parts.exists(part, part.size > 5)",
            "resource.spec.parts[1].size == 7",
            "resource.metadata.labels['app.kubernetes.io/name'] == 'w'",
            "resource.spec.replicas - resource.status.ready == 2",
            "has(resource.spec.mode) && !has(resource.spec.other)",
            "!has(resource.conditions.ready.reason)",
            "!has(resource.spec.limit) || resource.spec.limit > 5",
            "has(resource.spec.parts) && resource.spec.parts.all(part, has(part.size))",
            "resource.spec.mode.startsWith('fa')",
        ] {
            assert!(holds(source), "{source}");
        }
        for source in [
            "resource.status.zone == 'a'",
            "resource.status.zone != 'a'",
            "!(resource.status.zone == 'a')",
            "resource.status.nothing.below > 1",
            "resource.spec.mode > 3",
            "resource.spec.parts.exists(part, part.weight > 5)",
            "has(resource.status.zone)",
            "resource.spec.replicas",
        ] {
            assert!(!holds(source), "{source}");
        }
    }

    #[test]
    fn loops_over_fields_are_bounded() {
        let faults = |source: &str| Expression::compile(source).unwrap().faults(source, &|_| None).len();
        assert_eq!(faults("resource.spec.parts.exists(part, part.ports.exists(port, port.number == 80))"), 0);
        for source in [
            "resource.a.exists(x, resource.a.exists(y, resource.a.exists(z, x == y && y == z)))",
            "resource.a.exists(x, x.b.exists(y, x.b.exists(z, y.c == z.c)))",
            "resource.a[0].b.exists(y, resource.a[0].b.exists(z, y.c == z.c))",
        ] {
            assert_eq!(faults(source), 1, "{source}");
        }
    }
}
