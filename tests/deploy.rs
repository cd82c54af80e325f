//! The installed objects match the sources: one flat file, exact permissions, a restricted pod.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use shindan::cluster::access::{ACCESS, ANNOTATE, Access, LEASE, NETWORK, NODE_EVENTS, PREVIOUS_LOGS};
use shindan::cluster::lease;

#[path = "deploy/policy.rs"]
mod policy;

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
    // `0.0` and `0` are the same number in YAML.
    fn whole(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(whole),
            Value::Object(fields) => fields.values_mut().for_each(whole),
            Value::Number(n) if n.as_f64() == Some(0.0) => *value = 0.into(),
            _ => {}
        }
    }
    for definition in shindan_core::api::crds() {
        let mut generated = serde_json::to_value(&definition).unwrap();
        let name = definition.metadata.name.unwrap();
        let mut kept = find(&installed(), "CustomResourceDefinition", &name).clone();
        whole(&mut generated);
        whole(&mut kept);
        assert!(
            kept == generated,
            "the definition of {name} differs: UPDATE=1 cargo test --test docs, then render deploy/install.yaml again"
        );
    }
}

/// From 1.36 on the API server warns about other formats at each installation.
#[test]
fn the_definitions_have_formats_that_kubernetes_supports() {
    let text = fs::read_to_string(root().join("deploy/install.yaml")).unwrap();
    let formats: BTreeSet<_> = text.lines().filter_map(|line| line.trim().strip_prefix("format: ")).collect();
    assert_eq!(formats, BTreeSet::from(["date-time", "int32", "int64"]));
}

#[test]
fn the_role_has_only_the_used_verbs() {
    let all = installed();
    let role = find(&all, "ClusterRole", "shindan");
    assert!(role["rules"].as_array().unwrap().iter().all(|rule| rule.get("resourceNames").is_none()));
    let granted = granted(role);
    assert_eq!(granted, verbs(ACCESS), "deploy/base/operator-role.yaml and src/cluster/access.rs differ");
}

/// No role grants Secrets, logs, changes of workloads, impersonation or wildcards.
#[test]
fn the_default_installation_reads_no_secret_and_no_log_and_changes_no_pod() {
    const OWN: [&str; 2] = ["shindan.dev", "coordination.k8s.io"];
    for ((kind, name), role) in installed() {
        if !matches!(kind.as_str(), "ClusterRole" | "Role") {
            continue;
        }
        for ((group, resource), verbs) in granted(&role) {
            let right = format!("{kind} {name}: {verbs:?} {resource}.{group}");
            assert!(!matches!(resource.as_str(), "secrets" | "configmaps" | "serviceaccounts"), "{right}");
            let is_status = resource == "diagnosisrules/status";
            assert!(is_status || !resource.contains('/'), "{right}");
            assert!(!resource.contains('*') && !group.contains('*'), "{right}");
            assert!(!group.starts_with("rbac."), "{right}");
            let reads = |verb: &String| matches!(verb.as_str(), "get" | "list" | "watch");
            let is_event = (group.as_str(), resource.as_str()) == ("events.k8s.io", "events");
            assert!(is_event || OWN.contains(&group.as_str()) || verbs.iter().all(reads), "{right}");
        }
    }
}

