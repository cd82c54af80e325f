//! What the owner of an object asks of its diagnosis, by annotations.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Causes that are not to be told, separated by commas; `*` is all of them.
pub const IGNORE: &str = "shindan.dev/ignore";
/// In place of `--never-ready`: a duration such as `10m`.
pub const NEVER_READY_AFTER: &str = "shindan.dev/never-ready-after";

/// The longest that anybody may ask to wait, in seconds.
const DAY: i64 = 86_400;

/// How much is kept of what cannot be read.
const SHOWN: usize = 40;

/// Wishes of a pod, of its workload, and of whoever runs the operator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wishes {
    /// In lower case, as a person may write them in any.
    ignored: BTreeSet<Arc<str>>,
    /// Seconds that a container may take to be ready, beyond what its probes allow.
    pub never_ready: Option<i64>,
    /// What stands in place of such a duration and is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Arc<str>>,
}

impl Wishes {
    /// What the annotations of an object ask for. What is no cause and no duration asks for nothing, and is remembered.
    pub fn of<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Box<Self>> {
        let ignored = Self::ignoring(annotation(IGNORE).into_iter().flat_map(|causes| causes.split(','))).ignored;
        let after = annotation(NEVER_READY_AFTER);
        let never_ready = after.and_then(parse_duration).filter(|after| (0..=DAY).contains(after));
        let unread =
            after.filter(|_| never_ready.is_none()).map(|text| text.chars().take(SHOWN).collect::<String>().into());
        let wishes = Self { ignored, never_ready, unread };
        (wishes != Self::default()).then(|| Box::new(wishes))
    }

    pub fn ignoring<'a>(causes: impl IntoIterator<Item = &'a str>) -> Self {
        let causes = causes.into_iter().map(str::trim).filter(|cause| !cause.is_empty());
        Self { ignored: causes.map(|cause| cause.to_ascii_lowercase().into()).collect(), ..Self::default() }
    }

    /// The causes that are not to be told, in lower case, as they were written.
    pub fn ignored(&self) -> impl Iterator<Item = &str> {
        self.ignored.iter().map(|cause| &**cause)
    }

    pub fn ignores(&self, cause: &str) -> bool {
        !self.ignored.is_empty()
            && (self.ignored.contains("*") || self.ignored.contains(cause.to_ascii_lowercase().as_str()))
    }

    /// Adds those of a wider circle: what is nearer to the pod counts.
    pub fn add(&mut self, wider: &Self) {
        self.ignored.extend(wider.ignored.iter().cloned());
        self.never_ready = self.never_ready.or(wider.never_ready);
        self.unread = self.unread.take().or_else(|| wider.unread.clone());
    }
}

/// Seconds of `90`, `90s`, `5m`, `1h30m` or `2d`.
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

    fn wishes(ignore: &'static str, never_ready: &'static str) -> Option<Box<Wishes>> {
        Wishes::of(|name| match name {
            IGNORE => Some(ignore).filter(|text| !text.is_empty()),
            NEVER_READY_AFTER => Some(never_ready).filter(|text| !text.is_empty()),
            _ => None,
        })
    }

    #[test]
    fn wishes_are_read_as_people_write_them() {
        let some = wishes(" AppError,, oomkilled ", "10m").unwrap();
        assert!(some.ignores("AppError") && some.ignores("OOMKilled") && !some.ignores("ImageTagNotFound"));
        assert_eq!(some.never_ready, Some(600));
        assert!(wishes("*", "").unwrap().ignores("ImageTagNotFound"));
        assert_eq!(wishes(",", ""), None);
        for never_ready in ["soon", "-5m", "2d"] {
            let unread = Some(never_ready.into());
            assert_eq!(wishes("", never_ready).map(|w| *w), Some(Wishes { unread, ..Wishes::default() }));
        }
    }

    #[test]
    fn what_is_nearer_to_the_pod_counts() {
        let mut own = *wishes("AppError", "10m").unwrap();
        own.add(&wishes("OOMKilled", "20m").unwrap());
        assert!(own.ignores("AppError") && own.ignores("OOMKilled"));
        assert_eq!(own.never_ready, Some(600));
    }
}
