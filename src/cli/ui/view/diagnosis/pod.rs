//! Page of a pod.

use shindan_core::api::{Impact, WorkloadRef};
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};

use super::super::link::Subject;
use super::super::timeline;
use super::super::words::{clean, pods};
use super::super::{Frame, Seen};
use super::{Fact, Finding, Gist, ImpactLine, Link, Page};
use crate::cli::found::OfPod;

pub(super) fn page(frame: Frame, seen: Seen<'_>, pod: &OfPod) -> Page {
    let (spec, status) = (&pod.spec, &pod.status);
    let gist = Gist {
        state: status.head.state,
        severity: status.head.severity,
        cause: &status.head.cause,
        summary: &status.head.summary,
        confidence: status.head.confidence,
        first_seen: status.head.first_seen,
        remedies: &status.head.remedies,
        evidence: &status.head.evidence,
    };
    let mut page = Page::of(frame, seen, &Subject::of_pod(pod), &gist);
    if let Some(container) = &status.container {
        let kind = status.container_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
        page.fact(phrase!(seen.language, "Container", "コンテナ"), &format!("{container}{kind}"));
    }
    page.fact(phrase!(seen.language, "Pod status", "Pod の STATUS"), &status.pod_status);
    if let Some(own) = &spec.workload {
        page.facts.push(Fact::link(
            phrase!(seen.language, "Workload", "ワークロード"),
            workload(own, &pod.key.namespace, seen),
        ));
    }
    if let Some(name) = &spec.node_name {
        let href = seen.href(&Subject::Node { name: name.clone() });
        page.facts.push(Fact::link(phrase!(seen.language, "Node", "ノード"), Link { words: clean(name), href }));
    }
    if let Some(root) = &status.root {
        page.fact(phrase!(seen.language, "Root", "所在"), &root.to_string());
    }
    let restarts = status.restarts.as_ref();
    page.timeline = restarts.and_then(|of| timeline::of(of, status.container.as_deref(), seen.now, seen.language));
    page.others = status.other_findings.iter().map(|other| Finding::of(other, seen.language)).collect();
    page.impact_lines = status.impact.as_ref().map(|impact| impact_lines(impact, seen.language)).unwrap_or_default();
    if status.repeats > 0 {
        let n = status.repeats;
        page.remarks.push(translate!(
            seen.language,
            "It represents {n} more ended diagnoses of the same failure.",
            "終了した同様のもの {n} 件を兼ねる。",
            n
        ));
    }
    if status.head.truncated > 0 {
        page.remarks.push(left_out(status.head.truncated, seen.language));
    }
    page
}

fn left_out(n: u32, language: Language) -> String {
    match n {
        1 => phrase!(
            language,
            "1 entry is left out to keep the object small.",
            "オブジェクトを小さく保つため 1 件を省いた。"
        )
        .to_owned(),
        n => translate!(
            language,
            "{n} entries are left out to keep the object small.",
            "オブジェクトを小さく保つため {n} 件を省いた。",
            n
        ),
    }
}

fn workload(own: &WorkloadRef, namespace: &str, seen: Seen<'_>) -> Link {
    let subject = Subject::of_workload(own, namespace);
    Link { words: clean(&format!("{} {}", own.kind, own.name)), href: seen.href(&subject) }
}

fn impact_lines(impact: &Impact, language: Language) -> Vec<ImpactLine> {
    let mut all: Vec<ImpactLine> = impact.services.iter().map(|service| ImpactLine::of(service, language)).collect();
    if impact.pod_ready {
        all.push(ImpactLine {
            class: "info",
            text: phrase!(language, "The pod is Ready nevertheless.", "それでも Pod は Ready。").to_owned(),
        });
    }
    if !impact.healthy_containers.is_empty() {
        let names = clean(&impact.healthy_containers.join(", "));
        let text = translate!(
            language,
            "Healthy in the same pod, but affected by its failure: {names}.",
            "同じ Pod で正常だが、共に停止: {names}。",
            names
        );
        all.push(ImpactLine { class: "info", text });
    }
    if let Some(of) = &impact.workload {
        let ready = of.updated_ready + of.old_ready;
        let old = Some(of.old_ready).filter(|old| *old > 0);
        let old = old
            .map(|old| translate!(language, ", {old} of an older template", "、うち {old} は古いテンプレート", old))
            .unwrap_or_default();
        let stuck = if of.rollout_stuck {
            phrase!(language, "; its rollout is stuck", "。ロールアウトは停滞中")
        } else {
            ""
        };
        let desired = pods(of.desired, language);
        let text = translate!(
            language,
            "Its workload has {ready} of {desired} ready{old}{stuck}.",
            "ワークロードは {desired} 中 {ready} が Ready{old}{stuck}。",
            ready,
            desired,
            old,
            stuck
        );
        all.push(ImpactLine { class: if ready == 0 { "critical" } else { "warning" }, text });
    }
    all
}
