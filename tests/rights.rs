//! Runs after the end-to-end tests: the audit log of their API server shows that the operator used each permission that
//! deploy/ grants, and requested no other.

#![allow(clippy::disallowed_types, reason = "tests write what the operator reads")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The overlays that the end-to-end tests install.
const INSTALLED: [&str; 5] = [
    "test-cluster",
    "test-cluster-previous-logs",
    "test-cluster-network",
    "test-cluster-annotate",
    "test-cluster-namespaced-nodes",
];
const ACCOUNT: &str = "shindan";
const NAMESPACE: &str = "shindan-system";
const OPERATOR: &str = "system:serviceaccount:shindan-system:shindan";

/// Ends of the API groups of custom resources. The tests give these permissions themselves, with
/// `shindan rules rbac`.
const OF_TESTS: [&str; 7] = [
    "kinds.e2e.example",
    "argoproj.io",
    "cert-manager.io",
    "cluster.x-k8s.io",
    "external-secrets.io",
    "keda.sh",
    "toolkit.fluxcd.io",
];

/// Permissions that are granted and never used, each with its reason.
const EXCUSED: [(&str, &str); 0] = [];

type Rights = BTreeSet<String>;

/// Formats a permission such as `patch poddiagnoses.shindan.dev`.
fn right(verb: &str, resource: &str, group: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{verb} {resource}{dot}{group}")
}

fn rendered(overlay: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/overlays").join(overlay);
    let run = Command::new("kubectl").arg("kustomize").arg(folder).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// The rules of all roles that are bound to the operator's service account.
fn granted() -> Rights {
    let documents: Vec<Value> = INSTALLED.into_iter().flat_map(rendered).collect();
    let of =
        |document: &Value, path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_ours = |subject: &Value| subject["name"] == ACCOUNT && subject["namespace"] == NAMESPACE;
    let bound: BTreeSet<(String, String)> = documents
        .iter()
        .filter(|document| document["subjects"].as_array().is_some_and(|subjects| subjects.iter().any(is_ours)))
        .map(|binding| (of(binding, "/roleRef/kind"), of(binding, "/roleRef/name")))
        .collect();
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = Rights::new();
    for role in documents.iter().filter(|d| bound.contains(&(of(d, "/kind"), of(d, "/metadata/name")))) {
        for rule in role["rules"].as_array().unwrap() {
            for group in strings(&rule["apiGroups"]) {
                for resource in strings(&rule["resources"]) {
                    rights.extend(strings(&rule["verbs"]).iter().map(|verb| right(verb, &resource, &group)));
                }
            }
        }
    }
    rights
}

/// The permissions that the operator used, and those that it lacked (with the first refused request).
fn requested() -> (Rights, BTreeMap<String, String>) {
    let run = std::env::var("SHINDAN_RUN").unwrap_or_else(|_| "/var/lib/shindan-cluster".to_owned());
    let path = Path::new(&run).join("log/audit.log");
    let log = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}; `make cluster` writes it", path.display()));
    let (mut used, mut refused) = (Rights::new(), BTreeMap::new());
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let text = |path: &str| entry.pointer(path).and_then(Value::as_str).unwrap_or_default();
        // `/version` and discovery have no resource, and are open to all.
        let is_of_test = OF_TESTS.iter().any(|end| text("/objectRef/apiGroup").ends_with(end));
        if text("/user/username") != OPERATOR || entry.get("objectRef").is_none() || is_of_test {
            continue;
        }
        let resource = match text("/objectRef/subresource") {
            "" => text("/objectRef/resource").to_owned(),
            subresource => format!("{}/{subresource}", text("/objectRef/resource")),
        };
        let requested = right(text("/verb"), &resource, text("/objectRef/apiGroup"));
        // A namespace in deletion refuses new objects with the same code, independent of permissions.
        if text("/annotations/authorization.k8s.io~1decision") == "forbid" {
            refused.entry(requested).or_insert_with(|| line.to_owned());
            continue;
        }
        if text("/verb") == "patch" && entry.pointer("/responseStatus/code") == Some(&201.into()) {
            // A server-side apply that creates an object needs both permissions.
            used.insert(right("create", &resource, text("/objectRef/apiGroup")));
        }
        used.insert(requested);
    }
    assert!(
        !used.is_empty(),
        "the operator sent no request: is the audit log of another cluster in {}?",
        path.display()
    );
    (used, refused)
}

#[test]
fn the_operator_uses_each_permission_and_lacks_none() {
    let (granted, (used, refused)) = (granted(), requested());
    println!("measured: {} rights granted, {} used", granted.len(), used.len());
    assert!(refused.is_empty(), "requested without permission: {refused:#?}");
    let beyond: Vec<_> = used.difference(&granted).collect();
    assert!(beyond.is_empty(), "used by a right that deploy/ does not name: {beyond:?}");
    let excused = |right: &&String| EXCUSED.iter().any(|(name, _)| name == right);
    let unused: Vec<_> = granted.difference(&used).filter(|right| !excused(right)).collect();
    assert!(unused.is_empty(), "granted, and used by no end-to-end test: {unused:?}");
    let idle: Vec<_> = EXCUSED.iter().filter(|(name, _)| used.contains(*name)).collect();
    assert!(idle.is_empty(), "used after all: {idle:?}");
}
