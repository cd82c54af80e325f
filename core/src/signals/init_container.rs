//! The signal `initContainer`.

use std::cell::OnceCell;

use super::termination::exit_code::ended_with;
use super::termination::{command, end, end_evidence, log_line};
use super::waits_for::{self, WaitsFor};
use super::{Matched, PodSignal, Source, lasting, restarts, signal};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, Finding, Verdict, evidence};
use crate::facts::{Container, State, Terminated, Timestamp};

/// How an init container delays or fails its pod.
#[derive(Debug)]
pub(super) enum Course<'a> {
    Runs(Option<Timestamp>),
    Failed(&'a Terminated),
    /// Events that explain the termination may still arrive. Holds the time of the next check.
    Unsettled(Timestamp),
}

signal! {
    /// An init container that runs, or that ended with an error; the containers after it wait.
    /// Source: initContainerStatuses[].state.
    pub(super) struct InitContainer<'a> as "initContainer" {
        case: &'a Case<'a>,
        container: &'a Container,
        course: Course<'a>,
        waits_for: OnceCell<Option<WaitsFor>>,
    }
    reason: |of| of.run().map_or("", |run| &run.reason), message: "";

    /// Whether it runs. Source: initContainerStatuses[].state.running.
    "isRunning": fn is_running(&self) -> bool { matches!(self.course, Course::Runs(_)) }

    /// Its place among the init containers, from 1. Source: spec.initContainers.
    "position": fn position(&self) -> i64 { position(self.case, self.container) }

    /// How many init containers the pod has. Source: spec.initContainers.
    "count": fn count(&self) -> i64 { count(self.case) }

    /// The containers that wait for it. Source: spec.containers[].name.
    "waitingContainers": fn waiting_containers(&self) -> Vec<String> { waiting(self.case) }

    /// Whether the pod has ended, so that these never start. Source: status.phase.
    "podIsOver": fn pod_is_over(&self) -> bool { self.case.pod.is_over() }

    /// What its command waits for, with the tool: `db:5432 (nc)`; empty if the command names nothing.
    /// Source: spec.initContainers[].command.
    "waitsFor": fn waits_for(&self) -> Option<String> { Some(self.target_of_wait()?.to_string()) }

    /// What its command waits for: `db:5432`. Source: spec.initContainers[].command.
    "target": fn target(&self) -> &str { self.target_of_wait().map_or("", |target| &target.what) }

    /// Name of the Service that this must be; empty if it is none. Source: spec.initContainers[].command.
    "service": fn service(&self) -> &str { self.of_service().map_or("", |(_, name)| name) }

    /// Namespace of that Service. Source: spec.initContainers[].command.
    "serviceNamespace": fn service_namespace(&self) -> &str { self.of_service().map_or("", |(namespace, _)| namespace) }

    /// File that its command waits for; empty if it waits for none. Source: spec.initContainers[].command.
    "file": fn file(&self) -> String { waits_for::file(self.container).unwrap_or_default() }

    /// Component of the NVIDIA GPU operator that it waits for: `driver`, `container toolkit`, `CUDA validation` or
    /// `device plugin`; empty for other containers. Source: spec.initContainers[].command and name.
    "gpuComponent": fn gpu_component(&self) -> &'static str { waits_for::gpu_component(self.container).unwrap_or_default() }

    /// Exit code and its meaning: `code 1 (general error)`. Source: state.terminated.exitCode.
    "exit": fn exit(&self) -> Option<String> { Some(ended_with(self.case.language(), self.run()?)) }

    /// When its runs end, such as `3 s after each start`; empty if that is not known.
    /// Source: state.terminated.startedAt and finishedAt.
    "rhythm": fn rhythm(&self) -> Option<String> { restarts::rhythm(self.case, self.container) }

    /// `: "..."`, the line of its log or termination message that explains the end; empty if there is none.
    /// Source: state.terminated.message.
    "quotedLine": fn quoted_line(&self) -> String {
        self.run().map_or_else(String::new, |run| log_line::quoted(self.case, self.container, run, 95))
    }
}

