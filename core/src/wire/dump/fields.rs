//! The fields of an object that a dump is read for: what a bug report needs, and nothing else.

use serde_ignored::Path;
use serde_json::{Map, Value};

use super::Dump;
use crate::facts::KindFields;
use crate::wire::object;

/// A step from a value to one within it.
enum Step {
    Key(String),
    Place(usize),
}

/// The part of an object that any diagnosis reads, found by reading it. Fields of custom resources that rules name are in
/// `of_rules`. `None`: no diagnosis reads objects of its kind, or it cannot be read.
pub fn fields_read(object: &Value, of_rules: &KindFields) -> Option<Value> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut ignored = Vec::new();
    let mut note = |path: Path<'_>| ignored.push(steps(&path));
    let json = object.to_string();
    let mut json = serde_json::Deserializer::from_str(&json);
    let reader = serde_ignored::Deserializer::new(&mut json, &mut note);
    Dump::default().object(api_version, kind, reader).ok()?;
    let mut read = object.clone();
    for path in &ignored {
        remove(&mut read, path);
    }
    let read_map = read.as_object_mut().filter(|map| !map.is_empty())?;
    for key in ["apiVersion", "kind"] {
        read_map.insert(key.to_owned(), text(key).into());
    }
    let named = of_rules
        .iter()
        .find(|(named, _)| object::is_custom(api_version) && object::is_named_by(named, api_version, kind));
    for path in named.into_iter().flat_map(|(_, paths)| paths.iter()) {
        restore(read_map, object, path);
    }
    Some(read)
}

fn steps(path: &Path<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path;
    loop {
        rest = match rest {
            Path::Root => break,
            Path::Map { parent, key } => {
                steps.push(Step::Key(key.clone()));
                parent
            }
            Path::Seq { parent, index } => {
                steps.push(Step::Place(*index));
                parent
            }
            Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => parent,
        };
    }
    steps.reverse();
    steps
}

/// Removes a field. An element of a list becomes null, so that the others keep their places.
fn remove(value: &mut Value, path: &[Step]) {
    match (path, value) {
        ([], value) => *value = Value::Null,
        ([Step::Key(key)], Value::Object(map)) => {
            map.remove(key);
        }
        ([Step::Key(key), rest @ ..], Value::Object(map)) => {
            if let Some(value) = map.get_mut(key) {
                remove(value, rest);
            }
        }
        ([Step::Place(place), rest @ ..], Value::Array(all)) => {
            if let Some(value) = all.get_mut(*place) {
                remove(value, rest);
            }
        }
        _ => {}
    }
}

/// Copies a field, `spec.replicas`, from the whole object.
fn restore(into: &mut Map<String, Value>, object: &Value, path: &str) {
    let Some(value) = path.split('.').try_fold(object, |value, key| value.get(key)) else { return };
    let (parents, last) = path.rsplit_once('.').map_or((None, path), |(parents, last)| (Some(parents), last));
    let mut map = into;
    for key in parents.into_iter().flat_map(|parents| parents.split('.')) {
        let inner = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(inner) = inner else { return };
        map = inner;
    }
    map.insert(last.to_owned(), value.clone());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::CustomKind;

    fn read(object: &Value) -> Value {
        fields_read(object, &KindFields::default()).unwrap_or_default()
    }

    #[test]
    fn fields_that_no_diagnosis_reads_are_left_out() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "annotations": {"note": "x", "kubernetes.io/config.mirror": "1"}, "managedFields": [{}]},
            "spec": {"hostAliases": [{"ip": "10.0.0.1"}], "containers": [{"name": "app", "stdin": true,
                "livenessProbe": {"httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "Authorization", "value": "x"}]}}}]},
            "status": {"phase": "Running", "qosClass": "Burstable"}});
        let kept = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "annotations": {"kubernetes.io/config.mirror": "1"}},
            "spec": {"containers": [{"name": "app", "livenessProbe": {"httpGet": {"path": "/", "port": 80}}}]},
            "status": {"phase": "Running"}});
        assert_eq!(read(&pod), kept);
    }

    #[test]
    fn who_cordoned_a_node_is_kept_of_its_managed_fields() {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "managedFields": [
            {"manager": "kubectl-cordon", "operation": "Update", "time": "2026-11-21T09:00:00Z",
                "fieldsV1": {"f:spec": {"f:unschedulable": {}, "f:taints": {}}}}]}});
        let kept = json!({"manager": "kubectl-cordon", "time": "2026-11-21T09:00:00Z",
            "fieldsV1": {"f:spec": {"f:unschedulable": {}}}});
        assert_eq!(read(&node)["metadata"]["managedFields"], json!([kept]));
    }

    #[test]
    fn custom_resource_has_its_status_and_the_fields_of_rules() {
        let object = json!({"apiVersion": "db.example.com/v1", "kind": "Database", "metadata": {"name": "x"},
            "spec": {"password": "hunter2", "size": {"gb": 3, "type": "ssd"}},
            "status": {"phase": "Failed", "token": "abc"}});
        let kept = read(&object);
        assert_eq!(kept["status"], json!({"phase": "Failed"}));
        assert_eq!(kept["spec"], json!({}));
        let mut of_rules = KindFields::default();
        of_rules.add(&CustomKind::parse("databases.db.example.com").unwrap(), ["spec.size.gb".into()]);
        assert_eq!(fields_read(&object, &of_rules).unwrap()["spec"], json!({"size": {"gb": 3}}));
    }

    #[test]
    fn other_kinds_are_not_read() {
        assert_eq!(
            fields_read(&json!({"apiVersion": "v1", "kind": "LimitRange", "spec": {}}), &KindFields::default()),
            None
        );
    }
}
