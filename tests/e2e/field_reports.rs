//! The field reports of demo/workloads: the right cause for each, and the output that a user reads.

use std::collections::BTreeMap;
use std::process::Command;

use kube::ResourceExt;
use shindan_core::api::{PodDiagnosis, labels};

use crate::support::{
    KUBELET, SOON, Space, ensure, eventually, kubectl, metrics, one_line, status, sum, together, types_and_reasons,
};

/// The expected diagnosis of a workload of demo/workloads.
struct Report {
    kind: &'static str,
    workload: &'static str,
    cause: &'static str,
    container: Option<&'static str>,
    severity: &'static str,
    /// The statuses that `kubectl get pods` may print; only one if the pod does not change any more.
    statuses: &'static [&'static str],
}

const fn report(
    [kind, workload]: [&'static str; 2],
    cause: &'static str,
    container: Option<&'static str>,
    severity: &'static str,
    statuses: &'static [&'static str],
) -> Report {
    Report { kind, workload, cause, container, severity, statuses }
}

const REPORTS: [Report; 9] = [
    report(
        ["Deployment", "multi"],
        "LivenessProbeFailed",
        Some("redis"),
        "Critical",
        &["Running", "Error", "CrashLoopBackOff"],
    ),
    report(
        ["Deployment", "liveness-exit0"],
        "LivenessProbeFailed",
        Some("server"),
        "Critical",
        &["Running", "Completed", "CrashLoopBackOff"],
    ),
    report(
        ["Deployment", "rollout"],
        "ImageTagNotFound",
        Some("nginx"),
        "Warning",
        &["ErrImagePull", "ImagePullBackOff"],
    ),
    report(
        ["Deployment", "background"],
        "CompletedButRestarted",
        Some("server"),
        "Critical",
        &["Running", "Completed", "CrashLoopBackOff"],
    ),
    report(["Deployment", "cpu"], "InsufficientCpu", None, "Critical", &["Pending"]),
    report(["Deployment", "oom"], "OOMKilled", Some("hog"), "Critical", &["OOMKilled", "CrashLoopBackOff", "Running"]),
    report(
        ["Deployment", "no-such-command"],
        "ExecutableNotFound",
        Some("server"),
        "Critical",
        &["RunContainerError", "CrashLoopBackOff", "StartError"],
    ),
    report(["Deployment", "sandbox"], "SysctlRejectedByRuntime", None, "Critical", &["ContainerCreating"]),
    report(["DaemonSet", "agent"], "ConfigMapNotFound", Some("agent"), "Critical", &["CreateContainerConfigError"]),
];

#[test]
fn each_field_report_is_diagnosed() {
    together(async {
        let space = Space::named("demo".to_owned()).await;
        kubectl(&["apply", "-f", "demo/workloads"]);
        space.kubectl(&["rollout", "status", "deployment/rollout", "--timeout=120s"]);
        kubectl(&["apply", "-f", "demo/workloads/then"]);

        let mut found = BTreeMap::new();
        for report in &REPORTS {
            found.insert(report.workload, diagnosed(&space, report).await);
        }
        for report in &REPORTS {
            is_readable(&space, report, &found[report.workload]).await;
        }
        multi(&space, &found["multi"].name_any()).await;
        rollout(&space, &found["rollout"].name_any()).await;
        background(&found["background"]);
        columns(&space);
        patches_are_valid(&space).await;
        stayed_true(&space);
        corrected(&space, &found["no-such-command"].name_any(), &found["rollout"].name_any()).await;
        print_latency(&metrics().unwrap());
    });
}

fn of<'d>(all: &'d [PodDiagnosis], report: &Report) -> Option<&'d PodDiagnosis> {
    all.iter().find(|d| d.spec.workload.as_ref().is_some_and(|w| w.name == report.workload && w.kind == report.kind))
}

async fn diagnosed(space: &Space, report: &Report) -> PodDiagnosis {
    eventually(KUBELET, format!("{} is {} {}", report.workload, report.severity, report.cause), async || {
        let all = space.diagnoses().await;
        let found = of(&all, report).ok_or("no diagnosis")?;
        let s = status(found);
        // Between its first restarts a pod without a readiness probe is Ready, so the severity rises with the back-off.
        let is = s.head.cause == report.cause && s.head.severity.as_str() == report.severity;
        ensure(is, || format!("{} {}", s.head.severity, one_line(found))).map(|()| found.clone())
    })
    .await
}

