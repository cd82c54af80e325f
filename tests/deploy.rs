//! What is installed is what the sources say: one flat file, exact rights, a locked-down pod.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use shindan::api::DiagnosisKind;
use shindan::cluster::access::{ACCESS, LEASE, PREVIOUS_LOGS};
use shindan::cluster::lease;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The documents of a YAML stream, by kind and name.
fn documents(text: &str) -> BTreeMap<(String, String), Value> {
    let body = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    body.split("\n---\n")
        .map(|part| serde_saphyr::from_str::<Value>(part).unwrap_or_else(|e| panic!("{e}\n{part}")))
        .map(|document| {
            let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            ((text("/kind"), text("/metadata/name")), document)
        })
        .collect()
}

fn installed() -> BTreeMap<(String, String), Value> {
    documents(&fs::read_to_string(root().join("deploy/install.yaml")).unwrap())
}

fn find<'d>(documents: &'d BTreeMap<(String, String), Value>, kind: &str, name: &str) -> &'d Value {
    documents.get(&(kind.to_owned(), name.to_owned())).unwrap_or_else(|| panic!("no {kind} {name} is installed"))
}

fn rendered(folder: &str) -> String {
    let run = Command::new("kubectl").arg("kustomize").arg(root().join(folder)).output();
    let run = run.unwrap_or_else(|e| panic!("kubectl is needed to render {folder} (it brings kustomize): {e}"));
    assert!(run.status.success(), "kubectl kustomize {folder}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn the_flat_file_is_the_rendered_base() {
    let (flat, base) = (installed(), documents(&rendered("deploy/base")));
    let names = |all: &BTreeMap<(String, String), Value>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&flat), names(&base), "render it again: kubectl kustomize deploy/base > deploy/install.yaml");
    for (name, document) in &base {
        assert_eq!(&flat[name], document, "{name:?} differs: render deploy/install.yaml again");
    }
}

#[test]
fn the_definition_is_the_generated_one() {
    // `0.0` and `0` are one number in YAML that people read.
    fn whole(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(whole),
            Value::Object(fields) => fields.values_mut().for_each(whole),
            Value::Number(n) if n.as_f64() == Some(0.0) => *value = 0.into(),
            _ => {}
        }
    }
    for kind in DiagnosisKind::ALL {
        let mut generated = serde_json::to_value(shindan::api::crd(kind)).unwrap();
        let name = format!("{}.shindan.dev", kind.plural());
        let mut kept = find(&installed(), "CustomResourceDefinition", &name).clone();
        whole(&mut generated);
        whole(&mut kept);
        assert!(
            kept == generated,
            "the definition of {name} differs: UPDATE=1 cargo test --test docs, then render deploy/install.yaml again"
        );
    }
}

/// From 1.36 on the API server warns of others, at each installation.
#[test]
fn the_definitions_have_formats_that_kubernetes_knows() {
    let text = fs::read_to_string(root().join("deploy/install.yaml")).unwrap();
    let formats: BTreeSet<_> = text.lines().filter_map(|line| line.trim().strip_prefix("format: ")).collect();
    assert_eq!(formats, BTreeSet::from(["date-time", "int32", "int64"]));
}

#[test]
fn the_role_holds_the_verbs_that_are_used_and_no_other() {
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    };
    let mut granted: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for rule in find(&installed(), "ClusterRole", "shindan")["rules"].as_array().unwrap() {
        assert!(rule.get("nonResourceURLs").is_none() && rule.get("resourceNames").is_none());
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                granted.entry((group.clone(), resource)).or_default().extend(strings(&rule["verbs"]));
            }
        }
    }
    let mut used: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for access in ACCESS {
        let verbs = used.entry((access.group.to_owned(), access.resource.to_owned())).or_default();
        verbs.extend(access.verbs.iter().map(|verb| (*verb).to_owned()));
    }
    assert_eq!(granted, used, "deploy/base/operator-role.yaml and src/cluster/access.rs differ");
}

/// One Lease in its own namespace, and no other.
#[test]
fn the_lease_is_the_only_one_that_may_be_touched() {
    let all = installed();
    let role = find(&all, "Role", "shindan-lease");
    assert_eq!(role["metadata"]["namespace"], "shindan-system");
    let rules = role["rules"].as_array().unwrap();
    let mut verbs = Vec::new();
    for rule in rules {
        assert_eq!(rule["apiGroups"], serde_json::json!([LEASE.group]));
        assert_eq!(rule["resources"], serde_json::json!([LEASE.resource]));
        let granted: Vec<&str> = rule["verbs"].as_array().unwrap().iter().map(|verb| verb.as_str().unwrap()).collect();
        if granted != ["create"] {
            assert_eq!(rule["resourceNames"], serde_json::json!([lease::NAME]));
        }
        verbs.extend(granted);
    }
    assert_eq!(verbs, LEASE.verbs);
    let binding = find(&all, "RoleBinding", "shindan-lease");
    assert_eq!(binding["subjects"], find(&all, "ClusterRoleBinding", "shindan")["subjects"]);
}

