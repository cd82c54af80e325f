//! Further obstacles of the pod, by cause.

use std::cell::OnceCell;

use super::analysis::Analysis;
use super::room::Room;
use super::words::Check;
use super::{Scheduling, State};
use crate::case::Case;
use crate::signals::{Context, Subject};

/// The other reasons of the message, with their causes.
pub(super) fn reasons(case: &Case<'_>, analysis: &Analysis<'_>) -> Vec<(&'static str, String)> {
    let others = analysis.reasons.iter().filter_map(|reason| Some((reason.check?, reason)));
    let others = others.filter(|(check, _)| *check != analysis.check).filter_map(|(check, reason)| {
        let cause = case.catalogue.of_reason(Scheduling::DEFINITION.name, check.as_str())?;
        let count = analysis.share(reason.nodes);
        let count = if count.is_empty() { count } else { format!("{count} nodes: ") };
        Some((cause, format!("{count}{}", analysis.with_names(check, reason.text))))
    });
    others.collect()
}

/// Resources that are scarce on every node, although the scheduler did not check them yet.
pub(super) fn shortages(signal: &Scheduling<'_>, analysis: &Analysis<'_>) -> Vec<(&'static str, String)> {
    let Some(view) = analysis.view.as_ref().filter(|_| !analysis.check.is_capacity()) else { return Vec::new() };
    let is_next = |check: &Check| {
        analysis.count(*check).is_none() && !view.nodes.is_empty() && view.failing(*check) == view.nodes.len()
    };
    let short = Check::CAPACITY.into_iter().filter(is_next).filter_map(|check| {
        let room = Room::new(view, check, &signal.case.surroundings.siblings)?;
        let analysis = Box::new(Analysis { check, ..Analysis::new(signal.case, signal.report()?.message)? });
        let state = State::Unschedulable { report: *signal.report()?, analysis };
        let room = OnceCell::from(Some(Box::new(room)));
        let next = Scheduling {
            case: signal.case,
            state,
            room,
            gap: OnceCell::new(),
            blamed: OnceCell::new(),
            scale_up: OnceCell::new(),
        };
        let context = Context::new(Subject::Pod(signal.case), None, &next);
        signal.case.catalogue.with_summary(check.as_str(), &context)
    });
    short.collect()
}
