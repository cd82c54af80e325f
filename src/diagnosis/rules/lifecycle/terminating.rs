//! Pods that should be gone and are not.

use super::{end, is_held_by_hook, rule};
use crate::api::{Confidence, ContainerType, Remedy};
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::{Case, Explain, Finding, Rule, Specificity, Verdict, evidence, node, remedy, roots, text};
use crate::facts::{Container, EventFacts, Phase, State, after};

/// Seconds past the deletion time before a pod counts as stuck: the kubelet has volumes to unmount and a status to send.
const OVERDUE: i64 = 120;

pub(super) const NODE_UNREACHABLE: Rule = rule(
    Stuck::Node.cause(),
    Specificity::Specific,
    |case| stuck(case, Stuck::Node).rooted(roots::node(case)),
    node_remedies,
    Explain {
        meaning: "The pod was deleted, but its node does not answer, so nobody can say that its containers have ended.",
        told_apart: "It is past its deletion time and its node is not Ready (or is gone). On a ready node the kubelet itself \
                     is stuck, or a finalizer holds the object.",
        action: "Bring the node back. If it is certain to be off, put the taint node.kubernetes.io/out-of-service on it, or \
                 delete the pod with force.",
        source: "kubernetes pkg/controller/tainteviction; pkg/controller/podgc",
    },
);

pub(super) const FINALIZER: Rule = rule(
    Stuck::Finalizer.cause(),
    Specificity::Specific,
    |case| stuck(case, Stuck::Finalizer),
    finalizer_remedies,
    Explain {
        meaning: "The pod's containers have ended, but a finalizer keeps the object until its controller removes it.",
        told_apart: "It is past its deletion time, nothing runs in it any more, and metadata.finalizers is not empty.",
        action: "Look at the controller that owns the finalizer: it is down, or cannot finish its work. Remove the finalizer \
                 by hand only when that work is done or not wanted.",
        source: "kubernetes staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go",
    },
);

pub(super) const KILL_FAILING: Rule = rule(
    Stuck::Kill.cause(),
    Specificity::Specific,
    |case| stuck(case, Stuck::Kill),
    kill_remedies,
    Explain {
        meaning: "The pod is past its grace period on a ready node, but the kubelet does not get its containers or volumes \
                  cleared away.",
        told_apart: "Its node is Ready and no finalizer alone holds it. FailedKillPod or ExceededGracePeriod Events tell more; \
                     without them a volume that cannot be unmounted, or a postStart hook that does not end, is the usual \
                     reason.",
        action: "Look at the runtime and at hanging mounts (NFS) on the node; restart the runtime if it hangs.",
        source: "kubernetes pkg/kubelet/kubelet.go SyncTerminatingPod; pkg/kubelet/pod_workers.go",
    },
);

/// Seconds past the deletion time within which the kubelet lets go of a pod whose containers have ended, in a snapshot.
const RELEASED_WITHIN: i64 = 30;
/// The finalizer of the pods of Jobs, with which their controller counts them.
const JOB_TRACKING: &str = "batch.kubernetes.io/job-tracking";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stuck {
    Node,
    Finalizer,
    Kill,
}

impl Stuck {
    const fn cause(self) -> &'static str {
        match self {
            Self::Node => "TerminatingNodeUnreachable",
            Self::Finalizer => "TerminatingFinalizer",
            Self::Kill => "TerminatingKillFailing",
        }
    }
}

/// Reasons of Events that tell that the kubelet cannot end a pod.
const UNKILLED: [&str; 2] = ["FailedKillPod", "ExceededGracePeriod"];

