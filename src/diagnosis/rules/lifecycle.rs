//! The pod's own course: init containers, ends of the pod as a whole, creation and deletion that take too long.

mod admission;
mod disrupted;
mod evicted;
mod left_over;
mod resize;
mod sidecar;
mod terminating;
mod waits;

use self::admission::{by_reason, rejected, rejected_as};
use crate::api::{Confidence, ContainerType, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, judged};
use crate::diagnosis::signals::termination::exit_code::{ended, ended_with, log_remedy};
use crate::diagnosis::signals::termination::{blamed, command, end_evidence, log_line};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, restarts, roots,
    target,
};
use crate::facts::{
    Container, EventFacts, Phase, PullQueue, State, Timestamp, Volume, VolumeSource, after, seconds_between,
};

const INIT_STUCK: &str = "InitContainerStuck";
const GATE_NOT_READY: &str = "ReadinessGateNotReady";
const CREATING_TOO_LONG: &str = "ContainerCreatingTooLong";

/// Those that count after a while which may be chosen for each.
pub(super) const PATIENT: [&str; 11] = [
    INIT_STUCK,
    GATE_NOT_READY,
    CREATING_TOO_LONG,
    sidecar::NOT_STARTED.cause,
    sidecar::BLOCKS_JOB.cause,
    resize::INFEASIBLE.cause,
    resize::DEFERRED.cause,
    resize::ERROR.cause,
    terminating::NODE_UNREACHABLE.cause,
    terminating::FINALIZER.cause,
    terminating::KILL_FAILING.cause,
];

