//! The command line of the binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A pod with a missing image tag, which fails without a threshold.
fn failing(name: &str, namespace: &str) -> String {
    format!(
        r#"
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}, uid: {namespace}-{name}, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{nodeName: n1, containers: [{{name: web, image: "nginx:nope"}}]}}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  conditions: [{{type: PodScheduled, status: "True"}}, {{type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-11-21T09:00:00Z"}}]
  containerStatuses:
  - name: web
    image: nginx:nope
    restartCount: 0
    state: {{waiting: {{reason: ImagePullBackOff, message: 'Back-off pulling image "nginx:nope": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nginx:nope": failed to resolve reference "docker.io/library/nginx:nope": docker.io/library/nginx:nope: not found'}}}}
---
kind: Event
involvedObject: {{kind: Pod, namespace: {namespace}, name: {name}, uid: {namespace}-{name}}}
reason: Scheduled
lastTimestamp: "2026-11-21T09:10:00Z"
"#
    )
}

/// A pod that is unschedulable since 09:00, its newest timestamp.
const PENDING: &str = r#"
kind: Pod
metadata: {name: waits, creationTimestamp: "2026-11-21T09:00:00Z"}
spec: {containers: [{name: web, image: nginx}], nodeSelector: {disk: ssd}}
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, lastTransitionTime: "2026-11-21T09:00:00Z",
    message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."}]
---
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
"#;

const HEALTHY: &str = r#"
kind: Pod
metadata: {name: fine, uid: w, creationTimestamp: "2026-11-21T09:00:00Z"}
spec: {nodeName: n1, containers: [{name: web, image: nginx}]}
status:
  phase: Running
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-21T09:00:05Z"}]
  containerStatuses: [{name: web, ready: true, started: true, restartCount: 0, state: {running: {startedAt: "2026-11-21T09:00:04Z"}}}]
"#;

fn shindan(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shindan"))
        .env("LC_ALL", "C.UTF-8")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that reads no input may exit before the write.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_failing_pod_is_named_with_its_cause() {
    let done = shindan(&["diagnose", "-f", "-"], &(failing("web", "shop") + "---" + HEALTHY));
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let lines: Vec<&str> = out(&done).lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head, ["NAME", "CAUSE", "CONTAINER", "SEVERITY", "STATE", "RESTARTS", "SINCE"]);
    assert!(lines[1].starts_with("web ") && lines[1].contains("ImageTagNotFound"), "{}", lines[1]);
}

#[test]
fn a_failure_without_a_pod_starts_at_the_time_of_its_workload() {
    let job = r#"
kind: Job
apiVersion: batch/v1
metadata: {name: import, namespace: shop, uid: j, creationTimestamp: "2026-11-21T09:00:00Z"}
spec: {backoffLimit: 0, completions: 1, parallelism: 1}
status: {failed: 1, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-11-21T09:05:00Z"}]}
"#;
    let run = shindan(&["diagnose", "-f", "-", "--at", "2026-11-21T09:45:00Z"], job);
    let row: Vec<_> = out(&run).lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert_eq!(row, ["job-import", "JobBackoffLimitExceeded", "JobFailed", "Critical", "Active", "0/1", "40m"]);
}

#[test]
fn two_namespaces_are_distinguished_and_one_can_be_selected() {
    let text = failing("web", "shop") + "---" + &failing("web", "bank");
    let both = shindan(&["diagnose", "-f", "-", "-o", "wide"], &text);
    let head = out(&both).lines().next().unwrap();
    assert!(head.starts_with("NAMESPACE") && head.ends_with("SUMMARY"), "{head}");
    assert_eq!(out(&both).lines().count(), 3);
    let one = shindan(&["diagnose", "-f", "-", "-n", "bank", "-o", "name"], &text);
    assert_eq!(out(&one), "poddiagnosis.shindan.dev/web\n");
    let none = shindan(&["diagnose", "-f", "-", "-n", "other", "--exit-code"], &text);
    let refused = "error: the input has no objects in namespace other, only in bank, shop\n";
    assert_eq!((none.status.code(), err(&none)), (Some(1), refused), "a misspelt namespace is an error");
}

#[test]
fn json_and_yaml_are_a_list_of_the_objects() {
    let json = shindan(&["diagnose", "-f", "-", "-o", "json"], &failing("web", "shop"));
    let list: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&"v1".into(), &"List".into()));
    let item = &list["items"][0];
    assert_eq!((&item["kind"], &item["metadata"]["name"]), (&"PodDiagnosis".into(), &"web".into()));
    assert_eq!(item["metadata"]["labels"]["shindan.dev/cause"], "ImageTagNotFound");
    assert_eq!(item["spec"]["podUID"], "shop-web");
    assert_eq!(item["status"]["podStatus"], "ImagePullBackOff");
    let yaml = shindan(&["diagnose", "-f", "-", "-o", "yaml"], &failing("web", "shop"));
    let same: serde_json::Value = serde_saphyr::from_str(out(&yaml)).unwrap();
    assert_eq!(same, list);
}

