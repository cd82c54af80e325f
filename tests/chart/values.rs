//! Each value reaches the object and the field that its name promises.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{CHART, Objects, container, helm, objects, pod, read, rendered, root, run, schema, succeeded};

const EVERY: &str = "tests/chart/every-value.yaml";

/// The paths of all values with a type of their own; those with any keys have none below them.
fn paths(schema: &Value, definitions: &Value, path: &str, found: &mut BTreeSet<String>) {
    let schema = match schema["$ref"].as_str() {
        Some(name) => &definitions[name.rsplit('/').next().unwrap()],
        None => schema,
    };
    let is_open = ["podSecurityContext", "securityContext", "affinity", "resources"].contains(&path);
    match schema["properties"].as_object().filter(|_| !is_open) {
        Some(fields) => fields.iter().filter(|(name, _)| *name != "global").for_each(|(name, field)| {
            let dot = if path.is_empty() { "" } else { "." };
            paths(field, definitions, &format!("{path}{dot}{name}"), found);
        }),
        None => drop(found.insert(path.to_owned())),
    }
}

fn at<'v>(values: &'v Value, path: &str) -> Option<&'v Value> {
    values.pointer(&format!("/{}", path.replace('.', "/")))
}

#[test]
fn helm_lint_passes() {
    succeeded(helm(&["lint", "--strict", CHART], &[]));
    succeeded(helm(&["lint", "--strict", CHART, "-f", EVERY], &[]));
    succeeded(helm(&["lint", "--strict", CHART], &[r#"namespaces=["a"]"#]));
}

/// The schema, the defaults and the file with every value have the same values, and the file changes each default.
#[test]
fn the_schema_has_exactly_the_values_of_the_chart() {
    let (defaults, schema) = (serde_saphyr::from_str::<Value>(&read("values.yaml")).unwrap(), schema());
    let every: Value = serde_saphyr::from_str(&std::fs::read_to_string(root().join(EVERY)).unwrap()).unwrap();
    let mut all = BTreeSet::new();
    paths(&schema, &schema["definitions"], "", &mut all);
    assert!(all.len() > 80, "the schema is understood: {all:?}");
    for path in &all {
        let set = at(&every, path).unwrap_or_else(|| panic!("{EVERY} does not set {path}"));
        let default = at(&defaults, path);
        let is_setting = ["config.", "notify.config."].iter().any(|parent| path.starts_with(parent));
        assert!(is_setting || default.is_some(), "values.yaml has no {path}");
        assert_ne!(Some(set), default, "{EVERY} sets {path} to its default");
    }
}

/// An object without `additionalProperties` accepts misspelt keys; these are parts of the API of Kubernetes and of rules.
#[test]
fn the_schema_accepts_no_unknown_key() {
    const OPEN: [&str; 7] = [
        "/properties/global",
        "/definitions/rule/properties/causes/items",
        "/definitions/rule/properties/tests/items",
        "/properties/extraVolumes/items",
        "/properties/affinity/properties/nodeAffinity",
        "/properties/affinity/properties/podAffinity",
        "/properties/affinity/properties/podAntiAffinity",
    ];
    fn walk(schema: &Value, path: &str, open: &mut Vec<String>) {
        let types = [&schema["type"], &schema["type"][0]];
        if types.contains(&&json!("object")) && schema.get("additionalProperties").is_none() {
            open.push(path.to_owned());
        }
        match schema {
            Value::Object(fields) => fields.iter().for_each(|(name, part)| walk(part, &format!("{path}/{name}"), open)),
            Value::Array(parts) => parts.iter().for_each(|part| walk(part, path, open)),
            _ => {}
        }
    }
    let mut open = Vec::new();
    walk(&schema(), "", &mut open);
    assert_eq!(BTreeSet::from_iter(open), OPEN.map(str::to_owned).into());
}

fn every() -> Objects {
    objects(&succeeded(helm(&["template", "r", CHART, "--namespace", "ops", "-f", EVERY], &[])))
}

#[test]
fn values_of_the_pod_reach_it() {
    let all = every();
    let deployment = &all["Deployment ops/diagnoses-of-shop"]["spec"];
    assert_eq!(deployment["replicas"], 3);
    let (metadata, pod) = (&deployment["template"]["metadata"], &deployment["template"]["spec"]);
    assert_eq!((&metadata["labels"]["team"], &metadata["annotations"]["team"]), (&json!("a"), &json!("a")));
    let scrape = &metadata["annotations"];
    assert_eq!((&scrape["prometheus.io/scrape"], &scrape["prometheus.io/port"]), (&json!("false"), &json!("8080")));
    let selector = json!({"app.kubernetes.io/name": "diagnoses"});
    let expected = json!({
        "imagePullSecrets": [{"name": "registry"}],
        "serviceAccountName": "robot",
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "ops", "effect": "NoSchedule"}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": selector}}],
        "volumes": [{"name": "notify", "configMap": {"name": "diagnoses-of-shop-notify"}},
            {"name": "notify-secrets", "secret": {"secretName": "shindan-notify"}},
            {"name": "settings", "configMap": {"name": "shindan-settings"}}],
        "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 65532, "fsGroup": 1000,
            "supplementalGroups": [2000], "seccompProfile": {"type": "RuntimeDefault"}},
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(pod[field], *value, "{field}");
    }
    assert!(pod["affinity"]["nodeAffinity"].is_object());
    assert!(pod["affinity"]["podAntiAffinity"].is_object(), "the replicas still keep apart");

    let container = &pod["containers"][0];
    let digest = format!("sha256:{}", "0a".repeat(32));
    let expected = json!({
        "image": format!("registry.example.com/shindan@{digest}"),
        "imagePullPolicy": "Always",
        "volumeMounts": [{"name": "notify", "mountPath": "/etc/shindan/notify", "readOnly": true},
            {"name": "notify-secrets", "mountPath": "/etc/shindan/notify-secrets", "readOnly": true},
            {"name": "settings", "mountPath": "/etc/shindan", "readOnly": true}],
        "resources": {"requests": {"cpu": "100m", "memory": "96Mi"}, "limits": {"cpu": 1, "memory": "512Mi"}},
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": true, "seccompProfile": {"type": "Localhost", "localhostProfile": "shindan.json"}},
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(container[field], *value, "{field}");
    }
    let args =
        ["run", "--log-format=text", "--leader-elect", "--previous-logs", "--network", "--annotate=pods,workloads"];
    let args: Vec<_> = args
        .into_iter()
        .chain(["--notify=/etc/shindan/notify/notify.yaml", "--config=/etc/shindan/config.yaml"])
        .collect();
    assert_eq!(container["args"], json!(args));
    let env = container["env"].as_array().unwrap();
    assert!(env.contains(&json!({"name": "RUST_LOG", "value": "debug"})));
    assert!(env.contains(&json!({"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})));
    assert!(env.contains(&json!({"name": "SHINDAN_RETENTION", "value": "72h"})));
}

/// What a value turns off is absent.
#[test]
fn objects_that_are_turned_off_are_absent() {
    let all = every();
    for gone in
        ["PriorityClass", "FlowSchema", "PriorityLevelConfiguration", "ServiceAccount", "ValidatingAdmissionPolicy"]
    {
        assert!(!all.keys().any(|name| name.starts_with(gone)), "{gone}");
    }
    assert!(!all.keys().any(|name| name.ends_with("-reader")));
    let none = rendered(&[r#"priorityClassName="""#]);
    assert!(
        pod(&none).get("priorityClassName").is_none() && !none.keys().any(|name| name.starts_with("PriorityClass"))
    );
    let tag = rendered(&[r#"image.tag="v9""#]);
    assert_eq!(container(&tag)["image"], "ghcr.io/shindan-dev/shindan:v9");
}

/// The Pod Security standard `restricted`, for the pod and its container.
#[test]
fn security_contexts_are_restricted_by_default() {
    for values in [&[][..], &["highAvailability=true", "network=true", "previousLogs=true", "extraEnv=null"]] {
        let all = rendered(values);
        let (pod, container) = (pod(&all), container(&all));
        let context = json!({"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}});
        assert_eq!(pod["securityContext"], context);
        let context = json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}});
        assert_eq!(container["securityContext"], context);
        for absent in ["hostNetwork", "hostPID", "hostIPC", "volumes"] {
            assert!(pod.get(absent).is_none(), "{absent}");
        }
    }
    // The platform chooses the user: the rest stays.
    let any = rendered(&[r#"podSecurityContext={"runAsUser":null,"runAsGroup":null}"#]);
    assert_eq!(
        pod(&any)["securityContext"],
        json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})
    );
}

#[test]
fn the_network_policy_has_the_chosen_peers() {
    let policy = &every()["NetworkPolicy ops/diagnoses-of-shop"]["spec"];
    let prometheus = json!([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
        "podSelector": {"matchLabels": {"app": "prometheus"}}}]);
    assert_eq!(policy["ingress"], json!([{"from": prometheus, "ports": [{"protocol": "TCP", "port": 8080}]}]));
    let egress = json!([
        {"to": [{"ipBlock": {"cidr": "169.254.20.10/32"}}], "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
        {"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}], "ports": [{"protocol": "TCP", "port": 6443}]},
        {"to": [{"ipBlock": {"cidr": "10.1.0.0/16", "except": ["10.1.1.0/24"]}}], "ports": [{"protocol": "TCP", "port": 9093}]},
    ]);
    assert_eq!(policy["egress"], egress);
}

/// A rule is installed as it is written, and the operator may read the kinds that it names, and no others.
#[test]
fn rules_are_installed_with_what_they_read() {
    let all = every();
    let rule = &all["DiagnosisRule /widgets"];
    assert_eq!(rule["apiVersion"], "shindan.dev/v1alpha1");
    assert_eq!(
        rule["spec"]["causes"][0]["summary"],
        "{object.display} is stuck, and {{{{ this }}}} is no template of Helm"
    );
    assert_eq!(rule["spec"]["causes"][0]["match"][1]["when"], "resource.spec.replicas > 2");
    assert_eq!(all["DiagnosisRule /quiet-ci"]["spec"]["exceptions"][0]["namespaces"], json!(["ci"]));
    let granted = |all: &Objects, name: &str| -> BTreeSet<String> {
        let rules = all[name]["rules"].as_array().unwrap();
        assert!(rules.iter().all(|rule| rule["verbs"] == json!(["list", "watch"])));
        let text = |value: &Value| value[0].as_str().unwrap().to_owned();
        rules.iter().map(|rule| format!("{}.{}", text(&rule["resources"]), text(&rule["apiGroups"]))).collect()
    };
    let kinds =
        ["certificates.cert-manager.io", "gadgets.acme.example", "volumes.acme.example", "widgets.acme.example"];
    assert_eq!(granted(&all, "ClusterRole /diagnoses-of-shop-kinds"), kinds.map(str::to_owned).into());
    assert_eq!(all["ClusterRoleBinding /diagnoses-of-shop-kinds"]["subjects"][0]["name"], "robot");
    let none = rendered(&[r#"rules.definitions={"quiet":{"exceptions":[{"cause":"AppError","ignore":true}]}}"#]);
    assert!(!none.contains_key("ClusterRole /shindan-kinds"), "a rule of exceptions reads no kind");
}

/// The examples of docs/rules.md can be values, and get the permission that `shindan rules rbac` prints.
#[test]
fn each_example_rule_can_be_a_value() {
    for path in std::fs::read_dir(root().join("examples/rules")).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|end| end != "yaml") {
            continue;
        }
        let rule: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = rule["metadata"]["name"].as_str().unwrap();
        let all = rendered(&[&format!("rules.definitions={}", json!({name: rule["spec"]}))]);
        assert_eq!(all[&format!("DiagnosisRule /{name}")]["spec"], rule["spec"], "{}", path.display());
        let program = std::process::Command::new(env!("CARGO_BIN_EXE_shindan"))
            .args(["rules", "rbac", "--rules"])
            .arg(&path)
            .output()
            .unwrap();
        let printed = String::from_utf8(program.stdout).unwrap();
        let role = all.get("ClusterRole /shindan-kinds");
        match role.map(|role| &role["rules"]) {
            Some(rules) => {
                let printed = objects(&printed);
                let theirs = printed.iter().find(|(name, _)| name.starts_with("ClusterRole ")).unwrap().1;
                let sorted = |rules: &Value| -> BTreeSet<String> {
                    rules.as_array().unwrap().iter().map(Value::to_string).collect()
                };
                assert_eq!(sorted(rules), sorted(&theirs["rules"]), "{}", path.display());
            }
            None => assert!(!printed.contains("watch"), "{}: {printed}", path.display()),
        }
    }
}

/// The chart can be a part of another one, whose `global` it ignores.
#[test]
fn the_chart_can_be_a_dependency() {
    let output =
        run(std::process::Command::new("helm").args(["template", "shindan", CHART, "--set-json", r#"global={"a":1}"#]));
    assert!(succeeded(output).contains("kind: Deployment"));
}