/// A rule of this family about the pod as a whole.
const fn rule(
    cause: &'static str,
    specificity: Specificity,
    check: fn(&Case<'_>) -> Verdict,
    remedies: fn(&Case<'_>, &Finding) -> Vec<Remedy>,
    explain: Explain,
) -> Rule {
    Rule {
        cause,
        category: Category::Lifecycle,
        recovery: Recovery::NeverStarted,
        specificity,
        scope: Scope::Pod(check),
        remedies,
        explain,
    }
}

pub(super) const RULES: &[Rule] = &[
    evicted::EMPTY_DIR_LIMIT,
    evicted::POD_EPHEMERAL_LIMIT,
    evicted::CONTAINER_EPHEMERAL_LIMIT,
    evicted::NODE_PRESSURE,
    by_reason(
        "AdmissionNodePressure",
        |case| admission::node_pressure(case).rooted(roots::node(case)),
        "The node was short of memory, disk or process ids when the pod arrived, and refused it.",
        "Free the node, and set requests so that the scheduler sees what is taken. The reason reads Evicted, but the pod never \
         ran.",
    ),
    by_reason(
        "OutOfcpu",
        |case| rejected(case, "OutOfcpu"),
        "The node had less CPU left than the pod asks for when the pod arrived there.",
        "Let the scheduler choose the node (no spec.nodeName), lower the request, or delete the pod and try again.",
    ),
    by_reason(
        "OutOfmemory",
        |case| rejected(case, "OutOfmemory"),
        "The node had less memory left than the pod asks for when the pod arrived there.",
        "Let the scheduler choose the node (no spec.nodeName), lower the request, or delete the pod and try again.",
    ),
    by_reason(
        "OutOfEphemeralStorage",
        |case| rejected(case, "OutOfephemeral-storage"),
        "The node had less local storage left than the pod asks for when the pod arrived there.",
        "Let the scheduler choose the node (no spec.nodeName), lower the request, or delete the pod and try again.",
    ),
    by_reason(
        "OutOfpods",
        |case| rejected(case, "OutOfpods"),
        "The node already ran as many pods as it may when the pod arrived there.",
        "Let the scheduler choose the node (no spec.nodeName), raise the kubelet's maxPods, or add nodes.",
    ),
    by_reason(
        "OutOfExtendedResource",
        admission::out_of_other,
        "The node had less of a device or other extended resource left than the pod asks for.",
        "See that the device plugin on the node is well; delete the pod so that it is placed anew.",
    ),
    by_reason(
        "NodeAffinity",
        |case| rejected_as(case, &["NodeAffinity", "MatchNodeSelector"]),
        "The node's labels no longer match the pod's selector or affinity when the pod arrived (or after a kubelet restart).",
        "Correct the node's labels or the pod's selector, then delete the pod.",
    ),
    by_reason(
        "NodePorts",
        |case| rejected_as(case, &["NodePorts", "PodFitsHostPorts"]),
        "A host port that the pod claims was already taken on the node.",
        "Drop the hostPort, or keep the two pods apart; then delete the pod.",
    ),
    by_reason(
        "NodeName",
        |case| rejected_as(case, &["NodeName", "HostName"]),
        "The pod asks for a node of another name than the one that it came to.",
        "Correct spec.nodeName; look for a node whose name changed.",
    ),
    by_reason(
        "TaintToleration",
        |case| rejected(case, "TaintToleration"),
        "The node has a taint that the pod does not tolerate, and the pod did not come by the scheduler.",
        "Add the toleration, or do not set spec.nodeName.",
    ),
    by_reason(
        "UnexpectedAdmissionError",
        |case| rejected(case, "UnexpectedAdmissionError").rooted(roots::node(case)),
        "The kubelet could not give the pod the devices that it was promised, or failed inside while admitting it.",
        "Look at the device plugin on the node (it may have restarted), then delete the pod.",
    ),
    by_reason(
        "TopologyAffinityError",
        |case| rejected(case, "TopologyAffinityError"),
        "The node's topology manager found no way to give the pod its CPUs and devices on one NUMA node.",
        "Lower the requests, relax the kubelet's topologyManagerPolicy, or use nodes with larger NUMA zones.",
    ),
    by_reason(
        "SMTAlignmentError",
        |case| rejected(case, "SMTAlignmentError"),
        "The kubelet gives out whole cores only, and the pod's CPU request is not a multiple of a core's threads.",
        "Request a number of CPUs that is a multiple of the threads of a core.",
    ),
    by_reason(
        "InvalidNodeInfo",
        |case| rejected(case, "InvalidNodeInfo").rooted(roots::node(case)),
        "The kubelet could not read its own node's data when the pod arrived.",
        "Look at the kubelet's connection to the API server, then delete the pod.",
    ),
    by_reason(
        "SysctlForbidden",
        |case| rejected(case, "SysctlForbidden"),
        "The pod sets a sysctl that the kubelet does not allow.",
        "Remove the sysctl, or allow it on the nodes meant for it (--allowed-unsafe-sysctls).",
    ),
    by_reason(
        "AppArmor",
        |case| rejected(case, "AppArmor"),
        "The node cannot enforce the AppArmor profile that the pod asks for.",
        "Load the profile on the nodes, or drop it from the pod.",
    ),
    by_reason(
        "PodOSNotSupported",
        |case| rejected(case, "PodOSNotSupported"),
        "The pod is for another operating system than the node has.",
        "Correct spec.os, and select nodes by kubernetes.io/os.",
    ),
    by_reason(
        "PodOSSelectorNodeLabelDoesNotMatch",
        |case| rejected(case, "PodOSSelectorNodeLabelDoesNotMatch"),
        "The pod's selector asks for another operating system (kubernetes.io/os) than the node has.",
        "Correct the nodeSelector, and let the scheduler choose the node (no spec.nodeName).",
    ),
    by_reason(
        "SupplementalGroupsPolicyNotSupported",
        |case| rejected(case, "SupplementalGroupsPolicyNotSupported"),
        "The pod sets supplementalGroupsPolicy: Strict, and the node's container runtime does not know that.",
        "Use nodes with a newer runtime (containerd 2.0, CRI-O 1.31), or drop supplementalGroupsPolicy from the pod.",
    ),
    by_reason(
        "PodLevelResourcesNotSupported",
        |case| rejected(case, "PodLevelResourcesNotSupported"),
        "The pod sets resources for the pod as a whole (spec.resources), and the node's kubelet does not support that.",
        "Use nodes with a newer kubelet, or set the resources of each container instead.",
    ),
    by_reason(
        "PodFeatureUnsupported",
        |case| rejected(case, "PodFeatureUnsupported"),
        "The pod needs a feature that the node's kubelet does not have (its version is older, or the feature gate is off).",
        "Upgrade the node or turn the feature on there, use another node, or take out of the pod what needs it.",
    ),
    by_reason(
        "NodeShutdown",
        |case| replaced_or(case, rejected(case, "NodeShutdown")).rooted(roots::node(case)),
        "The node was shutting down when the pod arrived.",
        "Nothing to mend: its controller places it elsewhere. Delete what is left of it.",
    ),
    by_reason(
        "VolumeAttachmentLimitExceeded",
        |case| rejected(case, "VolumeAttachmentLimitExceeded").rooted(roots::node(case)),
        "The node has as many volumes attached as it may.",
        "Add nodes, or spread the pods that use volumes.",
    ),
    pod_end(
        "NodeShutdownTerminated",
        |case| node_shut_down(case).rooted(roots::node(case)),
        Explain {
            meaning: "The node was shut down in good order, and its kubelet ended the pod first.",
            told_apart: "The pod is Failed with the reason Terminated and speaks of an imminent node shutdown. An eviction has \
                         the reason Evicted.",
            action: "Nothing to mend in the pod: a controller has made a new one. Delete what is left of it.",
            source: "kubernetes pkg/kubelet/nodeshutdown/nodeshutdown_manager.go",
        },
    ),
    pod_end(
        "PreemptedByKubelet",
        |case| {
            pod_ended(case, "Preempting", phrase!(case, "was ended by its node to make room for a critical pod"))
                .rooted(roots::node(case))
        },
        Explain {
            meaning: "The kubelet ended the pod to make room for a critical one (a static pod or system-node-critical).",
            told_apart: "The pod is Failed with the reason Preempting. A preemption by the scheduler deletes the pod instead.",
            action: "Give the node more room, or keep critical pods' requests small.",
            source: "kubernetes pkg/kubelet/preemption/preemption.go",
        },
    ),
    pod_end(
        "PodDeadlineExceeded",
        |case| {
            pod_ended(
                case,
                "DeadlineExceeded",
                phrase!(case, "was ended because it ran longer than its activeDeadlineSeconds"),
            )
        },
        Explain {
            meaning: "The pod was active longer than its own activeDeadlineSeconds, so the kubelet ended it.",
            told_apart: "The pod is Failed with the reason DeadlineExceeded. A Job's own deadline deletes its pods instead.",
            action: "Raise activeDeadlineSeconds, or find what takes so long: its log and its earlier restarts tell.",
            source: "kubernetes pkg/kubelet/active_deadline.go",
        },
    ),
    disrupted::BY_SCHEDULER,
    disrupted::BY_TAINT,
    disrupted::BY_DEVICE_TAINT,
    disrupted::BY_API,
    disrupted::BY_GARBAGE_COLLECTOR,
    terminating::NODE_UNREACHABLE,
    terminating::FINALIZER,
    terminating::KILL_FAILING,
    evicted::EVICTED,
    admission::UMBRELLA,
    sidecar::BLOCKS_JOB,
    sidecar::NOT_STARTED,
    Rule {
        cause: "InitContainerFailed",
        category: Category::Lifecycle,
        recovery: Recovery::Restarting,
        specificity: Specificity::Umbrella,
        scope: Scope::Container(init_failed),
        remedies: init_remedies,
        explain: Explain {
            meaning: "An init container ends with an error, so the pod's own containers never start.",
            told_apart: "STATUS reads Init:Error or Init:CrashLoopBackOff. Where memory, a probe, a missing command or an image is \
                         the reason, that is the cause instead. Only the first init container that is not done is to blame.",
            action: "Read the init container's log; the containers after it wait and are not at fault.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go computeInitContainerActions",
        },
    },
    Rule {
        cause: "PodFailedNoRestart",
        category: Category::Lifecycle,
        recovery: Recovery::Restarting,
        specificity: Specificity::Umbrella,
        scope: Scope::Container(failed_for_good),
        remedies: failed_remedies,
        explain: Explain {
            meaning: "A container ended with an error and its restart policy forbids another try, so the pod has failed for good.",
            told_apart: "Phase Failed without a reason of the pod, and an exit code other than 0. With a reason (Evicted, \
                         DeadlineExceeded) that is the cause; under Always the container would be started again.",
            action: "Read the log. A Job makes a new pod while it has retries left; a bare pod must be deleted and applied again.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go getPhase",
        },
    },
    Rule {
        cause: INIT_STUCK,
        category: Category::Lifecycle,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Symptom,
        scope: Scope::Container(init_stuck),
        remedies: init_stuck_remedies,
        explain: Explain {
            meaning: "An init container runs much longer than start-up should take, so the pod's own containers wait for it.",
            told_apart: "It is running and has no error. Most such containers wait for something: a service, a database, a lock.",
            action: "Read its log, and look at what it waits for. Give it a time limit of its own.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go computeInitContainerActions",
        },
    },
    Rule {
        cause: GATE_NOT_READY,
        category: Category::Lifecycle,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Symptom,
        scope: Scope::Pod(gate_not_ready),
        remedies: |case, _| {
            vec![remedy::fix(phrase!(
                case,
                "Look at the controller that sets this condition (a load balancer's, a mesh's): it is down, or its check of the pod fails."
            ))]
        },
        explain: Explain {
            meaning: "All containers are ready, but a readiness gate of the pod is not, so the pod gets no traffic.",
            told_apart: "ContainersReady is True and Ready is False with the reason ReadinessGatesNotReady: no probe fails.",
            action: "Look at the controller that owns the gate's condition.",
            source: "kubernetes pkg/kubelet/status/generate.go GeneratePodReadyCondition",
        },
    },
    resize::INFEASIBLE,
    resize::ERROR,
    resize::DEFERRED,
    Rule {
        cause: CREATING_TOO_LONG,
        category: Category::Lifecycle,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Umbrella,
        scope: Scope::Pod(creating_too_long),
        remedies: creating_remedies,
        explain: Explain {
            meaning: "The pod has a node, but its containers have not been created for long, and nothing says why.",
            told_apart: "Containers wait with ContainerCreating or PodInitializing and no other cause is known: no failed mount, no \
                         failed sandbox, no image error. While an image is being pulled it may take longer. Where pulls of other pods on \
                         the node, or of the same workload, get no answer from a registry (RegistryTimeout), that is most likely \
                         what it waits behind: it is noted only, of another workload for 10 min.",
            action: "Look at the pod's Events; without any, a volume that is silently waited for, or a kubelet that is stuck.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses",
        },
    },
];

const fn pod_end(cause: &'static str, check: fn(&Case<'_>) -> Verdict, explain: Explain) -> Rule {
    Rule {
        cause,
        category: Category::Lifecycle,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Specific,
        scope: Scope::Pod(check),
        remedies: pod_end_remedies,
        explain,
    }
}

/// The pod's reason and message, and the condition that says who disrupted it.
fn pod_end_evidence(case: &Case<'_>, finding: Finding) -> Finding {
    let pod = case.pod;
    let mut finding = finding.with(evidence::field("status.reason", &pod.reason));
    if !pod.message.is_empty() {
        finding = finding.with(evidence::field("status.message", pod.message.trim()));
    }
    finding.with_all(pod.condition("DisruptionTarget").filter(|c| c.status == "True").map(evidence::condition))
}

fn pod_ended(case: &Case<'_>, reason: &str, words: &str) -> Verdict {
    let pod = case.pod;
    if pod.phase != Phase::Failed || pod.reason != reason {
        return Verdict::No;
    }
    let detail = match (reason, pod.active_deadline_seconds, &pod.node_name) {
        ("DeadlineExceeded", Some(seconds), _) => format!(" ({seconds})"),
        ("Terminated" | "Shutdown" | "Preempting", _, Some(node)) => format!(" ({node})"),
        _ => String::new(),
    };
    // A crash loop that used up the time is worth saying.
    let restarted = pod.containers.iter().filter(|c| c.restart_count > 0).max_by_key(|c| c.restart_count);
    let loops = match restarted {
        Some(c) if reason == "DeadlineExceeded" => {
            say!(case, "; {container} had {restarts}", container = c.name, restarts = restarts::so_far(case, c))
        }
        _ => String::new(),
    };
    let finding =
        pod_end_evidence(case, Finding::of_pod(say!(case, "the pod {words}{detail}{loops}", words, detail, loops)));
    judged(case, finding)
}

/// `Shutdown` in Kubernetes 1.20 and 1.21, `Terminated` since.
fn node_shut_down(case: &Case<'_>) -> Verdict {
    let reason = if case.pod.reason == "Shutdown" { "Shutdown" } else { "Terminated" };
    replaced_or(case, pod_ended(case, reason, phrase!(case, "was ended because its node was shutting down")))
}

/// What comes of a node's planned end, once its controller has had the time for a new pod.
fn replaced_or(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let ended = end::disruption(case).or(case.pod.condition("Ready")).and_then(|condition| condition.last_transition);
    let since = ended.or(case.pod.start_time).or(case.pod.created);
    match (verdict, disrupted::is_not_replaced(case, since)) {
        (Verdict::Yes(_), Err(not_yet)) => not_yet,
        (verdict, _) => verdict,
    }
}

fn pod_end_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let pod = case.pod;
    let target = target::of(case);
    let mut remedies = Vec::new();
    if pod.reason == "DeadlineExceeded" {
        let text = phrase!(case, "Raise activeDeadlineSeconds, or find what takes it so long.");
        let seconds = pod.active_deadline_seconds.unwrap_or(300).saturating_mul(2);
        remedies.push(target.with_pod_patch(remedy::fix(text), &format!("activeDeadlineSeconds: {seconds}\n")));
    }
    remedies.push(left_over::records(case));
    remedies
}