#[test]
fn no_failure_is_reported_on_standard_error_only() {
    let done = shindan(&["diagnose", "-f", "-", "--exit-code"], HEALTHY);
    assert_eq!((done.status.code(), out(&done)), (Some(0), ""));
    assert_eq!(err(&done), "No failing pods found in 1 pod.\n");
    let json = shindan(&["diagnose", "-f", "-", "-o", "json"], HEALTHY);
    let list: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(list["items"], serde_json::json!([]));
    let empty = shindan(&["diagnose", "-f", "-"], "apiVersion: v1\nitems: []\nkind: List\n");
    assert_eq!((empty.status.code(), err(&empty)), (Some(0), "No failing pods found in 0 pods.\n"));
}

#[test]
fn the_exit_code_separates_failures_from_errors_only_with_the_flag() {
    let text = failing("web", "shop");
    assert_eq!(shindan(&["diagnose", "-f", "-"], &text).status.code(), Some(0));
    assert_eq!(shindan(&["diagnose", "-f", "-", "--exit-code"], &text).status.code(), Some(2));
    assert_eq!(shindan(&["diagnose", "-f", "-", "--exit-code", "--bogus"], &text).status.code(), Some(1));
    assert_eq!(shindan(&["diagnose", "--help"], "").status.code(), Some(0));
}

#[test]
fn one_bad_document_does_not_lose_the_others() {
    let text = format!("kind: Pod\nmetadata: [oops\n---{}", failing("web", "shop"));
    let done = shindan(&["diagnose", "-f", "-", "-o", "name", "--exit-code"], &text);
    assert_eq!(out(&done), "poddiagnosis.shindan.dev/web\n");
    assert!(err(&done).starts_with("warning: standard input: document 1, line "), "{}", err(&done));
    assert_eq!(done.status.code(), Some(1));
}

#[test]
fn unreadable_files_are_named() {
    let missing = shindan(&["diagnose", "-f", "nowhere.yaml"], "");
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(err(&missing), "error: nothing to diagnose: nowhere.yaml: no such file or folder\n");
    let no_objects = shindan(&["diagnose", "-f", "-"], "replicas: 3\n");
    assert_eq!(no_objects.status.code(), Some(1));
    assert!(err(&no_objects).contains("no Kubernetes objects"), "{}", err(&no_objects));
    let also = shindan(&["diagnose", "-f", "-", "-f", "nowhere.yaml", "-o", "name"], &failing("web", "shop"));
    assert_eq!((also.status.code(), out(&also)), (Some(1), "poddiagnosis.shindan.dev/web\n"));
    assert_eq!(err(&also), "warning: nowhere.yaml: no such file or folder\n");
}

#[test]
fn a_folder_of_cluster_info_dump_is_read_recursively() {
    let folder = tempfile::tempdir().unwrap();
    let pod = failing("web", "shop");
    let pod = pod.split("---").next().unwrap();
    let value: serde_json::Value = serde_saphyr::from_str(pod).unwrap();
    let list = serde_json::json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [value]});
    file(&folder, "shop/pods.json", &list.to_string());
    file(&folder, "shop/web/logs.txt", "kind: [not yaml");
    file(&folder, "nodes.json", r#"{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "n1"}}]}"#);
    file(&folder, "values.yaml", "replicas: 3\n");
    let done = shindan(&["diagnose", "-f", folder.path().to_str().unwrap(), "-o", "name"], "");
    assert_eq!((out(&done), err(&done)), ("poddiagnosis.shindan.dev/web\n", ""));
    assert_eq!(done.status.code(), Some(0));
}

#[test]
fn a_dump_is_diagnosed_at_its_own_time_unless_overridden() {
    let young = shindan(&["diagnose", "-f", "-", "-o", "name", "--at", "2026-11-21T09:00:00Z"], PENDING);
    assert_eq!(out(&young), "", "at that time the pod has waited for no time at all");
    let snapshot = shindan(&["diagnose", "-f", "-", "-o", "name"], PENDING);
    assert_eq!(
        out(&snapshot),
        "poddiagnosis.shindan.dev/waits\n",
        "the scheduler has refused it, and a dump has no later message"
    );
    let starting = PENDING.replace("reason: Unschedulable", "reason: SchedulingGated");
    assert_eq!(out(&shindan(&["diagnose", "-f", "-", "-o", "name"], &starting)), "");
    let later = shindan(&["diagnose", "-f", "-", "-o", "name", "--at", "2026-11-21T09:30:00Z"], PENDING);
    assert_eq!(out(&later), "poddiagnosis.shindan.dev/waits\n", "{}", err(&later));
    let patient = ["diagnose", "-f", "-", "-o", "name", "--at", "2026-11-21T09:30:00Z", "--unschedulable", "1h"];
    assert_eq!(out(&shindan(&patient, PENDING)), "");
    let early = shindan(&["diagnose", "-f", "-", "--at", "2026-11-20T09:00:00Z"], PENDING);
    assert!(err(&early).starts_with("warning: --at 2026-11-20T09:00:00Z is before"), "{}", err(&early));
    let wrong = shindan(&["diagnose", "-f", "-", "--at", "yesterday"], PENDING);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(err(&wrong).contains("--at"), "{}", err(&wrong));
}

