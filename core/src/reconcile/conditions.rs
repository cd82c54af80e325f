//! Conditions of a diagnosis: `Healthy`, and those that kstatus reads, so that `kubectl wait`, Argo CD and Flux can
//! gate on them.

use crate::api::{DiagnosisState, StatusCondition, reason_of};
use crate::facts::Timestamp;

/// The input of the conditions.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConditionInput<'a> {
    pub(super) state: DiagnosisState,
    pub(super) cause: &'a str,
    pub(super) summary: &'a str,
    /// The reason if the state is `Gone`.
    pub(super) gone: &'static str,
}

/// The current conditions. A condition whose status is unchanged keeps its transition time.
pub(super) fn of(input: ConditionInput<'_>, previous: &[StatusCondition], now: Timestamp) -> Vec<StatusCondition> {
    // The health of a gone object is unknown, but Ready must not be: kstatus would report "in progress".
    let (healthy, ready, stalled, reason) = match input.state {
        DiagnosisState::Active => ("False", "False", "True", reason_of(input.cause)),
        DiagnosisState::Recovered => ("True", "True", "False", "Recovered"),
        DiagnosisState::Gone => ("Unknown", "True", "False", input.gone),
    };
    [("Healthy", healthy, input.summary), ("Ready", ready, ""), ("Stalled", stalled, "")]
        .into_iter()
        .map(|(kind, status, message)| {
            let since = previous.iter().find(|c| c.kind == kind && c.status == status);
            StatusCondition {
                kind: kind.into(),
                status: status.into(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                last_transition_time: since.map_or(now, |c| c.last_transition_time),
            }
        })
        .collect()
}
