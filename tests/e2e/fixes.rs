//! Remedies are proven: a failing workload of tests/fixes/manifests is applied, the first command that its diagnosis offers is
//! pasted into a shell as it is printed, and the workload recovers. `kubectl shindan fix` does the same on its own.
//!
//! `make test` runs the manifests with `# short`, `make test-long ONLY=fixes` all of them, for docs/reports/fixes.md.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::api::{Api, ListParams};
use serde_json::{Value, json};
use shindan_core::api::{PodDiagnosis, WorkloadDiagnosis};
use tokio::time::Instant;

use crate::support::{KUBELET, Space, client, ensure, eventually, kubectl, run_directory, together, try_kubectl};

/// How long a workload may take to recover: the kubelet tries again after up to 90 seconds.
const RECOVERY: Duration = Duration::from_secs(240);

/// How long a diagnosis may take to be complete: that of the workload comes after that of its pod, and whether an older
/// revision was ready is known after a lookup.
const SETTLED: Duration = Duration::from_secs(60);

/// How long the first command must be the same: on a busy machine, lookups complete it some seconds later.
const UNCHANGED: Duration = Duration::from_secs(10);

/// A manifest, and what its head states.
#[derive(Debug)]
struct Case {
    name: String,
    what: String,
    cause: String,
    /// `deploy/web`.
    object: String,
    heals: Heals,
    /// `kubectl shindan fix` applies it: the names that its remedy needs are not read by the operator.
    by_fix: bool,
    /// Values of placeholders.
    fill: BTreeMap<String, String>,
    namespace_labels: Vec<String>,
    first: String,
    then: Option<String>,
    is_short: bool,
    /// It takes what the node has left, so that no other case can run beside it.
    is_alone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heals {
    /// By the first command as it is printed.
    Command,
    /// By the first command with the values that only a person knows.
    Filled,
    /// Only a person can know what to do.
    Human,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<Case> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("tests/fixes/manifests")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| case(file)).collect()
}

fn case(file: &Path) -> Case {
    let text = fs::read_to_string(file).unwrap();
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let head = |key: &str| {
        let start = format!("# {key}: ");
        text.lines()
            .filter_map(move |line| line.strip_prefix(&*start).map(|value| value.trim().to_owned()))
            .collect::<Vec<_>>()
    };
    let one = |key: &str| head(key).into_iter().next().unwrap_or_else(|| panic!("{name}: no line `# {key}: `"));
    let heals = match one("heals").as_str() {
        "command" => Heals::Command,
        "filled" => Heals::Filled,
        "human" => Heals::Human,
        other => panic!("{name}: heals: {other}"),
    };
    let fill = head("fill").into_iter().map(|pair| {
        let (name, value) = pair.split_once('=').expect("fill: <NAME>=value");
        (name.to_owned(), value.to_owned())
    });
    let (first, then) = match text.split_once("\n# then:") {
        Some((first, then)) => (first.to_owned(), Some(then.split_once('\n').map_or("", |(_, rest)| rest).to_owned())),
        None => (text.clone(), None),
    };
    Case {
        what: one("what"),
        cause: one("expect"),
        object: one("object"),
        heals,
        by_fix: head("by").iter().any(|by| by == "fix"),
        fill: fill.collect(),
        namespace_labels: head("namespace-labels"),
        is_short: text.lines().any(|line| line == "# short"),
        is_alone: text.lines().any(|line| line == "# alone"),
        first,
        then,
        name,
    }
}

