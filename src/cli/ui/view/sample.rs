//! What tests of pages show.

use crate::api::{Restarts, Run};
use crate::cli::found::Found;
use crate::cli::offline::{self, Logs};
use crate::cluster::wire::Dump;
use crate::diagnosis::Thresholds;
use crate::facts::{ObjectKey, Timestamp, after};

/// A name that no API server takes, and a dump may have.
pub(in crate::cli::ui) const HOSTILE: &str = "<script>x</script>\"'>&<img onerror=x><u>";

/// What is wrong in a dump, as of its newest time.
pub(in crate::cli::ui) fn found(yaml: &str) -> Found {
    let mut dump = Dump::default();
    dump.read(yaml);
    let now = dump.newest.unwrap_or(Timestamp::UNIX_EPOCH);
    let report = offline::diagnose(dump, Logs::default(), now, Thresholds::default().for_snapshot());
    Found::of(report.objects, report.outers)
}

/// A bare pod whose image has no such tag.
pub(in crate::cli::ui) fn image(name: &str, namespace: &str) -> String {
    pod(name, namespace, "not found")
}

/// With markup and commands to a terminal wherever a pod may have words of its own.
pub(in crate::cli::ui) fn hostile() -> Found {
    let mut found = found(&pod(HOSTILE, HOSTILE, "not found <script>y</script> <u>\u{202e}\u{1b}[2J"));
    // Files and API servers are cleaned of such names when they are read; a page does not count on that.
    let text = || format!("{HOSTILE}\u{202e}\u{1b}[2J");
    for pod in &mut found.pods {
        pod.key = ObjectKey { namespace: HOSTILE.into(), name: HOSTILE.into() };
        let status = &mut pod.status;
        (status.cause, status.summary, status.pod_status) = (text(), text(), text());
        status.container = Some(text());
        status.remedies.iter_mut().for_each(|remedy| {
            (remedy.text, remedy.command, remedy.patch) = (text(), Some(text()), Some(text()));
        });
        status.evidence.iter_mut().for_each(|of| (of.source, of.value) = (text(), text()));
        status.restarts =
            Some(Restarts { count: 1, history: vec![run(&text(), 1, 0, 9, 1, &text(), None)], ..Restarts::default() });
    }
    found
}

fn pod(name: &str, namespace: &str, said: &str) -> String {
    let said = format!(
        "Back-off pulling image \"nginx:nope\": ErrImagePull: failed to resolve reference \"docker.io/library/nginx:nope\": docker.io/library/nginx:nope: {said}"
    );
    let (name, namespace, said) = (quoted(name), quoted(namespace), quoted(&said));
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
    state: {{waiting: {{reason: ImagePullBackOff, message: {said}}}}}
"#
    )
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// A run of a container, by its number, from and to so many seconds after the epoch.
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
