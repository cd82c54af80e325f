//! What the kubelet and the runtimes say of a container that cannot be started, and by which words each cause is known.

use super::{CONFIG, CREATE, ENV, RUNTIME, object, remedies};
use crate::api::Root;
use crate::diagnosis::rules::signature::{self, ROW, Row, Seen, its_node};
use crate::diagnosis::{Case, Explain, RootKind, Specificity};
use crate::facts::Container;

pub(super) const ROWS: &[Row] = &[
    Row {
        cause: "ConfigMapNotFound",
        reasons: ENV,
        words: &[&["configmap \"", "\" not found"], &["configmaps \"", "\" not found"]],
        says: "ConfigMap {object} does not exist in namespace {namespace}; {container} takes {use} from it",
        root: config_map,
        remedies: remedies::create_config_map,
        explain: Explain {
            meaning: "An environment variable comes from a ConfigMap that does not exist in the pod's namespace.",
            told_apart: "The kubelet says so when it builds the environment. A ConfigMap that is mounted shows as a FailedMount Event; a missing key of one that exists is ConfigMapKeyMissing.",
            action: "Create the ConfigMap, correct its name, or mark the reference optional. The kubelet tries again by itself.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables",
        },
        ..ROW
    },
    Row {
        cause: "SecretNotFound",
        reasons: ENV,
        words: &[&["secret \"", "\" not found"], &["secrets \"", "\" not found"]],
        says: "Secret {object} does not exist in namespace {namespace}; {container} takes {use} from it",
        root: secret,
        remedies: remedies::create_secret,
        explain: Explain {
            meaning: "An environment variable comes from a Secret that does not exist in the pod's namespace.",
            told_apart: "The kubelet says so when it builds the environment. A Secret that is mounted shows as a FailedMount Event; a pull secret never stops a pod in this way.",
            action: "Create the Secret, correct its name, or mark the reference optional. The kubelet tries again by itself.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables",
        },
        ..ROW
    },
    Row {
        cause: "ConfigMapKeyMissing",
        reasons: ENV,
        words: &[&["couldn't find key ", " in configmap "]],
        says: "ConfigMap {object} has no key {key}; {container} takes {use} from it",
        root: config_map,
        remedies: remedies::add_key,
        explain: Explain {
            meaning: "The ConfigMap is there, but not the key that an environment variable takes.",
            told_apart: "The message names the key; a missing object is ConfigMapNotFound.",
            action: "Add the key, correct its name in the pod, or mark the reference optional.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables",
        },
        ..ROW
    },
    Row {
        cause: "SecretKeyMissing",
        reasons: ENV,
        words: &[&["couldn't find key ", " in secret "]],
        says: "Secret {object} has no key {key}; {container} takes {use} from it",
        root: secret,
        remedies: remedies::add_key,
        explain: Explain {
            meaning: "The Secret is there, but not the key that an environment variable takes.",
            told_apart: "The message names the key; a missing object is SecretNotFound.",
            action: "Add the key, correct its name in the pod, or mark the reference optional.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables",
        },
        ..ROW
    },
    Row {
        cause: "EnvFileKeyMissing",
        reasons: CONFIG,
        words: &[&["environment variable key ", " not found in file "], &["couldn't parse env file"]],
        says: "{container} takes a variable from a file that lacks it or cannot be read: {words}",
        remedies: remedies::env_file,
        explain: Explain {
            meaning: "A variable that is to come from a file in a volume (fileKeyRef) is not in that file.",
            told_apart: "Only fileKeyRef (on by default since 1.35) says this; the file itself was found.",
            action: "Let the init container write the variable, correct key and path, or mark the reference optional.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables",
        },
        ..ROW
    },
    Row {
        cause: "RunAsNonRootViolation",
        reasons: CONFIG,
        words: &[
            &["container has runasnonroot and image"],
            &["container's runasuser", "breaks non-root policy"],
            &["cannot verify user is non-root"],
        ],
        says: "{container} must not run as root (runAsNonRoot), but {why}",
        remedies: remedies::run_as_user,
        explain: Explain {
            meaning: "The security context forbids root, and the container would run as root, or it cannot be proven that it would not.",
            told_apart: "The kubelet checks the user before it creates the container. A user's name in the image cannot be checked: only a number can.",
            action: "Set runAsUser to a number other than 0 that the image can work with, or give the image a numeric USER.",
            source: "kubernetes pkg/kubelet/kuberuntime/security_context_others.go verifyRunAsNonRoot",
        },
        ..ROW
    },
    Row {
        cause: "SubPathFailed",
        reasons: CONFIG,
        words: &[
            &["failed to prepare subpath for volumemount"],
            &["failed to create subpath directory for volumemount"],
            &["unable to provision subpath"],
            &["error subpath "],
        ],
        says: "{container}: the subPath of volume {volume} cannot be prepared",
        remedies: remedies::sub_path,
        explain: Explain {
            meaning: "The kubelet cannot make or open the path inside a volume that a mount's subPath names.",
            told_apart: "The volume itself is mounted. Details are only in the kubelet's log: usual are a file where a directory is needed, a link that leaves the volume, or a read-only volume.",
            action: "Correct the subPath, or create the path in the volume with the right owner.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go makeMounts",
        },
        ..ROW
    },
    Row {
        cause: "ServicesNotSynced",
        reasons: CONFIG,
        words: &[&["services have not yet been read at least once"]],
        patience: 60,
        says: "{container} waits: the kubelet on {node} has not read the Services yet",
        root: its_node,
        remedies: remedies::wait_for_kubelet,
        explain: Explain {
            meaning: "The kubelet has just started and does not know the Services, which it needs for the environment.",
            told_apart: "It passes by itself; if it lasts, the kubelet cannot list Services.",
            action: "Wait; if it lasts, look at the kubelet's log and its access to the API server.",
            source: "kubernetes pkg/kubelet/kubelet_pods.go getServiceEnvVarMap",
        },
        ..ROW
    },
    Row {
        cause: "ContainerNameReserved",
        reasons: CREATE,
        words: &[
            &["failed to reserve container name"],
            &["name ", " is reserved for "],
            &["error reserving ctr name"],
            &["is already in use by container"],
        ],
        patience: 30,
        says: "{container}: an earlier attempt to create it hangs in the runtime on {node} and still holds its name",
        root: its_node,
        remedies: remedies::runtime_hangs,
        explain: Explain {
            meaning: "The runtime still works on an earlier request to create this container.",
            told_apart: "A consequence of a slow or hung runtime, mostly of slow disks; the configuration of the pod is not at fault.",
            action: "Look at the node's disk load and the runtime's log; restart the runtime if it does not recover.",
            source: "containerd internal/cri/server/container_create.go; cri-o server/container_create.go",
        },
        ..ROW
    },
    Row {
        cause: "NoCommandSpecified",
        reasons: RUNTIME,
        words: &[&["no command specified"]],
        says: "{container}: neither the pod nor image {image} says what to run",
        remedies: remedies::set_command,
        explain: Explain {
            meaning: "The image has neither ENTRYPOINT nor CMD, and the pod sets no command.",
            told_apart: "Nothing was looked for: a command that is not in the image is ExecutableNotFound.",
            action: "Set `command`, or use an image that has an entry point (is it the right one?).",
            source: "containerd internal/cri/opts/spec_opts.go",
        },
        ..ROW
    },
    Row {
        cause: "ImageUserNotFound",
        reasons: RUNTIME,
        words: &[
            &["unable to find user "],
            &["no users found"],
            &["unable to find group "],
            &["no matching entries in passwd file"],
            &["no matching entries in group file"],
        ],
        says: "{container}: the user{user} that image {image} asks for is not in its /etc/passwd",
        remedies: remedies::run_as_user,
        explain: Explain {
            meaning: "The image (or runAsUserName) names a user or group that its own /etc/passwd or /etc/group lacks.",
            told_apart: "Names have to be looked up in the image; a number never fails in this way.",
            action: "Set runAsUser to a number, or add the user to the image.",
            source: "containerd pkg/oci (moby/sys/user); cri-o",
        },
        ..ROW
    },
    Row {
        cause: "SecurityProfileMissing",
        reasons: RUNTIME,
        words: &[
            &["cannot load seccomp profile"],
            &["apparmor profile not found"],
            &["unable to apply apparmor profile"],
            &["apparmor failed to apply profile"],
            &["setup seccomp", "no such file"],
        ],
        says: "{container}: its seccomp or AppArmor profile is not on node {node}: {words}",
        remedies: remedies::profile,
        explain: Explain {
            meaning: "The pod asks for a Localhost profile that the node does not have.",
            told_apart: "It depends on the node: the same pod runs where the profile is installed.",
            action: "Install the profile on every node that can run the pod, or use RuntimeDefault.",
            source: "containerd internal/cri/server/container_create_linux.go; runc libcontainer/apparmor",
        },
        ..ROW
    },
    Row {
        cause: "HostMountSourceBad",
        reasons: RUNTIME,
        words: &[
            &["failed to generate spec: failed to stat"],
            &["failed to generate spec: failed to mkdir"],
            &["failed to generate spec: failed to resolve symlink"],
            &["failed to generate spec: failed to apply opts: failed to stat"],
            &["bind source path does not exist"],
            &["failed to resolve symlink \""],
        ],
        says: "{container}: a path of node {node} that it mounts is not usable: {words}",
        remedies: remedies::host_path,
        explain: Explain {
            meaning: "What is to be mounted into the container does not exist on the node, or is a stale mount.",
            told_apart: "The runtime fails before runc is called; a bad target inside the container is MountFailedAtStart.",
            action: "Check the path on the node; a stale NFS or CSI mount needs its pod deleted or the node's mount repaired.",
            source: "containerd internal/cri/opts/spec_linux_opts.go",
        },
        ..ROW
    },
    Row {
        cause: "ImageVolumeMountFailed",
        words: &[&["imagevolumemountfailed"]],
        says: "{container}: its image volume cannot be mounted: {words}",
        remedies: remedies::image_volume,
        explain: Explain {
            meaning: "The image of a volume was pulled, but cannot be mounted as the pod asks.",
            told_apart: "The pull worked (else ImageVolumePullFailed); most often the subPath is not in the image.",
            action: "Correct the subPath of the volume's mount, or the image.",
            source: "containerd internal/cri/server/container_image_mount.go; CRI error ImageVolumeMountFailed",
        },
        ..ROW
    },
    Row {
        cause: "MountFailedAtStart",
        reasons: RUNTIME,
        words: &[
            &["error mounting \""],
            &["error mounting \\\""],
            &["are you trying to mount a directory onto a file"],
            &["failed to fulfil mount request"],
            &["crun: mount `"],
            &["creating mount destination"],
            // runc before 1.0.
            &["rootfs_linux.go", " mounting "],
        ],
        says: "{container}: the mount at {mount} fails: {short}",
        remedies: remedies::mount,
        explain: Explain {
            meaning: "A volume cannot be mounted at its place in the container.",
            told_apart: "The volume is ready on the node; the target inside the image does not fit: a directory over a file, a read-only parent, a subPath that is a directory.",
            action: "Correct mountPath or subPath; to mount one file over another, use subPath with the file's key.",
            source: "runc libcontainer/rootfs_linux.go; crun src/libcrun/linux.c",
        },
        ..ROW
    },
    Row {
        cause: "WorkingDirInvalid",
        reasons: RUNTIME,
        also: Some(is_working_dir),
        says: "{container}: working directory {dir} cannot be entered: {short}",
        remedies: remedies::working_dir,
        explain: Explain {
            meaning: "The container's working directory does not exist, is no directory, or is closed to its user.",
            told_apart: "The command was not looked for yet: runc changes to the directory first.",
            action: "Correct workingDir (or WORKDIR of the image), or its permissions for the container's user.",
            source: "runc libcontainer/init_linux.go finalizeNamespace; crun src/libcrun/container.c",
        },
        ..ROW
    },
    Row {
        cause: "CgroupApplyFailed",
        reasons: RUNTIME,
        words: &[
            &["unable to apply cgroup configuration"],
            // runc before 1.0.
            &["applying cgroup configuration for process"],
            &["error setting cgroup config"],
            &["unable to set cgroup config"],
            &["cgroup: writing to file"],
            // runc, where it is to use systemd and the kubelet names a path of cgroupfs.
            &["expected cgroupspath to be of format"],
        ],
        says: "{container}: node {node} cannot set up its cgroup: {short}",
        root: cannot_join_cgroup,
        remedies: remedies::cgroup,
        explain: Explain {
            meaning: "The kernel or systemd refuses the container's resource limits.",
            told_apart: "It concerns limits of the node, not the program. Kubelet and runtime with different cgroup drivers fail for every pod; one odd limit only for this one.",
            action: "Compare cgroupDriver of kubelet and runtime; check the container's limits for values that are too small.",
            source: "runc libcontainer/process_linux.go",
        },
        ..ROW
    },
    Row {
        cause: "UserNamespaceFailed",
        reasons: RUNTIME,
        words: &[
            &["user namespaces aren't enabled"],
            &["failed to set mount_attr_idmap"],
            &["idmap mounts aren't supported"],
            &["user namespaces", "not supported"],
        ],
        says: "{container}: node {node} cannot give it a user namespace (hostUsers: false): {short}",
        remedies: remedies::user_namespace,
        explain: Explain {
            meaning: "The pod wants a user namespace, and the node's kernel, file system or runtime cannot provide it.",
            told_apart: "Only pods with hostUsers: false are concerned, and only on such nodes.",
            action: "Remove hostUsers: false, or run the pod on nodes with a newer kernel and a file system that can map ids.",
            source: "runc libcontainer/configs/validate; runc libcontainer/mount_linux.go",
        },
        ..ROW
    },
    Row {
        cause: "ExecutablePermissionDenied",
        reasons: RUNTIME,
        also: Some(is_permission_denied),
        says: "{container}: its command {executable} is in {place} but cannot be executed: {why_not}",
        remedies: remedies::permission,
        explain: Explain {
            meaning: "The file that the container is to run exists but may not be executed.",
            told_apart: "A missing file is ExecutableNotFound; a file of another architecture starts and then ends with `exec format error`.",
            action: "Make the file executable in the image (chmod +x), or name a program instead of a directory or script without the bit.",
            source: "runc libcontainer/standard_init_linux.go; crun src/libcrun/container.c",
        },
        ..ROW
    },
    Row {
        cause: "ExecutableNotFound",
        reasons: RUNTIME,
        also: Some(is_not_found),
        says: "{container}: its command {executable} is not in {source}",
        remedies: remedies::set_command,
        explain: Explain {
            meaning: "The file that the container is to run does not exist in its image or PATH.",
            told_apart: "The runtime itself looks for the program and fails with 128, or 127 under docker. A shell that finds no program ends with 127 after a start, and is not this.",
            action: "Correct `command` (it replaces the image's ENTRYPOINT), or use the image that has the program.",
            source: "runc libcontainer/standard_init_linux.go; crun src/libcrun/container.c; docker daemon",
        },
        ..ROW
    },
    Row {
        cause: "RuntimeCallTimeout",
        reasons: RUNTIME,
        words: &[&["context deadline exceeded"], &["deadlineexceeded"]],
        patience: 30,
        says: "{container}: the container runtime on {node} does not answer in time",
        root: its_node,
        remedies: remedies::runtime_hangs,
        explain: Explain {
            meaning: "The runtime takes longer than the kubelet waits to create or start a container.",
            told_apart: "It hits many pods of a node at once; slow disks or a hung runtime are usual. The pod is not at fault.",
            action: "Look at the node's disk and CPU load and the runtime's log; drain the node if it lasts.",
            source: "kubernetes internal CRI client (gRPC deadline)",
        },
        ..ROW
    },
    Row {
        cause: "PreCreateHookError",
        reasons: &["PreCreateHookError"],
        says: "{container}: node {node} could not allot its resources: {words}",
        root: its_node,
        remedies: remedies::manager,
        explain: Explain {
            meaning: "The CPU, memory or topology manager of the kubelet failed for this container.",
            told_apart: "It is the kubelet's own allotment, before the runtime is asked.",
            action: "Check the kubelet's CPU and memory manager state on the node, and whether the node still has the resources.",
            source: "kubernetes pkg/kubelet/cm/internal_container_lifecycle_linux.go PreCreateContainer",
        },
        ..ROW
    },
    Row {
        cause: "PreStartHookError",
        reasons: &["PreStartHookError"],
        says: "{container}: node {node} could not prepare its resources: {words}",
        root: its_node,
        remedies: remedies::manager,
        explain: Explain {
            meaning: "The CPU, memory or topology manager of the kubelet failed just before the start.",
            told_apart: "The container was created; the kubelet's own step after that failed.",
            action: "Check the kubelet's log and its CPU and memory manager state on the node.",
            source: "kubernetes pkg/kubelet/cm/internal_container_lifecycle.go PreStartContainer",
        },
        ..ROW
    },
    Row {
        cause: "PostStartHookError",
        reasons: &["PostStartHookError", "FailedPostStartHook"],
        says: "{container} is{perhaps} killed after each start because its postStart hook fails{hook}",
        remedies: remedies::post_start,
        explain: Explain {
            meaning: "The postStart hook failed, so the kubelet killed the container that it had just started.",
            told_apart: "The container ends with 137 or 143 (or with 0, where it heeds SIGTERM) though nothing is wrong with it; only the reason PostStartHookError or the FailedPostStartHook Event tells. Where no Event of the pod is known, runs of \
                         just the grace period speak for it. The output of the hook is in the message at first sight only.",
            action: "Run the hook's command by hand in the image; let it end with 0, or move it into the container's entry point.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer; pkg/kubelet/lifecycle/handlers.go",
        },
        ..ROW
    },
    Row {
        cause: "CreateContainerConfigError",
        reasons: CONFIG,
        specificity: Specificity::Umbrella,
        says: "{container}: the kubelet cannot build its configuration: {words}",
        remedies: remedies::unclear,
        explain: Explain {
            meaning: "The kubelet cannot put the container's configuration together, for a reason not known by name.",
            told_apart: "The kubelet itself fails; no runtime was asked.",
            action: "Read the message; the kubelet's log on the node says more.",
            source: "kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go generateContainerConfig",
        },
        ..ROW
    },
    Row {
        cause: "CreateContainerError",
        reasons: CREATE,
        specificity: Specificity::Umbrella,
        says: "{container}: the runtime cannot create it: {words}",
        remedies: remedies::unclear,
        explain: Explain {
            meaning: "The runtime cannot create the container, for a reason not known by name.",
            told_apart: "The kubelet's part worked; on CRI-O the faults that containerd meets at the start show here.",
            action: "Read the message; the runtime's log on the node says more.",
            source: "the CRI runtime's CreateContainer",
        },
        ..ROW
    },
    Row {
        cause: "RunContainerError",
        reasons: &["RunContainerError"],
        specificity: Specificity::Umbrella,
        says: "{container}: the runtime cannot start it: {words}",
        remedies: remedies::unclear,
        explain: Explain {
            meaning: "The runtime cannot start the container, for a reason not known by name.",
            told_apart: "First sight of a failed start; soon the run itself is shown as ended with StartError.",
            action: "Read the message; the runtime's log on the node says more.",
            source: "the CRI runtime's StartContainer",
        },
        ..ROW
    },
    Row {
        cause: "StartError",
        reasons: &["StartError", "ContainerCannotRun"],
        specificity: Specificity::Umbrella,
        says: "{container}: the runtime could not start it: {words}",
        remedies: remedies::unclear,
        explain: Explain {
            meaning: "The runtime could not start the container's process, for a reason not known by name.",
            told_apart: "Nothing of the container ever ran, so it has no logs; exit code 128 is the runtime's, not the program's.",
            action: "Read the message; the runtime's log on the node says more.",
            source: "containerd internal/cri/server/container_start.go; cri-dockerd core/container_status.go",
        },
        ..ROW
    },
];

