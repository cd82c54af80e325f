//! The operator as a process of its own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt;
use kube::{Client, Config};
use rustix::process::Signal;
use serde_json::Value;

use crate::child::Child;
use crate::control_plane::ControlPlane;
use crate::wait::{ensure, eventually};

/// Timeout for a few requests of the operator on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Short thresholds, and no Event aggregation, because the tests count each pod's Event.
const QUICK: [&str; 4] =
    ["--recovered-never-started=1s", "--recovered-restarting=1s", "--event-grace=1s", "--events-per-workload=1000"];

/// The binary that cargo built, or `SHINDAN_BINARY`.
pub(crate) fn program() -> OsString {
    std::env::var_os("SHINDAN_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_shindan").into())
}

/// The command line and environment of an operator.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    folder: PathBuf,
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Launch {
    /// Uses the credentials of this kubeconfig; logs are written to the folder of the control plane.
    pub(crate) fn new(plane: &ControlPlane, kubeconfig: &Path) -> Self {
        Self::in_cluster(plane).with(&[&format!("--kubeconfig={}", kubeconfig.display())])
    }

    /// Uses the in-cluster configuration.
    pub(crate) fn in_cluster(plane: &ControlPlane) -> Self {
        let arguments = ["run", "--listen=127.0.0.1:0", "--log-format=json"].into_iter().chain(QUICK);
        Self {
            folder: plane.folder.path().to_owned(),
            program: program(),
            arguments: arguments.map(OsString::from).collect(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(OsString::from));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs the operator by this wrapper command.
    pub(crate) fn by(mut self, command: &[&str]) -> Self {
        let own = std::mem::replace(&mut self.program, command[0].into());
        let before = command[1..].iter().map(OsString::from).chain([own]);
        self.arguments = before.chain(std::mem::take(&mut self.arguments)).collect();
        self
    }

    /// Starts it, and waits until it serves its probes.
    pub(crate) async fn start(&self) -> Operator {
        static STARTED: AtomicU16 = AtomicU16::new(0);
        let log = self.folder.join(format!("operator-{}.log", STARTED.fetch_add(1, Ordering::Relaxed)));
        let child = Child::spawn("operator", &log, &self.program, &self.arguments, &self.environment);
        let address = eventually(SOON, "the operator serves its probes", async || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            assert!(child.is_running(), "it has exited:\n{text}");
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let fields = lines.map(|line| line["address"].as_str().map(str::to_owned));
            fields.flatten().next().ok_or(text)
        })
        .await;
        let mut config = Config::new(format!("http://{address}").parse().unwrap());
        config.default_retry = false;
        config.read_timeout = Some(Duration::from_secs(10));
        Operator { child, log, client: Client::try_from(config).unwrap() }
    }

    /// Starts it, and waits until it is ready.
    pub(crate) async fn ready(&self) -> Operator {
        let operator = self.start().await;
        operator.is_ready().await;
        operator
    }
}

pub(crate) struct Operator {
    child: Child,
    log: PathBuf,
    client: Client,
}

impl Operator {
    pub(crate) async fn is_ready(&self) {
        eventually(SOON, "the operator is ready", async || {
            let (status, text) = self.probe("/readyz").await?;
            ensure(status == StatusCode::OK, || text)
        })
        .await;
    }

    /// Waits until a probe returns this status and a body with all these texts.
    pub(crate) async fn await_probe(&self, path: &str, status: StatusCode, texts: &[&str], within: Duration) -> String {
        eventually(within, format!("{path} is {status} with {texts:?}"), async || {
            let (is, text) = self.probe(path).await?;
            let ok = is == status && texts.iter().all(|word| text.contains(word));
            ensure(ok, || format!("{is}: {text}")).map(|()| text)
        })
        .await
    }

    pub(crate) async fn probe(&self, path: &str) -> Result<(StatusCode, String), String> {
        let request = Request::get(path).body(kube::client::Body::empty()).unwrap();
        let response = self.client.send(request).await.map_err(|e| e.to_string())?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|e| e.to_string())?;
        Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
    }

    /// Sum of all samples whose name and labels have this prefix.
    pub(crate) async fn metric(&self, begin: &str) -> Result<f64, String> {
        let (_, text) = self.probe("/metrics").await?;
        let samples = text.lines().filter_map(|line| line.strip_prefix(begin)?.rsplit_once(' '));
        Ok(samples.filter_map(|(_, value)| value.parse::<f64>().ok()).sum())
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.child.is_running()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Stops the process with SIGTERM, as an upgrade does.
    pub(crate) async fn stop(self) {
        self.signal(Signal::TERM);
        eventually(SOON, "the operator stops", async || ensure(!self.is_running(), || "it still runs".to_owned()))
            .await;
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            println!("---- end of the operator's log\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}
