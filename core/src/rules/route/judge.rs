//! From a problem to the failure of its object.

use crate::api::Severity;
use crate::case::{AutoscalerProblem, BrokenHop, BudgetProblem, ClaimProblem, Hop, WorkloadCase, WorkloadJudged};
use crate::facts::{Timestamp, after};
use crate::rules::catalog;
use crate::rules::workload::failure_of_object;
use crate::signals::autoscaler::Autoscaler;
use crate::signals::disruption_budget::DisruptionBudget;
use crate::signals::route::Route;
use crate::signals::unused_claim::UnusedClaim;
use crate::signals::{Context, Signal, Subject};

/// Judges an object on the path of a request by its first broken hop.
pub fn route(case: &WorkloadCase<'_>, broken: Option<&BrokenHop>) -> WorkloadJudged {
    let Some(broken) = broken else { return WorkloadJudged::default() };
    let signal = Route { case, broken };
    let cause = cause_of(case, &signal);
    let is_chosen = cause.is_some_and(|cause| case.thresholds.chosen(cause).is_some());
    let waits = not_before(case, cause, broken.since, broken.grace);
    if let Some(wake) = waits.filter(|_| is_chosen || may_settle(case, broken)) {
        return WorkloadJudged::later(wake);
    }
    // A missing certificate does not stop requests of clients that do not verify it.
    let is_down = broken.is_total && broken.hop != Hop::Tls;
    let severity = if is_down { Severity::Critical } else { Severity::Warning };
    failure_of_object(case, ("NotServed", severity), &signal, &broken.evidence, broken.since)
}

/// Judges an autoscaler by its problem.
pub fn autoscaler(case: &WorkloadCase<'_>, problem: Option<&AutoscalerProblem>) -> WorkloadJudged {
    let Some(problem) = problem else { return WorkloadJudged::default() };
    let signal = Autoscaler { case, problem };
    if let Some(wake) = not_before(case, cause_of(case, &signal), problem.since, problem.grace) {
        return WorkloadJudged::later(wake);
    }
    failure_of_object(case, ("NotScaling", Severity::Warning), &signal, &problem.evidence, problem.since)
}

/// Judges a disruption budget by its problem.
pub fn budget(case: &WorkloadCase<'_>, problem: Option<&BudgetProblem>) -> WorkloadJudged {
    let Some(problem) = problem else { return WorkloadJudged::default() };
    let signal = DisruptionBudget { case, problem };
    if let Some(wake) = not_before(case, cause_of(case, &signal), problem.since, problem.grace) {
        return WorkloadJudged::later(wake);
    }
    failure_of_object(case, ("EvictionBlocked", Severity::Warning), &signal, &problem.evidence, problem.since)
}

/// Judges a claim by its problem. It harms nothing but the bill.
pub fn claim(case: &WorkloadCase<'_>, problem: Option<&ClaimProblem>) -> WorkloadJudged {
    let Some(problem) = problem else { return WorkloadJudged::default() };
    let signal = UnusedClaim { case, problem };
    if let Some(wake) = not_before(case, cause_of(case, &signal), None, problem.grace) {
        return WorkloadJudged::later(wake);
    }
    failure_of_object(case, ("Unused", Severity::Info), &signal, &problem.evidence, None)
}

/// Whether a new failure may end by itself. A snapshot has no later state, and often no time that is newer than its
/// objects: a reference to an object that does not exist counts at once there, and so do pods that have a diagnosis.
fn may_settle(case: &WorkloadCase<'_>, broken: &BrokenHop) -> bool {
    // Without a class of its own, an Ingress only lacks an address, which it may still get.
    let is_class = broken.hop == Hop::Class && !broken.class.is_empty();
    let is_object = matches!(broken.hop, Hop::Gateway | Hop::Grant | Hop::Service | Hop::Port | Hop::TargetPort);
    let is_reference = broken.reason.is_empty() && (is_class || is_object);
    case.thresholds.patient || !is_reference && broken.pod_cause.is_empty()
}

/// Time of the next check, if the object or its problem is too new. A threshold that is set for the cause replaces `grace`.
fn not_before(
    case: &WorkloadCase<'_>,
    cause: Option<&'static str>,
    since: Option<Timestamp>,
    grace: i64,
) -> Option<Timestamp> {
    let newest = since.into_iter().chain(case.workload.created).chain([case.since]).max()?;
    let grace = cause.map_or(grace, |cause| case.thresholds.of(cause, grace));
    Some(after(newest, grace)).filter(|due| *due > case.now)
}

fn cause_of(case: &WorkloadCase<'_>, signal: &dyn Signal) -> Option<&'static str> {
    catalog::first(&Context::new(Subject::Workload(case), None, signal)).map(|(_, cause)| cause.name())
}