/// `2 of 3`: which of the init containers this is (sidecars are counted as kubectl counts them).
fn place(case: &Case<'_>, container: &Container) -> String {
    let inits =
        || case.pod.containers.iter().filter(|c| matches!(c.kind, ContainerType::Init | ContainerType::Sidecar));
    let at = inits().position(|c| c.name == container.name).map_or(0, |i| i + 1);
    say!(case, "{at} of {count}", at, count = inits().count())
}

fn waiting_apps(case: &Case<'_>) -> String {
    let names: Vec<&str> = case.pod.of_type(ContainerType::App).map(|c| &*c.name).collect();
    match names.as_slice() {
        [] => phrase!(case, "the pod").to_owned(),
        [one] => (*one).to_owned(),
        [one, two] => say!(case, "{one} and {two}", one, two),
        [one, rest @ ..] => say!(case, "{one} and {rest} others", one, rest = rest.len()),
    }
}

fn init_failed(case: &Case<'_>, container: &Container) -> Verdict {
    if container.kind != ContainerType::Init {
        return Verdict::No;
    }
    let run = match end::settled_crash(case, container) {
        Ok(Some(run)) => run,
        Ok(None) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let (waits, when) = (waiting_apps(case), restarts::rhythm(case, container));
    let line = log_line::quoted(case, container, run, 60);
    let summary = say!(
        case,
        "init container {name} ({place}) exits with {end}{when}{line}, so {waits} {start}{tail}",
        name = container.name,
        place = place(case, container),
        end = ended_with(case.language(), run),
        when = when.map_or_else(String::new, |words| format!(" {words}")),
        line,
        waits,
        start = if case.pod.is_over() { phrase!(case, "never started") } else { phrase!(case, "cannot start") },
        tail = restarts::tail(case, container)
    );
    let finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with_all(log_line::line_evidence(case, container, run))
        .with_all(case.pod.condition("Initialized").map(evidence::condition));
    judged(case, finding)
}

fn init_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    vec![
        log_remedy(case, container),
        remedy::fix(say!(
            case,
            "Mend what {container} does or needs: {waits} waits for it and is not at fault.",
            container = container.name,
            waits = waiting_apps(case)
        )),
    ]
}

