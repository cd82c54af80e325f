//! What is wrong with a workload as a whole: a rollout that is stuck, pods that cannot be made, a Job that has failed.

mod case;
mod ownership;

pub use case::{FailingPod, WorkloadCase, WorkloadFailure, WorkloadJudged};
pub(super) use ownership::{JobState, is_first_failed_try, job_given_up, job_state};
pub use ownership::{immediate, top};

use super::Known;

/// Causes that no pod has, only its workload.
pub(super) const KNOWN: &[Known] = &[];

/// What is wrong with a workload, if anything is.
pub fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let _ = case;
    WorkloadJudged::default()
}