/// With permissions in namespaces there are no others, and they are the same as those of the whole cluster.
#[test]
fn with_namespaces_a_role_replaces_the_cluster_role() {
    let (namespaced, of_cluster): (Vec<Access>, Vec<Access>) = ACCESS.iter().partition(|access| access.namespaced);
    let all = documents(&rendered("deploy/overlays/namespaced"));
    let role = find(&all, "Role", "shindan");
    assert_eq!(role["metadata"]["namespace"], "team-a");
    assert_eq!(granted(role), verbs(&namespaced));
    let bound = find(&all, "RoleBinding", "shindan");
    assert_eq!(bound["metadata"]["namespace"], "team-a");
    let account = serde_json::json!([{"kind": "ServiceAccount", "name": "shindan", "namespace": "shindan-system"}]);
    assert_eq!(bound["subjects"], account);
    let cluster_wide: Vec<_> = all.keys().filter(|(kind, _)| kind.starts_with("ClusterRole")).collect();
    assert_eq!(cluster_wide, [&("ClusterRole".to_owned(), "shindan-reader".to_owned())], "it is for people");
    assert_eq!(variables(&all), [("SHINDAN_NAMESPACES", "team-a"), ("SHINDAN_NODES", "false")]);

    let with_nodes = documents(&rendered("deploy/overlays/test-cluster-namespaced-nodes"));
    assert_eq!(granted(find(&with_nodes, "ClusterRole", "shindan-nodes")), verbs(&of_cluster));
    assert_eq!(find(&with_nodes, "ClusterRoleBinding", "shindan-nodes")["subjects"], account);
    let events = find(&with_nodes, "Role", "shindan-nodes");
    assert_eq!((&events["metadata"]["namespace"], granted(events)), (&"default".into(), verbs(&NODE_EVENTS)));
    assert_eq!(find(&with_nodes, "RoleBinding", "shindan-nodes")["subjects"], account);
    assert!(variables(&with_nodes).contains(&("SHINDAN_NODES", "true")));
}

/// The variables of the operator, by name.
fn variables(all: &BTreeMap<(String, String), Value>) -> Vec<(&str, &str)> {
    let set = &find(all, "Deployment", "shindan")["spec"]["template"]["spec"]["containers"][0]["env"];
    let mut set: Vec<_> = set
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|variable| Some((variable["name"].as_str()?, variable["value"].as_str()?)))
        .filter(|(name, _)| name.starts_with("SHINDAN_"))
        .collect();
    set.sort_unstable();
    set
}

/// Selected clients may scrape metrics only; the operator may connect to DNS and the API server.
#[test]
fn the_network_policy_opens_one_port_to_selected_clients() {
    let component = rendered("deploy/overlays/networkpolicy");
    let all = documents(&component);
    let policy = &find(&all, "NetworkPolicy", "shindan")["spec"];
    let pod = &find(&all, "Deployment", "shindan")["spec"]["template"];
    assert_eq!(policy["podSelector"]["matchLabels"], pod["metadata"]["labels"]);
    assert_eq!(policy["policyTypes"], serde_json::json!(["Ingress", "Egress"]));
    let allowed = serde_json::json!([{
        "from": [{"namespaceSelector": {"matchLabels": {"shindan.dev/metrics": "allowed"}}}],
        "ports": [{"protocol": "TCP", "port": pod["spec"]["containers"][0]["ports"][0]["containerPort"]}],
    }]);
    assert_eq!(policy["ingress"], allowed);
    let ports = |rule: &Value| rule["ports"].as_array().unwrap().iter().map(|p| p["port"].clone()).collect::<Vec<_>>();
    let out: Vec<_> = policy["egress"].as_array().unwrap().iter().flat_map(ports).collect();
    assert_eq!(out, [53, 53, 443, 6443]);
    assert!(!installed().keys().any(|(kind, _)| kind == "NetworkPolicy"), "only with the component");
}

/// The scraped port is the one of the Service, and the default installation needs no CRDs of prometheus-operator.
#[test]
fn monitoring_scrapes_the_service_and_installs_the_dashboard() {
    let all = documents(&rendered("deploy/overlays/monitoring"));
    let monitor = find(&all, "ServiceMonitor", "shindan");
    let service = find(&all, "Service", "shindan-metrics");
    assert_eq!(monitor["metadata"]["namespace"], service["metadata"]["namespace"]);
    assert_eq!(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"]);
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(endpoint["port"], service["spec"]["ports"][0]["name"]);
    assert_eq!(endpoint["honorLabels"], true, "`namespace` is that of what fails");

    let dashboard = find(&all, "ConfigMap", "shindan-dashboard");
    assert_eq!(dashboard["metadata"]["labels"]["grafana_dashboard"], "1");
    let kept = fs::read_to_string(root().join("deploy/components/monitoring/dashboard.json")).unwrap();
    assert_eq!(dashboard["data"]["dashboard.json"], kept.as_str());

    find(&all, "PrometheusRule", "shindan");
    let (with, without): (BTreeSet<_>, BTreeSet<_>) = (all.into_keys().collect(), installed().into_keys().collect());
    let more: Vec<_> = with.difference(&without).map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(more, ["ConfigMap", "PrometheusRule", "ServiceMonitor"]);
}

type Rights = BTreeMap<(String, String), BTreeSet<String>>;

/// Verbs by group and resource.
fn granted(role: &Value) -> Rights {
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    };
    let mut granted = Rights::new();
    for rule in role["rules"].as_array().unwrap() {
        assert!(rule.get("nonResourceURLs").is_none());
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                granted.entry((group.clone(), resource)).or_default().extend(strings(&rule["verbs"]));
            }
        }
    }
    granted
}

