//! Bare pods that recover once the missing object exists.

use std::time::Duration;

use crate::support::{
    KUBELET, SOON, Space, ensure, eventually, kubectl, one_line, status, together, types_and_reasons,
};

fn events(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(kind, reason)| ((*kind).to_owned(), (*reason).to_owned())).collect()
}

/// Waits until the pod is Ready for 30 s, and checks for one Normal Event.
async fn recovers(space: &Space, pod: &str, cause: &str) {
    let recovered = space.ends(pod, "Recovered", Duration::from_secs(300)).await;
    let s = status(&recovered);
    assert_eq!(s.head.cause, cause, "what it recovered from stays to be read");
    assert!(s.head.conditions.iter().any(|c| c.kind == "Healthy" && c.status == "True"), "{s:?}");
    let ready = space.pod(pod).await.status.unwrap_or_default().conditions.unwrap_or_default();
    let ready = ready.into_iter().find(|c| c.type_ == "Ready" && c.status == "True").expect("Ready");
    let since = ready.last_transition_time.unwrap().0;
    let after = s.head.last_transition.unwrap().as_second() - since.as_second();
    assert!(after >= 30, "Recovered {after} s after Ready: it may fail again");
    eventually(SOON, "the Event of the recovery", async || {
        let emitted = types_and_reasons(&space.our_events(pod).await);
        ensure(emitted == events(&[("Warning", cause), ("Normal", "Recovered")]), || format!("{emitted:?}"))
    })
    .await;
}

/// Checks that the failure has one Event.
async fn fails(space: &Space, pod: &str, cause: &str) {
    let found = space.diagnosed(pod, cause, KUBELET).await;
    assert_eq!(status(&found).head.severity.as_str(), "Critical", "a bare pod is down: {}", one_line(&found));
    eventually(SOON, "the Event of the failure", async || {
        let emitted = types_and_reasons(&space.our_events(pod).await);
        ensure(emitted == events(&[("Warning", cause)]), || format!("{emitted:?}"))
    })
    .await;
}

fn bare_pod(name: &str, container: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: app, command: [sleep, infinity], {container}}}]}}}}"
    )
}

#[test]
fn a_missing_config_map_is_made() {
    together(async {
        let space = Space::new("configmap").await;
        space.apply(&bare_pod(
            "app",
            "image: '127.0.0.1:5000/busybox:1.36', envFrom: [{configMapRef: {name: settings}}]",
        ));
        fails(&space, "app", "ConfigMapNotFound").await;
        space.kubectl(&["create", "configmap", "settings", "--from-literal=MODE=test"]);
        recovers(&space, "app", "ConfigMapNotFound").await;
    });
}

/// Only the claim's Events have the reason; a manually created volume of that class ends the failure.
#[test]
fn a_claim_of_a_class_that_does_not_exist_gets_its_volume() {
    const VOLUME: &str = "e2e-claim";
    together(async {
        let space = Space::new("claim").await;
        kubectl(&["delete", "persistentvolume", VOLUME, "--ignore-not-found"]);
        space.apply(
            "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: e2e-fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}",
        );
        let volumes = "image: '127.0.0.1:5000/busybox:1.36', volumeMounts: [{name: data, mountPath: /data}]";
        let pod = bare_pod("app", volumes);
        let claim = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], containers:";
        space.apply(&pod.replace("containers:", claim));
        fails(&space, "app", "PvcProvisioningFailed").await;
        let found = space.diagnosis("app").await.unwrap();
        assert!(
            status(&found).head.summary.contains("asks for StorageClass e2e-fast, which does not exist"),
            "{}",
            one_line(&found)
        );
        space.apply(&format!(
            "{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {VOLUME}}}, spec: {{storageClassName: e2e-fast, accessModes: [ReadWriteOnce], capacity: {{storage: 1Mi}}, hostPath: {{path: /tmp/{VOLUME}, type: DirectoryOrCreate}}}}}}"
        ));
        recovers(&space, "app", "PvcProvisioningFailed").await;
        space.kubectl(&["delete", "pod", "app", "--wait=false"]);
        kubectl(&["delete", "persistentvolume", VOLUME, "--wait=false"]);
    });
}

#[test]
fn a_missing_secret_is_made() {
    together(async {
        let space = Space::new("secret").await;
        space.apply(&bare_pod(
            "app",
            "image: '127.0.0.1:5000/busybox:1.36', env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: password, key: value}}}]",
        ));
        fails(&space, "app", "SecretNotFound").await;
        space.kubectl(&["create", "secret", "generic", "password", "--from-literal=value=test"]);
        recovers(&space, "app", "SecretNotFound").await;
    });
}

#[test]
fn a_missing_image_is_pushed() {
    together(async {
        let space = Space::new("image").await;
        // A new name for each run: an earlier run has pushed its image already.
        let run = kubectl(&["get", "namespace", &space.name, "-o", "jsonpath={.metadata.uid}"]);
        let image = format!("127.0.0.1:5000/late-{run}:1");
        space.apply(&bare_pod("app", &format!("image: '{image}'")));
        fails(&space, "app", "ImageTagNotFound").await;
        // Uses the tool with which tests/cluster pushes its own images.
        let from = "docker://127.0.0.1:5000/busybox:1.36";
        let copy = std::process::Command::new("skopeo")
            .args(["copy", "--quiet", "--src-tls-verify=false", "--dest-tls-verify=false", from])
            .arg(format!("docker://{image}"))
            .output()
            .expect("skopeo, which tests/cluster needs too");
        assert!(copy.status.success(), "{}", String::from_utf8_lossy(&copy.stderr));
        recovers(&space, "app", "ImageTagNotFound").await;
        // A deletion after the recovery changes nothing.
        kubectl(&["-n", &space.name, "delete", "pod", "app", "--grace-period=1"]);
        space.caught_up("canary").await;
        let kept = space.diagnosis("app").await.expect("the diagnosis is kept after the pod");
        assert_eq!(status(&kept).head.state.as_str(), "Recovered", "{}", one_line(&kept));
    });
}
