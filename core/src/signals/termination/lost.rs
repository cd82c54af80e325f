//! Terminations that neither the runtime nor the kubelet observed, mostly because the node went down.

use crate::case::Case;
use crate::facts::{Container, NodeState, Reboot, RestartPolicy, Terminated, Timestamp, after, seconds_between};

/// Seconds within which the kubelet reports a reboot after the runtime, which starts first, found its containers gone.
/// In the other order, clocks differ or the runtime started slowly.
const KUBELET_FOLLOWS: i64 = 300;
const RUNTIME_FOLLOWS: i64 = 60;

/// The reboot of the pod's node that caused this termination.
pub(super) fn reboot<'a>(case: &Case<'a>, run: &Terminated) -> Option<(&'a NodeState, &'a Reboot)> {
    let ended = run.finished_at.or_else(|| marked_not_ready(case))?;
    let node = case.node?;
    let with_it = |at: Timestamp| (after(ended, -RUNTIME_FOLLOWS)..=after(ended, KUBELET_FOLLOWS)).contains(&at);
    let reboot = node.reboots.iter().rev().find(|reboot| with_it(reboot.at))?;
    Some((node, reboot))
}

/// When the pod was marked not Ready. The kubelet's placeholder has no times; the mark is set together with it, or when
/// the node stopped reporting.
fn marked_not_ready(case: &Case<'_>) -> Option<Timestamp> {
    let ready = case.pod.condition("Ready").filter(|c| c.status != "True")?;
    let started = case.pod.start_time;
    // A pod that was never Ready has had this mark since its start.
    ready.last_transition.filter(|at| started.is_some_and(|started| seconds_between(started, *at) > RUNTIME_FOLLOWS))
}

/// Whether the container of this lost run does not run again.
pub(super) fn does_not_come_back(container: &Container, run: &Terminated) -> bool {
    !container.is_running() && (run.reason != "Unknown" || matches!(run.exit_code, 255 | -1))
}

/// Checks whether it is certain that the container is not restarted. After a reboot, all containers of a node look lost
/// for a moment.
pub(super) fn due(case: &Case<'_>, container: &Container, run: &Terminated) -> Result<(), Timestamp> {
    if !is_restarted(case, container) {
        return Ok(());
    }
    let due = after(case.held_since(run.finished_at), case.thresholds.creating);
    // A snapshot does not show a later restart, but a back-off shows that the container terminated earlier.
    let is_put_off = container.waiting().is_some_and(|(reason, _)| reason == "CrashLoopBackOff");
    if case.now < due && (case.thresholds.patient || !is_put_off) { Err(due) } else { Ok(()) }
}

pub(super) fn is_restarted(case: &Case<'_>, container: &Container) -> bool {
    container.effective_restart_policy(case.pod.restart_policy) != RestartPolicy::Never && !case.pod.is_over()
}
