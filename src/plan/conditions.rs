//! The conditions of a diagnosis: `Healthy` for people, and what kstatus reads, so that `kubectl wait`, Argo CD and Flux
//! can gate on it.

use crate::api::{DiagnosisState, HealthyCondition};
use crate::facts::Timestamp;

/// What they are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) state: DiagnosisState,
    pub(super) cause: &'a str,
    pub(super) summary: &'a str,
    /// Why nothing is known any more where the state is `Gone`.
    pub(super) gone: &'static str,
}

/// The conditions as they are now; one whose status stays keeps its time.
pub(super) fn of(told: Told<'_>, previous: &[HealthyCondition], now: Timestamp) -> Vec<HealthyCondition> {
    // What is gone is not known to be well, but nothing is to be waited for: kstatus would take Unknown for "in progress".
    let (healthy, ready, stalled, reason) = match told.state {
        DiagnosisState::Active => ("False", "False", "True", told.cause),
        DiagnosisState::Recovered => ("True", "True", "False", "Recovered"),
        DiagnosisState::Gone => ("Unknown", "True", "False", told.gone),
    };
    [("Healthy", healthy, told.summary), ("Ready", ready, ""), ("Stalled", stalled, "")]
        .into_iter()
        .map(|(kind, status, message)| {
            let since = previous.iter().find(|c| c.kind == kind && c.status == status);
            HealthyCondition {
                kind: kind.into(),
                status: status.into(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                last_transition_time: since.map_or(now, |c| c.last_transition_time),
            }
        })
        .collect()
}
