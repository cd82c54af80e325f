//! Page of a workload, with its pods.

use shindan_core::api::{DiagnosisState, RootReach, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus};
use shindan_core::facts::WorkloadKey;
use shindan_core::language::{phrase, translate};
use shindan_core::message::text;
use shindan_core::reconcile::past_failures;

use super::super::link::Subject;
use super::super::timeline;
use super::super::words::{When, clean, pods, workloads};
use super::super::{Frame, Seen};
use super::{Change, Fact, Gist, ImpactLine, Ledger, Link, Page, PodRow};
use crate::cli::found::OfPod;

pub(super) fn page(
    frame: Frame,
    seen: Seen<'_>,
    namespace: &str,
    spec: &WorkloadDiagnosisSpec,
    status: &WorkloadDiagnosisStatus,
) -> Page {
    let head = &status.head;
    let subject = Subject::of_workload(&spec.workload, namespace);
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
    let mut page = Page::of(frame, seen, &subject, &gist);
    page.fact(phrase!(seen.language, "Problem", "問題"), if status.problem == "None" { "" } else { &status.problem });
    page.fact(phrase!(seen.language, "Ready", "Ready の数"), &status.pods.display);
    let failing = Some(status.pods.failing).filter(|n| *n > 0).map(|n| pods(n, seen.language));
    page.fact(phrase!(seen.language, "Failing", "失敗"), &failing.unwrap_or_default());
    page.fact(phrase!(seen.language, "Container", "コンテナ"), status.container.as_deref().unwrap_or_default());
    page.facts.extend(status.root.as_ref().map(|root| root_of(root, seen)));
    let recurrence = past_failures::recurrence(status, seen.language).unwrap_or_default();
    page.fact(phrase!(seen.language, "Recurrence", "再発"), &recurrence);

    let key = WorkloadKey::of(&spec.workload, &namespace.into());
    let is_own =
        |pod: &&OfPod| pod.spec.workload.as_ref().is_some_and(|own| WorkloadKey::of(own, &pod.key.namespace) == key);
    let own: Vec<&OfPod> = seen.found.pods.iter().filter(is_own).collect();
    let restarting = own.iter().filter(|pod| pod.status.head.state == DiagnosisState::Active).find_map(|pod| {
        let restarts = pod.status.restarts.as_ref()?;
        Some((pod, timeline::of(restarts, pod.status.container.as_deref(), seen.now, seen.language)?))
    });
    if let Some((pod, timeline)) = restarting {
        page.timeline_of = Some(Link { words: clean(&pod.key.name), href: Some(Subject::of_pod(pod).href()) });
        page.timeline = Some(timeline);
    }
    page.pods = PodRow::all(own.into_iter(), seen);
    if let Some(serving) = &status.serving {
        page.impact_lines = serving.services.iter().map(|service| ImpactLine::of(service, seen.language)).collect();
        if serving.updated_ready + serving.old_ready > 0 {
            let text = translate!(
                seen.language,
                "{updated} of the newest template and {old} of older ones are ready.",
                "最新テンプレートの {updated} と古いテンプレートの {old} が Ready。",
                updated = pods(serving.updated_ready, seen.language),
                old = serving.old_ready
            );
            page.impact_lines.push(ImpactLine { class: "info", text });
        }
    }
    let side = |value: &Option<String>| value.as_deref().map(clean);
    page.changes = status
        .template_changes
        .iter()
        .map(|change| Change { field: clean(&change.field), before: side(&change.before), after: side(&change.after) })
        .collect();
    page.templates = status
        .templates
        .iter()
        .rev()
        .map(|ledger| Ledger {
            template: clean(&ledger.template),
            failed: pods(ledger.failed_pods, seen.language),
            restarts: ledger.restarts,
            cause: clean(&ledger.cause),
            last: ledger.last_failure.map(|last| When::of(last, seen.now)),
        })
        .collect();
    page
}

/// The root of the failure and its extent. A node links to its page.
fn root_of(reach: &RootReach, seen: Seen<'_>) -> Fact {
    let root = &reach.root;
    let href = (root.kind == "Node").then(|| seen.href(&Subject::Node { name: root.name.clone() })).flatten();
    let mut words = format!("{} {}", root.kind, text::cut(&root.name, 120));
    if reach.workloads > 1 {
        let (pods, workloads) = (pods(reach.pods, seen.language), workloads(reach.workloads, seen.language));
        words = translate!(
            seen.language,
            "{words}, with {pods} of {workloads}",
            "{words}、{workloads}の {pods} に影響",
            words,
            pods,
            workloads
        );
    }
    Fact::link(phrase!(seen.language, "Root", "所在"), Link { words: clean(&words), href })
}
