//! Alternative senders of a signal that no Event explains, as contradicting evidence.

use super::end;
use crate::api::Confidence;
use crate::case::{Case, Finding, evidence};
use crate::facts::{Container, EventFacts, ProbeKind, Terminated};
use crate::language::translate;
use crate::message::text;

/// The Event of a preStop hook that failed while this run was being stopped. Only the kubelet runs such hooks.
pub(crate) fn pre_stop_failed<'a>(case: &Case<'a>, container: &Container, run: &Terminated) -> Option<&'a EventFacts> {
    case.container_events(container, "FailedPreStopHook").rev().find(|event| end::in_run(event, run))
}

/// Adds evidence against an external sender: a hook that only the kubelet runs, or a run as long as a probe allows.
pub(crate) fn with_contradictions(
    case: &Case<'_>,
    container: &Container,
    run: &Terminated,
    finding: Finding,
) -> Finding {
    let mut finding = finding
        .with_all(pre_stop_failed(case, container, run).map(|event| evidence::contradicting(evidence::event(event))));
    if container.post_start.is_some() {
        finding = finding.with(evidence::contradicting(evidence::field(
            format!("{}.lifecycle.postStart", container.spec_path()),
            "a hook that fails ends a run like this too; no FailedPostStartHook Event is known",
        )));
    }
    let fits = |probe: &ProbeKind| end::ended_within_budget(case, container, run, *probe);
    let fitting = [ProbeKind::Liveness, ProbeKind::Startup].into_iter().find(fits);
    if let Some(probe) = fitting.filter(|_| end::events_may_be_missing(case, container, run)) {
        let ran = text::duration(run.ran_for().unwrap_or_default());
        let name = probe.lower();
        finding = finding
            .with(evidence::contradicting(evidence::field(
                format!("{}.{name}Probe", container.spec_path()),
                format!("the run took {ran}, as long as this probe lets one run that never passes it"),
            )))
            .consequence(
                end::kill_cause(probe),
                Some(&container.name),
                translate!(
                    case,
                    "may have killed it: the run took {ran}, which is what the {name} probe allows",
                    "kill した可能性がある: 実行時間 {ran} は {name} probe が許す長さに等しい",
                    ran,
                    name
                ),
            );
        finding.confidence = Confidence::Possible;
    }
    finding
}