/// Checks the fields, labels and Events that users and alerts read.
async fn is_readable(space: &Space, report: &Report, found: &PodDiagnosis) {
    let (s, name) = (status(found), found.name_any());
    let what = format!("{name}: {}", one_line(found));
    assert_eq!((s.head.state.as_str(), s.container.as_deref()), ("Active", report.container), "{what}");
    assert_eq!(s.head.severity.as_str(), report.severity, "{what}");
    assert!(!s.head.summary.is_empty() && s.head.summary.chars().count() <= 200, "{what}");
    assert!(!s.head.remedies.is_empty() && s.head.remedies.len() <= 5 && !s.head.evidence.is_empty(), "{what}: {s:?}");
    assert!(
        s.head.conditions.iter().any(|c| c.kind == "Healthy" && c.status == "False" && c.reason == report.cause),
        "{what}"
    );
    assert!(report.statuses.contains(&s.pod_status.as_str()), "{what}");
    if let [_only] = report.statuses {
        assert_eq!(s.pod_status, printed_status(space, &name), "as kubectl prints it");
    }
    let pod = space.pod(&name).await;
    assert_eq!(Some(&found.spec.pod_uid), pod.metadata.uid.as_ref(), "{what}");
    assert_eq!(found.spec.node_name, pod.spec.and_then(|s| s.node_name), "{what}");
    let labelled = |key: &str| found.labels().get(key).map(String::as_str);
    assert_eq!(labelled(labels::CAUSE), Some(report.cause), "{what}");
    assert_eq!(labelled(labels::WORKLOAD_NAME), Some(report.workload), "{what}");
    let (kind, workload) = (report.kind, report.workload);
    assert_eq!(found.spec.workload.as_ref().map(|w| w.display.clone()), Some(format!("{kind}/{workload}")));

    // One Event for each transition, shown by `kubectl describe pod`.
    let events = eventually(SOON, format!("the Events of {name}"), async || {
        let found = space.diagnosis(&name).await.ok_or("no diagnosis")?;
        let events = space.our_events(&name).await;
        let transitions = usize::try_from(status(&found).head.transition).unwrap();
        ensure(events.len() == transitions.max(1), || {
            format!("{transitions} transitions, Events: {:?}", types_and_reasons(&events))
        })
        .map(|()| events)
    })
    .await;
    // A second Event reports a rise in severity, with the same reason.
    let warning = (String::from("Warning"), report.cause.to_owned());
    assert!(
        events.len() <= 2 && types_and_reasons(&events).iter().all(|e| *e == warning),
        "{what}: {:?}",
        types_and_reasons(&events)
    );
    // The fields that deploy/examples/forwarding uses, as forwarders read them from core/v1.
    for event in &events {
        assert_eq!(event.reporting_component.as_deref(), Some("shindan.dev/operator"), "{what}");
        let component = event.source.as_ref().and_then(|source| source.component.as_deref()).unwrap_or_default();
        assert!(component.is_empty() && event.event_time.is_some() && event.last_timestamp.is_none(), "{event:?}");
    }
    let described = space.kubectl(&["describe", "pod", &name]);
    let is_ours = |l: &str| l.trim_start().starts_with("Warning") && l.contains(" shindan.dev/operator ");
    let shown = described.lines().any(|l| is_ours(l) && l.contains(report.cause));
    assert!(shown, "{what}: kubectl describe prints\n{described}");
}

fn printed_status(space: &Space, pod: &str) -> String {
    let line = space.kubectl(&["get", "pod", pod, "--no-headers"]);
    line.split_whitespace().nth(2).unwrap_or_default().to_owned()
}

/// The field report behind the name of the project: the sibling container is healthy, the Service has lost its pod, and exit
/// code 137 is not an OOM kill.
async fn multi(space: &Space, pod: &str) {
    eventually(SOON, "the impact of multi", async || {
        let found = space.diagnosis(pod).await.ok_or("no diagnosis")?;
        let impact = status(&found).impact.clone().ok_or("no impact")?;
        ensure(impact.healthy_containers == ["nginx"], || format!("{impact:?}"))?;
        let services: Vec<_> = impact.services.iter().map(|s| (s.name.as_str(), s.ready_endpoints)).collect();
        ensure(services == [("multi", 0)], || format!("{impact:?}"))?;
        let workload = impact.workload.as_ref().ok_or("no workload")?;
        ensure((workload.desired, workload.failing, workload.rollout_stuck) == (1, 1, false), || format!("{impact:?}"))
    })
    .await;
    let killed = eventually(KUBELET, "redis ends with exit code 137", async || {
        let found = space.diagnosis(pod).await.ok_or("no diagnosis")?;
        let runs = status(&found).restarts.clone().unwrap_or_default().history;
        ensure(runs.iter().any(|r| r.container == "redis" && r.exit_code == 137), || format!("{runs:?}"))
            .map(|()| found)
    })
    .await;
    assert_eq!(status(&killed).head.cause, "LivenessProbeFailed", "{}", one_line(&killed));
}

/// Old pods still serve.
async fn rollout(space: &Space, pod: &str) {
    eventually(SOON, "the impact of the rollout", async || {
        let found = space.diagnosis(pod).await.ok_or("no diagnosis")?;
        let impact = status(&found).impact.clone().ok_or("no impact")?;
        let workload = impact.workload.as_ref().ok_or("no workload")?;
        ensure((workload.old_ready, workload.rollout_stuck) == (2, true), || format!("{impact:?}"))
    })
    .await;
}

fn background(found: &PodDiagnosis) {
    let remedies = &status(found).head.remedies;
    assert!(remedies.iter().any(|r| r.text.contains("foreground")), "how to keep it in the foreground: {remedies:?}");
}

