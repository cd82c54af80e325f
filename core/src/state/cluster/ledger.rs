//! Restart ledger: the last ten terminations of each container, where the kubelet keeps one.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::case::{Attribution, Ledger, PastRun};
use crate::facts::{PodFacts, Terminated};

/// Adds the terminations in the status that the ledger lacks.
pub(in crate::state) fn record(ledger: &mut Ledger, facts: &PodFacts) {
    for container in &facts.containers {
        for (number, end) in container.ends() {
            let run = past_run(&container.name, number, end);
            if !ledger.of(&container.name).any(|known| is_same(known, &run)) {
                count_unseen(ledger, &run);
                // Most failing pods have one termination.
                ledger.runs.reserve_exact(1);
                ledger.runs.push(run);
            }
        }
        trim(ledger, &container.name);
    }
}

/// Counts the terminations between the newest known one and this one. If the kubelet has reset its restart count, the
/// number of missed terminations is unknown.
fn count_unseen(ledger: &mut Ledger, run: &PastRun) {
    let newest = ledger.of(&run.container).filter_map(|known| known.number).max().unwrap_or(0);
    let between = run.number.map_or(0, |number| number.saturating_sub(newest.saturating_add(1)));
    if between > 0 {
        let unseen = ledger.unseen.entry(run.container.clone()).or_default();
        *unseen = unseen.saturating_add(between);
    }
}

/// Sets the cause of the newest termination of each container. A cause proven by an Event is never overwritten by an
/// inferred one. Returns whether anything changed.
pub(in crate::state) fn attribute(ledger: &mut Ledger, attributions: &[Attribution]) -> bool {
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

/// Merges the stored ledger of the same pod: causes, and terminations that were not seen in this run.
pub(in crate::state) fn merge(ledger: &mut Ledger, past: Ledger) {
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
    // The sort is stable: entries without a time keep their place.
    ledger.runs.sort_by_key(|run| run.finished_at);
    let containers: BTreeSet<Arc<str>> = ledger.runs.iter().map(|run| run.container.clone()).collect();
    containers.iter().for_each(|container| trim(ledger, container));
    // The lower count of missed terminations is the more complete one.
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
