//! Commands that only read. A remedy has one if only a person can decide what to change.

/// Verbs of kubectl that change nothing.
const VERBS: [&str; 7] = ["describe", "events", "explain", "get", "logs", "top", "version"];
/// Programs that only read, in a pipe or in the shell of a node.
const PROGRAMS: [&str; 11] = ["cat", "df", "dmesg", "du", "grep", "head", "journalctl", "lsblk", "ps", "sort", "tail"];
/// Flags of kubectl whose value is the next word.
const WITH_VALUE: [&str; 4] = ["-n", "-o", "-c", "-l"];

/// Whether a command changes nothing. `false` if a part of it is not known.
pub(super) fn only_reads(command: &str) -> bool {
    // A redirection may write a file.
    let Some(words) = shlex::split(&command.replace("; ", " ; ")).filter(|words| !words.iter().any(is_redirection))
    else {
        return false;
    };
    words.split(|word| matches!(word.as_str(), ";" | "&&" | "|" | "||")).all(reads)
}

/// Also a command within the command.
fn is_redirection(word: &String) -> bool {
    word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').starts_with('>')
        || word == "<"
        || word.contains("$(")
        || word.contains('`')
}

fn reads(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    if program != "kubectl" {
        return PROGRAMS.contains(&program.as_str());
    }
    let mut arguments = arguments.iter().map(String::as_str);
    let mut plain = Vec::new();
    while let Some(word) = arguments.next() {
        if WITH_VALUE.contains(&word) {
            arguments.next();
        } else if !word.starts_with('-') {
            plain.push(word);
        }
    }
    match plain.as_slice() {
        ["rollout", "history" | "status", ..] | ["auth", "can-i", ..] => true,
        [verb, ..] => VERBS.contains(verb),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_change_nothing_are_known() {
        for command in [
            "kubectl get storageclass",
            "kubectl -n shop describe pvc data; kubectl get pv",
            "kubectl get nodepool <NODEPOOL> -o yaml",
            "kubectl -n shop logs db-0 -c app --previous --tail=50",
            "kubectl get csidrivers; kubectl get pods -A | grep -i csi",
            "kubectl -n shop rollout history deployment/web",
            "df -h; du -xh --max-depth=2 /var | sort -h | tail",
        ] {
            assert!(only_reads(command), "{command}");
        }
        for command in [
            "kubectl -n get delete pod web",
            "kubectl -n shop get pod web -o json > web.json",
            "kubectl -n shop get pod web 2>web.log",
            "kubectl -n shop get pvc data -o yaml | kubectl replace --force -f -",
            "kubectl -n shop rollout undo deployment/web",
            "kubectl -n shop exec web -- ps",
            "kubectl get pods && rm -rf /",
            "kubectl get $(rm -rf /)",
            "kubectl",
            "",
            "kubectl get 'pods",
        ] {
            assert!(!only_reads(command), "{command}");
        }
    }
}
