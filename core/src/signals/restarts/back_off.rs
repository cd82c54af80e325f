//! Computes the kubelet's back-off when no message states it: during most of the wait, Kubernetes 1.35 shows the
//! terminated run instead.
//!
//! After the first failure the kubelet restarts the container at once, then after 10 s, 20 s and so on up to 5 min,
//! counted from the end of the run. A run of more than 10 min resets the back-off. A node can have another maximum, and
//! a restarted kubelet loses its state, so nothing is reported if the observed waits were shorter.

use super::run_length;
use crate::api::{Backoff, ContainerType, Run};
use crate::case::Case;
use crate::facts::{Container, RestartPolicy, State, after, seconds_between};

/// In seconds (kubernetes pkg/kubelet/kubelet.go, client-go util/flowcontrol/backoff.go).
const FIRST_WAIT: i64 = 10;
const MAX_WAIT: i64 = 300;
const RESET_AFTER: i64 = 600;
/// Tolerance in seconds, because timestamps have a resolution of one second.
const TOLERANCE: i64 = 2;
/// Usual maximum delay of a kubelet. For waits of at least this size, the delay cannot be confused with another step.
const MAX_DELAY: i64 = 5;
const SURELY_DOUBLED: i64 = 30;

/// The back-off of a container that waits for its next start without a message about the duration.
pub(super) fn computed(case: &Case<'_>, container: &Container, runs: &[Run]) -> Option<Backoff> {
    /// Seconds after which an overdue start has another reason than the back-off.
    const OVERDUE: i64 = 60;
    if !will_restart(case, container) {
        return None;
    }
    let own: Vec<&Run> = runs.iter().filter(|run| *run.container == *container.name).collect();
    let seconds = wait_after(&own).filter(|seconds| *seconds > 0)?;
    let due = after(container.last_end()?.finished_at?, seconds);
    (case.now <= after(due, OVERDUE)).then(|| Backoff { text: go_duration(seconds), seconds })
}

fn will_restart(case: &Case<'_>, container: &Container) -> bool {
    let pod = case.pod;
    let waits = match &container.state {
        State::Terminated(_) => true,
        State::Waiting { reason, .. } => reason == "CrashLoopBackOff",
        State::Running { .. } => false,
    };
    let failed = container.last_end().is_some_and(|end| end.exit_code != 0);
    let is_allowed = match container.effective_restart_policy(pod.restart_policy) {
        RestartPolicy::Always => true,
        RestartPolicy::OnFailure => failed,
        RestartPolicy::Never => false,
    };
    let is_left_alone = pod.is_over() || pod.deletion.is_some() || container.kind == ContainerType::Ephemeral;
    waits && is_allowed && !is_left_alone && container.restart_rules.is_empty()
}

/// The wait in seconds after the newest of a container's runs (oldest first). `None` if it is not certain.
fn wait_after(runs: &[&Run]) -> Option<i64> {
    if run_length(runs.last()?)? > RESET_AFTER {
        return Some(0);
    }
    let (chain, is_whole) = chain(runs);
    let waits: Vec<i64> = chain.windows(2).filter_map(|pair| wait_between(pair[0], pair[1])).collect();
    let is_as_expected = waits.iter().enumerate().all(|(i, wait)| *wait >= step(i + 1) - TOLERANCE);
    if let Some(cap) = cap(&waits).filter(|cap| !is_as_expected || (!is_whole && *cap >= SURELY_DOUBLED)) {
        return Some(cap);
    }
    if !is_as_expected {
        return None;
    }
    let least = step(chain.len());
    if is_whole || least == MAX_WAIT { Some(least) } else { step_after(*waits.last()?) }
}

/// The maximum back-off of the node, known from two equal waits in a row where the second should have doubled.
fn cap(waits: &[i64]) -> Option<i64> {
    let [.., before, last] = waits else { return None };
    let wait = *before.min(last);
    // Kubelets are late by seconds, so the maximum is rounded to steps of five.
    let is_alike = (before - last).abs() <= MAX_DELAY.max(wait / 10);
    (is_alike && wait >= FIRST_WAIT - TOLERANCE).then(|| ((wait + TOLERANCE) / MAX_DELAY * MAX_DELAY).min(MAX_WAIT))
}

/// The newest runs without a gap, oldest first, and whether the first of them is the one from which the kubelet counts.
fn chain<'r>(runs: &[&'r Run]) -> (Vec<&'r Run>, bool) {
    let mut chain: Vec<&Run> = runs.last().copied().into_iter().collect();
    let begins = |run: &Run| run.number == Some(1) || run_length(run).is_some_and(|length| length > RESET_AFTER);
    for run in runs.iter().rev().skip(1) {
        let Some(next) = chain.last().copied().filter(|next| !begins(next)) else { break };
        let follows = run.number.is_some_and(|number| next.number == Some(number + 1));
        if !follows || run_length(run).is_none() {
            break;
        }
        chain.push(run);
    }
    let is_whole = chain.last().is_some_and(|first| begins(first));
    chain.reverse();
    (chain, is_whole)
}

