//! Ends that neither the runtime nor the kubelet saw, most of them because the node went down with the container.

use crate::diagnosis::Case;
use crate::facts::{Container, NodeState, Reboot, RestartPolicy, Terminated, Timestamp, after, seconds_between};

/// The runtime starts before the kubelet and finds its containers gone; the kubelet reports the reboot within so many
/// seconds. In the other order, clocks differ or the runtime was slow to start.
const KUBELET_FOLLOWS: i64 = 300;
const RUNTIME_FOLLOWS: i64 = 60;

/// The reboot of the pod's node that this end comes with.
pub(super) fn reboot<'a>(case: &Case<'a>, run: &Terminated) -> Option<(&'a NodeState, &'a Reboot)> {
    let ended = run.finished_at.or_else(|| marked_not_ready(case))?;
    let node = case.node?;
    let with_it = |at: Timestamp| (after(ended, -RUNTIME_FOLLOWS)..=after(ended, KUBELET_FOLLOWS)).contains(&at);
    let reboot = node.reboots.iter().rev().find(|reboot| with_it(reboot.at))?;
    Some((node, reboot))
}

/// The kubelet's placeholder has no times; the pod is marked when it is written, or when the node became silent.
fn marked_not_ready(case: &Case<'_>) -> Option<Timestamp> {
    let ready = case.pod.condition("Ready").filter(|c| c.status != "True")?;
    let started = case.pod.start_time;
    // A pod that was never Ready has been so marked since it began.
    ready.last_transition.filter(|at| started.is_some_and(|started| seconds_between(started, *at) > RUNTIME_FOLLOWS))
}

/// Whether the container of this lost run does not run again.
pub(super) fn does_not_come_back(container: &Container, run: &Terminated) -> bool {
    !container.is_running() && (run.reason != "Unknown" || matches!(run.exit_code, 255 | -1))
}

/// When it is certain that the container does not come back: after a reboot, all containers of a node look lost for a moment.
pub(super) fn due(case: &Case<'_>, container: &Container, run: &Terminated) -> Result<(), Timestamp> {
    if !is_restarted(case, container) {
        return Ok(());
    }
    let due = after(case.held_since(run.finished_at), case.thresholds.creating);
    // A snapshot does not show whether it comes back, and the kubelet backs off only from what has ended before.
    let is_put_off = container.waiting().is_some_and(|(reason, _)| reason == "CrashLoopBackOff");
    if case.now < due && (case.thresholds.patient || !is_put_off) { Err(due) } else { Ok(()) }
}

pub(super) fn is_restarted(case: &Case<'_>, container: &Container) -> bool {
    container.effective_restart_policy(case.pod.restart_policy) != RestartPolicy::Never && !case.pod.is_over()
}