fn stuck(case: &Case<'_>, wanted: Stuck) -> Verdict {
    let pod = case.pod;
    let Some(deletion) = pod.deletion else { return Verdict::No };
    let mut reported = pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral && c.reported);
    let all_ended = reported.all(|c| matches!(c.state, State::Terminated(_)));
    let node_ready = case.node.map(|node| node.facts.is_ready());
    let node_gone = pod.node_name.is_some() && case.node.is_none() && !case.nodes.is_empty();
    // The node itself may not be known, and yet the pod says that its kubelet is silent.
    let is_lost = node_ready.is_none() && (pod.reason == "NodeLost" || pod.phase == Phase::Unknown);
    let what = if !pod.finalizers.is_empty() && (all_ended || pod.node_name.is_none() || pod.is_over()) {
        Stuck::Finalizer
    } else if node_ready == Some(false) || node_gone || is_lost {
        Stuck::Node
    } else {
        Stuck::Kill
    };
    if what != wanted {
        return Verdict::No;
    }
    // In a snapshot nothing may be newer than the deletion, and a node that is down, or the kubelet's own word, tells that the
    // pod is not just on its way. And where its node had been silent for minutes, that was the reason to delete it.
    let is_held = what == Stuck::Node || case.events.iter().any(|e| UNKILLED.contains(&&*e.reason));
    let late = match what {
        _ if case.thresholds.patient => OVERDUE,
        _ if is_held => 0,
        // Nobody but whoever set the finalizer has anything to do; the Job controller takes its own away soon.
        Stuck::Finalizer if pod.finalizers.iter().any(|name| name != JOB_TRACKING) => {
            if pod.released {
                0
            } else {
                RELEASED_WITHIN
            }
        }
        _ => OVERDUE,
    };
    let due = after(deletion, case.thresholds.of(wanted.cause(), late));
    let is_known_lost = pod.reason == "NodeLost" && case.thresholds.chosen(wanted.cause()).is_none();
    if case.now < due && !is_known_lost {
        return Verdict::NotBefore(due);
    }
    let late = match case.age(deletion) {
        late if late > 0 => phrase!(case, "should be gone by now"),
        _ => phrase!(case, "is to go"),
    };
    let node = pod.node_name.as_deref().unwrap_or(phrase!(case, "no node"));
    let finding = match wanted {
        Stuck::Finalizer => {
            let names = pod.finalizers.join(", ");
            Finding::of_pod(say!(case, "{late}, but finalizer {names} still holds it", late, names))
                .with(evidence::field("metadata.finalizers", names))
        }
        Stuck::Node if node_gone => {
            Finding::of_pod(say!(case, "{late}, but its node {node} no longer exists", late, node))
                .with(evidence::field("spec.nodeName", node))
        }
        Stuck::Node => {
            let ready = case.node.and_then(|n| n.facts.condition("Ready"));
            Finding::of_pod(say!(case, "{late}, but its node {node} does not answer", late, node))
                .with_all(ready.map(|c| evidence::node_condition(node, c)))
                .with_all((pod.reason == "NodeLost").then(|| evidence::field("status.reason", &pod.reason)))
        }
        Stuck::Kill => {
            let told = |e: &&EventFacts| UNKILLED.contains(&&*e.reason) || &*e.reason == "FailedPreStopHook";
            let said = case.events.iter().rev().find(told);
            let why = match (said, held_by_hook(case)) {
                (Some(event), _) => format!(": {}", text::line(&event.message, 100)),
                (None, Some(held)) => {
                    say!(
                        case,
                        ": most likely the postStart hook of {container} does not end, and it waits for that first",
                        container = held.name
                    )
                }
                (None, None) => String::new(),
            };
            let mut finding =
                Finding::of_pod(say!(case, "{late}, but {node} does not finish its end{why}", late, node, why))
                    .with_all(said.map(evidence::event));
            if said.is_none() {
                finding =
                    finding.confidence(if node_ready.is_some() { Confidence::Likely } else { Confidence::Possible });
            }
            finding
        }
    };
    let is_told = case.node.is_some_and(|node| node::is_down(node, case.thresholds, case.now));
    // The node's own Event tells it.
    let finding = if what == Stuck::Node && is_told { finding.quiet() } else { finding };
    let finding = finding
        .with(evidence::field("metadata.deletionTimestamp", deletion.to_string()))
        .with_all(end::disruption(case).map(evidence::condition));
    Verdict::Yes(Box::new(finding))
}

/// The container whose postStart hook holds up the kubelet, which then does not get to stop the pod either.
fn held_by_hook<'a>(case: &Case<'a>) -> Option<&'a Container> {
    case.pod.containers.iter().find(|c| c.kind != ContainerType::Ephemeral && is_held_by_hook(case, c))
}

fn force_delete(case: &Case<'_>, text: &str) -> Remedy {
    remedy::command(
        remedy::mitigate(text),
        format!("kubectl -n {} delete pod {} --grace-period=0 --force", case.pod.key.namespace, case.pod.key.name),
    )
}

fn node_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if let Some(node) = &case.pod.node_name {
        remedies.push(remedy::command(
            remedy::fix(say!(case, "Bring {node} back: machine, kubelet, network.", node)),
            format!("kubectl describe node {node}"),
        ));
        remedies.push(remedy::command(
            remedy::fix(phrase!(
                case,
                "If the machine is certainly off, say so: its pods and volumes are then released."
            )),
            format!("kubectl taint node {node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"),
        ));
    }
    remedies.push(force_delete(
        case,
        phrase!(case, "Only if its containers certainly no longer run: delete the record with force."),
    ));
    remedies
}

/// Who removes a finalizer; of Kubernetes' own it is known.
fn owner_of(language: Language, finalizer: &str) -> String {
    match finalizer {
        "batch.kubernetes.io/job-tracking" => {
            phrase!(language, "the Job controller (kube-controller-manager)").to_owned()
        }
        "foregroundDeletion" | "orphan" => {
            phrase!(language, "the garbage collector (kube-controller-manager)").to_owned()
        }
        other => say!(language, "the controller of {other}", other),
    }
}

fn finalizer_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "Find {owners}: it must finish and remove the finalizer.",
            owners =
                case.pod.finalizers.iter().map(|name| owner_of(case.language(), name)).collect::<Vec<_>>().join(", ")
        )),
        remedy::command(
            remedy::mitigate(phrase!(case, "Only if that work is done or not wanted: remove the finalizers by hand.")),
            format!(
                "kubectl -n {} patch pod {} --type=merge -p '{{\"metadata\":{{\"finalizers\":null}}}}'",
                case.pod.key.namespace, case.pod.key.name
            ),
        ),
    ]
}

fn kill_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let (key, node) = (&case.pod.key, case.its_node());
    let hook = held_by_hook(case).map(|held| {
        remedy::command(
            remedy::fix(say!(
                case,
                "See which process is the postStart hook of {container}, and end it with kill in {container}.",
                container = held.name
            )),
            format!("kubectl -n {} exec {} -c {} -- ps", key.namespace, key.name, held.name),
        )
    });
    let others = [
        remedy::fix(say!(
            case,
            "On {node}: look for a hanging mount or runtime, and restart the runtime if it hangs.",
            node
        )),
        force_delete(
            case,
            phrase!(case, "To go on without waiting, delete the record with force; its processes may still run."),
        ),
    ];
    hook.into_iter().chain(others).collect()
}