fn init_stuck(case: &Case<'_>, container: &Container) -> Verdict {
    let State::Running { started_at } = container.state else { return Verdict::No };
    if container.kind != ContainerType::Init || case.pod.deletion.is_some() || case.pod.is_over() {
        return Verdict::No;
    }
    let due = after(case.held_since(started_at), case.patience(INIT_STUCK, case.thresholds.init));
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let waits = match waits::waits_for(container) {
        Some(what) => say!(case, "its command waits for {what}", what),
        None => phrase!(case, "it most likely waits for something").to_owned(),
    };
    let summary = say!(
        case,
        "init container {name} ({place}) runs on and on, so {apps} cannot start; {waits}",
        name = container.name,
        place = place(case, container),
        apps = waiting_apps(case),
        waits
    );
    let finding = Finding::of_container(container, summary)
        .confidence(Confidence::Likely)
        .with(evidence::field_at(
            format!("{}.state.running.startedAt", container.status_path()),
            started_at.map_or_else(|| "unknown".to_owned(), |at| at.to_string()),
            started_at,
        ))
        .with_all(
            command::shown(container).map(|line| evidence::field(format!("{}.command", container.spec_path()), line)),
        )
        .with_all(case.pod.condition("Initialized").map(evidence::condition));
    Verdict::Yes(Box::new(finding))
}

