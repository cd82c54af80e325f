//! Wordings of upstream components, in the wrappers that they reach Events in, and what a summary shows of them.

use super::{Grpc, Message, ObjectKind};

const SANDBOX: &str = r#"Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "3f1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8": plugin type="x" failed (add): "#;
const CRIO: &str = r#"Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create pod network sandbox k8s_web_shop_5b0e_0(3f1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8): error adding pod shop_web to CNI network "x": "#;
const RUNTIME: &str = "Failed to create pod sandbox: rpc error: code = Unknown desc = ";
const START: &str = "Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: ";
const PULL: &str = r#"Failed to pull image "r.io/a/b:1": rpc error: code = Unknown desc = failed to pull and unpack image "r.io/a/b:1": failed to resolve reference "r.io/a/b:1": "#;
const ATTACH: &str = r#"AttachVolume.Attach failed for volume "pvc-1f" : rpc error: code = Internal desc = "#;
const STAGE: &str = r#"MountVolume.MountDevice failed for volume "pvc-1f" : rpc error: code = Internal desc = "#;
const SETUP: &str = r#"MountVolume.SetUp failed for volume "data" : "#;
const PROVISION: &str = r#"failed to provision volume with StorageClass "gp3": rpc error: code = Internal desc = "#;
const RESIZE: &str =
    r#"resize volume "pvc-1f" by resizer "ebs.csi.aws.com" failed: rpc error: code = Internal desc = "#;

