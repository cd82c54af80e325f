//! Diagnoses, and their output in the formats of kubectl.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use serde::Serialize;
use shindan_core::api::{
    API_VERSION, DiagnosisKind, DiagnosisState, GROUP, Head, NodeDiagnosis, NodeDiagnosisSpec, NodeDiagnosisStatus,
    PodDiagnosis, PodDiagnosisSpec, PodDiagnosisStatus, Severity, WorkloadDiagnosis, WorkloadDiagnosisSpec,
    WorkloadDiagnosisStatus,
};
use shindan_core::facts::{ObjectKey, Timestamp, WorkloadKey};
use shindan_core::language::Language;
use shindan_core::message::text;
use shindan_core::reconcile::{DiagnosisKey, Object, Record, Write as Planned, past_failures};

use super::tree::{self, Reading, Style};
use super::{markdown, print};

#[cfg(test)]
pub(super) mod testing;

/// An output format other than the tree: a table, or objects.
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
    /// Markdown for a post-mortem: timeline, cause, evidence, impact, and how it ended
    Md,
}

/// Diagnoses that the operator has written or would write.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) pods: Vec<OfPod>,
    pub(super) nodes_and_workloads: Vec<OfNodeOrWorkload>,
    versions: HashMap<DiagnosisKey, Version>,
}

/// The resourceVersion of the object that a diagnosis was read from.
#[derive(Debug, Clone)]
enum Version {
    /// The diagnosis that the operator wrote.
    Diagnosis(String),
    /// The diagnosed object.
    Object(Box<str>),
}

/// A node, a workload with its pods, or pods without a diagnosed workload.
#[derive(Debug, Clone)]
pub(super) struct Block<'f> {
    pub(super) namespace: &'f str,
    pub(super) node_or_workload: Option<&'f OfNodeOrWorkload>,
    pub(super) pods: Vec<&'f OfPod>,
}

/// A node or a workload with its pods, or a pod whose workload has no diagnosis.
#[derive(Debug, Clone)]
pub(super) enum Entry<'f> {
    NodeOrWorkload(&'f OfNodeOrWorkload, Vec<&'f OfPod>),
    Pod(&'f OfPod),
}

#[derive(Debug, Clone)]
pub(super) struct OfPod {
    pub(super) key: ObjectKey,
    pub(super) spec: PodDiagnosisSpec,
    pub(super) status: PodDiagnosisStatus,
}

/// A diagnosis of a node or a workload.
#[derive(Debug, Clone)]
pub(super) struct OfNodeOrWorkload {
    pub(super) key: DiagnosisKey,
    pub(super) object: NodeOrWorkload,
}

#[derive(Debug, Clone)]
pub(super) enum NodeOrWorkload {
    Node(NodeDiagnosisSpec, NodeDiagnosisStatus),
    Workload(WorkloadDiagnosisSpec, WorkloadDiagnosisStatus),
}

impl NodeOrWorkload {
    pub(super) fn head(&self) -> &Head {
        match self {
            Self::Node(_, status) => &status.head,
            Self::Workload(_, status) => &status.head,
        }
    }

    /// How often a workload failed with this cause before.
    pub(super) fn recurrence(&self, language: Language) -> Option<String> {
        match self {
            Self::Node(..) => None,
            Self::Workload(_, status) => past_failures::recurrence(status, language),
        }
    }

    /// The UID of the node or workload.
    fn uid(&self) -> &String {
        match self {
            Self::Node(spec, _) => &spec.node_uid,
            Self::Workload(spec, _) => &spec.workload_uid,
        }
    }

    fn labels(&self) -> BTreeMap<String, String> {
        match self {
            Self::Node(_, status) => NodeDiagnosis::labels_of(status),
            Self::Workload(spec, status) => WorkloadDiagnosis::labels_of(spec, status),
        }
    }
}

/// Whether a diagnosis is an active failure. Informational ones are not failures.
fn is_failure(state: DiagnosisState, severity: Severity) -> bool {
    state == DiagnosisState::Active && severity != Severity::Info
}

impl OfPod {
    pub(super) fn fails(&self) -> bool {
        is_failure(self.status.head.state, self.status.head.severity)
    }
}

impl OfNodeOrWorkload {
    pub(super) fn fails(&self) -> bool {
        let head = self.object.head();
        is_failure(head.state, head.severity)
    }
}

