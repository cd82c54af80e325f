//! The signal `podFailure`.

use super::termination::exit_code::ended;
use super::termination::{end, end_evidence, log_line};
use super::{Matched, PodSignal, Source, signal};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, Terminated, Timestamp};

signal! {
    /// A container that ended with an error and is not started again, so that its pod has failed. The pod has no reason.
    /// Source: status.phase; containerStatuses[].state.terminated; spec.restartPolicy.
    pub(super) struct PodFailure<'a> as "podFailure" {
        case: &'a Case<'a>,
        container: &'a Container,
        run: Result<&'a Terminated, Timestamp>,
    }
    reason: |of| of.run.map_or("", |run| &run.reason), message: "";

    /// How the container ended, as text: `web exits with code 1 (general error) after 3 s: "..."`.
    /// Source: containerStatuses[].state.terminated.
    "ended": fn ended(&self) -> Option<String> { Some(ended(self.case, self.container, self.run.ok()?)) }
}

pub(crate) const SOURCE: Source = Source { definition: &PodFailure::DEFINITION, read };

impl<'a> PodSignal<'a> for PodFailure<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    /// Events that explain the failure may still arrive.
    fn due(&self, _: &Matched) -> Result<(), Timestamp> {
        self.run.map(|_| ())
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let (case, pod) = (self.case, self.case.pod);
        let Ok(run) = self.run else { return Vec::new() };
        let ended = end_evidence(self.container, run, Finding::of_pod("")).evidence;
        let of_pod = [
            evidence::field("status.phase", format!("{:?}", pod.phase)),
            evidence::field("spec.restartPolicy", format!("{:?}", pod.restart_policy)),
        ];
        ended.into_iter().chain(of_pod).chain(log_line::line_evidence(case, self.container, run)).collect()
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        end::judged(self.case, finding)
    }
}

fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let apps = case.pod.of_type(ContainerType::App);
    let ended = apps.filter(|container| case.pod.reason.is_empty() && end::has_ended_its_pod(case, container));
    let failed = ended.filter_map(|container| match end::settled_crash(case, container) {
        Ok(Some(run)) if run.exit_code != 0 => Some(PodFailure { case, container, run: Ok(run) }),
        Err(Verdict::NotBefore(at)) => Some(PodFailure { case, container, run: Err(at) }),
        _ => None,
    });
    failed.map(|signal| Box::new(signal) as _).collect()
}