/// Runs the plugin with a configuration that `kubectl` has.
fn shindan(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shindan")).args(args).env("LC_ALL", "C.UTF-8").output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The statuses of the Active diagnoses of a namespace with their kinds: first those of workloads.
async fn active(namespace: &str) -> Vec<(&'static str, Value)> {
    let all = ListParams::default();
    let workloads = Api::<WorkloadDiagnosis>::namespaced(client(), namespace).list(&all).await.unwrap();
    let pods = Api::<PodDiagnosis>::namespaced(client(), namespace).list(&all).await.unwrap();
    let workloads = workloads.items.iter().map(|object| ("WorkloadDiagnosis", json!(object.status)));
    let pods = pods.items.iter().map(|object| ("PodDiagnosis", json!(object.status)));
    workloads.chain(pods).filter(|(_, status)| status["state"] == "Active" && status["severity"] != "Info").collect()
}

/// The first command that a diagnosis offers.
fn first_command(status: &Value) -> Option<&str> {
    status["remedies"].as_array()?.iter().find_map(|remedy| remedy["command"].as_str())
}

/// Whether a command changes nothing.
fn reads(command: &str) -> bool {
    [" rollout history ", " logs ", " get ", " describe "].iter().any(|verb| command.contains(verb))
}

/// What became of a case.
#[derive(Debug, Clone)]
struct Done {
    command: String,
    result: &'static str,
    detail: String,
}

/// The objects of a manifest, of which some may belong to no namespace. They are deleted at the end.
struct Applied<'a> {
    space: &'a Space,
    manifest: &'a str,
}

impl Drop for Applied<'_> {
    fn drop(&mut self) {
        let args = ["-n", &self.space.name, "delete", "--ignore-not-found", "--wait=false", "-f", "-"];
        let _ = try_kubectl(&args, Some(self.manifest));
    }
}

/// `keep` takes what became of it; the last call counts.
async fn run(case: &Case, keep: impl Fn(Done)) {
    let space = Space::named(format!("fix-{}", case.name)).await;
    for label in &case.namespace_labels {
        kubectl(&["label", "namespace", &space.name, label]);
    }
    let _applied = Applied { space: &space, manifest: &case.first };
    space.apply(&case.first);
    if let Some(then) = &case.then {
        space.kubectl(&["rollout", "status", &case.object, "--timeout=120s"]);
        space.apply(then);
    }
    let began = Instant::now();
    let last: RefCell<Option<(String, Instant)>> = RefCell::default();
    let found = eventually(KUBELET, format!("{} is {}", case.name, case.cause), async || {
        let all = active(&space.name).await;
        let is_due = |kind: &str, status: &Value| {
            let is_of_object = kind == "WorkloadDiagnosis" || case.object.starts_with("pod/");
            let is_complete = first_command(status).is_some_and(|command| !reads(command));
            is_of_object && (is_complete || case.by_fix || case.heals == Heals::Human) || began.elapsed() > SETTLED
        };
        let of_cause = all.iter().find(|(kind, status)| status["cause"] == *case.cause && is_due(kind, status));
        let seen: Vec<_> = all.iter().map(|(_, status)| &status["cause"]).collect();
        let status = of_cause.map(|(_, status)| status.clone()).ok_or_else(|| format!("{seen:?}"))?;
        // A lookup may complete the remedies with a second write.
        let command = first_command(&status).unwrap_or_default().to_owned();
        let mut last = last.borrow_mut();
        match &*last {
            Some((of, since)) if *of == command && since.elapsed() >= UNCHANGED => return Ok(status),
            Some((of, _)) if *of == command => {}
            _ => *last = Some((command, Instant::now())),
        }
        Err(format!("its first command is less than {UNCHANGED:?} old"))
    })
    .await;
    let command = first_command(&found).unwrap_or_default().to_owned();
    let done = |result, detail: String| Done { command: command.clone(), result, detail };
    if case.heals == Heals::Human {
        let text = found["remedies"][0]["text"].as_str().unwrap_or_default().to_owned();
        return keep(done("human", text));
    }
    if case.by_fix {
        let fixed = shindan(&["fix", &case.object, "-n", &space.name, "--yes", "--timeout", "3m"]);
        let result = if fixed.status.code() == Some(0) { "recovered" } else { "not recovered" };
        return keep(done(result, text(&fixed)));
    }
    // Some commands keep a manifest in a file; an editor has no user here. `kubectl delete` may wait for ever.
    let folder = tempfile::tempdir().unwrap();
    let filled = case.fill.iter().fold(command.clone(), |command, (name, value)| command.replace(name.as_str(), value));
    let pasted = Command::new("timeout")
        .args(["240", "sh", "-c", &filled])
        .env("KUBE_EDITOR", "false")
        .current_dir(folder.path())
        .output()
        .unwrap();
    if !pasted.status.success() {
        return keep(done("refused", text(&pasted)));
    }
    keep(done("not recovered", String::new()));
    eventually(RECOVERY, format!("{} is healthy", case.object), async || {
        let waited = shindan(&["look", &case.object, "-n", &space.name, "--wait", "--timeout", "60s"]);
        ensure(waited.status.code() == Some(0), || text(&waited))
    })
    .await;
    keep(done("recovered", String::new()));
}

