//! Ranks clauses by their information: frames, wrappers, context, conditions.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};

/// How much information a clause has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Nothing: `rpc error`, `Error`, the place in a source file.
    Frame,
    /// A step that every failure of its kind goes through: `failed to setup network for sandbox`.
    Wrapper,
    /// What failed in particular: `failed to set bridge addr`.
    Context,
    /// Why, without an object: `permission denied`, `i/o timeout`. It needs the clause before it.
    Condition,
}

/// Beginnings of clauses without information, in lower case.
const FRAMES: &[&str] = &[
    "rpc error",
    "code = ",
    "desc = ",
    "kubernetes.io/",
    "failed to \"",
    "2 errors occurred",
    "1 error occurred",
    "3 errors occurred",
    "container_linux.go:",
    "process_linux.go:",
    "rootfs_linux.go:",
    "standard_init_linux.go:",
    "init_linux.go:",
    "exec_linux.go:",
    "internal error occurred",
    "error response from daemon",
    "error syncing pod",
    "failed to create pod sandbox",
    "failed to get sandbox image",
    "failed to prepare dynamic resources",
    "failed to apply default image tag",
    "failed to inspect image",
    "unable to get pod sandbox status",
    "unable to ensure pod container exists",
    "error making pod data directories",
    "network is not ready",
    "unmounted volumes=[",
    "chdir to cwd",
    "error during container init",
    "unable to start container process",
    "oci runtime create failed",
    "runc create failed",
    "failed to create shim",
    "failed to create containerd task",
    "failed to create task",
    "unable to attach or mount volumes",
    "prepare dynamic resources",
    "failed create pod sandbox",
    "failed to pull image",
    "back-off pulling image",
    "mountvolume.",
    "attachvolume.",
    "mapvolume.",
    "expandvolume.",
    "nodeexpandvolume.",
    "container runtime network not ready",
    "networkready=false",
    "runtimeready=false",
    "volume provisioning failed with",
    "strconv.",
];

/// Clauses without information.
const WHOLE_FRAMES: &[&str] = &[
    "error",
    "err",
    "caused by",
    "reason",
    "failed",
    "unknown",
    "<nil>",
    "nil",
    "errimagepull",
    "imagepullbackoff",
    "transport",
    "error code",
    "message",
    "failure",
    "container init",
    "starting container process",
    "server message",
    "http",
    "tls",
    "x509",
    "dial tcp",
    "mount",
    "error creating",
];

/// Beginnings of clauses that name a step which every failure of their kind goes through, in lower case.
const WRAPPERS: &[&str] = &[
    "failed to pull and unpack image",
    "failed to resolve reference",
    "failed to do request",
    "failed to copy",
    "failed to fetch anonymous token",
    "failed to fetch oauth token",
    "exit status ",
    "resize volume ",
    "failed to authorize",
    "failed to create containerd container",
    "failed to start containerd task",
    "failed to start container",
    "failed to start sandbox",
    "failed to create sandbox",
    "failed to reserve sandbox",
    "failed to setup network for sandbox",
    "failed to set up sandbox container",
    "failed to set up pod",
    "failed to create pod network sandbox",
    "failed to destroy network for sandbox",
    "network teardown failed for pod sandbox",
    "network plugin returns error",
    "error removing pod",
    "failed to generate ",
    "failed to get container spec opts",
    "failed to create container for ",
    "failed to mount image volume",
    "failed commit on ref",
    "error determining status",
    "unable to apply cgroup configuration",
    "unable to apply apparmor profile",
    "networkplugin cni failed to",
    "error adding pod",
    "error adding container to network",
    "cni request failed with status",
    "plugin type=",
    "oci runtime exec failed",
    "oci runtime start failed",
    "oci runtime error",
    "runc run failed",
    "crun",
    "container create failed",
    "container init caused",
    "starting container process",
    "failed to provision volume with storageclass",
    "mount failed",
    "connection error",
    "add cmd",
    "httpreadseeker",
    "failed open",
    "error running hook",
    "exec failed",
];

/// Clauses that add nothing to the error before them: classes of errors in containerd.
const SUFFIXES: &[&str] = &["unknown", "failed precondition", "<nil>"];

/// The beginnings of frames and wrappers, the frames first.
static BEGINNINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let builder = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostFirst)
        .start_kind(StartKind::Anchored)
        .ascii_case_insensitive(true)
        .build(FRAMES.iter().chain(WRAPPERS));
    builder.ok()
});

/// The rank of a clause.
pub(super) fn rank(clause: &str) -> Rank {
    let beginning = BEGINNINGS.as_ref().and_then(|all| all.find(Input::new(clause).anchored(Anchored::Yes)));
    let is_wrapper = match beginning.map(|found| found.pattern().as_usize() < FRAMES.len()) {
        Some(true) => return Rank::Frame,
        Some(false) => true,
        None => is_mount_directory(clause) || is_registry_request(clause),
    };
    if clause.is_empty() || is_whole(clause, WHOLE_FRAMES) {
        Rank::Frame
    } else if is_wrapper {
        Rank::Wrapper
    } else if is_condition(clause) {
        Rank::Condition
    } else {
        Rank::Context
    }
}

/// Whether the clause is a directory of the kubelet, where it mounts the volume of a pod.
fn is_mount_directory(clause: &str) -> bool {
    clause.starts_with("/var/lib/kubelet/") && !clause.contains(' ')
}