#[test]
fn causes_ignore_case_and_misspelt_ones_get_a_suggestion() {
    let known = shindan(&["explain", "imagetagnotfound"], "");
    assert!(out(&known).starts_with("ImageTagNotFound (Image)\n"), "{}", out(&known));
    assert!(out(&known).contains("What to do"));
    let unknown = shindan(&["explain", "ImageTagNotFuond"], "");
    assert_eq!((unknown.status.code(), out(&unknown)), (Some(1), ""));
    assert!(err(&unknown).contains("Did you mean ImageTagNotFound"), "{}", err(&unknown));
    let state = shindan(&["explain", "CrashLoopBackOff"], "");
    assert_eq!(state.status.code(), Some(1));
    assert!(err(&state).contains("is a state, not a cause"), "{}", err(&state));
}

#[test]
fn labels_and_names_exclude_each_other() {
    for words in [&["pod/web"][..], &["pod", "web"], &["deploy/web", "sts/db"]] {
        let both = shindan(&[&["look", "-l", "app=web"], words].concat(), "");
        assert_eq!(both.status.code(), Some(1), "{words:?}");
        assert!(err(&both).contains("leave out the names, as in `pod -l app=web`"), "{words:?}: {}", err(&both));
    }
}

#[test]
fn causes_are_listed_as_table_and_json() {
    let table = shindan(&["causes"], "");
    assert!(out(&table).contains("ImageTagNotFound"));
    let json = shindan(&["causes", "-o", "json"], "");
    let list: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len() + 1, out(&table).lines().count());
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shindan"))
        .env("LC_ALL", "C.UTF-8")
        .args(["causes", "-o", "md"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), err(&done)), (Some(0), ""));
}

#[test]
fn texts_of_a_dump_do_not_control_the_terminal() {
    let odd = r#""\e]0;x\a\e]8;;https://evil.example\e\\w\e[2J\x9b2Jb\r\u202e\u2066\x7f""#;
    let text = failing("web", "shop")
        .replace("name: web, image: \"nginx:nope\"", &format!("name: {odd}, image: {odd}"))
        .replace("name: web\n", &format!("name: {odd}\n"))
        .replace("nodeName: n1", &format!("nodeName: {odd}, schedulerName: {odd}"))
        .replace("namespace: shop", &format!("namespace: {odd}"));
    for form in ["table", "wide", "json", "yaml", "name"] {
        let done = shindan(&["diagnose", "-f", "-", "-o", form], &text);
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
        assert!(out(&done).len() > 20);
        for text in [out(&done), err(&done)] {
            let commands =
                |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(!text.contains(commands), "{form}: {text:?}");
        }
    }
    // Errors repeat names of files and arguments.
    for args in [vec!["diagnose", "-f", "-"], vec!["explain", "a\u{1b}[2Jb"], vec!["diagnose", "-f", "no\u{1b}[2J"]] {
        let done = shindan(&args, "kind: Pod\n\u{1b}[2J: [\u{1b}]0;x\u{7}");
        assert_eq!(done.status.code(), Some(1));
        assert!(!err(&done).contains('\u{1b}'), "{:?}", err(&done));
    }
}

/// The cause is read from saved logs, and a log without a pod is an error.
#[test]
fn logs_saved_with_a_dump_are_read() {
    let pod = r#"
kind: Pod
metadata: {name: api, namespace: shop, uid: a, creationTimestamp: "2026-11-21T09:00:00Z"}
spec: {nodeName: n1, containers: [{name: api, image: "shop/api:1"}, {name: proxy, image: "shop/proxy:1"}]}
status:
  phase: Running
  containerStatuses:
  - {name: api, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error, finishedAt: "2026-11-21T09:02:03Z"}}}
  - {name: proxy, ready: true, state: {running: {startedAt: "2026-11-21T09:00:03Z"}}}
