//! Access to the cluster, and helpers that wait.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Event, Node, Pod, ServiceAccount};
use kube::api::{Api, ListParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use shindan_core::api::{NodeDiagnosis, NodeDiagnosisStatus, PodDiagnosis, WorkloadDiagnosis, WorkloadDiagnosisStatus};
use tokio::runtime::Runtime;
use tokio::sync::{RwLock, Semaphore, watch};
use tokio::time::Instant;

pub(crate) use crate::wait::{ensure, eventually};

/// Timeout for a few requests of the operator.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// Timeout for work and retries of the kubelet.
pub(crate) const KUBELET: Duration = Duration::from_secs(180);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
/// Number of running tests that use only their own namespace. Tests that disturb the cluster run after all of these, because
/// in between each would wait for the slowest of them.
static TOGETHER: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));
/// Locked for reading by `together`, for writing by `alone`.
static TURN: LazyLock<RwLock<()>> = LazyLock::new(RwLock::default);
static CLUSTER: LazyLock<Client> = LazyLock::new(|| RUNTIME.block_on(connect()));
thread_local! {
    /// The panic message of the test of this thread.
    static PANIC_MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}
/// Namespaces in use: two tests in one namespace would disturb each other.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// Every version of every PodDiagnosis that the watch has delivered.
static SEEN: Mutex<Vec<PodDiagnosis>> = Mutex::new(Vec::new());

/// How many tests run in parallel. All at once, their pods start so slowly on two cores that waits of two minutes end.
const IN_PARALLEL: usize = 16;
static PERMITS: Semaphore = Semaphore::const_new(IN_PARALLEL);

/// Runs a test in parallel with others.
pub(crate) fn together(test: impl Future<Output = ()>) {
    // Counted before the connection is awaited, so that no test of `alone` starts first.
    let _counted = Counted::new();
    LazyLock::force(&CLUSTER);
    RUNTIME.block_on(async {
        let _permit = PERMITS.acquire().await;
        let _turn = TURN.read().await;
        timed(test).await;
    });
}

/// Runs a test while no other one runs.
pub(crate) fn alone(test: impl Future<Output = ()>) {
    LazyLock::force(&CLUSTER);
    RUNTIME.block_on(async {
        // Their sender is never dropped.
        let _ = TOGETHER.subscribe().wait_for(|running| *running == 0).await;
        let _turn = TURN.write().await;
        timed(test).await;
    });
}

struct Counted;

impl Counted {
    fn new() -> Self {
        TOGETHER.send_modify(|running| *running += 1);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        TOGETHER.send_modify(|running| *running -= 1);
    }
}

/// Prints the duration directly to standard output, because the harness hides the captured output of a passing test.
async fn timed(test: impl Future<Output = ()>) {
    let began = Instant::now();
    test.await;
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stdout(), "measured: {name} took {:.0} s", began.elapsed().as_secs_f64());
}

fn keep_panic_message() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANIC_MESSAGE.with(|message| *message.borrow_mut() = info.to_string());
        report(info);
    }));
}

async fn connect() -> Client {
    keep_panic_message();
    assert!(
        std::env::var_os("KUBECONFIG").is_some(),
        "the end-to-end tests need a cluster with the operator in it, and KUBECONFIG: run `make install e2e`"
    );
    // The error of kube for a refused connection has less detail.
    let client = Client::try_default().await.expect("KUBECONFIG is usable");
    let objects: Api<PodDiagnosis> = Api::all(client.clone());
    if let Err(error) = objects.list(&ListParams::default()).await {
        panic!("no PodDiagnosis can be listed ({error}): is the operator installed? run `make install e2e`");
    }
    kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=60s"]);
    record(objects).await;
    client
}