fn columns(space: &Space) {
    let head = |args: &[&str]| {
        let table = space.kubectl(args);
        table.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let narrow = "NAME CAUSE CONTAINER SEVERITY STATE RESTARTS SINCE";
    assert_eq!(head(&["get", "poddiagnoses"]), narrow);
    assert_eq!(head(&["get", "pdx", "-o", "wide"]), format!("{narrow} POD-STATUS WORKLOAD NODE CONFIDENCE SUMMARY"));
    let selected = space.kubectl(&["get", "diagnoses", "-l", "shindan.dev/cause=OOMKilled", "-o", "name"]);
    let lines: Vec<_> = selected.lines().collect();
    let [pod, workload] = lines.as_slice() else { panic!("the pod and its workload: {selected}") };
    assert!(pod.starts_with("poddiagnosis.shindan.dev/oom-"), "{selected}");
    assert_eq!(*workload, "workloaddiagnosis.shindan.dev/deployment-oom");
}

/// Applies each patch as a user would, with `--dry-run=server`.
async fn patches_are_valid(space: &Space) {
    let mut tried = 0;
    for found in space.diagnoses().await {
        for remedy in &status(&found).head.remedies {
            let Some(patch) = &remedy.patch else { continue };
            let command = remedy.command.as_deref().expect("a patch has its command");
            assert!(command.starts_with("kubectl "), "{command}");
            // Pasted into a shell, and with the patch from a file.
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), patch).unwrap();
            let begin = command.split(" -p ").next().and_then(|c| c.split(" --patch").next()).unwrap_or_default();
            let from_file = format!("{begin} --patch-file={}", file.path().display());
            for line in [command, from_file.as_str()] {
                let run = Command::new("sh").args(["-c", &format!("{line} --dry-run=server")]).output().unwrap();
                let output = String::from_utf8_lossy(&run.stderr);
                assert!(run.status.success(), "{}: {line}: {output}\n{patch}", found.name_any());
            }
            tried += 1;
        }
    }
    assert!(tried >= 4, "only {tried} patches in all the demo");
}

/// Checks every version of the diagnoses of this namespace: none of a healthy pod, and none with a wrong cause.
fn stayed_true(space: &Space) {
    let seen = crate::support::seen_in(&space.name);
    for version in &seen {
        let workload = version.spec.workload.as_ref().map(|w| w.name.as_str()).unwrap_or_default();
        if workload == "retried" {
            // A Job's failed retry has a diagnosis without an Event until the Job completes: see `healthy`.
            continue;
        }
        let report = REPORTS.iter().find(|r| r.workload == workload);
        let report = report.unwrap_or_else(|| panic!("{} is healthy: {}", version.name_any(), one_line(version)));
        let s = status(version);
        assert!(s.head.cause != "OOMKilled" || workload == "oom", "{}: {}", version.name_any(), one_line(version));
        assert_eq!(s.head.cause, report.cause, "{} was {} at first", version.name_any(), one_line(version));
    }
}

/// A corrected Deployment replaces its pod: the diagnosis of the old pod becomes Gone without an Event.
async fn corrected(space: &Space, pod: &str, of_rollout: &str) {
    let before =
        (types_and_reasons(&space.our_events(pod).await), types_and_reasons(&space.our_events(of_rollout).await));
    space.kubectl(&["rollout", "undo", "deployment/rollout"]);
    space.ends(of_rollout, "Gone", KUBELET).await;
    let good =
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "server", "command": ["sleep", "infinity"]}]}}}}"#;
    space.kubectl(&["patch", "deployment", "no-such-command", "--patch", good]);
    let gone = space.ends(pod, "Gone", KUBELET).await;
    assert_eq!(status(&gone).head.cause, "ExecutableNotFound");
    assert!(
        status(&gone).head.conditions.iter().any(|c| c.status == "Unknown" && c.reason == "PodDeleted"),
        "{gone:?}"
    );
    space.kubectl(&["rollout", "status", "deployment/no-such-command", "--timeout=60s"]);
    space.caught_up("after-correction").await;
    let after =
        (types_and_reasons(&space.our_events(pod).await), types_and_reasons(&space.our_events(of_rollout).await));
    assert_eq!(after, before, "no Event for Gone");
    let failing = space.diagnoses().await;
    let of_it = failing
        .iter()
        .filter(|d| d.name_any().starts_with("no-such-command") && status(d).head.state.as_str() == "Active");
    assert_eq!(of_it.count(), 0, "its new pod is healthy");
}

/// Prints the latency from the observed change to the written object; not asserted, because machines differ.
fn print_latency(samples: &[(String, f64)]) {
    let count = sum(samples, "shindan_diagnosis_latency_seconds_count");
    let total = sum(samples, "shindan_diagnosis_latency_seconds_sum");
    println!(
        "measured: {count} diagnoses, {:.1} ms each from the observed change to the written object",
        total / count * 1000.0
    );
    for (name, value) in samples.iter().filter(|(name, _)| name.starts_with("shindan_diagnosis_latency_seconds_bucket"))
    {
        let edge = name.split('"').nth(1).unwrap_or_default();
        println!("measured:   within {edge:>6} s: {:5.1} %", value / count * 100.0);
    }
}