fn verbs<'a>(list: impl IntoIterator<Item = &'a Access>) -> Rights {
    let mut all = Rights::new();
    for access in list {
        let verbs = all.entry((access.group.to_owned(), access.resource.to_owned())).or_default();
        verbs.extend(access.verbs.iter().map(|verb| (*verb).to_owned()));
    }
    all
}

/// One Lease in its own namespace, and no other.
#[test]
fn only_one_lease_is_permitted() {
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
fn two_replicas_run_on_two_nodes_and_are_drained_one_at_a_time() {
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
fn previous_logs_need_their_component() {
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
fn network_needs_its_component() {
    let args = |all: &BTreeMap<(String, String), Value>| {
        find(all, "Deployment", "shindan")["spec"]["template"]["spec"]["containers"][0]["args"].to_string()
    };
    let with = documents(&rendered("deploy/overlays/network"));
    assert!(args(&with).contains("--network") && !args(&installed()).contains("--network"));
    assert_eq!(granted(find(&with, "ClusterRole", "shindan-network")), verbs(&NETWORK));
    let subjects = &find(&with, "ClusterRoleBinding", "shindan")["subjects"];
    assert_eq!(&find(&with, "ClusterRoleBinding", "shindan-network")["subjects"], subjects);
    assert!(!installed().keys().any(|(_, name)| name == "shindan-network"));
}

/// The default installation sends nothing; the component mounts a Secret and grants no permission.
#[test]
fn notifications_need_their_component() {
    let folder = tempfile::TempDir::new().unwrap();
    for name in ["deploy", "crds"] {
        let copied = Command::new("cp").arg("-r").arg(root().join(name)).arg(folder.path()).status().unwrap();
        assert!(copied.success());
    }
    let mine = folder.path().join("deploy/overlays/mine");
    fs::create_dir(&mine).unwrap();
    let text = "resources: [../../base]\ncomponents: [../../components/notify]\n";
    fs::write(mine.join("kustomization.yaml"), text).unwrap();
    let built = Command::new("kubectl").arg("kustomize").arg(&mine).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    let with = documents(&String::from_utf8(built.stdout).unwrap());
    let pod = &find(&with, "Deployment", "shindan")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert!(container["args"].to_string().contains("--notify=/etc/shindan/notify/notify.yaml"));
    assert_eq!(pod["volumes"][1]["secret"]["secretName"], "shindan-notify");
    let mounts: Vec<_> =
        container["volumeMounts"].as_array().unwrap().iter().map(|mount| &mount["mountPath"]).collect();
    assert_eq!(mounts, ["/etc/shindan/notify", "/etc/shindan/notify-secrets"]);
    let file = find(&with, "ConfigMap", "shindan-notify")["data"]["notify.yaml"].as_str().unwrap();
    let settings = shindan::notify::Settings::parse(file).unwrap();
    let url_file = settings.receivers[0].endpoint.url_file.as_deref().unwrap();
    assert!(url_file.starts_with("/etc/shindan/notify-secrets"), "{url_file:?}");
    let roles = |all: &BTreeMap<(String, String), Value>| {
        let of_roles = all.iter().filter(|((kind, _), _)| kind.ends_with("Role"));
        of_roles.map(|(name, role)| (name.clone(), role.clone())).collect::<Vec<_>>()
    };
    assert_eq!(roles(&with), roles(&installed()));
    let default = find(&installed(), "Deployment", "shindan").to_string();
    assert!(!default.contains("notify") && !default.contains("volumes"), "{default}");
}

/// The default installation has no permission to change pods; the component grants it, in selected namespaces only there.
#[test]
fn annotations_need_a_flag_and_a_separate_role() {
    let with = documents(&rendered("deploy/overlays/annotate"));
    let args =
        |all| find(all, "Deployment", "shindan")["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(args(&with).contains("--annotate=pods,workloads") && !args(&installed()).contains("--annotate"));
    let role = find(&with, "ClusterRole", "shindan-annotate");
    assert_eq!(granted(role), verbs(&ANNOTATE));
    let subjects = &find(&with, "ClusterRoleBinding", "shindan")["subjects"];
    assert_eq!(&find(&with, "ClusterRoleBinding", "shindan-annotate")["subjects"], subjects);
    assert!(!installed().keys().any(|(_, name)| name == "shindan-annotate"));
    find(&with, "ValidatingAdmissionPolicy", "shindan-annotate");

    let there = documents(&rendered("deploy/namespace/annotate"));
    assert_eq!(find(&there, "Role", "shindan-annotate")["rules"], role["rules"]);
    assert_eq!(&find(&there, "RoleBinding", "shindan-annotate")["subjects"], subjects);
    assert_eq!(there.len(), 2);
}

#[test]
fn no_document_grants_access_to_secrets() {
    for ((kind, name), document) in installed() {
        if kind != "CustomResourceDefinition" {
            assert!(!document.to_string().to_lowercase().contains("secret"), "{kind} {name} names Secrets");
        }
    }
}

#[test]
fn the_view_role_may_read_diagnoses() {
    let all = installed();
    let reader = find(&all, "ClusterRole", "shindan-reader");
    assert_eq!(reader["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"], "true");
    assert_eq!(
        reader["rules"],
        serde_json::json!([{"apiGroups": ["shindan.dev"], "resources": ["nodediagnoses", "poddiagnoses", "workloaddiagnoses", "diagnosisrules"], "verbs": ["get", "list", "watch"]}])
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
fn the_program_accepts_its_arguments() {
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
fn the_image_has_one_static_binary_and_an_unprivileged_user() {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let last = text.rsplit("\nFROM ").next().unwrap();
    assert!(last.starts_with("scratch"), "the last stage is scratch");
    assert!(last.contains("\nUSER 65532:65532\n"));
    assert_eq!(last.matches("COPY").count(), 1);
    let ignored = fs::read_to_string(root().join(".dockerignore")).unwrap();
    for input in
        ["Cargo.toml", "Cargo.lock", "askama.toml", "build.rs", "catalog", "core", "src", "deploy/image/binary"]
    {
        let is_copied = text.lines().any(|line| line.starts_with("COPY") && line.split(' ').any(|word| word == input));
        assert!(
            is_copied && ignored.lines().any(|line| line == format!("!{input}")),
            "{input} is an input of the build"
        );
    }
    // The same flags and the same image configuration in both builds.
    assert!(text.contains("$(deploy/image/binary)"));
    let flags = fs::read_to_string(root().join("deploy/image/binary")).unwrap();
    assert!(flags.contains("target-feature=+crt-static") && flags.contains("--remap-path-prefix"));
    let image = fs::read_to_string(root().join("deploy/image/image")).unwrap();
    for expected in [r#""User":"65532:65532""#, r#""Entrypoint":["/shindan"]"#, r#""Cmd":["run"]"#, r#""8080/tcp":{}"#]
    {
        assert!(image.contains(expected), "{expected}");
    }
    for label in last.split_whitespace().filter_map(|word| word.strip_prefix("org.opencontainers.image.")) {
        let (name, _) = label.split_once('=').unwrap();
        let value = last.split_once(&format!("{name}=\"")).unwrap().1.split('"').next().unwrap();
        assert!(image.contains(&format!("\"org.opencontainers.image.{name}\":\"{value}\"")), "{name}: {value}");
    }
}
