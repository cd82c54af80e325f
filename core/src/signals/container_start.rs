//! The signal `containerStart`.
//!
//! The same fault appears in three forms: containerd reports it at the start (`RunContainerError`, then a termination
//! with `StartError` and 128), CRI-O when it creates the container (`CreateContainerError`), docker as
//! `ContainerCannotRun`. All contain the error of runc or crun, which decides the cause.

mod find;
mod message;
mod mount;

use self::message::{executable, variables, working_dir};
use super::probe::handler::handler_text;
use super::termination::hook::{self, HookProof};
use super::termination::log_line;
use super::{Matched, PodSignal, Seen, Source, lasting, sandbox, signal};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, Mount, ProbeHandler, Timestamp};
use crate::message::{between, name, quoted_after, windows};

/// Termination reasons of containers that never ran.
const NEVER_RAN: [&str; 2] = ["StartError", "ContainerCannotRun"];

/// Bytes of a memory limit in which the runtime starts any process: many times the 16 MiB that it needs.
const AMPLE_LIMIT: i64 = 64 << 20;

/// Reason of the kubelet's Event, and of this signal if a container was killed after its hook failed.
const HOOK_EVENT: &str = "FailedPostStartHook";

signal! {
    /// A container that the kubelet cannot configure, or that the runtime cannot create or start; or the pod's sandbox that
    /// cannot be created.
    /// Source: containerStatuses[].state.waiting, state.terminated and lastState.terminated; Events `Failed`,
    /// `FailedPostStartHook` and `FailedCreatePodSandBox`.
    pub(crate) struct ContainerStart<'a> as "containerStart" {
        case: &'a Case<'a>,
        container: Option<&'a Container>,
        proof: Option<HookProof<'a>>,
        seen: Seen<'a>,
    }
    reason: |of| of.seen.reason, message: of.seen.text;

    /// The error of the message with its operation and object, at most 130 characters; empty where the runtime left no
    /// message.
    "error": fn error(&self) -> String { self.seen.parsed().summary(130, &[]) }

    /// The same, at most 110 characters.
    "shortError": fn short_error(&self) -> String { self.seen.parsed().summary(110, &[]) }

    /// Condition of the image that the GPU driver of the node does not meet, such as `cuda>=12.2`; empty if the message names
    /// none. Source: libnvidia-container src/cli/dsl.c.
    "gpuRequirement": fn gpu_requirement(&self) -> &str {
        let condition = self.seen.text.split_once("unsatisfied condition: ").map_or("", |(_, condition)| condition);
        let end = condition.find([',', '\n', '\\', '"']).unwrap_or(condition.len());
        let condition = &condition[..end];
        condition.strip_suffix(": unknown").unwrap_or(condition).trim()
    }

    /// Whether the NVIDIA container toolkit rejects a value of a variable such as NVIDIA_VISIBLE_DEVICES.
    /// Source: message of the NVIDIA container toolkit.
    "isGpuVariable": fn is_gpu_variable(&self) -> bool {
        ["unknown driver capability", ": unknown device", "mig-config", "runtime.nvidia.com"]
            .iter()
            .any(|words| self.seen.text.contains(words))
    }

    /// Exit code of the start that failed: 128 under containerd and CRI-O, 126 or 127 under docker.
    /// Source: lastState.terminated.exitCode.
    "exitCode": fn exit_code(&self) -> Option<i32> { self.container?.last_end().map(|end| end.exit_code) }

    /// Whether the pod's sandbox cannot be created, so that no container can start. Source: Event FailedCreatePodSandBox.
    "ofSandbox": fn of_sandbox(&self) -> bool { self.seen.container.is_none() }

    /// Whether the container has a memory limit. Source: resources.limits.memory.
    "hasMemoryLimit": fn has_memory_limit(&self) -> bool { self.container.is_some_and(|c| c.limits.memory.is_some()) }

    /// Whether the memory limit is far above what the runtime needs to start a process, so that a higher limit may not help.
    /// Source: resources.limits.memory.
    "isLimitAmple": fn is_limit_ample(&self) -> bool {
        self.container.and_then(|c| c.limits.memory).is_some_and(|limit| limit >= AMPLE_LIMIT)
    }

    /// The least memory limit that the runtime accepts, in bytes; empty if the message names none.
    /// Source: cri-o internal/config/cgmgr VerifyMemoryIsEnough.
    "minimumMemory": fn minimum_memory(&self) -> &str {
        let least = self.seen.text.split_once("should be at least ").map_or("", |(_, least)| least);
        let end = least.find(|c: char| !c.is_ascii_digit()).unwrap_or(least.len());
        &least[..end]
    }

    /// Name that an earlier attempt holds in the runtime, at most 50 characters; empty if the message names none.
    /// Source: containerd internal/registrar; cri-o; docker `The container name "/k8s_..." is already in use`.
    "reservedName": fn reserved_name(&self) -> String {
        let quoted = quoted_after(self.seen.text, "container name ");
        name(quoted.or_else(|| between(self.seen.text, "ctr name ", " for id")).unwrap_or_default(), 50)
    }

    /// Whether the runtime has created the container, so that its start is what fails.
    /// Source: state.waiting.reason other than CreateContainerError.
    "isCreated": fn is_created(&self) -> bool { self.seen.reason != "CreateContainerError" }

    /// Error of a Windows system call, such as `The system cannot find the file specified. (0x2)`, at most 70 characters;
    /// empty if the message has none. Source: hcsshim internal/hcs/errors.go.
    "windowsError": fn windows_error(&self) -> String {
        let error = self.seen.text.split_once("failure in a Windows system call: ").map_or("", |(_, error)| error);
        crate::message::fit(error.lines().next().unwrap_or_default(), 70)
    }

    /// Image reference of the container, at most 70 characters. Source: spec.containers[].image.
    "image": fn image(&self) -> String { self.container.map_or_else(String::new, |c| name(&c.image, 70)) }

    /// Name of the ConfigMap or Secret that the kubelet did not find, or that lacks the key; empty if the message names
    /// none. Source: pkg/kubelet/kubelet_pods.go makeEnvironmentVariables.
    "object": fn object(&self) -> &str { message::object(self.seen.text).unwrap_or_default() }

    /// The key that the object lacks; empty if the object itself does not exist.
    /// Source: pkg/kubelet/kubelet_pods.go makeEnvironmentVariables.
    "missingKey": fn missing_key(&self) -> &str { message::key(self.seen.text).unwrap_or_default() }

    /// Keys of the object that the container reads, at most 5. Source: spec.containers[].env[].valueFrom.
    "keys": fn keys(&self) -> Vec<String> {
        let references = self.container.into_iter().flat_map(|c| message::references(c, self.seen.text));
        let mut keys: Vec<String> = references.filter_map(|reference| reference.key.clone()).collect();
        keys.dedup();
        keys.truncate(5);
        keys
    }

    /// The first environment variable that comes from the object or key; empty if all of its keys become variables
    /// (envFrom). Source: spec.containers[].env[].valueFrom.
    "variable": fn variable(&self) -> &str { variables(self.container, self.seen.text).next().unwrap_or_default() }

    /// How many more variables come from it; not known if there are none.
    /// Source: spec.containers[].env[].valueFrom.
    "moreVariables": fn more_variables(&self) -> Option<i64> {
        i64::try_from(variables(self.container, self.seen.text).skip(1).count()).ok().filter(|more| *more > 0)
    }

    /// The variable that a subPathExpr expands and that the container does not define; empty if the message names none.
    /// Source: `missing value for` in the message.
    "undefinedVariable": fn undefined_variable(&self) -> &str {
        let after = self.seen.text.split_once("missing value for ").map(|(_, variable)| variable.trim());
        after.and_then(|variable| variable.split([' ', ',']).next()).unwrap_or_default()
    }

    /// The user of the image where it is a name, which the kubelet cannot verify; empty if it is not the problem.
    /// Source: pkg/kubelet/kuberuntime verifyRunAsNonRoot.
    "imageUser": fn image_user(&self) -> &str { between(self.seen.text, "non-numeric user (", ")").unwrap_or_default() }

    /// The number of that user in most images that define it, such as 65532 of `nonroot`; 0 where it is not a usual one.
    /// Source: Dockerfiles of the official images.
    "imageUserId": fn image_user_id(&self) -> i64 { message::user_id(self.image_user()) }

    /// Whether runAsUser of the pod is 0 although it forbids root. Source: pkg/kubelet/kuberuntime verifyRunAsNonRoot.
    "runAsUserIsRoot": fn run_as_user_is_root(&self) -> bool { self.seen.text.contains("runAsUser") }

    /// The user or group that is not in the image's /etc/passwd or /etc/group; empty if the message does not name it.
    /// Source: containerd pkg/oci; cri-o.
    "unknownUser": fn unknown_user(&self) -> &str { message::user(self.seen.text).unwrap_or_default() }

    /// Whether a group is missing, not a user. Source: containerd pkg/oci; cri-o.
    "isGroupUnknown": fn is_group_unknown(&self) -> bool { self.seen.has("find group") || self.seen.has("group file") }

    /// Name of the profile that cannot be used; empty if the message names none. Source: containerd, cri-o, runc.
    "profile": fn profile(&self) -> &str { message::profile(self.seen.text).unwrap_or_default() }

    /// Meaning of the code of the Host Compute Service (HCS), where the message has only the code; empty otherwise.
    /// Source: hcsshim; HCSHResult of Microsoft's API reference.
    "computeMeaning": fn compute_meaning(&self) -> &'static str {
        let has_words = !self.seen.has("windows system call (0x");
        windows::of_compute(self.seen.text).filter(|_| !has_words).map_or("", |status| status.meaning)
    }

    /// Error by which the kernel refused to execute the program: `exec format error` or `no such file or directory` (of its
    /// interpreter or loader); empty otherwise. Source: runc `exec /X: exec format error`; crun.
    "execError": fn exec_error(&self) -> &'static str {
        if self.seen.has("exec format error") {
            "exec format error"
        } else if self.seen.has("missing dynamic library") {
            "no such file or directory"
        } else {
            ""
        }
    }

    /// The step that takes so long, at most 110 characters; empty if the message names none.
    /// Source: cri-o server/utils.go getResourceOrWait; else the error of the runtime.
    "stage": fn stage(&self) -> String {
        if let Some(stage) = between(self.seen.text, "Currently at stage ", ": ") {
            return stage.to_owned();
        }
        let error = self.short_error();
        let is_bare = error.is_empty() || error.to_ascii_lowercase().starts_with("context deadline exceeded");
        if is_bare { String::new() } else { error }
    }

    /// Whether a hook of the node's runtime fails, such as that of the NVIDIA container toolkit.
    /// Source: runc libcontainer/configs/config.go; crun src/libcrun/utils.c.
    "isRuntimeHook": fn is_runtime_hook(&self) -> bool {
        ["hook #", "error running hook", "hook ran past", "error executing hook"].iter().any(|words| self.seen.has(words))
    }

    /// What the node has no more of: `disk`, `keys` (of the kernel), `processes`, `files` (open) or `memory`; empty if the message names none.
    /// Source: errno of the kernel in the message.
    "exhausted": fn exhausted(&self) -> &'static str { message::exhausted(self.seen.text) }

    /// The kind of the profile: `seccomp`, `AppArmor` or `SELinux`; empty if the message names none.
    "profileType": fn profile_type(&self) -> &'static str {
        let types = [("apparmor", "AppArmor"), ("seccomp", "seccomp"), ("selinux", "SELinux")];
        types.into_iter().find(|(word, _)| self.seen.has(word)).map_or("", |(_, name)| name)
    }

    /// What is wrong with the profile: `missing` on the node; `refused`, the kernel or the runtime does not accept it;
    /// `unsupported`, the node has no such feature. Source: containerd, cri-o, runc, crun.
    "profileProblem": fn profile_problem(&self) -> &'static str {
        if ["not supported", "is disabled", "is not initialized"].iter().any(|words| self.seen.has(words)) {
            "unsupported"
        } else if ["unable to init seccomp", "seccomp get action", "is forbidden"].iter().any(|words| self.seen.has(words)) {
            "refused"
        } else {
            "missing"
        }
    }

    /// Name of the volume whose subPath cannot be prepared; empty if the message names none.
    /// Source: pkg/kubelet/kubelet_pods.go makeMounts.
    "subPathVolume": fn sub_path_volume(&self) -> &str {
        quoted_after(self.seen.text, "volumeMount ").unwrap_or_default()
    }

    /// The subPaths of the container's mounts of that volume. Source: spec.containers[].volumeMounts[].subPath.
    "subPaths": fn sub_paths(&self) -> String {
        let volume = self.sub_path_volume();
        let all = self.container.iter().flat_map(|container| &container.mounts);
        let mounts = all.filter(|mount| *mount.volume == *volume && !mount.sub_path.is_empty());
        mounts.map(|mount| name(&mount.sub_path, 60)).collect::<Vec<_>>().join(", ")
    }

    /// The program that cannot be executed: that of the message, else the first word of the container's command; empty
    /// where it is the image's own. Source: runc, crun; spec.containers[].command.
    "executable": fn executable(&self) -> &str { executable(self.container, self.seen.text).unwrap_or_default() }

    /// The same, at most 60 characters.
    "shortExecutable": fn short_executable(&self) -> String { name(self.executable(), 60) }

    /// Name of the volume that is mounted where the program should be; empty if none is.
    /// Source: spec.containers[].volumeMounts.
    "executableVolume": fn executable_volume(&self) -> &str {
        self.mount_of_executable().map_or("", |mount| mount.volume.as_str())
    }

    /// Where that volume is mounted. Source: spec.containers[].volumeMounts[].mountPath.
    "executableMountPath": fn executable_mount_path(&self) -> &str {
        self.mount_of_executable().map_or("", |mount| mount.path.as_str())
    }

    /// Image reference of the container, at most 70 characters; empty if a volume is mounted where the program should be.
    /// Source: spec.containers[].image.
    "executableImage": fn executable_image(&self) -> String {
        if self.mount_of_executable().is_some() { String::new() } else { self.image() }
    }

    /// Whether the files of that volume are the keys of a ConfigMap or Secret, which have no execute bit by default.
    /// Source: spec.volumes[].
    "isExecutableInKeys": fn is_executable_in_keys(&self) -> bool {
        mount::source(self.case, self.executable_volume()).is_some()
    }

    /// Whether the program is a directory. Source: EISDIR in the message.
    "isDirectory": fn is_directory(&self) -> bool { self.seen.has("is a directory") }

    /// Whether the pod sets a command. Source: spec.containers[].command.
    "hasCommand": fn has_command(&self) -> bool { self.container.is_some_and(|c| !c.command.is_empty()) }

    /// Command that runs the program with `sh`, as a JSON list; empty if the program is not known.
    /// Source: spec.containers[].command.
    "shellCommand": fn shell_command(&self) -> String {
        message::shell_command(self.container, self.seen.text).unwrap_or_default()
    }

    /// Whether the program is one of the arguments: neither the image nor the pod has a command.
    /// Source: spec.containers[].args.
    "isExecutableInArgs": fn is_executable_in_args(&self) -> bool {
        let executable = self.executable();
        self.container.is_some_and(|c| c.command.is_empty() && c.args.iter().any(|arg| arg == executable))
    }

    /// The command as a JSON list, where it was written as one word with blanks in it; empty otherwise.
    /// Source: spec.containers[].command.
    "splitCommand": fn split_command(&self) -> String { message::split_command(self.container).unwrap_or_default() }

    /// The command with `sh` instead of `bash`, as a JSON list, if bash is not found and the script needs nothing of it; empty
    /// otherwise. Source: spec.containers[].command, args.
    "shCommand": fn sh_command(&self) -> String {
        self.container.and_then(message::without_bash).map(|words| serde_json::json!(words).to_string()).unwrap_or_default()
    }

    /// Whether the command ends with a carriage return, as in a file with Windows line endings.
    /// Source: spec.containers[].command.
    "hasCarriageReturn": fn has_carriage_return(&self) -> bool {
        self.container.and_then(|c| c.command.first()).is_some_and(|program| program.ends_with('\r'))
    }

    /// Working directory that cannot be entered: that of the message, else that of the pod; empty if it is the image's
    /// own. Source: runc, crun; spec.containers[].workingDir.
    "workingDir": fn working_dir(&self) -> &str { working_dir(self.container, self.seen.text).unwrap_or_default() }

    /// Whether the runtime fails to create the working directory, or one above it, where the image lacks it: a file is in
    /// its way. Source: `mkdir` in runc's message; spec.containers[].workingDir.
    "isWorkingDirBlocked": fn is_working_dir_blocked(&self) -> bool {
        let made = between(self.seen.text, "mkdir ", ": ");
        let dir = self.container.and_then(|c| c.working_dir.as_deref());
        let rest = dir.zip(made).and_then(|(dir, made)| dir.strip_prefix(made));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Where in the container a volume cannot be mounted; empty if the message does not name it. Source: runc, crun.
    "mountPath": fn mount_path(&self) -> &str { mount::target(self.seen.text).unwrap_or_default() }

    /// Name of the volume that is mounted there; empty if none is.
    /// Source: spec.containers[].volumeMounts, else the kubelet's path of the volume in the message.
    "mountVolume": fn mount_volume(&self) -> &str {
        let named = || mount::volume(self.seen.text).unwrap_or_default();
        self.failed_mount().map_or_else(named, |mount| mount.volume.as_str())
    }

    /// Whether the mount path is below /proc, where the runtime allows none. Source: runc checkProcMount.
    "isBelowProc": fn is_below_proc(&self) -> bool { self.seen.text.contains("because it is inside /proc") }

    /// Path in the image that is a file where the mount path needs a directory; empty if the message reports none.
    /// Source: runc libcontainer/rootfs_linux.go prepareBindMount, mountToRootfs.
    "blockingFile": fn blocking_file(&self) -> &str {
        mount::file_above(self.seen.text, self.mount_path()).unwrap_or_default()
    }

    /// The subPath of the mount where its volume seems to lack that file: the kubelet creates an empty directory instead
    /// (SafeMakeDir), which cannot be mounted over a file. Empty otherwise.
    /// Source: ENOTDIR in the message; spec.containers[].volumeMounts[].subPath.
    "missingSubPath": fn missing_sub_path(&self) -> &str {
        let mount = self.failed_mount().filter(|_| self.seen.text.contains("not a directory"));
        mount.and_then(mount::missing_sub_path).unwrap_or_default()
    }

    /// Kind of the object that the volume of the mount is made of: `ConfigMap` or `Secret`; empty otherwise.
    /// Source: spec.volumes[].
    "mountSourceKind": fn mount_source_kind(&self) -> &'static str {
        mount::source(self.case, self.mount_volume()).map_or("", |(kind, _)| kind)
    }

    /// That object as kubectl takes it: `configmap/web`. Empty if there is none. Source: spec.volumes[].
    "mountSource": fn mount_source(&self) -> String {
        let source = mount::source(self.case, self.mount_volume());
        source.map_or_else(String::new, |(kind, name)| format!("{}/{name}", kind.to_ascii_lowercase()))
    }

    /// Name of that object. Source: spec.volumes[].
    "mountSourceName": fn mount_source_name(&self) -> &str {
        mount::source(self.case, self.mount_volume()).map_or("", |(_, name)| name)
    }

    /// Whether the last part of the mount path has an extension, as names of files have. Source: the message.
    "isMountPathFile": fn is_mount_path_file(&self) -> bool { mount::is_named_as_file(self.mount_path()) }

    /// A file that is mounted over a directory of the image: the subPath, or the path on the node. Empty otherwise.
    /// Source: ENOTDIR in the message; spec.containers[].volumeMounts[].subPath, spec.volumes[].hostPath.
    "mountedFile": fn mounted_file(&self) -> &str {
        let mount = self.failed_mount().filter(|_| self.seen.text.contains("not a directory"));
        mount.and_then(|mount| mount::file_of(self.case, mount)).unwrap_or_default()
    }

    /// Where that file can be mounted: below the directory, by its own name. Empty if there is none.
    "fileMountPath": fn file_mount_path(&self) -> String {
        let name = self.mounted_file().rsplit('/').next().filter(|name| !name.is_empty());
        name.map_or_else(String::new, |name| format!("{}/{name}", self.mount_path().trim_end_matches('/')))
    }

    /// Whether the node's cgroups are at fault, not a limit that the kernel refuses. Source: runc libcontainer/cgroups.
    "isCgroupOfNode": fn is_cgroup_of_node(&self) -> bool {
        let is_of_node = self.seen.has("cgroup configuration") || self.seen.has("expected cgroupspath");
        is_of_node && !self.seen.has("invalid argument")
    }

    /// Whether the file or directory that the kubelet had bound for a subPath no longer exists on the node.
    /// Source: ENOENT in the message, with a path below volume-subpaths.
    "isSubPathGone": fn is_sub_path_gone(&self) -> bool {
        self.seen.has("/volume-subpaths/") && self.seen.has("no such file or directory")
    }

    /// What proves that the postStart hook failed: `status`, `event` or `earlierRun`; `none` where the length of the run is
    /// all there is, as no Event of the pod is known. Empty if no hook is involved.
    /// Source: state.waiting.reason PostStartHookError; Event FailedPostStartHook; the history of restarts.
    "hookProof": fn hook_proof(&self) -> &'static str {
        match self.proof {
            Some(HookProof::Event(_)) => "event",
            Some(HookProof::Remembered) => "earlierRun",
            Some(HookProof::Silent) => "none",
            None if self.seen.reason == hook::HOOK_KILL => "status",
            None => "",
        }
    }

    /// How the hook failed and what it printed, at most 110 characters; empty if only an Event is left, which has no
    /// output. Source: state.waiting.message.
    "hookError": fn hook_error(&self) -> String {
        if self.seen.reason == hook::HOOK_KILL { message::hook_error(self.seen.text) } else { String::new() }
    }

    /// The decisive line of the log of the last run, at most 130 characters; empty where no hook failed, or no log is known.
    /// Source: the termination message or log of the container.
    "logLine": fn log_line(&self) -> String {
        self.hook_log().map_or_else(String::new, |line| log_line::shown(&line.text, 130))
    }

    /// The command of the hook that is not in the image; empty if it was found. Source: the message.
    "hookCommand": fn hook_command(&self) -> &str { message::missing_in_hook(self.seen.text).unwrap_or_default() }

    /// Whether the hook is a request (httpGet, tcpSocket) and not a command.
    /// Source: spec.containers[].lifecycle.postStart.
    "isHookRequest": fn is_hook_request(&self) -> bool {
        matches!(self.hook_handler(), Some(ProbeHandler::Http { .. } | ProbeHandler::Tcp { .. }))
    }

    /// What the hook does, such as `exec sh -c ...` or `http :8080/init`; empty if no hook is involved.
    /// Source: spec.containers[].lifecycle.postStart.
    "hook": fn hook(&self) -> String {
        let handler = self.container.zip(self.hook_handler());
        handler.map_or_else(String::new, |(container, handler)| handler_text(self.case.language(), container, handler))
    }
}

