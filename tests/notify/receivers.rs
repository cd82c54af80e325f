//! Receivers within the process, a notifier that sends to them, and diagnoses.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::http::StatusCode;
use serde_json::{Value, json};
use shindan::metrics::Metrics;
use shindan::notify::format::Outgoing;
use shindan::notify::send::{Answer, NoAnswer, Post};
use shindan::notify::task::Notifier;
use shindan::notify::{Handle, Mark, Settings};
use shindan_core::api::{DiagnosisKind, Root, RootReach, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus, WorkloadRef};
use shindan_core::facts::ObjectKey;
use shindan_core::reconcile::{DiagnosisKey, Object};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How a receiver behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mood {
    Fine,
    /// No connection is possible.
    Down,
    /// It never answers.
    Silent,
    Answers(u16, &'static str),
    Throttles(u64),
}

#[derive(Debug, Default)]
struct State {
    moods: HashMap<usize, Mood>,
    tries: HashMap<usize, usize>,
    got: HashMap<usize, Vec<Value>>,
}

/// Receivers without sockets, so that the clock of the test may be paused.
#[derive(Debug, Clone, Default)]
pub struct Receivers(Arc<Mutex<State>>);

impl Receivers {
    pub fn set(&self, receiver: usize, mood: Mood) {
        self.0.lock().unwrap().moods.insert(receiver, mood);
    }

    /// The bodies that a receiver accepted.
    pub fn got(&self, receiver: usize) -> Vec<Value> {
        self.0.lock().unwrap().got.get(&receiver).cloned().unwrap_or_default()
    }

    /// Titles of the messages that a receiver of the kind Slack accepted.
    pub fn titles(&self, receiver: usize) -> Vec<String> {
        self.got(receiver).iter().map(|body| body["text"].as_str().unwrap().to_owned()).collect()
    }

    pub fn tries(&self, receiver: usize) -> usize {
        self.0.lock().unwrap().tries.get(&receiver).copied().unwrap_or_default()
    }
}

fn answer(status: u16, body: &'static str, retry_after: Option<Duration>) -> Answer {
    Answer { status: StatusCode::from_u16(status).unwrap(), retry_after, body: body.into() }
}

impl Post for Receivers {
    async fn post(&self, receiver: usize, request: Outgoing) -> Result<Answer, NoAnswer> {
        let mood = {
            let mut state = self.0.lock().unwrap();
            *state.tries.entry(receiver).or_default() += 1;
            let mood = state.moods.get(&receiver).cloned().unwrap_or(Mood::Fine);
            if mood == Mood::Fine {
                state.got.entry(receiver).or_default().push(serde_json::from_slice(&request.body).unwrap());
            }
            mood
        };
        match mood {
            Mood::Fine => Ok(answer(200, "ok", None)),
            Mood::Down => Err(NoAnswer::Connect("refused".to_owned())),
            Mood::Silent => std::future::pending().await,
            Mood::Answers(status, body) => Ok(answer(status, body, None)),
            Mood::Throttles(seconds) => Ok(answer(429, "rate_limited", Some(Duration::from_secs(seconds)))),
        }
    }
}

/// The secret part of each URL.
pub const SECRET: &str = "T00000000-B00000000-XXXXXXXXXXXXXXXXXXXXXXXX";

/// A folder with the secrets of the receivers.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("url"), format!("https://hooks.example.com/services/{SECRET}\n")).unwrap();
        std::fs::write(folder.path().join("token"), SECRET).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Settings with two receivers of the kind Slack, and further lines.
    pub fn two(&self, further: &str) -> Settings {
        let url = self.path("url");
        let entry = |name: &str| format!("- {{name: {name}, slack: {{urlFile: {}}}}}\n", url.display());
        Settings::parse(&format!("receivers:\n{}{}{further}", entry("first"), entry("second"))).unwrap()
    }
}

/// A running notifier that leads.
pub struct Running {
    pub handle: Handle,
    pub marks: mpsc::Receiver<Mark>,
    pub metrics: Metrics,
    task: JoinHandle<()>,
    _folder: Arc<Folder>,
}

impl Running {
    pub fn start(folder: &Arc<Folder>, receivers: &Receivers, further: &str) -> Self {
        let (sender, marks) = mpsc::channel(1000);
        let (handle, metrics) = (Handle::default(), Metrics::new());
        let settings = folder.two(further);
        let notifier = Notifier::new(settings, handle.clone(), receivers.clone(), metrics.clone(), sender);
        handle.leads(true);
        Self { handle, marks, metrics, task: tokio::spawn(notifier.run()), _folder: folder.clone() }
    }

    /// The marks that the engine would write: the last text of each diagnosis.
    pub fn marks(&mut self) -> HashMap<DiagnosisKey, Option<String>> {
        let mut marks = HashMap::new();
        while let Ok(mark) = self.marks.try_recv() {
            marks.insert(mark.key, mark.text);
        }
        marks
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Lets the paused clock run.
pub async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// The diagnosis of a Deployment.
pub struct Diagnosis {
    pub namespace: String,
    pub name: String,
    pub root: Option<&'static str>,
    pub state: &'static str,
    pub severity: &'static str,
    pub summary: String,
}

impl Diagnosis {
    /// A Deployment that cannot pull its image from a dead registry.
    pub fn of_registry(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            root: Some("registry.example.com"),
            state: "Active",
            severity: "Warning",
            summary: format!("{name}: registry.example.com refuses connections"),
        }
    }

    /// A Deployment that fails by itself.
    pub fn alone(name: &str) -> Self {
        Self { root: None, ..Self::of_registry("shop", name) }
    }

    pub fn key(&self) -> DiagnosisKey {
        let object = ObjectKey::new(self.namespace.as_str(), format!("deployment-{}", self.name));
        DiagnosisKey { kind: DiagnosisKind::Workload, object }
    }

    pub fn object(&self) -> Object {
        let workload = WorkloadRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: self.name.clone(),
            display: format!("Deployment/{}", self.name),
        };
        let status: WorkloadDiagnosisStatus = serde_json::from_value(json!({
            "state": self.state, "severity": self.severity, "confidence": "Certain", "cause": "RegistryConnectionRefused",
            "category": "Image", "summary": self.summary, "firstSeen": "2026-11-28T10:00:00Z",
            "lastTransition": "2026-11-28T10:05:00Z", "pods": {"failing": 2},
        }))
        .unwrap();
        let root = self.root.map(|name| RootReach {
            root: Root { kind: "Registry".to_owned(), name: name.to_owned() },
            ..RootReach::default()
        });
        let spec = WorkloadDiagnosisSpec { workload, workload_uid: self.name.clone() };
        Object::Workload(spec, WorkloadDiagnosisStatus { root, ..status })
    }

    pub fn write(&self, running: &Running) {
        running.handle.written(&self.key(), &self.object());
    }

    pub fn recovered(self) -> Self {
        Self { state: "Recovered", summary: "2 of 2 pods are ready".to_owned(), ..self }
    }
}