"#;
    let folder = tempfile::tempdir().unwrap();
    let dump = file(&folder, "pods.yaml", pod);
    let logs = folder.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    std::fs::write(
        logs.join("api.api.log"),
        "hello\npassword=hunter22 dial tcp db:5432: connect: connection refused\n",
    )
    .unwrap();
    std::fs::write(logs.join("other.log"), "nothing\n").unwrap();
    let dump = dump.to_str().unwrap();
    let run = shindan(&["diagnose", "-f", dump, "--logs", logs.to_str().unwrap(), "-o", "json"], "");
    assert!(run.status.success(), "{run:?}");
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(out.contains("\"cause\": \"DependencyUnreachable\"") && out.contains("cannot reach db:5432"), "{out}");
    assert!(!out.contains("hunter22") && !out.contains("hello"), "one line, masked: {out}");

    let missing = shindan(&["diagnose", "-f", dump, "--logs", "/no/such.log"], "");
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/no/such.log: no such file or folder"), "{missing:?}");
    assert!(String::from_utf8_lossy(&missing.stdout).contains("AppError"), "the rest is diagnosed all the same");
    let fine = "name: proxy, ready: true, state: {running: {startedAt: \"2026-11-21T09:00:03Z\"}}";
    let two = file(&folder, "two.yaml", &pod.replace(fine, "name: proxy, state: {terminated: {exitCode: 1}}"));
    let unmatched = file(&folder, "unmatched.log", "x");
    let run = shindan(&["diagnose", "-f", two.to_str().unwrap(), "--logs", unmatched.to_str().unwrap()], "");
    assert_eq!(run.status.code(), Some(1), "a log without a pod");
    assert!(String::from_utf8_lossy(&run.stderr).contains("POD.CONTAINER.log"), "{run:?}");
}

/// A snapshot has no time of its last restart: one failed termination of a healthy container is not a failure, and a crash
/// loop is.
#[test]
fn one_failed_termination_of_a_healthy_container_is_not_reported_in_a_snapshot() {
    let pod = |restarts: u32, ran_from: &str| {
        format!(
            r#"
kind: Pod
metadata: {{name: web, namespace: shop, uid: a, creationTimestamp: "2026-11-21T08:00:00Z"}}
spec: {{nodeName: n1, containers: [{{name: web, image: "shop/web:1"}}]}}
status:
  phase: Running
  conditions: [{{type: Ready, status: "True", lastTransitionTime: "2026-11-21T09:00:05Z"}}]
  containerStatuses:
  - {{name: web, ready: true, restartCount: {restarts}, state: {{running: {{startedAt: "2026-11-21T09:00:04Z"}}}},
      lastState: {{terminated: {{exitCode: 1, reason: Error, startedAt: "{ran_from}", finishedAt: "2026-11-21T09:00:00Z"}}}}}}
"#
        )
    };
    let found = |input: &str, args: &[&str]| {
        let run = shindan(&[&["diagnose", "-f", "-"], args].concat(), input);
        assert!(run.status.success(), "{run:?}");
        String::from_utf8_lossy(&run.stdout).contains("AppError")
    };
    assert!(!found(&pod(1, "2026-11-21T08:59:50Z"), &[]), "once");
    assert!(!found(&pod(3, "2026-11-21T08:10:00Z"), &[]), "now and then");
    assert!(found(&pod(3, "2026-11-21T08:59:50Z"), &[]), "a loop");
    let long_ready = pod(3, "2026-11-21T08:59:50Z").replace("09:00:05", "09:00:35");
    assert!(!found(&long_ready, &[]), "a loop that has ended: this run has long outlived the one before");
    assert!(found(&pod(1, "2026-11-21T08:59:50Z"), &["--at", "2026-11-21T09:02:00Z"]), "two minutes ago");
}

/// Without a clock, the newest time of a pod is often its own last change.
#[test]
fn a_pod_that_only_external_changes_can_start_fails_in_a_snapshot() {
    let found = |input: &str| {
        let run = shindan(&["diagnose", "-f", "-", "-o", "json"], input);
        let list: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["status"]["cause"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let deleted = |grace: u32, finalizer: &str| {
        format!(
            r#"
kind: Pod
metadata: {{name: a, uid: a, creationTimestamp: "2026-11-21T09:00:00Z", finalizers: [{finalizer}],
  deletionGracePeriodSeconds: {grace}, deletionTimestamp: "2026-11-21T09:10:00Z"}}
spec: {{nodeName: n1, containers: [{{name: a, image: a}}]}}
status:
  phase: Running
  containerStatuses: [{{name: a, restartCount: 0, state: {{terminated: {{exitCode: 137, reason: Error, finishedAt: "2026-11-21T09:10:00Z"}}}}}}]
"#
        )
    };
    assert_eq!(found(&deleted(0, "example.com/hold")), ["TerminatingFinalizer"]);
    assert_eq!(found(&deleted(30, "example.com/hold")), [""; 0], "the kubelet may still have to do with it");
    assert_eq!(found(&deleted(0, "batch.kubernetes.io/job-tracking")), [""; 0], "its controller counts it");

    let job = |helper: &str| {
        format!(
            r#"
kind: Pod
metadata: {{name: a, uid: a, ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: a, uid: j, controller: true}}]}}
spec: {{nodeName: n1, restartPolicy: Never, containers: [{{name: main, image: a}}, {{name: {helper}, image: b}}]}}
status:
  phase: Running
  containerStatuses:
  - {{name: main, state: {{terminated: {{exitCode: 0, reason: Completed, finishedAt: "2026-11-21T09:10:00Z"}}}}}}
  - {{name: {helper}, ready: true, state: {{running: {{startedAt: "2026-11-21T09:00:00Z"}}}}}}
"#
        )
    };
    assert_eq!(found(&job("istio-proxy")), ["SidecarBlocksJob"]);
    assert_eq!(found(&job("second")), [""; 0], "it may be at work");

    let gated = |gate: &str| {
        format!(
            r#"
kind: Pod
metadata: {{name: a, uid: a}}
spec: {{nodeName: n1, readinessGates: [{{conditionType: {gate}}}], containers: [{{name: a, image: a}}]}}
status:
  phase: Running
  conditions:
  - {{type: ContainersReady, status: "True", lastTransitionTime: "2026-11-21T09:10:00Z"}}
  - {{type: Ready, status: "False", reason: ReadinessGatesNotReady, lastTransitionTime: "2026-11-21T09:10:00Z"}}
  containerStatuses: [{{name: a, ready: true, restartCount: 0, state: {{running: {{startedAt: "2026-11-21T09:09:59Z"}}}}}}]
"#
        )
    };
    assert_eq!(found(&gated("example.com/feature")), ["ReadinessGateNotReady"]);
    assert_eq!(found(&gated("target-health.elbv2.k8s.aws/web")), [""; 0], "a load balancer takes its time");
}

