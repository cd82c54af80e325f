//! What was found, in the forms that kubectl knows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::Context;
use serde::Serialize;

use super::print;
use super::tree::{self, Reading, Style};
use crate::api::{
    API_VERSION, DiagnosisKind, DiagnosisState, GROUP, Head, PodDiagnosis, PodDiagnosisSpec, PodDiagnosisStatus,
    Severity,
};
use crate::diagnosis::text;
use crate::facts::{ObjectKey, Timestamp};
use crate::plan::{DiagnosisKey, ObjectWrite, Outer, OuterRecord, OuterWrite};
use crate::world::Stored;

/// A form for whoever reads it elsewhere: a table, or objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// For reading: workloads, their pods, and what to do
    Tree,
    /// The columns that kubectl get prints
    Table,
    /// The table with more columns, the summary last
    Wide,
    /// A List of the objects
    Json,
    /// A List of the objects
    Yaml,
    /// poddiagnosis.shindan.dev/NAME and so on
    Name,
}

/// Diagnoses: those that the operator would write, or has written.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) pods: Vec<OfPod>,
    pub(super) outers: Vec<OfOuter>,
}

#[derive(Debug)]
pub(super) struct OfPod {
    pub(super) key: ObjectKey,
    pub(super) spec: PodDiagnosisSpec,
    pub(super) status: PodDiagnosisStatus,
}

/// Of a node or a workload.
#[derive(Debug)]
pub(super) struct OfOuter {
    pub(super) key: DiagnosisKey,
    pub(super) object: Outer,
}

/// What is only noted is no failure, and what has ended is none any more.
fn is_failure(state: DiagnosisState, severity: Severity) -> bool {
    state == DiagnosisState::Active && severity != Severity::Info
}

impl OfPod {
    pub(super) fn fails(&self) -> bool {
        is_failure(self.status.state, self.status.severity)
    }
}

impl OfOuter {
    pub(super) fn fails(&self) -> bool {
        let head = self.object.head();
        is_failure(head.state, head.severity)
    }
}

impl From<ObjectWrite> for OfPod {
    fn from(ObjectWrite { key, spec, status, .. }: ObjectWrite) -> Self {
        Self { key, spec, status }
    }
}

impl From<Stored> for OfPod {
    fn from(Stored { key, spec, status, .. }: Stored) -> Self {
        Self { key, spec, status }
    }
}

impl From<OuterWrite> for OfOuter {
    fn from(OuterWrite { key, object, .. }: OuterWrite) -> Self {
        Self { key, object }
    }
}

impl From<OuterRecord> for OfOuter {
    fn from(OuterRecord { key, object, .. }: OuterRecord) -> Self {
        Self { key, object }
    }
}

/// A table: its columns, those of `-o wide` beside, and its rows.
struct Table<'a> {
    columns: [&'a str; 7],
    wide: &'a [&'a str],
    rows: Vec<Row>,
}

struct Row {
    namespace: String,
    cells: [String; 7],
    wide: Vec<String>,
}

