//! Bare pods that get well once what they lack is there.

use std::time::Duration;

use crate::support::{KUBELET, SOON, Space, ensure, eventually, kubectl, status, story, together, told};

fn events(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(kind, reason)| ((*kind).to_owned(), (*reason).to_owned())).collect()
}

/// The pod becomes Ready, stays so for 30 s, and one Normal Event ends the story.
async fn recovers(space: &Space, pod: &str, cause: &str) {
    let recovered = space.ends(pod, "Recovered", Duration::from_secs(300)).await;
    let s = status(&recovered);
    assert_eq!(s.cause, cause, "what it recovered from stays to be read");
    assert!(s.conditions.iter().any(|c| c.kind == "Healthy" && c.status == "True"), "{s:?}");
    let ready = space.pod(pod).await.status.unwrap_or_default().conditions.unwrap_or_default();
    let ready = ready.into_iter().find(|c| c.type_ == "Ready" && c.status == "True").expect("Ready");
    let since = ready.last_transition_time.unwrap().0;
    let after = s.last_transition.unwrap().as_second() - since.as_second();
    assert!(after >= 30, "Recovered {after} s after Ready: it may fail again");
    eventually(SOON, "the Event of the recovery", async || {
        let told = told(&space.our_events(pod).await);
        ensure(told == events(&[("Warning", cause), ("Normal", "Recovered")]), || format!("{told:?}"))
    })
    .await;
}

/// Its failure was told, once.
async fn fails(space: &Space, pod: &str, cause: &str) {
    let found = space.diagnosed(pod, cause, KUBELET).await;
    assert_eq!(status(&found).severity.as_str(), "Critical", "a bare pod is down: {}", story(&found));
    eventually(SOON, "the Event of the failure", async || {
        let told = told(&space.our_events(pod).await);
        ensure(told == events(&[("Warning", cause)]), || format!("{told:?}"))
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

/// The reason is in the claim's Events only; a volume of that class, made by hand, ends it.
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
            status(&found).summary.contains("asks for StorageClass e2e-fast, which does not exist"),
            "{}",
            story(&found)
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
        // Its own name each time: an earlier run has pushed the last one.
        let run = kubectl(&["get", "namespace", &space.name, "-o", "jsonpath={.metadata.uid}"]);
        let image = format!("127.0.0.1:5000/late-{run}:1");
        space.apply(&bare_pod("app", &format!("image: '{image}'")));
        fails(&space, "app", "ImageTagNotFound").await;
        // By the tool that tests/cluster pushes its own images with.
        let from = "docker://127.0.0.1:5000/busybox:1.36";
        let copy = std::process::Command::new("skopeo")
            .args(["copy", "--quiet", "--src-tls-verify=false", "--dest-tls-verify=false", from])
            .arg(format!("docker://{image}"))
            .output()
            .expect("skopeo, which tests/cluster needs too");
        assert!(copy.status.success(), "{}", String::from_utf8_lossy(&copy.stderr));
        recovers(&space, "app", "ImageTagNotFound").await;
        // A second failure of the same object would be a new story; a deletion is none.
        kubectl(&["-n", &space.name, "delete", "pod", "app", "--grace-period=1"]);
        space.caught_up("canary").await;
        let kept = space.diagnosis("app").await.expect("the answer outlives the pod");
        assert_eq!(status(&kept).state.as_str(), "Recovered", "{}", story(&kept));
    });
}