/// Asked about the pod, because the sandbox can meet it too, before there is a container.
pub(super) const INIT_OOM: Row = Row {
    cause: "InitOomKilled",
    words: &[&["container init was oom-killed"], &["set memory limit ", "too low"]],
    says: "{container}: its memory limit{limit} is too low even to start a process",
    remedies: remedies::raise_memory,
    explain: Explain {
        meaning: "The kernel killed the start-up process of the runtime because the memory limit is too low for it.",
        told_apart: "The container's own program never ran, so its state is StartError and never OOMKilled; a pod-level limit can hit the sandbox in the same way.",
        action: "Raise the memory limit to what a process needs at least: some 16 MiB, and more for the program itself.",
        source: "runc libcontainer/process_linux.go",
    },
    ..ROW
};

fn config_map(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    object(seen.text).map(|name| RootKind::ConfigMap.named(name))
}

fn secret(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    object(seen.text).map(|name| RootKind::Secret.named(name))
}

/// A cgroup that nothing can join is the node's trouble; a limit that the kernel does not take is the container's.
fn cannot_join_cgroup(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    let is_nodes = seen.has("cgroup configuration") || seen.has("expected cgroupspath");
    its_node(case, seen).filter(|_| is_nodes && !seen.has("invalid argument"))
}

fn is_working_dir(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    const WORDS: [&str; 6] = [
        "chdir to cwd",
        "chdir to `",
        "crun: chdir",
        "cwd is outside",
        "cwd must be an absolute path",
        "the working directory '",
    ];
    WORDS.iter().any(|w| seen.has(w)) || is_made_on_the_way(seen).unwrap_or(false)
}