/// Runs cases side by side, each as a test of its own namespace. Returns what became of each, in order.
fn run_all(cases: &[Case], threads: usize) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Done>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((place, case)) = cases.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
                    let panicked = std::panic::catch_unwind(|| {
                        let keep = |done| drop(results.lock().unwrap().insert(place, done));
                        together(run(case, keep));
                    });
                    if let Some(done) = results.lock().unwrap().get(&place) {
                        println!("{}: {}", case.name, done.result);
                    }
                    if panicked.is_err() {
                        let done = Done { command: String::new(), result: "not diagnosed", detail: String::new() };
                        results.lock().unwrap().entry(place).or_insert(done);
                    }
                }
            });
        }
    });
    results.into_inner().unwrap().into_values().collect()
}

#[test]
fn first_commands_heal() {
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.is_short).collect();
    assert_eq!(cases.len(), 12, "manifests with `# short`");
    let results = run_all(&cases, 6);
    let failed: Vec<String> = cases
        .iter()
        .zip(&results)
        .filter(|(_, done)| done.result != "recovered")
        .map(|(case, done)| format!("{}: {} by `{}`: {}", case.name, done.result, done.command, done.detail))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// How many of the manifests recover at least.
#[cfg(feature = "e2e-long")]
const RECOVERING: usize = 45;

#[cfg(feature = "e2e-long")]
#[test]
fn most_first_commands_heal() {
    // FIXES=NAME,NAME runs some of them.
    let named = std::env::var("FIXES").ok();
    let is_named = |case: &Case| named.as_ref().is_none_or(|names| names.split(',').any(|name| name == case.name));
    let (alone, mut cases): (Vec<Case>, Vec<Case>) =
        cases().into_iter().filter(is_named).partition(|case| case.is_alone);
    let mut results = run_all(&cases, 8);
    results.extend(run_all(&alone, 1));
    cases.extend(alone);
    let count = |result: &str| results.iter().filter(|done| done.result == result).count();
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    println!("| manifest | what is wrong | cause | first command | result |\n|---|---|---|---|---|");
    for (case, done) in cases.iter().zip(&results) {
        let (what, command) = (cell(&case.what), cell(&done.command));
        println!("| {} | {what} | {} | {command} | {} |", case.name, case.cause, done.result);
        if !matches!(done.result, "recovered" | "human") {
            println!("{}: {}: {}", case.name, done.result, done.detail);
        }
    }
    let (all, recovered, human) = (cases.len(), count("recovered"), count("human"));
    println!("found: of {all} failing manifests, {recovered} recover by the first command, {human} need a person");
    assert!(named.is_some() || recovered >= RECOVERING, "{recovered} of {all} recover");
}

const WRONG_PORT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: LABELS}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: web
        image: 127.0.0.1:5000/nginx:1.27
        ports: [{containerPort: 80}]
        livenessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1, failureThreshold: 2}
        resources: {requests: {cpu: 10m}}
";

async fn failing(space: &Space, labels: &str) {
    space.apply(&WRONG_PORT.replace("LABELS", labels));
    space.await_workload("deployment-web", KUBELET, |status| status.head.cause == "LivenessProbeFailed").await;
}

fn generation(space: &Space) -> String {
    space.kubectl(&["get", "deployment", "web", "-o", "jsonpath={.metadata.generation}"])
}

#[test]
fn fix_tries_without_yes_and_heals_with_it() {
    together(async {
        let space = Space::new("fix").await;
        failing(&space, "{}").await;
        let before = generation(&space);
        let tried = shindan(&["fix", "deploy/web", "-n", &space.name]);
        let shown = text(&tried);
        assert_eq!(tried.status.code(), Some(2), "{shown}");
        for words in
            ["LivenessProbeFailed", "the API server would accept it (dry run)", "port: 80\n", "nothing was changed"]
        {
            assert!(shown.contains(words), "{words}\n{shown}");
        }
        assert_eq!(generation(&space), before, "a dry run persists nothing");

        let fixed = shindan(&["fix", "deploy/web", "-n", &space.name, "--yes", "--timeout", "4m"]);
        let shown = text(&fixed);
        assert_eq!(fixed.status.code(), Some(0), "{shown}");
        assert!(shown.contains("Recovered: Deployment/web is healthy") && shown.contains("Undo it with:"), "{shown}");
        let managers = space.kubectl(&[
            "get",
            "deployment",
            "web",
            "--show-managed-fields",
            "-o",
            "jsonpath={.metadata.managedFields[*].manager} {.metadata.annotations}",
        ]);
        assert!(managers.contains("kubectl-shindan") && managers.contains("LivenessProbeFailed at "), "{managers}");
    });
}

