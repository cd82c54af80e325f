//! The signal `programError`.

mod access;
mod amounts;
mod cloud;
mod code_line;
mod handles;
mod settings;
mod space;
mod words;

use std::cell::OnceCell;

use self::access::Denied;
use self::handles::Handles;
use self::space::Full;
use super::termination::end::{self, settled_crash};
use super::termination::{end_evidence, library, log_line};
use super::{Matched, PodSignal, Source, mounted, of_containers, signal};
use crate::case::{Case, Finding, Verdict};
use crate::facts::{Container, Mount, RefKind, Terminated, Timestamp, VolumeSource, format_bytes};
use crate::message;
use crate::message::text;

/// Exit code of SIGABRT. Some runtimes abort their own process if memory runs out or an assertion fails.
const ABORTED: i32 = 134;

fn shown_version(version: Option<u32>) -> String {
    version.map_or_else(String::new, |version| version.to_string())
}

/// Addresses of the pod itself.
const LOOPBACK: [&str; 5] = ["localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0"];

signal! {
    /// The log line by which a program explains why it exited with an error code of its own. Ends by a signal from outside,
    /// by exit code 0, 126 or 127, and for memory at the limit are not in it.
    /// Source: containerStatuses[].lastState.terminated.message; the log, where the operator may read it.
    pub(crate) struct ProgramError<'a> as "programError" {
        case: &'a Case<'a>,
        container: &'a Container,
        run: &'a Terminated,
        line: log_line::Line,
        parsed: Parsed<'a>,
    }
    reason: |of| &of.run.reason, message: &of.line.text;

    /// The line without time stamp, level and logger, at most 130 characters.
    "message": fn message(&self) -> String { log_line::shown(&self.line.text, 130) }

    /// The whole line, for conditions; it can be long.
    "line": fn whole_line(&self) -> &str { &self.line.text }

    /// File and line of the source code at which a Go or Rust program panicked. Source: the stack in the log.
    "codeLine": fn code_line(&self) -> &str {
        let lines = log_line::all(self.case, self.container, self.run).map(|(line, _)| line);
        code_line::of_panic(lines).unwrap_or_default()
    }

    /// The source line at which a Python program failed, at most 60 characters; empty without a traceback of its own code.
    /// Source: the traceback in the log.
    "sourceLine": fn source_line(&self) -> String {
        let lines = log_line::all(self.case, self.container, self.run).map(|(line, _)| line);
        code_line::of_traceback(lines).map_or_else(String::new, |line| text::line(line, 60))
    }

    /// Exit code. Source: state.terminated.exitCode.
    "exitCode": fn exit_code(&self) -> i32 { self.run.exit_code }

    /// Whether the process aborted itself (SIGABRT) for another reason than an uncaught exception.
    /// Source: state.terminated.exitCode 134; the log.
    "aborted": fn aborted(&self) -> bool {
        self.run.exit_code == ABORTED && !log_line::is_uncaught_exception(self.case, self.container, self.run)
    }

    /// Whether the line names an exception.
    "isException": fn is_exception(&self) -> bool { self.has("exception") }

    /// How long the run took, in seconds. Source: startedAt and finishedAt of state.terminated.
    "ranForSeconds": fn ran_for_seconds(&self) -> Option<i64> { self.run.ran_for() }

    /// Whether the run took less than a minute.
    "endedSoon": fn ended_soon(&self) -> bool { self.run.ran_for().is_some_and(|seconds| seconds < 60) }

    /// Port that the line names last.
    "port": fn port(&self) -> Option<i32> { words::port(&self.line.text) }

    /// Port that the program tried to listen on: that of the line, else the only one in the command of the container.
    /// Source: the log; spec.containers[].command and args.
    "listenPort": fn listen_port(&self) -> Option<i32> {
        self.port().or_else(|| words::port_of_command(self.container))
    }

    /// What is wrong where a migration of a database cannot run: `unknownRevision` (of the database), `changed` (after it ran),
    /// `locked`, `pending` or `failed`.
    "migrationProblem": fn migration_problem(&self) -> &'static str { words::migration_problem(&self.line.text) }

    /// Version of Java that a refused class needs, such as `21`; empty for other lines.
    "neededJava": fn needed_java(&self) -> String { shown_version(words::java_versions(&self.line.text)[0]) }

    /// Version of Java that runs the program, as the refusal of a class names it; empty for other lines.
    "ownJava": fn own_java(&self) -> String { shown_version(words::java_versions(&self.line.text)[1]) }

    /// Whether only root may listen on the port: it is below 1024, or the line names none.
    "isPrivilegedPort": fn is_privileged_port(&self) -> bool { self.port().is_none_or(|port| port < 1024) }

    /// Another container of the pod that declares this port; empty if none does. Source: spec.containers[].ports.
    "portOwner": fn port_owner(&self) -> &str {
        words::port_owner(self.case, self.container, self.listen_port()).unwrap_or_default()
    }

    /// Whether the stack of the error ends in a call of bind(). Source: the lines around it in the log.
    "fromBind": fn is_from_bind(&self) -> bool {
        log_line::has_frame_with(self.case, self.container, self.run, &self.line.text, "bind(")
    }

    /// User whose request the API server denied. Source: k8s.io/apiserver responsewriters/errors.go.
    "deniedUser": fn denied_user(&self) -> String { self.denied(|denied| denied.user.clone()) }

    /// Name of the service account whose request the API server denied; empty if it was another user.
    "deniedAccount": fn denied_account(&self) -> String { self.denied(|denied| denied.account_name().to_owned()) }

    /// Namespace of that service account.
    "deniedAccountNamespace": fn denied_account_namespace(&self) -> String {
        self.denied(|denied| denied.account_namespace().to_owned())
    }

    /// The user as a sentence names it: `ServiceAccount web`. Empty if the line is no denial.
    "deniedSubject": fn denied_subject(&self) -> String { self.denied(Denied::subject) }

    /// Verb of the denied request, such as `list`.
    "deniedVerb": fn denied_verb(&self) -> String { self.denied(|denied| denied.verb.clone()) }

    /// Resource of the denied request, as `kubectl create role` takes it: `deployments.apps`, `pods/log`.
    "deniedResource": fn denied_resource(&self) -> String { self.denied(|denied| denied.resource.clone()) }

    /// Namespace of the denied request; empty at the cluster scope.
    "deniedNamespace": fn denied_namespace(&self) -> String {
        self.denied(|denied| denied.namespace.clone().unwrap_or_default())
    }

    /// The same, else the namespace of the pod.
    "requestNamespace": fn request_namespace(&self) -> String {
        let namespace = self.denied_namespace();
        if namespace.is_empty() { self.case.pod.key.namespace.to_string() } else { namespace }
    }

    /// Name of an object that the API server does not have. Source: k8s.io/apimachinery NewNotFound.
    "missingObject": fn missing_object(&self) -> &str { settings::missing_object(&self.line.text).unwrap_or_default().1 }

    /// Resource of that object, with its group: `configmaps`, `storageclasses.storage.k8s.io`.
    "missingObjectResource": fn missing_object_resource(&self) -> &str {
        settings::missing_object(&self.line.text).unwrap_or_default().0
    }

    /// Kind that the API server does not serve. Source: k8s.io/apimachinery NoKindMatchError.
    "missingKind": fn missing_kind(&self) -> String { self.missing().map(|(kind, _)| kind.clone()).unwrap_or_default() }

    /// Group and version of that kind, such as `example.com/v1`.
    "missingKindVersion": fn missing_kind_version(&self) -> String {
        self.missing().map(|(_, version)| version.clone()).unwrap_or_default()
    }

    /// Group of that kind.
    "missingKindGroup": fn missing_kind_group(&self) -> String {
        let version = self.missing_kind_version();
        version.split('/').next().unwrap_or_default().to_owned()
    }

    /// What is wrong with a certificate: `expired` (or not valid yet), `otherName`, or `unknownAuthority`.
    "certificateProblem": fn certificate_problem(&self) -> &'static str { access::certificate_problem(&self.line.text) }

    /// When the certificate expired; empty if it did not, or if the line has no time.
    /// Source: Go crypto/x509, `current time ... is after ...`.
    "certificateExpiredAt": fn certificate_expired_at(&self) -> &str {
        if self.certificate_problem() == "expired" { message::word_after(&self.line.text, " is after ") } else { "" }
    }

    /// When the certificate becomes valid; empty if it is, or if the line has no time.
    /// Source: Go crypto/x509, `current time ... is before ...`.
    "certificateValidFrom": fn certificate_valid_from(&self) -> &str {
        if self.certificate_problem() == "expired" { message::word_after(&self.line.text, " is before ") } else { "" }
    }

    /// What could not be reached: `db:5432`, or the name alone if neither the line nor the command of the container has the
    /// port; empty if the line names none.
    "endpoint": fn endpoint(&self) -> &str {
        let endpoint = || words::endpoint(&self.line.text).map(|found| words::with_port(found, self.container));
        self.parsed.endpoint.get_or_init(endpoint).as_deref().unwrap_or_default()
    }

    /// The same, where a client names it as the address that it connects to and it is not in the pod itself.
    "dialedEndpoint": fn dialed_endpoint(&self) -> String {
        words::certain_endpoint(&self.line.text).unwrap_or_default()
    }

    /// Whether the line is about an address that the program itself listens on, not one that it connects to.
    "isAboutListening": fn is_about_listening(&self) -> bool { words::is_about_listening(&self.line.text) }

    /// Host of the endpoint.
    "host": fn host(&self) -> &str { words::host(self.endpoint()) }

    /// Whether the endpoint is the pod itself (localhost).
    "hostIsPod": fn host_is_pod(&self) -> bool { LOOPBACK.contains(&self.host()) }

    /// Name of the Service that the endpoint means; empty for an IP address and for a name outside the cluster.
    "service": fn service(&self) -> &str {
        let host = self.host();
        let is_outside = host.contains('.') && !host.contains(".svc");
        let is_name = host.contains(|c: char| c.is_ascii_alphabetic()) && !host.starts_with('[');
        if is_name && !is_outside { host.split('.').next().unwrap_or_default() } else { "" }
    }

    /// Namespace of that Service.
    "serviceNamespace": fn service_namespace(&self) -> &str {
        self.host().split('.').nth(1).unwrap_or(&self.case.pod.key.namespace)
    }

    /// Product whose client failed where the line names no endpoint, such as `MySQL`: by the line, else by a driver in its
    /// stack; empty if it is not known.
    "server": fn server(&self) -> &'static str {
        let named = words::unnamed(&self.line.text).map_or("", |(server, _)| server);
        if !named.is_empty() || self.connection_failure().is_empty() {
            return named;
        }
        let mut lines = log_line::all(self.case, self.container, self.run);
        lines.find_map(|(line, _)| words::driver(line)).unwrap_or_default()
    }

    /// How a connection failed where the line names no endpoint: `refused`, `noRoute`, `timeout`, `nameNotFound` or
    /// `lookupFailed`; empty if the line is no exception of a connection.
    "connectionFailure": fn connection_failure(&self) -> &'static str {
        words::unnamed(&self.line.text).map_or("", |(_, failure)| failure)
    }

    /// Whether the line is the last that the program logged, apart from its stack: the program exited because of it.
    "isLastLine": fn is_last_line(&self) -> bool {
        log_line::ends_log(self.case, self.container, self.run, &self.line.text)
    }

    /// Environment variable that the line names.
    "namedVariable": fn named_variable(&self) -> &str { words::variable(&self.line.text).unwrap_or_default() }

    /// The same, or one that another line of the log names.
    "variable": fn variable(&self) -> &str {
        let of_line = words::variable(&self.line.text);
        let elsewhere =
            || log_line::all(self.case, self.container, self.run).find_map(|(line, _)| words::variable(line));
        of_line.or_else(elsewhere).unwrap_or_default()
    }

    /// Argument of the container that the program does not know. Source: spec.containers[].args and command.
    "argument": fn argument(&self) -> &str { settings::argument(self.container, &self.line.text).unwrap_or_default() }

    /// Field that has the argument: `args` or `command`.
    "argumentField": fn argument_field(&self) -> &'static str {
        let argument = self.argument();
        if self.container.args.iter().any(|word| word.contains(argument)) { "args" } else { "command" }
    }

    /// Action that a cloud does not allow: `s3:GetObject`; empty if the line names none.
    "cloudAction": fn cloud_action(&self) -> &str { cloud::action(&self.line.text) }

    /// Resource of the cloud that the action is on, at most 70 characters; empty if the line names none.
    "cloudResource": fn cloud_resource(&self) -> String { message::name(cloud::resource(&self.line.text), 70) }

    /// Identity of the cloud that lacks the permission, at most 50 characters; empty if the line names none.
    "cloudIdentity": fn cloud_identity(&self) -> String { message::name(cloud::identity(&self.line.text), 50) }

    /// File or folder that the program has no permission for; empty if the line names none.
    "forbiddenPath": fn forbidden_path(&self) -> &str {
        let in_claim = || self.forbidden_in_claim().map(|(name, _)| name);
        access::forbidden_path(&self.line.text).or_else(in_claim).unwrap_or_default()
    }

    /// File or folder that does not exist; empty if the line names none.
    "missingPath": fn missing_path(&self) -> &str { access::missing_path(&self.line.text).unwrap_or_default() }

    /// First file or folder that the line names; segments of shared memory, which are named like files, are none.
    "path": fn path(&self) -> &str {
        let path = words::path(&self.line.text).filter(|_| !space::is_shared_memory(&self.line.text));
        path.unwrap_or_default()
    }

    /// Folder of that file; the path itself if it is in the root folder.
    "folder": fn folder(&self) -> &str {
        let path = self.file();
        words::folder(path).unwrap_or(path)
    }

    /// Where the mount that holds the file begins; empty if the file belongs to the image. Source: volumeMounts[].mountPath.
    "mountPath": fn mount_path(&self) -> &str { self.mount().map_or("", |(mount, _)| &mount.path) }

    /// Volume of that mount; empty if the file belongs to the image.
    "volume": fn volume(&self) -> &str { self.mount().map_or("", |(mount, _)| &mount.volume) }

    /// Source of that volume: `configMap`, `secret`, `projected`, `persistentVolumeClaim`, `emptyDir`, `hostPath`, `image`,
    /// or another field of spec.volumes[].
    "volumeKind": fn volume_kind(&self) -> &str {
        self.mount().and_then(|(_, source)| source).map_or("", space::volume_kind)
    }

    /// Name of the volume's ConfigMap, Secret or claim, or path on the node of a hostPath volume.
    "volumeSource": fn volume_source(&self) -> &str {
        match self.mount().and_then(|(_, source)| source) {
            Some(
                VolumeSource::ConfigMap { name, .. }
                | VolumeSource::Secret { name, .. }
                | VolumeSource::Claim { name, .. }
                | VolumeSource::HostPath { path: name },
            ) => name,
            _ => "",
        }
    }

    /// Whether the kubelet mounts the volume so that no container can write to it (ConfigMap, Secret, projected,
    /// downwardAPI, image).
    "volumeIsReadOnly": fn volume_is_read_only(&self) -> bool {
        matches!(self.volume_kind(), "configMap" | "secret" | "projected" | "image" | "downwardAPI")
    }

    /// The claim with the data of the container: the one that holds the file, else the only one that it mounts; empty if it
    /// mounts none or several. Source: spec.volumes[].persistentVolumeClaim.
    "dataClaim": fn data_claim(&self) -> &str {
        match self.mount() {
            Some((_, Some(VolumeSource::Claim { name, .. }))) => name,
            Some(_) => "",
            None => mounted::only_claim(self.case, self.container).map_or("", |(_, name)| name),
        }
    }

    /// Shared library, or version of the C library, that the dynamic linker does not find: `libssl.so.1.1`, `GLIBC_2.34`.
    "library": fn library(&self) -> &str { library::missing(&self.line.text).map_or("", |missing| missing.name) }

    /// Program or library that needs it; empty if the line does not name it.
    "libraryUser": fn library_user(&self) -> &str {
        library::missing(&self.line.text).map_or("", |missing| missing.needed_by)
    }

    /// Whether the library exists, and is older than the program needs.
    "isLibraryOld": fn is_library_old(&self) -> bool {
        library::missing(&self.line.text).is_some_and(|missing| missing.is_version)
    }

    /// Whether the variable that the line names is a setting of the program, which may have another source than the
    /// environment.
    "isSetting": fn is_setting(&self) -> bool { self.has("setting") || self.has("field required [type=missing") }

    /// Whether the line is about space on a disk: limits of the kernel have the same error.
    "isAboutSpace": fn is_about_space(&self) -> bool { space::is_about_space(&self.line.text) }

    /// What is full: `claim`, `memory` (an emptyDir in memory), `sharedMemory` (/dev/shm of the container), `disk`, `quota`,
    /// or `oneOf` where the line does not name the path and the container writes to several volumes.
    "full": fn full(&self) -> &'static str { self.full_place().kind() }

    /// The claim that is full, or whose quota is. Source: spec.volumes[].persistentVolumeClaim.
    "fullClaim": fn full_claim(&self) -> &str { self.full_place().claim().unwrap_or_default() }

    /// The volumes that may be full.
    "fullVolumes": fn full_volumes(&self) -> String { self.full_place().volumes().join(", ") }

    /// How many these are.
    "fullVolumeCount": fn full_volume_count(&self) -> i64 {
        i64::try_from(self.full_place().volumes().len()).unwrap_or(i64::MAX)
    }

    /// Size limit of the emptyDir that is full, as a quantity. Source: spec.volumes[].emptyDir.sizeLimit.
    "fullLimit": fn full_limit(&self) -> Option<String> {
        match self.full_place() {
            Full::Memory { limit, .. } => limit.map(format_bytes),
            _ => None,
        }
    }

    /// Whether the emptyDir has such a limit.
    "fullHasLimit": fn full_has_limit(&self) -> bool { matches!(self.full_place(), Full::Memory { limit: Some(_), .. }) }

    /// Limit of open handles that was reached: `openFiles`, `inotifyInstances` or `inotifyWatches`; empty if none was.
    "handleLimit": fn handle_limit(&self) -> &'static str { handles::met(&self.line.text).map_or("", Handles::name) }

    /// The sysctl of the node that sets that limit; empty if none does.
    "sysctl": fn sysctl(&self) -> &'static str {
        handles::met(&self.line.text).and_then(Handles::sysctl).unwrap_or_default()
    }

    /// Limit that the line states: the number in `[65530] is too low` or `limit (128)`; empty if it states none.
    "statedLimit": fn stated_limit(&self) -> &str { amounts::stated_limit(&self.line.text) }

    /// Value that the line demands instead: the number in `increase to at least [262144]`; empty if it demands none.
    "neededValue": fn needed_value(&self) -> &str { amounts::needed_value(&self.line.text) }

    /// Number of bytes that the program asked for, as a quantity such as `80Mi`; empty if no line of the log states it.
    "askedBytes": fn asked_bytes(&self) -> Option<String> {
        let of_log = || log_line::all(self.case, self.container, self.run).find_map(|(line, _)| amounts::bytes(line));
        amounts::bytes(&self.line.text).or_else(of_log).map(format_bytes)
    }

    /// Version of the database that wrote the data; empty if the line does not name it.
    "dataVersion": fn data_version(&self) -> &str { amounts::versions(&self.line.text)[0] }

    /// Version of the database that cannot read it.
    "serverVersion": fn server_version(&self) -> &str { amounts::versions(&self.line.text)[1] }

    /// User ID that the container runs as, if its spec sets one. Source: securityContext.runAsUser.
    "runAsUser": fn run_as_user(&self) -> Option<i64> { self.container.run_as_user }

    /// Setting of the language runtime that limits its heap; empty if it is not known.
    "heapSetting": fn heap_setting(&self) -> &'static str { settings::heap_setting(&self.line.text.to_ascii_lowercase()) }

    /// Whether the JVM lacked memory outside its heap.
    "isOutsideHeap": fn is_outside_heap(&self) -> bool {
        ["java runtime", "native memory", "commit_memory"].iter().any(|words| self.has(words))
    }

    /// Secrets that environment variables of the container are read from. Source: env and envFrom.
    "secrets": fn secrets(&self) -> Vec<String> {
        let refs = self.container.env_refs.iter().filter(|of| of.kind == RefKind::Secret);
        let mut names: Vec<String> = refs.map(|of| of.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether there is such a Secret.
    "readsSecrets": fn reads_secrets(&self) -> bool {
        self.container.env_refs.iter().any(|of| of.kind == RefKind::Secret)
    }
}

/// Values parsed from the line, each at most once.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'a> {
    lower: OnceCell<String>,
    endpoint: OnceCell<Option<String>>,
    denied: OnceCell<Option<Denied>>,
    missing: OnceCell<Option<(String, String)>>,
    mount: OnceCell<Option<(&'a Mount, Option<&'a VolumeSource>)>>,
    full: OnceCell<Full<'a>>,
}

