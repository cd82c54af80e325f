//! The parts of the diagnoses of a fixture that the page of a cause shows.

use serde::Serialize;
use shindan_core::api::{Confidence, Severity};
use shindan_core::offline::Report;
use shindan_core::reconcile::{Object, Write};

/// A diagnosis of a pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSummary<'a> {
    pod: &'a str,
    cause: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'a str>,
    severity: Severity,
    confidence: Confidence,
    pod_status: &'a str,
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_findings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_remedy: Option<&'a str>,
}

/// A diagnosis of a node or a workload.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtherSummary<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<&'a str>,
    cause: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
    severity: Severity,
    confidence: Confidence,
    summary: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_findings: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_remedy: Option<&'a str>,
}

fn other_summary(write: &Write) -> OtherSummary<'_> {
    let head = write.object.head();
    let mut other = OtherSummary {
        node: None,
        workload: None,
        cause: &head.cause,
        problem: None,
        severity: head.severity,
        confidence: head.confidence,
        summary: &head.summary,
        other_findings: Vec::new(),
        root: None,
        first_remedy: head.remedies.first().map(|r| r.text.as_str()),
    };
    match &write.object {
        Object::Pod(..) => {}
        Object::Node(spec, status) => {
            other.node = Some(&spec.node_name);
            other.other_findings = status.other_findings.iter().map(|other| &*other.cause).collect();
        }
        Object::Workload(spec, status) => {
            other.workload = Some(&spec.workload.display);
            other.problem = Some(&status.problem);
            other.root = status.root.as_ref().map(|reach| reach.root.to_string());
        }
    }
    other
}

/// All diagnoses of a fixture, as YAML.
pub(crate) fn summaries(report: &Report) -> String {
    let others: Vec<OtherSummary<'_>> = report.nodes_and_workloads.iter().map(other_summary).collect();
    let others = if others.is_empty() { String::new() } else { serde_saphyr::to_string(&others).unwrap() };
    if report.pods.is_empty() && !others.is_empty() {
        return others;
    }
    let pods: Vec<PodSummary<'_>> = report
        .pods
        .iter()
        .filter_map(|write| write.object.pod_status())
        .zip(&report.pods)
        .map(|(status, write)| {
            let others = status.other_findings.iter().map(|other| match &other.container {
                Some(container) => format!("{} ({container})", other.cause),
                None => other.cause.clone(),
            });
            PodSummary {
                pod: &write.key.object.name,
                cause: &status.head.cause,
                container: status.container.as_deref(),
                severity: status.head.severity,
                confidence: status.head.confidence,
                pod_status: &status.pod_status,
                summary: &status.head.summary,
                root: status.root.as_ref().map(ToString::to_string),
                other_findings: others.collect(),
                first_remedy: status.head.remedies.first().map(|r| r.text.as_str()),
            }
        })
        .collect();
    others + &serde_saphyr::to_string(&pods).unwrap()
}