#[test]
fn two_replicas_keep_apart_and_are_drained_one_at_a_time() {
    let all = documents(&rendered("deploy/overlays/high-availability"));
    let deployment = &find(&all, "Deployment", "shindan")["spec"];
    assert_eq!(deployment["replicas"], 2);
    let labels = &deployment["selector"]["matchLabels"];
    let apart = &deployment["template"]["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        [0]["podAffinityTerm"];
    assert_eq!(apart["labelSelector"]["matchLabels"], *labels);
    assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
    let budget = &find(&all, "PodDisruptionBudget", "shindan")["spec"];
    assert_eq!((&budget["maxUnavailable"], &budget["selector"]["matchLabels"]), (&serde_json::json!(1), labels));
}

#[test]
fn the_logs_of_ended_containers_are_read_only_where_the_component_is_applied() {
    let args = |all: &BTreeMap<(String, String), Value>| {
        find(all, "Deployment", "shindan")["spec"]["template"]["spec"]["containers"][0]["args"].to_string()
    };
    let with = documents(&rendered("deploy/overlays/previous-logs"));
    assert!(args(&with).contains("--previous-logs") && !args(&installed()).contains("--previous-logs"));
    let role = find(&with, "ClusterRole", "shindan-previous-logs");
    assert_eq!(
        role["rules"],
        serde_json::json!([{"apiGroups": [PREVIOUS_LOGS.group], "resources": [PREVIOUS_LOGS.resource], "verbs": PREVIOUS_LOGS.verbs}])
    );
    let binding = find(&with, "ClusterRoleBinding", "shindan-previous-logs");
    assert_eq!(binding["subjects"], find(&with, "ClusterRoleBinding", "shindan")["subjects"]);
    assert!(!installed().contains_key(&("ClusterRole".to_owned(), "shindan-previous-logs".to_owned())));
}

#[test]
fn no_document_touches_secrets() {
    for ((kind, name), document) in installed() {
        if kind != "CustomResourceDefinition" {
            assert!(!document.to_string().to_lowercase().contains("secret"), "{kind} {name} names Secrets");
        }
    }
}

#[test]
fn whoever_may_view_may_read_diagnoses() {
    let all = installed();
    let reader = find(&all, "ClusterRole", "shindan-reader");
    assert_eq!(reader["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"], "true");
    assert_eq!(
        reader["rules"],
        serde_json::json!([{"apiGroups": ["shindan.dev"], "resources": ["nodediagnoses", "poddiagnoses", "workloaddiagnoses"], "verbs": ["get", "list", "watch"]}])
    );
}

#[test]
fn the_pod_meets_the_restricted_standard() {
    let all = installed();
    let namespace = &find(&all, "Namespace", "shindan-system")["metadata"]["labels"];
    for mode in ["enforce", "audit", "warn"] {
        assert_eq!(namespace[format!("pod-security.kubernetes.io/{mode}")], "restricted");
    }
    let deployment = &find(&all, "Deployment", "shindan")["spec"];
    assert_eq!(deployment["replicas"], 1);
    let args = deployment["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(args.contains("--leader-elect"), "during a rolling update there are two");
    let pod = &deployment["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["runAsUser"], 65532);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    for absent in ["hostNetwork", "hostPID", "hostIPC", "volumes"] {
        assert!(pod.get(absent).is_none(), "{absent}");
    }
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    let container = &containers[0];
    let security = &container["securityContext"];
    assert_eq!(security["allowPrivilegeEscalation"], false);
    assert_eq!(security["readOnlyRootFilesystem"], true);
    assert_eq!(security["capabilities"], serde_json::json!({"drop": ["ALL"]}));
    assert_eq!(container["resources"]["requests"]["memory"], "64Mi");
    assert_eq!(container["resources"]["limits"]["memory"], "128Mi");
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/healthz");
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
    assert_eq!(container["ports"][0]["containerPort"], 8080);
}

/// The version of the image is that of the crate, so that a release cannot forget it.
#[test]
fn the_image_is_of_this_version() {
    let all = installed();
    let image = &find(&all, "Deployment", "shindan")["spec"]["template"]["spec"]["containers"][0]["image"];
    assert!(image.as_str().unwrap().ends_with(concat!(":", env!("CARGO_PKG_VERSION"))), "{image}");
}

/// The flags of the Deployment are flags of the program.
#[test]
fn the_program_knows_its_arguments() {
    let all = installed();
    let args = &find(&all, "Deployment", "shindan")["spec"]["template"]["spec"]["containers"][0]["args"];
    let args: Vec<_> = args.as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    let help = Command::new(env!("CARGO_BIN_EXE_shindan")).args([args[0], "--help"]).output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for flag in args[1..].iter().filter_map(|a| a.split('=').next()) {
        assert!(help.contains(flag), "{flag} is no flag of shindan {}", args[0]);
    }
}

#[test]
fn the_overlay_of_the_test_cluster_renders() {
    let all = documents(&rendered("deploy/overlays/test-cluster"));
    let container = &find(&all, "Deployment", "shindan")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "127.0.0.1:5000/shindan:dev");
    assert_eq!(container["env"][0]["name"], "KUBERNETES_SERVICE_HOST");
}

#[test]
fn the_image_holds_one_static_binary_and_no_user_with_rights() {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let last = text.rsplit("\nFROM ").next().unwrap();
    assert!(last.starts_with("scratch"), "the last stage is scratch");
    assert!(last.contains("\nUSER 65532:65532\n"));
    assert!(text.contains("target-feature=+crt-static"));
    assert_eq!(last.matches("COPY").count(), 1);
}