pub(crate) const SOURCE: Source = Source { definition: &ContainerStart::DEFINITION, read };

/// Reads the current start failures of all containers (except ephemeral ones) and of the sandbox.
fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let own = case.pod.containers.iter().filter(|container| container.kind != ContainerType::Ephemeral);
    let of_containers = own.filter_map(|container| find::of_container(case, container));
    let of_sandbox = sandbox::failure(case).map(|event| find::of_sandbox(case, event));
    of_containers.chain(of_sandbox).map(|start| Box::new(start) as Box<dyn PodSignal<'a> + 'a>).collect()
}

impl<'a> PodSignal<'a> for ContainerStart<'a> {
    fn container(&self) -> Option<&'a Container> {
        self.container
    }

    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        lasting::counts(self.case, cause, self.case.held_since(self.case.pod.start_time), 1)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let Some(container) = self.container.filter(|_| !self.of_sandbox()) else {
            return self.seen.evidence().collect();
        };
        let status = container.status_path();
        let mut out = Vec::new();
        if let Some((reason, _)) = container.waiting().filter(|(reason, _)| !reason.is_empty()) {
            out.push(evidence::field(format!("{status}.state.waiting.reason"), reason));
        }
        if let Some(path) = self.seen.path {
            out.push(evidence::field(format!("{status}.{path}"), self.seen.text));
        }
        let is_guess = self.hook_proof() == "none";
        if let Some(end) = container.last_end().filter(|end| is_guess || NEVER_RAN.contains(&end.reason.as_str())) {
            let path = container.last_end_path();
            out.push(evidence::field_at(format!("{path}.reason"), &end.reason, end.finished_at));
            out.push(evidence::field(format!("{path}.exitCode"), end.exit_code.to_string()));
        }
        out.extend(self.seen.event.map(evidence::event));
        out.extend(self.hook_log().map(|line| line.evidence(container)));
        if !container.command.is_empty() && self.is_about_executable() {
            let command = format!("{:?}", container.command);
            out.push(evidence::field(format!("{}.command", container.spec_path()), command));
        }
        match self.hook_proof() {
            "none" => {
                let silence =
                    "no Event of the pod is known; the container ran as long as one whose hook fails at its start";
                out.push(evidence::contradicting(evidence::field(format!("event/{HOOK_EVENT}"), silence)));
            }
            "earlierRun" => out.push(evidence::field(
                "status.restarts.history",
                "an earlier run terminated in the same way, and an Event reported that its postStart hook failed",
            )),
            _ => {}
        }
        out
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        let is_proven = matches!(self.hook_proof(), "status" | "event" | "earlierRun");
        Verdict::Yes(Box::new(if is_proven { finding.proven() } else { finding }))
    }
}

