//! Past failures of a workload: what ended them, and how often a failure has occurred.

use crate::api::{DiagnosisState, EndedBy, PastFailure, Root, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus};
use crate::facts::{Timestamp, seconds_between};
use crate::language::{Language, phrase, translate};
use crate::message::text;

/// Most entries of an object.
const MOST: usize = 10;
/// A failure that returns within so many seconds after it ended without a change is the same one.
const SAME_WITHIN: i64 = 3600;
/// How far back failures are counted.
const DAYS: i64 = 7;

/// What ended a failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ending {
    pub by: EndedBy,
    pub revision: Option<i64>,
    pub object: Option<Root>,
}

/// Adds the failure that ends now.
pub(crate) fn add(spec: &WorkloadDiagnosisSpec, status: &mut WorkloadDiagnosisStatus, ending: Ending, now: Timestamp) {
    // A Job does not run again after its end.
    if spec.workload.kind == "Job" && spec.workload.api_version.starts_with("batch/") {
        return;
    }
    let head = &status.head;
    let mut entry = PastFailure {
        cause: head.cause.clone(),
        started_at: head.first_seen,
        ended_at: Some(now),
        ended_by: ending.by,
        revision: ending.revision,
        object: ending.object,
        repeats: 0,
    };
    let past = &mut status.past_failures;
    // Another client may have added any number.
    past.truncate(MOST);
    let before = past.iter().position(|of| of.cause == entry.cause);
    if let Some(before) = before.filter(|place| continues(&past[*place], entry.started_at)) {
        let before = past.remove(before);
        entry.started_at = before.started_at.or(entry.started_at);
        entry.repeats = before.repeats + 1;
    }
    past.insert(0, entry);
    if past.len() > MOST {
        remove_one(past);
    }
}

/// Removes the oldest failure of the cause that has most of them, so that a frequent cause does not displace a rare one.
fn remove_one(past: &mut Vec<PastFailure>) {
    // The last one of several with this number is the oldest.
    let oldest = past.iter().enumerate().max_by_key(|(_, of)| number_of(past, &of.cause)).map(|(place, _)| place);
    if let Some(oldest) = oldest {
        past.remove(oldest);
    }
}

fn number_of(past: &[PastFailure], cause: &str) -> usize {
    past.iter().filter(|of| of.cause == cause).count()
}

/// Whether a failure that began at this time is the one before, which had ended without a change.
fn continues(before: &PastFailure, began: Option<Timestamp>) -> bool {
    let is_change = match before.ended_by {
        EndedBy::Rollback
        | EndedBy::Rollout
        | EndedBy::ScaledToZero
        | EndedBy::Suspended
        | EndedBy::ObjectChanged
        | EndedBy::WorkloadDeleted => true,
        EndedBy::RunSucceeded
        | EndedBy::NodeRecovered
        | EndedBy::PodsReplaced
        | EndedBy::PodsRecovered
        | EndedBy::Unknown => false,
    };
    let pause = before.ended_at.zip(began).map(|(ended, began)| seconds_between(ended, began));
    !is_change && pause.is_some_and(|pause| pause < SAME_WITHIN)
}

/// The failure of a diagnosis among those with its cause.
struct Position<'a> {
    /// The last one that has ended; of a diagnosis that has ended, itself.
    last: &'a PastFailure,
    /// Whether `last` is this failure, which has ended or returned.
    is_last: bool,
    /// Number of others within the days before this failure.
    earlier: usize,
}

impl<'a> Position<'a> {
    /// `None`: it is the first failure with its cause.
    fn of(status: &'a WorkloadDiagnosisStatus) -> Option<Self> {
        let head = &status.head;
        let mut of_cause = status.past_failures.iter().filter(|of| of.cause == head.cause);
        let last = of_cause.next()?;
        let is_last = head.state != DiagnosisState::Active || continues(last, head.first_seen);
        let began = if is_last { last.started_at? } else { head.first_seen? };
        let is_recent =
            |of: &&PastFailure| of.ended_at.is_some_and(|ended| seconds_between(ended, began) < DAYS * 86_400);
        let earlier = Some(last).filter(|_| !is_last).into_iter().chain(of_cause).filter(is_recent).count();
        Some(Self { last, is_last, earlier })
    }
}

