//! Whether a condition of a node reports a problem. Agents choose the types of their conditions freely, so the words of
//! the type decide.

use crate::facts::{Condition, MACHINE_CONFIG};

/// Endings of types that are True while there is no problem.
const POSITIVE: &[&str] =
    &["ready", "healthy", "ok", "available", "active", "running", "online", "reachable", "connected", "synchronized"];

/// Words of types that are True while there is a problem.
const NEGATIVE: &[&str] = &[
    "bad",
    "blocked",
    "bug",
    "corrupt",
    "corrupted",
    "corruption",
    "crash",
    "crashed",
    "deadlock",
    "degraded",
    "down",
    "error",
    "errors",
    "exceeded",
    "exhausted",
    "exhaustion",
    "expired",
    "failed",
    "failing",
    "failure",
    "failures",
    "fatal",
    "flapping",
    "frequent",
    "full",
    "hang",
    "hung",
    "inactive",
    "leak",
    "lockup",
    "lost",
    "mismatch",
    "missing",
    "not",
    "offline",
    "oops",
    "overheated",
    "overheating",
    "pressure",
    "problem",
    "problems",
    "readonly",
    "scheduled",
    "shutdown",
    "slow",
    "stuck",
    "throttled",
    "throttling",
    "timeout",
    "unavailable",
    "unhealthy",
    "unreachable",
    "unsynchronized",
    "xid",
];

/// Whether the condition is set so that a cause may apply to it.
pub(crate) fn is_raised(condition: &Condition) -> bool {
    match condition.status.as_str() {
        "True" => !is_positive(&condition.kind),
        "False" => is_positive(&condition.kind),
        "Degraded" => condition.kind == MACHINE_CONFIG,
        _ => false,
    }
}

/// Whether the words of the type show that the condition, as it is set, reports a problem.
pub(super) fn is_problem(condition: &Condition) -> bool {
    is_raised(condition) && (is_positive(&condition.kind) || is_negative(&condition.kind))
}

/// Whether the condition is True while there is no problem: `NetworkingReady`, but not `NodeNotReady`.
pub(super) fn is_positive(kind: &str) -> bool {
    let words = words(kind);
    words.last().is_some_and(|last| POSITIVE.contains(&last.as_str())) && !words.iter().any(|word| word == "not")
}

fn is_negative(kind: &str) -> bool {
    words(kind).iter().any(|word| NEGATIVE.contains(&word.as_str()))
}

/// The words of a type in lower case, without its domain: `example.com/GPUMissing` is `gpu` and `missing`.
fn words(kind: &str) -> Vec<String> {
    let kind = kind.rsplit('/').next().unwrap_or(kind);
    let chars: Vec<char> = kind.chars().collect();
    let mut words = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before));
        let follows_small = before.is_some_and(|before| !before.is_uppercase());
        let ends_acronym = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (follows_small || ends_acronym) || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(kind: &str, status: &str) -> Condition {
        Condition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: String::new(),
            message: String::new(),
            last_transition: None,
        }
    }

    #[test]
    fn words_of_the_type_decide_whether_a_condition_reports_a_problem() {
        for kind in [
            "NTPProblem",
            "GPUMissing",
            "XIDErrors",
            "KernelDeadlock",
            "IBLinkFlapping",
            "VMEventScheduled",
            "KubeletUnhealthy",
            "CperHardwareErrorFatal",
            "CPUSoftLockup",
            "example.com/disk-failing",
            "StorageNotReady",
        ] {
            assert!(is_problem(&condition(kind, "True")), "{kind} True");
            assert!(!is_problem(&condition(kind, "False")), "{kind} False");
        }
        for kind in ["NetworkingReady", "StorageReady", "example.com/GpuHealthy", "CSIDriverAvailable"] {
            assert!(is_problem(&condition(kind, "False")), "{kind} False");
            assert!(!is_problem(&condition(kind, "True")), "{kind} True");
            assert!(!is_problem(&condition(kind, "Unknown")), "{kind} Unknown");
        }
        for kind in ["EtcdIsVoter", "MaintenanceWindow", ""] {
            assert!(!is_problem(&condition(kind, "True")), "{kind} True");
            assert!(!is_problem(&condition(kind, "False")), "{kind} False");
        }
    }
}
