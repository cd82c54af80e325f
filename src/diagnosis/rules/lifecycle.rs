//! The pod's own course: init containers, ends of the pod as a whole, creation and deletion that take too long.

mod resize;
mod sidecar;
mod terminating;
mod waits;

use crate::api::{Confidence, ContainerType, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, judged};
use crate::diagnosis::signals::termination::exit_code::{ended, ended_with, log_remedy};
use crate::diagnosis::signals::termination::{blamed, command, end_evidence, log_line};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, restarts,
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
    terminating::NODE_UNREACHABLE,
    terminating::FINALIZER,
    terminating::KILL_FAILING,
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
