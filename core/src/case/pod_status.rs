//! The STATUS column of `kubectl get pods`.

use crate::api::ContainerType;
use crate::facts::{Container, Phase, PodFacts, State, Terminated};

/// Computes the status exactly as the printer of the API server does (`printPod` in
/// pkg/printers/internalversion/printers.go), so that users find the same word in both places.
pub fn pod_status(pod: &PodFacts) -> String {
    let phase = match pod.phase {
        Phase::Pending => "Pending",
        Phase::Running => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed => "Failed",
        Phase::Unknown => "Unknown",
    };
    let mut reason = if pod.reason.is_empty() { phase } else { &pod.reason }.to_owned();
    if pod.condition("PodScheduled").is_some_and(|c| c.reason == "SchedulingGated") {
        "SchedulingGated".clone_into(&mut reason);
    }

    let initializing = initializing(pod);
    let is_initializing = initializing.is_some();
    reason = initializing.unwrap_or(reason);
    if !is_initializing || pod.condition_is_true("Initialized") {
        reason = app_reason(pod, reason);
    }

    if pod.deletion.is_some() {
        if pod.reason == "NodeLost" {
            "Unknown".clone_into(&mut reason);
        } else if !pod.is_over() {
            "Terminating".clone_into(&mut reason);
        }
    }
    reason
}

/// Status of the first init container that is not finished. `None` if all are.
fn initializing(pod: &PodFacts) -> Option<String> {
    let is_init = |c: &&Container| matches!(c.kind, ContainerType::Init | ContainerType::Sidecar);
    let total = pod.containers.iter().filter(is_init).count();
    for (index, c) in pod.containers.iter().filter(is_init).filter(|c| c.reported).enumerate() {
        let text = match &c.state {
            State::Terminated(t) if t.exit_code == 0 => continue,
            _ if c.kind == ContainerType::Sidecar && c.started == Some(true) => continue,
            State::Terminated(t) => termination_reason(t),
            State::Waiting { reason, .. } if !reason.is_empty() && reason != "PodInitializing" => reason.clone(),
            _ => format!("{index}/{total}"),
        };
        return Some(format!("Init:{text}"));
    }
    None
}

/// Status of the app containers, or `reason` if none has one.
fn app_reason(pod: &PodFacts, mut reason: String) -> String {
    // The kubelet reports containers by name and kubectl iterates from the end, so the first name wins.
    let mut containers: Vec<_> = pod.of_type(ContainerType::App).filter(|c| c.reported).collect();
    containers.sort_by(|a, b| b.name.cmp(&a.name));
    let mut running = false;
    let mut error = None;
    for c in containers {
        match &c.state {
            State::Waiting { reason: waiting, .. } if !waiting.is_empty() => reason.clone_from(waiting),
            State::Waiting { .. } => {}
            State::Terminated(t) => {
                reason = termination_reason(t);
                if t.exit_code != 0 {
                    error = Some(reason.clone());
                }
            }
            State::Running { .. } => running |= c.ready,
        }
    }
    // A completed container does not hide containers that still run or have failed.
    if reason == "Completed" {
        if running && pod.is_ready() {
            "Running".clone_into(&mut reason);
        } else if let Some(error) = error {
            reason = error;
        } else if running {
            "NotReady".clone_into(&mut reason);
        }
    }
    reason
}

