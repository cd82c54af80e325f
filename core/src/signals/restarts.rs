//! Restart statistics: the number of restarts, the duration of each run, and the back-off before the next.

mod back_off;

use std::borrow::Cow;

use crate::api::{Backoff, ContainerType, Restarts, Run};
use crate::case::{Attribution, Case, Finding, Ledger, evidence};
use crate::facts::{Container, Terminated, Timestamp, after, seconds_between};
use crate::language::{Language, phrase, translate};
use crate::message::text;

/// Maximum length of the reason of a run. It is usually one word.
const REASON_MAX: usize = 64;
/// Maximum number of runs in the history of a container that does not cause the failure.
const MAX_RUNS_OF_OTHERS: usize = 3;

/// The restarts of the failing container, or of the pod as kubectl counts them if no container causes the failure. `None` if nothing
/// restarted and nothing terminated.
pub fn of(case: &Case<'_>, culprit: Option<&str>) -> Option<Restarts> {
    let blamed = culprit.and_then(|name| case.pod.container(name));
    let count = blamed.map_or_else(|| pod_count(case), |c| c.restart_count);
    let waiting = blamed.or_else(|| case.pod.containers.iter().find(|c| back_off(c).is_some()));
    let back_off = waiting.and_then(|c| Some((c, present_back_off(case, c)?)));
    let unseen = case.ledger.unseen.iter().filter(|(name, _)| blamed.is_none_or(|c| c.name == **name));
    let unseen = unseen.fold(0, |all: u32, (_, runs)| all.saturating_add(*runs));
    let next_restart_time = back_off.as_ref().and_then(|(c, b)| Some(after(c.last_end()?.finished_at?, b.seconds)));
    let history: Vec<Run> = case
        .pod
        .containers
        .iter()
        .filter(|c| c.kind != ContainerType::Ephemeral)
        .flat_map(|c| history_of(case, c, culprit == Some(&*c.name)))
        .collect();
    (count > 0 || !history.is_empty()).then(|| Restarts {
        count,
        unseen,
        back_off: back_off.map(|(_, b)| b.text),
        next_restart_time,
        history,
    })
}

/// The RESTARTS column of `kubectl get pods`: init containers while they run, then sidecars and app containers.
pub fn pod_count(case: &Case<'_>) -> u32 {
    let of = |kinds: &'static [ContainerType]| {
        case.pod
            .containers
            .iter()
            .filter(|c| kinds.contains(&c.kind))
            .fold(0, |all: u32, c| all.saturating_add(c.restart_count))
    };
    if case.pod.condition_is_true("Initialized") {
        of(&[ContainerType::App, ContainerType::Sidecar])
    } else {
        of(&[ContainerType::Init, ContainerType::Sidecar])
    }
}

fn history_of(case: &Case<'_>, container: &Container, is_culprit: bool) -> Vec<Run> {
    let mut runs = runs(case, container);
    // An init container that succeeded without restarts has no relevant history.
    if !is_culprit && container.restart_count == 0 && runs.iter().all(|r| r.exit_code == 0) {
        return Vec::new();
    }
    let most = if is_culprit { Ledger::RUNS_PER_CONTAINER } else { MAX_RUNS_OF_OTHERS };
    runs.drain(..runs.len().saturating_sub(most));
    runs
}

/// All known terminated runs of a container, oldest first: from the ledger, `lastState` and `state`.
pub fn runs(case: &Case<'_>, container: &Container) -> Vec<Run> {
    let mut runs: Vec<Run> = case
        .ledger
        .of(&container.name)
        .map(|run| Run {
            container: run.container.to_string(),
            number: run.number,
            started_at: run.started_at,
            finished_at: run.finished_at,
            exit_code: run.exit_code,
            signal: run.signal,
            reason: text::line(&run.reason, REASON_MAX),
            cause: run.cause.as_deref().map(str::to_owned),
        })
        .collect();
    for (number, end) in container.ends() {
        let known = runs.iter().any(|run| {
            run.started_at == end.started_at && run.finished_at == end.finished_at && run.exit_code == end.exit_code
        });
        if !known {
            runs.push(run_of(container, number, end));
        }
    }
    runs
}

fn run_of(container: &Container, number: Option<u32>, end: &Terminated) -> Run {
    Run {
        container: container.name.to_string(),
        number,
        started_at: end.started_at,
        finished_at: end.finished_at,
        exit_code: end.exit_code,
        signal: end.signal,
        reason: text::line(&end.reason, REASON_MAX),
        cause: None,
    }
}

