//! Replaces the names of objects and hosts, the same name by the same replacement, in fields and in texts.
//!
//! A generated name stays one of its owner: `web-5d4f7c9b-x2x4z` becomes `workload-1-5d4f7c9b-x2x4z`. Names of containers,
//! ports, volumes and variables stay: a diagnosis is about them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::images::Image;
use super::substitution::Substitution;
use super::{controller, hosts, key, text};
use crate::facts::similar::alike;

/// Names that every cluster has.
const COMMON: [&str; 12] = [
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "kubernetes",
    "kube-root-ca.crt",
    "kube-dns",
    "kube-proxy",
    "kube-apiserver",
    "kube-scheduler",
    "kube-controller-manager",
    "coredns",
];
/// Fields with the name of an object, and its kind.
const REFERENCES: [(&str, &str); 9] = [
    ("nodeName", "Node"),
    ("namespace", "Namespace"),
    ("serviceAccountName", "ServiceAccount"),
    ("secretName", "Secret"),
    ("claimName", "PersistentVolumeClaim"),
    ("volumeName", "PersistentVolume"),
    ("resourceClaimName", "ResourceClaim"),
    ("podGroupName", "PodGroup"),
    ("podGroup", "PodGroup"),
];
/// Fields whose `name` is one of an object of this kind. Empty: their `kind` states it.
const REFERRING: [(&str, &str); 18] = [
    ("metadata", ""),
    ("ownerReferences", ""),
    ("involvedObject", ""),
    ("regarding", ""),
    ("scaleTargetRef", ""),
    ("targetRef", ""),
    ("backendRefs", ""),
    ("backendRef", ""),
    ("parentRefs", ""),
    ("resources", ""),
    ("configMapKeyRef", "ConfigMap"),
    ("configMapRef", "ConfigMap"),
    ("configMap", "ConfigMap"),
    ("secretKeyRef", "Secret"),
    ("secretRef", "Secret"),
    ("secret", "Secret"),
    ("imagePullSecrets", "Secret"),
    ("service", "Service"),
];
/// Lists whose elements have a name that is none of an object.
const OWN_NAMES: [&str; 12] = [
    "containers",
    "initContainers",
    "ephemeralContainers",
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
    "ports",
    "env",
    "volumes",
    "volumeMounts",
    "sysctls",
    "listeners",
];
/// Fields that contain no names of objects.
const WORDS: [&str; 21] = [
    "apiVersion",
    "kind",
    "type",
    "reason",
    "phase",
    "status",
    "operator",
    "effect",
    "protocol",
    "scheme",
    "key",
    "port",
    "targetPort",
    "portName",
    "container",
    "containerName",
    "restartPolicy",
    "imagePullPolicy",
    "storageClassName",
    "priorityClassName",
    "topologyKey",
];

/// Names with which another is compared.
const COMPARED: usize = 200;

/// Where a name that is a plain word, such as `web`, is replaced in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    Everywhere,
    /// Only where the text marks it as a name, by quotes or in a path. A log may use the word with another meaning.
    InContext,
}

/// The names of some objects, with their replacements.
pub struct Names {
    substitution: Substitution,
    words: Words,
    uids: BTreeMap<String, usize>,
    v4: BTreeMap<String, usize>,
    v6: BTreeMap<String, usize>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").field("words", &self.words).finish_non_exhaustive()
    }
}

impl Names {
    /// Collects the names of objects, and of those that they refer to.
    pub fn of(objects: &[Value], words: Words) -> Self {
        let mut found = Collected::default();
        // Workloads first: a Service of the same name shares their replacement.
        let (owners, others): (Vec<&Value>, Vec<&Value>) =
            objects.iter().partition(|object| is_workload(text(object, &["kind"])));
        for object in owners.iter().chain(&others) {
            found.object(object);
        }
        objects.iter().for_each(|object| found.walk("", object));
        let containers = std::mem::take(&mut found.containers);
        Self {
            substitution: Substitution::new(&found.replacements(), containers),
            words,
            uids: BTreeMap::new(),
            v4: BTreeMap::new(),
            v6: BTreeMap::new(),
        }
    }

