//! In-place changes of a running pod's resources that its node does not make. The pod runs on as it was.

use crate::api::{Remedy, Severity};
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::rules::signature;
use crate::diagnosis::{Case, Explain, Finding, Rule, Specificity, Verdict, evidence, remedy, target, text};
use crate::facts::{Condition, after};

const SOURCE: &str = "kubernetes pkg/kubelet/allocation/allocation_manager.go; pkg/kubelet/kuberuntime";

pub(super) const INFEASIBLE: Rule = super::rule(
    "ResizeInfeasible",
    Specificity::Symptom,
    infeasible,
    infeasible_remedies,
    Explain {
        meaning: "Somebody changed the resources of a running pod to what its node can never give. It runs on with what it had.",
        told_apart: "The pod's condition PodResizePending is True with the reason Infeasible. With Deferred the node could give \
                     it, but others take it now. A pod that has no node yet is a matter of scheduling.",
        action: "Ask for no more than one node has, or let the pod be made anew on a larger node.",
        source: SOURCE,
    },
);

pub(super) const ERROR: Rule = super::rule(
    "ResizeError",
    Specificity::Symptom,
    error,
    error_remedies,
    Explain {
        meaning: "The node has room for the new resources of a running pod, but the kubelet cannot set them.",
        told_apart: "The pod's condition PodResizeInProgress is True with the reason Error; the message says what failed, most \
                     often a memory limit below what the container uses. Without that reason the resize is only under way.",
        action: "Set a memory limit above what the container uses, or restart it with the new limit.",
        source: SOURCE,
    },
);

pub(super) const DEFERRED: Rule = super::rule(
    "ResizeDeferred",
    Specificity::Symptom,
    deferred,
    deferred_remedies,
    Explain {
        meaning: "The new resources of a running pod wait until other pods of its node leave room. It runs on with what it had.",
        told_apart: "The pod's condition PodResizePending is True with the reason Deferred. With Infeasible the node could never \
                     give it.",
        action: "None, if it may wait: the kubelet tries again by itself. Else make room on the node, or let the pod be made \
                 anew on another.",
        source: SOURCE,
    },
);

/// The condition of this type and reason, once it has lasted as long as a pod may look for a node: the autoscaler of pods
/// asks for more than there is and takes it back.
fn lasting<'a>(case: &Case<'a>, cause: &str, kind: &str, reason: &str) -> Result<&'a Condition, Verdict> {
    let pod = case.pod;
    if pod.deletion.is_some() || pod.is_over() {
        return Err(Verdict::No);
    }
    let condition = pod.condition(kind).filter(|c| c.status == "True" && c.reason == reason).ok_or(Verdict::No)?;
    let due =
        after(case.held_since(condition.last_transition), case.thresholds.of(cause, case.thresholds.unschedulable));
    if case.now < due { Err(Verdict::NotBefore(due)) } else { Ok(condition) }
}

fn node<'a>(case: &Case<'a>) -> &'a str {
    case.its_node()
}

/// What of the condition's message is worth a line.
fn why(language: Language, condition: &Condition) -> String {
    shortage(language, &condition.message).unwrap_or_else(|| text::line(&condition.message, 110))
}

fn infeasible(case: &Case<'_>) -> Verdict {
    let condition = match lasting(case, INFEASIBLE.cause, "PodResizePending", "Infeasible") {
        Ok(condition) => condition,
        Err(verdict) => return verdict,
    };
    let summary = say!(
        case,
        "cannot be resized on {node}: {why}; it runs on with what it had",
        node = node(case),
        why = why(case.language(), condition)
    );
    let finding = Finding::of_pod(summary).severity(Severity::Warning).with(evidence::condition(condition));
    Verdict::Yes(Box::new(finding))
}

fn deferred(case: &Case<'_>) -> Verdict {
    let condition = match lasting(case, DEFERRED.cause, "PodResizePending", "Deferred") {
        Ok(condition) => condition,
        Err(verdict) => return verdict,
    };
    let summary = say!(
        case,
        "its resize waits for room on {node}: {why}; it runs on with what it had",
        node = node(case),
        why = why(case.language(), condition)
    );
    Verdict::Yes(Box::new(Finding::of_pod(summary).noted().with(evidence::condition(condition))))
}