pub(crate) const SOURCE: Source = Source {
    definition: &ProgramError::DEFINITION,
    read: |case| of_containers(case, |container| read(case, container)),
};

impl<'a> PodSignal<'a> for ProgramError<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    /// Events of a kill may still arrive; then the line is not the reason.
    fn due(&self, _: &Matched) -> Result<(), Timestamp> {
        match settled_crash(self.case, self.container) {
            Err(Verdict::NotBefore(at)) => Err(at),
            _ => Ok(()),
        }
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        let finding = end_evidence(self.container, self.run, finding).with(self.line.evidence(self.container));
        end::judged(self.case, finding)
    }
}

impl<'a> ProgramError<'a> {
    fn has(&self, part: &str) -> bool {
        self.parsed.lower.get_or_init(|| self.line.text.to_ascii_lowercase()).contains(part)
    }

    fn denied(&self, part: impl Fn(&Denied) -> String) -> String {
        let denied = self.parsed.denied.get_or_init(|| access::denied(&self.line.text));
        denied.as_ref().map(part).unwrap_or_default()
    }

    fn missing(&self) -> Option<&(String, String)> {
        self.parsed.missing.get_or_init(|| settings::missing_kind(&self.line.text)).as_ref()
    }

    /// The file or directory in the line.
    fn file(&self) -> &str {
        let line = &self.line.text;
        access::forbidden_path(line).or_else(|| access::missing_path(line)).unwrap_or_else(|| self.path())
    }

