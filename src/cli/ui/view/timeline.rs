//! Drawing of the restarts of a pod: runs, how they terminated, waits, and the next start.

use std::collections::BTreeMap;

use shindan_core::api::{Restarts, Run};
use shindan_core::case::Category;
use shindan_core::facts::{Timestamp, after, seconds_between};
use shindan_core::language::{Language, phrase, translate};
use shindan_core::message::text;
use shindan_core::rules;

use super::axis::{Axis, Tick, WIDTH, width};
use super::words::{clean, exact};
use crate::cli::{print, sentences};

/// Maximum number of containers drawn. The failing container is first.
const LANES: usize = 6;
/// Height of the lane of a container: its name, its line and the labels.
const LANE: i64 = 76;
const AXIS: i64 = 24;
/// Minimum width of a run, so that a very short one is visible.
const NARROWEST: i64 = 2;

/// Data of the template. Coordinates are in a drawing of width [`WIDTH`].
#[derive(Debug)]
pub(in crate::cli::ui) struct Timeline {
    pub(in crate::cli::ui) width: i64,
    pub(in crate::cli::ui) height: i64,
    /// Vertical position of the axis.
    pub(in crate::cli::ui) floor: i64,
    pub(in crate::cli::ui) ticks: Vec<Tick>,
    pub(in crate::cli::ui) lanes: Vec<Lane>,
    /// Position of the current time, if it is near.
    pub(in crate::cli::ui) now: Option<i64>,
    /// `5 restarts, back-off 2m40s, the next in 35s`.
    pub(in crate::cli::ui) summary: String,
    /// The kinds of marks that occur, for the legend.
    pub(in crate::cli::ui) legend: Vec<End>,
    /// The runs as a table, newest first.
    pub(in crate::cli::ui) rows: Vec<RunRow>,
}

/// The lane of one container.
#[derive(Debug)]
pub(in crate::cli::ui) struct Lane {
    pub(in crate::cli::ui) name: String,
    /// Vertical position of its line.
    pub(in crate::cli::ui) y: i64,
    pub(in crate::cli::ui) runs: Vec<Bar>,
    pub(in crate::cli::ui) waits: Vec<Bar>,
    pub(in crate::cli::ui) ends: Vec<Mark>,
    pub(in crate::cli::ui) next: Option<Mark>,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli::ui) struct Bar {
    pub(in crate::cli::ui) x: i64,
    pub(in crate::cli::ui) width: i64,
    /// Horizontal position of its middle.
    pub(in crate::cli::ui) middle: i64,
    pub(in crate::cli::ui) class: &'static str,
    /// Empty if it does not fit.
    pub(in crate::cli::ui) label: String,
    pub(in crate::cli::ui) title: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli::ui) struct Mark {
    pub(in crate::cli::ui) x: i64,
    pub(in crate::cli::ui) end: End,
    /// Empty if it does not fit.
    pub(in crate::cli::ui) label: String,
    /// `start`, `middle` or `end`: the part of the label that is at `x`.
    pub(in crate::cli::ui) anchor: &'static str,
    pub(in crate::cli::ui) title: String,
}

/// How a run terminated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli::ui) enum End {
    Failed,
    OutOfMemory,
    Probe,
    Success,
    /// Not a termination: the next start.
    Next,
}

impl End {
    pub(in crate::cli::ui) fn class(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::OutOfMemory => "memory",
            Self::Probe => "probe",
            Self::Success => "healthy",
            Self::Next => "next",
        }
    }

    pub(in crate::cli::ui) fn words(self, language: Language) -> &'static str {
        match self {
            Self::Failed => phrase!(language, "failed", "失敗"),
            Self::OutOfMemory => phrase!(language, "out of memory", "メモリ不足"),
            Self::Probe => phrase!(language, "ended by a probe", "probe による終了"),
            Self::Success => phrase!(language, "exit 0", "終了コード 0"),
            Self::Next => phrase!(language, "next start", "次の起動"),
        }
    }

    fn of(run: &Run) -> Self {
        let cause = run.cause.as_deref().and_then(rules::find);
        let by_probe = cause.is_some_and(|rule| rule.category == Category::Probe);
        match (run.reason.as_str(), run.exit_code) {
            ("OOMKilled", _) => Self::OutOfMemory,
            _ if by_probe => Self::Probe,
            (_, 0) => Self::Success,
            _ => Self::Failed,
        }
    }
}

