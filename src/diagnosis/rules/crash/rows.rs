//! The table: one rule a cause, in the order in which they are asked.

use super::completed::{completed, completed_remedies};
use super::native::{native_crash, native_remedies};
use super::program::{exec_format_remedies, interpreter_remedies, not_executed};
use super::{app_error, app_remedies, exit_255, exit_code, script_remedies, slow};
use crate::diagnosis::language::say;
use crate::diagnosis::{Category, Explain, Recovery, Rule, Scope, Specificity};

pub(in crate::diagnosis::rules) const RULES: &[Rule] = &[
    Rule {
        cause: "NativeCrash",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(native_crash),
        remedies: native_remedies,
        explain: Explain {
            meaning: "The process was ended by a signal of its own making: an invalid access, an abort, a forbidden call.",
            told_apart: "Exit codes 132 to 136, 139, 141 and 159 stand for such signals. 137 (SIGKILL) and 143 (SIGTERM) come \
                         from outside and are other causes. An exception that nobody catches ends .NET with 134 as well, and is \
                         AppError.",
            action: "Read the last lines of its log (stack trace, failed assertion). 132: the CPU lacks an instruction that \
                     the build uses. 135: /dev/shm may be full. 139: wrong libc or architecture, or a bug. 159: seccomp.",
            source: "kernel signals, as exit code 128 + n in containerd and runc",
        },
    },
    Rule {
        cause: "ExecFormatError",
        category: Category::Start,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| not_executed(case, c, "exec format error")),
        remedies: exec_format_remedies,
        explain: Explain {
            meaning: "The kernel cannot execute the container's program: it is built for another architecture, or it is a script \
                      without a first line that names its interpreter.",
            told_apart: "The run ends at once with 255 (or 1), and its last words are `exec /X: exec format error`. The container \
                         did start, so it is no StartError.",
            action: "Compare the image's architecture with the node's; build the image for both, or select fitting nodes. For a \
                     script add `#!/bin/sh` as its first line.",
            source: "runc libcontainer/standard_init_linux.go (execve after the start handshake)",
        },
    },
    Rule {
        cause: "InterpreterMissing",
        category: Category::Start,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| not_executed(case, c, "no such file or directory")),
        remedies: interpreter_remedies,
        explain: Explain {
            meaning: "The program is there, but what must load it is not: the interpreter of a script, or the loader of a binary.",
            told_apart: "The run ends at once, and its last words are `exec /X: no such file or directory`. Where the program itself \
                         is missing the container never starts (ExecutableNotFound).",
            action: "Check the first line of the script (also for Windows line ends), or use an image with the libc that the binary \
                     was built for (glibc on musl images is the usual case).",
            source: "runc libcontainer/standard_init_linux.go (execve after the start handshake)",
        },
    },
    Rule {
        cause: "ExitCommandNotFound",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| exit_code(case, c, 127)),
        remedies: |case, finding| {
            script_remedies(case, finding, |language, container| {
                say!(language, "Check that what {container}'s script calls is in the image and in $PATH.", container)
            })
        },
        explain: Explain {
            meaning: "A shell started, but the command that it should run does not exist (exit code 127).",
            told_apart: "The container did start: where the container's own command is missing, it is ExecutableNotFound and \
                         nothing ran. A loader that misses a shared library ends with 127 too.",
            action: "Read the log for the name that was not found; install it, or correct the script or PATH.",
            source: "POSIX shells: exit status 127; ld.so for a missing shared library",
        },
    },
    Rule {
        cause: "ExitCommandNotExecutable",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(|case, c| exit_code(case, c, 126)),
        remedies: |case, finding| {
            script_remedies(case, finding, |language, container| {
                say!(
                    language,
                    "Check that what {container}'s script calls has its execute bit and is built for this machine.",
                    container
                )
            })
        },
        explain: Explain {
            meaning: "A shell started, but the file that it should run cannot be executed (exit code 126).",
            told_apart: "The container did start: where the container's own command lacks the permission, it is \
                         ExecutablePermissionDenied and nothing ran.",
            action: "Set the execute bit in the image, check for a noexec mount and for the right architecture.",
            source: "POSIX shells: exit status 126",
        },
    },
    Rule {
        cause: "CompletedButRestarted",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Specific,
        scope: Scope::Container(completed),
        remedies: completed_remedies,
        explain: Explain {
            meaning: "The container's main process ends with 0, but the pod's restart policy is Always, so it is started \
                      again with a growing back-off.",
            told_apart: "Reason Completed and exit code 0 under Always, with no Killing Event of a probe. Under OnFailure or \
                         Never the same end is a success.",
            action: "Keep the main process in the foreground (no `&`, no daemon mode). If it is a task that should end, run \
                     it as a Job.",
            source: "kubernetes pkg/kubelet/container/helpers.go ShouldContainerBeRestarted; kuberuntime_manager.go doBackOff",
        },
    },
    Rule {
        cause: "Exit255",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Umbrella,
        scope: Scope::Container(exit_255),
        remedies: app_remedies,
        explain: Explain {
            meaning: "The process ended with 255: exit(-1), or the kernel could not execute the file at all.",
            told_apart: "Reason Error. With the reason Unknown the runtime lost the container (RuntimeLostExit); with `exec \
                         format error` in its message it is ExecFormatError.",
            action: "Read its log. Where it ends at once with `exec ...: exec format error`, the image is for another \
                     architecture or the script lacks its first line (`#!`).",
            source: "the process itself; runc 1.2 and later for a failed execve (libcontainer/standard_init_linux.go)",
        },
    },
    Rule {
        cause: "AppError",
        category: Category::Crash,
        recovery: Recovery::Restarting,
        specificity: Specificity::Umbrella,
        scope: Scope::Container(app_error),
        remedies: app_remedies,
        explain: Explain {
            meaning: "The process ended by itself with an error code.",
            told_apart: "Reason Error, an exit code that stands for no signal, and no Killing Event. What it means is the \
                         program's own business: its log tells.",
            action: "Read the log of the ended run. At once after each start it is configuration or a missing dependency; \
                     after a long run rather a bug or a lost connection.",
            source: "the process itself; kubernetes pkg/kubelet/kuberuntime for reason and message",
        },
    },
    slow::RULE,
];
