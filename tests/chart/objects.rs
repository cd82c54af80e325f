//! The chart installs the objects of kustomize, and permissions follow the values.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::names::unlabelled;
use crate::{Objects, container, objects, rendered, run, succeeded};

fn kustomized(folder: &str) -> Objects {
    let mut all = objects(&succeeded(run(Command::new("kubectl").args(["kustomize", folder]))));
    // Helm creates it with `--create-namespace`.
    all.remove("Namespace /shindan-system").unwrap();
    all
}

fn same(what: &str, chart: &Objects, kustomize: &Objects) {
    let names = |all: &Objects| all.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(chart), names(kustomize), "{what}: what the chart makes, and what kustomize does");
    let mut found = Vec::new();
    for (name, object) in kustomize {
        differences(name, &chart[name], object, &mut found);
    }
    assert!(found.is_empty(), "{what}: the chart and kustomize differ:\n{}", found.join("\n"));
}

fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => differences(&format!("{path}.{name}"), a, b, found),
                    (a, b) => found.push(format!("{path}.{name}: {a:?}, {b:?}")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| differences(&format!("{path}[{i}]"), a, b, found));
        }
        // `0.0` and `0` are the same number to the API server.
        _ if ours == theirs || ours.as_f64().is_some_and(|number| theirs.as_f64() == Some(number)) => {}
        _ => found.push(format!("{path}: {ours}, {theirs}")),
    }
}

/// Only the Namespace and the labels of the chart differ.
#[test]
fn the_chart_installs_the_same_objects_as_kustomize() {
    const TEST_CLUSTER: [&str; 5] = [
        r#"image={"repository":"127.0.0.1:5000/shindan","tag":"dev","pullPolicy":"Always"}"#,
        r#"extraEnv[0]={"name":"KUBERNETES_SERVICE_HOST","value":"10.99.0.1"}"#,
        r#"extraEnv[1]={"name":"KUBERNETES_SERVICE_PORT","value":"6443"}"#,
        r#"namespaces=["e2e-watched"]"#,
        "nodes=true",
    ];
    const MONITORING: [&str; 3] =
        ["metrics.serviceMonitor.enabled=true", "prometheusRule.enabled=true", "dashboards.enabled=true"];
    let cases: [(&str, &[&str]); 12] = [
        ("base", &[]),
        // A file in which all fields are comments has these null values.
        (
            "base",
            &[
                "config=null",
                "annotate=null",
                "affinity=null",
                "podLabels=null",
                "nodeSelector=null",
                "extraEnv=null",
                "namespaces=null",
            ],
        ),
        ("overlays/high-availability", &["highAvailability=true"]),
        ("overlays/namespaced", &[r#"namespaces=["team-a"]"#]),
        ("overlays/networkpolicy", &["networkPolicy.enabled=true"]),
        ("overlays/previous-logs", &["previousLogs=true"]),
        ("overlays/network", &["network=true"]),
        ("overlays/annotate", &[r#"annotate=["pods","workloads"]"#]),
        ("overlays/monitoring", &MONITORING),
        ("overlays/test-cluster", &TEST_CLUSTER[..3]),
        ("overlays/test-cluster-namespaced", &TEST_CLUSTER[..4]),
        ("overlays/test-cluster-namespaced-nodes", &TEST_CLUSTER),
    ];
    for (folder, values) in cases {
        same(folder, &unlabelled(rendered(values)), &kustomized(&format!("deploy/{folder}")));
    }
}

/// No permission for Nodes without `nodes`, and none for logs outside the namespaces.
#[test]
fn permissions_follow_the_values() {
    let without_nodes = rendered(&["nodes=false"]);
    let role = without_nodes["ClusterRole /shindan"].to_string();
    assert!(!role.contains("node") && !role.contains("storageclasses"), "{role}");
    assert_eq!(container(&without_nodes)["env"], json!([{"name": "SHINDAN_NODES", "value": "false"}]));

    let namespaced = rendered(&[r#"namespaces=["team-a","team-b"]"#, "previousLogs=true", "readerRole=false"]);
    assert!(!namespaced.keys().any(|name| name.starts_with("ClusterRole")));
    for namespace in ["team-a", "team-b"] {
        let logs = &namespaced[&format!("Role {namespace}/shindan-previous-logs")]["rules"];
        assert_eq!(*logs, json!([{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]));
        for name in ["shindan", "shindan-previous-logs"] {
            let bound = &namespaced[&format!("RoleBinding {namespace}/{name}")];
            assert_eq!(bound["roleRef"]["kind"], "Role");
            assert_eq!(bound["subjects"][0]["namespace"], "shindan-system");
        }
    }
    let network = rendered(&[r#"namespaces=["team-a"]"#, "network=true", "readerRole=false"]);
    assert!(!network.keys().any(|name| name.starts_with("ClusterRole")));
    let role = network["Role team-a/shindan-network"].to_string();
    assert!(role.contains("httproutes") && !role.contains("classes"), "classes belong to the cluster: {role}");
    let annotated = rendered(&[r#"namespaces=["team-a"]"#, r#"annotate=["workloads"]"#, "readerRole=false"]);
    assert!(!annotated.keys().any(|name| name.starts_with("ClusterRole")));
    let rules = &annotated["Role team-a/shindan-annotate"]["rules"];
    assert!(!rules.to_string().contains("pods") && rules.to_string().contains("cronjobs"), "{rules}");
    assert_eq!(annotated["RoleBinding team-a/shindan-annotate"]["roleRef"]["name"], "shindan-annotate");
    let variables = &annotated["ValidatingAdmissionPolicy /shindan-annotate"]["spec"]["variables"];
    let workloads = r#"["deployments", "statefulsets", "daemonsets", "jobs", "cronjobs"]"#;
    assert_eq!(variables[0], json!({"name": "annotated", "expression": workloads}));
    let env =
        json!([{"name": "SHINDAN_NAMESPACES", "value": "team-a,team-b"}, {"name": "SHINDAN_NODES", "value": "false"}]);
    assert_eq!(container(&namespaced)["env"], env);
}