fn wait_between(run: &Run, next: &Run) -> Option<i64> {
    Some(seconds_between(run.finished_at?, next.started_at?))
}

/// The wait after the nth consecutive terminated run.
fn step(nth: usize) -> i64 {
    match nth {
        0 | 1 => 0,
        n => FIRST_WAIT.saturating_mul(1 << (n - 2).min(8)).min(MAX_WAIT),
    }
}

/// The wait that follows an observed one. The kubelet may be some seconds late, so a wait half-way between two steps
/// matches neither.
fn step_after(wait: i64) -> Option<i64> {
    let step_of = (1..=7).map(step).rfind(|step| *step <= wait + TOLERANCE)?;
    let is_plain = step_of == MAX_WAIT || wait <= (step_of + step_of / 2).max(FIRST_WAIT / 2);
    let next = if step_of == 0 { FIRST_WAIT } else { (step_of * 2).min(MAX_WAIT) };
    is_plain.then_some(next)
}

/// Formats seconds like the kubelet's message: `2m40s`.
fn go_duration(seconds: i64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Timestamp;

    /// Numbered runs with these durations and the waits between them.
    fn runs(first: u32, lengths: &[i64], waits: &[i64]) -> Vec<Run> {
        let mut at = Timestamp::UNIX_EPOCH;
        let numbers = first..;
        let run = |(i, (number, length)): (usize, (u32, &i64))| {
            let started_at = Some(after(at, if i == 0 { 0 } else { waits[i - 1] }));
            let finished_at = started_at.map(|start| after(start, *length));
            at = finished_at.unwrap_or(at);
            Run { number: Some(number), started_at, finished_at, exit_code: 1, ..Run::default() }
        };
        numbers.zip(lengths).enumerate().map(run).collect()
    }

    fn wait(runs: &[Run]) -> Option<i64> {
        wait_after(&runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn wait_doubles_up_to_five_minutes() {
        let waits = [1, 11, 22, 44, 85, 166, 305, 301];
        let expected = [0, 10, 20, 40, 80, 160, 300, 300, 300];
        for (n, expected) in expected.into_iter().enumerate() {
            assert_eq!(wait(&runs(1, &vec![3; n + 1], &waits[..n])), Some(expected), "after run {}", n + 1);
        }
    }

    #[test]
    fn run_of_more_than_ten_minutes_resets_the_back_off() {
        assert_eq!(wait(&runs(5, &[3, 3, 601], &[44, 81])), Some(0));
        assert_eq!(wait(&runs(5, &[3, 601, 3], &[81, 1])), Some(10));
        assert_eq!(wait(&runs(5, &[3, 601, 3, 3], &[81, 1, 12])), Some(20));
    }

    #[test]
    fn unknown_first_run_falls_back_to_the_last_wait() {
        assert_eq!(wait(&runs(9, &[3], &[])), None, "one run of many");
        assert_eq!(wait(&runs(9, &[3, 3], &[42])), Some(80));
        assert_eq!(wait(&runs(9, &[3, 3], &[304])), Some(300));
        assert_eq!(wait(&runs(9, &[3, 3], &[35])), None, "20 s and late, or 40 s by another clock");
        assert_eq!(wait(&runs(9, &[3; 7], &[10, 20, 40, 80, 160, 300])), Some(300));
        let mut gap = runs(9, &[3, 3, 3], &[42, 85]);
        gap[2].number = Some(20);
        assert_eq!(wait(&gap), None, "the runs before the last were not observed");
    }

    #[test]
    fn smaller_maximum_and_kubelet_restart_are_respected() {
        assert_eq!(wait(&runs(1, &[3; 5], &[0, 10, 20, 31])), None, "30 s is no step of the kubelet's own");
        assert_eq!(wait(&runs(1, &[3; 6], &[0, 10, 20, 31, 32])), Some(30));
        assert_eq!(wait(&runs(1, &[3; 4], &[0, 10, 11])), Some(10));
        assert_eq!(wait(&runs(9, &[3, 3, 3], &[61, 60])), Some(60));
        assert_eq!(wait(&runs(9, &[3, 3, 3], &[15, 20])), Some(40), "10 s and late, then 20 s");
        assert_eq!(wait(&runs(1, &[3; 5], &[0, 10, 20, 0])), None);
    }

    #[test]
    fn durations_are_formatted_like_the_kubelet() {
        for (seconds, text) in [(10, "10s"), (80, "1m20s"), (160, "2m40s"), (300, "5m0s")] {
            assert_eq!(go_duration(seconds), text);
            assert_eq!(super::super::parse_go_duration(text), Some(seconds));
        }
    }
}