fn init_stuck_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let asks = waits::waits_for(container);
    let what = asks.as_ref().map_or(phrase!(case, "what it waits for"), |asks| asks.what.as_str());
    let see = remedy::fix(say!(
        case,
        "See that {what} exists and answers (Service with ready endpoints, DNS name, database), and give the wait a time limit.",
        what
    ));
    let service = asks.as_ref().and_then(|asks| asks.service(&case.pod.key.namespace));
    let see = match service {
        Some((namespace, name)) => remedy::command(
            see,
            format!("kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={name}"),
        ),
        None => see,
    };
    vec![log_remedy(case, container), see]
}

fn failed_for_good(case: &Case<'_>, container: &Container) -> Verdict {
    let pod = case.pod;
    if !end::has_ended_its_pod(case, container) || !pod.reason.is_empty() || container.kind != ContainerType::App {
        return Verdict::No;
    }
    let run = match end::settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code != 0 => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let summary =
        say!(case, "{run}; it is not started again, so the pod has failed", run = ended(case, container, run));
    let finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with(evidence::field("status.phase", format!("{:?}", pod.phase)))
        .with(evidence::field("spec.restartPolicy", format!("{:?}", pod.restart_policy)))
        .with_all(log_line::line_evidence(case, container, run));
    judged(case, finding)
}