/// Records the changes of diagnoses from now on.
async fn record(objects: Api<PodDiagnosis>) {
    let (listed, is_listed) = tokio::sync::oneshot::channel();
    let mut listed = Some(listed);
    tokio::spawn(async move {
        // Some tests stop the API server.
        let mut events = std::pin::pin!(watcher(objects, watcher::Config::default()).default_backoff());
        loop {
            match events.try_next().await {
                Ok(Some(watcher::Event::InitApply(object) | watcher::Event::Apply(object))) => {
                    SEEN.lock().unwrap().push(object);
                }
                Ok(Some(watcher::Event::InitDone)) => {
                    if let Some(listed) = listed.take() {
                        let _ = listed.send(());
                    }
                }
                Ok(Some(_)) | Err(_) => {}
                Ok(None) => return,
            }
        }
    });
    is_listed.await.unwrap();
}

pub(crate) fn client() -> Client {
    CLUSTER.clone()
}

/// Every recorded version of the diagnoses of a namespace, oldest first.
pub(crate) fn seen_in(namespace: &str) -> Vec<PodDiagnosis> {
    let seen = SEEN.lock().unwrap();
    seen.iter().filter(|d| d.namespace().as_deref() == Some(namespace)).cloned().collect()
}

/// Runs kubectl; an error has its standard error.
pub(crate) fn try_kubectl(args: &[&str], input: Option<&str>) -> Result<String, String> {
    let mut command = Command::new("kubectl");
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|e| format!("kubectl: {e}"))?;
    if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
        pipe.write_all(text.as_bytes()).map_err(|e| e.to_string())?;
    }
    let run = child.wait_with_output().map_err(|e| e.to_string())?;
    if run.status.success() {
        return Ok(String::from_utf8_lossy(&run.stdout).into_owned());
    }
    Err(format!("kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&run.stderr)))
}

pub(crate) fn kubectl(args: &[&str]) -> String {
    try_kubectl(args, None).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs tests/cluster/cluster, for changes of the machine itself.
pub(crate) fn machine(args: &[&str]) {
    let run = machine_command(args).output().unwrap();
    assert!(run.status.success(), "tests/cluster/cluster {args:?}: {}", String::from_utf8_lossy(&run.stderr));
}

pub(crate) fn machine_command(args: &[&str]) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/cluster"));
    command.args(args).stdin(Stdio::null());
    command
}

/// A namespace for one test, deleted at its end; with `KEEP` set it is kept if the test failed.
pub(crate) struct Space {
    pub(crate) name: String,
}

impl Space {
    /// An empty namespace `e2e-<name>`.
    pub(crate) async fn new(name: &str) -> Self {
        Self::named(format!("e2e-{name}")).await
    }

    pub(crate) async fn named(name: String) -> Self {
        let is_free = TAKEN.lock().unwrap().insert(name.clone());
        assert!(is_free, "another test has namespace {name}: give this one a name of its own");
        kubectl(&["delete", "namespace", &name, "--ignore-not-found", "--timeout=120s"]);
        // Objects of an earlier run would disturb this one.
        SEEN.lock().unwrap().retain(|d| d.namespace().as_deref() != Some(&name));
        kubectl(&["create", "namespace", &name]);
        let space = Self { name };
        eventually(SOON, "the default service account", async || {
            let accounts = Api::<ServiceAccount>::namespaced(client(), &space.name);
            accounts.get("default").await.map_err(|error| error.to_string())
        })
        .await;
        space
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        kubectl(&[&["-n", &self.name], args].concat())
    }

    pub(crate) fn apply(&self, manifest: &str) {
        try_kubectl(&["-n", &self.name, "apply", "-f", "-"], Some(manifest)).unwrap_or_else(|e| panic!("{e}"));
    }

    pub(crate) async fn diagnosis(&self, pod: &str) -> Option<PodDiagnosis> {
        Api::<PodDiagnosis>::namespaced(client(), &self.name).get_opt(pod).await.unwrap()
    }

    pub(crate) async fn diagnoses(&self) -> Vec<PodDiagnosis> {
        Api::<PodDiagnosis>::namespaced(client(), &self.name).list(&ListParams::default()).await.unwrap().items
    }

    pub(crate) async fn pods(&self) -> Vec<Pod> {
        Api::<Pod>::namespaced(client(), &self.name).list(&ListParams::default()).await.unwrap().items
    }

    pub(crate) async fn pod(&self, name: &str) -> Pod {
        Api::<Pod>::namespaced(client(), &self.name).get(name).await.unwrap()
    }

    /// Our Events about a pod, oldest first.
    pub(crate) async fn our_events(&self, pod: &str) -> Vec<Event> {
        let selector = format!("involvedObject.name={pod},reportingComponent=shindan.dev/operator");
        our_events(&self.name, &selector).await
    }

    /// Waits for a diagnosis of this pod with this cause.
    pub(crate) async fn diagnosed(&self, pod: &str, cause: &str, within: Duration) -> PodDiagnosis {
        eventually(within, format!("{}/{pod} is diagnosed as {cause}", self.name), async || {
            let found = self.diagnosis(pod).await.ok_or("no diagnosis")?;
            let is = one_line(&found);
            ensure(status(&found).head.cause == cause, || is).map(|()| found)
        })
        .await
    }

    /// Returns the diagnosis of a workload such as `deployment-web`.
    pub(crate) async fn workload(&self, name: &str) -> Option<WorkloadDiagnosisStatus> {
        let objects = Api::<WorkloadDiagnosis>::namespaced(client(), &self.name);
        objects.get_opt(name).await.unwrap().and_then(|object| object.status)
    }

    /// Waits until the diagnosis of a workload matches.
    pub(crate) async fn await_workload(
        &self,
        name: &str,
        within: Duration,
        is: impl Fn(&WorkloadDiagnosisStatus) -> bool,
    ) -> WorkloadDiagnosisStatus {
        eventually(within, format!("{}/{name} is reported", self.name), async || {
            let found = self.workload(name).await.ok_or("no diagnosis")?;
            let head = &found.head;
            let text = format!(
                "{} {} {} {} {:?} {:?}",
                head.state, head.cause, found.problem, head.severity, head.summary, found.pods
            );
            ensure(is(&found), || text).map(|()| found)
        })
        .await
    }

    /// Our Events about the object of this kind and name, oldest first.
    pub(crate) async fn our_events_of(&self, kind: &str, name: &str) -> Vec<Event> {
        let selector =
            format!("involvedObject.kind={kind},involvedObject.name={name},reportingComponent=shindan.dev/operator");
        our_events(&self.name, &selector).await
    }

    /// Waits for a state of the diagnosis of this pod.
    pub(crate) async fn ends(&self, pod: &str, state: &str, within: Duration) -> PodDiagnosis {
        eventually(within, format!("{}/{pod} is {state}", self.name), async || {
            let found = self.diagnosis(pod).await.ok_or("no diagnosis")?;
            let is = one_line(&found);
            ensure(status(&found).head.state.as_str() == state, || is).map(|()| found)
        })
        .await
    }

    /// Waits until the operator has processed all earlier changes of this namespace: it reports a new failure.
    pub(crate) async fn caught_up(&self, canary: &str) {
        self.apply(&format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {canary}}}, spec: {{containers: [{{name: main, image: '127.0.0.1:5000/Upper:1'}}]}}}}"
        ));
        self.diagnosed(canary, "InvalidImageName", KUBELET).await;
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("---- what is in {}", self.name);
            for what in [
                &["get", "events"][..],
                &["get", "pods,jobs", "-o", "wide"],
                &["get", "poddiagnoses,workloaddiagnoses", "-o", "wide"],
            ] {
                println!("{}", try_kubectl(&[&["-n", &self.name], what].concat(), None).unwrap_or_else(|e| e));
            }
            // Repeated here, because the output above separates it from the end.
            println!("---- {}: {}", self.name, PANIC_MESSAGE.with(RefCell::take));
        }
        // Deleted after a failure too, so that its crash loops do not disturb later tests.
        if !std::thread::panicking() || std::env::var_os("KEEP").is_none() {
            let _ = try_kubectl(&["delete", "namespace", &self.name, "--wait=false"], None);
        }
    }
}

