//! The word that `kubectl get pods` prints under STATUS.

use crate::api::ContainerType;
use crate::facts::{Container, Phase, PodFacts, State, Terminated};

/// Exactly what kubectl shows, as the API server's printer works it out (`printPod` in
/// pkg/printers/internalversion/printers.go), so that a reader finds the same word in both places.
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

/// What the first init container that is not done says; `None` where all are.
fn initializing(pod: &PodFacts) -> Option<String> {
    let is_init = |c: &&Container| matches!(c.kind, ContainerType::Init | ContainerType::Sidecar);
    let total = pod.containers.iter().filter(is_init).count();
    for (index, c) in pod.containers.iter().filter(is_init).filter(|c| c.reported).enumerate() {
        let said = match &c.state {
            State::Terminated(t) if t.exit_code == 0 => continue,
            _ if c.kind == ContainerType::Sidecar && c.started == Some(true) => continue,
            State::Terminated(t) => end_word(t),
            State::Waiting { reason, .. } if !reason.is_empty() && reason != "PodInitializing" => reason.clone(),
            _ => format!("{index}/{total}"),
        };
        return Some(format!("Init:{said}"));
    }
    None
}

/// What the app containers say; `reason` where none says anything.
fn app_reason(pod: &PodFacts, mut reason: String) -> String {
    // The kubelet reports them by name, and kubectl reads them from the end: the first name has the last word.
    let mut containers: Vec<_> = pod.of_type(ContainerType::App).filter(|c| c.reported).collect();
    containers.sort_by(|a, b| b.name.cmp(&a.name));
    let mut running = false;
    let mut error = None;
    for c in containers {
        match &c.state {
            State::Waiting { reason: waiting, .. } if !waiting.is_empty() => reason.clone_from(waiting),
            State::Waiting { .. } => {}
            State::Terminated(t) => {
                reason = end_word(t);
                if t.exit_code != 0 {
                    error = Some(reason.clone());
                }
            }
            State::Running { .. } => running |= c.ready,
        }
    }
    // One container that is done does not speak for those that still run, or that failed.
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

fn end_word(t: &Terminated) -> String {
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
    use super::super::testing::Scenario;
    use super::*;

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
    fn phase_and_reason_speak_where_no_container_does() {
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
    fn an_init_container_that_is_not_done_speaks() {
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
    fn a_failing_sidecar_does_not_hide_the_app_once_initialized() {
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
    fn the_container_that_is_first_by_name_has_the_last_word() {
        let both = "phase: Running, containerStatuses: [{name: a, state: {waiting: {reason: ErrImagePull}}}, {name: b, state: {waiting: {reason: CrashLoopBackOff}}}]";
        assert_eq!(status_of("", TWO, both), "ErrImagePull");
        let one = "phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}}}, {name: b, state: {terminated: {exitCode: 2}}}]";
        assert_eq!(status_of("", TWO, one), "ExitCode:2");
        let unready =
            "phase: Running, containerStatuses: [{name: a, state: {running: {}}}, {name: b, state: {waiting: {}}}]";
        assert_eq!(status_of("", TWO, unready), "Running");
    }

    #[test]
    fn completed_speaks_only_for_a_pod_that_is_done() {
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
    fn a_pod_that_is_being_deleted_is_terminating_unless_it_is_over() {
        let deleted = "deletionTimestamp: '2026-11-21T09:00:00Z'";
        assert_eq!(status_of(deleted, ONE, "phase: Running"), "Terminating");
        assert_eq!(status_of(deleted, ONE, "phase: Running, reason: NodeLost"), "Unknown");
        assert_eq!(status_of(deleted, ONE, "phase: Failed"), "Failed");
    }

    #[test]
    fn an_ephemeral_container_is_not_looked_at() {
        let status = "phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}}}], ephemeralContainerStatuses: [{name: d, state: {terminated: {exitCode: 1, reason: Error}}}]";
        assert_eq!(status_of("", "containers: [{name: a}], ephemeralContainers: [{name: d}]", status), "Running");
    }
}