/// A table: columns, additional columns of `-o wide`, and rows.
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
    /// The diagnoses that the operator has written.
    pub(super) fn of_records(records: Vec<Record>) -> Self {
        let version = |record: &Record| (record.key.clone(), Version::Diagnosis(record.resource_version.clone()));
        let versions = records.iter().map(version).collect();
        Self { versions, ..Self::of(records.into_iter().map(|record| (record.key, record.object))) }
    }

    /// The diagnoses that the operator would write.
    pub(super) fn of_writes(pods: Vec<Planned>, nodes_and_workloads: Vec<Planned>) -> Self {
        let writes = pods.into_iter().chain(nodes_and_workloads);
        Self::of(writes.map(|Planned { key, object, .. }| (key, object)))
    }

    /// With the resourceVersions of the diagnosed objects, by UID.
    pub(super) fn with_versions(mut self, of_uids: &HashMap<Arc<str>, Box<str>>) -> Self {
        let of_pods = self.pods.iter().map(|of| (DiagnosisKey::of_pod(of.key.clone()), &of.spec.pod_uid));
        let others = self.nodes_and_workloads.iter().map(|of| (of.key.clone(), of.object.uid()));
        let known = of_pods.chain(others).filter_map(|(key, uid)| Some((key, of_uids.get(uid.as_str())?)));
        self.versions = known.map(|(key, version)| (key, Version::Object(version.clone()))).collect();
        self
    }

    /// What a diagnosis was read from: `PodDiagnosis/web-1@77`, or the diagnosed object `object` with its version.
    pub(super) fn source(&self, key: &DiagnosisKey, object: &str) -> String {
        match self.versions.get(key) {
            Some(Version::Diagnosis(version)) => format!("{}/{}@{version}", key.kind.as_str(), key.object.name),
            Some(Version::Object(version)) => format!("{object}@{version}"),
            None => object.to_owned(),
        }
    }

    /// Groups each pod under its workload if that has a diagnosis. Pods of a workload without one form a block.
    pub(super) fn blocks(&self) -> Vec<Block<'_>> {
        let mut of_workloads: BTreeMap<WorkloadKey, Vec<&OfPod>> = BTreeMap::new();
        let mut bare = Vec::new();
        for pod in &self.pods {
            match &pod.spec.workload {
                Some(own) => of_workloads.entry(WorkloadKey::of(own, &pod.key.namespace)).or_default().push(pod),
                None => bare.push(vec![pod]),
            }
        }
        let mut blocks = Vec::new();
        for of in &self.nodes_and_workloads {
            let namespace = &of.key.object.namespace;
            let own = match &of.object {
                NodeOrWorkload::Workload(spec, _) => of_workloads.remove(&WorkloadKey::of(&spec.workload, namespace)),
                NodeOrWorkload::Node(..) => None,
            };
            blocks.push(Block { namespace, node_or_workload: Some(of), pods: own.unwrap_or_default() });
        }
        for pods in of_workloads.into_values().chain(bare) {
            let namespace = pods.first().map_or("", |pod| &pod.key.namespace);
            blocks.push(Block { namespace, node_or_workload: None, pods });
        }
        blocks
    }

    /// The blocks as a list. Each pod without a diagnosed workload is an entry of its own.
    pub(super) fn entries(&self) -> Vec<Entry<'_>> {
        let entries = self.blocks().into_iter().flat_map(|block| match block.node_or_workload {
            Some(of) => vec![Entry::NodeOrWorkload(of, block.pods)],
            None => block.pods.into_iter().map(Entry::Pod).collect(),
        });
        entries.collect()
    }

    fn of(objects: impl Iterator<Item = (DiagnosisKey, Object)>) -> Self {
        let mut found = Self::default();
        for (key, object) in objects {
            let object = match object {
                Object::Pod(spec, status) => {
                    found.pods.push(OfPod { key: key.object, spec, status });
                    continue;
                }
                Object::Node(spec, status) => NodeOrWorkload::Node(spec, status),
                Object::Workload(spec, status) => NodeOrWorkload::Workload(spec, status),
            };
            found.nodes_and_workloads.push(OfNodeOrWorkload { key, object });
        }
        found
    }

    /// The causes of the failures.
    pub(super) fn causes(&self) -> impl Iterator<Item = &str> {
        let of_pods = self.pods.iter().filter(|pod| pod.fails()).map(|pod| &*pod.status.head.cause);
        let others = self.nodes_and_workloads.iter().filter(|of| of.fails()).map(|of| &*of.object.head().cause);
        of_pods.chain(others)
    }

    /// Takes the remedies of other diagnoses with the same object and cause, if `is_better` holds for the cause.
    pub(super) fn take_remedies(&mut self, other: &Self, is_better: impl Fn(&str) -> bool) {
        let take = |head: &mut Head, other: &Head| {
            if head.cause == other.cause && is_better(&head.cause) {
                head.remedies.clone_from(&other.remedies);
            }
        };
        let of_pods: HashMap<_, _> = other.pods.iter().map(|of| (&of.key, of)).collect();
        let of_others: HashMap<_, _> = other.nodes_and_workloads.iter().map(|of| (&of.key, of)).collect();
        for pod in &mut self.pods {
            if let Some(other) = of_pods.get(&pod.key) {
                take(&mut pod.status.head, &other.status.head);
            }
        }
        for of in &mut self.nodes_and_workloads {
            let NodeOrWorkload::Workload(_, status) = &mut of.object else { continue };
            if let Some(other) = of_others.get(&of.key) {
                take(&mut status.head, other.object.head());
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.nodes_and_workloads.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.pods.len() + self.nodes_and_workloads.len()
    }

    /// Keeps only the ended diagnoses, which stay valid.
    pub(super) fn ended(mut self) -> Self {
        self.pods.retain(|of| of.status.head.state != DiagnosisState::Active);
        self.nodes_and_workloads.retain(|of| of.object.head().state != DiagnosisState::Active);
        self
    }

    /// Adds the diagnoses of other objects.
    pub(super) fn add(&mut self, more: Self) {
        let known: HashSet<ObjectKey> = self.pods.iter().map(|of| of.key.clone()).collect();
        self.pods.extend(more.pods.into_iter().filter(|of| !known.contains(&of.key)));
        for (key, version) in more.versions {
            self.versions.entry(key).or_insert(version);
        }
        let known: HashSet<DiagnosisKey> = self.nodes_and_workloads.iter().map(|of| of.key.clone()).collect();
        self.nodes_and_workloads.extend(more.nodes_and_workloads.into_iter().filter(|of| !known.contains(&of.key)));
    }

    /// Whether an active failure exists.
    pub(super) fn fails(&self) -> bool {
        self.pods.iter().any(OfPod::fails) || self.nodes_and_workloads.iter().any(OfNodeOrWorkload::fails)
    }

    /// Writes the diagnoses in a format. `reading` is used by texts for people only.
    pub(super) fn write(
        &self,
        form: Form,
        reading: Reading,
        now: Timestamp,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        match form {
            Form::Tree => tree::write(self, reading, Style::of_stdout(), now, out)?,
            Form::Md => markdown::write(self, reading.language, now, out)?,
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
        let nodes_and_workloads =
            self.nodes_and_workloads.iter().map(|write| (write.key.kind, &*write.key.object.name));
        nodes_and_workloads.chain(self.pods.iter().map(|write| (DiagnosisKind::Pod, &*write.key.name)))
    }

    /// Writes one table per kind with the columns of the CRDs, as `kubectl get diagnoses` prints them.
    fn tables(&self, wide: bool, now: Timestamp, out: &mut dyn Write) -> std::io::Result<()> {
        let of_kind = |kind| self.nodes_and_workloads.iter().filter(move |write| write.key.kind == kind);
        let nodes = Table {
            columns: ["NAME", "CAUSE", "FLAPPING", "SEVERITY", "STATE", "PODS", "SINCE"],
            wide: &["CONFIDENCE", "SUMMARY"],
            rows: of_kind(DiagnosisKind::Node).map(|write| of_node_or_workload(write, now)).collect(),
        };
        let workloads = Table {
            columns: ["NAME", "CAUSE", "PROBLEM", "SEVERITY", "STATE", "READY", "SINCE"],
            wide: &["FAILING", "CONTAINER", "CONFIDENCE", "SUMMARY"],
            rows: of_kind(DiagnosisKind::Workload).map(|write| of_node_or_workload(write, now)).collect(),
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
        let nodes_and_workloads = self.nodes_and_workloads.iter().map(|write| {
            let content = match &write.object {
                NodeOrWorkload::Node(spec, status) => Content::Node { spec, status },
                NodeOrWorkload::Workload(spec, status) => Content::Workload { spec, status },
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
        List { api_version: "v1", kind: "List", items: nodes_and_workloads.chain(pods).collect() }
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
            status.head.cause.clone(),
            status.container.clone().unwrap_or_default(),
            status.head.severity.to_string(),
            status.head.state.to_string(),
            status.restarts.as_ref().map(|r| r.count.to_string()).unwrap_or_default(),
            since(status.head.first_seen, now),
        ],
        wide: vec![
            status.pod_status.clone(),
            spec.workload.as_ref().map(|w| w.display.clone()).unwrap_or_default(),
            spec.node_name.clone().unwrap_or_default(),
            status.head.confidence.to_string(),
            status.head.summary.clone(),
        ],
    }
}

fn of_node_or_workload(write: &OfNodeOrWorkload, now: Timestamp) -> Row {
    let head: &Head = write.object.head();
    let (what, count, mut wide) = match &write.object {
        NodeOrWorkload::Node(_, status) => {
            let flapping = status.flapping.as_ref().map(|flapping| flapping.display.clone()).unwrap_or_default();
            (flapping, status.pods.to_string(), Vec::new())
        }
        NodeOrWorkload::Workload(_, status) => {
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

/// A List, as from `kubectl get diagnoses -o json`.
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
    Pod {
        spec: &'a shindan_core::api::PodDiagnosisSpec,
        status: &'a shindan_core::api::PodDiagnosisStatus,
    },
    Node {
        spec: &'a shindan_core::api::NodeDiagnosisSpec,
        status: &'a shindan_core::api::NodeDiagnosisStatus,
    },
    Workload {
        spec: &'a shindan_core::api::WorkloadDiagnosisSpec,
        status: &'a shindan_core::api::WorkloadDiagnosisStatus,
    },
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
