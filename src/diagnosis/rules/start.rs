//! Containers that never get to run: the kubelet cannot prepare them, the runtime cannot create them, or cannot start them.
//!
//! The same fault shows in three ways: containerd meets it at the start (`RunContainerError`, then a run that ended with
//! `StartError` and 128), CRI-O when it creates the container (`CreateContainerError`), docker as `ContainerCannotRun`. The
//! words of runc or crun inside are the same, and they decide.

mod remedies;

use std::cell::OnceCell;

use super::signature::{self, ROW, Row, Seen};
use crate::api::Confidence;
use crate::diagnosis::{Case, Category, Explain, Finding, Recovery, Rule, Scope, Specificity, Verdict, evidence, text};
use crate::facts::{Container, EnvRef, EventFacts, RefKind, State, format_bytes};

const CONFIG: &[&str] = &["CreateContainerConfigError"];
const CREATE: &[&str] = &["CreateContainerError"];
/// Reasons under which a runtime's words may stand.
const RUNTIME: &[&str] = &["CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"];

/// The waiting reasons of the kubelet's `startContainer` after the pull.
const WAITING: [&str; 6] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "PostStartHookError",
];

/// Ends of a container that never ran.
const NEVER_RAN: [&str; 2] = ["StartError", "ContainerCannotRun"];

