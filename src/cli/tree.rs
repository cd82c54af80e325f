//! Diagnoses for reading: workload, its pods, their containers, and what to do.

mod style;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::found::{Found, OfOuter, OfPod};
use super::print::{self, columns, wrap};
use super::sentences;
use crate::api::{
    DiagnosisState, Evidence, Head, Impact, NodeDiagnosisSpec, NodeDiagnosisStatus, Remedy, ServiceImpact, Severity,
    Weight, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, text};
use crate::facts::{Timestamp, WorkloadKey};
use crate::plan::Outer;

use style::Paint;
pub(super) use style::Style;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Of everything that fails: cause, summary, the first remedy; of pods that fail alike, one.
    Short,
    /// With evidence, restarts, impact and all remedies.
    Full,
}

impl Detail {
    /// For so many diagnoses: few can be read in full.
    pub(super) fn by_size(diagnoses: usize) -> Self {
        const FEW: usize = 3;
        if diagnoses <= FEW { Self::Full } else { Self::Short }
    }
}

/// For whom it is told. (What was diagnosed is in the language of who diagnosed it.)
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) detail: Detail,
    pub(super) language: Language,
}

/// The most characters of any text from the cluster in one place.
const TEXT_MAX: usize = 2000;
/// Pods that fail of the same are named up to this many.
const NAMES: usize = 5;

pub(super) fn write(
    found: &Found,
    reading: Reading,
    style: Style,
    now: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Reading { detail, language } = reading;
    let mut tree = Tree { detail, language, style, now, out };
    let mut blocks = blocks(found);
    blocks.sort_by_key(Block::order);
    let namespaces: BTreeSet<&str> = blocks.iter().map(|block| block.namespace).collect();
    let with_namespace = namespaces.iter().filter(|namespace| !namespace.is_empty()).count() > 1;
    let mut last = None;
    for block in &blocks {
        if with_namespace && last != Some(block.namespace) && !block.namespace.is_empty() {
            if last.is_some() {
                writeln!(tree.out)?;
            }
            tree.line("", &tree.style.paint(Paint::Name, &clean(block.namespace)))?;
        }
        if last.is_some() || with_namespace {
            writeln!(tree.out)?;
        }
        last = Some(block.namespace);
        tree.block(block)?;
    }
    Ok(())
}

/// A node, a workload with its pods, or a pod that belongs to none.
struct Block<'a> {
    namespace: &'a str,
    outer: Option<&'a OfOuter>,
    pods: Vec<&'a OfPod>,
}

impl Block<'_> {
    /// Nodes first; then by namespace, what is worse before the rest, and by name.
    fn order(&self) -> (String, bool, Severity, String) {
        let head = self.outer.map(|of| of.object.head());
        let ended = head.map_or_else(|| !self.pods.iter().any(|pod| is_active(pod)), |head| !is_on(head));
        let of_pods = self.pods.iter().filter(|pod| is_active(pod)).map(|pod| pod.status.severity);
        let severity = of_pods.chain(head.map(|head| head.severity)).min().unwrap_or(Severity::Info);
        let name = self.outer.map_or_else(|| self.pods.first().map(|pod| &pod.key), |of| Some(&of.key.object));
        let name = name.map(ToString::to_string).unwrap_or_default();
        (self.namespace.to_owned(), ended, severity, name)
    }
}

fn is_on(head: &Head) -> bool {
    head.state == DiagnosisState::Active
}

fn is_active(pod: &OfPod) -> bool {
    pod.status.state == DiagnosisState::Active
}

/// Each pod stands under its workload, where that has a diagnosis; pods of one that has none stand together.
fn blocks(found: &Found) -> Vec<Block<'_>> {
    let mut of_workloads: BTreeMap<WorkloadKey, Block<'_>> = BTreeMap::new();
    let mut blocks = Vec::new();
    for outer in &found.outers {
        let namespace = &outer.key.object.namespace;
        let block = Block { namespace, outer: Some(outer), pods: Vec::new() };
        match &outer.object {
            Outer::Node(..) => blocks.push(block),
            Outer::Workload(spec, _) => {
                of_workloads.insert(WorkloadKey::of(&spec.workload, namespace), block);
            }
        }
    }
    for pod in &found.pods {
        let namespace = &pod.key.namespace;
        let alone = || Block { namespace, outer: None, pods: Vec::new() };
        match &pod.spec.workload {
            Some(own) => {
                of_workloads.entry(WorkloadKey::of(own, namespace)).or_insert_with(alone).pods.push(pod);
            }
            None => blocks.push(Block { pods: vec![pod], ..alone() }),
        }
    }
    blocks.extend(of_workloads.into_values());
    blocks
}

