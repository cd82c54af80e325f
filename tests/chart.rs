//! The Helm chart installs the same objects as kustomize, and accepts the same values as the program. With helm on the PATH:
//! `cargo test --features helm --test chart`; `make check` builds it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use shindan::config::RunArgs;

const CHART: &str = "deploy/chart/shindan";
const NEEDS_HELM: &str = "needs helm, which tests/cluster/cluster build --helm builds";

/// Flags that are no field of `config`: the chart sets the address, the account and the Lease, and flags that need
/// permissions have their own values.
const NOT_CONFIG: [&str; 10] = [
    "config",
    "kubeconfig",
    "context",
    "namespaces",
    "nodes",
    "network",
    "previous-logs",
    "annotate",
    "leader-elect",
    "leader-elect-resource-namespace",
];

#[derive(Debug, Parser)]
struct Run {
    #[command(flatten)]
    run: RunArgs,
}

fn takes(flag: &str, value: &str) -> Result<(), String> {
    Run::try_parse_from(["run", &format!("--{flag}={value}")]).map(|_| ()).map_err(|e| e.to_string())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(CHART).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn schema() -> Value {
    serde_json::from_str(&read("values.schema.json")).unwrap()
}

/// `max-per-namespace` of `maxPerNamespace`.
fn flag_of(field: &str) -> String {
    field.chars().fold(String::new(), |flag, c| match c.to_ascii_lowercase() {
        lower if lower == c => flag + &c.to_string(),
        lower => flag + "-" + &lower.to_string(),
    })
}

/// The fields of `config` with their schemas.
fn config_fields() -> BTreeMap<String, Value> {
    serde_json::from_value(schema()["properties"]["config"]["properties"].clone()).unwrap()
}

/// The range of each duration.
fn durations() -> BTreeMap<String, [String; 2]> {
    let helpers = read("templates/_helpers.tpl");
    let (_, table) = helpers.split_once("{{- define \"shindan.durations\" -}}").unwrap();
    serde_saphyr::from_str(table.split_once("{{- end }}").unwrap().0).unwrap()
}

#[test]
fn the_chart_is_of_this_version() {
    let chart: Value = serde_saphyr::from_str(&read("Chart.yaml")).unwrap();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn each_flag_is_a_field_with_its_default_in_the_values_file() {
    let values = read("values.yaml");
    let mut fields = config_fields();
    for argument in Run::command().get_arguments() {
        let flag = argument.get_long().unwrap();
        if NOT_CONFIG.contains(&flag) {
            continue;
        }
        let field = fields.keys().find(|field| flag_of(field) == flag).cloned();
        let field = field.unwrap_or_else(|| panic!("values.schema.json: config has no field for --{flag}"));
        fields.remove(&field);
        let line = values.lines().find_map(|line| line.strip_prefix(&format!("  # {field}: ")));
        let line = line.unwrap_or_else(|| panic!("values.yaml does not show config.{field}"));
        let value = line.split("  ").next().unwrap().trim_matches('"');
        let default = match (flag, argument.get_default_values()) {
            // The value of deploy/base.
            ("log-format", _) => "json",
            (_, [default]) => default.to_str().unwrap(),
            ("selector", _) => "",
            ("thresholds", _) => "{}",
            _ => "[]",
        };
        assert_eq!(value, default, "values.yaml: config.{field}");
    }
    assert!(fields.is_empty(), "no flags of shindan run: {:?}", fields.keys());
}

/// The program accepts the bounds of each range, and no values beyond.
#[test]
fn ranges_are_those_of_the_program() {
    fn seconds(text: &str) -> i64 {
        shindan::config::Seconds::parse(text).unwrap().0
    }
    let mut timed = durations();
    for (field, schema) in config_fields() {
        let flag = flag_of(&field);
        let range = if schema["$ref"] == "#/definitions/duration" {
            let [least, most] = timed.remove(&field).unwrap_or_else(|| panic!("_helpers.tpl: no range of {field}"));
            Some((seconds(&least), seconds(&most)))
        } else {
            schema.get("minimum").map(|least| (least.as_i64().unwrap(), schema["maximum"].as_i64().unwrap()))
        };
        if let Some((least, most)) = range {
            for within in [least, most] {
                assert_eq!(takes(&flag, &within.to_string()), Ok(()), "{field}");
            }
            for beyond in [least - 1, most + 1] {
                assert!(takes(&flag, &beyond.to_string()).is_err(), "{field}: the program takes {beyond}");
            }
        }
        let one_of: Vec<_> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for value in one_of {
            assert_eq!(takes(&flag, value), Ok(()), "{field}");
        }
    }
    assert!(timed.is_empty(), "_helpers.tpl has ranges of what is no duration: {timed:?}");
}

/// The chart accepts thresholds only for the causes of this list.
#[test]
fn causes_with_a_threshold_are_those_of_the_catalogue() {
    use shindan_core::rules;
    let mut causes: Vec<_> = rules::patient().collect();
    causes.sort_unstable();
    causes.dedup();
    let list = causes.iter().fold(String::new(), |list, cause| list + "- " + cause + "\n");
    let text = format!(
        "{{{{- /* The causes with a threshold, from catalog/. Written by tests/chart.rs. */ -}}}}\n\
         {{{{- define \"shindan.timedCauses\" -}}}}\n{list}{{{{- end }}}}\n"
    );
    let path = root().join(CHART).join("templates/_causes.tpl");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let is_same = fs::read_to_string(&path).is_ok_and(|known| known == text);
    assert!(is_same, "templates/_causes.tpl differs from catalog/: UPDATE=1 cargo test --test chart");
}

#[test]
fn selectors_are_validated_as_by_the_program() {
    let pattern = config_fields()["selector"]["pattern"].as_str().unwrap().to_owned();
    let pattern = regex::Regex::new(&pattern).unwrap();
    let selectors = [
        "",
        " ",
        "env=prod",
        "env==prod",
        "env!=dev,tier in (web,api)",
        "env notin (dev, test) , debug ",
        "!canary",
        "debug=",
        "app.kubernetes.io/part-of=shop",
        "tier in (web,)",
        "a in b",
        "env=dev,",
        ",env",
        "env=de v",
        "env in (dev",
        "env>1",
        "-env",
        "env-",
        "Example.com/a",
        "a/b/c",
        "env=-x",
    ];
    for selector in selectors {
        let taken = takes("selector", selector);
        assert_eq!(pattern.is_match(selector), taken.is_ok(), "{selector:?}: {taken:?}");
    }
}

fn run(command: &mut Command) -> Output {
    command.current_dir(root()).output().unwrap_or_else(|e| panic!("{command:?}: {e}; {NEEDS_HELM}"))
}

fn succeeded(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `helm COMMAND ... --set FIRST --set SECOND`; values are read as JSON.
fn helm(command: &[&str], values: &[&str]) -> Output {
    run(Command::new("helm").args(command).args(values.iter().flat_map(|value| ["--set-json", value])))
}

fn rendered(values: &[&str]) -> Objects {
    let command = ["template", "shindan", CHART, "--namespace", "shindan-system", "--include-crds"];
    objects(&succeeded(helm(&command, values)))
}

fn refused(values: &[&str]) -> String {
    let output = helm(&["template", "shindan", CHART], values);
    assert!(!output.status.success(), "{values:?} are taken");
    String::from_utf8(output.stderr).unwrap()
}

fn kustomized(folder: &str) -> Objects {
    let mut all = objects(&succeeded(run(Command::new("kubectl").args(["kustomize", folder]))));
    // Helm creates it with `--create-namespace`.
    all.remove("Namespace /shindan-system").unwrap();
    all
}

/// By kind, namespace and name.
type Objects = BTreeMap<String, Value>;

fn objects(text: &str) -> Objects {
    let body = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let mut all = Objects::new();
    for part in body.split("---\n").filter(|part| !part.trim().is_empty()) {
        let mut object: Value = serde_saphyr::from_str(part).unwrap_or_else(|e| panic!("{e}\n{part}"));
        // The order of variables does not matter: none refers to another.
        if let Some(Value::Array(env)) = object.pointer_mut("/spec/template/spec/containers/0/env") {
            env.sort_by_key(|variable| variable["name"].to_string());
        }
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        assert!(all.insert(name.clone(), object).is_none(), "{name} twice");
    }
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

fn pod(all: &Objects) -> &Value {
    &all["Deployment shindan-system/shindan"]["spec"]["template"]["spec"]
}

fn container(all: &Objects) -> &Value {
    &pod(all)["containers"][0]
}

/// The templates have no label of Helm (it adds `app.kubernetes.io/managed-by` on installation), so only the Namespace
/// differs.
#[test]
fn the_chart_installs_the_same_objects_as_kustomize() {
    const TEST_CLUSTER: [&str; 5] = [
        r#"image={"repository":"127.0.0.1:5000/shindan","tag":"dev","pullPolicy":"Always"}"#,
        r#"extraEnv[0]={"name":"KUBERNETES_SERVICE_HOST","value":"10.99.0.1"}"#,
        r#"extraEnv[1]={"name":"KUBERNETES_SERVICE_PORT","value":"6443"}"#,
        r#"namespaces=["e2e-watched"]"#,
        "nodes=true",
    ];
    let cases: [(&str, &[&str]); 11] = [
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
        ("overlays/test-cluster", &TEST_CLUSTER[..3]),
        ("overlays/test-cluster-namespaced", &TEST_CLUSTER[..4]),
        ("overlays/test-cluster-namespaced-nodes", &TEST_CLUSTER),
    ];
    for (folder, values) in cases {
        same(folder, &rendered(values), &kustomized(&format!("deploy/{folder}")));
    }
}

/// Another namespace and account change only their names; another release name changes nothing.
#[test]
fn namespace_account_and_release_can_be_changed() {
    let command = ["template", "ours", CHART, "--namespace", "elsewhere", "--include-crds"];
    let annotate = r#"annotate=["pods"]"#;
    let all = ["highAvailability=true", "previousLogs=true", "network=true", "networkPolicy.enabled=true", annotate];
    let elsewhere = succeeded(helm(&command, &all));
    assert!(!elsewhere.contains("shindan-system"));
    same("elsewhere", &objects(&elsewhere.replace("elsewhere", "shindan-system")), &rendered(&all));

    let account = rendered(&[r#"serviceAccount={"name":"robot","annotations":{"team":"a"}}"#]);
    assert_eq!(account["ServiceAccount shindan-system/robot"]["metadata"]["annotations"], json!({"team": "a"}));
    assert_eq!(pod(&account)["serviceAccountName"], "robot");
    for name in ["RoleBinding shindan-system/shindan-lease", "ClusterRoleBinding /shindan"] {
        let subjects = json!([{"kind": "ServiceAccount", "name": "robot", "namespace": "shindan-system"}]);
        assert_eq!(account[name]["subjects"], subjects, "{name}");
    }
    for name in ["FlowSchema /shindan", "FlowSchema /shindan-leader-election"] {
        let subject = &account[name]["spec"]["rules"][0]["subjects"][0]["serviceAccount"]["name"];
        assert_eq!(subject, "robot", "{name}");
    }
}

/// All fields of `config` with their maximum: the program accepts the resulting variables.
#[test]
fn configuration_reaches_the_program() {
    let ranges = durations();
    let mut config = serde_json::Map::new();
    for (field, schema) in config_fields() {
        let value = match (field.as_str(), ranges.get(&field), schema["enum"][0].as_str()) {
            ("ignoreCauses", ..) => json!(["AppError", "oomkilled"]),
            ("excludeNamespaces", ..) => json!(["kube-system", "team-a"]),
            ("kinds", ..) => json!(["certificates.cert-manager.io"]),
            ("selector", ..) => json!("env!=dev,tier in (web,api)"),
            ("thresholds", ..) => json!({"RegistryTimeout": "1d", "PullQPSExceeded": 90}),
            // Descending values.
            ("leaderElectRenewDeadline", ..) => json!(3599),
            ("leaderElectRetryPeriod", ..) => json!("59m58s"),
            (_, Some([_, most]), _) => json!(most),
            (_, _, Some(one)) => json!(one),
            _ => schema["maximum"].clone(),
        };
        config.insert(field, value);
    }
    let all = rendered(&[&format!("config={}", Value::Object(config.clone()))]);
    let args = container(&all)["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap().to_owned());
    let mut args: Vec<_> = args.collect();
    let command = Run::command();
    for variable in container(&all)["env"].as_array().unwrap() {
        let (name, value) = (variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap());
        let flag = command.get_arguments().find(|argument| argument.get_env().is_some_and(|env| env == name));
        let flag = flag.unwrap_or_else(|| panic!("no flag has the variable {name}"));
        args.push(format!("--{}={value}", flag.get_long().unwrap()));
    }
    assert_eq!(args.len(), 3 + config.len() - 1, "{args:?}");
    let run = Run::try_parse_from(args).unwrap().run;
    assert_eq!(run.check(), Ok(()));
    assert_eq!(run.exclude_namespaces, ["kube-system", "team-a"]);
    assert!(run.selector.is_some_and(|selector| !selector.is_empty()));
    assert_eq!(run.thresholds.thresholds().chosen, [("PullQPSExceeded", 90), ("RegistryTimeout", 86_400)]);
    assert_eq!((run.retention.0, run.write_qps, run.listen.port()), (90 * 86_400, 100_000, 8080));
    assert_eq!(
        (run.ignore_causes.join(" "), run.log_format),
        ("AppError OOMKilled".into(), shindan::config::LogForm::Text)
    );
    assert_eq!(run.election.leader_elect_retry_period.0, 3598);
}

#[test]
fn invalid_values_are_rejected_with_name_and_range() {
    let cases: [(&str, &[&str]); 24] = [
        (
            r#"config.thresholds={"RegistryTimeuot":"5m"}"#,
            &["config.thresholds", "RegistryTimeuot is no cause with a threshold", "RegistryTimeout"],
        ),
        (r#"resources={"limits":{"memory":"abc"}}"#, &["/resources/limits/memory", "abc"]),
        (r#"config.ignoreCauses=["OOM Killed"]"#, &["/config/ignoreCauses/0", "OOM Killed"]),
        (
            r#"config.thresholds={"OOMKilled":"5m"}"#,
            &["config.thresholds", "OOMKilled is no cause with a threshold", "RegistryTimeout"],
        ),
        (r#"config.selector="a in b""#, &["/config/selector", "a in b"]),
        (
            r#"config.thresholds={"RegistryTimeout":"2d"}"#,
            &["config.thresholds.RegistryTimeout", "2d must be from 0s to 1d"],
        ),
        (r#"config.retention="1s""#, &["config.retention", "1s must be from 1m to 90d"]),
        ("config.eventGrace=301", &["config.eventGrace", "301 must be from 0s to 5m"]),
        (r#"config.neverReady="soon""#, &["/config/neverReady", "soon"]),
        ("config.neverReady=1.5", &["/config/neverReady", "got number"]),
        (
            r#"config.leaderElectRenewDeadline="10s""#,
            &["leaderElectLeaseDuration (10s) must be longer than", "leaderElectRenewDeadline"],
        ),
        ("config.writeConcurrency=0", &["/config/writeConcurrency", "got 0, want 1"]),
        ("config.writeConcurrency=257", &["/config/writeConcurrency", "got 257, want 256"]),
        (r#"config.logFormat="yaml""#, &["/config/logFormat", "'text', 'json'"]),
        (r#"config.retantion="1h""#, &["/config", "retantion"]),
        (r#"namespaces=["Not_One"]"#, &["/namespaces/0", "Not_One"]),
        (r#"nodes="yes""#, &["/nodes", "got string, want"]),
        ("replicas=-1", &["/replicas", "got -1, want 0"]),
        (r#"image.digest="sha256:1""#, &["/image/digest", "sha256:1"]),
        (r#"image.pullPolicy="Sometimes""#, &["/image/pullPolicy", "'IfNotPresent'"]),
        (r#"podLabels={"app.kubernetes.io/name":"other"}"#, &["/podLabels", "shindan"]),
        ("networkPolicy.apiServer.cidrs=[]", &["/networkPolicy/apiServer/cidrs", "minItems"]),
        ("previousLog=true", &["previousLog"]),
        (r#"annotate=["nodes"]"#, &["/annotate/0", "'pods', 'workloads'"]),
    ];
    for (value, texts) in cases {
        let error = refused(&[value]);
        assert!(texts.iter().all(|word| error.contains(word)), "{value}: {error}");
    }
    let both = refused(&[r#"config.retention="91d""#, r#"config.flappingWindow="59s""#]);
    assert!(both.contains("config.retention: 91d") && both.contains("config.flappingWindow: 59s"), "{both}");
}

#[test]
fn scheduling_values_reach_the_pod() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    let all = rendered(&[
        "highAvailability=true",
        "replicas=3",
        &format!(r#"image={{"digest":"{digest}","tag":"v9","pullSecrets":[{{"name":"registry"}}]}}"#),
        r#"podAnnotations={"prometheus.io/scrape":"false","team":"a"}"#,
        r#"podLabels={"team":"a"}"#,
        r#"nodeSelector={"disk":"ssd"}"#,
        r#"tolerations=[{"operator":"Exists"}]"#,
        r#"affinity={"nodeAffinity":{"some":"rule"}}"#,
        r#"resources.limits.memory="512Mi""#,
        r#"priorityClass={"create":false,"name":"system-cluster-critical"}"#,
        "flowSchema=false",
        "readerRole=false",
    ]);
    let deployment = &all["Deployment shindan-system/shindan"]["spec"];
    assert_eq!(deployment["replicas"], 3);
    let metadata = &deployment["template"]["metadata"];
    assert_eq!(metadata["labels"], json!({"app.kubernetes.io/name": "shindan", "team": "a"}));
    let scrape = &metadata["annotations"];
    assert_eq!((&scrape["prometheus.io/scrape"], &scrape["prometheus.io/port"]), (&json!("false"), &json!("8080")));
    assert_eq!(scrape["team"], "a");
    let (pod, container) = (pod(&all), container(&all));
    assert_eq!(container["image"], format!("ghcr.io/shindan-dev/shindan@{digest}"));
    assert_eq!(
        container["resources"],
        json!({"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}})
    );
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry"}]));
    assert_eq!(
        (&pod["nodeSelector"], &pod["tolerations"]),
        (&json!({"disk": "ssd"}), &json!([{"operator": "Exists"}]))
    );
    assert_eq!(pod["affinity"]["nodeAffinity"], json!({"some": "rule"}));
    assert!(pod["affinity"]["podAntiAffinity"].is_object(), "the replicas still keep apart");
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    for gone in ["PriorityClass", "FlowSchema", "PriorityLevelConfiguration", "ClusterRole /shindan-reader"] {
        assert!(!all.keys().any(|name| name.starts_with(gone)), "{gone}");
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
    let env =
        json!([{"name": "SHINDAN_NAMESPACES", "value": "team-a,team-b"}, {"name": "SHINDAN_NODES", "value": "false"}]);
    assert_eq!(container(&namespaced)["env"], env);
}

#[test]
fn helm_lint_passes() {
    succeeded(helm(&["lint", "--strict", CHART], &[]));
    succeeded(helm(
        &["lint", "--strict", CHART],
        &["highAvailability=true", "networkPolicy.enabled=true", r#"namespaces=["a"]"#],
    ));
}