impl Found {
    pub(super) fn of<P: Into<OfPod>, O: Into<OfOuter>>(pods: Vec<P>, outers: Vec<O>) -> Self {
        Self { pods: pods.into_iter().map(Into::into).collect(), outers: outers.into_iter().map(Into::into).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.outers.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.pods.len() + self.outers.len()
    }

    /// What is over of it: it stays true, whatever happens.
    pub(super) fn ended(mut self) -> Self {
        self.pods.retain(|of| of.status.state != DiagnosisState::Active);
        self.outers.retain(|of| of.object.head().state != DiagnosisState::Active);
        self
    }

    /// Adds what is about something else.
    pub(super) fn add(&mut self, more: Self) {
        let is_new = |of: &OfPod| !self.pods.iter().any(|known| known.key == of.key);
        let pods: Vec<_> = more.pods.into_iter().filter(is_new).collect();
        let is_new = |of: &OfOuter| !self.outers.iter().any(|known| known.key == of.key);
        let outers: Vec<_> = more.outers.into_iter().filter(is_new).collect();
        self.pods.extend(pods);
        self.outers.extend(outers);
    }

    /// Whether something fails now.
    pub(super) fn fails(&self) -> bool {
        self.pods.iter().any(OfPod::fails) || self.outers.iter().any(OfOuter::fails)
    }

    /// `reading` is of account for the tree.
    pub(super) fn write(
        &self,
        form: Form,
        reading: Reading,
        now: Timestamp,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        match form {
            Form::Tree => tree::write(self, reading, Style::of_stdout(), now, out)?,
            Form::Table | Form::Wide => self.tables(form == Form::Wide, now, out)?,
            Form::Json => {
                serde_json::to_writer_pretty(&mut *out, &self.list()).context("the list cannot be written as JSON")?;
                writeln!(out)?;
            }
            Form::Yaml => {
                let text = serde_saphyr::to_string(&self.list()).context("the list cannot be written as YAML")?;
                out.write_all(text.as_bytes())?;
            }
            Form::Name => {
                for (kind, name) in self.names() {
                    writeln!(out, "{}.{GROUP}/{}", kind.as_str().to_ascii_lowercase(), text::line(name, 253))?;
                }
            }
        }
        Ok(())
    }

    fn names(&self) -> impl Iterator<Item = (DiagnosisKind, &str)> {
        let outers = self.outers.iter().map(|write| (write.key.kind, &*write.key.object.name));
        outers.chain(self.pods.iter().map(|write| (DiagnosisKind::Pod, &*write.key.name)))
    }

    /// The columns of the CRDs, as `kubectl get diagnoses` prints them: a table a kind, the widest view first.
    fn tables(&self, wide: bool, now: Timestamp, out: &mut dyn Write) -> std::io::Result<()> {
        let of_kind = |kind| self.outers.iter().filter(move |write| write.key.kind == kind);
        let nodes = Table {
            columns: ["NAME", "CAUSE", "FLAPPING", "SEVERITY", "STATE", "PODS", "SINCE"],
            wide: &["CONFIDENCE", "SUMMARY"],
            rows: of_kind(DiagnosisKind::Node).map(|write| of_outer(write, now)).collect(),
        };
        let workloads = Table {
            columns: ["NAME", "CAUSE", "PROBLEM", "SEVERITY", "STATE", "READY", "SINCE"],
            wide: &["FAILING", "CONTAINER", "CONFIDENCE", "SUMMARY"],
            rows: of_kind(DiagnosisKind::Workload).map(|write| of_outer(write, now)).collect(),
        };
        let pods = Table {
            columns: ["NAME", "CAUSE", "CONTAINER", "SEVERITY", "STATE", "RESTARTS", "SINCE"],
            wide: &["POD-STATUS", "WORKLOAD", "NODE", "CONFIDENCE", "SUMMARY"],
            rows: self.pods.iter().map(|write| of_pod(write, now)).collect(),
        };
        let mut is_first = true;
        for table in [nodes, workloads, pods].into_iter().filter(|table| !table.rows.is_empty()) {
            if !std::mem::take(&mut is_first) {
                writeln!(out)?;
            }
            table.print(wide, out)?;
        }
        Ok(())
    }

    fn list(&self) -> List<'_> {
        let outers = self.outers.iter().map(|write| {
            let content = match &write.object {
                Outer::Node(spec, status) => Content::Node { spec, status },
                Outer::Workload(spec, status) => Content::Workload { spec, status },
            };
            Item::of(
                write.key.kind,
                &write.key.object.namespace,
                &write.key.object.name,
                write.object.labels(),
                content,
            )
        });
        let pods = self.pods.iter().map(|write| {
            let content = Content::Pod { spec: &write.spec, status: &write.status };
            let labels = PodDiagnosis::labels_of(&write.spec, &write.status);
            Item::of(DiagnosisKind::Pod, &write.key.namespace, &write.key.name, labels, content)
        });
        List { api_version: "v1", kind: "List", items: outers.chain(pods).collect() }
    }
}