/// A misconfigured probe is reported without the threshold of five minutes.
#[test]
fn a_readiness_probe_that_can_never_pass_fails_in_a_snapshot() {
    let pod = |error: &str, count: u32| {
        format!(
            r#"
kind: Pod
metadata: {{name: web, namespace: shop, uid: a, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{nodeName: n1, containers: [{{name: web, image: "shop/web:1", readinessProbe: {{httpGet: {{path: /ready, port: 80}}}}}}]}}
status:
  phase: Running
  conditions: [{{type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-11-21T09:00:00Z"}}]
  containerStatuses: [{{name: web, ready: false, started: true, restartCount: 0, state: {{running: {{startedAt: "2026-11-21T09:00:02Z"}}}}}}]
---
kind: Event
involvedObject: {{kind: Pod, namespace: shop, name: web, uid: a, fieldPath: "spec.containers{{web}}"}}
reason: Unhealthy
type: Warning
message: "Readiness probe failed: {error}"
count: {count}
firstTimestamp: "2026-11-21T09:00:05Z"
lastTimestamp: "2026-11-21T09:00:45Z"
"#
        )
    };
    let found = |input: &str| {
        let run = shindan(&["diagnose", "-f", "-"], input);
        String::from_utf8_lossy(&run.stdout).contains("ReadinessProbeFailed")
    };
    let wrong_scheme = "Get https://10.0.0.1:80/ready: http: server gave HTTP response to HTTPS client";
    assert!(found(&pod(wrong_scheme, 5)));
    assert!(!found(&pod(wrong_scheme, 2)), "within its threshold");
    assert!(!found(&pod("HTTP probe failed with statuscode: 404", 5)), "it may be starting");
    assert!(!found(&pod("dial tcp 10.0.0.1:80: connect: connection refused", 5)), "it may be starting");
}

/// A file of one namespace does not have the resources that pods of kube-system take on a node.
#[test]
fn node_capacity_is_not_computed_from_the_pods_of_one_namespace() {
    let pod = |namespace: &str, name: &str, spec: &str, status: &str| {
        format!(
            "---\nkind: Pod\nmetadata: {{namespace: {namespace}, name: {name}, uid: {name}}}\nspec: {{{spec}}}\nstatus: {{{status}}}\n"
        )
    };
    let requests = |cpu: &str| format!("containers: [{{name: c, resources: {{requests: {{cpu: '{cpu}'}}}}}}]");
    let refused = "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: '0/1 nodes are available: 1 Insufficient cpu.'}]";
    let runs = |cpu: &str| format!("nodeName: n1, {}", requests(cpu));
    let healthy = "phase: Running, conditions: [{type: Ready, status: 'True'}]";
    let node = "kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}, conditions: [{type: Ready, status: 'True'}]}\n";
    let tree = |others: &str| {
        let input = format!(
            "{node}{}{}{}",
            pod("shop", "new", &requests("3500m"), refused),
            pod("shop", "old", &runs("1"), healthy),
            pod(others, "other", &runs("500m"), healthy)
        );
        let output = shindan(&["diagnose", "-f", "-", "-o", "tree"], &input);
        out(&output).to_owned()
    };
    let (one, all) = (tree("shop"), tree("kube-system"));
    assert!(one.contains("n1 comes closest with at most 2.5 of 4 free") && !one.contains("2500m"), "{one}");
    assert!(all.contains("n1 comes closest with 2.5 of 4 free") && all.contains("2500m"), "{all}");
}

#[test]
fn informational_findings_do_not_change_the_exit_code() {
    let code = |case: &str| shindan(&["diagnose", "-f", case, "--exit-code"], "").status.code();
    assert_eq!(code("tests/causes/ResizeDeferred/node-is-taken.yaml"), Some(0));
    assert_eq!(code("tests/causes/OOMKilled/limit.yaml"), Some(2));
}

#[test]
fn a_time_after_the_lifetime_of_events_is_reported() {
    let run = shindan(&["diagnose", "-f", "tests/causes/OOMKilled/limit.yaml", "--at", "2026-12-01T12:00:00Z"], "");
    assert!(String::from_utf8_lossy(&run.stderr).contains("its Events have expired by then"), "{run:?}");
}

/// A page that cannot be served is an error at the start, with a remedy.
#[test]
fn a_page_that_cannot_be_served_is_an_error_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(&folder, "pods.yaml", &failing("web", "shop"));
    let bad = file(&folder, "bad.yaml", "kind: [");
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let unused = taken.local_addr().unwrap();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://{unused}'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
    );
    let kubeconfig = file(&folder, "config", &kubeconfig);
    for (args, error) in [
        (&["-f", bad][..], "nothing to diagnose: "),
        (&["-f", "nowhere.yaml"], "nowhere.yaml: no such file or folder"),
        (&["-f", good, "--port", &port], "is in use: set another with --port"),
        (&["-f", good, "--context", "x"], "cannot be used with"),
        (&["-f", good, "--port", "70000"], "70000"),
    ] {
        let done = shindan(&[&["ui"], args].concat(), "");
        assert_eq!((done.status.code(), out(&done)), (Some(1), ""), "{args:?}");
        assert!(err(&done).contains(error), "{args:?}: {}", err(&done));
    }
    drop(taken);
    let done = shindan(&["ui", "--kubeconfig", kubeconfig.to_str().unwrap()], "");
    assert_eq!((done.status.code(), out(&done)), (Some(1), ""));
    assert!(err(&done).contains(&unused.to_string()), "{}", err(&done));
    let done = shindan(&["ui", "--kubeconfig", kubeconfig.to_str().unwrap(), "--user", "nix"], "");
    assert_eq!(done.status.code(), Some(1));
    assert!(err(&done).contains("the kubeconfig has no user nix"), "{}", err(&done));
    let help = shindan(&["ui", "--help"], "");
    assert!(
        out(&help).contains("Open the URL yourself, or use --open") && out(&help).contains("--port"),
        "{}",
        out(&help)
    );
}

#[test]
fn a_dump_that_cannot_be_made_is_an_error_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let there = file(&folder, "there.yaml", "kind: List\n");
    let there = there.to_str().unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    drop(server);
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: a, clusters: [{{name: a, cluster: {{server: '{address}'}}}}], \
         users: [{{name: a, user: {{}}}}], contexts: [{{name: a, context: {{cluster: a, user: a}}}}]}}\n"
    );
    let config = file(&folder, "config", &config);
    let config = config.to_str().unwrap();
    let new = folder.path().join("new.yaml");
    let new = new.to_str().unwrap();
    for (args, error) in [
        (&["-o", there][..], "there.yaml exists: name another file, or remove it"),
        (&["deploy"], "give the names of the objects too, as in deploy/web"),
        (&["deploy/web", "-o", new, "--kubeconfig", config], &address),
    ] {
        let done = shindan(&[&["dump"], args].concat(), "");
        assert_eq!((done.status.code(), out(&done)), (Some(1), ""), "{args:?}");
        assert!(err(&done).contains(error), "{args:?}: {}", err(&done));
    }
    assert_eq!(std::fs::read_to_string(there).unwrap(), "kind: List\n");
    assert!(!Path::new(new).exists());
}

