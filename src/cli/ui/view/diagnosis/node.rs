//! Page of a node, with its failing pods.

use shindan_core::api::{AffectedWorkload, DiagnosisState, NodeDiagnosisSpec, NodeDiagnosisStatus};
use shindan_core::language::{phrase, translate};

use super::super::link::Subject;
use super::super::readiness;
use super::super::words::{When, clean, pods, workloads};
use super::super::{Frame, Seen};
use super::{Affected, Finding, Gist, ImpactLine, Link, Page, PodRow, Quote};
use crate::cli::found::OfPod;
use crate::cli::sentences;

pub(super) fn page(frame: Frame, seen: Seen<'_>, spec: &NodeDiagnosisSpec, status: &NodeDiagnosisStatus) -> Page {
    let head = &status.head;
    let gist = Gist {
        state: head.state,
        severity: head.severity,
        cause: &head.cause,
        summary: &head.summary,
        confidence: head.confidence,
        first_seen: head.first_seen,
        remedies: &head.remedies,
        evidence: &head.evidence,
    };
    let mut page = Page::of(frame, seen, &Subject::Node { name: spec.node_name.clone() }, &gist);
    if let Some(flapping) = &status.flapping {
        page.fact(phrase!(seen.language, "Flapping", "状態の反復"), &flapping.display);
    }
    page.readiness = readiness::of(&status.ready_history, seen.now, seen.language);
    page.last_message = status
        .last_words
        .as_ref()
        .map(|last| Quote { text: clean(&last.message), when: last.time.map(|time| When::of(time, seen.now)) });
    page.others = status.other_findings.iter().map(|other| Finding::of(other, seen.language)).collect();
    if status.pods > 0 {
        let text = match status.pods {
            1 => phrase!(seen.language, "1 pod on this node is affected.", "このノードの 1 Pod に影響がある。")
                .to_owned(),
            pods => translate!(
                seen.language,
                "{pods} pods on this node are affected.",
                "このノードの {pods} Pod に影響がある。",
                pods
            ),
        };
        page.impact_lines.push(ImpactLine { class: "warning", text });
    }
    for missing in &status.daemon_sets_missing {
        let name = clean(missing);
        let text = translate!(
            seen.language,
            "DaemonSet {name} has no working pod on this node.",
            "このノードで動くべき DaemonSet {name} が動いていない。",
            name
        );
        page.impact_lines.push(ImpactLine { class: "warning", text });
    }
    page.affected = status.affected.iter().map(|of| affected(of, seen)).collect();
    if status.affected_beside > 0 {
        let workloads = workloads(status.affected_beside, seen.language);
        page.remarks.push(translate!(
            seen.language,
            "{workloads} more are affected.",
            "他に {workloads}も影響を受けている。",
            workloads
        ));
    }
    let there = seen.found.pods.iter().filter(|pod| pod.spec.node_name.as_deref() == Some(&*spec.node_name));
    let (active, ended): (Vec<&OfPod>, Vec<&OfPod>) =
        there.partition(|pod| pod.status.head.state == DiagnosisState::Active);
    page.ended = sentences::ended_pods(&ended, seen.language);
    page.pods = PodRow::all(active.into_iter(), seen);
    page.ended_pods = PodRow::all(ended.into_iter(), seen);
    page
}

fn affected(of: &AffectedWorkload, seen: Seen<'_>) -> Affected {
    let href = of.workload.split_once('/').and_then(|(kind, name)| {
        if kind == "Pod" {
            return seen.href(&Subject::Pod { namespace: of.namespace.clone(), name: name.to_owned() });
        }
        // The group is not known.
        let mut all = seen.found.nodes_and_workloads.iter().map(Subject::of_node_or_workload);
        let is_it =
            |subject: &Subject| (&*subject.kind(), subject.name(), subject.namespace()) == (kind, name, &of.namespace);
        all.find(is_it).map(|subject| subject.href())
    });
    Affected {
        workload: Link { words: clean(&of.workload.replacen('/', " ", 1)), href },
        namespace: clean(&of.namespace),
        pods: pods(of.pods, seen.language),
    }
}
