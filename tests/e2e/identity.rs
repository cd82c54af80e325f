//! One object a pod name, written by one hand.

use kube::ResourceExt;
use serde_json::json;
use shindan::api::PodDiagnosis;

use crate::support::{KUBELET, SOON, Space, ensure, eventually, status, story, together, told};

fn restarts(found: &PodDiagnosis) -> Vec<String> {
    let restarts = status(found).restarts.clone().unwrap_or_default();
    restarts.history.iter().filter_map(|r| r.finished_at.map(|at| at.to_string())).collect()
}

/// A StatefulSet's pod comes back under its name: it is another pod, and the object goes on with it.
#[test]
fn a_pod_made_anew_under_its_name_takes_the_object_over() {
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
            let is = story(&found);
            ensure(found.spec.pod_uid != first.spec.pod_uid && is.starts_with("Active"), || is).map(|()| found)
        })
        .await;
        assert_eq!(Some(&second.spec.pod_uid), space.pod("db-0").await.metadata.uid.as_ref());
        assert_eq!(second.uid(), first.uid(), "the same object");
        let kept = restarts(&second);
        assert!(restarts(&first).iter().all(|run| kept.contains(run)), "{:?} went on as {kept:?}", restarts(&first));
    });
}

/// The object is ours alone: what another hand changes or deletes is put back, and no Event tells of it.
#[test]
fn another_hands_changes_are_repaired() {
    together(async {
        let space = Space::new("repair").await;
        space.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: app}, spec: {containers: [{name: app, image: '127.0.0.1:5000/Upper:1'}]}}",
        );
        let made = space.diagnosed("app", "InvalidImageName", KUBELET).await;
        let events = eventually(SOON, "its Event", async || {
            let told = told(&space.our_events("app").await);
            ensure(told.len() == 1, || format!("{told:?}")).map(|()| told)
        })
        .await;

        let other = json!({"metadata": {"labels": {"shindan.dev/cause": "Nonsense"}}, "status": {"cause": "Nonsense"}});
        space.kubectl(&["patch", "poddiagnosis", "app", "--type=merge", "--patch", &other.to_string()]);
        eventually(SOON, "the change is taken back", async || {
            let found = space.diagnosis("app").await.ok_or("no diagnosis")?;
            let label = found.labels().get("shindan.dev/cause").cloned().unwrap_or_default();
            let is = format!("{label}: {}", story(&found));
            ensure(label == "InvalidImageName" && status(&found).cause == "InvalidImageName", || is)
        })
        .await;

        space.kubectl(&["delete", "poddiagnosis", "app"]);
        let again = space.diagnosed("app", "InvalidImageName", SOON).await;
        assert_ne!(again.uid(), made.uid(), "made anew");
        assert_eq!(status(&again).first_seen, status(&made).first_seen, "as it was");
        space.caught_up("canary").await;
        assert_eq!(told(&space.our_events("app").await), events, "nothing new is told");
    });
}
