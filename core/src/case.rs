//! Cases and their results: what is known of one pod or workload at one point in time, and what was found.

mod catalogue;
pub(crate) mod fields;
mod finding;
pub(crate) mod injected;
mod log_line;
mod outcome;
pub(crate) mod ownership;
mod pod;
mod pod_status;
pub(crate) mod roots;
mod route;
mod summary;
pub mod target;
mod verdict;
mod workload;

pub(crate) use catalogue::{Catalogue, Context, Matched, Subject};
pub use finding::remedy::{Operation, Remedy};
pub use finding::{Finding, evidence, remedy};
pub(crate) use log_line::{DecisiveLines, Line};
pub use outcome::{Attribution, Diagnosis, Health, LeftOut, Outcome};
pub use ownership::{immediate as immediate_workload, top as top_workload};
pub use pod::{Case, Ledger, Observed, PastRun, Thresholds};
pub use pod_status::pod_status;
pub use roots::RootKind;
pub use route::{AutoscalerProblem, BrokenHop, BudgetProblem, ClaimProblem, Hop};
pub use summary::{Summary, SummaryParts};
pub use verdict::{Category, Recovery, Specificity, Verdict};
pub use workload::{
    Apart, FailingPod, GonePod, Ports, UnmatchedService, WorkloadCase, WorkloadFailure, WorkloadJudged,
};
