//! Draws the restarts of a container in one line of characters: runs, terminations and waits.

use shindan_core::api::{Restarts, Run};
use shindan_core::case::Category;
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::language::{Language, phrase};
use shindan_core::rules;

use super::style::Signs;
use crate::cli::sentences;

/// Maximum number of runs drawn: the last ones.
const MOST: usize = 12;

pub(super) struct Timeline {
    /// Oldest first.
    pub(super) drawn: String,
    /// `5 restarts, back-off 2m40s, next in 35s`.
    pub(super) summary: String,
    /// Meaning of the characters that occur.
    pub(super) legend: String,
}

pub(super) fn of(
    restarts: &Restarts,
    container: Option<&str>,
    now: Timestamp,
    language: Language,
    signs: &Signs,
) -> Option<Timeline> {
    if restarts.count == 0 && restarts.history.is_empty() {
        return None;
    }
    let mut runs: Vec<&Run> =
        restarts.history.iter().filter(|run| container.is_none_or(|name| run.container == name)).collect();
    runs.sort_by_key(|run| (run.finished_at, run.number));
    let runs = &runs[runs.len().saturating_sub(MOST)..];
    let mut drawn = String::new();
    let mut ended_at = None;
    let mut used: Vec<(char, &str)> = Vec::new();
    for run in runs {
        let waited = ended_at.zip(run.started_at).map(|(from, to)| seconds_between(from, to));
        drawn.extend(std::iter::repeat_n(signs.waits, waited.map_or(0, cells)));
        let ran = run.started_at.zip(run.finished_at).map(|(from, to)| seconds_between(from, to));
        drawn.extend(std::iter::repeat_n(signs.runs, ran.map_or(1, cells)));
        let end = end_of(run, language, signs);
        drawn.push(end.0);
        if !used.contains(&end) {
            used.push(end);
        }
        ended_at = run.finished_at;
    }
    let legend: Vec<String> = used.into_iter().map(|(sign, words)| format!("{sign} {words}")).collect();
    Some(Timeline { drawn, summary: sentences::restarts(restarts, now, language), legend: legend.join("  ") })
}

fn end_of(run: &Run, language: Language, signs: &Signs) -> (char, &'static str) {
    let cause = run.cause.as_deref().and_then(rules::find);
    let by_probe = cause.is_some_and(|rule| rule.category == Category::Probe);
    match (run.reason.as_str(), run.exit_code) {
        ("OOMKilled", _) => (signs.out_of_memory, phrase!(language, "out of memory", "メモリ不足")),
        _ if by_probe => (signs.probe, phrase!(language, "ended by a probe", "probe による終了")),
        (_, 0) => (signs.exited, phrase!(language, "exit 0", "終了コード 0")),
        _ => (signs.failed, phrase!(language, "failed", "失敗")),
    }
}

/// Number of characters for a duration. It grows slowly, so that runs of a second and of a day fit into one line.
fn cells(seconds: i64) -> usize {
    match seconds {
        ..10 => 1,
        10..60 => 2,
        60..600 => 3,
        600..3600 => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use shindan_core::facts::after;

    use super::super::style::Style;
    use super::*;

    fn run(from: i64, to: i64, exit_code: i32, reason: &str, cause: Option<&str>) -> Run {
        let at = |seconds| Some(after(Timestamp::UNIX_EPOCH, seconds));
        Run {
            container: "app".to_owned(),
            started_at: at(from),
            finished_at: at(to),
            exit_code,
            reason: reason.to_owned(),
            cause: cause.map(ToOwned::to_owned),
            ..Run::default()
        }
    }

    #[test]
    fn runs_and_waits_have_different_characters() {
        let history = vec![
            run(0, 5, 1, "Error", None),
            run(15, 45, 137, "OOMKilled", None),
            run(65, 400, 137, "Error", Some("LivenessProbeFailed")),
            run(480, 481, 0, "Completed", None),
        ];
        let restarts = Restarts {
            count: 4,
            back_off: Some("1m20s".to_owned()),
            next_restart_time: Some(after(Timestamp::UNIX_EPOCH, 561)),
            history,
            ..Restarts::default()
        };
        let now = after(Timestamp::UNIX_EPOCH, 531);
        let line = of(&restarts, Some("app"), now, Language::English, Style::plain(80, false).signs).unwrap();
        assert_eq!(line.drawn, "=x..==M..===P...=o");
        assert_eq!(line.summary, "4 restarts, back-off 1m20s, the next in 30 s");
        assert_eq!(line.legend, "x failed  M out of memory  P ended by a probe  o exit 0");
        let later =
            of(&restarts, Some("app"), after(now, 3600), Language::English, Style::plain(80, true).signs).unwrap();
        assert!(later.summary.ends_with("the next is due"), "{}", later.summary);
        assert!(of(&Restarts::default(), None, now, Language::English, Style::plain(80, true).signs).is_none());
    }
}
