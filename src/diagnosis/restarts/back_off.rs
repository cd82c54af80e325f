//! The kubelet's back-off where it does not tell it: for most of the wait Kubernetes 1.35 shows the run that ended.
//!
//! After a first failure it starts the container again at once, then after 10 s, 20 s and so on up to 5 min, counted from
//! the end of the run; a run of more than 10 min starts all that anew. A node may have another cap, and the kubelet forgets
//! when it is restarted: so nothing is said where the waits that were seen were shorter than that.

use super::run_length;
use crate::api::{Backoff, ContainerType, Run};
use crate::diagnosis::Case;
use crate::facts::{Container, RestartPolicy, State, after, seconds_between};

/// In seconds (kubernetes pkg/kubelet/kubelet.go, client-go util/flowcontrol/backoff.go).
const FIRST: i64 = 10;
const LONGEST: i64 = 300;
const RESETS: i64 = 600;
/// Times are whole seconds.
const SLACK: i64 = 2;
/// What a kubelet is usually late at most, and from which wait on that cannot be taken for another step.
const LATE: i64 = 5;
const SURELY_DOUBLED: i64 = 30;

/// The back-off of a container that is waiting for its next start without saying how long.
pub(super) fn worked_out(case: &Case<'_>, container: &Container, runs: &[Run]) -> Option<Backoff> {
    /// A start that is overdue by this much does not come by the back-off alone.
    const OVERDUE: i64 = 60;
    if !is_to_be_restarted(case, container) {
        return None;
    }
    let own: Vec<&Run> = runs.iter().filter(|run| *run.container == *container.name).collect();
    let seconds = wait_after(&own).filter(|seconds| *seconds > 0)?;
    let due = after(container.last_end()?.finished_at?, seconds);
    (case.now <= after(due, OVERDUE)).then(|| Backoff { text: go_duration(seconds), seconds })
}

fn is_to_be_restarted(case: &Case<'_>, container: &Container) -> bool {
    let pod = case.pod;
    let waits = match &container.state {
        State::Terminated(_) => true,
        State::Waiting { reason, .. } => reason == "CrashLoopBackOff",
        State::Running { .. } => false,
    };
    let failed = container.last_end().is_some_and(|end| end.exit_code != 0);
    let wanted = match container.effective_restart_policy(pod.restart_policy) {
        RestartPolicy::Always => true,
        RestartPolicy::OnFailure => failed,
        RestartPolicy::Never => false,
    };
    let is_left_alone = pod.is_over() || pod.deletion.is_some() || container.kind == ContainerType::Ephemeral;
    waits && wanted && !is_left_alone && !container.has_restart_rules
}

/// The seconds that the kubelet waits after the newest of a container's runs, oldest first; `None` where that is not known
/// well enough.
fn wait_after(runs: &[&Run]) -> Option<i64> {
    if run_length(runs.last()?)? > RESETS {
        return Some(0);
    }
    let (chain, is_whole) = chain(runs);
    let waits: Vec<i64> = chain.windows(2).filter_map(|pair| wait_between(pair[0], pair[1])).collect();
    let is_as_expected = waits.iter().enumerate().all(|(i, wait)| *wait >= step(i + 1) - SLACK);
    if let Some(cap) = cap(&waits).filter(|cap| !is_as_expected || (!is_whole && *cap >= SURELY_DOUBLED)) {
        return Some(cap);
    }
    if !is_as_expected {
        return None;
    }
    let least = step(chain.len());
    if is_whole || least == LONGEST { Some(least) } else { step_after(*waits.last()?) }
}

/// The node's own cap: two waits in a row that took as long as each other, where the second should have been twice as long.
fn cap(waits: &[i64]) -> Option<i64> {
    let [.., before, last] = waits else { return None };
    let wait = *before.min(last);
    // Kubelets are late by seconds, so the cap is told in steps of five.
    let is_alike = (before - last).abs() <= LATE.max(wait / 10);
    (is_alike && wait >= FIRST - SLACK).then(|| ((wait + SLACK) / LATE * LATE).min(LONGEST))
}