    /// Replaces the names in an object.
    pub fn replace(&mut self, object: &mut Value) {
        self.walk("", "", object);
    }

    fn walk(&mut self, list: &str, field: &str, value: &mut Value) {
        match value {
            Value::String(_) if WORDS.contains(&field) || field == "name" && OWN_NAMES.contains(&list) => {}
            Value::String(text) => self.replace_text(text, field == "message" || field == "note"),
            Value::Array(all) => all.iter_mut().for_each(|value| self.walk(field, field, value)),
            Value::Object(map) => map.iter_mut().for_each(|(key, value)| self.walk(field, key, value)),
            _ => {}
        }
    }

    /// Replaces the names in a text. A field that is no message contains a name by itself.
    pub fn replace_text(&mut self, text: &mut String, is_message: bool) {
        let in_context_only = is_message && self.words == Words::InContext;
        let mut places: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        let named = self.substitution.places(text, in_context_only);
        places.extend(named.into_iter().map(|(range, by)| (range, by.to_owned())));
        for (range, kind) in hosts::numbers(text) {
            let known = match kind {
                hosts::Number::Uid => &mut self.uids,
                hosts::Number::V4 => &mut self.v4,
                hosts::Number::V6 => &mut self.v6,
            };
            let next = known.len() + 1;
            let number = *known.entry(text[range.clone()].to_owned()).or_insert(next);
            places.push((range, hosts::number(&kind, number)));
        }
        places.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut out = String::new();
        let mut until = 0;
        for (range, by) in places {
            if range.start >= until {
                out.push_str(&text[until..range.start]);
                out.push_str(&by);
                until = range.end;
            }
        }
        if until > 0 {
            out.push_str(&text[until..]);
            *text = out;
        }
    }
}

fn is_workload(kind: &str) -> bool {
    ["Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet", "ReplicationController"].contains(&kind)
}

/// The word that begins the replacement of the name of an object.
fn noun(kind: &str) -> String {
    if is_workload(kind) { "workload".to_owned() } else { kind.to_ascii_lowercase() }
}

/// The names that were found.
#[derive(Default)]
struct Collected {
    /// In the order in which they were found, with the kind of the first object that has it.
    names: Vec<(String, String)>,
    known: BTreeSet<String>,
    pods_and_nodes: BTreeSet<String>,
    /// Objects with a generated name, and their owners.
    owners: BTreeMap<String, String>,
    repositories: BTreeSet<String>,
    hosts: BTreeSet<String>,
    containers: BTreeSet<String>,
}

impl Collected {
    fn add(&mut self, kind: &str, name: &str) {
        let is_name = name.len() > 1 && !COMMON.contains(&name) && !kind.is_empty() && kind != "Event";
        if is_name && (kind == "Pod" || kind == "Node") {
            self.pods_and_nodes.insert(name.to_owned());
        }
        if is_name && self.known.insert(name.to_owned()) {
            self.names.push((name.to_owned(), kind.to_owned()));
        }
    }

    fn object(&mut self, object: &Value) {
        let (kind, namespace, name) = key(object);
        if let Some((owner_kind, owner)) = controller(object) {
            self.add(owner_kind, owner);
            if name.strip_prefix(owner).is_some_and(|rest| rest.starts_with('-')) {
                self.owners.insert(name.to_owned(), owner.to_owned());
            }
            // The Deployment of a pod whose ReplicaSet is not among the objects.
            let hash = text(object, &["metadata", "labels", "pod-template-hash"]);
            let deployment = owner.strip_suffix(hash).and_then(|rest| rest.strip_suffix('-'));
            if let Some(deployment) = deployment.filter(|_| owner_kind == "ReplicaSet" && !hash.is_empty()) {
                self.add("Deployment", deployment);
                self.owners.insert(owner.to_owned(), deployment.to_owned());
            }
        }
        self.add(kind, name);
        self.add("Namespace", namespace);
        if kind == "Node" {
            self.add(kind, text(object, &["metadata", "labels", "kubernetes.io/hostname"]));
        }
    }

