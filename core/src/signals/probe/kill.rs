//! Runs of a container that a liveness or startup probe terminated.
//!
//! Only a Normal `Killing` Event shows such a kill: the status never names the probe, and the exit code varies (0, 137,
//! 143, or the process's own).

use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{
    Container, EventFacts, Phase, ProbeKind, RestartPolicy, State, Terminated, Timestamp, seconds_between,
};
use crate::signals::restarts;
use crate::signals::termination::end::{Kill, Proof};
use crate::signals::termination::{doubt, end};

/// A run that a probe has terminated or is terminating.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Killed<'a> {
    pub(super) kill: Kill<'a>,
    /// The run; `None` during the grace period, or if its termination is not recorded.
    pub(super) run: Option<&'a Terminated>,
    started: Option<Timestamp>,
}

/// The outcome of the preStop hook during a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PreStop {
    Failed,
    /// It was still running when the grace period expired.
    CutOff,
}

impl<'a> Killed<'a> {
    /// Finds the last run of a container that a probe terminated.
    pub(super) fn find(case: &'a Case<'a>, container: &'a Container) -> Option<Self> {
        if case.events.is_empty() && case.ledger.runs.is_empty() {
            return None;
        }
        if case.pod.deletion.is_none()
            && let State::Running { started_at: Some(started) } = container.state
        {
            let now = [ProbeKind::Startup, ProbeKind::Liveness].into_iter().find_map(|probe| {
                let event = end::killings(case, container, probe).find(|event| {
                    // Skip the kill of the previous run, which may be in the same second.
                    event.last.is_some_and(|at| at >= started)
                        && container.last.as_ref().is_none_or(|run| !end::in_run(event, run))
                })?;
                Some(Kill { probe, proof: Proof::Event(event) })
            });
            if let Some(kill) = now {
                return Some(Self { kill, run: None, started: Some(started) });
            }
        }
        let Some(run) = end::counted(case, container) else {
            return Some(Self { kill: end::unrecorded_kill(case, container)?, run: None, started: None });
        };
        Some(Self { kill: end::kill(case, container, run)?, run: Some(run), started: run.started_at })
    }

    /// Whether the container is still in its grace period.
    pub(super) fn goes_on(&self) -> bool {
        self.run.is_none() && !matches!(self.kill.proof, Proof::Unrecorded(_))
    }