    /// Name of a forbidden file in the only claim of the container, and the mount of the claim.
    fn forbidden_in_claim(&self) -> Option<(&str, &'a Mount)> {
        let name = access::forbidden_name(&self.line.text)?;
        Some((name, mounted::only_claim(self.case, self.container)?.0))
    }

    fn mount(&self) -> Option<(&'a Mount, Option<&'a VolumeSource>)> {
        *self.parsed.mount.get_or_init(|| {
            let mount = match self.forbidden_in_claim() {
                Some((_, mount)) => mount,
                None => self.container.mount_at(Some(self.file()).filter(|file| !file.is_empty())?)?,
            };
            Some((mount, self.case.pod.volume_source(&mount.volume)))
        })
    }

    fn full_place(&self) -> &Full<'a> {
        self.parsed.full.get_or_init(|| space::full(self.case, self.container, &self.line.text))
    }
}

/// The decisive line of a run that terminated with an exit code of the program.
fn read<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<ProgramError<'a>> {
    let run = end::crash(case, container).filter(|run| has_own_exit_code(run) || is_of_linker(run))?;
    let line = decisive_line(case, container, run)?;
    if is_of_linker(run) && library::missing(&line.text).is_none() {
        return None;
    }
    Some(ProgramError { case, container, run, line, parsed: Parsed::default() })
}

