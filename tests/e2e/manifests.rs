//! Objects of data files, with their expected diagnosis and the status that their controller would write.
//!
//! In a comment of an object, `expect: CAUSE` is its diagnosis, `expect: healthy` means none, and `expect: part` that
//! another object has the diagnosis. `must-name: TEXT` is in the summary. A time is written as `5m ago`, and `uid: ""`
//! beside `kind` and `name` is that of the object.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::{kubectl, machine_command, try_kubectl};

/// The kinds that have no namespace.
const OF_CLUSTER: [&str; 3] = ["ClusterIssuer", "GatewayClass", "IngressClass"];

/// An object of a data file.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) value: Value,
    pub(crate) comments: Vec<String>,
}

impl Object {
    /// Objects of a text, in its order.
    pub(crate) fn all(text: &str) -> Vec<Self> {
        text.split("\n---\n")
            .map(|document| Self {
                value: at_times(serde_saphyr::from_str(document).unwrap_or_else(|e| panic!("{e}: {document}"))),
                comments: comments(document),
            })
            .collect()
    }

    pub(crate) fn kind(&self) -> &str {
        self.value["kind"].as_str().expect("a kind")
    }

    pub(crate) fn name(&self) -> &str {
        self.value["metadata"]["name"].as_str().expect("a name")
    }

    pub(crate) fn group(&self) -> &str {
        self.value["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
    }

    /// The texts of comments such as `# expect: TEXT`.
    pub(crate) fn marks(&self, mark: &str) -> Vec<&str> {
        marks(&self.comments, mark)
    }
}

pub(crate) fn comments(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect()
}

pub(crate) fn marks<'c>(comments: &'c [String], mark: &str) -> Vec<&'c str> {
    comments.iter().filter_map(|line| line.strip_prefix(mark)?.strip_prefix(": ")).collect()
}

/// Replaces `5m ago` by the time.
fn at_times(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(match text.strip_suffix("m ago").map(str::parse) {
            #[allow(clippy::disallowed_methods, reason = "a test is an entry point")]
            Some(Ok(minutes)) => {
                (Timestamp::now() - SignedDuration::from_mins(minutes)).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
            }
            _ => text,
        }),
        Value::Array(items) => items.into_iter().map(at_times).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, at_times(field))).collect(),
        other => other,
    }
}

/// Definitions of kinds, as their projects release them, until this is dropped.
pub(crate) struct Definitions(Vec<Value>);

impl Definitions {
    /// Creates those of the custom resources among the objects.
    pub(crate) fn create<'o>(objects: impl IntoIterator<Item = &'o Object>) -> Self {
        let kinds: BTreeSet<_> = objects.into_iter().map(|object| (object.group(), object.kind())).collect();
        let folder = machine_command(&["crds"]).output().unwrap().stdout;
        let folder = String::from_utf8(folder).unwrap();
        let files = fs::read_dir(folder.trim())
            .unwrap_or_else(|e| panic!("{folder}: {e}: run `tests/cluster/cluster build --crds`"));
        let mut all = Vec::new();
        for file in files {
            for document in fs::read_to_string(file.unwrap().path()).unwrap().split("\n---\n") {
                let mut definition: Value = serde_saphyr::from_str(document).unwrap_or_default();
                let spec = &definition["spec"];
                let kind = (spec["group"].as_str().unwrap_or(""), spec["names"]["kind"].as_str().unwrap_or(""));
                if kinds.contains(&kind) {
                    // No webhook of the project runs.
                    definition["spec"].as_object_mut().unwrap().remove("conversion");
                    all.push(definition);
                }
            }
        }
        let new = Self(all);
        apply(&[], &new.0);
        let names = new.names();
        let names: Vec<_> = names.iter().map(|name| format!("crd/{name}")).collect();
        let wait = ["wait", "--for=condition=Established", "--timeout=60s"];
        kubectl(&wait.into_iter().chain(names.iter().map(String::as_str)).collect::<Vec<_>>());
        new
    }

    /// By plural and group.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |definition: &Value| definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.0.iter().map(name).collect()
    }

    /// Whether the status of such an object is written separately. `None`: it is no custom resource.
    fn has_status(&self, object: &Object) -> Option<bool> {
        let of = |definition: &&Value| {
            definition["spec"]["group"] == object.group() && definition["spec"]["names"]["kind"] == object.kind()
        };
        let versions = self.0.iter().find(of)?["spec"]["versions"].as_array()?;
        Some(versions.iter().any(|version| version.pointer("/subresources/status").is_some()))
    }

    /// Creates or changes objects, in the namespace where they name none, and writes their statuses.
    pub(crate) fn write(&self, namespace: &str, objects: Vec<Object>) {
        // An owner is before its parts.
        let (alone, parts): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| !refers(&object.value));
        self.write_all(namespace, alone);
        for part in parts {
            self.write_all(namespace, vec![Object { value: with_uids(namespace, part.value), ..part }]);
        }
    }

    fn write_all(&self, namespace: &str, objects: Vec<Object>) {
        let (mut specs, mut statuses) = (Vec::new(), Vec::new());
        for object in objects {
            let is_separate = self.has_status(&object) == Some(true);
            let mut spec = object.value;
            if !OF_CLUSTER.contains(&spec["kind"].as_str().unwrap_or_default())
                && spec["metadata"]["namespace"].is_null()
            {
                spec["metadata"]["namespace"] = namespace.into();
            }
            if is_separate && spec.get("status").is_some() {
                statuses.push(spec.clone());
            }
            specs.push(spec);
        }
        apply(&[], &specs);
        apply(&["--subresource=status"], &statuses);
    }
}

impl Drop for Definitions {
    fn drop(&mut self) {
        let names = self.names();
        let delete = ["delete", "crd", "--ignore-not-found", "--timeout=60s"];
        let _ = try_kubectl(&delete.into_iter().chain(names.iter().map(String::as_str)).collect::<Vec<_>>(), None);
    }
}

/// Applies objects in one call, as their number is large.
fn apply(flags: &[&str], items: &[Value]) {
    if items.is_empty() {
        return;
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    try_kubectl(&[&apply[..], flags].concat(), Some(&list)).unwrap_or_else(|e| panic!("{e}"));
}

/// Whether an object refers to the UID of another one.
fn refers(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(refers),
        Value::Object(fields) => fields.get("uid") == Some(&json!("")) || fields.values().any(refers),
        _ => false,
    }
}

fn with_uids(namespace: &str, value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| with_uids(namespace, item)).collect(),
        Value::Object(mut fields) => {
            if fields.get("uid") == Some(&json!("")) {
                let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
                let group =
                    text("apiVersion").split_once('/').map_or_else(String::new, |(group, _)| format!(".{group}"));
                let object = format!("{}{group}/{}", text("kind").to_lowercase(), text("name"));
                let uid = kubectl(&["-n", namespace, "get", &object, "-o", "jsonpath={.metadata.uid}"]);
                fields.insert("uid".to_owned(), uid.into());
            }
            fields.into_iter().map(|(name, field)| (name, with_uids(namespace, field))).collect()
        }
        other => other,
    }
}

/// The data files of a folder beside this file, in the order of their names.
pub(crate) fn files(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}
