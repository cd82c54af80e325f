//! Diagnoses as Markdown, as one pastes them into a post-mortem: a section for each incident.

mod chronicle;
mod escape;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use shindan_core::api::{DiagnosisState, Evidence, Head, Impact, Remedy, ServiceImpact, Weight};
use shindan_core::facts::Timestamp;
use shindan_core::language::{Language, phrase, translate};
use shindan_core::reconcile::past_failures;
use shindan_core::rules;

use self::escape::{block, code, words};
use super::found::{Block, Found, NodeOrWorkload, OfPod};
use super::tree::{alike, blocks};
use super::{print, sentences};

/// Maximum number of names of pods that fail alike.
const NAMES: usize = 5;

pub(super) fn write(found: &Found, language: Language, now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
    for (n, block) in blocks(found).iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        Section { language, now, out: &mut *out }.incident(block)?;
    }
    Ok(())
}

/// A time as it stands in a report.
fn exact(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The section of an incident.
struct Section<'a> {
    language: Language,
    now: Timestamp,
    out: &'a mut dyn Write,
}

impl Section<'_> {
    fn incident(&mut self, of: &Block<'_>) -> io::Result<()> {
        let of_pods = of.pods.iter().map(|pod| &pod.status.head);
        let own = of.node_or_workload.map(|of| of.object.head());
        let Some(head) = own.or_else(|| of_pods.clone().min_by_key(|head| head.severity)) else { return Ok(()) };
        writeln!(self.out, "## {}: {}\n", words(&title(of)), words(&head.cause))?;
        writeln!(self.out, "**{}**\n", words(headline(of, head)))?;
        self.facts(of, head)?;
        self.timeline(of)?;
        self.cause(head)?;
        self.evidence(of)?;
        self.impact(of)?;
        self.past_failures(of)?;
        if head.state == DiagnosisState::Active { self.remedies(of) } else { self.end(of, head) }
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\n### {text}\n")
    }

    fn item(&mut self, name: &str, value: &str) -> io::Result<()> {
        if value.is_empty() { Ok(()) } else { writeln!(self.out, "- {name}: {value}") }
    }

    fn facts(&mut self, of: &Block<'_>, head: &Head) -> io::Result<()> {
        let language = self.language;
        if !of.namespace.is_empty() {
            self.item("Namespace", &code(of.namespace))?;
        }
        self.item(
            phrase!(language, "Cause", "原因"),
            &format!("{} ({}, {})", code(&head.cause), words(&head.category), head.confidence),
        )?;
        self.item(phrase!(language, "Severity", "重大度"), head.severity.as_str())?;
        self.item(phrase!(language, "State", "状態"), head.state.as_str())?;
        let began = head.first_seen.map(exact).unwrap_or_default();
        self.item(phrase!(language, "First seen", "最初の検出"), &began)?;
        let ended = head.last_transition.filter(|_| head.state != DiagnosisState::Active);
        let until = ended.unwrap_or(self.now);
        if let Some(ended) = ended {
            self.item(phrase!(language, "Ended", "終了"), &exact(ended))?;
        }
        let lasted = head.first_seen.map(|since| print::age(since, until)).unwrap_or_default();
        self.item(phrase!(language, "Duration", "継続時間"), &lasted)?;
        let recurrence = of.node_or_workload.filter(|_| ended.is_none()).and_then(|of| of.object.recurrence(language));
        self.item(phrase!(language, "Recurrence", "再発"), &recurrence.map(|text| words(&text)).unwrap_or_default())
    }

    fn timeline(&mut self, of: &Block<'_>) -> io::Result<()> {
        let entries = chronicle::of(of, self.language);
        if entries.is_empty() {
            return Ok(());
        }
        self.heading(phrase!(self.language, "Timeline", "経過"))?;
        for entry in entries {
            match entry.time {
                Some(time) => writeln!(self.out, "- {}: {}", exact(time), entry.text)?,
                None => writeln!(self.out, "- {}", entry.text)?,
            }
        }
        Ok(())
    }

    fn cause(&mut self, head: &Head) -> io::Result<()> {
        let Some(rule) = rules::named(&head.cause) else { return Ok(()) };
        let meaning = rule.explain(self.language).meaning;
        if meaning.is_empty() {
            return Ok(());
        }
        self.heading(phrase!(self.language, "Cause", "原因"))?;
        writeln!(self.out, "{}", words(&meaning))
    }

    fn evidence(&mut self, of: &Block<'_>) -> io::Result<()> {
        let own = of.node_or_workload.map(|of| of.object.head());
        // Evidence from pods is listed for the pods.
        let own = own.into_iter().flat_map(|head| &head.evidence);
        let own: Vec<&Evidence> =
            own.filter(|evidence| of.pods.is_empty() || !evidence.source.starts_with("pod/")).collect();
        let groups = alike(&of.pods);
        if own.is_empty() && groups.is_empty() {
            return Ok(());
        }
        self.heading(phrase!(self.language, "Evidence", "根拠"))?;
        for evidence in own {
            self.one(evidence, "")?;
        }
        for pods in groups {
            let Some(pod) = pods.first() else { continue };
            self.pods(&pods, pod)?;
            for evidence in &pod.status.head.evidence {
                self.one(evidence, "  ")?;
            }
        }
        Ok(())
    }

    /// The first line of pods that fail alike.
    fn pods(&mut self, pods: &[&OfPod], first: &OfPod) -> io::Result<()> {
        let names: Vec<String> = pods.iter().take(NAMES).map(|pod| code(&pod.key.name)).collect();
        let more = match pods.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => translate!(self.language, " and {more} more", " 他 {more} 個", more),
        };
        let head = &first.status.head;
        let (cause, summary) = (code(&head.cause), words(&head.summary));
        writeln!(self.out, "- Pod {}{more}: {cause}: {summary}", names.join(", "))
    }

    fn one(&mut self, evidence: &Evidence, indent: &str) -> io::Result<()> {
        let Evidence { source, value, time, weight } = evidence;
        let against = match weight {
            Weight::Contradicts => format!("{} ", phrase!(self.language, "contradicts:", "反する証拠:")),
            Weight::Supports => String::new(),
        };
        let time = time.map(|time| format!(" ({})", exact(time))).unwrap_or_default();
        writeln!(self.out, "{indent}- {against}{} = {}{time}", code(source), code(value))
    }

    fn impact(&mut self, of: &Block<'_>) -> io::Result<()> {
        let mut lines: Vec<String> = Vec::new();
        let language = self.language;
        let mut services: Vec<&ServiceImpact> = Vec::new();
        match of.node_or_workload.map(|of| &of.object) {
            Some(NodeOrWorkload::Workload(_, status)) => {
                // Counts of an ended failure are those of its end.
                if status.head.state == DiagnosisState::Active {
                    let (ready, desired, failing) = (status.pods.ready, status.pods.desired, status.pods.failing);
                    lines.push(translate!(
                        language,
                        "Ready pods: {ready} of {desired}; failing: {failing}",
                        "Ready の Pod: {desired} 個のうち {ready} 個、失敗: {failing} 個",
                        ready,
                        desired,
                        failing
                    ));
                }
                services.extend(status.serving.iter().flat_map(|serving| &serving.services));
            }
            Some(NodeOrWorkload::Node(_, status)) => {
                let pods = status.pods;
                lines.push(translate!(language, "Affected pods: {pods}", "影響を受けた Pod: {pods} 個", pods));
                lines.extend(
                    status
                        .affected
                        .iter()
                        .map(|of| format!("{}: {}", code(&format!("{}/{}", of.namespace, of.workload)), of.pods)),
                );
            }
            None => {}
        }
        for impact in of.pods.iter().filter_map(|pod| pod.status.impact.as_ref()) {
            let Impact { healthy_containers, services: of_pod, .. } = impact;
            services.extend(of_pod);
            if !healthy_containers.is_empty() {
                let names = healthy_containers.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ");
                lines.push(translate!(language, "healthy in the same pod: {names}", "同じ Pod で正常: {names}", names));
            }
        }
        lines.extend(services.into_iter().map(|service| words(&sentences::service(service, language))));
        let mut known = std::collections::BTreeSet::new();
        lines.retain(|line| known.insert(line.clone()));
        if lines.is_empty() {
            return Ok(());
        }
        self.heading(phrase!(language, "Impact", "影響"))?;
        lines.iter().try_for_each(|line| writeln!(self.out, "- {line}"))
    }

    /// The failures of the workload before this one, newest first.
    fn past_failures(&mut self, of: &Block<'_>) -> io::Result<()> {
        let Some(NodeOrWorkload::Workload(_, status)) = of.node_or_workload.map(|of| &of.object) else { return Ok(()) };
        // The first one of a diagnosis that has ended is this failure.
        let is_over = status.head.state != DiagnosisState::Active;
        let past = status.past_failures.get(usize::from(is_over)..).unwrap_or_default();
        if past.is_empty() {
            return Ok(());
        }
        self.heading(phrase!(self.language, "Past failures", "過去の失敗"))?;
        for failure in past {
            let (cause, ending) = (code(&failure.cause), words(&past_failures::ending(failure, self.language)));
            let at = failure.started_at.or(failure.ended_at).map(exact).unwrap_or_default();
            writeln!(self.out, "- {at}: {cause}: {ending}")?;
        }
        Ok(())
    }

    /// What is known of the end: how the pods that failed ended shows whether they were replaced.
    fn end(&mut self, of: &Block<'_>, head: &Head) -> io::Result<()> {
        let language = self.language;
        self.heading(phrase!(language, "What ended it", "終わり方"))?;
        let at = head.last_transition.map(exact).unwrap_or_default();
        let text = if head.state == DiagnosisState::Gone {
            translate!(language, "The object was deleted: {at}", "オブジェクトが削除された: {at}", at)
        } else {
            let now = Some(&*head.summary).filter(|summary| *summary != headline(of, head));
            let now = now.map(|summary| format!(" ({})", words(summary))).unwrap_or_default();
            translate!(language, "It became healthy: {at}{now}", "正常になった: {at}{now}", at, now)
        };
        writeln!(self.out, "- {text}")?;
        if let Some(recurrence) = of.node_or_workload.and_then(|of| of.object.recurrence(language)) {
            writeln!(self.out, "- {}", words(&recurrence))?;
        }
        let count = |state| of.pods.iter().filter(|pod| pod.status.head.state == state).count();
        let (recovered, gone) = (count(DiagnosisState::Recovered), count(DiagnosisState::Gone));
        let healthy = translate!(language, "{recovered} became healthy", "正常になったもの {recovered}", recovered);
        let replaced = translate!(language, "{gone} deleted or replaced", "削除または置き換えられたもの {gone}", gone);
        let ends = [(recovered, healthy), (gone, replaced)];
        let ends: Vec<String> = ends.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        if of.node_or_workload.is_some() && !ends.is_empty() {
            let ends = ends.join(phrase!(language, ", ", "、"));
            let text = translate!(language, "Pods that failed: {ends}", "失敗した Pod: {ends}", ends);
            writeln!(self.out, "- {text}")?;
        }
        Ok(())
    }

    fn remedies(&mut self, of: &Block<'_>) -> io::Result<()> {
        let own = of.node_or_workload.into_iter().flat_map(|of| &of.object.head().remedies);
        // The commands of an ended diagnosis may name what is no longer there.
        let active: Vec<_> =
            of.pods.iter().copied().filter(|pod| pod.status.head.state == DiagnosisState::Active).collect();
        let groups = alike(&active);
        let of_pods = groups.iter().filter_map(|pods| pods.first()).flat_map(|pod| &pod.status.head.remedies);
        let mut known = std::collections::BTreeSet::new();
        let mut is_new = |remedy: &Remedy| {
            let is_new_text = known.insert(remedy.text.clone());
            let is_new_command = remedy.command.as_ref().is_none_or(|command| known.insert(command.clone()));
            is_new_text && is_new_command
        };
        let remedies: Vec<&Remedy> = own.chain(of_pods).filter(|remedy| is_new(remedy)).collect();
        if remedies.is_empty() {
            return Ok(());
        }
        self.heading(phrase!(self.language, "What to do", "対処"))?;
        for remedy in remedies {
            let Remedy { kind, text, command, patch } = remedy;
            write!(self.out, "- **{}:** {}", sentences::remedy(*kind, self.language), words(text))?;
            match sentences::before_command(remedy, self.language) {
                Some(words) => writeln!(self.out, " {words}")?,
                None => writeln!(self.out)?,
            }
            match (command, patch) {
                (Some(command), _) => write!(self.out, "\n{}\n", block(command, "sh"))?,
                (None, Some(patch)) => write!(self.out, "\n{}\n", block(patch, "yaml"))?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// What failed. The summary of a workload that recovered states how it is now, and its pods state what failed.
fn headline<'a>(of: &Block<'a>, head: &'a Head) -> &'a str {
    let mut of_pods = of.pods.iter().map(|pod| &pod.status.head);
    let failed = of_pods.find(|pod| head.state == DiagnosisState::Recovered && pod.cause == head.cause);
    &failed.unwrap_or(head).summary
}

/// The object of an incident.
fn title(of: &Block<'_>) -> String {
    let of_pods = || {
        let pod = of.pods.first()?;
        let own = pod.spec.workload.as_ref().map(|own| own.display.clone());
        Some(own.unwrap_or_else(|| format!("Pod {}", pod.key.name)))
    };
    match of.node_or_workload.map(|of| &of.object) {
        Some(NodeOrWorkload::Node(spec, _)) => format!("Node {}", spec.node_name),
        Some(NodeOrWorkload::Workload(spec, _)) => format!("{} {}", spec.workload.kind, spec.workload.name),
        None => of_pods().unwrap_or_default(),
    }
}