/// Whether the clause is a request to a registry, whose URL only repeats the image: `Head "https://x/v2/y/manifests/1"`.
fn is_registry_request(clause: &str) -> bool {
    (clause.starts_with("Head \"http") || clause.starts_with("Get \"http")) && clause.contains("/v2/")
}

fn is_whole(clause: &str, list: &[&str]) -> bool {
    list.iter().any(|words| clause.eq_ignore_ascii_case(words))
}

/// Whether a clause only classifies the error before it, or repeats that a command failed.
pub(super) fn is_suffix(clause: &str, before: &str) -> bool {
    is_whole(clause, SUFFIXES)
        || clause.starts_with("exit status ") && (is_condition(before) || super::lines::weight(before) > 0)
}

/// Whether the clause states why, but not of what: a few words without a name.
fn is_condition(clause: &str) -> bool {
    let names = |b: u8| b.is_ascii_digit() || matches!(b, b'"' | b'/' | b'\'' | b'`' | b'=' | b'_' | b'[' | b'.');
    let words = clause.split(' ').count();
    let has_name = clause.bytes().any(names) && clause != "i/o timeout";
    if words > 1 && super::object::is_call(clause) {
        return false;
    }
    is_value(clause)
        || is_status(clause) && words <= 5
        || words <= 6 && !has_name && (words <= 2 || super::code::errno(clause).is_some())
        || clause.eq_ignore_ascii_case("context deadline exceeded")
        || clause.eq_ignore_ascii_case("timed out waiting for the condition")
}

/// Whether the clause is only a value, such as a list, a map or `size=5, free=2`. What it is stands before it.
pub(super) fn is_value(clause: &str) -> bool {
    let is_list = clause.ends_with(']') && (clause.starts_with('[') || clause.starts_with("map["));
    let has_pairs = || clause.split(", ").all(|pair| !pair.contains(' ') && pair.contains(['=', ':']));
    is_list || clause.contains('=') && has_pairs()
}

/// An HTTP status: `403 Forbidden`.
fn is_status(clause: &str) -> bool {
    super::code::http(clause).is_some()
}

/// Words after a sentence that advise, in lower case.
const ADVICE: &[&str] = &[
    "please ",
    "check ",
    "try ",
    "see ",
    "consider ",
    "make sure ",
    "ensure ",
    "for more ",
    "refer to ",
    "you may ",
    "is the ",
    "use ",
    "run ",
    "verify ",
    "for several ",
];

/// What a question to the reader begins with.
const QUESTIONS: &[&str] = &["have you ", "did you ", "do you ", "are you ", "Have you ", "Did you ", "Do you "];

/// The clause without the advice at its end: sentences and parts after a semicolon that begin with a word of advice.
pub(super) fn without_advice(clause: &str) -> &str {
    let clause = match clause.split_once("? ") {
        Some((question, rest)) if QUESTIONS.iter().any(|words| question.starts_with(words)) => rest,
        _ => clause,
    };
    // The label of the next clause: `still waiting for x. pollimmediate error: timed out`.
    let clause = match clause.rsplit_once(". ") {
        Some((sentence, label)) if label.ends_with(" error") && label.split(' ').count() < 3 => sentence,
        _ => clause,
    };
    let mut from = 0;
    while let Some(found) = clause[from..].find(['.', ';', ',', '!', '-']) {
        let at = from + found;
        from = at + 1;
        let Some(rest) = clause[from..].strip_prefix(' ').map(str::trim_start).filter(|_| at > 0) else { continue };
        if clause.as_bytes()[at] == b'-' && !clause[..at].ends_with(' ') {
            continue;
        }
        // A comma precedes advice only in `, check ...` and `, please ...`.
        let is_sentence = clause.as_bytes()[at] != b',' || rest.starts_with("check ") || rest.starts_with("please ");
        let begins = |words: &&str| {
            rest.len() >= words.len() && rest.as_bytes()[..words.len()].eq_ignore_ascii_case(words.as_bytes())
        };
        if is_sentence && (rest.starts_with("http") || ADVICE.iter().any(begins)) {
            return clause[..at].trim_end();
        }
    }
    clause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_ranked_by_their_information() {
        for (clause, expected) in [
            ("rpc error", Rank::Frame),
            ("Error", Rank::Frame),
            ("failed to create shim task", Rank::Frame),
            ("failed to setup network for sandbox", Rank::Wrapper),
            ("failed to set bridge addr", Rank::Context),
            ("permission denied", Rank::Condition),
            ("403 Forbidden", Rank::Condition),
            ("no such file or directory", Rank::Condition),
            ("i/o timeout", Rank::Condition),
            ("open /etc/x", Rank::Context),
            ("Too many volumes attached to the node", Rank::Context),
            ("診断", Rank::Condition),
        ] {
            assert_eq!(rank(clause), expected, "{clause}");
        }
    }

    #[test]
    fn advice_is_no_part_of_an_error() {
        assert_eq!(without_advice("pull rate limit reached. You may increase it"), "pull rate limit reached");
        assert_eq!(without_advice("name is taken; check if another is in progress"), "name is taken");
        assert_eq!(without_advice("wrong fs type, bad option"), "wrong fs type, bad option");
        assert_eq!(without_advice("no name - check that it resolves"), "no name");
        assert_eq!(without_advice("a.b.c"), "a.b.c");
    }
}
