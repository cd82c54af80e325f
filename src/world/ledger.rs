//! Keeps the restart ledger: the kubelet remembers one run, we remember ten.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnosis::{Attribution, Ledger, PastRun};
use crate::facts::{PodFacts, Terminated};

/// Takes in the runs that the status shows and the ledger lacks.
pub(super) fn record(ledger: &mut Ledger, facts: &PodFacts) {
    for container in &facts.containers {
        for (number, end) in container.ends() {
            let run = past_run(&container.name, number, end);
            if !ledger.of(&container.name).any(|known| is_same(known, &run)) {
                count_unseen(ledger, &run);
                // Most pods that fail have one run to tell of.
                ledger.runs.reserve_exact(1);
                ledger.runs.push(run);
            }
        }
        trim(ledger, &container.name);
    }
}

/// Counts the runs between the newest known one and this. A number that is no higher is of a count that the kubelet
/// began anew: what was between is not known.
fn count_unseen(ledger: &mut Ledger, run: &PastRun) {
    let newest = ledger.of(&run.container).filter_map(|known| known.number).max().unwrap_or(0);
    let between = run.number.map_or(0, |number| number.saturating_sub(newest.saturating_add(1)));
    if between > 0 {
        let unseen = ledger.unseen.entry(run.container.clone()).or_default();
        *unseen = unseen.saturating_add(between);
    }
}

/// Marks the newest run of each container with its cause, and tells whether that is new. A cause that an Event proved is
/// not overwritten by a guess.
pub(super) fn attribute(ledger: &mut Ledger, attributions: &[Attribution]) -> bool {
    let mut is_new = false;
    for attribution in attributions {
        let newest = ledger.runs.iter_mut().rev().find(|run| run.container == attribution.container);
        if let Some(run) = newest.filter(|run| !run.proven || attribution.proven) {
            is_new |= run.cause.as_deref() != Some(attribution.cause) || run.proven != attribution.proven;
            run.cause = Some(attribution.cause.into());
            run.proven |= attribution.proven;
        }
    }
    is_new
}

/// Adds what another one remembers of the same pod: the causes of runs, and runs that nobody saw here.
pub(super) fn merge(ledger: &mut Ledger, past: Ledger) {
    for run in past.runs {
        match ledger.runs.iter_mut().find(|known| known.container == run.container && is_same(known, &run)) {
            Some(known) if known.cause.is_none() || (run.proven && !known.proven) => {
                known.cause = run.cause;
                known.proven = run.proven;
            }
            Some(_) => {}
            None => ledger.runs.push(run),
        }
    }
    // Stable: what has no time of its own stays where it was.
    ledger.runs.sort_by_key(|run| run.finished_at);
    let containers: BTreeSet<Arc<str>> = ledger.runs.iter().map(|run| run.container.clone()).collect();
    containers.iter().for_each(|container| trim(ledger, container));
    // Whoever missed fewer has seen the others.
    for (container, unseen) in &mut ledger.unseen {
        *unseen = past.unseen.get(container).map_or(*unseen, |theirs| (*unseen).min(*theirs));
    }
}

fn past_run(container: &Arc<str>, number: Option<u32>, end: &Terminated) -> PastRun {
    PastRun {
        container: container.clone(),
        number,
        started_at: end.started_at,
        finished_at: end.finished_at,
        exit_code: end.exit_code,
        signal: end.ending_signal(),
        reason: end.reason.as_str().into(),
        cause: None,
        proven: false,
    }
}

fn is_same(a: &PastRun, b: &PastRun) -> bool {
    a.started_at == b.started_at && a.finished_at == b.finished_at && a.exit_code == b.exit_code
}

fn trim(ledger: &mut Ledger, container: &str) {
    while ledger.of(container).count() > Ledger::RUNS_PER_CONTAINER {
        if let Some(oldest) = ledger.runs.iter().position(|run| &*run.container == container) {
            ledger.runs.remove(oldest);
        }
    }
}
