//! Recognizes refusals of an operation because an earlier one has not finished.

use super::text;

/// Words of such refusals, in lower case. Sources: CSI specification (Aborted), the volume locks of drivers, the back-off
/// of drivers.
const WORDS: &[&str] = &[
    "operation with the given",
    "operation pending for",
    "operation is pending",
    "already in progress",
    "due to backoff condition",
    "aborted due to rate limit",
];

/// Whether a message states only that an earlier operation has not finished, or that it is too early for a retry.
pub fn is_deferred(message: &str) -> bool {
    text::has_any(message, WORDS)
}

#[cfg(test)]
mod tests {
    use super::is_deferred;

    #[test]
    fn refusals_of_a_second_operation_are_deferred() {
        assert!(is_deferred("rpc error: code = Aborted desc = An operation with the given Volume ID v already exists"));
        assert!(is_deferred("Create volume request for pvc-1 is already in progress"));
        assert!(!is_deferred("volume v already exists with another size"));
    }
}
