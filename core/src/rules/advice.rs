//! Tests of the first remedy in cases where the error message alone is misleading and the spec of the pod decides.

use super::diagnose;
use crate::case::{Diagnosis, Health, Operation, Remedy};
use crate::testing::Scenario;

fn diagnosed(text: &str) -> Diagnosis {
    match diagnose(&Scenario::from_yaml(text).at("2026-11-21T10:00:00Z").case()).health {
        Health::Failing(found) => *found,
        Health::Healthy => panic!("it fails"),
    }
}

/// The summary, and the first remedy with its patch.
fn summary_and_patch(text: &str) -> (String, String) {
    let found = diagnosed(text);
    let first = found.remedies.first().unwrap();
    (found.summary.text().to_owned(), format!("{} {}", first.text, first.patch.as_deref().unwrap_or_default()))
}

/// A pod of Deployment `web` with a container that cannot be started.
fn not_started(container: &str, volumes: &str, words: &str) -> String {
    format!(
        r#"
kind: Pod
metadata: {{name: web-5d9-x, namespace: shop, uid: u1, labels: {{pod-template-hash: 5d9}},
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d9, controller: true, uid: r}}]}}
spec: {{nodeName: n1, volumes: [{volumes}], containers: [{{name: web, image: "shop/web:1", {container}}}]}}
status:
  phase: Running
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - {{name: web, restartCount: 9, state: {{waiting: {{reason: CrashLoopBackOff}}}},
      lastState: {{terminated: {{exitCode: 128, reason: StartError, finishedAt: "2026-11-21T09:59:00Z", message: '{words}'}}}}}}
"#
    )
}

#[test]
fn command_hidden_by_a_volume_is_not_reported_as_missing_in_the_image() {
    let words = r#"unable to start container process: exec: "/app/server": stat /app/server: no such file or directory: unknown"#;
    let command = "command: [/app/server]";
    let mounted = format!("{command}, volumeMounts: [{{name: data, mountPath: /app}}]");
    let (summary, first) = summary_and_patch(&not_started(&mounted, "{name: data, emptyDir: {}}", words));
    assert!(summary.contains("not found in volume data, which is mounted over /app and hides"), "{summary}");
    assert!(first.starts_with("Mount volume data in Deployment web at another path than /app"), "{first}");
    let beside = format!("{command}, volumeMounts: [{{name: data, mountPath: /appdata}}]");
    let (summary, _) = summary_and_patch(&not_started(&beside, "{name: data, emptyDir: {}}", words));
    assert!(summary.contains("not found in image shop/web:1"), "{summary}");
}

#[test]
fn script_from_a_config_map_gets_its_execute_bit_from_the_volume() {
    let words = r#"unable to start container process: exec: "/scripts/run.sh": permission denied: unknown"#;
    let container = "command: [/scripts/run.sh], volumeMounts: [{name: s, mountPath: /scripts}]";
    let (summary, first) = summary_and_patch(&not_started(container, "{name: s, configMap: {name: scripts}}", words));
    assert!(summary.contains("cannot execute its command /scripts/run.sh in volume s: permission denied"), "{summary}");
    assert!(first.contains("defaultMode: 493") && first.contains("name: scripts"), "{first}");
}

