//! Overrides: annotations by which the owner of an object configures its diagnosis.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Causes to ignore, separated by commas. `*` ignores all.
pub const IGNORE: &str = "shindan.dev/ignore";
/// Overrides `--never-ready`: a duration such as `10m`.
pub const NEVER_READY_AFTER: &str = "shindan.dev/never-ready-after";

/// Maximum duration of an override in seconds.
const DAY: i64 = 86_400;

/// Characters kept of an invalid value.
const SHOWN: usize = 40;

/// Merged overrides of a pod, its workload and the operator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Overrides {
    /// In lower case, because causes are case-insensitive.
    ignored: BTreeSet<Arc<str>>,
    /// Grace period in seconds for a container to become ready, in addition to the time its probes allow.
    pub never_ready: Option<i64>,
    /// Invalid value of the duration annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Arc<str>>,
}

impl Overrides {
    /// Reads the overrides from the annotations of an object. Invalid values have no effect and are kept for the
    /// evidence.
    pub fn of<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Box<Self>> {
        let ignored = Self::ignoring(annotation(IGNORE).into_iter().flat_map(|causes| causes.split(','))).ignored;
        let after = annotation(NEVER_READY_AFTER);
        let never_ready = after.and_then(parse_duration).filter(|after| (0..=DAY).contains(after));
        let unread =
            after.filter(|_| never_ready.is_none()).map(|text| text.chars().take(SHOWN).collect::<String>().into());
        let overrides = Self { ignored, never_ready, unread };
        (overrides != Self::default()).then(|| Box::new(overrides))
    }

    pub fn ignoring<'a>(causes: impl IntoIterator<Item = &'a str>) -> Self {
        let causes = causes.into_iter().map(str::trim).filter(|cause| !cause.is_empty());
        Self { ignored: causes.map(|cause| cause.to_ascii_lowercase().into()).collect(), ..Self::default() }
    }

    /// The causes to ignore, in lower case. They may be unknown.
    pub fn ignored(&self) -> impl Iterator<Item = &str> {
        self.ignored.iter().map(|cause| &**cause)
    }

    pub fn ignores(&self, cause: &str) -> bool {
        !self.ignored.is_empty()
            && (self.ignored.contains("*") || self.ignored.contains(cause.to_ascii_lowercase().as_str()))
    }

    /// Merges the overrides of a wider scope. Existing values take precedence.
    pub fn add(&mut self, wider: &Self) {
        self.ignored.extend(wider.ignored.iter().cloned());
        self.never_ready = self.never_ready.or(wider.never_ready);
        self.unread = self.unread.take().or_else(|| wider.unread.clone());
    }
}

/// Parses `90`, `90s`, `5m`, `1h30m` or `2d` to seconds.
pub fn parse_duration(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let (mut total, mut digits) = (0_i64, String::new());
    for c in text.chars() {
        let unit = match c {
            '0'..='9' => {
                digits.push(c);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => DAY,
            _ => return None,
        };
        let amount: i64 = std::mem::take(&mut digits).parse().ok()?;
        total = total.saturating_add(amount.saturating_mul(unit));
    }
    (!text.is_empty() && digits.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(ignore: &'static str, never_ready: &'static str) -> Option<Box<Overrides>> {
        Overrides::of(|name| match name {
            IGNORE => Some(ignore).filter(|text| !text.is_empty()),
            NEVER_READY_AFTER => Some(never_ready).filter(|text| !text.is_empty()),
            _ => None,
        })
    }

    #[test]
    fn overrides_are_parsed_in_common_notations() {
        let some = overrides(" AppError,, oomkilled ", "10m").unwrap();
        assert!(some.ignores("AppError") && some.ignores("OOMKilled") && !some.ignores("ImageTagNotFound"));
        assert_eq!(some.never_ready, Some(600));
        assert!(overrides("*", "").unwrap().ignores("ImageTagNotFound"));
        assert_eq!(overrides(",", ""), None);
        for never_ready in ["soon", "-5m", "2d"] {
            let unread = Some(never_ready.into());
            assert_eq!(overrides("", never_ready).map(|w| *w), Some(Overrides { unread, ..Overrides::default() }));
        }
    }

    #[test]
    fn narrower_scope_takes_precedence() {
        let mut own = *overrides("AppError", "10m").unwrap();
        own.add(&overrides("OOMKilled", "20m").unwrap());
        assert!(own.ignores("AppError") && own.ignores("OOMKilled"));
        assert_eq!(own.never_ready, Some(600));
    }
}
