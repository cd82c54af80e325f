//! Diagnosis annotations: whether an object has the annotation that it should have.
//!
//! The present annotation is compared with the desired one at each check, so crashes, leader changes, lost writes and
//! external edits are corrected. A changed summary within a transition does not cause a write.

use std::sync::Arc;

use super::Reference;
use crate::facts::{Carried, Timestamp, WorkloadKey, after};
use crate::message::text;

/// Most characters of an annotation: a cause and a summary.
const TEXT_MAX: usize = 256;
/// The shortest interval between repairs of an externally edited annotation, in seconds. A permanently conflicting
/// writer causes at most six writes an hour.
const REPAIR_PAUSE: i64 = 600;

/// An object that can have our annotation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bearer {
    /// A pod by UID.
    Pod(Arc<str>),
    Workload(WorkloadKey),
}

/// A write of an annotation, bound to the object's UID.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    pub object: Reference,
    /// `None` removes the annotation.
    pub text: Option<String>,
    /// The transition of the reported diagnosis.
    pub transition: Option<u32>,
}

/// The desired annotation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Desired<'a> {
    pub cause: &'a str,
    pub transition: u32,
}

/// The present annotation, and the last one written in this run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    pub carried: Option<Carried>,
    pub written: Option<Written>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// `None` if it was removed.
    pub transition: Option<u32>,
    pub at: Timestamp,
}

/// The next step for an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The annotation is correct.
    Nothing,
    /// There is no annotation and should be none. The entry can be dropped at this time.
    Forget(Timestamp),
    /// The annotation is correct, and an earlier run or another replica wrote it.
    Adopt,
    NotBefore(Timestamp),
    Write,
}

pub fn text(cause: &str, summary: &str) -> String {
    text::line(&format!("{cause}: {summary}"), TEXT_MAX)
}

/// The next step. `desired` is `None` for a healthy object.
pub fn step(desired: Option<Desired<'_>>, standing: &Standing, now: Timestamp) -> Step {
    let Standing { carried, written } = standing;
    let transition = desired.map(|desired| desired.transition);
    let is_right = match (desired, carried) {
        (Some(desired), Some(carried)) => carried.is_of(desired.cause),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    match written {
        Some(written) if written.transition == transition => {
            // Until the watch shows our write, it shows the former annotation.
            let due = after(written.at, REPAIR_PAUSE);
            match is_right {
                true if desired.is_none() => Step::Forget(due),
                true => Step::Nothing,
                false if now < due => Step::NotBefore(due),
                false => Step::Write,
            }
        }
        None if is_right && desired.is_some() => Step::Adopt,
        _ if is_right && desired.is_none() => Step::Forget(now),
        _ => Step::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OOM: Option<Desired<'_>> = Some(Desired { cause: "OOMKilled", transition: 3 });

    fn at(seconds: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, seconds)
    }

    fn standing(carried: Option<&str>, written: Option<(Option<u32>, i64)>) -> Standing {
        let written = written.map(|(transition, seconds)| Written { transition, at: at(seconds) });
        Standing { carried: carried.map(Carried::of), written }
    }

    fn next(desired: Option<Desired<'_>>, carried: Option<&str>, written: Option<(Option<u32>, i64)>) -> Step {
        step(desired, &standing(carried, written), at(1000))
    }

    #[test]
    fn annotation_is_written_once_per_transition() {
        assert_eq!(next(OOM, None, None), Step::Write);
        assert_eq!(next(OOM, Some("OOMKilled: app"), Some((Some(3), 999))), Step::Nothing);
        assert_eq!(next(OOM, Some("OOMKilled: other words"), Some((Some(3), 1))), Step::Nothing);
        let again = Some(Desired { cause: "OOMKilled", transition: 4 });
        assert_eq!(
            next(again, Some("OOMKilled: app"), Some((Some(3), 999))),
            Step::Write,
            "another container, or worse"
        );
        let other = Some(Desired { cause: "AppError", transition: 4 });
        assert_eq!(next(other, Some("OOMKilled: app"), Some((Some(3), 999))), Step::Write);
    }

    #[test]
    fn annotation_is_not_rewritten_before_the_watch_shows_it() {
        let due = Step::NotBefore(at(1590));
        assert_eq!(next(OOM, None, Some((Some(3), 990))), due);
        assert_eq!(next(OOM, Some("AppError: before"), Some((Some(3), 990))), due);
        assert_eq!(next(None, Some("OOMKilled: app"), Some((None, 990))), due);
    }

    #[test]
    fn external_edits_are_repaired_slowly() {
        assert_eq!(next(OOM, None, Some((Some(3), 400))), Step::Write);
        assert_eq!(next(OOM, Some("mine"), Some((Some(3), 400))), Step::Write);
        assert_eq!(next(None, Some("mine"), Some((None, 400))), Step::Write);
    }

    #[test]
    fn only_wrong_annotations_are_written_after_a_restart() {
        assert_eq!(next(OOM, Some("OOMKilled: app"), None), Step::Adopt);
        assert_eq!(next(OOM, Some("AppError: app"), None), Step::Write);
        assert_eq!(next(OOM, None, None), Step::Write);
        assert_eq!(next(None, Some("OOMKilled: app"), None), Step::Write, "it has recovered meanwhile");
        assert_eq!(next(None, None, None), Step::Forget(at(1000)));
    }

    #[test]
    fn annotation_is_removed_once() {
        assert_eq!(next(None, Some("OOMKilled: app"), Some((Some(3), 999))), Step::Write);
        assert_eq!(next(None, None, Some((None, 999))), Step::Forget(at(1599)));
        assert_eq!(next(None, None, Some((Some(3), 999))), Step::Forget(at(1000)), "another client has removed it");
        assert_eq!(next(OOM, None, Some((None, 999))), Step::Write, "it is written again when the pod fails again");
    }

    #[test]
    fn annotation_text_is_one_short_line() {
        let text = text("OOMKilled", &format!("app\n{}", "x".repeat(1000)));
        assert!(text.starts_with("OOMKilled: app xx") && text.chars().count() == 256, "{text}");
    }
}