/// Wrapper, wording and what 120 characters show of it.
const WORDINGS: &[(&str, &str, &str)] = &[
    // Network plugins
    (
        SANDBOX,
        r#"failed to set bridge addr: "cni0" already has an IP address different from 10.244.1.1/24"#,
        r#"failed to set bridge addr: "cni0" already has an IP address different from 10.244.1.1/24"#,
    ),
    (
        SANDBOX,
        "failed to allocate for range 0: no IP addresses available in range set: 10.244.1.1-10.244.1.254",
        "failed to allocate for range 0: no IP addresses available in range set: 10.244.1.1-10.244.1.254",
    ),
    (
        SANDBOX,
        "error getting ClusterInformation: connection is unauthorized: Unauthorized",
        "error getting ClusterInformation: connection is unauthorized",
    ),
    (
        SANDBOX,
        "loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or directory",
        "loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or directory",
    ),
    (
        SANDBOX,
        "failed to load flannel 'subnet.env' file: open /run/flannel/subnet.env: no such file or directory. Check the flannel pod log for this node.",
        "failed to load flannel 'subnet.env' file: open /run/flannel/subnet.env: no such file or directory",
    ),
    (SANDBOX, "add cmd: failed to assign an IP address to container", "failed to assign an IP address to container"),
    (
        SANDBOX,
        "unable to allocate IP via local cilium agent: [POST /ipam][502] postIpamFailure  range is full",
        "unable to allocate IP via local cilium agent: [POST /ipam][502] postIpamFailure range is full",
    ),
    (
        SANDBOX,
        r#"unable to connect to Cilium agent: failed to create cilium agent client after 30.000000 seconds timeout: Get "http://localhost/v1/config": dial unix /var/run/cilium/cilium.sock: connect: no such file or directory"#,
        r#"… Get "http://localhost/v1/config": dial unix /var/run/cilium/cilium.sock: no such file or directory"#,
    ),
    (
        SANDBOX,
        "failed to allocate IPv4 address for Pod shop/web: all IPPools exhausted",
        "failed to allocate IPv4 address for Pod shop/web: all IPPools exhausted",
    ),
    (
        SANDBOX,
        "IPAM Invoker Add failed with error: Failed to allocate pool: Failed to delegate: no available addresses",
        "IPAM Invoker Add failed with error: Failed to allocate pool: Failed to delegate: no available addresses",
    ),
    (
        SANDBOX,
        r#"[default/web/5b0e:ovn]: error adding container to network "ovn": CNI request failed with status 400: '[shop/web 3f1b] failed to configure pod interface: timed out waiting for OVS port binding (ovn-installed) for 0a:58:0a:80:00:1f [10.128.0.31/23]'"#,
        "… timed out waiting for OVS port binding (ovn-installed) for 0a:58:0a:80:00:1f [10.128.0.31/23]",
    ),
    (
        CRIO,
        r#"plugin type="multus" name="multus-cni-network" failed (add): cannot find a network-attachment-definition (macvlan) in namespace (shop): network-attachment-definitions.k8s.cni.cncf.io "macvlan" not found"#,
        r#"… cannot find a network… in namespace (shop): network-attachment-definitions.k8s.cni.cncf.io "macvlan" not found"#,
    ),
    (
        RUNTIME,
        "failed to set up sandbox container \"3f1b\" network for pod \"web\": networkPlugin cni failed to set up pod \"web_shop\" network: add cmd: failed to assign an IP address to container, failed to clean up sandbox container \"3f1b\" network for pod \"web\": networkPlugin cni failed to teardown pod \"web_shop\" network: del cmd: failed to process delete request",
        "failed to assign an IP address to container",
    ),
    (
        RUNTIME,
        r#"failed to reserve sandbox name "web_shop_5b0e_0": name "web_shop_5b0e_0" is reserved for "3f1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8""#,
        r#"name "web_shop_5b0e_0" is reserved for "3f1b7c9a2d4e…""#,
    ),
    (
        RUNTIME,
        r#"failed to get sandbox image "registry.k8s.io/pause:3.10": failed to pull image "registry.k8s.io/pause:3.10": failed to pull and unpack image "registry.k8s.io/pause:3.10": failed to resolve reference "registry.k8s.io/pause:3.10": failed to do request: Head "https://registry.k8s.io/v2/pause/manifests/3.10": dial tcp 34.96.108.209:443: i/o timeout"#,
        "dial tcp 34.96.108.209:443: i/o timeout",
    ),
    (
        RUNTIME,
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: write /proc/sys/net/ipv4/ip_local_port_range: invalid argument: unknown",
        "write /proc/sys/net/ipv4/ip_local_port_range: invalid argument",
    ),
    (
        RUNTIME,
        "failed to create containerd task: failed to start shim: start failed: io.containerd.runc.v2: create new shim socket: listen unix /run/containerd/s/3f1b: bind: address already in use: exit status 1: unknown",
        "… io.containerd.runc.v2: create new shim socket: listen unix /run/containerd/s/3f1b: bind: address already in use",
    ),
    (
        "",
        "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        "context deadline exceeded",
    ),
    (
        "",
        r#"Failed create pod sandbox: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused""#,
        "Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused",
    ),
    (
        "",
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
        "cni plugin not initialized",
    ),
    // Start of containers
    (
        START,
        r#"exec: "start-server": executable file not found in $PATH: unknown"#,
        r#"exec: "start-server": executable file not found in $PATH"#,
    ),
    (
        START,
        r#"error during container init: error mounting "/var/lib/kubelet/pods/5b0e/volume-subpaths/config/web/0" to rootfs at "/etc/app.conf": mount /var/lib/kubelet/pods/5b0e/volume-subpaths/config/web/0:/etc/app.conf (via /proc/self/fd/6), flags: 0x5001: not a directory: unknown"#,
        r#"error mounting "/var/lib/kubelet/pods/5b0e/volume-subpaths/config/web/0" to rootfs at "/etc/app.conf": not a directory"#,
    ),
    (
        START,
        "error during container init: unable to apply apparmor profile: apparmor failed to apply profile: write /proc/self/attr/apparmor/exec: no such file or directory: unknown",
        "apparmor failed to apply profile: write /proc/self/attr/apparmor/exec: no such file or directory",
    ),
    (
        START,
        "error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
        "error running prestart hook #0: nvidia-container-cli: initialization error: nvml error: driver not loaded",
    ),
    (START, "can't get final child's PID from pipe: EOF: unknown", "can't get final child's PID from pipe: EOF"),
    (
        START,
        "error during container init: unable to set seccomp filter: error loading seccomp filter into kernel: error loading seccomp filter: errno 524: unknown",
        "unable to set seccomp filter: error loading seccomp filter into kernel: errno 524",
    ),
    ("Error: ", "container create failed: open executable: Permission denied", "open executable: Permission denied"),
    (
        "Error: ",
        r#"failed to generate container "3f1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8" spec: failed to generate spec: path "/mnt/data" is mounted on "/" but it is not a shared mount"#,
        r#"path "/mnt/data" is mounted on "/" but it is not a shared mount"#,
    ),
    (
        "Error: ",
        r#"failed to reserve container name "web_web-1_shop_5b0e_0"; check if another CreateContainer request is in progress: name "web_web-1_shop_5b0e_0" is reserved for "3f1b""#,
        r#"failed to reserve container name "web_web-1_shop_5b0e_0": name "web_web-1_shop_5b0e_0" is reserved for "3f1b""#,
    ),
    (
        "Error: ",
        r#"failed to start containerd task "3f1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8": cannot start a stopped process: unknown"#,
        "cannot start a stopped process",
    ),
    (
        "Error response from daemon: ",
        r#"OCI runtime create failed: container_linux.go:348: starting container process caused "exec: \"start-server\": executable file not found in $PATH": unknown"#,
        r#"exec: "start-server": executable file not found in $PATH"#,
    ),
    (
        "",
        r#"oci runtime error: container_linux.go:247: starting container process caused "process_linux.go:359: container init caused \"rootfs_linux.go:54: mounting \\\"/a\\\" to rootfs \\\"/b\\\" at \\\"/etc/app.conf\\\" caused \\\"not a directory\\\"\"""#,
        r#"mounting "/a" to rootfs "/b" at "/etc/app.conf": not a directory"#,
    ),
    // Images
    (PULL, "r.io/a/b:1: not found", "not found"),
    (
        r#"Failed to pull image "r.io/a/b:1": "#,
        r#"unable to pull image or OCI artifact: pull image err: initializing source docker://r.io/a/b:1: pinging container registry r.io: Get "https://r.io/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority; artifact err: get manifest: build image source: pinging container registry r.io: Get "https://r.io/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority"#,
        "… initializing source docker://r.io/a/b:1: … failed to verify certificate: certificate signed by unknown authority",
    ),
    (
        PULL,
        r#"failed to do request: Head "https://r.io/v2/a/b/manifests/1": dial tcp: lookup r.io on 10.0.0.2:53: no such host"#,
        "lookup r.io on 10.0.0.2:53: no such host",
    ),
    (
        PULL,
        r#"failed to do request: Head "https://r.io/v2/a/b/manifests/1": tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-21T09:00:03Z is after 2026-11-01T00:00:00Z"#,
        "… certificate has expired or is not yet valid: current time 2026-11-21T09:00:03Z is after 2026-11-01T00:00:00Z",
    ),
    (
        PULL,
        "failed to authorize: failed to fetch oauth token: unexpected status from POST request to https://auth.r.io/token?scope=repository%3Aa%2Fb%3Apull&service=r.io&client_id=containerd: 401 Unauthorized",
        "unexpected status from POST request to https://auth.r.io/token?…: 401 Unauthorized",
    ),
    (
        PULL,
        "unexpected status from HEAD request to https://r.io/v2/a/b/manifests/1: 503 Service Unavailable",
        "unexpected status from HEAD request to https://r.io/v2/a/b/manifests/1: 503 Service Unavailable",
    ),
    (
        PULL,
        "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
        "pull access denied, repository does not exist or may require authorization: insufficient_scope: authorization failed",
    ),
    (
        PULL,
        "unexpected status from HEAD request to https://r.io/v2/a/b/manifests/1: 429 Too Many Requests\ntoomanyrequests: You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit",
        "… 429 Too Many Requests: toomanyrequests: You have reached your unauthenticated pull rate limit",
    ),
    (
        "",
        r#"Failed to pull image "r.io/a/b:1": rpc error: code = Unknown desc = reading manifest 1 in r.io/a/b: unauthorized: {"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}"#,
        "reading manifest 1 in r.io/a/b: unauthorized: DENIED: requested access to the resource is denied",
    ),
    (
        "",
        r#"Failed to pull image "r.io/a/b:1": failed to pull and unpack image "r.io/a/b:1": failed commit on ref "layer-sha256:6a1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8": unexpected commit digest sha256:0f3c7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8, expected sha256:6a1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8: failed precondition"#,
        "unexpected commit digest sha256:0f3c7c9a2d4e…, expected sha256:6a1b7c9a2d4e…",
    ),
    // Volumes: kubelet and mount
    (
        SETUP,
        "mount failed: exit status 32\nMounting command: systemd-run\nMounting arguments: --description=Kubernetes transient mount --scope -- mount -t nfs 10.0.0.5:/exports/app /var/lib/kubelet/pods/5b0e/volumes/data\nOutput: Running scope as unit: run-r1.scope\nmount.nfs: mounting 10.0.0.5:/exports/app failed, reason given by server: No such file or directory\n",
        "mount.nfs: mounting 10.0.0.5:/exports/app failed, reason given by server: No such file or directory",
    ),
    (
        SETUP,
        "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t ext4 /dev/sdb /x\nOutput: mount: /var/lib/kubelet/pods/5b0e/volumes/data: wrong fs type, bad option, bad superblock on /dev/sdb, missing codepage or helper program, or other error.\n       dmesg(1) may have more information after failed mount system call.\n",
        "wrong fs type, bad option, bad superblock on /dev/sdb, missing codepage or helper program, or other error",
    ),
    (
        SETUP,
        "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t cifs //nas/a /x\nOutput: mount error(13): Permission denied\nRefer to the mount.cifs(8) manual page (e.g. man mount.cifs) and kernel log messages (dmesg)\n",
        "mount error(13): Permission denied",
    ),
    (
        SETUP,
        "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs nas:/a /x\nOutput: mount.nfs: Connection timed out for nas:/a on /x\n",
        "mount.nfs: Connection timed out for nas:/a on /x",
    ),
    (
        SETUP,
        "hostPath type check failed: /var/run/docker.sock is not a socket file",
        "hostPath type check failed: /var/run/docker.sock is not a socket file",
    ),
    (
        SETUP,
        "failed to fetch token: serviceaccounts \"builder\" is forbidden: User \"system:node:n1\" cannot create resource \"serviceaccounts/token\"",
        r#"failed to fetch token: serviceaccounts "builder" is forbidden: system:node:n1 cannot create serviceaccounts/token"#,
    ),
    (
        STAGE,
        "'fsck' found errors on device /dev/nvme1n1 but could not correct them: fsck from util-linux 2.38\n/dev/nvme1n1: Superblock has an invalid journal (inode 8).\n",
        "'fsck' found errors on device /dev/nvme1n1 but could not correct them: Superblock has an invalid journal (inode 8)",
    ),
    (
        STAGE,
        "rbd: map failed with error an error (exit status 108) occurred while running rbd args: [--id csi-rbd-node map], rbd error output: rbd: sysfs write failed",
        "rbd: map failed with error an error (exit status 108), rbd error output: sysfs write failed",
    ),
    (
        "",
        r#"MountVolume.MountDevice failed for volume "pvc-1f" : rpc error: code = Aborted desc = an operation with the given Volume ID 0001-0009 already exists"#,
        "an operation with the given Volume ID 0001-0009 already exists",
    ),
    (
        "",
        r#"MountVolume.MountDevice failed for volume "pvc-1f" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers"#,
        "… driver name ebs.csi.aws.com not found in the list of registered CSI drivers",
    ),
    (
        "",
        "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC shop/data: PVC is being deleted",
        "error processing PVC shop/data: PVC is being deleted",
    ),
    // Volumes: clouds
    (
        ATTACH,
        r#"Could not attach volume "vol-1" to node "i-1": could not attach volume "vol-1" to node "i-1": operation error EC2: AttachVolume, https response error StatusCode: 400, RequestID: 6f2a-1, api error VolumeInUse: vol-1 is already attached to an instance"#,
        r#"Could not attach volume "vol-1" to node "i-1": EC2 AttachVolume: VolumeInUse: vol-1 is already attached to an instance"#,
    ),
    (
        ATTACH,
        r#"Could not attach volume "vol-1" to node "i-1": attachment of disk "vol-1" failed, expected device to be attached but was attaching"#,
        r#"… attachment of disk "vol-1" failed, expected device to be attached but was attaching"#,
    ),
    (
        "",
        r#"AttachVolume.Attach failed for volume "pvc-1f" : rpc error: code = NotFound desc = Instance "i-1" not found"#,
        r#"Instance "i-1" not found"#,
    ),
    (
        ATTACH,
        r#"Attach volume /subscriptions/a/resourceGroups/b/providers/Microsoft.Compute/disks/d1 to instance vm1 failed with Retriable: false, RetryAfter: 0s, HTTPStatusCode: 409, RawError: {"error":{"code":"AttachDiskWhileBeingDetached","message":"Cannot attach data disk 'd1' to VM 'vm1' because the disk is currently being detached."}}"#,
        "… AttachDiskWhileBeingDetached: Cannot attach data disk 'd1' to VM 'vm1' because the disk is currently being detached",
    ),
    (
        PROVISION,
        "could not create volume in EC2: operation error EC2: CreateVolume, https response error StatusCode: 403, RequestID: 6f2a-1, api error UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: rDx0J8abc",
        "… EC2 CreateVolume: UnauthorizedOperation: You are not authorized to perform this operation (HTTP 403)",
    ),
    (
        PROVISION,
        "CreateVolume failed to create single zonal disk pvc-1f: failed to insert zonal disk: unknown Insert disk error: googleapi: Error 403: QUOTA_EXCEEDED - Quota 'SSD_TOTAL_GB' exceeded.  Limit: 500.0 in region europe-west1., quotaExceeded",
        "… QUOTA_EXCEEDED - Quota 'SSD_TOTAL_GB' exceeded. Limit: 500.0 in region europe-west1., quotaExceeded (HTTP 403)",
    ),
    (
        "",
        r#"failed to provision volume with StorageClass "nfs": rpc error: code = ResourceExhausted desc = No vg available to serve volume request having regex="vg0" & capacity="5Gi""#,
        r#"No vg available to serve volume request having regex="vg0" & capacity="5Gi" (ResourceExhausted)"#,
    ),
    (
        "",
        r#"failed to provision volume with StorageClass "x": error generating accessibility requirements: no available topology found"#,
        "error generating accessibility requirements: no available topology found",
    ),
    (
        RESIZE,
        r#"Could not resize volume "vol-1": volume "vol-1" in OPTIMIZING state, cannot currently modify"#,
        r#"Could not resize volume "vol-1": volume "vol-1" in OPTIMIZING state, cannot currently modify"#,
    ),
    (
        "",
        r#"MountVolume.SetUp failed for volume "data" : rpc error: code = Unauthenticated desc = failed to prepare storage service: context deadline exceeded"#,
        "failed to prepare storage service: context deadline exceeded (Unauthenticated)",
    ),
    (
        SETUP,
        "rpc error: code = Unknown desc = failed to mount secrets store objects for pod shop/web, err: rpc error: code = Unknown desc = failed to mount objects, error: failed to get objectType:secret, objectName:db, objectVersion:: GET https://v.vault.azure.net/secrets/db/\n----------------\nRESPONSE 403: 403 Forbidden\nERROR CODE: Forbidden\n----------------\n{\n  \"error\": {\n    \"code\": \"Forbidden\",\n    \"message\": \"The user, group or application does not have secrets get permission\"\n  }\n}\n",
        "… Forbidden: The user, group or application does not have secrets get permission",
    ),
    // Pods that cannot be created
    (
        "Error creating: ",
        r#"Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.policy-system.svc:443/validate?timeout=10s": service "policy" not found"#,
        r#"… Post "https://policy.policy-system.svc:443/validate?…": service "policy" not found"#,
    ),
    (
        "Error creating: ",
        r#"pods "web-" is forbidden: error looking up service account shop/builder: serviceaccount "builder" not found"#,
        r#"pods "web-" is forbidden: error looking up service account shop/builder: serviceaccount "builder" not found"#,
    ),
    (
        "Error creating: ",
        r#"admission webhook "validation.gatekeeper.sh" denied the request: [must-have-owner] you must provide labels: {"owner"}"#,
        r#"admission webhook "validation.gatekeeper.sh" denied the request: [must-have-owner] you must provide labels: {"owner"}"#,
    ),
    // Errors that are joined
    (
        "",
        r#"error killing pod: [failed to "KillContainer" for "app" with KillContainerError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded", failed to "KillPodSandbox" for "5b0e" with KillPodSandboxError: "rpc error: code = Unknown desc = no such task"]"#,
        "error killing pod: context deadline exceeded; no such task",
    ),
    (
        "",
        "2 errors occurred:\n\t* cannot reach etcd at 10.0.0.1:2379: connection refused\n\t* cannot reach etcd at 10.0.0.2:2379: i/o timeout\n\n",
        "cannot reach etcd at 10.0.0.1:2379: connection refused; cannot reach etcd at 10.0.0.2:2379: i/o timeout",
    ),
];