/// The time in the head of a dump is the one of its diagnosis, with thresholds.
#[test]
fn a_dump_is_diagnosed_as_of_the_time_in_its_head() {
    let young = format!("# Written by shindan dump 0.1.0\n# judged-at: 2026-11-21T09:00:00Z\n{PENDING}");
    assert_eq!(out(&shindan(&["diagnose", "-f", "-", "-o", "name"], &young)), "");
    let later = shindan(&["diagnose", "-f", "-", "-o", "name", "--at", "2026-11-21T09:30:00Z"], &young);
    assert_eq!(out(&later), "poddiagnosis.shindan.dev/waits\n", "--at takes precedence");
}

#[test]
fn kubectl_completes_arguments_of_the_plugin() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["kubectl-shindan", "kubectl_complete-shindan"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_shindan"), folder.path().join(name)).unwrap();
    }
    let path = std::env::join_paths(
        [folder.path().to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let completed = |args: &[&str]| {
        let run = Command::new("kubectl").args(["__complete", "shindan"]).args(args).env("PATH", &path).output();
        let run = run.unwrap_or_else(|e| panic!("kubectl is needed to test its completion: {e}"));
        String::from_utf8(run.stdout).unwrap()
    };
    let flags = completed(&["--all"]);
    assert!(
        flags.contains("--all-namespaces\tAll namespaces, and the nodes; overrides -n\n") && flags.contains(":4"),
        "{flags}"
    );
    let kinds = completed(&["d"]);
    assert!(kinds.contains("deployment/\n") && kinds.contains("diagnose\t") && kinds.contains(":6"), "{kinds}");
    assert!(completed(&["explain", "OOMK"]).contains("OOMKilled\t"));
}

#[test]
fn an_invalid_time_is_an_error_with_an_example() {
    for moment in ["yesterday", "-5m"] {
        let output = shindan(&["diagnose", "-f", "-", "--at", moment], HEALTHY);
        assert_eq!(output.status.code(), Some(1));
        let error = err(&output);
        assert!(error.contains("--at <TIME>") && error.contains("2026-11-21T12:30:00Z"), "{error}");
    }
}

#[test]
fn a_threshold_can_be_set_for_one_cause() {
    let found = |args: &[&str]| out(&shindan(&[&["diagnose", "-f", "-"], args].concat(), PENDING)).to_owned();
    assert!(found(&[]).contains("NodeSelectorMismatch"));
    assert_eq!(found(&["--threshold", "NodeSelectorMismatch=10m"]), "");
    assert_eq!(found(&["--threshold", "NodeSelectorMismatch=10m", "--at", "2026-11-21T09:09:59Z"]), "");
    let due = found(&["--threshold", "NodeSelectorMismatch=10m", "--at", "2026-11-21T09:10:00Z"]);
    assert!(due.contains("NodeSelectorMismatch"), "{due}");
    assert!(found(&["--threshold", "InsufficientCpu=10m"]).contains("NodeSelectorMismatch"));
}

#[test]
fn added_rules_count_in_every_command_that_diagnoses_or_explains() {
    let rule = "examples/rules/registry-retired.yaml";
    let fixture = "examples/dumps/old-registry.yaml";
    let with_rule = shindan(&["diagnose", "-f", fixture, "--rules", "examples/rules"], "");
    assert!(out(&with_rule).contains("acme.example/RegistryRetired"), "{}", out(&with_rule));
    let without = shindan(&["diagnose", "-f", fixture], "");
    assert!(out(&without).contains("RegistryDnsFailure"), "{}", out(&without));
    for args in [vec!["explain", "acme.example/registryretired"], vec!["rules", "list"], vec!["causes"]] {
        let known = shindan(&[&args[..], &["--rules", rule]].concat(), "");
        assert!(known.status.success() && out(&known).contains("RegistryRetired"), "{args:?}: {}", err(&known));
    }
}

#[test]
fn the_gallery_of_rules_passes_its_own_tests() {
    let tested = shindan(&["rules", "test", "examples/rules"], "");
    assert_eq!(out(&tested), "12 rules, 32 tests: no errors\n");
    let rule = std::fs::read_to_string("examples/rules/registry-retired.yaml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.yaml");
    std::fs::write(&other, rule.replace("mustName: [\"registry-old", "mustName: [\"registry-new")).unwrap();
    let failed = shindan(&["rules", "test", other.to_str().unwrap()], "");
    assert_eq!(failed.status.code(), Some(1));
    let why = "other.yaml: an image of the retired registry: the summary does not name \"registry-new";
    assert!(out(&failed).contains(why) && out(&failed).ends_with("1 rule, 2 tests: 1 error\n"), "{}", out(&failed));
}

#[test]
fn role_has_the_kinds_of_rules() {
    let role = shindan(&["rules", "rbac", "apps.acme.example", "--rules", "examples/rules"], "");
    let rules: Vec<String> = out(&role).lines().filter(|line| line.contains("resources:")).map(str::to_owned).collect();
    assert_eq!(rules, ["  resources: [apps]", "  resources: [brokers]", "  resources: [widgets]"]);
    let without = shindan(&["rules", "rbac", "--rules", "examples/rules/node-pool.yaml"], "");
    assert!(!without.status.success() && err(&without).contains("no cause names kinds"), "{}", err(&without));
}

#[test]
fn object_is_diagnosed_by_its_fields() {
    let widget = r#"{"apiVersion": "acme.example/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop",
        "creationTimestamp": "2026-11-20T09:00:00Z"}, "spec": {"replicas": 3}, "status": {"readyReplicas": 1}}"#;
    let rule = "examples/rules/widget-replicas.yaml";
    let args = ["diagnose", "-f", "-", "--at", "2026-11-21T09:00:00Z", "-o", "wide"];
    let found = shindan(&[&args[..], &["--rules", rule]].concat(), widget);
    assert!(out(&found).contains("Widget w has 1 of 3 replicas"), "{}", out(&found));
    assert_eq!(out(&shindan(&args, widget)), "", "without the rule, its status shows no failure");
}