const ROWS: &[Row] = &[
    Row {
        cause: "ConfigMapNotFound",
        reasons: CONFIG,
        words: &[&["configmap \"", "\" not found"], &["configmaps \"", "\" not found"]],
        says: "ConfigMap {object} does not exist in namespace {namespace}; {container} takes {use} from it",
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
        reasons: CONFIG,
        words: &[&["secret \"", "\" not found"], &["secrets \"", "\" not found"]],
        says: "Secret {object} does not exist in namespace {namespace}; {container} takes {use} from it",
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
        reasons: CONFIG,
        words: &[&["couldn't find key ", " in configmap "]],
        says: "ConfigMap {object} has no key {key}; {container} takes {use} from it",
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
        reasons: CONFIG,
        words: &[&["couldn't find key ", " in secret "]],
        says: "Secret {object} has no key {key}; {container} takes {use} from it",
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
            &["container's runasuser breaks non-root policy"],
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
            &["is already in use by container"],
        ],
        patience: 30,
        says: "{container}: an earlier attempt to create it hangs in the runtime on {node} and still holds its name",
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
            &["error setting cgroup config"],
            &["unable to set cgroup config"],
            &["cgroup: writing to file"],
        ],
        says: "{container}: node {node} cannot set up its cgroup: {short}",
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
        says: "{container}: its command {executable} is in the image but cannot be executed: {why_not}",
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
        says: "{container}: its command {executable} is not in image {image}",
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
        says: "{container} is killed after each start because its postStart hook fails{hook}",
        remedies: remedies::post_start,
        explain: Explain {
            meaning: "The postStart hook failed, so the kubelet killed the container that it had just started.",
            told_apart: "The container ends with 137 or 143 though nothing is wrong with it; only the reason PostStartHookError or the FailedPostStartHook Event tells. The output of the hook is in the message at first sight only.",
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
const INIT_OOM: Row = Row {
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

const fn row<const I: usize>() -> Rule {
    signature::rule(&ROWS[I], Category::Start, Recovery::NeverStarted, Scope::Container(check::<I>))
}

pub(super) const RULES: &[Rule] = &[
    signature::rule(&INIT_OOM, Category::Start, Recovery::NeverStarted, Scope::Pod(check_init_oom)),
    row::<0>(),
    row::<1>(),
    row::<2>(),
    row::<3>(),
    row::<4>(),
    row::<5>(),
    row::<6>(),
    row::<7>(),
    row::<8>(),
    row::<9>(),
    row::<10>(),
    row::<11>(),
    row::<12>(),
    row::<13>(),
    row::<14>(),
    row::<15>(),
    row::<16>(),
    row::<17>(),
    row::<18>(),
    row::<19>(),
    row::<20>(),
    row::<21>(),
    row::<22>(),
    row::<23>(),
    row::<24>(),
    row::<25>(),
    row::<26>(),
    row::<27>(),
];

const _: () = assert!(RULES.len() == ROWS.len() + 1, "each row is a rule");

fn check<const I: usize>(case: &Case<'_>, container: &Container) -> Verdict {
    let Some(seen) = see(case, container) else { return Verdict::No };
    if is_init_oom(&seen) || !signature::is_first(ROWS, I, case, &seen) {
        return Verdict::No;
    }
    let row = &ROWS[I];
    match signature::has_lasted(case, case.held_since(case.pod.start_time), row.patience, 1) {
        Ok(()) => Verdict::Yes(Box::new(finding(case, container, &seen, row))),
        Err(at) => Verdict::NotBefore(at),
    }
}

fn is_init_oom(seen: &Seen<'_>) -> bool {
    INIT_OOM.words.iter().any(|all| all.iter().all(|part| seen.has(part)))
}

fn check_init_oom(case: &Case<'_>) -> Verdict {
    let told = |container| {
        let seen = see(case, container)?;
        is_init_oom(&seen).then(|| finding(case, container, &seen, &INIT_OOM))
    };
    let of_container =
        case.pod.containers.iter().filter(|c| c.kind != crate::api::ContainerType::Ephemeral).find_map(told);
    if of_container.is_some() {
        return of_container.into();
    }
    super::sandbox::failure(case)
        .filter(|event| INIT_OOM.words.iter().any(|words| text::has(&event.message, words)))
        .map(|event| {
            Finding::of_pod("the memory limit is too low even to start the pod's sandbox, so no container can start")
                .with(evidence::event(event))
        })
        .into()
}

/// Why a container could not be started, while it does not run.
fn see<'a>(case: &Case<'a>, container: &'a Container) -> Option<Seen<'a>> {
    let (reason, message, path) = match &container.state {
        State::Waiting { reason, message } if WAITING.contains(&reason.as_str()) => {
            (reason, message, "state.waiting.message")
        }
        State::Waiting { reason, .. } => {
            // Only a wait for the next try: what it waits for otherwise is another matter.
            let again = reason == "CrashLoopBackOff" || reason.is_empty();
            match container.last.as_ref().filter(|l| again && NEVER_RAN.contains(&l.reason.as_str())) {
                Some(last) => (&last.reason, &last.message, "lastState.terminated.message"),
                None => return if again { see_hook_event(case, container) } else { None },
            }
        }
        State::Terminated(end) if NEVER_RAN.contains(&end.reason.as_str()) => {
            (&end.reason, &end.message, "state.terminated.message")
        }
        State::Running { .. } | State::Terminated(_) => return see_hook_event(case, container),
    };
    let event = if message.is_empty() { last_error(case, container) } else { None };
    let said = event.map_or(message.as_str(), |e| &*e.message);
    Some(Seen {
        reason,
        text: said,
        lower: OnceCell::new(),
        path: (event.is_none() && !said.is_empty()).then_some(path),
        event,
        container: Some(container),
    })
}

/// The kill after a failed hook leaves an ordinary end in the status: only the Event still tells.
fn see_hook_event<'a>(case: &Case<'a>, container: &'a Container) -> Option<Seen<'a>> {
    if !container.has_post_start || container.ready {
        return None;
    }
    let end = container.last_end().filter(|end| end.exit_code != 0 || container.restart_count > 0)?;
    let event = case.container_events(container, "FailedPostStartHook").next_back()?;
    // An Event long before the end that is shown is about another run.
    let close = match (event.last, end.finished_at) {
        (Some(told), Some(ended)) => ended.as_second() - told.as_second() <= case.pod.termination_grace_seconds + 60,
        _ => true,
    };
    close.then(|| Seen {
        reason: "FailedPostStartHook",
        text: &event.message,
        lower: OnceCell::new(),
        event: Some(event),
        container: Some(container),
        path: None,
    })
}

/// The last `Failed` Event of a container that is not about its image.
fn last_error<'a>(case: &Case<'a>, container: &'a Container) -> Option<&'a EventFacts> {
    let own = |e: &&EventFacts| {
        e.regarding.container.is_some() && e.message.contains("Error: ") && !e.message.contains("ImagePull")
    };
    case.container_events(container, "Failed").rev().find(own)
}

fn finding(case: &Case<'_>, container: &Container, seen: &Seen<'_>, row: &Row) -> Finding {
    let mut finding = Finding::of_container(container, say(case, container, seen, row.says));
    // Docker may leave the words empty: then the exit code is all there is.
    if seen.text.is_empty() {
        finding = finding.confidence(Confidence::Likely);
    }
    if let Some((reason, _)) = container.waiting().filter(|(reason, _)| !reason.is_empty()) {
        finding = finding.with(evidence::field(format!("{}.state.waiting.reason", container.status_path()), reason));
    }
    if let Some(path) = &seen.path {
        finding = finding.with(evidence::field(format!("{}.{path}", container.status_path()), seen.text));
    }
    if let Some(end) = container.last_end().filter(|end| NEVER_RAN.contains(&end.reason.as_str())) {
        let path = container.last_end_path();
        finding = finding
            .with(evidence::field_at(format!("{path}.reason"), &end.reason, end.finished_at))
            .with(evidence::field(format!("{path}.exitCode"), end.exit_code.to_string()));
    }
    if let Some(event) = seen.event {
        finding = finding.with(evidence::event(event));
    }
    match row.cause {
        "ExecutableNotFound" | "ExecutablePermissionDenied" if !container.command.is_empty() => finding
            .with(evidence::field(format!("{}.command", container.spec_path()), format!("{:?}", container.command))),
        "PostStartHookError" => finding.proven(),
        _ => finding,
    }
}

fn say(case: &Case<'_>, container: &Container, seen: &Seen<'_>, says: &str) -> String {
    let mut out = says.to_owned();
    let mut fill = |place: &str, with: &dyn Fn() -> String| {
        if out.contains(place) {
            out = out.replace(place, &with());
        }
    };
    let text = seen.text;
    fill("{container}", &|| container.name.to_string());
    fill("{namespace}", &|| case.pod.key.namespace.to_string());
    fill("{node}", &|| case.pod.node_name.as_deref().unwrap_or("unknown").to_owned());
    fill("{image}", &|| signature::middle_cut(&container.image, 70));
    fill("{object}", &|| object(text).unwrap_or("(unnamed)").to_owned());
    fill("{key}", &|| key(text).unwrap_or("(unnamed)").to_owned());
    fill("{use}", &|| used_for(container, text));
    fill("{why}", &|| why_root(text));
    fill("{volume}", &|| signature::quoted_after(text, "volumeMount ").unwrap_or("(unnamed)").to_owned());
    fill("{user}", &|| user(text).map(|u| format!(" {u}")).unwrap_or_default());
    fill("{executable}", &|| signature::middle_cut(executable(container, text).unwrap_or("(the image's own)"), 60));
    fill("{why_not}", &|| {
        if seen.has("is a directory") { "it is a directory" } else { "permission denied" }.to_owned()
    });
    fill("{dir}", &|| working_dir(container, text).unwrap_or("of the image").to_owned());
    fill("{mount}", &|| mount_target(text).unwrap_or("(unknown)").to_owned());
    fill("{limit}", &|| container.limits.memory.map(|m| format!(" of {}", format_bytes(m))).unwrap_or_default());
    fill("{hook}", &|| {
        if seen.reason == "PostStartHookError" && !text.is_empty() {
            format!(": {}", hook_words(text))
        } else {
            String::new()
        }
    });
    fill("{short}", &|| signature::innermost(text, 70));
    fill("{words}", &|| match signature::innermost(text.trim_start_matches("Error: "), 110) {
        words if words.is_empty() => "the runtime left no message".to_owned(),
        words => words,
    });
    text::line(&out, text::SUMMARY_MAX)
}

/// The object that the kubelet did not find.
fn object(text: &str) -> Option<&str> {
    signature::quoted_after(text, "configmap ").or_else(|| signature::quoted_after(text, "secret ")).or_else(|| {
        let rest = text.split_once(" in ConfigMap ").or_else(|| text.split_once(" in Secret "))?.1;
        rest.split_whitespace().next()?.rsplit('/').next()
    })
}

/// The key that the kubelet did not find.
fn key(text: &str) -> Option<&str> {
    signature::between(text, "couldn't find key ", " in ")
}

/// References of a container to the object (and key) of a message.
fn refs<'c>(container: &'c Container, text: &str) -> impl Iterator<Item = &'c EnvRef> {
    let (object, key) = (object(text).unwrap_or_default().to_owned(), key(text).map(str::to_owned));
    let kind = if text.to_ascii_lowercase().contains("configmap") { RefKind::ConfigMap } else { RefKind::Secret };
    container.env_refs.iter().filter(move |r| {
        r.kind == kind && r.name == object && !r.optional && key.as_deref().is_none_or(|k| r.key.as_deref() == Some(k))
    })
}

