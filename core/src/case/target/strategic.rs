//! Strategic merge patches of pod specs, applied as the API server does.

use serde_json::{Map, Value};

/// The field by which the entries of a list are distinguished. `None`: the list is replaced.
/// Source: k8s.io/api core/v1 types.go `patchMergeKey`.
fn merge_key(field: &str) -> Option<&'static str> {
    match field {
        "containers" | "initContainers" | "ephemeralContainers" | "env" | "volumes" | "imagePullSecrets" => {
            Some("name")
        }
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "ports" => Some("containerPort"),
        "hostAliases" => Some("ip"),
        _ => None,
    }
}

/// Applies a strategic merge patch to an object, or a part of one.
pub fn apply(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = Map::new().into();
    }
    let Some(into) = into.as_object_mut() else { return };
    for (field, value) in patch.iter().filter(|(field, _)| *field != "$patch") {
        match (value, merge_key(field)) {
            (Value::Null, _) => {
                into.remove(field);
            }
            (Value::Array(entries), Some(key)) => {
                let list = into.entry(field.clone()).or_insert_with(|| Value::Array(Vec::new()));
                if let Some(list) = list.as_array_mut() {
                    entries.iter().for_each(|entry| apply_entry(list, key, entry));
                }
            }
            _ => apply(into.entry(field.clone()).or_insert(Value::Null), value),
        }
    }
}

fn apply_entry(list: &mut Vec<Value>, key: &str, entry: &Value) {
    let place = list.iter().position(|known| known[key] == entry[key]);
    match (place, entry["$patch"] == "delete") {
        (Some(place), true) => {
            list.remove(place);
        }
        (None, true) => {}
        (Some(place), false) => apply(&mut list[place], entry),
        (None, false) => list.push(entry.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_merged_and_lists_by_their_key() {
        let mut spec = json!({
            "containers": [{"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}],
            "imagePullSecrets": [{"name": "old"}], "runtimeClassName": "kata",
        });
        let patch = json!({
            "containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}], "args": ["-f"]}],
            "imagePullSecrets": [{"name": "new"}, {"name": "old", "$patch": "delete"}], "runtimeClassName": null,
        });
        apply(&mut spec, &patch);
        let expected = json!({
            "containers": [
                {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}], "args": ["-f"]},
                {"name": "b"},
            ],
            "imagePullSecrets": [{"name": "new"}],
        });
        assert_eq!(spec, expected);
    }
}