/// A run as a row of a table.
#[derive(Debug)]
pub(in crate::cli::ui) struct RunRow {
    pub(in crate::cli::ui) container: String,
    pub(in crate::cli::ui) started: String,
    pub(in crate::cli::ui) lasted: String,
    pub(in crate::cli::ui) exit: String,
    pub(in crate::cli::ui) cause: String,
}

/// The timeline of the restarts. `None`: there are none. `culprit` is the failing container, which has the back-off.
pub(super) fn of(restarts: &Restarts, culprit: Option<&str>, now: Timestamp, language: Language) -> Option<Timeline> {
    if restarts.count == 0 && restarts.history.is_empty() {
        return None;
    }
    let lanes = by_container(&restarts.history, culprit);
    let is_near = |axis: &Axis, last| seconds_between(last, now) <= axis.seconds().max(120);
    let span = span(&lanes, restarts.next_restart_time, is_near, now);
    let mut drawn = Vec::new();
    if let Some(axis) = &span {
        for (n, (name, runs)) in lanes.iter().enumerate() {
            let y = i64::try_from(n).unwrap_or(0) * LANE + 44;
            let is_culprit = culprit.map_or(lanes.len() == 1, |culprit| culprit == *name);
            let next = restarts.next_restart_time.filter(|_| is_culprit);
            drawn.push(lane(name, runs, y, axis, next, language));
        }
    }
    let floor = i64::try_from(drawn.len()).unwrap_or(0) * LANE + 4;
    let shown = span.filter(|axis| is_near(axis, axis_end(&lanes)));
    let mut legend: Vec<End> =
        drawn.iter().flat_map(|lane| lane.ends.iter().chain(&lane.next)).map(|m| m.end).collect();
    legend.sort_unstable();
    legend.dedup();
    Some(Timeline {
        width: WIDTH,
        height: floor + AXIS,
        floor,
        ticks: span.map(|axis| axis.ticks(language)).unwrap_or_default(),
        now: shown.map(|axis| axis.x(now)),
        lanes: drawn,
        summary: clean(&sentences::restarts(restarts, now, language)),
        legend,
        rows: run_rows(&restarts.history, language),
    })
}

/// The runs of each container, oldest first. The culprit is the first container.
fn by_container<'r>(history: &'r [Run], culprit: Option<&str>) -> Vec<(&'r str, Vec<&'r Run>)> {
    let mut lanes: BTreeMap<(bool, &str), Vec<&Run>> = BTreeMap::new();
    for run in history.iter().filter(|run| run.finished_at.is_some()) {
        lanes.entry((Some(&*run.container) != culprit, &run.container)).or_default().push(run);
    }
    let mut lanes: Vec<_> = lanes.into_iter().map(|((_, name), runs)| (name, runs)).collect();
    lanes.truncate(LANES);
    lanes.iter_mut().for_each(|(_, runs)| runs.sort_by_key(|run| (run.finished_at, run.number)));
    lanes
}

fn began(run: &Run) -> Option<Timestamp> {
    run.started_at.or(run.finished_at)
}