fn used_for(container: &Container, text: &str) -> String {
    let variables: Vec<_> = refs(container, text).filter_map(|r| r.variable.as_deref()).collect();
    match variables.as_slice() {
        [] => "its environment".to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

fn why_root(text: &str) -> String {
    if let Some(user) = signature::between(text, "non-numeric user (", ")") {
        return format!("its image has the user name {user}, and only a number can be checked");
    }
    if text.contains("runAsUser") { "its runAsUser is 0" } else { "its image runs as root" }.to_owned()
}

fn user(text: &str) -> Option<&str> {
    let rest = text.split_once("unable to find user ").or_else(|| text.split_once("unable to find group "))?.1;
    rest.split([':', ' ']).next().filter(|user| !user.is_empty())
}

/// What was to be run, as the runtime names it, else as the pod does.
fn executable<'t>(container: &'t Container, text: &'t str) -> Option<&'t str> {
    signature::quoted_after(text, "exec: ")
        .or_else(|| signature::between(text, "executable file `", "`"))
        .or_else(|| signature::between(text, "the path `", "`"))
        .or_else(|| container.command.first().map(String::as_str))
}

fn working_dir<'t>(container: &'t Container, text: &'t str) -> Option<&'t str> {
    signature::quoted_after(text, "chdir to cwd (")
        .or_else(|| signature::between(text, "chdir to `", "`"))
        .or(container.working_dir.as_deref())
}

fn mount_target(text: &str) -> Option<&str> {
    signature::quoted_after(text, "to rootfs at ").or_else(|| signature::between(text, "` to `", "`"))
}

/// What a hook's failure comes down to: how it ended, and what it printed.
fn hook_words(text: &str) -> String {
    let said = text.split_once(" - error: ").map_or(text, |(_, said)| said);
    signature::middle_cut(&said.replace(", message: \"\"", "").replace("\\n", " "), 110)
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
    WORDS.iter().any(|w| seen.has(w))
        // runc makes the directory where the image lacks it, and fails where a file is in its way.
        || seen.has("mkdir ")
            && seen
                .container
                .and_then(|c| c.working_dir.as_deref())
                .is_some_and(|dir| seen.text.contains(&format!("mkdir {dir}: ")))
}

fn is_permission_denied(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    let exec = seen.has("exec: \"") || seen.has("exec: \\\"") || seen.has("open executable");
    exec && (seen.has("permission denied") || seen.has("is a directory"))
        || seen.has("it is not executable")
        || is_bare_docker(seen, 126)
}

fn is_not_found(_: &Case<'_>, seen: &Seen<'_>) -> bool {
    let exec = seen.has("exec: \"") || seen.has("exec: \\\"") || seen.has("open executable");
    exec && seen.has("no such file or directory")
        || seen.has("executable file not found")
        || seen.has("executable file `") && seen.has("not found")
        || is_bare_docker(seen, 127)
}

/// Docker's `ContainerCannotRun` without a message.
fn is_bare_docker(seen: &Seen<'_>, exit_code: i32) -> bool {
    seen.reason == "ContainerCannotRun"
        && seen.text.is_empty()
        && seen.container.and_then(Container::last_end).is_some_and(|end| end.exit_code == exit_code)
}