impl<'a> ContainerStart<'a> {
    fn mount_of_executable(&self) -> Option<&'a Mount> {
        let path = executable(self.container, self.seen.text)?;
        self.container?.mount_over(path)
    }

    fn failed_mount(&self) -> Option<&'a Mount> {
        let path = mount::target(self.seen.text)?.trim_end_matches('/');
        self.container?.mounts.iter().find(|mount| mount.path.trim_end_matches('/') == path)
    }

    fn hook_log(&self) -> Option<log_line::Line> {
        let container = self.container.filter(|_| !self.hook_proof().is_empty())?;
        log_line::line(self.case, container, container.last_end()?)
    }

    fn hook_handler(&self) -> Option<&'a ProbeHandler> {
        self.container?.post_start.as_deref().filter(|_| !self.hook_proof().is_empty())
    }

    /// Whether the runtime could not find or execute the container's program, as opposed to a hook command.
    fn is_about_executable(&self) -> bool {
        const WORDS: [&str; 6] =
            ["exec: \"", "exec: \\", "open executable", "executable file", "it is not executable", "createprocess"];
        let is_bare = self.seen.text.is_empty() && matches!(self.exit_code(), Some(126 | 127));
        self.hook_proof().is_empty() && (is_bare || WORDS.iter().any(|words| self.seen.has(words)))
    }
}
