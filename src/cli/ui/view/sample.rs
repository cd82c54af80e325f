//! Sample data for tests of the pages.

use shindan_core::api::{Restarts, Run};
use shindan_core::case::Thresholds;
use shindan_core::facts::{ObjectKey, Timestamp, after};
use shindan_core::offline::{self, Logs};
use shindan_core::wire::Dump;

use crate::cli::found::Found;

/// A name that is invalid in an API server but possible in a dump.
pub(in crate::cli::ui) const HOSTILE: &str = "<script>x</script>\"'>&<img onerror=x><u>";

/// The diagnoses of a dump, as of its newest time.
pub(in crate::cli::ui) fn found(yaml: &str) -> Found {
    let mut dump = Dump::default();
    dump.read(yaml);
    let now = dump.newest.unwrap_or(Timestamp::UNIX_EPOCH);
    let report = offline::diagnose(dump, Logs::default(), now, Thresholds::default().for_snapshot());
    Found::of_writes(report.pods, report.nodes_and_workloads)
}

/// A bare pod with a tag that does not exist in the registry.
pub(in crate::cli::ui) fn image(name: &str, namespace: &str) -> String {
    pod(name, namespace, "not found")
}

/// A bare pod whose container exits with an error that it logs.
pub(in crate::cli::ui) fn crash(name: &str, namespace: &str) -> String {
    format!(
        r#"---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}, uid: u, creationTimestamp: "2026-11-21T08:00:00Z"}}
spec: {{nodeName: n1, containers: [{{name: app, image: "app:1"}}]}}
status:
  phase: Running
  containerStatuses:
  - name: app
    restartCount: 4
    state: {{waiting: {{reason: CrashLoopBackOff, message: "back-off 1m20s restarting failed container"}}}}
    lastState: {{terminated: {{exitCode: 1, reason: Error, message: "FATAL: no such tenant",
      startedAt: "2026-11-21T09:00:00Z", finishedAt: "2026-11-21T09:00:05Z"}}}}
"#
    )
}

/// Diagnoses with HTML markup and terminal escapes in all texts that a pod controls.
pub(in crate::cli::ui) fn hostile() -> Found {
    let mut found = found(&pod(HOSTILE, HOSTILE, "not found <script>y</script> <u>\u{202e}\u{1b}[2J"));
    // Input from files and API servers is cleaned, but the pages must not depend on that.
    let text = || format!("{HOSTILE}\u{202e}\u{1b}[2J");
    for pod in &mut found.pods {
        pod.key = ObjectKey { namespace: HOSTILE.into(), name: HOSTILE.into() };
        let status = &mut pod.status;
        (status.head.cause, status.head.summary, status.pod_status) = (text(), text(), text());
        status.container = Some(text());
        status.head.remedies.iter_mut().for_each(|remedy| {
            (remedy.text, remedy.command, remedy.patch) = (text(), Some(text()), Some(text()));
        });
        status.head.evidence.iter_mut().for_each(|of| (of.source, of.value) = (text(), text()));
        status.restarts =
            Some(Restarts { count: 1, history: vec![run(&text(), 1, 0, 9, 1, &text(), None)], ..Restarts::default() });
    }
    found
}

fn pod(name: &str, namespace: &str, error: &str) -> String {
    let error = format!(
        "Back-off pulling image \"nginx:nope\": ErrImagePull: failed to resolve reference \"docker.io/library/nginx:nope\": docker.io/library/nginx:nope: {error}"
    );
    let (name, namespace, error) = (quoted(name), quoted(namespace), quoted(&error));
    format!(
        r#"---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}, uid: u, creationTimestamp: "2026-11-21T09:00:00Z"}}
spec: {{nodeName: n1, containers: [{{name: {name}, image: {name}}}]}}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  conditions: [{{type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-11-21T09:00:00Z"}}]
  containerStatuses:
  - name: {name}
    image: {name}
    restartCount: 0
    state: {{waiting: {{reason: ImagePullBackOff, message: {error}}}}}
"#
    )
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// A run of a container: number, start and end in seconds after the epoch.
pub(super) fn run(
    container: &str,
    number: u32,
    from: i64,
    to: i64,
    exit_code: i32,
    reason: &str,
    cause: Option<&str>,
) -> Run {
    let at = |seconds| Some(after(Timestamp::UNIX_EPOCH, seconds));
    Run {
        container: container.to_owned(),
        number: Some(number),
        started_at: at(from),
        finished_at: at(to),
        exit_code,
        reason: reason.to_owned(),
        cause: cause.map(ToOwned::to_owned),
        ..Run::default()
    }
}