/// How often the failure of a workload has occurred, and what ended it the last time, in one line: `3rd time in 7 days; last
/// time ended by a rollback to revision 4, after 12 min`. `None`: it is the first one.
///
/// Of a failure that has ended, what ended it: `3rd time in 7 days; ended by a rollback to revision 4, after 12 min`.
pub fn recurrence(status: &WorkloadDiagnosisStatus, language: Language) -> Option<String> {
    let position = Position::of(status)?;
    let how = ending(position.last, language);
    let is_active = status.head.state == DiagnosisState::Active;
    let times = match position.earlier {
        0 if !is_active => return Some(how),
        0 if !position.is_last => return None,
        0 => phrase!(language, "returned within an hour", "1 時間以内に再発").to_owned(),
        earlier => times(status, earlier + 1, language),
    };
    Some(if is_active {
        translate!(language, "{times}; last time {how}", "{times}。前回は{how}", times, how)
    } else {
        translate!(language, "{times}; {how}", "{times}。{how}", times, how)
    })
}

/// Like [`recurrence`], for a failure that has occurred before within the last days.
pub(super) fn repeated(status: &WorkloadDiagnosisStatus, language: Language) -> Option<String> {
    recurrence(status, language).filter(|_| Position::of(status).is_some_and(|position| position.earlier > 0))
}

fn times(status: &WorkloadDiagnosisStatus, n: usize, language: Language) -> String {
    let (days, past) = (DAYS, &status.past_failures);
    let own = number_of(past, &status.head.cause);
    if past.len() >= MOST && past.iter().all(|of| number_of(past, &of.cause) <= own) {
        // There may have been more, which are not kept.
        return translate!(language, "{n} times or more in {days} days", "{days} 日間に {n} 回以上", n, days);
    }
    let suffix = match n {
        2 => "nd",
        3 => "rd",
        _ => "th",
    };
    match language {
        Language::English => format!("{n}{suffix} time in {days} days"),
        Language::Japanese => format!("{days} 日間で {n} 回目"),
    }
}

/// What ended a failure, and after how long: `ended by a rollback to revision 4, after 12 min`.
pub fn ending(of: &PastFailure, language: Language) -> String {
    let name = of.object.as_ref().map(|object| text::line(&object.name, 120)).unwrap_or_default();
    let kind = of.object.as_ref().map(|object| text::line(&object.kind, 60)).unwrap_or_default();
    let how = match (of.ended_by, of.revision) {
        (EndedBy::Rollback, Some(revision)) => translate!(
            language,
            "ended by a rollback to revision {revision}",
            "revision {revision} へのロールバックで終了",
            revision
        ),
        (EndedBy::Rollback, None) => {
            phrase!(language, "ended by a rollback to an earlier template", "以前のテンプレートへのロールバックで終了")
                .to_owned()
        }
        (EndedBy::Rollout, Some(revision)) => translate!(
            language,
            "ended by the rollout of revision {revision}",
            "revision {revision} のロールアウトで終了",
            revision
        ),
        (EndedBy::Rollout, None) => {
            phrase!(language, "ended by the rollout of another template", "別のテンプレートのロールアウトで終了")
                .to_owned()
        }
        (EndedBy::ScaledToZero, _) => {
            phrase!(language, "ended when it was scaled to zero", "レプリカ数を 0 にして終了").to_owned()
        }
        (EndedBy::Suspended, _) => phrase!(language, "ended when it was suspended", "一時停止で終了").to_owned(),
        (EndedBy::RunSucceeded, _) => phrase!(language, "ended with a successful run", "実行の成功で終了").to_owned(),
        (EndedBy::NodeRecovered, _) => {
            translate!(language, "ended when node {name} recovered", "ノード {name} の回復で終了", name)
        }
        (EndedBy::ObjectChanged, _) => translate!(
            language,
            "ended when {kind} {name} was created or changed",
            "{kind} {name} の作成または変更で終了",
            kind,
            name
        ),
        (EndedBy::PodsReplaced, _) if !name.is_empty() => translate!(
            language,
            "ended when its pods on node {name} were replaced",
            "ノード {name} 上の Pod の置き換えで終了",
            name
        ),
        (EndedBy::PodsReplaced, _) => phrase!(
            language,
            "ended when its failing pods were deleted or replaced",
            "失敗した Pod の削除または置き換えで終了"
        )
        .to_owned(),
        (EndedBy::PodsRecovered, _) => {
            phrase!(language, "its pods recovered without being replaced", "Pod が置き換えなしで回復").to_owned()
        }
        (EndedBy::WorkloadDeleted, _) => phrase!(language, "ended when it was deleted", "削除で終了").to_owned(),
        (EndedBy::Unknown, _) => phrase!(language, "ended with no change seen", "変更は見られず終了").to_owned(),
    };
    let Some((from, to)) = of.started_at.zip(of.ended_at) else { return how };
    let duration = text::duration(seconds_between(from, to));
    translate!(language, "{how}, after {duration}", "{how} (継続時間 {duration})", how, duration)
}

#[cfg(test)]
mod tests;
