//! The gist of the diagnoses of a fixture: what a reader would miss if it changed unnoticed.

use serde::Serialize;
use shindan::api::{Confidence, Severity};
use shindan::cli::offline::Report;
use shindan::plan::{Outer, OuterWrite};

/// A diagnosis of a pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Gist<'a> {
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
struct OuterGist<'a> {
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

fn outer_gist(write: &OuterWrite) -> OuterGist<'_> {
    let head = write.object.head();
    let mut gist = OuterGist {
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
        Outer::Node(spec, status) => {
            gist.node = Some(&spec.node_name);
            gist.other_findings = status.other_findings.iter().map(|other| &*other.cause).collect();
        }
        Outer::Workload(spec, status) => {
            gist.workload = Some(&spec.workload.display);
            gist.problem = Some(&status.problem);
            gist.root = status.root.as_ref().map(|reach| reach.root.to_string());
        }
    }
    gist
}

/// All diagnoses of a fixture, as YAML.
pub(crate) fn gist(report: &Report) -> String {
    let outers: Vec<OuterGist<'_>> = report.outers.iter().map(outer_gist).collect();
    let outers = if outers.is_empty() { String::new() } else { serde_saphyr::to_string(&outers).unwrap() };
    if report.objects.is_empty() && !outers.is_empty() {
        return outers;
    }
    let gists: Vec<Gist<'_>> = report
        .objects
        .iter()
        .map(|write| {
            let status = &write.status;
            let others = status.other_findings.iter().map(|other| match &other.container {
                Some(container) => format!("{} ({container})", other.cause),
                None => other.cause.clone(),
            });
            Gist {
                pod: &write.key.name,
                cause: &status.cause,
                container: status.container.as_deref(),
                severity: status.severity,
                confidence: status.confidence,
                pod_status: &status.pod_status,
                summary: &status.summary,
                root: status.root.as_ref().map(ToString::to_string),
                other_findings: others.collect(),
                first_remedy: status.remedies.first().map(|r| r.text.as_str()),
            }
        })
        .collect();
    outers + &serde_saphyr::to_string(&gists).unwrap()
}
