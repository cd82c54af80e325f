//! The failure of an object without pods of its own, such as an Ingress.

use super::failure::{Own, Verdict, Why, build_failure};
use super::pods::Pods;
use crate::api::{Evidence, Severity};
use crate::case::{WorkloadCase, WorkloadFailure, WorkloadJudged};
use crate::facts::Timestamp;
use crate::signals::Signal;

/// The failure by the first cause that applies to an occurrence of a signal. `shown` has the problem and its severity.
pub(in crate::rules) fn failure_of_object(
    case: &WorkloadCase<'_>,
    shown: (&'static str, Severity),
    signal: &dyn Signal,
    evidence: &[Evidence],
    since: Option<Timestamp>,
) -> WorkloadJudged {
    let Some(own) = Own::of(case, signal, evidence.to_vec()) else { return WorkloadJudged::default() };
    let verdict = Verdict::new(shown.0, shown.1, String::new(), Why::Own(own));
    let mut failure: Box<WorkloadFailure> = build_failure(case, &Pods::of(case), verdict);
    failure.since = since.or(Some(case.since)).filter(|since| *since > Timestamp::UNIX_EPOCH).or(case.workload.created);
    WorkloadJudged::failing(failure)
}