/// The newest runs that follow one another without a gap, oldest first, and whether the first of them is the one from which
/// the kubelet counts.
fn chain<'r>(runs: &[&'r Run]) -> (Vec<&'r Run>, bool) {
    let mut chain: Vec<&Run> = runs.last().copied().into_iter().collect();
    let begins = |run: &Run| run.number == Some(1) || run_length(run).is_some_and(|length| length > RESETS);
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

/// The wait after the nth run in a row that ended.
fn step(nth: usize) -> i64 {
    match nth {
        0 | 1 => 0,
        n => FIRST.saturating_mul(1 << (n - 2).min(8)).min(LONGEST),
    }
}

/// The wait that follows one that was seen to take so long: the kubelet may be some seconds late, so a wait half-way between
/// two steps is neither.
fn step_after(wait: i64) -> Option<i64> {
    let step_of = (1..=7).map(step).rfind(|step| *step <= wait + SLACK)?;
    let is_plain = step_of == LONGEST || wait <= (step_of + step_of / 2).max(FIRST / 2);
    let next = if step_of == 0 { FIRST } else { (step_of * 2).min(LONGEST) };
    is_plain.then_some(next)
}

/// As the kubelet's message writes it: `2m40s`.
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

    /// Runs by number, of this length each and with these waits between them.
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
    fn the_wait_doubles_from_run_to_run_up_to_five_minutes() {
        let waits = [1, 11, 22, 44, 85, 166, 305, 301];
        let expected = [0, 10, 20, 40, 80, 160, 300, 300, 300];
        for (n, expected) in expected.into_iter().enumerate() {
            assert_eq!(wait(&runs(1, &vec![3; n + 1], &waits[..n])), Some(expected), "after run {}", n + 1);
        }
    }

    #[test]
    fn a_run_of_more_than_ten_minutes_begins_anew() {
        assert_eq!(wait(&runs(5, &[3, 3, 601], &[44, 81])), Some(0));
        assert_eq!(wait(&runs(5, &[3, 601, 3], &[81, 1])), Some(10));
        assert_eq!(wait(&runs(5, &[3, 601, 3, 3], &[81, 1, 12])), Some(20));
    }

    #[test]
    fn where_the_beginning_was_not_seen_the_last_wait_tells_or_nothing_does() {
        assert_eq!(wait(&runs(9, &[3], &[])), None, "one run of many");
        assert_eq!(wait(&runs(9, &[3, 3], &[42])), Some(80));
        assert_eq!(wait(&runs(9, &[3, 3], &[304])), Some(300));
        assert_eq!(wait(&runs(9, &[3, 3], &[35])), None, "20 s and late, or 40 s by another clock");
        assert_eq!(wait(&runs(9, &[3; 7], &[10, 20, 40, 80, 160, 300])), Some(300));
        let mut gap = runs(9, &[3, 3, 3], &[42, 85]);
        gap[2].number = Some(20);
        assert_eq!(wait(&gap), None, "nobody saw the runs before the last");
    }

    #[test]
    fn a_node_with_a_smaller_cap_and_a_kubelet_that_forgot_are_not_contradicted() {
        assert_eq!(wait(&runs(1, &[3; 5], &[0, 10, 20, 31])), None, "30 s is no step of the kubelet's own");
        assert_eq!(wait(&runs(1, &[3; 6], &[0, 10, 20, 31, 32])), Some(30));
        assert_eq!(wait(&runs(1, &[3; 4], &[0, 10, 11])), Some(10));
        assert_eq!(wait(&runs(9, &[3, 3, 3], &[61, 60])), Some(60));
        assert_eq!(wait(&runs(9, &[3, 3, 3], &[15, 20])), Some(40), "10 s and late, then 20 s");
        assert_eq!(wait(&runs(1, &[3; 5], &[0, 10, 20, 0])), None);
    }

    #[test]
    fn durations_read_as_the_kubelets() {
        for (seconds, text) in [(10, "10s"), (80, "1m20s"), (160, "2m40s"), (300, "5m0s")] {
            assert_eq!(go_duration(seconds), text);
            assert_eq!(super::super::parse_go_duration(text), Some(seconds));
        }
    }
}