/// Describes when the runs that terminated like the last one did so, such as `9 s after each start`. `None` if no
/// duration is known.
pub fn rhythm(case: &Case<'_>, container: &Container) -> Option<String> {
    let runs = runs(case, container);
    let last = runs.last()?;
    let alike = runs.iter().filter(|run| (run.exit_code, &run.reason) == (last.exit_code, &last.reason));
    let lengths: Vec<i64> = alike.clone().filter_map(run_length).collect();
    phrase(case.language(), &lengths, container.restart_count, alike.count() == runs.len())
}

/// Duration of a run in seconds, if start and end are known.
pub fn run_length(run: &Run) -> Option<i64> {
    Some(seconds_between(run.started_at?, run.finished_at?))
}

/// Describes the durations of runs, oldest first. `restarts` is the total, of which some durations may be unknown;
/// `are_all` is whether all known runs terminated alike.
pub fn phrase(language: Language, lengths: &[i64], restarts: u32, are_all: bool) -> Option<String> {
    const HOUR: i64 = 3600;
    let last = *lengths.last()?;
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let (shortest, longest) = (*sorted.first()?, *sorted.last()?);
    let of = |seconds| length(language, seconds);
    let words = if lengths.len() == 1 {
        let time = of(last);
        if restarts > 1 {
            translate!(language, "{time} after its last start", "直近の起動から {time} で", time)
        } else {
            translate!(language, "{time} after its start", "起動から {time} で", time)
        }
    } else if longest - shortest <= 5.max(shortest / 2) {
        let time = of(sorted[sorted.len() / 2]);
        if are_all {
            translate!(language, "{time} after each start", "起動のたびに {time} で", time)
        } else {
            translate!(language, "{time} after the start", "起動から {time} で", time)
        }
    } else {
        let (least, most) = (of(shortest), of(longest));
        if are_all {
            translate!(language, "{least} to {most} after each start", "起動のたびに {least}〜{most} で", least, most)
        } else {
            translate!(language, "{least} to {most} after the start", "起動から {least}〜{most} で", least, most)
        }
    };
    // A long run hints at growth or exhaustion over time, not at a wrong configuration.
    Some(if shortest >= HOUR { translate!(language, "only {words}", "ようやく{words}", words) } else { words })
}

fn length(language: Language, seconds: i64) -> String {
    if seconds < 1 { phrase!(language, "less than 1 s", "1 s 未満").to_owned() } else { text::duration(seconds) }
}

/// Adds the other causes that terminated earlier runs of the container, as evidence and, if there is room, in the
/// summary. Alternating causes often have one root.
pub(crate) fn with_other_terminations(
    case: &Case<'_>,
    cause: &str,
    finding: Finding,
    newest: &[Attribution],
) -> Finding {
    let Some(container) = finding.container.as_ref().and_then(|name| case.pod.container(name)) else { return finding };
    let mut causes: Vec<Option<&str>> = case.ledger.of(&container.name).map(|run| run.cause.as_deref()).collect();
    // The ledger attributes the newest run only after this diagnosis.
    let attributed = newest.iter().find(|a| a.container == container.name);
    if let (Some(last), Some(attributed)) = (causes.last_mut(), attributed)
        && (last.is_none() || attributed.cause == cause)
    {
        *last = Some(attributed.cause);
    }
    match termination_counts(case.language(), &causes) {
        Some(ends) => {
            let finding = finding.with(evidence::field("status.restarts.history", &ends));
            Finding { summary: finding.summary.with(&ends), ..finding }
        }
        None => finding,
    }
}

