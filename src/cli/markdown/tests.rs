use shindan_core::api::{
    DiagnosisState, PodCounts, Restarts, Run, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus, WorkloadRef,
};
use shindan_core::case::Thresholds;
use shindan_core::facts::ObjectKey;
use shindan_core::offline;
use shindan_core::reconcile::DiagnosisKey;
use shindan_core::wire::Dump;

use super::*;
use crate::cli::found::OfNodeOrWorkload;
use crate::cli::found::testing::failing_for_the_third_time;

fn printed(found: &Found, language: Language) -> String {
    let mut out = Vec::new();
    write(found, language, at("10:00:00"), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().unwrap()
}

fn of_dump(text: &str, language: Language) -> Found {
    let mut dump = Dump::default();
    dump.read(text);
    let now = dump.newest.unwrap();
    let thresholds = Thresholds::default().in_language(language).for_snapshot();
    let report = offline::diagnose(dump, offline::Logs::default(), now, thresholds);
    Found::of_writes(report.pods, report.nodes_and_workloads)
}

/// A Deployment that has recovered, with a pod that was replaced.
fn recovered() -> Found {
    let head = |state, transition| Head {
        state,
        category: "Crash".to_owned(),
        first_seen: Some(at("09:00:00")),
        last_transition: Some(transition),
        ..Head::active(
            "OOMKilled",
            "Crash",
            shindan_core::api::Severity::Critical,
            shindan_core::api::Confidence::Certain,
            "app exceeds its memory limit of 64Mi".to_owned(),
        )
    };
    let workload = WorkloadRef {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        name: "web".into(),
        display: "Deployment/web".into(),
    };
    let mut pod = of_dump(POD, Language::English).pods.remove(0);
    pod.spec.workload = Some(workload.clone());
    pod.status.head = head(DiagnosisState::Gone, at("09:11:00"));
    pod.status.restarts = Some(Restarts {
        count: 1,
        history: vec![Run {
            container: "app".into(),
            number: Some(1),
            started_at: Some(at("08:59:00")),
            finished_at: Some(at("08:59:58")),
            exit_code: 137,
            reason: "OOMKilled".into(),
            ..Run::default()
        }],
        ..Restarts::default()
    });
    let status = WorkloadDiagnosisStatus {
        head: Head { summary: "3 of 3 pods are ready".to_owned(), ..head(DiagnosisState::Recovered, at("09:12:00")) },
        problem: "Unavailable".to_owned(),
        container: Some("app".to_owned()),
        pods: PodCounts { desired: 3, ready: 3, failing: 0, display: "3/3".to_owned() },
        causes: Vec::new(),
        serving: None,
        template_changes: Vec::new(),
        templates: Vec::new(),
        root: None,
        folded_events: 0,
        past_failures: Vec::new(),
    };
    let spec = WorkloadDiagnosisSpec { workload, workload_uid: "u".to_owned() };
    let key = DiagnosisKey {
        kind: shindan_core::api::DiagnosisKind::Workload,
        object: ObjectKey::new("shop", "deployment-web"),
    };
    let workload = OfNodeOrWorkload { key, object: NodeOrWorkload::Workload(spec, status) };
    let mut found = Found::default();
    found.pods.push(pod);
    found.nodes_and_workloads.push(workload);
    found
}

/// A pod that exits with a message that tries to be markup.
const POD: &str = r#"
kind: Pod
apiVersion: v1
metadata: {name: web-1, namespace: shop, uid: u1, creationTimestamp: "2026-11-21T08:00:00Z"}
spec: {nodeName: n1, containers: [{name: app, image: "app:1"}]}
status:
  phase: Running
  containerStatuses:
  - name: app
    restartCount: 4
    state: {waiting: {reason: CrashLoopBackOff, message: "back-off 1m20s restarting failed container"}}
    lastState:
      terminated:
        exitCode: 1
        reason: Error
        startedAt: "2026-11-21T09:00:00Z"
        finishedAt: "2026-11-21T09:00:05Z"
        message: "FATAL: ```` <img src=x> [click](http://evil.example) @team # x ![i](y) password=hunter2"
"#;

#[test]
fn incident_that_ended_has_its_course_and_its_end() {
    assert_eq!(
        printed(&recovered(), Language::English).split("### Cause").next().unwrap(),
        "## Deployment web: OOMKilled\n\n**app exceeds its memory limit of 64Mi**\n\n\
         - Namespace: `shop`\n- Cause: `OOMKilled` (Crash, Certain)\n- Severity: Critical\n- State: Recovered\n\
         - First seen: 2026-11-21 09:00:00 UTC\n- Ended: 2026-11-21 09:12:00 UTC\n- Duration: 12m\n\n### Timeline\n\n\
         - 2026-11-21 08:59:00 UTC: container `app` of Pod `web-1` starts\n\
         - 2026-11-21 08:59:58 UTC: container `app` of Pod `web-1` ends: exit 137 (SIGKILL, OOMKilled)\n\
         - 2026-11-21 09:00:00 UTC: Pod `web-1` fails: `OOMKilled`\n\
         - 2026-11-21 09:00:00 UTC: the failure is first seen: `OOMKilled`\n\
         - 2026-11-21 09:11:00 UTC: Pod `web-1` is deleted\n\
         - 2026-11-21 09:12:00 UTC: it is healthy again\n\n"
    );
    let text = printed(&recovered(), Language::English);
    let end = "### What ended it\n\n- It became healthy: 2026-11-21 09:12:00 UTC (3 of 3 pods are ready)\n\
               - Pods that failed: 1 deleted or replaced\n";
    assert!(text.ends_with(end) && !text.contains("### Impact"), "the numbers of its end are no impact: {text}");
}

#[test]
fn active_incident_has_evidence_and_remedies() {
    let text = printed(&of_dump(POD, Language::English), Language::English);
    for part in [
        "## Pod web-1: ",
        "- State: Active\n",
        "### Evidence\n",
        "`status.containerStatuses[app].lastState.terminated",
        "### What to do\n",
        "- **Investigate:** Read the last lines that app wrote.\n",
        "  ```sh\n  kubectl -n shop logs web-1",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("What ended it"), "{text}");
}

#[test]
fn text_of_a_container_is_no_markup() {
    let text = printed(&of_dump(POD, Language::English), Language::English);
    assert!(!text.contains("hunter2"), "{text}");
    let spans: Vec<&str> = text.lines().filter(|line| line.contains("img src")).collect();
    assert!(!spans.is_empty(), "{text}");
    for line in spans {
        // Outside of code, each character of markup is escaped. Code has a fence that its content does not.
        let is_code = line.contains("`````");
        let is_escaped = line.contains(r"\<img")
            && line.contains(r"\[click\]")
            && line.contains("&#64;team")
            && line.contains(r"\!\[");
        assert!(is_code || is_escaped, "{line}");
    }
}

#[test]
fn japanese_text_has_japanese_headings() {
    let text = printed(&of_dump(POD, Language::Japanese), Language::Japanese);
    for part in ["### 根拠", "### 対処", "- 状態: Active", "- **調査:** app が最後に書いた行を読む。"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    for heading in text.lines().filter(|line| line.starts_with("### ")) {
        assert!(!heading.is_ascii(), "{heading}");
    }
}

#[test]
fn incident_that_recurs_has_its_past_failures() {
    let mut found = failing_for_the_third_time();
    let text = printed(&found, Language::English);
    for part in [
        "- Recurrence: 3rd time in 7 days; last time ended by a rollback to revision 4, after 12 min\n",
        "### Past failures\n\n\
         - 2026-11-20 09:00:00 UTC: `OOMKilled`: ended by a rollback to revision 4, after 12 min\n\
         - 2026-11-19 09:00:00 UTC: `AppError`: ended by a rollback to revision 3, after 12 min\n\
         - 2026-11-18 09:00:00 UTC: `OOMKilled`: ended by a rollback to revision 2, after 12 min\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let NodeOrWorkload::Workload(_, status) = &mut found.nodes_and_workloads[0].object else { panic!("a workload") };
    status.head.state = DiagnosisState::Recovered;
    let text = printed(&found, Language::English);
    assert!(!text.contains("Recurrence"), "its end has the line: {text}");
    let end = "- 2nd time in 7 days; ended by a rollback to revision 4, after 12 min\n";
    assert!(text.contains(end) && !text.contains("- 2026-11-20 09:00:00 UTC: `OOMKilled`: "), "{text}");
}
