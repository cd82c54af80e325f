//! Jobs whose work is done and whose pods go on.

use super::blamed;
use crate::api::{Confidence, ContainerType, Remedy, Severity};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, target, text,
};
use crate::facts::{Container, Phase, RestartPolicy, State, Terminated, Timestamp, after};

/// What such a container may still have to send after the work is done, in seconds.
const FLUSH: i64 = 60;
/// Containers of a Job may well work for different times.
const MAY_WORK: i64 = 1800;

/// Parts of names of helpers that serve others and never end by themselves.
const HELPERS: [&str; 16] = [
    "istio-proxy",
    "linkerd-proxy",
    "envoy",
    "kuma-sidecar",
    "consul-dataplane",
    "daprd",
    "vault-agent",
    "cloud-sql-proxy",
    "cloudsql-proxy",
    "cloudsql",
    "fluent",
    "filebeat",
    "promtail",
    "otel",
    "datadog",
    "sidecar",
];

pub(super) const BLOCKS_JOB: Rule = Rule {
    cause: "SidecarBlocksJob",
    category: Category::Lifecycle,
    recovery: Recovery::NeverStarted,
    specificity: Specificity::Specific,
    scope: Scope::Pod(check),
    remedies,
    explain: Explain {
        meaning: "The work of a Job's pod is done, but another of its containers runs on, so the pod never completes and the \
                  Job waits for ever.",
        told_apart: "The pod belongs to a Job, one of its containers ended with 0 and another still runs; STATUS reads NotReady. \
                     A native sidecar (an init container with restartPolicy Always) is ended by the kubelet and never does \
                     this. A container that is no known helper gets 30 min, for it may be at work.",
        action: "Make the helper a native sidecar: move it to initContainers with restartPolicy Always. Or let the main \
                 container tell it to stop at the end.",
        source: "kubernetes pkg/kubelet/kubelet_pods.go getPhase; Job KEP-753 (sidecar containers)",
    },
};

fn check(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    if pod.phase != Phase::Running || pod.deletion.is_some() || !pod.is_of_job() {
        return Verdict::No;
    }
    if pod.restart_policy == RestartPolicy::Always {
        return Verdict::No;
    }
    let Some((work, done_at)) = pod.of_type(ContainerType::App).filter_map(done).max_by_key(|(_, at)| *at) else {
        return Verdict::No;
    };
    let mut running = pod.of_type(ContainerType::App).filter(|c| c.is_running());
    let Some(first) = running.next() else { return Verdict::No };
    if pod.of_type(ContainerType::App).any(|c| !c.is_running() && done(c).is_none()) {
        // Something failed, or waits: that is another matter.
        return Verdict::No;
    }
    let others_work = !is_helper(first) || running.any(|other| !is_helper(other));
    let due = after(case.held_since(Some(done_at)), if others_work { MAY_WORK } else { FLUSH });
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let summary = format!(
        "{} is done (exit 0 {} ago), but {} runs on, so the pod and its Job never complete",
        work.name,
        text::duration(case.age(done_at)),
        first.name
    );
    let finding = Finding::of_container(first, summary)
        .confidence(if others_work { Confidence::Likely } else { Confidence::Certain })
        .severity(Severity::Warning)
        .with(evidence::field_at(format!("{}.state.terminated", work.status_path()), "Completed exit 0", Some(done_at)))
        .with(evidence::field(format!("{}.state", first.status_path()), "running"))
        .with(evidence::field("spec.restartPolicy", format!("{:?}", pod.restart_policy)));
    Verdict::Yes(Box::new(finding))
}

/// A container that has done its work, and when.
fn done(container: &Container) -> Option<(&Container, Timestamp)> {
    match &container.state {
        State::Terminated(Terminated { exit_code: 0, finished_at: Some(at), .. }) => Some((container, *at)),
        _ => None,
    }
}

fn is_helper(container: &Container) -> bool {
    HELPERS.iter().any(|helper| container.name.contains(helper)) || target::is_injected(container)
}

fn remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let pod = case.pod;
    let name = &container.name;
    let mut out = Vec::new();
    if &**name == "istio-proxy" {
        out.push(remedy::fix(
            "Let Istio inject its proxy as a native sidecar: annotation sidecar.istio.io/nativeSidecar: \"true\" in the Job's \
             template (Istio 1.27 does it by itself).",
        ));
    } else if !target::is_injected(container) {
        out.push(remedy::fix(format!(
            "Move {name} to initContainers with restartPolicy: Always in {}: the kubelet then ends it after the work.",
            target::of(case).display()
        )));
    }
    out.push(remedy::fix(format!("Or let the main container tell {name} to stop when it ends.")));
    let kill = "sh -c 'kill 1'";
    out.push(remedy::command(
        remedy::mitigate(format!("End {name} now: the work is done, and the pod completes if it ends with 0.")),
        format!("kubectl -n {} exec {} -c {name} -- {kill}", pod.key.namespace, pod.key.name),
    ));
    out
}