#[test]
fn fix_creates_a_bare_pod_again() {
    together(async {
        let space = Space::new("fix-pod").await;
        let (_, spec) = WRONG_PORT.split_once("    spec:\n").unwrap();
        space
            .apply(&format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web, labels: {{app: web}}}}\nspec:\n{spec}"));
        space.diagnosed("web", "LivenessProbeFailed", KUBELET).await;
        let uid = || space.kubectl(&["get", "pod", "web", "-o", "jsonpath={.metadata.uid}"]);
        let before = uid();
        let tried = text(&shindan(&["fix", "pod/web", "-n", &space.name]));
        assert!(
            tried.contains("Pod web, which is deleted and created again:") && tried.contains("port: 80\n"),
            "{tried}"
        );
        assert_eq!(uid(), before, "a dry run persists nothing");

        let fixed = shindan(&["fix", "pod/web", "-n", &space.name, "--yes", "--timeout", "4m"]);
        let shown = text(&fixed);
        assert_eq!(fixed.status.code(), Some(0), "{shown}");
        assert!(shown.contains("Pod web is deleted and created again."), "{shown}");
        assert_ne!(uid(), before);
        let (_, undo) = shown.rsplit_once("replace --force -f ").expect("a command that undoes it");
        let kept: Value = serde_json::from_slice(&fs::read(undo.trim()).unwrap()).unwrap();
        assert_eq!(kept["spec"]["containers"][0]["livenessProbe"]["httpGet"]["port"], 8080);
        fs::remove_file(undo.trim()).unwrap();
    });
}

/// The requests of the service account of [`AUDITED`] that could change something: `VERB RESOURCE/NAME`, and whether it was a
/// dry run.
fn audited_writes() -> Vec<(String, bool)> {
    let log = fs::read_to_string(run_directory().join("log/audit.log")).unwrap();
    let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    entries
        .filter(|entry| entry["user"]["username"] == format!("system:serviceaccount:{AUDITED}:fixer"))
        .filter(|entry| !matches!(entry["verb"].as_str(), Some("get" | "list" | "watch")))
        .filter(|entry| entry["objectRef"]["resource"] != "selfsubjectaccessreviews")
        .map(|entry| {
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let of = &entry["objectRef"];
            let request = format!("{} {}/{}", word(&entry["verb"]), word(&of["resource"]), word(&of["name"]));
            (request, word(&entry["requestURI"]).contains("dryRun=All"))
        })
        .collect()
}

/// The API server keeps an audit log of the service accounts of this namespace.
const AUDITED: &str = "fix-audited";

#[test]
fn the_audit_log_shows_that_fix_touches_only_the_object_named() {
    together(async {
        let space = Space::named(AUDITED.to_owned()).await;
        failing(&space, "{}").await;
        space.apply(
            &WRONG_PORT.replace("LABELS", "{}").replace("name: web", "name: other").replace("app: web", "app: other"),
        );
        space.kubectl(&["create", "serviceaccount", "fixer"]);
        let account = format!("--serviceaccount={AUDITED}:fixer");
        space.kubectl(&["create", "rolebinding", "fixer", "--clusterrole=edit", &account]);
        let token = space.kubectl(&["create", "token", "fixer"]);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), kubectl(&["config", "view", "--raw", "--minify", "--flatten"])).unwrap();
        let kubeconfig = file.path().to_str().unwrap();
        kubectl(&["--kubeconfig", kubeconfig, "config", "set-credentials", "fixer", "--token", token.trim()]);
        kubectl(&["--kubeconfig", kubeconfig, "config", "set-context", "--current", "--user=fixer"]);
        let fix = |more: &[&str]| {
            let args = ["fix", "deploy/web", "-n", AUDITED, "--kubeconfig", kubeconfig];
            let output = shindan(&[&args, more].concat());
            (output.status.code(), text(&output))
        };

        let (code, shown) = fix(&[]);
        assert_eq!(code, Some(2), "{shown}");
        let tried = audited_writes();
        assert!(!tried.is_empty() && tried.iter().all(|(_, is_dry)| *is_dry), "{tried:?}");

        let (code, shown) = fix(&["--yes", "--timeout", "4m"]);
        assert_eq!(code, Some(0), "{shown}");
        let applied: Vec<String> =
            audited_writes().into_iter().filter(|(_, is_dry)| !is_dry).map(|(request, _)| request).collect();
        assert_eq!(applied, ["patch deployments/web"]);
    });
}