fn error(case: &Case<'_>) -> Verdict {
    let condition = match lasting(case, ERROR.cause, "PodResizeInProgress", "Error") {
        Ok(condition) => condition,
        Err(verdict) => return verdict,
    };
    let named = signature::quoted_after(&condition.message, "container ").and_then(|name| case.pod.container(name));
    let (who, why) = (named.map_or("it", |c| &c.name), text::line(&condition.message, 120));
    let summary =
        say!(case, "its resize fails on {node} ({why}); {who} runs on with what it had", node = node(case), why, who);
    let finding = named.map_or_else(|| Finding::of_pod(&*summary), |c| Finding::of_container(c, &*summary));
    Verdict::Yes(Box::new(finding.severity(Severity::Warning).with(evidence::condition(condition))))
}

/// The only way to change it that is open to a pod that runs.
fn resize_again(case: &Case<'_>, text: String) -> Remedy {
    let key = &case.pod.key;
    remedy::command(
        remedy::fix(text),
        format!("kubectl -n {} edit pod {} --subresource=resize", key.namespace, key.name),
    )
}

/// A resize changes the pod alone: the next one comes from the template.
fn make_anew(case: &Case<'_>, why: &str) -> Remedy {
    let target = target::of(case);
    remedy::fix(say!(
        case,
        "Or set the new resources in {target} and let the pod be made anew{why}.",
        target = target.display(),
        why
    ))
}

fn infeasible_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        resize_again(case, say!(case, "Ask for no more than {node} can give at all.", node = node(case))),
        make_anew(case, phrase!(case, ": the scheduler then looks for a node that is large enough")),
    ]
}

fn deferred_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let name = node(case);
    vec![
        remedy::command(
            remedy::mitigate(say!(
                case,
                "Nothing, if it may wait. See what takes {node}; the kubelet tries again by itself.",
                node = name
            )),
            format!("kubectl describe node {name}"),
        ),
        make_anew(case, phrase!(case, ": the scheduler then looks for a node with room")),
    ]
}

fn error_remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let said = finding.evidence.first().map_or("", |e| &e.value);
    if text::has(said, &["cannot decrease memory limits"]) {
        remedies.push(resize_again(
            case,
            phrase!(case, "Set a memory limit above what the container uses now.").to_owned(),
        ));
        remedies.push(make_anew(case, phrase!(case, ", which frees its memory")));
    } else {
        remedies.push(resize_again(case, phrase!(case, "Take the change back, or ask for other amounts.").to_owned()));
        remedies.push(make_anew(case, ""));
    }
    remedies
}
/// `Node didn't have enough resource: cpu, requested: 4000, used: 100, capacity: 2000` in the units that people use, and
/// the same without `used` of what is more than the whole node.
pub(super) fn shortage(language: Language, message: &str) -> Option<String> {
    let rest = message.split_once("Node didn't have enough ")?.1;
    let mut parts = rest.split(", ").filter_map(|part| part.rsplit_once(": "));
    let (_, what) = parts.next()?;
    let amounts: Vec<i64> = parts.filter_map(|(_, n)| n.trim_end_matches('.').parse().ok()).collect();
    let show = |amount: i64| match what {
        "cpu" => crate::facts::format_cpu(amount),
        "memory" | "ephemeral-storage" => crate::facts::format_bytes(amount),
        _ => amount.to_string(),
    };
    let (requested, room) = match *amounts.as_slice() {
        [requested, used, capacity] => (
            requested,
            say!(
                language,
                "{used} of {capacity} is free there",
                used = show(capacity.saturating_sub(used)),
                capacity = show(capacity)
            ),
        ),
        [requested, capacity] => {
            (requested, say!(language, "the whole node has {capacity}", capacity = show(capacity)))
        }
        _ => return None,
    };
    Some(say!(
        language,
        "not enough {what}: it asks for {requested}, and {room}",
        what,
        requested = show(requested),
        room
    ))
}