/// `of its last 6 runs 4 ended by OOMKilled, 2 by LivenessProbeFailed`, most frequent first; `None` for one cause.
fn termination_counts(language: Language, causes: &[Option<&str>]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for cause in causes.iter().rev().flatten() {
        match counts.iter_mut().find(|(known, _)| known == cause) {
            Some((_, count)) => *count += 1,
            None => counts.push((cause, 1)),
        }
    }
    if counts.len() < 2 {
        return None;
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let list: Vec<String> = counts
        .iter()
        .enumerate()
        .map(|(i, (cause, n))| {
            if i == 0 {
                translate!(language, "{n} ended by {cause}", "{cause} による終了 {n} 回", n, cause)
            } else {
                translate!(language, "{n} by {cause}", "{cause} {n} 回", n, cause)
            }
        })
        .collect();
    Some(translate!(
        language,
        "of its last {runs} runs {list}",
        "直近 {runs} 回の実行のうち {list}",
        runs = causes.len(),
        list = list.join(", ")
    ))
}

/// The end of a summary: `; 7 restarts, back-off 5m`. Empty for a first run.
pub fn tail(case: &Case<'_>, container: &Container) -> String {
    as_tail(so_far(case, container))
}

/// The same for restarts as recorded in a diagnosis.
pub fn recorded_tail(language: Language, restarts: &Restarts) -> String {
    as_tail(counts(language, restarts.count, restarts.back_off.as_deref()))
}

fn as_tail(counts: String) -> String {
    if counts.is_empty() { counts } else { format!("; {counts}") }
}

/// `7 restarts, back-off 5m`.
pub(crate) fn so_far(case: &Case<'_>, container: &Container) -> String {
    let back_off = present_back_off(case, container);
    counts(case.language(), container.restart_count, back_off.as_ref().map(|b| &*b.text))
}

fn counts(language: Language, restarts: u32, back_off: Option<&str>) -> String {
    let count = match restarts {
        0 => String::new(),
        1 => phrase!(language, "1 restart", "再起動 1 回").to_owned(),
        n => translate!(language, "{n} restarts", "再起動 {n} 回", n),
    };
    match back_off.map(short) {
        Some(b) if count.is_empty() => format!("back-off {b}"),
        Some(b) => format!("{count}, back-off {b}"),
        None => count,
    }
}

/// The back-off of a container that waits for its next start: from the kubelet's message, or else computed.
fn present_back_off(case: &Case<'_>, container: &Container) -> Option<Backoff> {
    back_off(container).or_else(|| back_off::computed(case, container, &runs(case, container)))
}

/// The kubelet's current back-off of a container, from `back-off 2m40s restarting failed container=...`.
pub fn back_off(container: &Container) -> Option<Backoff> {
    let (reason, message) = container.waiting()?;
    if reason != "CrashLoopBackOff" {
        return None;
    }
    let text = message.strip_prefix("back-off ")?.split(' ').next()?;
    Some(Backoff { text: text.to_owned(), seconds: parse_go_duration(text)? })
}

/// Shortens a Go duration: `5m0s` becomes `5m`.
fn short(go: &str) -> Cow<'_, str> {
    match go.strip_suffix("m0s") {
        Some(rest) => format!("{rest}m").into(),
        None => go.into(),
    }
}

/// Whole seconds of a Go duration such as `2m40s`, `1h0m0s` or `1.5s`.
pub fn parse_go_duration(text: &str) -> Option<i64> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..unit_at].parse().ok()?;
        let after_number = &rest[unit_at..];
        let unit_end = after_number.find(|c: char| c.is_ascii_digit()).unwrap_or(after_number.len());
        total += number
            * match &after_number[..unit_end] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &after_number[unit_end..];
    }
    #[allow(clippy::cast_possible_truncation, reason = "a float outside i64 saturates")]
    (!text.is_empty()).then_some(total.round() as i64)
}

/// Termination time of the run before the current one, or of the current one if it has terminated.
pub fn last_finished(container: &Container) -> Option<Timestamp> {
    container.last_end().and_then(|end| end.finished_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EN: Language = Language::English;

    #[test]
    fn kubelet_durations_are_parsed() {
        for (text, seconds) in
            [("10s", 10), ("1m20s", 80), ("2m40s", 160), ("5m0s", 300), ("1h0m0s", 3600), ("1.5s", 2)]
        {
            assert_eq!(parse_go_duration(text), Some(seconds), "{text}");
        }
        for text in ["", "x", "5", "5q", "s"] {
            assert_eq!(parse_go_duration(text), None, "{text}");
        }
    }

    #[test]
    fn rhythm_covers_only_known_durations() {
        assert_eq!(phrase(EN, &[], 4, true), None);
        assert_eq!(phrase(EN, &[9], 1, true).as_deref(), Some("9 s after its start"));
        assert_eq!(phrase(EN, &[9], 7, true).as_deref(), Some("9 s after its last start"));
        assert_eq!(phrase(EN, &[9, 10, 9], 3, true).as_deref(), Some("9 s after each start"));
        assert_eq!(phrase(EN, &[9, 10, 9], 5, false).as_deref(), Some("9 s after the start"), "others ended otherwise");
        assert_eq!(phrase(EN, &[0, 0], 2, true).as_deref(), Some("less than 1 s after each start"));
        assert_eq!(phrase(EN, &[9, 9000], 2, true).as_deref(), Some("9 s to 2 h after each start"));
        assert_eq!(phrase(EN, &[9000, 9100], 2, true).as_deref(), Some("only 2 h after each start"));
    }

    #[test]
    fn only_alternating_causes_are_counted() {
        let (oom, probe) = (Some("OOMKilled"), Some("LivenessProbeFailed"));
        assert_eq!(termination_counts(EN, &[]), None);
        assert_eq!(termination_counts(EN, &[None, oom, oom]), None);
        assert_eq!(
            termination_counts(EN, &[oom, probe, oom, None, oom, probe]).as_deref(),
            Some("of its last 6 runs 3 ended by OOMKilled, 2 by LivenessProbeFailed")
        );
    }

    #[test]
    fn back_off_is_shortened() {
        assert_eq!(short("5m0s"), "5m");
        assert_eq!(short("2m40s"), "2m40s");
        assert_eq!(short("10s"), "10s");
    }
}