pub(crate) async fn our_events(namespace: &str, selector: &str) -> Vec<Event> {
    let params = ListParams::default().fields(selector);
    let mut events = Api::<Event>::namespaced(client(), namespace).list(&params).await.unwrap().items;
    events.sort_by_key(|e| e.event_time.clone().map(|t| t.0));
    events
}

/// Returns the type and reason of each Event.
pub(crate) fn types_and_reasons(events: &[Event]) -> Vec<(String, String)> {
    events.iter().map(|e| (e.type_.clone().unwrap_or_default(), e.reason.clone().unwrap_or_default())).collect()
}

pub(crate) fn status(diagnosis: &PodDiagnosis) -> &shindan_core::api::PodDiagnosisStatus {
    diagnosis.status.as_ref().expect("one apply writes the status too")
}

/// Formats a diagnosis in one line.
pub(crate) fn one_line(diagnosis: &PodDiagnosis) -> String {
    let s = status(diagnosis);
    let container = s.container.as_deref().unwrap_or("-");
    format!("{} {} {container} {} {:?}", s.head.state, s.head.cause, s.pod_status, s.head.summary)
}

pub(crate) async fn node() -> Node {
    let nodes = Api::<Node>::all(client()).list(&ListParams::default()).await.unwrap();
    nodes.items.into_iter().next().expect("a node")
}