/// runc makes the directory where the image lacks it, and fails where a file is in its way: at the directory itself, or at
/// one above it.
fn is_made_on_the_way(seen: &Seen<'_>) -> Option<bool> {
    let made = signature::between(seen.text, "mkdir ", ": ")?;
    let rest = seen.container?.working_dir.as_deref()?.strip_prefix(made)?;
    Some(rest.is_empty() || rest.starts_with('/'))
}

/// Whether runc or crun tells of the program; what tells it on may have put the quotes in quotes.
fn is_of_executable(seen: &Seen<'_>) -> bool {
    ["exec: \"", "exec: \\", "open executable"].iter().any(|words| seen.has(words))
}

fn is_permission_denied(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    let exec = is_of_executable(seen);
    exec && (seen.has("permission denied") || seen.has("is a directory"))
        || seen.has("it is not executable")
        || is_bare_docker(seen, 126)
}

fn is_not_found(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    let exec = is_of_executable(seen);
    exec && seen.has("no such file or directory")
        || seen.has("executable file not found")
        || seen.has("executable file `") && seen.has("not found")
        // Windows.
        || seen.has("createprocess") && seen.has("cannot find the file specified")
        || is_bare_docker(seen, 127)
}

/// Docker's `ContainerCannotRun` without a message.
fn is_bare_docker(seen: &Seen<'_>, exit_code: i32) -> bool {
    seen.reason == "ContainerCannotRun"
        && seen.text.is_empty()
        && seen.container.and_then(Container::last_end).is_some_and(|end| end.exit_code == exit_code)
}