pub(crate) const SOURCE: Source = Source { definition: &InitContainer::DEFINITION, read };

impl<'a> PodSignal<'a> for InitContainer<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        match self.course {
            Course::Runs(since) => {
                let seconds = case.grace(cause.name, cause.threshold);
                lasting::has_been(case, case.held_since(since), seconds)
            }
            Course::Failed(_) => Ok(()),
            Course::Unsettled(at) => Err(at),
        }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let (case, container) = (self.case, self.container);
        let mut all = Vec::new();
        if let Course::Runs(since) = self.course {
            let path = format!("{}.state.running.startedAt", container.status_path());
            let at = since.map_or_else(|| "unknown".to_owned(), |at| at.to_string());
            all.push(evidence::field_at(path, at, since));
            let shown = command::shown(container);
            all.extend(shown.map(|line| evidence::field(format!("{}.command", container.spec_path()), line)));
        }
        if let Some(run) = self.run() {
            all.extend(end_evidence(container, run, Finding::of_pod("")).evidence);
            all.extend(log_line::line_evidence(case, container, run));
        }
        all.extend(case.pod.condition("Initialized").map(evidence::condition));
        all
    }

    fn complete(&self, _: &Matched, finding: Finding) -> Verdict {
        if self.is_running() { Verdict::Yes(Box::new(finding)) } else { end::judged(self.case, finding) }
    }
}

impl<'a> InitContainer<'a> {
    fn run(&self) -> Option<&'a Terminated> {
        match self.course {
            Course::Failed(run) => Some(run),
            Course::Runs(_) | Course::Unsettled(_) => None,
        }
    }

    fn target_of_wait(&self) -> Option<&WaitsFor> {
        self.waits_for.get_or_init(|| waits_for::read(self.container)).as_ref()
    }

    fn of_service(&self) -> Option<(&str, &str)> {
        self.target_of_wait()?.service(&self.case.pod.key.namespace)
    }
}

fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let of = |container: &'a Container, course| InitContainer { case, container, course, waits_for: OnceCell::new() };
    let inits = || case.pod.of_type(ContainerType::Init);
    let running = inits().filter_map(|container| match container.state {
        State::Running { started_at } if case.pod.deletion.is_none() && !case.pod.is_over() => {
            Some(of(container, Course::Runs(started_at)))
        }
        _ => None,
    });
    // A container that failed and runs again yields both.
    let failed = inits().filter_map(|container| match end::settled_crash(case, container) {
        Ok(Some(run)) => Some(of(container, Course::Failed(run))),
        Err(Verdict::NotBefore(at)) => Some(of(container, Course::Unsettled(at))),
        Ok(None) | Err(_) => None,
    });
    running.chain(failed).map(|signal| Box::new(signal) as _).collect()
}

/// Init containers and native sidecars, in the order in which kubectl counts them.
fn numbered<'a>(case: &'a Case<'_>) -> impl Iterator<Item = &'a Container> {
    case.pod.containers.iter().filter(|c| matches!(c.kind, ContainerType::Init | ContainerType::Sidecar))
}

/// The position of a container among the init containers, from 1.
pub(super) fn position(case: &Case<'_>, container: &Container) -> i64 {
    let before = numbered(case).take_while(|c| c.name != container.name).count();
    i64::try_from(before).map_or(i64::MAX, |n| n + 1)
}

pub(super) fn count(case: &Case<'_>) -> i64 {
    i64::try_from(numbered(case).count()).unwrap_or(i64::MAX)
}

/// The app containers of the pod.
pub(super) fn waiting(case: &Case<'_>) -> Vec<String> {
    case.pod.of_type(ContainerType::App).map(|c| c.name.to_string()).collect()
}