    /// The name of the proof in conditions of the catalogue.
    pub(super) const fn proof(&self) -> &'static str {
        match self.kill.proof {
            Proof::Event(_) => "event",
            Proof::Inherited => "inherited",
            Proof::Earlier(_) => "earlier",
            Proof::Unrecorded(_) => "unrecorded",
            Proof::Inferred => "inferred",
            Proof::Silent => "silent",
        }
    }

    /// Whether the run terminated with exit code 0 and is not restarted.
    pub(super) fn is_recorded_as_success(&self, case: &Case<'_>, container: &Container) -> bool {
        self.run.is_some_and(|run| run.exit_code == 0)
            && (case.pod.phase == Phase::Succeeded || matches!(container.state, State::Terminated(_)))
            && container.effective_restart_policy(case.pod.restart_policy) != RestartPolicy::Always
    }

    /// The number of earlier runs of the container that were OOMKilled.
    pub(super) fn out_of_memory_runs(&self, case: &Case<'_>, container: &Container) -> usize {
        let runs = case.ledger.of(&container.name).filter(|past| &*past.reason == end::OOM_KILLED);
        if self.run.is_some() { runs.count() } else { 0 }
    }

    /// Seconds from the kill to the termination, if both times are known.
    fn kill_took(&self) -> Option<i64> {
        match (self.kill.proof, self.run?.finished_at) {
            (Proof::Event(event), Some(finished)) => Some(seconds_between(event.last?, finished)),
            _ => None,
        }
    }

    /// Whether the process ignored SIGTERM: the kill took the whole grace period and the exit code is 137.
    pub(super) fn ignored_sigterm(&self, case: &Case<'_>, container: &Container) -> bool {
        let is_known = matches!(self.kill.proof, Proof::Event(_) | Proof::Inferred);
        let is_early = || self.kill_took().is_some_and(|took| took < self.grace(case, container) - 2);
        is_known && self.run.is_some_and(|run| run.exit_code == 137) && (container.has_pre_stop || !is_early())
    }

    /// The Event of a preStop hook that failed during the kill.
    fn pre_stop_event(&self, case: &Case<'a>, container: &Container) -> Option<&'a EventFacts> {
        matches!(self.kill.proof, Proof::Event(_) | Proof::Inferred).then_some(())?;
        doubt::pre_stop_failed(case, container, self.run?)
    }

    pub(super) fn pre_stop(&self, case: &Case<'a>, container: &Container) -> Option<PreStop> {
        let failed = self.pre_stop_event(case, container)?;
        let took = match self.kill.proof {
            Proof::Event(kill) => kill.last.zip(failed.last).map(|(from, to)| seconds_between(from, to)),
            _ => None,
        };
        let is_late = took.is_some_and(|took| took >= self.grace(case, container) - 1);
        Some(if is_late { PreStop::CutOff } else { PreStop::Failed })
    }

    /// Seconds from the kill to SIGKILL.
    pub(super) fn grace(&self, case: &Case<'_>, container: &Container) -> i64 {
        end::grace(case, container, self.kill.probe)
    }

    /// Describes when the kill happens, counted from the start and without the grace period.
    pub(super) fn rhythm(&self, case: &Case<'_>, container: &Container) -> Option<String> {
        let started = self.started?;
        let event_at = match self.kill.proof {
            Proof::Event(event) => event.last,
            _ => None,
        };
        let Some(run) = self.run else {
            return restarts::phrase(case.language(), &[seconds_between(started, event_at?)], 0, true);
        };
        let length = run.ran_for()?;
        // The duration of the kill: from the Event, or else the whole grace period if the exit code is 137.
        let grace = self.grace(case, container);
        let kill_took = match event_at.filter(|at| run.finished_at.is_some_and(|finished| *at <= finished)) {
            Some(at) => length - seconds_between(started, at),
            None if run.exit_code == 137 && length > grace => grace,
            None => 0,
        };
        let runs = restarts::runs(case, container);
        let alike = runs.iter().filter(|past| past.exit_code == run.exit_code && past.reason == run.reason);
        let are_all = alike.clone().count() == runs.len();
        let lengths: Vec<i64> =
            alike.filter_map(restarts::run_length).map(|length| (length - kill_took).max(0)).collect();
        restarts::phrase(case.language(), &lengths, container.restart_count, are_all)
    }

    /// Evidence that the probe terminated the run.
    pub(super) fn evidence_of_kill(&self, container: &Container) -> Vec<Evidence> {
        let name = self.kill.probe.lower();
        let killing = |value: String| evidence::field("event/Killing", value);
        match self.kill.proof {
            Proof::Event(event) => vec![evidence::event(event)],
            Proof::Inherited => vec![evidence::field(
                "status.restarts.history",
                format!("an earlier run ended in the same way, and a Killing Event named its {name} probe"),
            )],
            Proof::Earlier(event) => vec![
                evidence::event(event),
                killing(
                    "of an earlier run that ended in the same way; the kubelet limits how many Events it sends of a pod"
                        .to_owned(),
                ),
            ],
            Proof::Unrecorded(event) => vec![
                evidence::event(event),
                evidence::contradicting(evidence::field(
                    container.last_end_path(),
                    "empty: how the run ended is not recorded",
                )),
            ],
            Proof::Silent => vec![evidence::contradicting(killing(format!(
                "no Event of this run is known; it ended as late as its {name} probe ends runs, and in such a way"
            )))],
            Proof::Inferred => vec![evidence::contradicting(killing(format!(
                "none is known, but the {name} probe failed until the end and the exit code is that of a kill"
            )))],
        }
    }

    /// Evidence of how the run terminated, and of earlier runs that terminated differently.
    pub(super) fn evidence_of_end(&self, case: &Case<'a>, container: &Container) -> Vec<Evidence> {
        let Some(run) = self.run else { return Vec::new() };
        let path = container.last_end_path();
        let reason = if run.reason == "Error" { "Error (not OOMKilled)" } else { run.reason.as_str() };
        let mut evidence = vec![
            evidence::field_at(format!("{path}.exitCode"), run.exit_code.to_string(), run.finished_at),
            evidence::field(format!("{path}.reason"), reason),
        ];
        let out_of_memory = self.out_of_memory_runs(case, container);
        if out_of_memory > 0 {
            evidence.push(evidence::contradicting(evidence::field(
                "status.restarts.history",
                format!("{out_of_memory} of the known runs were OOMKilled: memory may be the root of both"),
            )));
        }
        evidence.extend(self.pre_stop_event(case, container).map(evidence::event));
        evidence
    }
}