fn failed_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some(container) = blamed(case, finding) else { return Vec::new() };
    let pod = case.pod;
    let mut remedies = vec![log_remedy(case, container)];
    if pod.owner.is_none() {
        remedies.push(remedy::command(
            remedy::fix(phrase!(
                case,
                "Once it is mended, delete the pod and apply it anew: a failed pod is never started again."
            )),
            format!("kubectl -n {} delete pod {}", pod.key.namespace, pod.key.name),
        ));
    }
    remedies
}

/// Gates of load balancers, which look at a new pod for up to some minutes before they send it traffic.
const LOAD_BALANCERS: [&str; 2] = ["target-health.", "cloud.google.com/load-balancer-neg-ready"];

fn gate_not_ready(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    if pod.deletion.is_some() || pod.is_over() || !pod.condition_is_true("ContainersReady") {
        return Verdict::No;
    }
    let Some(ready) = pod.condition("Ready").filter(|c| c.status == "False" && c.reason == "ReadinessGatesNotReady")
    else {
        return Verdict::No;
    };
    let containers = pod.condition("ContainersReady").and_then(|c| c.last_transition);
    let was_ready =
        matches!((ready.last_transition, containers), (Some(lost), Some(well)) if seconds_between(well, lost) > 1);
    let (since, patience) = if was_ready {
        (ready.last_transition, case.thresholds.of(GATE_NOT_READY, case.thresholds.readiness_lost))
    } else {
        (containers, case.never_ready(GATE_NOT_READY))
    };
    // In a snapshot nothing may be newer than the readiness of the containers, which is all that a kubelet has to say.
    let usual = crate::diagnosis::Thresholds::default();
    let is_chosen = patience != if was_ready { usual.readiness_lost } else { usual.never_ready };
    let by_nature = pod.readiness_gates.iter().any(|gate| LOAD_BALANCERS.iter().any(|name| gate.starts_with(name)));
    let at_once = !case.thresholds.patient && !is_chosen && !by_nature;
    let due = after(case.held_since(since), if at_once { 0 } else { patience });
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    let open: Vec<&str> =
        pod.readiness_gates.iter().map(String::as_str).filter(|gate| !pod.condition_is_true(gate)).collect();
    let summary = say!(
        case,
        "all containers are ready, but readiness gate {gate} is not set, so the pod gets no traffic",
        gate = if open.is_empty() { "(unnamed)".to_owned() } else { open.join(", ") }
    );
    let gates = open.iter().filter_map(|gate| pod.condition(gate)).map(evidence::condition);
    let finding = Finding::of_pod(summary).with(evidence::condition(ready)).with_all(gates);
    Verdict::Yes(Box::new(finding))
}

