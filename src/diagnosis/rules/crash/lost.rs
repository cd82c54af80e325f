//! Ends that nobody saw, most of them because the node went down with the container.

use crate::api::{Confidence, Remedy};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::end::{self, who};
use crate::diagnosis::signals::termination::{end_evidence, log_line};
use crate::diagnosis::{
    Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, remedy, roots,
};
use crate::facts::{Container, NodeState, Reboot, RestartPolicy, Terminated, Timestamp, after, seconds_between};

/// The runtime starts before the kubelet and finds its containers gone; the kubelet tells of the reboot within so many
/// seconds. The other way round it is clocks, or a runtime that was slow to start.
const KUBELET_FOLLOWS: i64 = 300;
const RUNTIME_FOLLOWS: i64 = 60;

pub(super) const REBOOTED: Rule = Rule {
    cause: "NodeRebooted",
    category: Category::Crash,
    recovery: Recovery::Restarting,
    specificity: Specificity::Specific,
    scope: Scope::Container(lost_with_node),
    remedies: rebooted_remedies,
    explain: Explain {
        meaning: "The node was rebooted while the container ran, and the container has not come back since.",
        told_apart: "The container's end is one that nobody saw (reason Unknown with 255, or ContainerStatusUnknown), and the \
                     kubelet's Event Rebooted on the Node comes within minutes of it. Without that Event it is \
                     RuntimeLostExit or ContainerStatusUnknown. Where the container runs again, it is no failure.",
        action: "Find out why the node was rebooted, and why the container does not come back: a pod that is not restarted \
                 has to be made anew.",
        source: "kubernetes pkg/kubelet/nodestatus/setters.go: Event `Node n1 has been rebooted, boot id: ...`",
    },
};

/// Ends that the runtime or the kubelet did not see, and no reboot of the node explains.
pub(super) fn lost(case: &Case<'_>, container: &Container, reason: &str) -> Verdict {
    let run = match lost_run(case, container) {
        Ok(Some(run)) if run.reason == reason && reboot(case, run).is_none() => run,
        Ok(_) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let (who, likely) = (who(container), phrase!(case, "most likely when its node or runtime restarted"));
    let summary = if is_restarted(case, container) {
        say!(case, "the runtime lost {who}, {likely}, and it has not come back since", who, likely)
    } else {
        say!(case, "the runtime lost {who}, {likely}; how it ended is not known", who, likely)
    };
    end::judged(case, finding(case, container, run, summary))
}

fn lost_with_node(case: &Case<'_>, container: &Container) -> Verdict {
    let run = match lost_run(case, container) {
        Ok(Some(run)) => run,
        Ok(None) => return Verdict::No,
        Err(not_yet) => return not_yet,
    };
    let Some((node, reboot)) = reboot(case, run) else { return Verdict::No };
    let (who, name) = (who(container), &node.facts.name);
    let since = if is_restarted(case, container) {
        phrase!(case, "has not come back since")
    } else {
        phrase!(case, "is not started again")
    };
    let summary = say!(
        case,
        "node {name} was rebooted while {who} ran, and {container} {since}",
        name,
        who,
        container = container.name,
        since
    );
    let finding = finding(case, container, run, summary);
    let confidence = if run.finished_at.is_some() { Confidence::Certain } else { Confidence::Likely };
    let told = evidence::field_at(format!("node/{name}/event/Rebooted"), &reboot.message, Some(reboot.at));
    end::judged(case, finding.confidence(confidence).with(told))
}

/// The reboot of the pod's node that this end comes with.
fn reboot<'a>(case: &Case<'a>, run: &Terminated) -> Option<(&'a NodeState, &'a Reboot)> {
    let ended = run.finished_at.or_else(|| marked_not_ready(case))?;
    let node = case.node?;
    let with_it = |told: Timestamp| (after(ended, -RUNTIME_FOLLOWS)..=after(ended, KUBELET_FOLLOWS)).contains(&told);
    let reboot = node.reboots.iter().rev().find(|reboot| with_it(reboot.at))?;
    Some((node, reboot))
}

/// The kubelet's placeholder has no times; the pod is marked when it is written, or when the node fell silent.
fn marked_not_ready(case: &Case<'_>) -> Option<Timestamp> {
    let ready = case.pod.condition("Ready").filter(|c| c.status != "True")?;
    let started = case.pod.start_time;
    // A pod that never was Ready has been so marked since it began.
    ready.last_transition.filter(|at| started.is_some_and(|started| seconds_between(started, *at) > RUNTIME_FOLLOWS))
}

/// The run of a container that nobody saw end, once it is plain that the container does not come back.
fn lost_run<'c>(case: &Case<'_>, container: &'c Container) -> Result<Option<&'c Terminated>, Verdict> {
    let Some(run) = end::counted(case, container).filter(|run| end::is_lost(run)) else { return Ok(None) };
    if container.is_running() || (run.reason == "Unknown" && !matches!(run.exit_code, 255 | -1)) {
        return Ok(None);
    }
    // After a reboot all containers of a node look like this for a moment.
    if is_restarted(case, container) {
        let due = after(case.held_since(run.finished_at), case.thresholds.creating);
        // In a snapshot nobody will see whether it comes back, and the kubelet puts off only what has ended before.
        let is_put_off = container.waiting().is_some_and(|(reason, _)| reason == "CrashLoopBackOff");
        if case.now < due && (case.thresholds.patient || !is_put_off) {
            return Err(Verdict::NotBefore(due));
        }
    }
    Ok(Some(run))
}

fn is_restarted(case: &Case<'_>, container: &Container) -> bool {
    container.effective_restart_policy(case.pod.restart_policy) != RestartPolicy::Never && !case.pod.is_over()
}

fn finding(case: &Case<'_>, container: &Container, run: &Terminated, summary: String) -> Finding {
    let mut finding = end_evidence(container, run, Finding::of_container(container, summary))
        .with_all(log_line::line_evidence(case, container, run));
    if run.reason == "ContainerStatusUnknown" {
        finding = finding.with(evidence::contradicting(evidence::field(
            format!("{}.exitCode", container.last_end_path()),
            format!("{} is the kubelet's placeholder: no signal, and nothing about memory", run.exit_code),
        )));
    }
    finding.rooted(roots::node(case))
}

pub(super) fn lost_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if let Some(node) = &case.pod.node_name {
        remedies.push(remedy::command(
            remedy::fix(phrase!(case, "See whether the node was rebooted or its runtime restarted.")),
            format!("kubectl describe node {node}"),
        ));
    }
    remedies.push(make_anew(case));
    remedies
}

fn rebooted_remedies(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let node = case.its_node();
    let mut remedies = Vec::new();
    // A Job makes another pod by itself.
    if !case.pod.is_of_job() {
        remedies.push(make_anew(case));
    }
    remedies.push(remedy::command(
        remedy::fix(say!(case, "See on {node} why it was rebooted: how the log of the boot before ends (a kernel crash, an update, a person; nothing, where it lost power).", node)),
        "journalctl -b -1 -e",
    ));
    remedies
}

fn make_anew(case: &Case<'_>) -> Remedy {
    remedy::command(
        remedy::fix(phrase!(case, "Delete the pod, so that a new one is made (a bare pod must be applied again).")),
        format!("kubectl -n {} delete pod {}", case.pod.key.namespace, case.pod.key.name),
    )
}
