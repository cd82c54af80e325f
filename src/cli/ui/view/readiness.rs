//! Drawing of the Ready condition of a node over time.

use shindan_core::api::ReadyChange;
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};

use super::axis::{Axis, Tick, WIDTH, width};
use super::words::{clean, exact};
use crate::cli::print;

#[derive(Debug)]
pub(in crate::cli::ui) struct Readiness {
    pub(in crate::cli::ui) width: i64,
    pub(in crate::cli::ui) ticks: Vec<Tick>,
    pub(in crate::cli::ui) spans: Vec<Span>,
    /// The changes, newest first.
    pub(in crate::cli::ui) rows: Vec<ChangeRow>,
}

/// The time between two changes.
#[derive(Debug)]
pub(in crate::cli::ui) struct Span {
    pub(in crate::cli::ui) x: i64,
    pub(in crate::cli::ui) width: i64,
    pub(in crate::cli::ui) middle: i64,
    pub(in crate::cli::ui) class: &'static str,
    /// Empty if it does not fit.
    pub(in crate::cli::ui) label: &'static str,
    pub(in crate::cli::ui) title: String,
}

#[derive(Debug)]
pub(in crate::cli::ui) struct ChangeRow {
    pub(in crate::cli::ui) time: String,
    pub(in crate::cli::ui) class: &'static str,
    pub(in crate::cli::ui) words: &'static str,
    pub(in crate::cli::ui) reason: String,
    pub(in crate::cli::ui) message: String,
}

fn words(status: &str, language: Language) -> (&'static str, &'static str) {
    match status {
        "True" => ("healthy", "Ready"),
        "False" => ("failed", phrase!(language, "Not ready", "Ready でない")),
        _ => ("unseen", phrase!(language, "Unknown", "不明")),
    }
}

/// The drawing. `None`: no change is known.
pub(super) fn of(history: &[ReadyChange], now: Timestamp, language: Language) -> Option<Readiness> {
    let mut changes: Vec<&ReadyChange> = history.iter().collect();
    changes.sort_by_key(|change| change.time);
    let first = changes.first()?.time;
    // The last state lasts until now and has a minimum width, so that it is visible even if it just began.
    let least = seconds_between(first, changes.last()?.time) / 12;
    let to = now.max(shindan_core::facts::after(changes.last()?.time, least.max(1)));
    let axis = Axis::between(first, to);
    let ends = changes.iter().skip(1).map(|change| change.time).chain([to]);
    let spans = changes.iter().zip(ends).map(|(change, end)| {
        let (x, far) = (axis.x(change.time), axis.x(end));
        let (class, words) = words(&change.status, language);
        let lasted = print::age(change.time, end);
        Span {
            x,
            width: (far - x).max(2),
            middle: i64::midpoint(x, far),
            class,
            label: if width(words) + 12 <= far - x { words } else { "" },
            title: translate!(
                language,
                "{words} for {lasted}, from {from}: {reason}",
                "{from} から {lasted}、{words}: {reason}",
                words,
                lasted,
                from = exact(change.time),
                reason = clean(&change.reason)
            ),
        }
    });
    let spans = spans.collect();
    let rows = changes.iter().rev().map(|change| {
        let (class, words) = words(&change.status, language);
        let (reason, message) = (clean(&change.reason), clean(&change.message));
        ChangeRow { time: exact(change.time), class, words, reason, message }
    });
    Some(Readiness { width: WIDTH, ticks: axis.ticks(language), spans, rows: rows.collect() })
}

#[cfg(test)]
mod tests {
    use shindan_core::facts::after;

    use super::*;

    #[test]
    fn each_state_lasts_until_the_next_change_or_now() {
        let at = |second| after(Timestamp::UNIX_EPOCH, second);
        let change = |second, status: &str| ReadyChange {
            time: at(second),
            status: status.to_owned(),
            reason: "KubeletNotReady".to_owned(),
            message: "PLEG is not\u{1b} healthy".to_owned(),
        };
        let history = [change(0, "True"), change(600, "False"), change(610, "Unknown")];
        let drawn = of(&history, at(1200), Language::English).unwrap();
        let spans: Vec<_> = drawn.spans.iter().map(|span| (span.class, span.label)).collect();
        assert_eq!(spans, [("healthy", "Ready"), ("failed", ""), ("unseen", "Unknown")]);
        assert!(drawn.spans.windows(2).all(|two| two[0].x + two[0].width >= two[1].x), "no gap");
        assert!(drawn.spans.iter().all(|span| span.x + span.width <= WIDTH && span.width > 0));
        assert_eq!((drawn.rows[0].words, &*drawn.rows[0].message), ("Unknown", "PLEG is not healthy"));
        let just_now = of(&history, at(610), Language::English).unwrap();
        assert!(just_now.spans[2].width > 10, "{just_now:?}");
        assert!(of(&[], at(0), Language::English).is_none());
    }
}
