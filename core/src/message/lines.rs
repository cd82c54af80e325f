//! Chooses the lines of a message that state an error: hints, warnings, banners and stack frames do not.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, StartKind};

/// What a line that states no error begins with. Sources: mount(8), systemd-run, e2fsprogs, nvidia-container-cli, runtimes
/// of languages.
const NOISE: &[&str] = &[
    "Mounting command:",
    "Mounting arguments:",
    "Running scope as unit",
    "Running as unit",
    "dmesg(1) may have",
    "(for several filesystems",
    "mount: (hint)",
    "warning:",
    "WARNING:",
    "Warning:",
    "note:",
    "Note:",
    "hint:",
    "Hint:",
    "HINT:",
    "Try `",
    "Try '",
    "Use 'systemctl",
    "Usage:",
    "See ",
    "Please ",
    "Refer to ",
    "For more information",
    "For bug reporting",
    "fsck from util-linux",
    "e2fsck 1.",
    "mke2fs 1.",
    "resize2fs 1.",
    "Auto-detected mode as",
    "Details:",
    "--------",
    "Traceback (most recent call last)",
    "goroutine ",
    "created by ",
    "--- ",
];

static BEGINNINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).start_kind(StartKind::Anchored).build(NOISE).ok()
});

/// Words that an error states, in lower case.
const ERROR_WORDS: &[&str] = &[
    "denied",
    "refused",
    "no such",
    "not found",
    "invalid",
    "fail",
    "cannot",
    "can't",
    "error",
    "timed out",
    "timeout",
    "not permitted",
    "unable",
    "not supported",
    "unknown ",
    "busy",
    "bad ",
    "wrong",
    "not exist",
    "unauthorized",
    "forbidden",
    "not have",
    "could not",
    "exceed",
    "exhausted",
    "expired",
    "no space",
    " in use",
];

/// Words of an error that only follows from another: cleaning up after it.
const CLEAN_UP: &[&str] = &[
    "clean up",
    "cleanup",
    "tear down",
    "teardown",
    "roll back",
    "failed to delete",
    "failed to remove",
    "failed to destroy",
];

/// Labels before the output of a command.
const LABELS: &[&str] = &["Output: ", "stderr: ", "stdout: ", "output: "];

/// The lines of a message that state an error, each without its bullet, label and time.
pub(super) fn of_errors(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for line in text.lines() {
        let line = bare(line);
        // What fsck has corrected is no error.
        if line == "CLEARED." || line == "FIXED." {
            found.pop();
            continue;
        }
        if !line.is_empty() && !is_noise(line) {
            found.push(line);
        }
    }
    found
}

/// A line without what stands before its message: a bullet, a label, a time, the head of a log.
pub(super) fn bare(line: &str) -> &str {
    let line =
        line.trim().trim_start_matches([':', ',', ';']).trim_start().trim_start_matches("* ").trim_start_matches("- ");
    let line = LABELS.iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line).trim();
    if line == "Output:" || line == "stderr:" { "" } else { without_log_head(line) }
}

/// `2026-11-21T09:00:00Z error x` and `E1121 09:00:00.000001 1 file.go:12] x` without their heads.
fn without_log_head(line: &str) -> &str {
    if is_klog(line)
        && let Some((_, rest)) = line.split_once("] ")
    {
        return rest;
    }
    let bytes = line.as_bytes();
    let is_date = bytes.len() > 19
        && bytes.iter().zip(b"0000-00-00").all(|(b, form)| if *form == b'0' { b.is_ascii_digit() } else { *b == b'-' });
    if !is_date {
        return line;
    }
    let rest = line[10..]
        .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'T' | ' ' | ':' | '.' | ',' | 'Z' | '+'));
    if rest.is_empty() { line } else { rest }
}

/// Whether a line begins with the head of klog: a letter for the level, and the month and day.
pub(crate) fn is_klog(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.len() > 5 && b"IWEF".contains(&bytes[0]) && bytes[1..5].iter().all(u8::is_ascii_digit)
}

/// Requests to the API of a cloud, as its client prints them. Source: Azure/azure-sdk-for-go azcore ResponseError.
pub(super) const REQUESTS: [&str; 5] =
    ["GET https://", "PUT https://", "POST https://", "PATCH https://", "DELETE https://"];

pub(super) fn is_noise(line: &str) -> bool {
    BEGINNINGS.as_ref().is_some_and(|all| all.find(Input::new(line).anchored(Anchored::Yes)).is_some())
        || line.split(": ").all(|part| matches!(part.trim_matches('"'), "" | "unknown"))
        || line.contains(": WARNING: ")
        || is_stack_frame(line)
        || line.starts_with("RESPONSE ") && line.contains(": ")
        || line.starts_with("ERROR CODE: ")
        || REQUESTS.iter().any(|request| line.starts_with(request))
        || line.bytes().all(|b| b.is_ascii_punctuation() && b != b'*' || b == b' ')
}

/// A frame of Java, Python, Ruby, .NET, JavaScript or Go.
fn is_stack_frame(line: &str) -> bool {
    let is_call = line.starts_with("at ") && (line.ends_with(')') || line.contains(".js:") || line.contains(" in "));
    is_call
        || line.starts_with("File \"")
        || line.starts_with("... ") && line.ends_with("more")
        || line.starts_with("#0 0x")
}

/// How much information about the error a text has: errors that only follow from another have the least.
pub(super) fn weight(text: &str) -> i32 {
    // What follows of an error is the next one.
    let text = text.split(", failed to ").next().unwrap_or(text);
    let text = text.get(..400).unwrap_or(text).to_ascii_lowercase();
    if CLEAN_UP.iter().any(|words| text.contains(words)) {
        return -1;
    }
    // The output of the command states why.
    if text.contains("mount failed: exit status") || text.starts_with("unable to find suitable address") {
        return 0;
    }
    i32::from(ERROR_WORDS.iter().any(|words| text.contains(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_hints_and_frames_are_no_errors() {
        let text = "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs a:/b /c\n\
                    Output: mount: /c: WARNING: source write-protected, mounted read-only.\n\
                    mount.nfs: access denied by server while mounting a:/b\n\n       dmesg(1) may have more information.\n";
        assert_eq!(
            of_errors(text),
            ["mount failed: exit status 32", "mount.nfs: access denied by server while mounting a:/b"]
        );
        let java = "java.lang.IllegalStateException: no pool\n\tat com.acme.Main.main(Main.java:12)\n\t... 3 more";
        assert_eq!(of_errors(java), ["java.lang.IllegalStateException: no pool"]);
    }

    #[test]
    fn heads_of_logs_are_removed() {
        assert_eq!(bare("E1121 09:00:00.000001       1 server.go:12] cannot listen"), "cannot listen");
        assert_eq!(bare("2026-11-21T09:00:00.123Z cannot listen"), "cannot listen");
        assert_eq!(bare("2026-11-21"), "2026-11-21");
        assert_eq!(bare("* a: b"), "a: b");
    }
}
