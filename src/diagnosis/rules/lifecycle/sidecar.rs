//! Sidecars: those that outlive the work of their Job, and those that do not get started.

use super::{about_hook, blamed, is_held_by_hook, place, started, waiting_apps};
use crate::api::{Confidence, ContainerType, Remedy, Severity};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, target,
};
use crate::facts::{Container, Phase, RestartPolicy, State, Terminated, Timestamp, after};

/// What such a container may still have to send after the work is done, in seconds.
/// What of it the checks name as well.
const BLOCKS_JOB_CAUSE: &str = "SidecarBlocksJob";
const NOT_STARTED_CAUSE: &str = "SidecarNotStarted";
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
    cause: BLOCKS_JOB_CAUSE,
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

pub(super) const NOT_STARTED: Rule = Rule {
    cause: NOT_STARTED_CAUSE,
    category: Category::Lifecycle,
    recovery: Recovery::NeverStarted,
    specificity: Specificity::Umbrella,
    scope: Scope::Container(not_started),
    remedies: not_started_remedies,
    explain: Explain {
        meaning: "A sidecar (an init container with restartPolicy Always) does not get started, because its postStart hook does \
                  not end; the containers after it wait.",
        told_apart: "It waits with PodInitializing, has a postStart hook, and all before it are done. While its startup probe has \
                     tries left a sidecar is only slow; where the probe ends it, or cannot be run, it is StartupProbeFailed; \
                     where it ends by itself, that end is the cause.",
        action: "Look at what the hook waits for, and give it a time limit of its own.",
        source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer",
    },
};

fn not_started(case: &Case<'_>, container: &Container) -> Verdict {
    let pod = case.pod;
    if container.kind != ContainerType::Sidecar || pod.phase != Phase::Pending || pod.deletion.is_some() {
        return Verdict::No;
    }
    let initializes = container.waiting().is_some_and(|(reason, _)| reason == "PodInitializing");
    let before = || pod.containers.iter().take_while(|c| c.name != container.name);
    if !initializes || !is_held_by_hook(case, container) || !before().all(is_behind_it) {
        return Verdict::No;
    }
    let since = before().filter_map(|c| c.last_end()?.finished_at).max().or(pod.start_time);
    let due = after(case.held_since(since), case.patience(NOT_STARTED_CAUSE, case.thresholds.creating));
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let summary = say!(
        case,
        "sidecar {name} ({place}) has not come up: {why}, so {apps} cannot start",
        name = container.name,
        place = place(case, container),
        why = about_hook(case, container),
        apps = waiting_apps(case)
    );
    let finding = Finding::of_container(container, summary)
        .confidence(Confidence::Likely)
        .with(evidence::field(format!("{}.started", container.status_path()), "false"))
        .with(evidence::field(format!("{}.lifecycle.postStart", container.spec_path()), "is set"))
        .with_all(started(case, container).map(evidence::event))
        .with_all(pod.condition("Initialized").map(evidence::condition));
    Verdict::Yes(Box::new(finding))
}

/// An init container that is done, or a sidecar that has started: what comes after it is free to start.
fn is_behind_it(container: &Container) -> bool {
    match container.kind {
        ContainerType::Sidecar => container.started == Some(true),
        _ => matches!(&container.state, State::Terminated(end) if end.exit_code == 0),
    }
}

fn not_started_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let name = finding.container.as_deref().unwrap_or(phrase!(case, "the sidecar"));
    // No log: the kubelet gives none of a container of which it says that it waits.
    vec![remedy::fix(say!(
        case,
        "Look at what the postStart hook of {name} waits for, and give it a time limit: the kubelet starts nothing after {name} before the hook has succeeded.",
        name
    ))]
}

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
    let patience = match others_work {
        true => MAY_WORK,
        // A snapshot may hold no time after the end of the work, and a known helper never ends by itself.
        false if !case.thresholds.patient => 0,
        false => FLUSH,
    };
    let due = after(case.held_since(Some(done_at)), case.thresholds.of(BLOCKS_JOB_CAUSE, patience));
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let summary = say!(
        case,
        "{work} is done (exit 0), but {helper} runs on, so the pod and its Job never complete",
        work = work.name,
        helper = first.name
    );
    let finding = Finding::of_container(first, summary)
        .confidence(if others_work || case.age(done_at) < FLUSH { Confidence::Likely } else { Confidence::Certain })
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
            phrase!(case, "Let Istio inject its proxy as a native sidecar: annotation sidecar.istio.io/nativeSidecar: \"true\" in the Job's template (Istio 1.27 does it by itself)."),
        ));
    } else if !target::is_injected(container) {
        out.push(remedy::fix(say!(case, "Move {name} to initContainers with restartPolicy: Always in {target}: the kubelet then ends it after the work.", name, target = target::of(case).display())));
    }
    out.push(remedy::fix(say!(case, "Or let the main container tell {name} to stop when it ends.", name)));
    let kill = "sh -c 'kill 1'";
    out.push(remedy::command(
        remedy::mitigate(say!(
            case,
            "End {name} now, if it heeds SIGTERM: the work is done, and the pod completes if it ends with 0.",
            name
        )),
        format!("kubectl -n {} exec {} -c {name} -- {kill}", pod.key.namespace, pod.key.name),
    ));
    out
}
