//! Checks that commands of remedies without an action are read-only.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Read-only verbs of kubectl.
const VERBS: [&str; 10] =
    ["api-resources", "api-versions", "auth", "describe", "events", "explain", "get", "logs", "top", "version"];
/// Other programs that are read-only with the arguments used in remedies.
const PROGRAMS: [&str; 20] = [
    "cat",
    "crictl",
    "df",
    "dig",
    "dmesg",
    "du",
    "findmnt",
    "getent",
    "grep",
    "head",
    "ip",
    "journalctl",
    "ls",
    "lsblk",
    "nslookup",
    "ps",
    "sort",
    "ss",
    "tail",
    "ulimit",
];

/// The first part of a command that is not known to be read-only.
pub(super) fn other_than_reading(command: &str) -> Option<String> {
    static VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{[^}]*\}|\[|\]").ok());
    static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(sh -c )?'([^']*)'").ok());
    let plain = VALUE.as_ref()?.replace_all(command, "VALUE");
    // Commands in the argument of a shell are checked too. Any other quoted text counts as one word.
    let plain = QUOTED.as_ref()?.replace_all(&plain, |found: &Captures<'_>| match (found.get(1), found.get(2)) {
        (Some(_), Some(script)) => script.as_str().to_owned(),
        _ => "WORD".to_owned(),
    });
    let parts = plain.split([';', '|', '&', '(', ')', '`']).map(|part| part.trim().trim_end_matches('$').trim());
    parts.filter(|part| !part.is_empty()).find(|part| !only_reads(part)).map(str::to_owned)
}

fn only_reads(part: &str) -> bool {
    let mut words = part.split_whitespace();
    match words.next() {
        Some("kubectl") => {}
        Some(program) => return PROGRAMS.contains(&program),
        None => return true,
    }
    let mut rest = words.skip_while(|word| word.starts_with('-') && !matches!(*word, "-n" | "--namespace")).peekable();
    if rest.next_if(|word| matches!(*word, "-n" | "--namespace")).is_some() {
        rest.next();
    }
    match (rest.next(), rest.next()) {
        (Some("rollout"), verb) => matches!(verb, Some("history" | "status")),
        // `only_reads` also checks the command that runs in the container.
        (Some("exec"), _) => part.split_once(" -- ").is_some_and(|(_, inner)| only_reads(inner)),
        (Some(verb), _) => VERBS.contains(&verb),
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_that_is_not_read_only_is_named() {
        for (command, part) in [
            ("kubectl -n {pod.namespace} get pvc {claim.name|<CLAIM>}", None),
            ("kubectl -n shop exec web -- sh -c 'cat /a; ls'", None),
            ("kubectl describe node {node.name}", None),
            ("kubectl get pv && kubectl describe pv $(kubectl get pv -o name | head -1)", None),
            ("kubectl -n shop exec web -- df -h", None),
            ("kubectl rollout history deployment/web", None),
            ("journalctl -u kubelet --since -10min", None),
            ("kubectl delete pods --all", Some("kubectl delete pods --all")),
            ("kubectl get pods; rm -r /data", Some("rm -r /data")),
            ("kubectl -n shop exec web -- rm -r /data", Some("kubectl -n shop exec web -- rm -r /data")),
            ("kubectl rollout restart deployment/web", Some("kubectl rollout restart deployment/web")),
        ] {
            assert_eq!(other_than_reading(command).as_deref(), part, "{command}");
        }
    }
}