/// The time of the last termination.
fn axis_end(lanes: &[(&str, Vec<&Run>)]) -> Timestamp {
    let ends = lanes.iter().flat_map(|(_, runs)| runs).filter_map(|run| run.finished_at);
    ends.max().unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The range of the axis: from the first start to the next one, or to the current time if that is near. A long first
/// run is cut to leave space for the later ones.
fn span(
    lanes: &[(&str, Vec<&Run>)],
    next: Option<Timestamp>,
    is_near: impl Fn(&Axis, Timestamp) -> bool,
    now: Timestamp,
) -> Option<Axis> {
    let runs = || lanes.iter().flat_map(|(_, runs)| runs);
    let first = runs().filter_map(|run| began(run)).min()?;
    let last = axis_end(lanes).max(first);
    let to = next.map_or(last, |next| next.max(last));
    let first_end = runs().filter_map(|run| run.finished_at).min().unwrap_or(first);
    let rest = seconds_between(first_end, to);
    let long = seconds_between(first, first_end);
    let is_long = rest > 0 && long > rest.saturating_mul(3);
    let from = if is_long { after(first_end, -(rest / 4).max(10)) } else { first };
    let axis = Axis::between(from, to);
    let to = if is_near(&axis, last) { to.max(now) } else { to };
    // Space for earlier runs of which only the number is known.
    let is_late = lanes.iter().any(|(_, runs)| earlier(runs) > 0);
    let from = if is_late { after(from, -(seconds_between(from, to) / 7).max(1)) } else { from };
    Some(Axis::between(from, to))
}

/// The number of runs before the first known one.
fn earlier(runs: &[&Run]) -> u32 {
    runs.first().and_then(|run| run.number).map_or(0, |number| number.saturating_sub(1))
}

fn lane(name: &str, runs: &[&Run], y: i64, axis: &Axis, next: Option<Timestamp>, language: Language) -> Lane {
    let mut lane = Lane {
        name: text::cut(&clean(name), 60),
        y,
        runs: Vec::new(),
        waits: Vec::new(),
        ends: Vec::new(),
        next: None,
    };
    if let (earlier @ 1.., Some(from)) = (earlier(runs), runs.first().and_then(|run| began(run))) {
        let (x, far) = (axis.start(), axis.x(from));
        let label = fitting(&translate!(language, "{earlier} before", "以前 {earlier} 回", earlier), far - x);
        let title = match earlier {
            1 => phrase!(language, "1 earlier run that was not recorded", "以前の 1 回の実行 (記録は残っていない)")
                .to_owned(),
            n => translate!(
                language,
                "{n} earlier runs that were not recorded",
                "以前の {n} 回の実行 (記録は残っていない)",
                n
            ),
        };
        lane.waits.push(Bar { x, width: far - x, middle: i64::midpoint(x, far), class: "unseen", label, title });
    }
    let mut before: Option<&Run> = None;
    for run in runs {
        let (Some(from), Some(to)) = (began(run), run.finished_at) else { continue };
        if let Some(ended) = before.and_then(|before| before.finished_at) {
            lane.waits.push(wait(before, Some(run), ended, from, axis, language));
        }
        let end = End::of(run);
        let ran = run.started_at.map(|from| print::age(from, to));
        let (x, far) = (axis.x(from), axis.x(to));
        if let Some(ran) = ran {
            let label = fitting(&ran, far - x);
            let title = translate!(
                language,
                "ran {ran}, from {from} to {to}",
                "{from} から {to} まで {ran} 実行",
                ran,
                from = exact(from),
                to = exact(to)
            );
            let width = (far - x).max(NARROWEST);
            lane.runs.push(Bar { x, width, middle: x + width / 2, class: end.class(), label, title });
        }
        let title = format!("{}: {}", sentences::exit(run, language), exact(to));
        lane.ends.push(Mark { x: far, end, label: short_exit(run, language), anchor: "middle", title });
        before = Some(run);
    }
    if let (Some(next), Some(ended)) = (next, before.and_then(|before| before.finished_at)) {
        lane.waits.push(wait(before, None, ended, next, axis, language));
        let title = translate!(language, "starts again at {at}", "{at} に再起動", at = exact(next));
        let label = phrase!(language, "next", "次").to_owned();
        lane.next = Some(Mark { x: axis.x(next), end: End::Next, label, anchor: "middle", title });
    }
    without_overlap(&mut lane);
    lane
}

/// The wait between a termination and the next start.
fn wait(
    before: Option<&Run>,
    run: Option<&Run>,
    from: Timestamp,
    to: Timestamp,
    axis: &Axis,
    language: Language,
) -> Bar {
    let (x, far) = (axis.x(from), axis.x(to));
    let waited = print::age(from, to);
    let numbers = before.and_then(|run| run.number).zip(run.and_then(|run| run.number));
    let unseen = numbers.map_or(0, |(before, number)| number.saturating_sub(before).saturating_sub(1));
    let (class, title) = match unseen {
        0 => ("wait", translate!(language, "waited {waited}", "{waited} 待機", waited)),
        1 => (
            "unseen",
            translate!(language, "1 unobserved run, within {waited}", "{waited} の間に、見ていない実行が 1 回", waited),
        ),
        runs => (
            "unseen",
            translate!(
                language,
                "{runs} unobserved runs, within {waited}",
                "{waited} の間に、見ていない実行が {runs} 回",
                runs,
                waited
            ),
        ),
    };
    let label =
        if unseen == 0 { waited } else { translate!(language, "{unseen} not seen", "未見 {unseen} 回", unseen) };
    Bar { x, width: (far - x).max(0), middle: i64::midpoint(x, far), class, label: fitting(&label, far - x), title }
}

/// The label, if it fits.
fn fitting(label: &str, room: i64) -> String {
    if width(label) + 14 <= room { label.to_owned() } else { String::new() }
}

/// Clears labels that would overlap with newer ones. Their text remains in the titles.
fn without_overlap(lane: &mut Lane) {
    let mut free = WIDTH;
    for mark in lane.next.iter_mut().chain(lane.ends.iter_mut().rev()) {
        let wide = width(&mark.label);
        let (mut left, mut right) = (mark.x - wide / 2, mark.x + wide - wide / 2);
        if left < 0 {
            (mark.anchor, left, right) = ("start", mark.x, mark.x + wide);
        } else if right > WIDTH {
            (mark.anchor, left, right) = ("end", mark.x - wide, mark.x);
        }
        if right <= free {
            free = left - 6;
        } else {
            mark.label.clear();
        }
    }
}

fn short_exit(run: &Run, language: Language) -> String {
    match sentences::signal(run) {
        Some(signal) => format!("{} {signal}", run.exit_code),
        None => translate!(language, "exit {code}", "終了コード {code}", code = run.exit_code),
    }
}

fn run_rows(history: &[Run], language: Language) -> Vec<RunRow> {
    let mut runs: Vec<&Run> = history.iter().collect();
    runs.sort_by_key(|run| std::cmp::Reverse((run.finished_at, run.number)));
    runs.into_iter()
        .map(|run| {
            let ran = run.started_at.zip(run.finished_at).map(|(from, to)| print::age(from, to));
            RunRow {
                container: clean(&run.container),
                started: run.started_at.map(exact).unwrap_or_default(),
                lasted: ran.unwrap_or_default(),
                exit: sentences::exit(run, language),
                cause: run.cause.as_deref().map(clean).unwrap_or_default(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::run;
    use super::*;

    fn at(second: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, second)
    }

    fn looping() -> Restarts {
        let history = vec![
            run("app", 1, 0, 5, 1, "Error", None),
            run("app", 2, 15, 45, 137, "OOMKilled", None),
            run("app", 4, 165, 400, 137, "Error", Some("LivenessProbeFailed")),
            run("app", 5, 480, 481, 0, "Completed", None),
        ];
        Restarts { count: 5, unseen: 1, back_off: Some("2m40s".to_owned()), next_restart_time: Some(at(641)), history }
    }

    #[test]
    fn runs_are_drawn_at_their_times_with_their_termination() {
        let drawn = of(&looping(), Some("app"), at(531), Language::English).unwrap();
        let [lane] = &drawn.lanes[..] else { panic!("{drawn:?}") };
        let axis = Axis::between(at(0), at(641));
        let runs: Vec<_> = lane.runs.iter().map(|bar| (bar.x, bar.class)).collect();
        assert_eq!(
            runs,
            [
                (axis.x(at(0)), "failed"),
                (axis.x(at(15)), "memory"),
                (axis.x(at(165)), "probe"),
                (axis.x(at(480)), "healthy")
            ]
        );
        assert!(lane.runs.iter().all(|bar| bar.width >= NARROWEST));
        assert_eq!(lane.runs[2].label, "3m55s", "there is room");
        assert_eq!(lane.runs[3].label, "", "there is none");
        let waits: Vec<_> = lane.waits.iter().map(|bar| (&*bar.title, bar.class)).collect();
        assert_eq!(
            waits,
            [
                ("waited 10s", "wait"),
                ("1 unobserved run, within 2m", "unseen"),
                ("waited 80s", "wait"),
                ("waited 2m40s", "wait")
            ]
        );
        let next = lane.next.as_ref().unwrap();
        assert_eq!((next.x, next.end), (axis.x(at(641)), End::Next));
        assert_eq!(drawn.now, Some(axis.x(at(531))));
        assert_eq!(drawn.summary, "5 restarts, back-off 2m40s, the next in 110 s; 1 run ended unobserved");
        assert_eq!(drawn.legend, [End::Failed, End::OutOfMemory, End::Probe, End::Success, End::Next]);
        let words: Vec<_> = drawn.rows.iter().map(|row| (&*row.exit, &*row.lasted)).collect();
        assert_eq!(
            words,
            [
                ("exit 0 (Completed)", "1s"),
                ("exit 137 (SIGKILL)", "3m55s"),
                ("exit 137 (SIGKILL, OOMKilled)", "30s"),
                ("exit 1", "5s")
            ]
        );
    }

    #[test]
    fn labels_do_not_overlap_and_stay_within_the_drawing() {
        let mut many = looping();
        many.history = (0..10).map(|n| run("app", 1, n * 3, n * 3 + 1, 143, "Error", None)).collect();
        for restarts in [looping(), many] {
            for now in [0, 481, 641, 900, 86_400] {
                let drawn = of(&restarts, Some("app"), at(now), Language::English).unwrap();
                for lane in &drawn.lanes {
                    let shown: Vec<_> =
                        lane.ends.iter().chain(&lane.next).filter(|mark| !mark.label.is_empty()).collect();
                    let left = |mark: &Mark| match mark.anchor {
                        "start" => mark.x,
                        "end" => mark.x - width(&mark.label),
                        _ => mark.x - width(&mark.label) / 2,
                    };
                    assert!(
                        shown.windows(2).all(|two| left(two[0]) + width(&two[0].label) <= left(two[1])),
                        "{shown:?}"
                    );
                    assert!(shown.iter().all(|mark| left(mark) >= 0 && left(mark) + width(&mark.label) <= WIDTH));
                    let bars = lane.runs.iter().chain(&lane.waits);
                    assert!(bars.clone().all(|bar| bar.x >= 0 && bar.width >= 0 && bar.x + bar.width <= WIDTH));
                }
            }
        }
    }

    #[test]
    fn a_long_first_run_is_cut() {
        let mut restarts = looping();
        restarts.next_restart_time = None;
        let long_over = of(&restarts, Some("app"), at(86_400), Language::English).unwrap();
        assert_eq!(long_over.now, None);
        let axis = Axis::between(at(0), at(481));
        assert_eq!(long_over.lanes[0].runs[2].x, axis.x(at(165)));

        let mut restarts = looping();
        let month = 30 * 86_400;
        restarts.history.insert(0, run("app", 1, -month, -10, 1, "Error", None));
        let drawn = of(&restarts, Some("app"), at(531), Language::English).unwrap();
        let runs = &drawn.lanes[0].runs;
        assert!(runs[0].width < WIDTH / 3 && runs[3].width > WIDTH / 5, "{runs:?}");
        assert!(runs[0].title.starts_with("ran 29d"), "its full length is in the title: {}", runs[0].title);
    }

    #[test]
    fn each_container_has_a_lane_with_the_culprit_first() {
        let mut restarts = looping();
        restarts.history.push(run("a-proxy", 1, 20, 30, 1, "Error", None));
        restarts.history.push(Run { container: "never".to_owned(), finished_at: Some(at(60)), ..Run::default() });
        let drawn = of(&restarts, Some("app"), at(531), Language::English).unwrap();
        let names: Vec<_> = drawn.lanes.iter().map(|lane| (&*lane.name, lane.next.is_some())).collect();
        assert_eq!(names, [("app", true), ("a-proxy", false), ("never", false)]);
        assert!(drawn.lanes[2].runs.is_empty() && drawn.lanes[2].ends.len() == 1, "it was never started");
        assert!(drawn.height > drawn.floor && drawn.floor > drawn.lanes[2].y);
        assert!(of(&Restarts::default(), None, at(0), Language::English).is_none());
        let late =
            Restarts { count: 6, history: vec![run("app", 6, 0, 38, 137, "Error", None)], ..Restarts::default() };
        let drawn = of(&late, Some("app"), at(70), Language::English).unwrap();
        let before = &drawn.lanes[0].waits[0];
        assert_eq!((&*before.label, before.class), ("5 before", "unseen"));
        assert_eq!(before.x + before.width, drawn.lanes[0].runs[0].x);
        let only_counted = of(&Restarts { count: 3, ..Restarts::default() }, None, at(0), Language::English).unwrap();
        assert_eq!((only_counted.lanes.len(), &*only_counted.summary), (0, "3 restarts"));
    }
}
