//! Runs the commands of README.md and docs/ that need a cluster, in the order of the pages, each after its prerequisites.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};

use shindan_core::api::DiagnosisState;

use crate::pages::{self, Command, Place};
use crate::support::{KUBELET, Space, ensure, eventually, kubectl, status, together};

const WEB: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: nginx, image: '127.0.0.1:5000/nginx:1.27'}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
";
const NO_SUCH_TAG: &str = "nginx=127.0.0.1:5000/nginx:1.27.1";
/// Timeout of a command, in seconds.
const SECONDS: &str = "180";
/// Time after which a command that does not end is stopped, in seconds.
const LOOK: &str = "8";
/// Exit code of `timeout` in that case.
const STILL_RUNNING: i32 = 124;

/// The state of the Deployment web that this test has created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Web {
    /// Missing, or changed by a command.
    Any,
    Healthy,
    Stuck,
    Recovered,
}

/// The namespace that replaces those of the pages.
struct Stage {
    space: Space,
    folder: tempfile::TempDir,
    web: Web,
    /// The pod of the Deployment multi.
    multi: Option<String>,
}

impl Stage {
    async fn new() -> Self {
        let stage = Self { space: Space::new("docs").await, folder: pages::folder(), web: Web::Any, multi: None };
        let config = kubectl(&["config", "view", "--raw", "--flatten", "--minify"]);
        fs::write(stage.config(), config).unwrap();
        let name = format!("--namespace={}", stage.space.name);
        let file = format!("--kubeconfig={}", stage.config().display());
        kubectl(&[&file, "config", "set-context", "--current", &name]);
        for block in pages::blocks() {
            if let Some(script) = block.marks.get("script") {
                let file = stage.folder.path().join(script);
                fs::write(&file, block.text.join("\n") + "\n").unwrap();
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        stage
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    async fn need(&mut self, what: &str) {
        match what {
            "" => {}
            "multi" => self.multi().await,
            "web" => self.web_healthy(),
            "web-stuck" => self.web_stuck().await,
            "web-recovered" => self.web_recovered().await,
            other => panic!("unknown prerequisite {other:?}: tests/e2e/docs.rs"),
        }
    }

    async fn multi(&mut self) {
        if self.multi.is_some() {
            return;
        }
        let file = "tests/cluster/workloads/LivenessProbeFailed/multi-container.yaml";
        let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        self.space.apply(&manifest);
        self.space
            .await_workload("deployment-multi", KUBELET, |status| status.head.cause == "LivenessProbeFailed")
            .await;
        let pod = eventually(KUBELET, "redis was restarted", async || {
            let mut found = self.space.diagnoses().await.into_iter();
            let found = found.find(|found| found.spec.pod_name.starts_with("multi-")).ok_or("no diagnosis")?;
            let restarts = status(&found).restarts.as_ref().map_or(0, |restarts| restarts.count);
            ensure(restarts > 0, || "no restart".to_owned()).map(|()| found.spec.pod_name.clone())
        });
        self.multi = Some(pod.await);
    }

    fn web_healthy(&mut self) {
        if self.web == Web::Healthy {
            return;
        }
        // Recreated, so that its first revision is the healthy one.
        self.space.kubectl(&["delete", "deployment", "web", "--ignore-not-found", "--timeout=60s"]);
        self.space.apply(WEB);
        self.space.kubectl(&["rollout", "status", "deployment/web", "--timeout=120s"]);
        self.web = Web::Healthy;
    }

    async fn web_stuck(&mut self) {
        if self.web == Web::Stuck {
            return;
        }
        self.web_healthy();
        self.space.kubectl(&["set", "image", "deployment/web", NO_SUCH_TAG]);
        let is_reported = |status: &shindan_core::api::WorkloadDiagnosisStatus| {
            status.head.state == DiagnosisState::Active && status.head.cause == "ImageTagNotFound"
        };
        self.space.await_workload("deployment-web", KUBELET, is_reported).await;
        self.web = Web::Stuck;
    }

    async fn web_recovered(&mut self) {
        if self.web == Web::Recovered {
            return;
        }
        self.web_stuck().await;
        self.space.kubectl(&["rollout", "undo", "deployment/web"]);
        self.space
            .await_workload("deployment-web", KUBELET, |status| status.head.state == DiagnosisState::Recovered)
            .await;
        self.web = Web::Recovered;
    }

    /// The command of a page, with the names of this run.
    fn localized(&self, command: &Command) -> String {
        let text = if command.place() == Some(Place::DryRun) { command.dry() } else { command.by_program() };
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        for at in 0..words.len() {
            let names_space = at > 0 && matches!(&*words[at - 1], "-n" | "./gate");
            if names_space && matches!(&*words[at], "shop" | "demo") {
                words[at].clone_from(&self.space.name);
            }
            if let (Some(pod), true) = (&self.multi, is_pod_of_multi(&words[at])) {
                let begin = words[at].find("multi-").unwrap_or_default();
                words[at].replace_range(begin.., pod);
            }
        }
        words.join(" ")
    }

    fn run(&self, command: &Command) -> Output {
        let path =
            format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let seconds = if command.mark("ends") == "never" { LOOK } else { SECONDS };
        let mut process = Process::new("timeout");
        process.args([seconds, "bash", "-o", "pipefail", "-c", &self.localized(command)]);
        process.current_dir(self.folder.path()).env("PATH", path).env("KUBECONFIG", self.config());
        // kubectl's default cache may have the discovery of an earlier cluster.
        process.env("KUBECACHEDIR", self.folder.path().join("cache"));
        process.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        process.output().unwrap()
    }
}

/// Whether this is `multi-589d96bc47-7q9st` or `pod/multi-589d96bc47-7q9st`.
fn is_pod_of_multi(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.starts_with("multi-") && name.split('-').count() == 3
}

/// Returns what is wrong with the output, if anything is.
fn fault(command: &Command, done: &Output) -> Option<String> {
    let due = match command.mark("ends") {
        "never" => STILL_RUNNING,
        _ => command.mark("exit").parse().unwrap_or(0),
    };
    let (out, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if done.status.code() != Some(due) {
        return Some(format!("ends with {} instead of {due}:\n{out}{errors}", done.status));
    }
    let expected = command.mark("prints");
    if !out.contains(expected) && !errors.contains(expected) {
        return Some(format!("does not print {expected}:\n{out}{errors}"));
    }
    // Only the column headers of a table are compared.
    let head = command.shown.as_deref().and_then(|shown| shown.lines().find(|line| line.starts_with("NAME ")))?;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let is_there = out.lines().any(|line| words(line) == words(head));
    (!is_there).then(|| format!("has no table of {head}:\n{out}"))
}

#[test]
fn commands_of_the_pages_run() {
    together(async {
        let mut stage = Stage::new().await;
        let mut wrong = Vec::new();
        let mut at = String::new();
        for command in pages::commands() {
            if !matches!(command.place(), Some(Place::Cluster | Place::DryRun)) {
                continue;
            }
            // The commands of a block depend on each other.
            if at != command.at {
                at.clone_from(&command.at);
                stage.need(command.mark("needs")).await;
            }
            let done = stage.run(&command);
            if let Some(fault) = fault(&command, &done) {
                wrong.push(format!("{at}: {}: {fault}", stage.localized(&command)));
            }
            if command.text.contains(" set image deployment/web") || command.text.contains(" rollout undo ") {
                stage.web = Web::Any;
            }
            if command.text.contains(" set image deployment/web") {
                // The next commands of the block read the diagnosis.
                eventually(KUBELET, "the failure is reported", async || {
                    let found = stage.space.workload("deployment-web").await.ok_or("no diagnosis")?;
                    ensure(found.head.state == DiagnosisState::Active, || found.head.summary.clone())
                })
                .await;
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    });
}
