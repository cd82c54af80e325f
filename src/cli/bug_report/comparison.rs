//! Compares the diagnoses of a dump with those of the cluster.

use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline::{self, Logs, View};
use shindan_core::wire::Dump;

use crate::cli::found::{Found, NodeOrWorkload};

/// What must be equal of a diagnosis: its object, cause, container, severity and number of pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    object: String,
    content: String,
}

/// All diagnoses of a dump.
pub(super) fn diagnose(dump: Dump, has_all_pods: bool, thresholds: Thresholds, now: Timestamp) -> Found {
    let report = offline::diagnose(dump, Logs::default(), now, View { has_all_pods, ..View::from(thresholds) });
    Found::of_writes(report.pods, report.nodes_and_workloads)
}

/// The diagnoses, in order.
pub(super) fn answer(found: &Found) -> Vec<Line> {
    let of_pods = found.pods.iter().map(|pod| {
        let head = &pod.status.head;
        let container = pod.status.container.as_deref().unwrap_or("-");
        Line { object: format!("Pod {}", pod.key), content: format!("{} {container} {}", head.cause, head.severity) }
    });
    let of_others = found.nodes_and_workloads.iter().map(|of| {
        let head = of.object.head();
        let (object, more) = match &of.object {
            NodeOrWorkload::Node(spec, status) => (format!("Node {}", spec.node_name), status.pods.to_string()),
            NodeOrWorkload::Workload(spec, status) => {
                let (workload, pods) = (&spec.workload, &status.pods);
                let container = status.container.as_deref().unwrap_or("-");
                let counts = format!("{} {container} {}/{}/{}", status.problem, pods.failing, pods.ready, pods.desired);
                (format!("{} {}/{}", workload.kind, of.key.object.namespace, workload.name), counts)
            }
        };
        Line { object, content: format!("{} {} {more}", head.cause, head.severity) }
    });
    let mut lines: Vec<Line> = of_pods.chain(of_others).collect();
    lines.sort();
    lines
}

/// The diagnoses without the names of their objects.
pub(super) fn without_names(found: &Found) -> Vec<String> {
    let kind = |object: &str| object.split(' ').next().unwrap_or_default().to_owned();
    let mut lines: Vec<_> =
        answer(found).into_iter().map(|line| format!("{} {}", kind(&line.object), line.content)).collect();
    lines.sort();
    lines
}

/// How the diagnoses of a dump differ from the expected ones.
pub(super) fn differences(expected: &[Line], found: &[Line]) -> impl Iterator<Item = String> {
    let lines = |all: &[Line], of: &str| {
        let contents: Vec<_> = all.iter().filter(|line| line.object == of).map(|line| line.content.clone()).collect();
        if contents.is_empty() { "none".to_owned() } else { contents.join("; ") }
    };
    let mut objects: Vec<&Line> = expected.iter().filter(|line| !found.contains(line)).collect();
    objects.extend(found.iter().filter(|line| !expected.contains(line)));
    let mut objects: Vec<&str> = objects.into_iter().map(|line| &*line.object).collect();
    objects.sort_unstable();
    objects.dedup();
    let text = |of: &str| format!("{of}: {} instead of {}", lines(found, of), lines(expected, of));
    objects.into_iter().map(text).collect::<Vec<_>>().into_iter()
}