/// A dump often has no time that is newer than the start of a failure.
#[test]
fn a_rule_with_a_threshold_counts_in_a_dump() {
    let widget = r#"{"apiVersion": "acme.example/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop",
        "creationTimestamp": "2026-11-20T09:00:00Z"}, "spec": {"replicas": 3}, "status": {"readyReplicas": 1}}"#;
    let of_widgets = ["diagnose", "-f", "-", "--rules", "examples/rules/widget-replicas.yaml"];
    let found = |args: &[&str]| out(&shindan(&[&of_widgets[..], args].concat(), widget)).contains("WidgetNotScaled");
    assert!(found(&[]));
    assert!(!found(&["--at", "2026-11-20T09:04:59Z"]) && found(&["--at", "2026-11-20T09:05:00Z"]));
    assert!(!found(&["--thresholds", "acme.example/WidgetNotScaled=1m"]), "a threshold of the user holds");

    let pool = r#"
apiVersion: shindan.dev/v1alpha1
kind: DiagnosisRule
metadata: {name: pool}
spec:
  causes:
  - cause: acme.example/NoPool
    category: Scheduling
    signal: scheduling
    match: {when: 'pod.name == "waits"'}
    threshold: 10m
    before: ["*"]
    summary: "there is no pool for {pod.name}"
    explain: {meaning: m, distinguish: d, action: a, source: s}
    remedies: [{text: Ask for a pool.}]
