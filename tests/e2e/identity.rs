//! One diagnosis per pod name, written by the operator only.

use kube::ResourceExt;
use serde_json::json;
use shindan_core::api::PodDiagnosis;

use crate::support::{KUBELET, SOON, Space, ensure, eventually, one_line, status, together, types_and_reasons};

fn restarts(found: &PodDiagnosis) -> Vec<String> {
    let restarts = status(found).restarts.clone().unwrap_or_default();
    restarts.history.iter().filter_map(|r| r.finished_at.map(|at| at.to_string())).collect()
}

/// A StatefulSet's pod is recreated with another UID and the same name, and the object continues with it.
#[test]
fn a_recreated_pod_keeps_the_object_of_its_name() {
    together(async {
        let space = Space::new("statefulset").await;
        space.apply(
            r"
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: '127.0.0.1:5000/busybox:1.36', command: [sh, -c, 'exit 3']}
",
        );
        space.diagnosed("db-0", "AppError", KUBELET).await;
        let first = eventually(KUBELET, "two runs are in the history", async || {
            let found = space.diagnosis("db-0").await.ok_or("no diagnosis")?;
            let runs = restarts(&found);
            ensure(runs.len() >= 2, || format!("{runs:?}")).map(|()| found)
        })
        .await;
        assert_eq!(first.spec.workload.as_ref().map(|w| w.display.as_str()), Some("StatefulSet/db"));
        space.kubectl(&["delete", "pod", "db-0", "--wait=true"]);
        let second = eventually(KUBELET, "the new pod has the object", async || {
            let found = space.diagnosis("db-0").await.ok_or("no diagnosis")?;
            let is = one_line(&found);
            ensure(found.spec.pod_uid != first.spec.pod_uid && is.starts_with("Active"), || is).map(|()| found)
        })
        .await;
        assert_eq!(Some(&second.spec.pod_uid), space.pod("db-0").await.metadata.uid.as_ref());
        assert_eq!(second.uid(), first.uid(), "the same object");
        let kept = restarts(&second);
        assert!(restarts(&first).iter().all(|run| kept.contains(run)), "{:?} went on as {kept:?}", restarts(&first));
    });
}

/// External edits and deletions of a diagnosis are reverted without an Event.
#[test]
fn external_edits_are_reverted() {
    together(async {
        let space = Space::new("repair").await;
        space.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: app}, spec: {containers: [{name: app, image: '127.0.0.1:5000/Upper:1'}]}}",
        );
        let made = space.diagnosed("app", "InvalidImageName", KUBELET).await;
        let events = eventually(SOON, "its Event", async || {
            let emitted = types_and_reasons(&space.our_events("app").await);
            ensure(emitted.len() == 1, || format!("{emitted:?}")).map(|()| emitted)
        })
        .await;

        let other = json!({"metadata": {"labels": {"shindan.dev/cause": "Nonsense"}}, "status": {"cause": "Nonsense"}});
        space.kubectl(&["patch", "poddiagnosis", "app", "--type=merge", "--patch", &other.to_string()]);
        eventually(SOON, "the change is taken back", async || {
            let found = space.diagnosis("app").await.ok_or("no diagnosis")?;
            let label = found.labels().get("shindan.dev/cause").cloned().unwrap_or_default();
            let is = format!("{label}: {}", one_line(&found));
            ensure(label == "InvalidImageName" && status(&found).head.cause == "InvalidImageName", || is)
        })
        .await;

        space.kubectl(&["delete", "poddiagnosis", "app"]);
        let again = space.diagnosed("app", "InvalidImageName", SOON).await;
        assert_ne!(again.uid(), made.uid(), "recreated");
        assert_eq!(status(&again).head.first_seen, status(&made).head.first_seen, "as it was");
        space.caught_up("canary").await;
        assert_eq!(types_and_reasons(&space.our_events("app").await), events, "no further Event");
    });
}