#[test]
fn fix_judges_the_changed_template() {
    together(async {
        let space = Space::new("fix-judged").await;
        space.apply(&WRONG_PORT.replace("LABELS", "{}").replace("cpu: 10m", "cpu: 64"));
        space.await_workload("deployment-web", KUBELET, |status| status.head.cause == "InsufficientCpu").await;
        let shown = text(&shindan(&["fix", "deploy/web", "-n", &space.name]));
        assert!(shown.contains("A pod of it fits node1."), "{shown}");
    });
}

#[test]
fn fix_leaves_managed_objects_to_their_tool() {
    together(async {
        let space = Space::new("fix-managed").await;
        failing(&space, "{app.kubernetes.io/managed-by: Helm}").await;
        let before = generation(&space);
        let refused = shindan(&["fix", "deploy/web", "-n", &space.name, "--yes"]);
        let shown = text(&refused);
        assert_eq!(refused.status.code(), Some(2), "{shown}");
        assert!(shown.contains("Deployment web is managed: change the values of its Helm release instead"), "{shown}");
        assert_eq!(generation(&space), before);
    });
}

#[test]
fn fix_names_the_permission_that_is_missing() {
    together(async {
        let space = Space::new("fix-rights").await;
        failing(&space, "{}").await;
        space.kubectl(&["create", "serviceaccount", "reader"]);
        space.kubectl(&[
            "create",
            "rolebinding",
            "reader",
            "--clusterrole=view",
            &format!("--serviceaccount={}:reader", space.name),
        ]);
        let user = format!("system:serviceaccount:{}:reader", space.name);
        let refused = shindan(&["fix", "deploy/web", "-n", &space.name, "--yes", "--as", &user]);
        let shown = text(&refused);
        assert_eq!(refused.status.code(), Some(2), "{shown}");
        assert!(shown.contains("cannot patch resource \"deployments\""), "{shown}");
    });
}

#[test]
fn fix_undoes_what_does_not_help() {
    together(async {
        let space = Space::new("fix-undone").await;
        // The image that the user names does not exist either.
        space.apply(
            &WRONG_PORT
                .replace("LABELS", "{}")
                .replace("nginx:1.27", "nginx:none")
                .replace("spec:\n  replicas", "spec:\n  progressDeadlineSeconds: 20\n  replicas"),
        );
        space.await_workload("deployment-web", KUBELET, |status| status.head.cause == "ImageTagNotFound").await;
        let args = [
            "fix",
            "deploy/web",
            "-n",
            &space.name,
            "--yes",
            "--set",
            "IMAGE=127.0.0.1:5000/nginx:nope",
            "--rollback-on-failure",
            "--timeout",
            "90s",
        ];
        let output = shindan(&args);
        let shown = text(&output);
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(shown.contains("Not recovered") && shown.contains("The change of Deployment web is undone"), "{shown}");
        let image =
            space.kubectl(&["get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}"]);
        assert_eq!(image, "127.0.0.1:5000/nginx:none");
    });
}

#[test]
fn each_manifest_states_what_heals_it() {
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    for case in &cases {
        assert!(!case.what.is_empty(), "{}", case.name);
        assert!(!(case.is_short && case.is_alone), "{}: the short form runs side by side", case.name);
        assert!(case.heals != Heals::Filled || !case.fill.is_empty(), "{}: fill", case.name);
    }
}