impl Table<'_> {
    fn print(&self, wide: bool, out: &mut dyn Write) -> std::io::Result<()> {
        let namespaces: BTreeSet<&str> = self.rows.iter().map(|row| row.namespace.as_str()).collect();
        let with_namespace = namespaces.len() > 1;
        let mut head: Vec<&str> = if with_namespace { vec!["NAMESPACE"] } else { Vec::new() };
        head.extend(self.columns);
        if wide {
            head.extend(self.wide);
        }
        let rows = self.rows.iter().map(|row| {
            let namespace = with_namespace.then_some(&row.namespace);
            let beside = row.wide.iter().filter(|_| wide);
            namespace.into_iter().chain(&row.cells).chain(beside).cloned().collect()
        });
        print::table(out, &head, &rows.collect::<Vec<Vec<String>>>())
    }
}

fn since(first_seen: Option<Timestamp>, now: Timestamp) -> String {
    first_seen.map(|since| print::age(since, now)).unwrap_or_default()
}

fn of_pod(write: &OfPod, now: Timestamp) -> Row {
    let (spec, status) = (&write.spec, &write.status);
    Row {
        namespace: write.key.namespace.to_string(),
        cells: [
            write.key.name.to_string(),
            status.cause.clone(),
            status.container.clone().unwrap_or_default(),
            status.severity.to_string(),
            status.state.to_string(),
            status.restarts.as_ref().map(|r| r.count.to_string()).unwrap_or_default(),
            since(status.first_seen, now),
        ],
        wide: vec![
            status.pod_status.clone(),
            spec.workload.as_ref().map(|w| w.display.clone()).unwrap_or_default(),
            spec.node_name.clone().unwrap_or_default(),
            status.confidence.to_string(),
            status.summary.clone(),
        ],
    }
}

fn of_outer(write: &OfOuter, now: Timestamp) -> Row {
    let head: &Head = write.object.head();
    let (what, count, mut wide) = match &write.object {
        Outer::Node(_, status) => {
            let flapping = status.flapping.as_ref().map(|flapping| flapping.display.clone()).unwrap_or_default();
            (flapping, status.pods.to_string(), Vec::new())
        }
        Outer::Workload(_, status) => {
            let beside = vec![status.pods.failing.to_string(), status.container.clone().unwrap_or_default()];
            (status.problem.clone(), status.pods.display.clone(), beside)
        }
    };
    wide.extend([head.confidence.to_string(), head.summary.clone()]);
    Row {
        namespace: write.key.object.namespace.to_string(),
        cells: [
            write.key.object.name.to_string(),
            head.cause.clone(),
            what,
            head.severity.to_string(),
            head.state.to_string(),
            count,
            since(head.first_seen, now),
        ],
        wide,
    }
}

/// As `kubectl get diagnoses -o json` has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    #[serde(flatten)]
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Pod { spec: &'a crate::api::PodDiagnosisSpec, status: &'a crate::api::PodDiagnosisStatus },
    Node { spec: &'a crate::api::NodeDiagnosisSpec, status: &'a crate::api::NodeDiagnosisStatus },
    Workload { spec: &'a crate::api::WorkloadDiagnosisSpec, status: &'a crate::api::WorkloadDiagnosisStatus },
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    labels: BTreeMap<String, String>,
}

impl<'a> Item<'a> {
    fn of(
        kind: DiagnosisKind,
        namespace: &'a str,
        name: &'a str,
        labels: BTreeMap<String, String>,
        content: Content<'a>,
    ) -> Self {
        let metadata = Metadata { name, namespace, labels };
        Self { api_version: API_VERSION, kind: kind.as_str(), metadata, content }
    }
}
