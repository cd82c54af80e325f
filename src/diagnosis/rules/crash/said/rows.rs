//! The table: one row a cause, asked about one line, which names the thing before the row may answer.

use super::handles::{self, Handles};
use super::space::{self, Full};
use super::{access, remedies, settings, words};
use crate::api::Root;
use crate::diagnosis::rules::signature::{ROW, Row, Seen};
use crate::diagnosis::{Case, Explain, RootKind};

/// Ends by a code of the program's own, or by an exception that nobody caught.
pub(super) const BY_ITSELF: &str = "Ended";
const ENDED: &[&str] = &[BY_ITSELF];

/// Other ends by SIGABRT.
pub(super) const ABORTED: &str = "Aborted";

pub(super) const ROWS: &[Row] = &[
    Row {
        cause: "AddressInUse",
        reasons: ENDED,
        words: &[&["address already in use"], &["eaddrinuse"], &["port ", "already in use"], &["address in use"]],
        says: "{container} cannot listen on {port}: it is in use already{rival}; it ends",
        remedies: remedies::address_in_use,
        explain: Explain {
            meaning: "The program wants to listen on a port that something else in the same network already has.",
            told_apart: "Its last line says that the address is in use. All containers of a pod share one network, so another container \
                         or a second server in the same one has the port; with hostNetwork, anything on the node.",
            action: "Give one of the two another port.",
            source: "the program's last words (termination message, or its log): EADDRINUSE of bind(2)",
        },
        ..ROW
    },
    Row {
        cause: "BindPermissionDenied",
        reasons: ENDED,
        words: &[
            &["bind", "permission denied"],
            &["listen", "permission denied"],
            &["listen eacces"],
            &["permissionerror: [errno 13] permission denied"],
            &["socketexception (13): permission denied"],
        ],
        also: Some(|case, seen| {
            let names_no_port = seen.has("permissionerror") || seen.has("socketexception (13)");
            !names_no_port || seen.has("bind") || super::comes_from_bind(case, seen)
        }),
        says: "{container} may not listen on {port}: permission denied; it ends",
        remedies: remedies::bind_permission,
        explain: Explain {
            meaning: "The program may not listen on its port, most often because it is below 1024 and the process is not root.",
            told_apart: "Its last line names bind or listen, and permission denied, or an exception of Python or .NET that comes from bind() says \
                         so. A port that somebody else has is AddressInUse.",
            action: "Listen on a port from 1024 on and point the Service's targetPort there, or add NET_BIND_SERVICE.",
            source: "the program's last words (termination message, or its log): EACCES of bind(2)",
        },
        ..ROW
    },
    Row {
        cause: "RbacForbidden",
        words: &[&["forbidden: user ", " cannot ", " resource "]],
        also: Some(|_, seen| access::refused(seen.text).is_some()),
        says: "{refused}; {container} ends",
        remedies: access::rights,
        explain: Explain {
            meaning: "The program asks the API server for something that its ServiceAccount has no right to, and ends.",
            told_apart: "Its last line is the API server's refusal, which names the account, the verb, the resource and the namespace. \
                         A refusal of the registry is ImagePullUnauthorized; of another server CredentialsRejected.",
            action: "Bind a role with that right to the ServiceAccount, or let the pod run as the account that has it.",
            source: "the program's last words (termination message, or its log); the sentence is k8s.io/apiserver \
                     pkg/endpoints/handlers/responsewriters/errors.go",
        },
        ..ROW
    },
    Row {
        cause: "ApiKindMissing",
        words: &[&["no matches for kind "]],
        also: Some(|_, seen| settings::kind(seen.text).is_some()),
        says: "{container} needs {kind}, which the API server does not have; it ends",
        remedies: settings::definitions,
        explain: Explain {
            meaning: "The program works with a kind of object that is not installed in this cluster, or not in that version.",
            told_apart: "Its last line says that nothing matches the kind, which is a client's answer to what the API server lists. \
                         A kind that is there and may not be read is RbacForbidden.",
            action: "Install the CustomResourceDefinition, or the version of the program that fits the one that is there.",
            source: "the program's last words (termination message, or its log); the sentence is k8s.io/apimachinery \
                     pkg/api/meta/errors.go (NoKindMatchError)",
        },
        ..ROW
    },
    Row {
        cause: "TlsVerificationFailed",
        words: &[
            &["x509: "],
            &["certificate_verify_failed"],
            &["certificate verify failed"],
            &["ssl certificate problem"],
            &["pkix path building failed"],
            &["unable to get local issuer certificate"],
            &["unable to verify the first certificate"],
            &["self signed certificate"],
            &["self-signed certificate"],
            &["certificate has expired"],
            &["depth_zero_self_signed_cert"],
            &["err_tls_cert_altname_invalid"],
            &["remote certificate is invalid"],
        ],
        says: "{container} does not trust the certificate of {server}: {distrust}; it ends",
        remedies: access::certificate,
        explain: Explain {
            meaning: "The program ends because it cannot verify the certificate of a server that it connects to.",
            told_apart: "Its last line tells of the verification: an unknown authority, a date, a name. Of a registry's certificate the \
                         kubelet tells, before anything runs (RegistryTlsUntrusted).",
            action: "Give the program the right authority, renew the certificate, or use a name that it has.",
            source: "the program's last words (termination message, or its log): Go crypto/x509, OpenSSL, the JVM, .NET, Node",
        },
        ..ROW
    },
    Row {
        cause: "CredentialsRejected",
        words: &[
            &["password authentication failed"],
            &["access denied for user"],
            &["login failed for user"],
            &["wrongpass "],
            &["noauth authentication required"],
            &["authenticationerror: authentication required"],
            &["login was refused"],
            &["authentication failed"],
            &["invalid username or password"],
            &["incorrect username or password"],
            &["invalid credentials"],
            &["bad credentials"],
            &["no pg_hba.conf entry"],
            &["invalidaccesskeyid"],
            &["signaturedoesnotmatch"],
        ],
        says: "{container} is refused where it logs in; it ends",
        remedies: access::credentials,
        explain: Explain {
            meaning: "The program ends because a server (a database, a queue, a cloud) does not accept its user or password.",
            told_apart: "Its last line is that server's refusal. A server that does not answer at all is DependencyUnreachable.",
            action: "Compare what the program is given with what the server has, and make new pods after a change.",
            source: "the program's last words (termination message, or its log): PostgreSQL, MySQL, SQL Server, Redis, MongoDB, \
                     RabbitMQ, Kafka, AWS",
        },
        ..ROW
    },
    Row {
        cause: "FilePermissionDenied",
        reasons: ENDED,
        words: &[
            &["permission denied"],
            &["eacces"],
            &["not writable"],
            &["accessdenied"],
            &["access denied"],
            &["access to the path ", "is denied"],
        ],
        also: Some(|_, seen| access::forbidden_path(seen.text).is_some()),
        says: "{container} has no permission for {forbidden}, of {place}; it ends",
        remedies: access::files,
        explain: Explain {
            meaning: "The program may not read or write a file or folder, as the user that it runs as.",
            told_apart: "Its last line says permission denied, and names a path that is none of the kernel's own. A port is \
                         BindPermissionDenied, a file system without writing ReadOnlyFilesystem, a program that may not be executed \
                         ExecutablePermissionDenied.",
            action: "Set fsGroup for a volume; run as the image's own user, or mount an emptyDir, for a folder of the image.",
            source: "the program's last words (termination message, or its log): EACCES",
        },
        ..ROW
    },
    Row {
        cause: "ReadOnlyFilesystem",
        reasons: ENDED,
        words: &[&["read-only file system"], &["erofs"], &["readonly file system"]],
        says: "{container} cannot write{path}: the file system is read-only; it ends",
        remedies: remedies::read_only,
        explain: Explain {
            meaning: "The program writes to a file system that is mounted read-only: its own root, or a ConfigMap, Secret or volume.",
            told_apart: "Its last line says read-only file system. Where the runtime itself cannot make a mount point, nothing ever ran \
                         (MountFailedAtStart).",
            action: "Mount an emptyDir where it writes, or let the root file system be writable.",
            source: "the program's last words (termination message, or its log): EROFS",
        },
        ..ROW
    },
    Row {
        cause: "NoSpaceLeft",
        words: &[
            &["no space left on device"],
            &["enospc"],
            &["disk quota exceeded"],
            &["not enough space on the disk"],
        ],
        also: Some(|_, seen| space::is_about_space(seen.text)),
        says: "{container} cannot write{path}: no space is left on {full}; it ends",
        root: full_claim,
        remedies: remedies::space,
        explain: Explain {
            meaning: "The program cannot write any more, because its volume, its quota there, its shared memory or the disk of its node is full.",
            told_apart: "Its last line says that no space is left. The same error for watches of inotify or for semaphores is no \
                         matter of space. A pod that takes more than its own limit of local storage is evicted \
                         (EvictedPodEphemeralLimit), and a node that is short of it tells DiskPressure.",
            action: "Make room on what is full, or make it larger; where a quota is used up, raise that.",
            source: "the program's last words (termination message, or its log): ENOSPC, EDQUOT",
        },
        ..ROW
    },
    Row {
        cause: "InotifyLimitReached",
        words: &[
            &["too many open files"],
            &["emfile"],
            &["enospc"],
            &["no space left on device"],
            &["inotify instances"],
            &["number of file watchers"],
            &["file watch limit"],
            &["max_user_watches"],
        ],
        also: Some(|_, seen| handles::met(seen.text).is_some_and(|met| met != Handles::Files)),
        says: "{container} cannot watch its files: {node} allows its user no more of inotify ({sysctl}); it ends",
        remedies: remedies::inotify,
        explain: Explain {
            meaning: "The program watches files for changes, and the kernel of its node allows its user no further inotify instance or watch.",
            told_apart: "Its last line speaks of watching, and of a limit, too many open files or no space left. The limits are the node's: all \
                         containers of one user count together. A disk that is full is NoSpaceLeft; a process with too many files or \
                         connections is TooManyOpenFiles.",
            action: "Raise fs.inotify.max_user_instances or fs.inotify.max_user_watches on the node, or let the program poll or not watch.",
            source: "the program's last words (termination message, or its log): EMFILE of inotify_init(2), ENOSPC of inotify_add_watch(2)",
        },
        ..ROW
    },
    Row {
        cause: "TooManyOpenFiles",
        words: &[&["too many open files"], &["emfile"], &["enfile"]],
        also: Some(|_, seen| handles::met(seen.text) == Some(Handles::Files)),
        says: "{container} may not open any more files or connections; it ends",
        remedies: remedies::files,
        explain: Explain {
            meaning: "The program has as many files and connections open as one process may (its RLIMIT_NOFILE, `ulimit -n`).",
            told_apart: "Its last line says too many open files. The same words of a program that watches files are InotifyLimitReached.",
            action: "Look for what it opens and never closes; raise the limit where it needs more. No field of a pod sets it.",
            source: "the program's last words (termination message, or its log): EMFILE, ENFILE",
        },
        ..ROW
    },
    Row {
        cause: "MaxMapCountTooLow",
        words: &[
            &["vm.max_map_count", "too low"],
            &["vm.max_map_count", "increase"],
            &["max virtual memory areas", "too low"],
        ],
        says: "the kernel of {node} allows {container} too few memory areas (vm.max_map_count); it ends",
        remedies: remedies::map_count,
        explain: Explain {
            meaning: "The program maps many files into memory and does not start where the kernel of its node allows too few areas.",
            told_apart: "Its last line names vm.max_map_count. It is no matter of memory or of a limit of the pod: the setting is the node's.",
            action: "Raise vm.max_map_count on the nodes, from the node's own configuration or by a privileged init container.",
            source: "the program's last words (termination message, or its log): bootstrap checks of Elasticsearch and OpenSearch, which \
                     SonarQube contains",
        },
        ..ROW
    },
    Row {
        cause: "ProcessLimitReached",
        words: &[
            &["unable to create native thread"],
            &["unable to create new native thread"],
            &["failed to create new os thread"],
            &["fatal error: newosproc"],
            &["can't start new thread"],
            &["can't create thread"],
            &["failed to spawn thread"],
            &["pthread_create failed"],
            &["fork", "resource temporarily unavailable"],
            &["fork", "errno 11"],
            &["thread", "resource temporarily unavailable"],
            &["spawn", "eagain"],
        ],
        says: "{container} cannot start another thread or process: the limit on their number is reached; it ends",
        remedies: remedies::processes,
        explain: Explain {
            meaning: "The program wants to start a thread or a process, and as many as may run do.",
            told_apart: "Its last line tells of fork or a thread, and that the resource is unavailable. Java calls it OutOfMemoryError as \
                         well, but no memory is short (else HeapExhausted). A node that has no process ids left at all tells NodePIDPressure.",
            action: "Look for what starts threads without an end; else raise podPidsLimit of the kubelet. No field of a pod sets it.",
            source: "the program's last words (termination message, or its log): EAGAIN of fork(2), clone(2) and pthread_create(3)",
        },
        ..ROW
    },
    Row {
        cause: "HeapExhausted",
        words: &[
            &["insufficient memory for the java runtime"],
            &["native memory allocation", "failed"],
            &["os::commit_memory(", "failed"],
            &["heap out of memory"],
            &["java.lang.outofmemoryerror"],
            &["runtime: out of memory"],
            &["runtime: cannot allocate memory"],
            &["system.outofmemoryexception"],
            &["allowed memory size of ", " exhausted"],
            &["nomemoryerror"],
            &["memoryerror"],
        ],
        says: "{container} ran out of memory by its own account; it ends",
        remedies: remedies::heap,
        explain: Explain {
            meaning: "The program's language ran out of the memory that it allows itself, and ended the program.",
            told_apart: "Its last line says so (JVM, Node, Go, .NET, PHP, Ruby). OOMKilled is the kernel's doing at the container's limit, and \
                         leaves no words.",
            action: "Raise the heap's own limit (and the container's above it), or look for a leak.",
            source: "the program's last words (termination message, or its log)",
        },
        ..ROW
    },
    Row {
        cause: "ModuleMissing",
        words: &[
            &["could not load file or assembly"],
            &["no module named"],
            &["cannot find module"],
            &["cannot find package"],
            &["classnotfoundexception"],
            &["noclassdeffounderror"],
            &["could not find or load main class"],
            &["unable to access jarfile"],
            &["cannot load such file"],
            &["version `glibc_", "not found"],
            &["error loading shared library"],
            &["cannot open shared object file"],
            &["can't locate ", " in @inc"],
        ],
        // .NET aborts where nobody catches an exception.
        also: Some(|_, seen| seen.reason != ABORTED || seen.has("exception")),
        says: "{container} misses a part of its own program; it ends",
        remedies: remedies::module,
        explain: Explain {
            meaning: "A module, package, class or library that the program loads is not in the image, or not where it looks for it.",
            told_apart: "Its last line names what could not be found (Python, Node, Java, .NET, Ruby, Perl, libc). A command that a \
                         shell, or a library that the dynamic linker does not find, is ExitCommandNotFound.",
            action: "Install it in the image; see that no volume hides it, and that the working directory is right.",
            source: "the program's last words (termination message, or its log)",
        },
        ..ROW
    },
    Row {
        cause: "DependencyUnreachable",
        words: &[
            &["connection refused"],
            &["econnrefused"],
            &["connection to ", " refused"],
            &["no such host"],
            &["enotfound"],
            &["eai_again"],
            &["name or service not known"],
            &["name does not resolve"],
            &["temporary failure in name resolution"],
            &["could not translate host name"],
            &["could not resolve host"],
            &["host not found in upstream"],
            &["unknownhostexception"],
            &["can't connect to mysql server"],
            &["can't reach database server"],
            &["bad address '"],
            &["no route to host"],
            &["connection timed out"],
            &["connect timed out"],
            &["connect call failed"],
            &["etimedout"],
            &["i/o timeout"],
            // wait-for-it
            &["timeout occurred after waiting ", " for "],
            &["communications link failure"],
            &["amqpconnectionerror"],
            &["zookeeperclienttimeoutexception"],
            &["no resolvable bootstrap urls"],
            &["timed out waiting for a node assignment"],
        ],
        also: Some(|case, seen| {
            // .NET aborts where nobody catches an exception; of others an abort is their own doing.
            (seen.reason != ABORTED || seen.has("exception"))
                && (words::endpoint(seen.text).is_some() || super::fell_to_a_refusal(case, seen))
        }),
        says: "{container} cannot reach {endpoint}; it ends",
        root: its_host,
        remedies: remedies::dependency,
        explain: Explain {
            meaning: "The program ends because something that it depends on cannot be reached: a database, a queue, another service.",
            told_apart: "Its last line names the address and says that the connection is refused or times out, or that the name is not found; \
                         or its very last word is an exception or panic that says so and names nobody. The same words of a program that goes on are no failure.",
            action: "See that the other service exists, has ready endpoints and is named rightly; let the program wait for it.",
            source: "the program's last words (termination message, or its log): ECONNREFUSED, ETIMEDOUT, getaddrinfo",
        },
        ..ROW
    },
    Row {
        cause: "EnvVarMissing",
        reasons: ENDED,
        words: &[
            &["environment variable"],
            &["env var"],
            &["keyerror: '"],
            &["key not found: \""],
            &["not set"],
            &["must be set"],
            &["is missing", "env"],
            &["is required", "env"],
            &["missing required", "env"],
            &["required key ", " missing value"],
            &["unbound variable"],
            &["password is not specified"],
            &["password option is not specified"],
            &["could not resolve placeholder '"],
            &["zoderror: ", ": required"],
            &["zoderror: ", "received undefined"],
        ],
        also: Some(|_, seen| {
            words::variable(seen.text).is_some()
                // The entrypoints of the PostgreSQL and MySQL images name it in the lines that follow.
                || seen.has("password is not specified")
                || seen.has("password option is not specified")
        }),
        says: "{container} misses the environment variable {variable}; it ends",
        remedies: remedies::variable,
        explain: Explain {
            meaning: "The program ends because an environment variable that it needs is not set.",
            told_apart: "Its last line names the variable and says that it is missing. Where a ConfigMap or Secret that should hold it does \
                         not exist, the container never starts (ConfigMapNotFound, SecretKeyMissing and the like).",
            action: "Set the variable in the container's env, or take it from a ConfigMap or Secret.",
            source: "the program's last words (termination message, or its log)",
        },
        ..ROW
    },
    Row {
        cause: "UnknownArgument",
        reasons: ENDED,
        words: &[
            &["unknown flag"],
            &["unknown long flag"],
            &["unknown shorthand flag"],
            &["flag provided but not defined"],
            &["unrecognized argument"],
            &["unrecognized option"],
            &["unrecognized vm option"],
            &["unknown option"],
            &["unknown argument"],
            &["invalid option"],
            &["illegal option"],
            &["bad option"],
            &["no such option"],
            &["unexpected argument"],
            &["unknown command"],
        ],
        also: Some(|_, seen| {
            seen.container.is_some_and(|container| settings::argument(container, seen.text).is_some())
        }),
        says: "{container} does not know the argument {argument} that it is given; it ends",
        remedies: settings::arguments,
        explain: Explain {
            meaning: "The program is started with an option or a command that this version of it does not have.",
            told_apart: "Its last line names the argument, and it stands in `args` or `command` of the container. A program that is not \
                         there at all is ExecutableNotFound.",
            action: "Correct args, or use the version of the image that they are for.",
            source: "the program's last words (termination message, or its log): Go flag and pflag, argparse, click, clap, getopt, Node",
        },
        ..ROW
    },
    Row {
        cause: "FileMissing",
        reasons: ENDED,
        words: &[
            &["no such file or directory"],
            &["enoent"],
            &["could not find file"],
            &["filenotfound"],
            &["nosuchfile"],
        ],
        also: Some(|_, seen| access::missing_path(seen.text).is_some()),
        says: "{container} does not find {missing}, which would be in {place}; it ends",
        remedies: settings::file,
        explain: Explain {
            meaning: "The program ends because a file or folder that it needs is not there: its settings, its data, a key.",
            told_apart: "Its last line says that there is no such file, and names it with its whole path. A part of the program itself is \
                         ModuleMissing; a ConfigMap or Secret that does not exist keeps the container from starting at all.",
            action: "Mount what holds the file, correct the key or the path, or put it into the image.",
            source: "the program's last words (termination message, or its log): ENOENT",
        },
        ..ROW
    },
    Row {
        cause: "Panic",
        words: &[&["panic: "], &["panicked at"], &["fatal error: all goroutines are asleep"]],
        says: "{container} panics",
        remedies: remedies::panic,
        explain: Explain {
            meaning: "The program met a state that it does not handle and ended itself with a stack trace.",
            told_apart: "Its last words are a panic of Go or Rust. A panic because of an address in use or a dependency that does not \
                         answer is put down to that.",
            action: "Read the stack in its log; go back a version if it began with one.",
            source: "the program's last words (termination message, or its log)",
        },
        ..ROW
    },
];

fn full_claim(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    match space::full(case, seen.container?, seen.text) {
        Full::Claim { name } | Full::Quota { claim: Some(name), .. } => {
            Some(RootKind::PersistentVolumeClaim.named(name))
        }
        _ => None,
    }
}

fn its_host(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    words::certain_endpoint(seen.text).map(|endpoint| RootKind::Host.named(&endpoint))
}