fn creating_too_long(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    let Some(node) = pod.node_name.as_deref() else { return Verdict::No };
    if pod.phase != Phase::Pending || pod.deletion.is_some() {
        return Verdict::No;
    }
    let mut waiting = None;
    for container in pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral) {
        match &container.state {
            State::Waiting { reason, .. }
                if matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing") =>
            {
                waiting = waiting.or(Some(container));
            }
            // An init container that is done, or a container that is already there; a sidecar is only once it has started.
            State::Terminated(run) if run.exit_code == 0 => {}
            State::Running { .. } if container.kind == ContainerType::App => {}
            State::Running { .. } if container.kind == ContainerType::Sidecar && container.started == Some(true) => {}
            // It is at work, or has trouble of its own, and the others wait for it.
            _ => return Verdict::No,
        }
    }
    let Some(container) = waiting else { return Verdict::No };
    let pulling = case.events.last().is_some_and(|event| &*event.reason == "Pulling");
    let patience = if pulling { case.thresholds.creating_pulling } else { case.thresholds.creating };
    let since = pod.start_time.or_else(|| pod.condition("PodScheduled").and_then(|c| c.last_transition));
    let due = after(case.held_since(since), case.patience(CREATING_TOO_LONG, patience));
    if case.now < due {
        return Verdict::NotBefore(due);
    }
    if let Some(queue) = queue(case).filter(|_| !pulling && container.reported) {
        let overdue = after(case.held_since(since), case.thresholds.creating_pulling);
        return Verdict::Yes(Box::new(queued(case, container, queue, overdue)));
    }
    let summary = if pulling {
        say!(
            case,
            "{container}'s image {image} is still being pulled on {node}",
            container = container.name,
            image = container.image,
            node
        )
    } else if let Some(hooked) = hooked(case) {
        say!(
            case,
            "{container} still waits on {node}: {why}",
            container = hooked.name,
            node,
            why = about_hook(case, hooked)
        )
    } else if container.reported {
        say!(
            case,
            "{container} still waits to be created on {node}, and nothing says why",
            container = container.name,
            node
        )
    } else {
        say!(case, "{node} has said nothing of the pod yet: its kubelet has not taken it up", node)
    };
    let (reason, message) = container.waiting().unwrap_or_default();
    let sandbox = pod.condition("PodReadyToStartContainers").map(evidence::condition);
    let finding = match hooked(case).filter(|_| !pulling) {
        Some(hooked) => Finding::of_container(hooked, summary),
        None => Finding::of_pod(summary),
    };
    let finding = finding
        .confidence(Confidence::Likely)
        .with(evidence::field(
            format!("{}.state.waiting", container.status_path()),
            format!("{reason} {message}").trim(),
        ))
        .with_all(sandbox)
        .with_all(case.events.last().map(evidence::event));
    Verdict::Yes(Box::new(finding))
}

/// Pulls that get no answer, which the pod's own is likely to wait for: nothing but that is known to hold it up.
fn queue<'a>(case: &Case<'a>) -> Option<&'a PullQueue> {
    case.surroundings.queue.as_ref().filter(|_| hooked(case).is_none())
}