fn termination_reason(t: &Terminated) -> String {
    if !t.reason.is_empty() {
        t.reason.clone()
    } else if let Some(signal) = t.signal {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", t.exit_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scenario;

    /// `spec` and `status` in flow YAML; `meta` goes into the metadata.
    fn status_of(meta: &str, spec: &str, status: &str) -> String {
        let text = format!("kind: Pod\nmetadata: {{name: p, {meta}}}\nspec: {{{spec}}}\nstatus: {{{status}}}\n");
        pod_status(&Scenario::from_yaml(&text).pods[0])
    }

    const ONE: &str = "containers: [{name: a}]";
    const TWO: &str = "containers: [{name: b}, {name: a}]";
    const INIT: &str =
        "initContainers: [{name: i}, {name: s, restartPolicy: Always}, {name: j}], containers: [{name: a}]";

    #[test]
    fn phase_and_reason_are_used_without_container_states() {
        assert_eq!(status_of("", ONE, "phase: Pending"), "Pending");
        assert_eq!(status_of("", ONE, "phase: Succeeded"), "Succeeded");
        assert_eq!(status_of("", ONE, "phase: Failed, reason: Evicted"), "Evicted");
        assert_eq!(
            status_of(
                "",
                ONE,
                "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]"
            ),
            "SchedulingGated"
        );
        assert_eq!(
            status_of(
                "",
                ONE,
                "phase: Failed, reason: Evicted, containerStatuses: [{name: a, state: {terminated: {exitCode: 137, reason: Error}}}]"
            ),
            "Error"
        );
    }

    #[test]
    fn unfinished_init_container_determines_the_status() {
        let init =
            |statuses: &str| status_of("", INIT, &format!("phase: Pending, initContainerStatuses: [{statuses}]"));
        assert_eq!(init("{name: i, state: {running: {}}}"), "Init:0/3");
        assert_eq!(init("{name: i, state: {waiting: {reason: PodInitializing}}}"), "Init:0/3");
        assert_eq!(init("{name: i, state: {waiting: {reason: CrashLoopBackOff}}}"), "Init:CrashLoopBackOff");
        assert_eq!(init("{name: i, state: {terminated: {exitCode: 1, reason: Error}}}"), "Init:Error");
        assert_eq!(init("{name: i, state: {terminated: {exitCode: 3}}}"), "Init:ExitCode:3");
        assert_eq!(init("{name: i, state: {terminated: {exitCode: 137, signal: 9}}}"), "Init:Signal:9");
        let done = "{name: i, state: {terminated: {exitCode: 0}}}";
        assert_eq!(init(&format!("{done}, {{name: s, started: false, state: {{running: {{}}}}}}")), "Init:1/3");
        let sidecar = format!("{done}, {{name: s, started: true, state: {{running: {{}}}}}}");
        assert_eq!(init(&format!("{sidecar}, {{name: j, state: {{running: {{}}}}}}")), "Init:2/3");
        assert_eq!(init(&format!("{sidecar}, {{name: j, state: {{terminated: {{exitCode: 0}}}}}}")), "Pending");
    }

    #[test]
    fn failing_sidecar_does_not_hide_the_app_after_initialization() {
        let statuses = "phase: Running, initContainerStatuses: [{name: s, started: false, state: {waiting: {reason: CrashLoopBackOff}}}],
            containerStatuses: [{name: a, ready: true, state: {running: {}}}]";
        let spec = "initContainers: [{name: s, restartPolicy: Always}], containers: [{name: a}]";
        assert_eq!(status_of("", spec, statuses), "Init:CrashLoopBackOff");
        let crashing = "phase: Running, conditions: [{type: Initialized, status: 'True'}],
            initContainerStatuses: [{name: s, started: false, state: {waiting: {reason: CrashLoopBackOff}}}],
            containerStatuses: [{name: a, state: {terminated: {exitCode: 1, reason: Error}}}]";
        assert_eq!(status_of("", spec, crashing), "Error");
    }

    #[test]
    fn first_container_by_name_wins() {
        let both = "phase: Running, containerStatuses: [{name: a, state: {waiting: {reason: ErrImagePull}}}, {name: b, state: {waiting: {reason: CrashLoopBackOff}}}]";
        assert_eq!(status_of("", TWO, both), "ErrImagePull");
        let one = "phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}}}, {name: b, state: {terminated: {exitCode: 2}}}]";
        assert_eq!(status_of("", TWO, one), "ExitCode:2");
        let unready =
            "phase: Running, containerStatuses: [{name: a, state: {running: {}}}, {name: b, state: {waiting: {}}}]";
        assert_eq!(status_of("", TWO, unready), "Running");
    }

    #[test]
    fn completed_requires_that_all_containers_are_done() {
        let with = |b: &str, ready: &str| {
            let status = format!(
                "phase: Running, conditions: [{{type: Ready, status: '{ready}'}}], containerStatuses: [{{name: a, state: {{terminated: {{exitCode: 0, reason: Completed}}}}}}, {{name: b, {b}}}]"
            );
            status_of("", TWO, &status)
        };
        assert_eq!(with("ready: true, state: {running: {}}", "True"), "Running");
        assert_eq!(with("ready: true, state: {running: {}}", "False"), "NotReady");
        assert_eq!(with("state: {terminated: {exitCode: 1, reason: Error}}", "False"), "Error");
        assert_eq!(with("state: {terminated: {exitCode: 0, reason: Completed}}", "False"), "Completed");
    }

    #[test]
    fn deleted_pod_is_terminating_unless_it_has_finished() {
        let deleted = "deletionTimestamp: '2026-11-21T09:00:00Z'";
        assert_eq!(status_of(deleted, ONE, "phase: Running"), "Terminating");
        assert_eq!(status_of(deleted, ONE, "phase: Running, reason: NodeLost"), "Unknown");
        assert_eq!(status_of(deleted, ONE, "phase: Failed"), "Failed");
    }

    #[test]
    fn ephemeral_containers_are_ignored() {
        let status = "phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}}}], ephemeralContainerStatuses: [{name: d, state: {terminated: {exitCode: 1, reason: Error}}}]";
        assert_eq!(status_of("", "containers: [{name: a}], ephemeralContainers: [{name: d}]", status), "Running");
    }
}
