//! The diagnosis annotation, which the operator sets on the diagnosed object if this is enabled.

use std::hash::{DefaultHasher, Hash, Hasher};

/// `<cause>: <summary>`, on a failing pod or workload.
pub const DIAGNOSIS: &str = "shindan.dev/diagnosis";

/// Maximum length of the name of a cause.
const CAUSE_MAX: usize = 63;

/// The annotation as the watch receives it: its cause, and a hash of the complete text. The text itself is not needed,
/// because the operator wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Carried {
    cause: Box<str>,
    text: u64,
}

impl Carried {
    pub fn of(text: &str) -> Self {
        let cause = text.split_once(':').map(|(cause, _)| cause).filter(|cause| cause.len() <= CAUSE_MAX);
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { cause: cause.unwrap_or_default().into(), text: hasher.finish() }
    }

    pub fn is_of(&self, cause: &str) -> bool {
        *self.cause == *cause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_is_the_text_before_the_first_colon() {
        assert!(Carried::of("OOMKilled: app was killed: 137").is_of("OOMKilled"));
        let long = format!("{}: x", "A".repeat(64));
        for other in ["", "OOMKilled", "OOMKilledByNode: app", " OOMKilled: app", long.as_str()] {
            assert!(!Carried::of(other).is_of("OOMKilled"), "{other}");
        }
        assert_ne!(Carried::of("OOMKilled: a"), Carried::of("OOMKilled: b"));
    }
}
