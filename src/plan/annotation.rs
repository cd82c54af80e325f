//! Whether an object carries what it should of its diagnosis.
//!
//! What it carries is compared with what is told of it, again and again, so that whatever came between heals by itself: a
//! crash, a takeover, a lost write, another hand. A summary that changes within a transition is no reason to write.

use std::sync::Arc;

use super::Reference;
use crate::diagnosis::text;
use crate::facts::{Carried, Timestamp, WorkloadKey, after};

/// The most characters of an annotation: a cause, and a summary.
const TEXT_MAX: usize = 256;
/// What another hand has changed is put back so many seconds after we wrote it last: who disagrees with us for good meets us
/// six times an hour.
const REPAIR_PAUSE: i64 = 600;

/// What may carry an annotation of ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bearer {
    /// A pod by UID.
    Pod(Arc<str>),
    Workload(WorkloadKey),
}

/// An annotation to be written: of this very object, as its UID says.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    pub object: Reference,
    /// `None` takes it off.
    pub text: Option<String>,
    /// The transition of the diagnosis that it tells.
    pub transition: Option<u32>,
}

/// What an object should carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    pub cause: &'a str,
    pub transition: u32,
}

/// What it carries, and what we last wrote there in this run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    pub carried: Option<Carried>,
    pub written: Option<Written>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// `None`: it was taken off.
    pub transition: Option<u32>,
    pub at: Timestamp,
}

/// What is to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is as it should be.
    Nothing,
    /// It carries nothing, and should not; nothing is to be remembered of it from then on.
    Rest(Timestamp),
    /// The same, by the hand of an earlier run, or of another replica.
    TakeUp,
    NotBefore(Timestamp),
    Write,
}

pub fn text(cause: &str, summary: &str) -> String {
    text::line(&format!("{cause}: {summary}"), TEXT_MAX)
}

/// `wanted`: nothing, where it is well.
pub fn step(wanted: Option<Wanted<'_>>, standing: &Standing, now: Timestamp) -> Step {
    let Standing { carried, written } = standing;
    let transition = wanted.map(|wanted| wanted.transition);
    let is_right = match (wanted, carried) {
        (Some(wanted), Some(carried)) => carried.is_of(wanted.cause),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    match written {
        Some(written) if written.transition == transition => {
            // Until the watch shows what we wrote, it shows what was there before.
            let due = after(written.at, REPAIR_PAUSE);
            match is_right {
                true if wanted.is_none() => Step::Rest(due),
                true => Step::Nothing,
                false if now < due => Step::NotBefore(due),
                false => Step::Write,
            }
        }
        None if is_right && wanted.is_some() => Step::TakeUp,
        _ if is_right && wanted.is_none() => Step::Rest(now),
        _ => Step::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OOM: Option<Wanted<'_>> = Some(Wanted { cause: "OOMKilled", transition: 3 });

    fn at(seconds: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, seconds)
    }

    fn standing(carried: Option<&str>, written: Option<(Option<u32>, i64)>) -> Standing {
        let written = written.map(|(transition, seconds)| Written { transition, at: at(seconds) });
        Standing { carried: carried.map(Carried::of), written }
    }

    fn next(wanted: Option<Wanted<'_>>, carried: Option<&str>, written: Option<(Option<u32>, i64)>) -> Step {
        step(wanted, &standing(carried, written), at(1000))
    }

    #[test]
    fn it_is_written_once_a_transition() {
        assert_eq!(next(OOM, None, None), Step::Write);
        assert_eq!(next(OOM, Some("OOMKilled: app"), Some((Some(3), 999))), Step::Nothing);
        assert_eq!(next(OOM, Some("OOMKilled: other words"), Some((Some(3), 1))), Step::Nothing);
        let again = Some(Wanted { cause: "OOMKilled", transition: 4 });
        assert_eq!(
            next(again, Some("OOMKilled: app"), Some((Some(3), 999))),
            Step::Write,
            "another container, or worse"
        );
        let other = Some(Wanted { cause: "AppError", transition: 4 });
        assert_eq!(next(other, Some("OOMKilled: app"), Some((Some(3), 999))), Step::Write);
    }

    #[test]
    fn until_the_watch_shows_what_was_written_nothing_is() {
        let due = Step::NotBefore(at(1590));
        assert_eq!(next(OOM, None, Some((Some(3), 990))), due);
        assert_eq!(next(OOM, Some("AppError: before"), Some((Some(3), 990))), due);
        assert_eq!(next(None, Some("OOMKilled: app"), Some((None, 990))), due);
    }

    #[test]
    fn what_another_hand_changes_is_put_back_slowly() {
        assert_eq!(next(OOM, None, Some((Some(3), 400))), Step::Write);
        assert_eq!(next(OOM, Some("mine"), Some((Some(3), 400))), Step::Write);
        assert_eq!(next(None, Some("mine"), Some((None, 400))), Step::Write);
    }

    #[test]
    fn after_a_restart_only_what_is_wrong_is_written() {
        assert_eq!(next(OOM, Some("OOMKilled: app"), None), Step::TakeUp);
        assert_eq!(next(OOM, Some("AppError: app"), None), Step::Write);
        assert_eq!(next(OOM, None, None), Step::Write);
        assert_eq!(next(None, Some("OOMKilled: app"), None), Step::Write, "it got well meanwhile");
        assert_eq!(next(None, None, None), Step::Rest(at(1000)));
    }

    #[test]
    fn it_is_taken_off_once() {
        assert_eq!(next(None, Some("OOMKilled: app"), Some((Some(3), 999))), Step::Write);
        assert_eq!(next(None, None, Some((None, 999))), Step::Rest(at(1599)));
        assert_eq!(next(None, None, Some((Some(3), 999))), Step::Rest(at(1000)), "somebody else has");
        assert_eq!(next(OOM, None, Some((None, 999))), Step::Write, "and put there again when it fails again");
    }

    #[test]
    fn a_text_is_one_line_and_not_long() {
        let text = text("OOMKilled", &format!("app\n{}", "x".repeat(1000)));
        assert!(text.starts_with("OOMKilled: app xx") && text.chars().count() == 256, "{text}");
    }
}
