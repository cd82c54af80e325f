//! Diagnoses as a tree for people: workloads, their pods and containers, and remedies.

mod style;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::cli::found::NodeOrWorkload;
use shindan_core::api::{
    DiagnosisState, Evidence, Head, Impact, NodeDiagnosisSpec, NodeDiagnosisStatus, Remedy, ServiceImpact, Severity,
    Weight, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
};
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};
use shindan_core::message::text;
use shindan_core::reconcile::past_failures;
use style::Paint;

use super::found::{Block, Found, OfPod};
use super::print::{self, columns, pieces, wrap_all};
use super::sentences;
pub(super) use style::Style;
use timeline::Timeline;

/// Level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// For each failure the cause, the summary and the first remedy; one pod of those that fail alike.
    Short,
    /// With evidence, restarts, impact and all remedies.
    Full,
}

impl Detail {
    /// The detail for a number of diagnoses: a few are shown in full.
    pub(super) fn by_size(diagnoses: usize) -> Self {
        const FEW: usize = 3;
        if diagnoses <= FEW { Self::Full } else { Self::Short }
    }
}

/// The user's language and the time. Texts of a diagnosis are in the language in which it was made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) detail: Detail,
    pub(super) language: Language,
    /// Whether pods whose diagnosis has ended are only counted.
    pub(super) collapses_ended: bool,
}

/// Maximum characters of a text from the cluster.
const TEXT_MAX: usize = 2000;
/// Maximum number of names of pods that fail alike.
const NAMES: usize = 5;

pub(super) fn write(
    found: &Found,
    reading: Reading,
    style: Style,
    now: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Reading { detail, language, collapses_ended } = reading;
    let mut tree = Tree { detail, language, style, now, out };
    let mut blocks = blocks(found);
    let mut ended = Vec::new();
    if collapses_ended {
        for block in &mut blocks {
            ended.extend(block.pods.extract_if(.., |pod| !is_active(pod)));
        }
        blocks.retain(|block| block.node_or_workload.is_some() || !block.pods.is_empty());
    }
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
    if !ended.is_empty() {
        if last.is_some() {
            writeln!(tree.out)?;
        }
        tree.ended(&ended)?;
    }
    Ok(())
}

/// Sort key of a block: nodes first, then namespace, severity and name.
fn order(block: &Block<'_>) -> (String, bool, Severity, String) {
    let head = block.node_or_workload.map(|of| of.object.head());
    let ended = head.map_or_else(|| !block.pods.iter().any(|pod| is_active(pod)), |head| !is_on(head));
    let of_pods = block.pods.iter().filter(|pod| is_active(pod)).map(|pod| pod.status.head.severity);
    let severity = of_pods.chain(head.map(|head| head.severity)).min().unwrap_or(Severity::Info);
    let name = block.node_or_workload.map_or_else(|| block.pods.first().map(|pod| &pod.key), |of| Some(&of.key.object));
    let name = name.map(ToString::to_string).unwrap_or_default();
    (block.namespace.to_owned(), ended, severity, name)
}

fn is_on(head: &Head) -> bool {
    head.state == DiagnosisState::Active
}

fn is_active(pod: &OfPod) -> bool {
    pod.status.head.state == DiagnosisState::Active
}

/// The blocks in the order of output.
pub(super) fn blocks(found: &Found) -> Vec<Block<'_>> {
    let mut blocks = found.blocks();
    blocks.sort_by_key(order);
    blocks
}