/// Text from the cluster, which may be anybody's: no control characters, and an end.
fn clean(text: &str) -> String {
    text::line(text, TEXT_MAX)
}

struct Tree<'a> {
    detail: Detail,
    language: Language,
    style: Style,
    now: Timestamp,
    out: &'a mut dyn Write,
}

impl Tree<'_> {
    fn line(&mut self, indent: &str, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", format!("{}{text}", self.style.paint(Paint::Faint, indent)).trim_end())
    }

    /// The columns that a line has left; where those are hardly any, it is rather too long.
    fn room(&self, taken: usize) -> usize {
        self.style.width.saturating_sub(taken).max(20)
    }

    /// Broken at words; further lines stand under the first, after `first`.
    fn text(&mut self, indent: &str, first: &str, text: &str, paint: Option<Paint>) -> io::Result<()> {
        let width = self.room(columns(indent) + columns(first));
        for (n, line) in wrap(&clean(text), width).iter().enumerate() {
            let painted = paint.map_or_else(|| line.clone(), |paint| self.style.paint(paint, line));
            let lead = if n == 0 { first.to_owned() } else { " ".repeat(columns(first)) };
            self.line(indent, &format!("{lead}{painted}"))?;
        }
        Ok(())
    }

    fn sign(&self, state: DiagnosisState, severity: Severity) -> String {
        let signs = self.style.signs;
        match (state, severity) {
            (DiagnosisState::Active, Severity::Info) => self.style.paint(Paint::Of(severity), signs.noted),
            (DiagnosisState::Active, _) => self.style.paint(Paint::Of(severity), signs.fails),
            (DiagnosisState::Gone, _) => self.style.paint(Paint::Faint, signs.gone),
            _ => self.style.paint(Paint::Well, signs.recovered),
        }
    }

    /// `✖ Deployment web   ImageTagNotFound   Critical   0/3 ready   12m`
    fn title(&mut self, indent: &str, told: &Title<'_>) -> io::Result<()> {
        let mut parts = vec![
            format!("{} {}", self.sign(told.state, told.severity), self.style.paint(Paint::Name, &clean(&told.what))),
            self.style.paint(Paint::Of(told.severity), &clean(told.cause)),
        ];
        if told.state != DiagnosisState::Active {
            parts[1] = clean(told.cause);
            let paint = if told.state == DiagnosisState::Gone { Paint::Faint } else { Paint::Well };
            parts.push(self.style.paint(paint, told.state.as_str()));
        } else if told.severity == Severity::Critical {
            parts.push(told.severity.to_string());
        }
        parts.extend(told.more.iter().filter(|part| !part.is_empty()).map(|part| clean(part)));
        parts.extend(told.since.map(|since| self.style.paint(Paint::Faint, &print::age(since, self.now))));
        self.line(indent, &parts.join("   "))
    }

    fn block(&mut self, block: &Block<'_>) -> io::Result<()> {
        let trunk = if block.pods.is_empty() { "   " } else { self.style.signs.trunk };
        match block.outer.map(|of| &of.object) {
            Some(Outer::Workload(spec, status)) => self.workload(spec, status, trunk)?,
            Some(Outer::Node(spec, status)) => self.node(spec, status, trunk)?,
            None => {
                let Some(own) = block.pods.first().and_then(|pod| pod.spec.workload.as_ref()) else {
                    return block.pods.iter().try_for_each(|pod| self.pod(pod, "", "   ", false));
                };
                self.line("", &self.style.paint(Paint::Name, &clean(&own.display)))?;
            }
        }
        // What the workload says is not said again under each of its pods.
        let said = block.outer.map(|of| of.object.head().cause.as_str());
        let mut alike = alike(&block.pods).into_iter().peekable();
        while let Some(pods) = alike.next() {
            self.group(&pods, said, alike.peek().is_none())?;
        }
        Ok(())
    }

    /// Pods that fail alike: some of them, and the names of others.
    fn group(&mut self, pods: &[&OfPod], said: Option<&str>, is_last: bool) -> io::Result<()> {
        let most = if self.detail == Detail::Full { 3 } else { 1 };
        let (shown, hidden) = pods.split_at(pods.len().min(most));
        for (n, pod) in shown.iter().enumerate() {
            let (branch, below) = self.branch(is_last && hidden.is_empty() && n + 1 == shown.len());
            let repeats = said == Some(&pod.status.cause) || n > 0;
            self.pod(pod, branch, below, repeats)?;
        }
        if hidden.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = hidden.iter().take(NAMES).map(|pod| &*pod.key.name).collect();
        let more = if hidden.len() > NAMES { ", ..." } else { "" };
        let names = format!("{}{more}", names.join(", "));
        let text = clean(&say!(self.language, "{count} more like it: {names}", count = hidden.len(), names));
        let (branch, below) = self.branch(is_last);
        let indents = std::iter::once(branch).chain(std::iter::repeat(below));
        wrap(&text, self.room(columns(branch)))
            .iter()
            .zip(indents)
            .try_for_each(|(line, indent)| self.line(indent, line))
    }

    /// What stands before the first line of a pod, and before the others.
    fn branch(&self, is_last: bool) -> (&'static str, &'static str) {
        let signs = self.style.signs;
        if is_last { (signs.last_branch, "   ") } else { (signs.branch, signs.trunk) }
    }

    fn node(&mut self, spec: &NodeDiagnosisSpec, status: &NodeDiagnosisStatus, trunk: &str) -> io::Result<()> {
        let flapping = status.flapping.as_ref().map(|flapping| flapping.display.clone()).unwrap_or_default();
        let suffer = match status.pods {
            0 => String::new(),
            1 => phrase!(self.language, "1 pod suffers").to_owned(),
            pods => say!(self.language, "{pods} pods suffer", pods),
        };
        self.title("", &Title::of(&status.head, format!("Node {}", spec.node_name), vec![flapping, suffer]))?;
        self.head(&status.head, trunk)
    }

    fn workload(
        &mut self,
        spec: &WorkloadDiagnosisSpec,
        status: &WorkloadDiagnosisStatus,
        trunk: &str,
    ) -> io::Result<()> {
        let ready = &status.pods.display;
        // A Job's pods need never be ready.
        let ready = if ready.is_empty() || spec.workload.kind == "Job" {
            String::new()
        } else {
            say!(self.language, "{ready} ready", ready)
        };
        let what = if spec.workload.display.is_empty() {
            format!("{} {}", spec.workload.kind, spec.workload.name)
        } else {
            spec.workload.display.clone()
        };
        self.title("", &Title::of(&status.head, what, vec![status.problem.clone(), ready]))?;
        self.text(trunk, "", &status.head.summary, None)?;
        if let Some(serving) = &status.serving {
            self.services(trunk, &serving.services)?;
        }
        if self.detail == Detail::Full {
            for change in &status.template_changes {
                let none = phrase!(self.language, "(none)");
                let side = |value: &Option<String>| value.clone().unwrap_or_else(|| none.to_owned());
                let text = say!(
                    self.language,
                    "changed: {field}: {before} -> {after}",
                    field = change.field,
                    before = side(&change.before),
                    after = side(&change.after)
                );
                self.text(trunk, "", &text, Some(Paint::Faint))?;
            }
            // What its pods say stands under each of them.
            let own = status.head.evidence.iter().filter(|evidence| !evidence.source.starts_with("pod/"));
            self.evidence(trunk, own)?;
        }
        self.remedies(trunk, status.head.state, &status.head.remedies)
    }

    fn head(&mut self, head: &Head, trunk: &str) -> io::Result<()> {
        self.text(trunk, "", &head.summary, None)?;
        if self.detail == Detail::Full {
            self.evidence(trunk, &head.evidence)?;
        }
        self.remedies(trunk, head.state, &head.remedies)
    }

    fn pod(&mut self, pod: &OfPod, branch: &str, below: &str, repeats: bool) -> io::Result<()> {
        let (spec, status) = (&pod.spec, &pod.status);
        let on = spec.node_name.as_ref().map(|node| say!(self.language, "on {node}", node)).unwrap_or_default();
        let container = status.container.as_ref();
        let container = container.map(|name| say!(self.language, "container {name}", name)).unwrap_or_default();
        // kubectl's word for it, where that is another one.
        let pod_status = Some(&status.pod_status).filter(|word| **word != status.cause).cloned().unwrap_or_default();
        let title = Title {
            state: status.state,
            severity: status.severity,
            what: format!("Pod {}", pod.key.name),
            cause: &status.cause,
            more: vec![container, pod_status, on],
            since: status.first_seen,
        };
        self.title(branch, &title)?;
        let full = self.detail == Detail::Full;
        if full || !repeats {
            self.text(below, "", &status.summary, None)?;
        }
        if full {
            let restarts = status.restarts.as_ref();
            let line = restarts
                .and_then(|r| timeline::of(r, status.container.as_deref(), self.now, self.language, self.style.signs));
            if let Some(line) = line {
                if !line.drawn.is_empty() {
                    self.line(
                        below,
                        &format!("{}   {}", clean(&line.drawn), self.style.paint(Paint::Faint, &line.legend)),
                    )?;
                }
                self.text(below, "", &line.said, Some(Paint::Faint))?;
            }
            self.evidence(below, &status.evidence)?;
            for other in &status.other_findings {
                let (cause, summary) = (&other.cause, &other.summary);
                let text = match &other.container {
                    Some(name) => say!(self.language, "also {cause} of {name}: {summary}", cause, name, summary),
                    None => say!(self.language, "also {cause}: {summary}", cause, summary),
                };
                self.text(below, "", &text, None)?;
            }
            if let Some(impact) = &status.impact {
                self.impact(below, impact)?;
            }
        }
        if !repeats {
            self.remedies(below, status.state, &status.remedies)?;
        }
        Ok(())
    }

    fn impact(&mut self, indent: &str, impact: &Impact) -> io::Result<()> {
        if !impact.healthy_containers.is_empty() {
            let names = impact.healthy_containers.join(", ");
            let text = say!(self.language, "well in the same pod: {names}", names);
            self.text(indent, "", &text, Some(Paint::Faint))?;
        }
        self.services(indent, &impact.services)
    }

    fn services(&mut self, indent: &str, services: &[ServiceImpact]) -> io::Result<()> {
        for service in services {
            let text = sentences::service(service, self.language);
            let paint = (service.ready_endpoints == 0).then_some(Paint::Of(Severity::Critical));
            self.text(indent, "", &text, paint)?;
        }
        Ok(())
    }

    fn evidence<'e>(&mut self, indent: &str, evidence: impl IntoIterator<Item = &'e Evidence>) -> io::Result<()> {
        for Evidence { source, value, time, weight } in evidence {
            let ago = time.map(|time| say!(self.language, "{age} ago", age = print::age(time, self.now)));
            let ago = ago.map(|ago| format!(" ({ago})")).unwrap_or_default();
            let is_against = *weight == Weight::Contradicts;
            let against =
                if is_against { format!("{} ", phrase!(self.language, "against it:")) } else { String::new() };
            let first = format!("{} ", self.style.signs.point);
            self.text(indent, &first, &format!("{against}{source} = {value}{ago}"), Some(Paint::Faint))?;
        }
        Ok(())
    }

    /// Of what has ended nothing is left to do, and a name in a command may be another's by now.
    fn remedies(&mut self, indent: &str, state: DiagnosisState, remedies: &[Remedy]) -> io::Result<()> {
        if state != DiagnosisState::Active {
            return Ok(());
        }
        let most = if self.detail == Detail::Full { usize::MAX } else { 1 };
        let arrow = format!("{} ", self.style.signs.arrow);
        let below = " ".repeat(columns(&arrow));
        for Remedy { text, command, patch, .. } in remedies.iter().take(most) {
            self.text(indent, &arrow, text, None)?;
            if let Some(command) = command {
                // To be copied: never broken.
                let painted = self.style.paint(Paint::Command, &clean(command));
                self.line(indent, &format!("{below}{painted}"))?;
            }
            // The same change, for those who keep it in a file: `-o yaml` has it as well.
            let patch = patch.as_deref().filter(|_| command.is_none());
            for line in patch.into_iter().flat_map(str::lines) {
                // Its indentation is part of it.
                let (blank, rest) = line.split_at(line.len() - line.trim_start_matches(' ').len());
                let painted = self.style.paint(Paint::Command, &clean(rest));
                self.line(indent, &format!("{below}{blank}{painted}"))?;
            }
        }
        Ok(())
    }
}

/// The first line about something.
struct Title<'a> {
    state: DiagnosisState,
    severity: Severity,
    what: String,
    cause: &'a str,
    more: Vec<String>,
    since: Option<Timestamp>,
}

impl<'a> Title<'a> {
    fn of(head: &'a Head, what: String, more: Vec<String>) -> Self {
        let Head { state, severity, cause, first_seen, .. } = head;
        Self { state: *state, severity: *severity, what, cause, more, since: *first_seen }
    }
}

/// Pods that fail of the same in the same container, the larger groups first.
fn alike<'a>(pods: &[&'a OfPod]) -> Vec<Vec<&'a OfPod>> {
    let mut groups: BTreeMap<(&str, &str, Option<&str>), Vec<&OfPod>> = BTreeMap::new();
    for pod in pods {
        let status = &pod.status;
        let of = (status.state.as_str(), status.cause.as_str(), status.container.as_deref());
        groups.entry(of).or_default().push(pod);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.iter_mut().for_each(|pods| pods.sort_by(|a, b| a.key.name.cmp(&b.key.name)));
    groups.sort_by_key(|pods| (pods.first().map(|pod| !is_active(pod)), std::cmp::Reverse(pods.len())));
    groups
}