"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool.yaml");
    std::fs::write(&path, pool).unwrap();
    let of_pods = ["diagnose", "-f", "-", "--rules", path.to_str().unwrap()];
    let found = |args: &[&str]| out(&shindan(&[&of_pods[..], args].concat(), PENDING)).to_owned();
    assert!(found(&[]).contains("acme.example/NoPool"), "{}", found(&[]));
    assert_eq!(found(&["--at", "2026-11-21T09:09:59Z"]), "");
    assert!(found(&["--at", "2026-11-21T09:10:00Z"]).contains("acme.example/NoPool"));
}

#[test]
fn thresholds_know_causes_of_objects_paths_and_rules() {
    let fixture = "tests/causes/IngressBackendMissing/misspelt.yaml";
    let found = |args: &[&str]| {
        let output = shindan(&[&["diagnose", "-f", fixture, "--at", "2026-11-28T10:00:00Z"], args].concat(), "");
        assert!(output.status.success(), "{}", err(&output));
        out(&output).to_owned()
    };
    assert!(found(&["--thresholds", "IngressBackendMissing=59m"]).contains("IngressBackendMissing"));
    assert!(!found(&["--thresholds", "IngressBackendMissing=61m"]).contains("IngressBackendMissing"));
    assert!(found(&["--thresholds", "ArgoAppDegraded=1h"]).contains("IngressBackendMissing"));
    let error = |args: &[&str]| {
        let output = shindan(&[&["diagnose", "-f", fixture], args].concat(), "");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        err(&output).to_owned()
    };
    let unknown = error(&["--thresholds", "acme.example/WidgetNotScaled=1m"]);
    assert!(
        unknown.contains("acme.example/WidgetNotScaled is a cause of a rule; add the rule with --rules"),
        "{unknown}"
    );
    let rule = "examples/rules/widget-replicas.yaml";
    let misspelt = error(&["--rules", rule, "--thresholds", "acme.example/WidgetNotScled=1m"]);
    assert!(misspelt.contains("they have acme.example/WidgetNotScaled"), "{misspelt}");
    let at_once = error(&["--thresholds", "OOMKilled=1m"]);
    assert!(at_once.contains("OOMKilled has no threshold") && at_once.contains("causes of rules"), "{at_once}");
}

#[test]
fn added_rules_with_an_error_end_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let rule = std::fs::read_to_string("examples/rules/registry-retired.yaml").unwrap();
    let wrong = folder.path().join("wrong.yaml");
    std::fs::write(&wrong, rule.replace("imagePull.registry ==", "imagePull.registri ==")).unwrap();
    let path = wrong.to_str().unwrap();
    let refused = shindan(&["diagnose", "-f", "-", "--rules", path], HEALTHY);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("wrong.yaml:13:13: spec.causes.0.match.0.when: unknown field"), "{}", err(&refused));
    for (from, to, error) in [
        (
            "    category: Image",
            "\tcategory: Image",
            "wrong.yaml:10:1: a tab is in the indentation\n  indent with spaces",
        ),
        ("when: imagePull", "when: !imagePull", "quote the text: YAML takes a first word with `!` as a tag"),
        (
            "category: Image",
            "category: Image\n    category: Image",
            "wrong.yaml:11:5: the key `category` is there twice",
        ),
        ("before: [\"*\"]", "before: \"*\"", "wrong.yaml:14:13: a list is expected here\n  write `- ` before"),
        (
            "meaning: The",
            "meaning: Note: the",
            "wrong.yaml:18:20: a `:` that makes no key, or a wrong indentation\n  quote",
        ),
    ] {
        assert!(rule.contains(from), "{from}");
        std::fs::write(&wrong, rule.replacen(from, to, 1)).unwrap();
        let refused = shindan(&["rules", "check", path], "");
        assert_eq!(refused.status.code(), Some(1));
        assert!(out(&refused).contains(error), "{to}: {}", out(&refused));
    }
    let empty = tempfile::tempdir().unwrap();
    let none = shindan(&["causes", "--rules", empty.path().to_str().unwrap()], "");
    assert!(none.status.code() == Some(1) && err(&none).contains("no rules or cause files"), "{}", err(&none));
}