/// A pod whose image has not been tried yet, while those of others time out one by one. Of its own workload those tell it;
/// a pod of another one is overdue at last.
fn queued(case: &Case<'_>, container: &Container, queue: &PullQueue, overdue: Timestamp) -> Finding {
    let node = case.its_node();
    let whose =
        if queue.of_workload { phrase!(case, "other pods of its workload") } else { phrase!(case, "other pods there") };
    let summary = say!(
        case,
        "{container} still waits on {node}, most likely for its turn to be pulled: {whose} get no answer from registry {registry}",
        container = container.name,
        node,
        whose,
        registry = queue.registry.name
    );
    let waits = evidence::field(
        format!("{}.state.waiting", container.status_path()),
        container.waiting().map_or("", |(reason, _)| reason),
    );
    let finding = Finding::of_pod(summary)
        .confidence(Confidence::Possible)
        .rooted(Some(queue.registry.clone()))
        .with(waits)
        .with_all(case.events.last().map(evidence::event));
    match overdue {
        _ if queue.of_workload => finding.noted().until(after(case.now, case.thresholds.creating_pulling)),
        overdue if case.now < overdue => finding.noted().until(overdue),
        _ => finding,
    }
}

/// The first app container whose postStart hook seems to hold up the pod.
fn hooked<'a>(case: &Case<'a>) -> Option<&'a Container> {
    case.pod.of_type(ContainerType::App).find(|container| is_held_by_hook(case, container))
}

/// Whether a container that waits has a postStart hook that does not end: the kubelet starts nothing else, and does not
/// even say that this one runs, before the hook has ended. It waits as silently for a volume, before it starts anything.
fn is_held_by_hook(case: &Case<'_>, container: &Container) -> bool {
    let waits_with_hook = container.reported && container.has_post_start && container.waiting().is_some();
    waits_with_hook && (started(case, container).is_some() || case.pod.volumes.iter().all(|v| claim(v).is_none()))
}

/// The Normal Event that a container was started comes before its hook. Only dumps hold it.
fn started<'a>(case: &Case<'a>, container: &Container) -> Option<&'a EventFacts> {
    case.container_events(container, "Started").next_back()
}

fn about_hook(case: &Case<'_>, container: &Container) -> &'static str {
    match started(case, container) {
        Some(_) => phrase!(case, "it was started, but its postStart hook has not ended"),
        None => phrase!(case, "nothing says why; most likely its postStart hook does not end"),
    }
}

fn creating_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let pod = case.pod;
    let node = case.its_node();
    let hook = hooked(case).map(|container| {
        remedy::fix(say!(
            case,
            "Look at the postStart hook of {container}: what it waits for, and whether it has a time limit of its own.",
            container = container.name
        ))
    });
    let claims: Vec<&str> = pod.volumes.iter().filter_map(claim).collect();
    let mounts = (!claims.is_empty()).then(|| {
        remedy::command(
            remedy::fix(phrase!(
                case,
                "See that the claims it mounts are bound: a volume that is attached or mounted is waited for silently."
            )),
            format!("kubectl -n {} get pvc {}", pod.key.namespace, claims.join(" ")),
        )
    });
    let events = [
        remedy::command(
            remedy::fix(phrase!(case, "Look at its Events for a volume or an image that is still waited for.")),
            format!("kubectl -n {} describe pod {}", pod.key.namespace, pod.key.name),
        ),
        remedy::fix(say!(
            case,
            "Without any Event, look at the kubelet's log on {node}: a volume may be waited for silently.",
            node
        )),
    ];
    let registry = queue(case).map(|queue| {
        remedy::command(
            remedy::fix(say!(
                case,
                "See why {node} gets no answer from registry {registry}.",
                node,
                registry = queue.registry.name
            )),
            "kubectl get poddiagnoses -A -l 'shindan.dev/cause in (RegistryTimeout,ImagePullStalled)'",
        )
    });
    hook.into_iter().chain(registry).chain(mounts).chain(events).collect()
}

fn claim(volume: &Volume) -> Option<&str> {
    match &volume.source {
        VolumeSource::Claim { name, .. } => Some(name),
        _ => None,
    }
}