#[test]
fn a_summary_shows_operation_object_and_leaf() {
    let mut wrong = Vec::new();
    for (wrapper, wording, expected) in WORDINGS {
        let shown = Message::parse(&format!("{wrapper}{wording}")).summary(120, &["r.io/a/b:1", "x"]);
        if shown != *expected {
            wrong.push(format!("{wording}\n  expected {expected}\n  shown    {shown}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), WORDINGS.len(), wrong.join("\n"));
}

#[test]
fn codes_operation_and_object_are_read() {
    let text = format!(
        r#"{ATTACH}Could not attach volume "vol-1" to node "i-1": operation error EC2: AttachVolume, https response error StatusCode: 400, RequestID: 1, api error VolumeInUse: vol-1 is in use"#
    );
    let message = Message::parse(&text);
    assert_eq!(message.codes().grpc, Some(Grpc::Internal));
    assert_eq!(message.codes().http, Some(400));
    assert_eq!(message.operation(), Some("attach volume"));
    assert_eq!(message.leaf(), "vol-1 is in use");
    let object = message.object().unwrap();
    assert_eq!((object.kind, object.name), (ObjectKind::Volume, "vol-1"));
    let text = format!("{SANDBOX}open /run/flannel/subnet.env: no such file or directory");
    let message = Message::parse(&text);
    assert_eq!((message.codes().errno, message.operation()), (Some("ENOENT"), Some("open")));
    assert_eq!(message.object().map(|object| object.name), Some("/run/flannel/subnet.env"));
    assert_eq!(message.wrappers().next(), Some("Failed to create pod sandbox"));
    assert_eq!(Message::parse("").leaf(), "");
}
