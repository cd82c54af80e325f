//! The objects that belong to some: their owners, what they own, and the Events and nodes of all these.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Key, at, controller, key, list, text};

/// Kinds that explain pods of their namespace without an owner reference.
const SURROUNDINGS: [&str; 10] = [
    "Service",
    "EndpointSlice",
    "PersistentVolumeClaim",
    "StorageClass",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
];

/// For each object, whether it belongs to those for which `is_asked` holds.
pub fn related(objects: &[Value], is_asked: impl Fn(&Value) -> bool) -> Vec<bool> {
    let mut kept: BTreeSet<Key<'_>> = objects.iter().filter(|object| is_asked(object)).map(key).collect();
    let is_on_node =
        |object: &&Value| is_pod(object) && kept.contains(&("Node", "", text(object, &["spec", "nodeName"])));
    let on_nodes: Vec<Key<'_>> = objects.iter().filter(is_on_node).map(key).collect();
    kept.extend(on_nodes);
    loop {
        let before = kept.len();
        for object in objects {
            let Some((kind, name)) = controller(object) else { continue };
            let (own, owner) = (key(object), (kind, key(object).1, name));
            if kept.contains(&owner) {
                kept.insert(own);
            } else if kept.contains(&own) {
                kept.insert(owner);
            }
        }
        if kept.len() == before {
            break;
        }
    }
    let is_kept = |object: &Value| kept.contains(&key(object));
    let pods = || objects.iter().filter(|object| is_pod(object));
    let waits = pods().any(|pod| is_kept(pod) && text(pod, &["spec", "nodeName"]).is_empty() && !is_over(pod));
    let nodes: BTreeSet<&str> = pods().filter(|pod| is_kept(pod)).map(|pod| text(pod, &["spec", "nodeName"])).collect();
    let belongs = |object: &Value| match key(object) {
        ("Node", _, name) => waits || nodes.contains(name) || is_kept(object),
        // What they request decides where others fit.
        ("Pod", ..) => waits && !is_over(object) || is_kept(object),
        ("Event", namespace, _) => {
            let regarding = ["involvedObject", "regarding"].into_iter().find_map(|field| object.get(field));
            let Some(regarding) = regarding else { return false };
            let (kind, name) = (text(regarding, &["kind"]), text(regarding, &["name"]));
            match kind {
                "Node" => waits || nodes.contains(name) || kept.contains(&(kind, "", name)),
                "PersistentVolumeClaim" => true,
                _ => kept.contains(&(kind, namespace, name)),
            }
        }
        (kind, ..) => SURROUNDINGS.contains(&kind) || is_kept(object),
    };
    objects.iter().map(belongs).collect()
}

fn is_pod(object: &Value) -> bool {
    text(object, &["kind"]) == "Pod"
}

fn is_over(pod: &Value) -> bool {
    ["Succeeded", "Failed"].contains(&text(pod, &["status", "phase"]))
}

/// Whether it is an object of another namespace than this.
pub fn is_of_other_namespace(object: &Value, namespace: &str) -> bool {
    let of = text(object, &["metadata", "namespace"]);
    !of.is_empty() && of != namespace
}

/// Reduces a pod to what it takes of its node, and what the rules for placing others see of it. It appears healthy.
pub fn only_requests(pod: &mut Value) {
    let of_metadata = part(pod, &["metadata"], &["name", "namespace", "uid", "labels"]);
    let mut spec = part(pod, &["spec"], &["nodeName", "priority", "overhead", "resources", "affinity", "hostNetwork"]);
    for containers in ["containers", "initContainers"] {
        let reduced: Vec<Value> = list(pod, &["spec", containers])
            .map(|container| Value::Object(part(container, &[], &["name", "resources", "ports", "restartPolicy"])))
            .collect();
        spec.insert(containers.to_owned(), reduced.into());
    }
    *pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": of_metadata,
        "spec": spec,
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    });
}

/// Some fields of a map.
fn part(object: &Value, path: &[&str], fields: &[&str]) -> Map<String, Value> {
    let map = at(object, path).and_then(Value::as_object).into_iter().flatten();
    map.filter(|(key, _)| fields.contains(&key.as_str())).map(|(key, value)| (key.clone(), value.clone())).collect()
}