/// Whether the exit code may be that of the dynamic linker, which did not find a library.
fn is_of_linker(run: &Terminated) -> bool {
    matches!(run.exit_code, 126 | 127) && run.reason != end::OOM_KILLED
}

/// Whether the program chose the exit code itself. 126 and 127 (from a shell or the dynamic linker) have causes of
/// their own, and a signal needs no line.
fn has_own_exit_code(run: &Terminated) -> bool {
    let own_code = run.exit_code == ABORTED || run.ending_signal().is_none();
    own_code && !matches!(run.exit_code, 0 | 126 | 127) && run.reason != end::OOM_KILLED && !end::is_lost(run)
}

/// The decisive line. If the last error line only reports a refused connection (the innermost cause of a stack), it is
/// the nearest line above that names the endpoint.
fn decisive_line(case: &Case<'_>, container: &Container, run: &Terminated) -> Option<log_line::Line> {
    let last = log_line::line(case, container, run)?;
    // .NET logs the innermost exception last, and its context above.
    if last.text.starts_with("---> ") {
        let is_named = |line: &log_line::Line| {
            let is_port = text::has(&line.text, &["in use"]) && words::port(&line.text).is_some();
            !line.text.starts_with("---> ") && (is_port || access::forbidden_path(&line.text).is_some())
        };
        if let Some(named) = log_line::error_lines(case, container, run).find(is_named) {
            return Some(named);
        }
    }
    if !words::is_unnamed_refusal(&last.text) {
        return Some(last);
    }
    let names = |line: &log_line::Line| words::is_refusal(&line.text) && words::endpoint(&line.text).is_some();
    let tried =
        |line: &log_line::Line| words::is_connection_attempt(&line.text) && words::endpoint(&line.text).is_some();
    if let Some(named) = log_line::error_lines(case, container, run).find(names) {
        return Some(named);
    }
    if let Some(named) = log_line::error_lines(case, container, run).find(tried) {
        return Some(last.after(&named));
    }
    // The attempt itself is no error: `Connecting to MASTER redis-0:6379`.
    let near = log_line::lines_above(case, container, run, &last).find(tried);
    Some(match near {
        Some(named) => last.after(&named),
        None => last,
    })
}
