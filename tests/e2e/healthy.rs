//! Healthy objects never get a diagnosis, not even for a moment.

use kube::ResourceExt;

use crate::support::{KUBELET, Space, ensure, eventually, one_line, seen_in, together};

/// Checks that nothing but the canary was diagnosed.
async fn never_diagnosed(space: &Space) {
    space.caught_up("canary").await;
    let wrong: Vec<_> = seen_in(&space.name).into_iter().filter(|d| d.name_any() != "canary").collect();
    assert!(wrong.is_empty(), "{:?}", wrong.iter().map(|d| (d.name_any(), one_line(d))).collect::<Vec<_>>());
}

fn web(replicas: u8, tag: &str) -> String {
    format!(
        r"
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - name: nginx
        image: 127.0.0.1:5000/nginx:{tag}
        readinessProbe: {{httpGet: {{path: /, port: 80}}, periodSeconds: 2}}
        livenessProbe: {{httpGet: {{path: /, port: 80}}}}
"
    )
}

#[test]
fn a_deployment_through_rollout_and_scaling() {
    together(async {
        let space = Space::new("rollout").await;
        let settled = || space.kubectl(&["rollout", "status", "deployment/web", "--timeout=120s"]);
        space.apply(&web(3, "1.27"));
        settled();
        space.apply(&web(3, "1.28"));
        settled();
        space.apply(&web(1, "1.28"));
        eventually(KUBELET, "one pod is left", async || {
            let pods = space.pods().await.len();
            ensure(pods == 1, || format!("{pods} pods"))
        })
        .await;
        never_diagnosed(&space).await;
    });
}

#[test]
fn completed_workloads() {
    together(async {
        let space = Space::new("finished").await;
        for case in ["completed-on-failure", "job-finished", "job-retried-in-place", "job-retried"] {
            let path = format!("{}/tests/cluster/workloads/healthy/{case}.yaml", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
            space.apply(&text.replace("name: import\n", &format!("name: {case}\n")));
        }
        eventually(KUBELET, "all of it is done", async || {
            let pods = space.pods().await;
            let phase =
                |p: &k8s_openapi::api::core::v1::Pod| p.status.clone().and_then(|s| s.phase).unwrap_or_default();
            let phases: Vec<_> = pods.iter().map(|p| (p.name_any(), phase(p))).collect();
            let succeeded = phases.iter().filter(|(_, phase)| phase == "Succeeded").count();
            ensure(succeeded == 4, || format!("{phases:?}"))
        })
        .await;
        space.caught_up("canary").await;
        // A Job's first failure may be recorded while it has retries left; it ends when the Job completes, and no
        // Event ever warned of it.
        eventually(KUBELET, "no diagnosis is active", async || {
            let all = space.diagnoses().await;
            let active = all.iter().find(|d| d.name_any() != "canary" && one_line(d).starts_with("Active"));
            active.map_or(Ok(()), |d| Err(format!("{}: {}", d.name_any(), one_line(d))))
        })
        .await;
        let ours = crate::support::our_events(&space.name, "reportingComponent=shindan.dev/operator").await;
        let about: Vec<_> =
            ours.iter().filter_map(|e| e.involved_object.name.clone()).filter(|n| n != "canary").collect();
        assert!(about.is_empty(), "{about:?}");
        let first_try = |d: &shindan_core::api::PodDiagnosis| d.name_any().starts_with("job-");
        let seen = seen_in(&space.name);
        let wrong = seen.iter().find(|d| d.name_any() != "canary" && !first_try(d));
        assert!(wrong.is_none(), "it is healthy: {}", wrong.map(one_line).unwrap_or_default());
    });
}

#[test]
fn a_failing_debug_container_is_not_the_pods_failure() {
    together(async {
        let space = Space::new("debug").await;
        space.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: nginx, image: '127.0.0.1:5000/nginx:1.27'}]}}",
        );
        space.kubectl(&["wait", "--for=condition=Ready", "pod/web", "--timeout=120s"]);
        let image = "--image=127.0.0.1:5000/busybox:1.36";
        space.kubectl(&["debug", "web", image, "--container=look", "--", "sh", "-c", "exit 7"]);
        eventually(KUBELET, "the debug container has failed", async || {
            let status = space.pod("web").await.status.unwrap_or_default();
            let state =
                status.ephemeral_container_statuses.unwrap_or_default().into_iter().next().and_then(|c| c.state);
            let code = state.and_then(|s| s.terminated).map(|t| t.exit_code);
            ensure(code == Some(7), || format!("{code:?}"))
        })
        .await;
        never_diagnosed(&space).await;
    });
}