#[test]
fn unsplit_command_and_windows_line_ends_are_recognized() {
    let first = |program: &str| {
        let words = r#"unable to start container process: exec: "x": executable file not found in $PATH: unknown"#;
        summary_and_patch(&not_started(&format!("command: [\"{program}\"]"), "", words)).1
    };
    assert!(first("sleep 3600").contains(r#"as a list, ["sleep","3600"]"#), "{}", first("sleep 3600"));
    assert!(first("/bin/sh\\r").contains("carriage return"), "{}", first("/bin/sh\\r"));
    assert!(first("sleep").starts_with("Correct `command`"), "{}", first("sleep"));
}

#[test]
fn http_hook_has_no_command() {
    let pod = |hook: &str| {
        not_started(&format!("lifecycle: {{postStart: {hook}}}"), "", "").replace(
            "state: {waiting: {reason: CrashLoopBackOff}}",
            "state: {waiting: {reason: PostStartHookError, message: 'Http lifecycle hook (/) failed'}}",
        )
    };
    for (hook, advice) in [
        ("{exec: {command: [a]}}", "Run the command of lifecycle.postStart"),
        ("{httpGet: {port: 80}}", "Replace the request of lifecycle.postStart"),
    ] {
        let found = diagnosed(&pod(hook));
        assert!(found.remedies[0].text.starts_with("Remove lifecycle.postStart of web"), "{}", found.remedies[0].text);
        assert!(found.remedies[1].text.starts_with(advice), "{}", found.remedies[1].text);
    }
}

#[test]
fn missing_command_of_a_hook_is_named() {
    let failed = r#"Exec lifecycle hook ([/opt/register.sh]) for Container "app" in Pod "x" failed - error: rpc error: code = Unknown desc = failed to exec in container: failed to start exec "4f": OCI runtime exec failed: exec failed: unable to start container process: exec: "/opt/register.sh": stat /opt/register.sh: no such file or directory: unknown, message: """#;
    let pod = not_started("lifecycle: {postStart: {exec: {command: [/opt/register.sh]}}}", "", "").replace(
        "state: {waiting: {reason: CrashLoopBackOff}}",
        &format!("state: {{waiting: {{reason: PostStartHookError, message: '{failed}'}}}}"),
    );
    let found = diagnosed(&pod);
    let summary = found.summary.text();
    assert!(
        summary.ends_with("its postStart hook fails: command /opt/register.sh not found in image shop/web:1"),
        "{summary}"
    );
    let second = &found.remedies[1].text;
    assert!(second.starts_with("Correct the command of lifecycle.postStart in Deployment web: "), "{second}");
}

#[test]
fn file_over_directory_and_directory_over_file_are_distinguished() {
    let words = |at: &str| {
        format!(
            r#"error during container init: error mounting "/var/lib/kubelet/x" to rootfs at "{at}": mount /x:{at} (via /proc/self/fd/6), flags: 0x5001: not a directory: unknown"#
        )
    };
    let container =
        |at: &str, sub_path: &str| format!(r#"volumeMounts: [{{name: c, mountPath: "{at}", subPath: "{sub_path}"}}]"#);
    let first = |at: &str, sub_path: &str, volume: &str| {
        summary_and_patch(&not_started(&container(at, sub_path), &format!("{{name: c, {volume}}}"), &words(at))).1
    };
    let map = "configMap: {name: conf}";
    assert!(first("/etc", "nginx.conf", map).contains("nginx.conf is a file, and /etc a directory of the image"));
    // The kubelet creates a directory for it.
    assert!(first("/etc/passwd", "adir", "emptyDir: {}").contains("not over the file /etc/passwd"));
    assert!(first("/etc/app.conf", "app.conf", "emptyDir: {}").starts_with("Put file app.conf into volume c"));
    assert!(first("/etc/app.conf", "nginx.conf", map).starts_with("Add key nginx.conf to ConfigMap conf"));
    assert!(first("/etc/passwd", "passwd", "secret: {secretName: s}").starts_with("Add key passwd to Secret s"));
    assert!(first("/var/www", "", "hostPath: {path: /etc/hostname}").contains("mountPath: /var/www/hostname"));
    let below = words("/etc/passwd/x").replace(
        "mount /x:/etc/passwd/x (via /proc/self/fd/6), flags: 0x5001",
        "open o_path procfd: open /run/rootfs/etc/passwd/x",
    );
    let pod = not_started(&container("/etc/passwd/x", "ca.crt"), &format!("{{name: c, {map}}}"), &below);
    assert!(
        summary_and_patch(&pod).1.contains("/etc/passwd/x cannot be created")
            && summary_and_patch(&pod).1.contains("likely /etc/passwd)")
    );
    let of_key = first("/etc/nginx/nginx.conf", "", map);
    assert!(of_key.starts_with("Mount only the file of ConfigMap conf at /etc/nginx/nginx.conf"), "{of_key}");
    assert!(first("/etc/nginx/nginx.conf", "", "emptyDir: {}").contains("not over the file /etc/nginx/nginx.conf"));
}

#[test]
fn variable_of_a_sub_path_expr_is_defined_under_env() {
    let text = not_started("command: [a]", "", "").replace(
        "state: {waiting: {reason: CrashLoopBackOff}}",
        "state: {waiting: {reason: CreateContainerConfigError, message: 'missing value for POD_NAME'}}",
    );
    let (_, first) = summary_and_patch(&text);
    assert!(first.starts_with("Define POD_NAME under env") && first.contains("fieldPath: metadata.name"), "{first}");
}

/// A pod that waits for a volume, with this message of the kubelet.
fn not_mounted(words: &str) -> String {
    format!(
        r#"
kind: Pod
metadata: {{name: web, namespace: shop, uid: u1}}
spec: {{nodeName: n1, containers: [{{name: web, image: "shop/web:1"}}]}}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses: [{{name: web, state: {{waiting: {{reason: ContainerCreating}}}}}}]
---
kind: Event
involvedObject: {{kind: Pod, namespace: shop, name: web, uid: u1}}
reason: FailedMount
type: Warning
message: '{words}'
count: 12
firstTimestamp: "2026-11-21T09:00:10Z"
lastTimestamp: "2026-11-21T09:59:00Z"
"#
    )
}

#[test]
fn missing_object_of_a_mount_is_named() {
    let of = |words: &str| summary_and_patch(&not_mounted(words));
    let nfs = "MountVolume.SetUp failed for volume \"nfs\" : mount failed: exit status 32 Output: mount: /x: unknown \
               filesystem type ''nfs''.";
    assert!(of(nfs).0.ends_with("that volume nfs needs (mount.nfs)"));
    let local = "MountVolume.NewMounter initialization failed for volume \"pv\" : path \"/mnt/d1\" does not exist";
    assert!(of(local).1.starts_with("Create /mnt/d1 on node n1"));
    let unknown = "MountVolume.SetUp failed for volume \"c\" : object \"shop\"/\"settings\" not registered";
    assert!(of(unknown).1.starts_with("Check that settings exists in namespace shop"));
}

#[test]
fn more_detailed_of_two_simultaneous_events_names_the_object() {
    let missing = not_mounted("MountVolume.SetUp failed for volume \"c\" : configmap \"conf\" not found");
    let (_, event) = missing.split_once("---\n").unwrap();
    let timed_out = "Unable to attach or mount volumes: unmounted volumes=[c], timed out waiting for the condition";
    let start = event.find("message: ").unwrap();
    let end = event.find("\ncount").unwrap();
    let other = format!("{}message: '{timed_out}'{}", &event[..start], &event[end..]);
    for text in [format!("{missing}---\n{other}"), missing.replace("---\n", &format!("---\n{other}---\n"))] {
        assert!(summary_and_patch(&text).1.starts_with("Create ConfigMap conf in namespace shop"));
    }
}

#[test]
fn cloud_error_is_reported_without_request_ids() {
    use crate::message::Message;
    let aws = "could not attach volume \"vol-0\" to node \"i-0\": UnauthorizedOperation: You are not authorized to perform \
               this operation. Encoded authorization failure message: xyz\n\tstatus code: 403, request id: 1";
    assert_eq!(
        Message::parse(aws).summary(120, &[]),
        "could not attach volume \"vol-0\" to node \"i-0\": UnauthorizedOperation: You are not authorized to perform this operation"
    );
    let azure = "failed to mount objects, error: autorest/azure: Service returned an error. Status=403 Code=\"Forbidden\" \
                 Message=\"The user, group or application does not have secrets get permission\"";
    assert_eq!(
        Message::parse(azure).summary(120, &[]),
        "… Service returned an error. Status=403 Forbidden: The user, group or application does not have secrets get permission"
    );
}

/// A container that its liveness probe kills `ran` seconds after each start.
fn killed(container: &str, words: &str, ran: u32) -> String {
    format!(
        r#"
kind: Pod
metadata: {{name: web, namespace: shop, uid: u1}}
spec: {{nodeName: n1, terminationGracePeriodSeconds: 0, containers: [{{name: web, image: "shop/web:1", {container}}}]}}
status:
  phase: Running
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - {{name: web, restartCount: 9, state: {{waiting: {{reason: CrashLoopBackOff}}}},
      lastState: {{terminated: {{exitCode: 137, reason: Error, startedAt: "2026-11-21T09:58:00Z", finishedAt: "2026-11-21T09:58:{ran:02}Z"}}}}}}
---
kind: Event
involvedObject: {{kind: Pod, namespace: shop, name: web, uid: u1, fieldPath: "spec.containers{{web}}"}}
reason: Unhealthy
type: Warning
message: '{words}'
count: 27
firstTimestamp: "2026-11-21T09:00:10Z"
lastTimestamp: "2026-11-21T09:58:{ran:02}Z"
---
kind: Event
involvedObject: {{kind: Pod, namespace: shop, name: web, uid: u1, fieldPath: "spec.containers{{web}}"}}
reason: Killing
message: Container web failed liveness probe, will be restarted
count: 9
firstTimestamp: "2026-11-21T09:00:20Z"
lastTimestamp: "2026-11-21T09:58:{ran:02}Z"
"#
    )
}

#[test]
fn container_killed_at_the_first_probe_gets_more_time_to_start() {
    let probe = "livenessProbe: {httpGet: {path: /, port: 8080}, initialDelaySeconds: 3, periodSeconds: 3, failureThreshold: 3}";
    let refused =
        "Liveness probe failed: Get \"http://10.0.0.1:8080/\": dial tcp 10.0.0.1:8080: connect: connection refused";
    let first = |ports: &str| summary_and_patch(&killed(&format!("{probe}, ports: [{ports}]"), refused, 12)).1;
    assert!(first("").starts_with("If web listens on 8080 later than") && first("").contains("add a startupProbe"));
    assert!(
        first("{containerPort: 80}").starts_with("Point the liveness probe at port 80, the only one"),
        "another port is declared"
    );
}

#[test]
fn exec_probe_has_no_port() {
    let probe = "livenessProbe: {exec: {command: [ping, db]}, initialDelaySeconds: 30, periodSeconds: 5}";
    let timed_out = "Liveness probe failed: command \"ping db\" timed out";
    let (_, first) = summary_and_patch(&killed(probe, timed_out, 45));
    assert!(first.contains("takes longer than timeoutSeconds (1)"), "{first}");
    let (_, first) =
        summary_and_patch(&killed(probe, "Liveness probe failed: Could not connect: connection refused", 45));
    assert!(first.contains("the command of the liveness probe (exec ping db)"), "{first}");
}

#[test]
fn docker_hub_is_not_a_typo_of_an_image_without_registry() {
    let pod = |image: &str, host: &str| {
        format!(
            r#"
kind: Pod
metadata: {{name: web, namespace: shop, uid: u1}}
spec: {{nodeName: n1, containers: [{{name: web, image: "{image}"}}]}}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - {{name: web, state: {{waiting: {{reason: ErrImagePull, message: 'dial tcp: lookup {host} on 10.0.0.2:53: no such host'}}}}}}
"#
        )
    };
    assert!(
        summary_and_patch(&pod("nginx:latest", "registry-1.docker.io")).1.starts_with("Check the resolver of node n1")
    );
    assert!(
        summary_and_patch(&pod("reg.exmaple.com/web:1", "reg.exmaple.com"))
            .1
            .starts_with("If reg.exmaple.com is a typo")
    );
}

#[test]
fn rollback_uses_only_a_good_revision() {
    let pod = not_started("command: [/srv]", "", "exec: \"/srv\": no such file or directory: unknown");
    let crash = pod.replace("reason: StartError", "reason: Error").replace("exitCode: 128", "exitCode: 3");
    let set = |n: u32, name: &str, replicas: u32| {
        format!(
            "\n---\nkind: ReplicaSet\nmetadata: {{name: web-{name}, namespace: shop, uid: r{n}, annotations: {{deployment.kubernetes.io/revision: '{n}'}}, ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, controller: true, uid: d}}]}}\nspec: {{replicas: {replicas}}}\nstatus: {{readyReplicas: {replicas}}}"
        )
    };
    let deployment = "\n---\nkind: Deployment\nmetadata: {name: web, namespace: shop, uid: d}\nspec: {replicas: 2}";
    let back = |sets: &[String]| {
        let remedies = diagnosed(&format!("{crash}{deployment}{}", sets.concat())).remedies;
        let is_rollback = |remedy: &Remedy| remedy.operation == Operation::Rollback;
        remedies.into_iter().find(is_rollback).and_then(|remedy| remedy.command)
    };
    let (new, bad, good) = (set(3, "5d9", 0), set(2, "4c8", 0), set(1, "3b7", 2));
    let to_good = "kubectl -n shop rollout undo deployment/web --to-revision=1".to_owned();
    assert_eq!(back(&[new.clone(), bad.clone(), good]), Some(to_good));
    let see = "kubectl -n shop rollout history deployment/web".to_owned();
    assert_eq!(back(&[new.clone(), bad]), Some(see), "whether it was good is unknown");
    assert_eq!(back(&[new]), None, "there is no other");
}

#[test]
fn job_with_an_invalid_image_is_recreated() {
    let pod = r#"
kind: Pod
metadata: {name: import-x, namespace: shop, uid: u1, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: import, controller: true, uid: j}]}
spec: {nodeName: n1, restartPolicy: Never, containers: [{name: work, image: "shop/work:nope"}]}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - {name: work, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "shop/work:nope": ErrImagePull: failed to resolve reference: shop/work:nope: not found'}}}
"#;
    let found = diagnosed(pod);
    let set = found.remedies.iter().find(|remedy| remedy.text.starts_with("Set an image")).unwrap();
    assert!(set.text.contains("deletes the Job with its pods and creates it again"), "{}", set.text);
    // The placeholder stands before a pipe, so that a shell refuses the whole line.
    assert_eq!(
        set.command.as_deref(),
        Some(
            "kubectl -n shop get job import -o json | kubectl set image --local -o json -f - work=<IMAGE> | kubectl patch \
             --local -f - -p '{\"spec\":{\"selector\":null,\"template\":{\"metadata\":{\"labels\":\
             {\"batch.kubernetes.io/controller-uid\":null,\"controller-uid\":null}},\"spec\":{}}}}' -o json > import.json \
             && kubectl -n shop replace --force -f import.json"
        )
    );
}

#[test]
fn placeholders_are_not_in_commands() {
    let crashed = |container: &str, words: &str| {
        not_started(container, "{name: data, emptyDir: {}}", words).replace(
            "exitCode: 128, reason: StartError",
            "exitCode: 1, reason: Error, startedAt: '2026-11-21T09:58:59Z'",
        )
    };
    let forbidden = r#"pods is forbidden: User "system:serviceaccount:shop:default" cannot list resource "pods" in API group "" in the namespace "shop""#;
    for (container, words, cause) in [
        ("args: [--bogus]", "Error: unknown flag: --bogus", "UnknownArgument"),
        ("volumeMounts: [{name: data, mountPath: /data}]", "open /data/x: permission denied", "FilePermissionDenied"),
        ("", forbidden, "RbacForbidden"),
    ] {
        let found = diagnosed(&crashed(container, words));
        assert_eq!(found.cause, cause);
        let first = &found.remedies[0];
        let command = first.command.as_deref().unwrap_or_default();
        assert!(command.ends_with(" edit deployment/web") && first.patch.is_none(), "{cause}: {command}");
    }
}