/// Returns the diagnosis of the node.
pub(crate) async fn node_diagnosis() -> Option<NodeDiagnosisStatus> {
    let name = node().await.name_any();
    Api::<NodeDiagnosis>::all(client()).get_opt(&name).await.unwrap().and_then(|object| object.status)
}

/// Returns the header of each table of `kubectl get diagnoses --all-namespaces`, one per kind.
pub(crate) fn columns_of_all() -> Vec<String> {
    // The default cache may have the discovery of an earlier cluster.
    let cache = tempfile::tempdir().unwrap();
    let cache = format!("--cache-dir={}", cache.path().display());
    let tables = kubectl(&[&cache, "get", "diagnoses", "--all-namespaces"]);
    let heads = tables.lines().filter(|line| line.contains(" CAUSE "));
    heads.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Status and message of the node's Ready condition.
pub(crate) async fn node_ready() -> (String, String) {
    let conditions = node().await.status.and_then(|s| s.conditions).unwrap_or_default();
    let ready = conditions.into_iter().find(|c| c.type_ == "Ready").expect("a Ready condition");
    (ready.status, ready.message.unwrap_or_default())
}

pub(crate) const OPERATOR: &str = "shindan-system";

fn served(path: &str) -> Result<String, String> {
    let path = format!("/api/v1/namespaces/{OPERATOR}/services/shindan-metrics:http/proxy/{path}");
    try_kubectl(&["get", "--raw", &path], None)
}

/// Returns the body of the operator's readiness probe.
pub(crate) fn readyz() -> Result<String, String> {
    served("readyz")
}

/// Returns the operator's metrics.
pub(crate) fn metrics() -> Result<Vec<(String, f64)>, String> {
    let text = served("metrics")?;
    let samples = text.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.rsplit_once(' '));
    Ok(samples.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect())
}

/// Sum of all samples whose name has this prefix.
pub(crate) fn sum(samples: &[(String, f64)], begin: &str) -> f64 {
    samples.iter().filter(|(name, _)| name.starts_with(begin)).map(|(_, value)| value).sum()
}

/// The folder of the test cluster.
pub(crate) fn run_directory() -> PathBuf {
    std::env::var("SHINDAN_RUN").unwrap_or_else(|_| "/var/lib/shindan-cluster".to_owned()).into()
}
