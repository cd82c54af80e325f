//! The signal `readinessGate`.

use super::{Matched, PodSignal, Source, signal};
use crate::api::Evidence;
use crate::case::{Case, Thresholds, evidence};
use crate::facts::{Condition, Timestamp, after, seconds_between};

/// Prefixes of load balancer gates. Load balancers check a new pod for up to several minutes before they send it
/// traffic.
const LOAD_BALANCERS: [&str; 2] = ["target-health.", "cloud.google.com/load-balancer-neg-ready"];

signal! {
    /// A pod whose containers are all ready, and which is not ready because of its readiness gates.
    /// Source: status.conditions[Ready] with the reason ReadinessGatesNotReady.
    pub(crate) struct ReadinessGate<'a> as "readinessGate" { case: &'a Case<'a>, ready: &'a Condition }
    reason: |of| &of.ready.reason, message: &of.ready.message;

    /// The gates whose conditions are not True. Source: spec.readinessGates; status.conditions.
    "gates": fn gates(&self) -> Vec<String> { self.open().map(str::to_owned).collect() }
}

pub(crate) const SOURCE: Source =
    Source { definition: &ReadinessGate::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for ReadinessGate<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let (case, name, lost) = (self.case, cause.name, self.ready.last_transition);
        let containers = case.pod.condition("ContainersReady").and_then(|c| c.last_transition);
        let was_ready = matches!((lost, containers), (Some(lost), Some(ready)) if seconds_between(ready, lost) > 1);
        let usual = Thresholds::default();
        let (since, seconds, usual) = if was_ready {
            (lost, case.thresholds.of(name, case.thresholds.readiness_lost), usual.readiness_lost)
        } else {
            (containers, case.never_ready(name), usual.never_ready)
        };
        // A kubelet reports only the readiness of containers, so a snapshot may hold no later time.
        let is_slow =
            case.pod.readiness_gates.iter().any(|gate| LOAD_BALANCERS.iter().any(|name| gate.starts_with(name)));
        let at_once = !case.thresholds.patient && seconds == usual && !is_slow;
        let due = after(case.held_since(since), if at_once { 0 } else { seconds });
        if case.now < due { Err(due) } else { Ok(()) }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let gates = self.open().filter_map(|gate| self.case.pod.condition(gate));
        std::iter::once(self.ready).chain(gates).map(evidence::condition).collect()
    }
}

impl<'a> ReadinessGate<'a> {
    fn open(&self) -> impl Iterator<Item = &'a str> {
        let pod = self.case.pod;
        pod.readiness_gates.iter().map(String::as_str).filter(|gate| !pod.condition_is_true(gate))
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    let pod = case.pod;
    if pod.deletion.is_some() || pod.is_over() || !pod.condition_is_true("ContainersReady") {
        return None;
    }
    let ready = pod.condition("Ready").filter(|c| c.status == "False" && c.reason == "ReadinessGatesNotReady")?;
    Some(Box::new(ReadinessGate { case, ready }))
}
