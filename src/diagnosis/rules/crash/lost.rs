//! Ends that nobody saw.

use super::end::{self, who};
use super::{end_evidence, last_words};
use crate::api::Remedy;
use crate::diagnosis::{Case, Finding, Verdict, evidence, remedy, roots};
use crate::facts::{Container, RestartPolicy, Terminated, after};

/// Ends that the runtime or the kubelet did not see.
pub(super) fn lost(case: &Case<'_>, container: &Container, reason: &str) -> Verdict {
    let Some(run) = end::counted(case, container).filter(|run| run.reason == reason) else { return Verdict::No };
    if container.is_running() || (reason == "Unknown" && !matches!(run.exit_code, 255 | -1)) {
        return Verdict::No;
    }
    // After a reboot all containers of a node look like this for a moment.
    let restarted =
        container.effective_restart_policy(case.pod.restart_policy) != RestartPolicy::Never && !case.pod.is_over();
    if restarted {
        let due = after(case.held_since(run.finished_at), case.thresholds.creating);
        // In a snapshot nobody will see whether it comes back, and the kubelet puts off only what has ended before.
        let is_put_off = container.waiting().is_some_and(|(reason, _)| reason == "CrashLoopBackOff");
        if case.now < due && (case.thresholds.patient || !is_put_off) {
            return Verdict::NotBefore(due);
        }
    }
    let who = who(container);
    let summary = if restarted {
        format!(
            "the runtime lost {who}, most likely when its node or runtime restarted, and it has not come back since"
        )
    } else {
        format!("the runtime lost {who}, most likely when its node or runtime restarted; how it ended is not known")
    };
    let mut finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with_all(last_words::line_evidence(case, container, run));
    if reason == "ContainerStatusUnknown" {
        finding = finding.with(evidence::contradicting(evidence::field(
            format!("{}.exitCode", container.last_end_path()),
            format!("{} is the kubelet's placeholder: no signal, and nothing about memory", run.exit_code),
        )));
    }
    end::judged(case, finding.rooted(roots::node(case)))
}

pub(super) fn lost_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if let Some(node) = &case.pod.node_name {
        remedies.push(remedy::command(
            remedy::fix("See whether the node was rebooted or its runtime restarted."),
            format!("kubectl describe node {node}"),
        ));
    }
    remedies.push(remedy::command(
        remedy::fix("Delete the pod, so that a new one is made (a bare pod must be applied again)."),
        format!("kubectl -n {} delete pod {}", case.pod.key.namespace, case.pod.key.name),
    ));
    remedies
}

pub(super) fn is_lost(run: &Terminated) -> bool {
    matches!(run.reason.as_str(), "Unknown" | "ContainerStatusUnknown")
}
