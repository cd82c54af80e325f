//! Masks the secrets in an object: by their place, and those that a text contains.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::facts::NamedKind;
use crate::message::text;

const MASK: &str = "***";
/// Maps of short values whose keys name them.
const DICTIONARIES: [&str; 4] = ["labels", "matchLabels", "nodeSelector", "selector"];
/// Kinds of volumes that a diagnosis reads. The parameters of others can contain anything.
const VOLUMES: [&str; 9] =
    ["name", "configMap", "secret", "persistentVolumeClaim", "ephemeral", "emptyDir", "hostPath", "projected", "image"];

/// Masks the secrets of an object of which only the fields are left that diagnoses read.
pub fn mask(object: &mut Value) {
    if let Some(map) = object.as_object_mut()
        && map.get("kind").and_then(Value::as_str).and_then(NamedKind::named_so).is_some()
    {
        for key in ["data", "binaryData", "stringData"] {
            let values = map.get_mut(key).and_then(Value::as_object_mut);
            values.into_iter().flat_map(Map::values_mut).for_each(|value| *value = "".into());
        }
    }
    walk("", object);
}

/// Masks a value that stands under a key.
fn walk(key: &str, value: &mut Value) {
    match (key, value) {
        (_, Value::String(text)) => replace(text),
        ("command" | "args", Value::Array(words)) => arguments(words),
        ("env", Value::Array(all)) => all.iter_mut().for_each(variable),
        ("volumes", Value::Array(all)) => all.iter_mut().for_each(volume),
        (_, Value::Array(all)) => all.iter_mut().for_each(|value| walk(key, value)),
        (_, Value::Object(map)) if DICTIONARIES.contains(&key) => {
            map.iter_mut().for_each(|(name, value)| named(name, value));
        }
        (_, Value::Object(map)) => fields(map),
        _ => {}
    }
}

fn fields(map: &mut Map<String, Value>) {
    map.iter_mut().for_each(|(key, value)| walk(key, value));
}

fn replace(text: &mut String) {
    if let Cow::Owned(masked) = text::without_secrets(text) {
        *text = masked;
    }
}

/// A value that its name can make a secret.
fn named(name: &str, value: &mut Value) {
    let Value::String(text) = value else { return walk(name, value) };
    let whole = format!("{name}={text}");
    if text::without_secrets(&whole) != whole {
        MASK.clone_into(text);
    }
}

/// The value of a variable is not read, except for Istio's table of the original probes.
fn variable(variable: &mut Value) {
    let Some(map) = variable.as_object_mut() else { return };
    let is_table = map.get("name").and_then(Value::as_str) == Some("ISTIO_KUBE_APP_PROBERS");
    if let Some(value) = map.get_mut("value") {
        let table = value.as_str().filter(|_| is_table).and_then(|text| serde_json::from_str::<Value>(text).ok());
        *value = table.map_or_else(|| MASK.into(), |table| probes(table).to_string().into());
    }
    map.iter_mut().filter(|(key, _)| *key != "value").for_each(|(key, value)| walk(key, value));
}

/// Istio's table, without the headers of requests.
fn probes(mut table: Value) -> Value {
    fn without_headers(value: &mut Value) {
        if let Value::Object(map) = value {
            map.remove("httpHeaders");
            map.values_mut().for_each(without_headers);
        }
    }
    without_headers(&mut table);
    walk("", &mut table);
    table
}

fn volume(volume: &mut Value) {
    let Some(map) = volume.as_object_mut() else { return };
    let others = map.iter_mut().filter(|(key, _)| !VOLUMES.contains(&key.as_str()));
    others.for_each(|(_, value)| *value = Value::Object(Map::new()));
    fields(map);
}

/// The words of a command line. Some are secrets because of those before them: `--password x`, `curl -u a:x`.
fn arguments(words: &mut [Value]) {
    let is_one =
        |word: &Value| word.as_str().is_some_and(|word| !word.is_empty() && !word.contains(char::is_whitespace));
    words.iter_mut().for_each(|word| walk("", word));
    // A word of several words is a script, which is masked by itself.
    for line in words.chunk_by_mut(|a, b| is_one(a) && is_one(b)) {
        let whole: Vec<&str> = line.iter().filter_map(Value::as_str).collect();
        let whole = whole.join(" ");
        let masked = text::without_secrets(&whole);
        if masked == whole {
            continue;
        }
        let parts: Vec<String> = masked.split(' ').map(ToOwned::to_owned).collect();
        if parts.len() == line.len() {
            line.iter_mut().zip(parts).for_each(|(word, part)| *word = part.into());
        } else {
            // It is not known which of the words after the first one is the secret.
            line.iter_mut().skip(1).for_each(|word| *word = MASK.into());
        }
    }
}
