//! What comes out of a diagnosis.

use std::sync::Arc;

use super::{Case, Category, Finding, Recovery, Rule, by_hand, evidence, impact, misread, roots, target, text};
use crate::api::{Confidence, ContainerType, Evidence, Impact, OtherFinding, Remedy, Root, Severity};
use crate::facts::{Timestamp, Want, WorkloadKey};

/// The answer for one pod at one moment.
#[derive(Debug)]
pub struct Outcome {
    pub health: Health,
    /// More was found, which nobody wants to be told.
    pub leaves_out: bool,
    /// When to ask again, if nothing changes before.
    pub wake: Option<Timestamp>,
    /// Facts that would make the answer better.
    pub wants: Vec<Want>,
}

#[derive(Debug)]
pub enum Health {
    /// No rule finds anything wrong, or not yet.
    Well,
    Failing(Box<Diagnosis>),
}

/// What is wrong with a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    pub cause: &'static str,
    pub category: Category,
    pub recovery: Recovery,
    pub severity: Severity,
    pub confidence: Confidence,
    pub container: Option<Arc<str>>,
    pub container_type: Option<ContainerType>,
    pub summary: String,
    pub remedies: Vec<Remedy>,
    pub evidence: Vec<Evidence>,
    pub other_findings: Vec<OtherFinding>,
    /// What the cause lies in, outside the pod.
    pub root: Option<Root>,
    pub impact: Impact,
    /// The top controller.
    pub workload: Option<WorkloadKey>,
    /// The object is written, but no Warning Event is owed.
    pub quiet: bool,
    pub attributions: Vec<Attribution>,
}

/// A container's last run, put down to a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    pub container: Arc<str>,
    pub cause: &'static str,
    /// An Event proves it.
    pub proven: bool,
}

const MOST_REMEDIES: usize = 5;
const MOST_EVIDENCE: usize = 12;

/// Turns the finding that ranks first into a diagnosis.
pub(super) fn report(
    case: &Case<'_>,
    rule: &'static Rule,
    finding: Finding,
    other_findings: Vec<OtherFinding>,
    attributions: Vec<Attribution>,
) -> Diagnosis {
    let mut remedies = (rule.remedies)(case, &finding);
    if case.pod.is_mirror() {
        remedies = target::of_static_pod(case, remedies);
    }
    if rule.category != Category::Node {
        remedies = by_hand::with_steps(case, remedies);
    }
    remedies.truncate(MOST_REMEDIES);
    for remedy in &mut remedies {
        remedy.text = text::line(&remedy.text, text::EVIDENCE_MAX);
        // Nobody pastes what cannot be typed.
        remedy.command = remedy.command.take().filter(|command| !command.chars().any(char::is_control));
    }
    let impact = impact::of(case, finding.container.as_deref());
    let severity = finding.severity.unwrap_or_else(|| impact::severity(case, &impact));
    let root = roots::of(case, rule.category, &finding);
    let ignored = target::ignored_manifest(case).map(evidence::event);
    let around: Vec<Evidence> =
        super::ownership::job_given_up(case).into_iter().chain(ignored).chain(misread::of(case)).collect();
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
        summary: text::line(&finding.summary, text::SUMMARY_MAX),
        remedies,
        evidence,
        other_findings,
        root,
        impact,
        workload: super::ownership::top(case.pod, case.surroundings.known_job()),
        quiet: finding.quiet,
        attributions,
    }
}