/// Cleans text from the cluster, which is untrusted: removes control characters and limits the length.
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

    /// Columns that remain in a line, with a minimum.
    fn room(&self, taken: usize) -> usize {
        self.style.width.saturating_sub(taken).max(20)
    }

    /// Prints text wrapped at words, and within words that are too long. `first` precedes the first line, and the others are
    /// indented to match.
    fn text(&mut self, indent: &str, first: &str, text: &str, paint: Option<Paint>) -> io::Result<()> {
        let width = self.room(columns(indent) + columns(first));
        for (n, line) in wrap_all(&clean(text), width).iter().enumerate() {
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
            _ => self.style.paint(Paint::Healthy, signs.recovered),
        }
    }

    /// `✔ Ended pods: 3 (2 Recovered, 1 Gone); -o table lists them`
    fn ended(&mut self, pods: &[&OfPod]) -> io::Result<()> {
        let text = translate!(
            self.language,
            "{pods}; -o table lists them",
            "{pods}。-o table で一覧",
            pods = sentences::ended_pods(pods, self.language)
        );
        let sign = self.sign(DiagnosisState::Recovered, Severity::Info);
        self.line("", &format!("{sign} {text}"))
    }

    /// `✖ Deployment web   ImageTagNotFound   Critical   0/3 ready   12m`. What does not fit is in further lines, which
    /// begin with `below`.
    fn title(&mut self, indent: &str, below: &str, title: &Title<'_>) -> io::Result<()> {
        const GAP: &str = "   ";
        let is_active = title.state == DiagnosisState::Active;
        let mut parts = vec![(title.what.clone(), Some(Paint::Name))];
        parts.push((title.cause.to_owned(), is_active.then_some(Paint::Of(title.severity))));
        if !is_active {
            let paint = if title.state == DiagnosisState::Gone { Paint::Faint } else { Paint::Healthy };
            parts.push((title.state.to_string(), Some(paint)));
        } else if title.severity == Severity::Critical {
            parts.push((title.severity.to_string(), None));
        }
        parts.extend(title.more.iter().filter(|part| !part.is_empty()).map(|part| (part.clone(), None)));
        parts.extend(title.since.map(|since| (print::age(since, self.now), Some(Paint::Faint))));

        let room = self.room(columns(indent).max(columns(below)) + 2);
        let (mut lead, mut taken) = (indent, 0);
        let mut line = format!("{} ", self.sign(title.state, title.severity));
        for (text, paint) in parts {
            for piece in pieces(&clean(&text), room) {
                let gap = if taken == 0 { "" } else { GAP };
                if taken > 0 && taken + columns(gap) + columns(&piece) > room {
                    self.line(lead, &line)?;
                    (lead, line, taken) = (below, "  ".to_owned(), 0);
                } else {
                    line.push_str(gap);
                    taken += columns(gap);
                }
                taken += columns(&piece);
                line.push_str(&paint.map_or_else(|| piece.clone(), |paint| self.style.paint(paint, &piece)));
            }
        }
        self.line(lead, &line)
    }

    fn block(&mut self, block: &Block<'_>) -> io::Result<()> {
        let trunk = if block.pods.is_empty() { "   " } else { self.style.signs.trunk };
        match block.node_or_workload.map(|of| &of.object) {
            Some(NodeOrWorkload::Workload(spec, status)) => self.workload(spec, status, trunk)?,
            Some(NodeOrWorkload::Node(spec, status)) => self.node(spec, status, trunk)?,
            None => {
                let Some(own) = block.pods.first().and_then(|pod| pod.spec.workload.as_ref()) else {
                    return block.pods.iter().try_for_each(|pod| self.pod(pod, "", "   ", false));
                };
                self.line("", &self.style.paint(Paint::Name, &clean(&own.display)))?;
            }
        }
        // A cause that the workload shows is not repeated for its pods.
        let shown_cause = block.node_or_workload.map(|of| of.object.head().cause.as_str());
        let mut alike = alike(&block.pods).into_iter().peekable();
        while let Some(pods) = alike.next() {
            self.group(&pods, shown_cause, alike.peek().is_none())?;
        }
        Ok(())
    }

    /// Prints some of the pods that fail alike, and the names of the others.
    fn group(&mut self, pods: &[&OfPod], shown_cause: Option<&str>, is_last: bool) -> io::Result<()> {
        let most = if self.detail == Detail::Full { 3 } else { 1 };
        let (shown, hidden) = pods.split_at(pods.len().min(most));
        for (n, pod) in shown.iter().enumerate() {
            let (branch, below) = self.branch(is_last && hidden.is_empty() && n + 1 == shown.len());
            let repeats = shown_cause == Some(&pod.status.head.cause) || n > 0;
            self.pod(pod, branch, below, repeats)?;
        }
        if hidden.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = hidden.iter().take(NAMES).map(|pod| &*pod.key.name).collect();
        let more = if hidden.len() > NAMES { ", ..." } else { "" };
        let names = format!("{}{more}", names.join(", "));
        let text = clean(&translate!(
            self.language,
            "{count} more like it: {names}",
            "同様のものが他に {count}: {names}",
            count = hidden.len(),
            names
        ));
        let (branch, below) = self.branch(is_last);
        let indents = std::iter::once(branch).chain(std::iter::repeat(below));
        wrap_all(&text, self.room(columns(branch)))
            .iter()
            .zip(indents)
            .try_for_each(|(line, indent)| self.line(indent, line))
    }

    /// The prefixes of the first line of a pod and of its other lines.
    fn branch(&self, is_last: bool) -> (&'static str, &'static str) {
        let signs = self.style.signs;
        if is_last { (signs.last_branch, "   ") } else { (signs.branch, signs.trunk) }
    }

    fn node(&mut self, spec: &NodeDiagnosisSpec, status: &NodeDiagnosisStatus, trunk: &str) -> io::Result<()> {
        let flapping = status.flapping.as_ref().map(|flapping| flapping.display.clone()).unwrap_or_default();
        let affected = match status.pods {
            0 => String::new(),
            1 => phrase!(self.language, "1 pod is affected", "1 Pod に影響").to_owned(),
            pods => translate!(self.language, "{pods} pods are affected", "{pods} Pod に影響", pods),
        };
        self.title("", trunk, &Title::of(&status.head, format!("Node {}", spec.node_name), vec![flapping, affected]))?;
        self.head(&status.head, trunk)
    }

    fn workload(
        &mut self,
        spec: &WorkloadDiagnosisSpec,
        status: &WorkloadDiagnosisStatus,
        trunk: &str,
    ) -> io::Result<()> {
        let ready = &status.pods.display;
        // The pods of a Job need not become ready.
        let ready = if ready.is_empty() || spec.workload.kind == "Job" {
            String::new()
        } else {
            translate!(self.language, "{ready} ready", "{ready} Ready", ready)
        };
        let what = if spec.workload.display.is_empty() {
            format!("{} {}", spec.workload.kind, spec.workload.name)
        } else {
            spec.workload.display.clone()
        };
        self.title("", trunk, &Title::of(&status.head, what, vec![status.problem.clone(), ready]))?;
        self.text(trunk, "", &status.head.summary, None)?;
        if let Some(recurrence) = past_failures::recurrence(status, self.language) {
            self.text(trunk, "", &recurrence, Some(Paint::Faint))?;
        }
        if let Some(serving) = &status.serving {
            self.services(trunk, &serving.services)?;
        }
        if self.detail == Detail::Full {
            for change in &status.template_changes {
                let text = sentences::change(change, self.language);
                self.text(trunk, "", &text, Some(Paint::Faint))?;
            }
            // Evidence from pods is shown at the pods.
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
        let on = spec
            .node_name
            .as_ref()
            .map(|node| translate!(self.language, "on {node}", "{node} 上", node))
            .unwrap_or_default();
        let container = status.container.as_ref();
        let container = container
            .map(|name| translate!(self.language, "container {name}", "コンテナ {name}", name))
            .unwrap_or_default();
        // kubectl's status, if it differs from the cause.
        let pod_status =
            Some(&status.pod_status).filter(|word| **word != status.head.cause).cloned().unwrap_or_default();
        let title = Title {
            state: status.head.state,
            severity: status.head.severity,
            what: format!("Pod {}", pod.key.name),
            cause: &status.head.cause,
            more: vec![container, pod_status, on],
            since: status.head.first_seen,
        };
        self.title(branch, below, &title)?;
        let full = self.detail == Detail::Full;
        if full || !repeats {
            self.text(below, "", &status.head.summary, None)?;
        }
        if full {
            let restarts = status.restarts.as_ref();
            let line = restarts
                .and_then(|r| timeline::of(r, status.container.as_deref(), self.now, self.language, self.style.signs));
            if let Some(line) = line {
                self.timeline(below, &line)?;
                self.text(below, "", &line.summary, Some(Paint::Faint))?;
            }
            self.evidence(below, &status.head.evidence)?;
            for other in &status.other_findings {
                let (cause, summary) = (&other.cause, &other.summary);
                let text = match &other.container {
                    Some(name) => translate!(
                        self.language,
                        "also {cause} of {name}: {summary}",
                        "他に {name} の {cause}: {summary}",
                        cause,
                        name,
                        summary
                    ),
                    None => {
                        translate!(self.language, "also {cause}: {summary}", "他に {cause}: {summary}", cause, summary)
                    }
                };
                self.text(below, "", &text, None)?;
            }
            if let Some(impact) = &status.impact {
                self.impact(below, impact)?;
            }
        }
        if !repeats {
            self.remedies(below, status.head.state, &status.head.remedies)?;
        }
        Ok(())
    }

    /// Prints the drawing and its legend, in one line if it fits.
    fn timeline(&mut self, indent: &str, line: &Timeline) -> io::Result<()> {
        let (drawn, legend) = (clean(&line.drawn), &line.legend);
        if drawn.is_empty() {
            return Ok(());
        }
        let room = self.room(columns(indent));
        if columns(&drawn) + 3 + columns(legend) <= room {
            return self.line(indent, &format!("{drawn}   {}", self.style.paint(Paint::Faint, legend)));
        }
        for piece in pieces(&drawn, room) {
            self.line(indent, &piece)?;
        }
        self.text(indent, "", legend, Some(Paint::Faint))
    }

    fn impact(&mut self, indent: &str, impact: &Impact) -> io::Result<()> {
        if !impact.healthy_containers.is_empty() {
            let names = impact.healthy_containers.join(", ");
            let text = translate!(self.language, "healthy in the same pod: {names}", "同じ Pod で正常: {names}", names);
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
            let ago =
                time.map(|time| translate!(self.language, "{age} ago", "{age} 前", age = print::age(time, self.now)));
            let ago = ago.map(|ago| format!(" ({ago})")).unwrap_or_default();
            let is_against = *weight == Weight::Contradicts;
            let against = if is_against {
                format!("{} ", phrase!(self.language, "contradicts:", "反する証拠:"))
            } else {
                String::new()
            };
            let first = format!("{} ", self.style.signs.point);
            self.text(indent, &first, &format!("{against}{source} = {value}{ago}"), Some(Paint::Faint))?;
        }
        Ok(())
    }

    /// Prints remedies of active diagnoses. After the end nothing remains to be done, and the names in a command may
    /// refer to other objects.
    fn remedies(&mut self, indent: &str, state: DiagnosisState, remedies: &[Remedy]) -> io::Result<()> {
        if state != DiagnosisState::Active {
            return Ok(());
        }
        let most = if self.detail == Detail::Full { usize::MAX } else { 1 };
        let arrow = format!("{} ", self.style.signs.arrow);
        let below = " ".repeat(columns(&arrow));
        for remedy in remedies.iter().take(most) {
            let Remedy { text, command, patch, .. } = remedy;
            self.text(indent, &arrow, text, None)?;
            if let Some(words) = sentences::before_command(remedy, self.language) {
                self.text(indent, &below, words, Some(Paint::Faint))?;
            }
            if let Some(command) = command {
                // A command is never wrapped, so that it can be copied.
                let painted = self.style.paint(Paint::Command, &clean(command));
                self.line(indent, &format!("{below}{painted}"))?;
            }
            // The patch for users who keep manifests in files. `-o yaml` contains it too.
            let patch = patch.as_deref().filter(|_| command.is_none());
            for line in patch.into_iter().flat_map(str::lines) {
                // Indentation is part of a patch.
                let (blank, rest) = line.split_at(line.len() - line.trim_start_matches(' ').len());
                let painted = self.style.paint(Paint::Command, &clean(rest));
                self.line(indent, &format!("{below}{blank}{painted}"))?;
            }
        }
        Ok(())
    }
}

/// Data of the first line of a block.
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

/// Groups pods that fail alike in the same container, the largest group first.
pub(super) fn alike<'a>(pods: &[&'a OfPod]) -> Vec<Vec<&'a OfPod>> {
    let mut groups: BTreeMap<(&str, &str, Option<&str>), Vec<&OfPod>> = BTreeMap::new();
    for pod in pods {
        let status = &pod.status;
        let of = (status.head.state.as_str(), status.head.cause.as_str(), status.container.as_deref());
        groups.entry(of).or_default().push(pod);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.iter_mut().for_each(|pods| pods.sort_by(|a, b| a.key.name.cmp(&b.key.name)));
    groups.sort_by_key(|pods| (pods.first().map(|pod| !is_active(pod)), std::cmp::Reverse(pods.len())));
    groups
}
