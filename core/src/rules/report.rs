//! Builds the diagnosis of a pod from the finding that ranks first.

use super::rule::Rule;
use super::{catalog, impact, installation, misread};
use crate::actions::{manual_rollout, undo};
use crate::api::{Evidence, OtherFinding, Root};
use crate::case::{Attribution, Case, Category, Diagnosis, Finding, RootKind, evidence, ownership, roots, target};
use crate::message::text;

const MOST_REMEDIES: usize = 5;
const MOST_EVIDENCE: usize = 12;

/// Builds a diagnosis from the finding that ranks first.
pub(super) fn of_first(
    case: &Case<'_>,
    rule: Rule,
    finding: Finding,
    other_findings: Vec<OtherFinding>,
    attributions: Vec<Attribution>,
) -> Diagnosis {
    let mut remedies = catalog::remedies(case, rule.cause, &finding);
    if case.pod.is_mirror() {
        remedies = target::of_static_pod(case, remedies);
    }
    if rule.category != Category::Node {
        remedies = manual_rollout::with_steps(case, remedies);
    }
    let root = roots::of(case, rule.category, &finding);
    if is_of_template(rule.category, root.as_ref()) {
        remedies = undo::ahead_of(case, remedies);
    }
    remedies.truncate(MOST_REMEDIES);
    for remedy in &mut remedies {
        remedy.text = text::line(&remedy.text, text::EVIDENCE_MAX);
        // Commands with control characters cannot be pasted safely.
        remedy.command = remedy.command.take().filter(|command| !command.chars().any(char::is_control));
    }
    let impact = impact::of(case, finding.container.as_deref());
    let mut severity = finding.severity.unwrap_or_else(|| impact::severity(case, &impact));
    if installation::end(case, rule.category).is_some() {
        severity = installation::at_most_warning(severity);
    }
    let ignored = target::ignored_manifest(case).map(evidence::event);
    let around: Vec<Evidence> =
        ownership::job_given_up(case).into_iter().chain(ignored).chain(misread::of(case)).collect();
    let mut evidence = finding.evidence;
    evidence.truncate(MOST_EVIDENCE - around.len());
    evidence.extend(around);
    Diagnosis {
        cause: rule.cause,
        category: rule.category,
        recovery: rule.recovery,
        severity,
        confidence: finding.confidence,
        container: finding.container,
        container_type: finding.container_type,
        summary: finding.summary,
        remedies,
        evidence,
        other_findings,
        root,
        impact,
        workload: ownership::top(case.pod, case.surroundings.known_job()),
        quiet: finding.quiet,
        attributions,
    }
}

/// Whether the pod template causes the failure, so that an earlier template can serve in its place.
fn is_of_template(category: Category, root: Option<&Root>) -> bool {
    let is_in = |kinds: &[RootKind]| root.is_some_and(|root| kinds.iter().any(|kind| kind.as_str() == root.kind));
    match category {
        Category::Crash | Category::Image | Category::Probe | Category::Start => !is_in(&[RootKind::Node]),
        Category::Scheduling | Category::Volume => is_in(&[RootKind::ConfigMap, RootKind::Secret, RootKind::NodeLabel]),
        Category::Lifecycle | Category::Network | Category::Node | Category::Sandbox => false,
    }
}
