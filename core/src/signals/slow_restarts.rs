//! The signal `slowRestarts`.

use super::termination::end;
use super::{Matched, PodSignal, Source, of_containers, restarts, signal};
use crate::api::ContainerType;
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, RestartPolicy, State, Terminated, Timestamp, after};
use crate::message::text;

signal! {
    /// A container that runs and was restarted after a failure, long enough ago that its last run does not count as a present
    /// failure any more. Init containers, runs that the runtime lost and exit code 255 are not in it.
    /// Source: containerStatuses[].state.running, lastState.terminated and restartCount; metadata.creationTimestamp.
    pub(crate) struct SlowRestarts<'a> as "slowRestarts" {
        case: &'a Case<'a>,
        container: &'a Container,
        run: &'a Terminated,
        finished: Timestamp,
        created: Timestamp,
    }
    reason: |of| &of.run.reason, message: &of.run.message;

    /// How often the container was restarted. Source: restartCount.
    "restarts": fn restarts(&self) -> u32 { self.container.restart_count }

    /// Age of the pod, as a text. Source: metadata.creationTimestamp.
    "podAge": fn pod_age(&self) -> String { text::duration(self.case.age(self.created)) }

    /// Mean time between restarts, in seconds: the age of the pod by its restarts.
    "paceSeconds": fn pace_seconds(&self) -> i64 {
        self.case.age(self.created) / i64::from(self.container.restart_count.max(1))
    }

    /// The same as a text.
    "pace": fn pace(&self) -> String { text::duration(self.pace_seconds()) }

    /// Whether the container has run on since its last failure for longer than one and a half times this pace.
    "isOver": fn is_over(&self) -> bool { self.case.now > self.until() }

    /// How long the last run took, in seconds; 0 where it is not known. Source: lastState.terminated.startedAt, finishedAt.
    "ranForSeconds": fn ran_for_seconds(&self) -> i64 { self.run.ran_for().unwrap_or_default() }

    /// The same as a text.
    "ranFor": fn ran_for(&self) -> String { text::duration(self.ran_for_seconds()) }

    /// Exit code of the last run. Source: lastState.terminated.exitCode.
    "exitCode": fn exit_code(&self) -> i32 { self.run.exit_code }

    /// Reason that the runtime reports for it; empty for `Error`, which adds nothing to the exit code.
    "reason": fn reason_of_run(&self) -> &str { if self.run.reason == "Error" { "" } else { &self.run.reason } }

    /// Whether it ran out of memory. Source: lastState.terminated.reason OOMKilled.
    "oomKilled": fn oom_killed(&self) -> bool { self.run.reason == end::OOM_KILLED }
}

pub(crate) const SOURCE: Source = Source {
    definition: &SlowRestarts::DEFINITION,
    read: |case| of_containers(case, |container| read(case, container)),
};

fn read<'a>(case: &'a Case<'a>, container: &'a Container) -> Option<SlowRestarts<'a>> {
    let is_lasting = matches!(container.kind, ContainerType::App | ContainerType::Sidecar);
    let State::Running { started_at: Some(started) } = container.state else { return None };
    // A snapshot may hold nothing newer than the start: see `end::has_recovered`.
    let is_fresh = case.thresholds.patient && case.age(started) <= case.thresholds.recovered_restarting;
    if !is_lasting || case.pod.deletion.is_some() || is_fresh {
        return None;
    }
    let run = container.last.as_ref().filter(|run| is_failure(case, container, run))?;
    Some(SlowRestarts { case, container, run, finished: run.finished_at?, created: case.pod.created? })
}

/// Whether the container itself caused the termination, not a runtime that lost it or a reboot.
fn is_failure(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    let own = !end::is_lost(run) && run.reason != "RestartingAllContainers" && run.exit_code != 255;
    let unwanted = run.exit_code != 0
        || run.reason == end::OOM_KILLED
        || container.effective_restart_policy(case.pod.restart_policy) == RestartPolicy::Always;
    own && unwanted && !container.is_restarted_by_rule(run.exit_code)
}

impl SlowRestarts<'_> {
    /// When it no longer counts as a loop.
    fn until(&self) -> Timestamp {
        let pace = self.pace_seconds();
        after(self.finished, pace + pace / 2)
    }
}

impl<'a> PodSignal<'a> for SlowRestarts<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        let (container, run, path) = (self.container, self.run, self.container.status_path());
        let ended = format!("{} exit {}", run.reason, run.exit_code);
        let finding = finding
            .with(evidence::field(format!("{path}.restartCount"), container.restart_count.to_string()))
            .with(evidence::field_at(format!("{path}.lastState.terminated"), ended, run.finished_at))
            .with_all(restarts::rhythm(self.case, container).map(|rhythm| evidence::field("runs", rhythm)));
        Verdict::Yes(Box::new(finding.goes_on().until(self.until())))
    }
}