    /// Collects the names in a value under a field.
    fn walk(&mut self, field: &str, value: &Value) {
        match value {
            Value::Object(map) => self.fields(field, map),
            Value::Array(all) => all.iter().for_each(|value| self.walk(field, value)),
            Value::String(text) => {
                if field == "host" || field == "hostname" || field == "hosts" || field == "hostnames" {
                    self.hosts.extend(Some(text.clone()).filter(|host| hosts::is_replaced(host)));
                }
                self.hosts.extend(hosts::hosts(text).map(ToOwned::to_owned));
            }
            _ => {}
        }
    }

    fn fields(&mut self, field: &str, map: &Map<String, Value>) {
        let of = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
        if let Some((_, kind)) = REFERRING.iter().find(|(referring, _)| *referring == field) {
            self.add(if kind.is_empty() { of("kind") } else { kind }, of("name"));
        }
        if field.ends_with("ontainers") {
            self.containers.extend(Some(of("name").to_owned()).filter(|name| !name.is_empty()));
        }
        for (key, value) in map {
            if let (Some((_, kind)), Some(name)) =
                (REFERENCES.iter().find(|(reference, _)| reference == key), value.as_str())
            {
                self.add(kind, name);
            }
            if let ("image" | "reference", Some(image)) = (key.as_str(), value.as_str().and_then(Image::parse)) {
                self.repositories.insert(image.repository.to_owned());
                let host = image.registry.map(|registry| registry.split(':').next().unwrap_or_default());
                // A registry without a dot is one too.
                self.hosts.extend(
                    host.filter(|host| hosts::is_replaced(host) || !host.contains('.') && *host != "localhost")
                        .map(ToOwned::to_owned),
                );
            }
            self.walk(key, value);
        }
    }

    /// Each name and its replacement.
    fn replacements(&self) -> BTreeMap<String, String> {
        let mut out: BTreeMap<String, String> = BTreeMap::new();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut next = |noun: &str| {
            let count = counts.entry(noun.to_owned()).or_default();
            *count += 1;
            *count
        };
        let own = self.names.iter().filter(|(name, _)| self.base(name).is_none());
        for (name, kind) in own {
            // A misspelt name stays one, because a remedy names the right one.
            let right = out.iter().take(COMPARED).find(|(other, _)| alike(name, other));
            let by = if let Some((_, right)) = right {
                format!("{right}x")
            } else {
                let noun = noun(kind);
                format!("{noun}-{}", next(&noun))
            };
            out.insert(name.clone(), by);
        }
        // Owners have shorter names than what they own.
        let mut generated: Vec<_> = self.names.iter().filter_map(|(name, _)| Some((name, self.base(name)?))).collect();
        generated.sort_by_key(|(name, _)| name.len());
        for (name, base) in generated {
            let by = out.get(base).map_or(base, String::as_str);
            let by = match name.strip_prefix(base) {
                Some(rest) => format!("{by}{rest}"),
                None => format!("{}{by}", name.strip_suffix(base).unwrap_or_default()),
            };
            out.insert(name.clone(), by);
        }
        for repository in &self.repositories {
            // As many parts as before: without one, the image would be one of Docker itself.
            let groups = "group/".repeat(repository.matches('/').count());
            let number = next("repository");
            out.entry(repository.clone()).or_insert_with(|| format!("{groups}repository-{number}"));
        }
        for host in &self.hosts {
            let number = next("host");
            out.entry(host.clone()).or_insert_with(|| hosts::replacement(host, number));
        }
        out
    }

    /// The name from which a name is made: that of its owner, or of the pod or node that it ends with, as those of the
    /// claims of a StatefulSet and of static pods do.
    fn base(&self, name: &str) -> Option<&str> {
        if let Some(owner) = self.owners.get(name) {
            return Some(owner);
        }
        name.match_indices('-').find_map(|(dash, _)| self.pods_and_nodes.get(&name[dash + 1..])).map(String::as_str)
    }
}
