//! The signal `sidecar`.

use super::{Matched, PodSignal, Source, init_container, post_start, signal};
use crate::api::{ContainerType, Evidence};
use crate::case::{Case, evidence, injected};
use crate::facts::{Container, Phase, RestartPolicy, State, Terminated, Timestamp, after};

/// Seconds that a helper may need to flush its data after the work is done.
const FLUSH: i64 = 60;

/// Parts of the names of helpers that never terminate by themselves.
const HELPERS: [&str; 16] = [
    "istio-proxy",
    "linkerd-proxy",
    "envoy",
    "kuma-sidecar",
    "consul-dataplane",
    "daprd",
    "vault-agent",
    "cloud-sql-proxy",
    "cloudsql-proxy",
    "cloudsql",
    "fluent",
    "filebeat",
    "promtail",
    "otel",
    "datadog",
    "sidecar",
];

/// What a sidecar blocks.
#[derive(Debug)]
pub(super) enum Blocks<'a> {
    /// The completion of a Job's pod: this container completed its work at this time.
    Completion { work: &'a Container, done_at: Timestamp, are_helpers: bool },
    /// The start of the containers after it.
    Start,
}

signal! {
    /// A helper container that prevents its pod from completing or from starting.
    /// Source: containerStatuses[].state; spec.initContainers[].restartPolicy.
    pub(super) struct Sidecar<'a> as "sidecar" { case: &'a Case<'a>, container: &'a Container, blocks: Blocks<'a> }
    reason: |of| of.container.waiting().map_or("", |(reason, _)| reason), message: "";

    /// What it prevents: `completion` of a Job's pod whose work is done, or `start` of the containers after a
    /// native sidecar. Source: containerStatuses[].state.
    "blocks": fn blocks(&self) -> &'static str {
        match self.blocks {
            Blocks::Completion { .. } => "completion",
            Blocks::Start => "start",
        }
    }

    /// The container that has done its work with exit code 0; empty if none has. Source: containerStatuses[].state.terminated.
    "work": fn work(&self) -> &str {
        match self.blocks {
            Blocks::Completion { work, .. } => &work.name,
            Blocks::Start => "",
        }
    }

    /// For how many seconds the work has been done. Source: containerStatuses[].state.terminated.finishedAt.
    "doneForSeconds": fn done_for_seconds(&self) -> Option<i64> {
        match self.blocks {
            Blocks::Completion { done_at, .. } => Some(self.case.age(done_at)),
            Blocks::Start => None,
        }
    }

    /// Whether all containers that still run are known to serve others and never to end by themselves, such as istio-proxy.
    /// Source: spec.containers[].name.
    "isKnownHelper": fn is_known_helper(&self) -> bool { matches!(self.blocks, Blocks::Completion { are_helpers: true, .. }) }

    /// Whether an admission webhook added the container, so that it is in no template. Source: spec.containers[].name.
    "isInjected": fn is_injected(&self) -> bool { injected::injector(self.case, self.container).is_some() }

    /// Its place among the init containers, from 1. Source: spec.initContainers.
    "position": fn position(&self) -> i64 { init_container::position(self.case, self.container) }

    /// How many init containers the pod has. Source: spec.initContainers.
    "count": fn count(&self) -> i64 { init_container::count(self.case) }

    /// The containers that wait for it. Source: spec.containers[].name.
    "waitingContainers": fn waiting_containers(&self) -> Vec<String> { init_container::waiting(self.case) }

    /// Whether an Event shows that the container was started, so that only its postStart hook can be left.
    /// Source: Event Started.
    "isStarted": fn is_started(&self) -> bool { post_start::started(self.case, self.container).is_some() }
}

pub(crate) const SOURCE: Source = Source { definition: &Sidecar::DEFINITION, read };

impl<'a> PodSignal<'a> for Sidecar<'a> {
    fn container(&self) -> Option<&'a Container> {
        Some(self.container)
    }

    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        let usual = cause.threshold;
        let due = match self.blocks {
            Blocks::Completion { done_at, are_helpers, .. } => {
                let seconds = match are_helpers {
                    // Containers of a Job may work for different times.
                    false => usual,
                    // A snapshot may hold no time after the work, and a known helper never terminates by itself.
                    true if !case.thresholds.patient => 0,
                    true => FLUSH,
                };
                after(case.held_since(Some(done_at)), case.thresholds.of(cause.name, seconds))
            }
            Blocks::Start => {
                let ended = before(case, self.container).filter_map(|c| c.last_end()?.finished_at).max();
                after(case.held_since(ended.or(case.pod.start_time)), case.grace(cause.name, usual))
            }
        };
        if case.now < due { Err(due) } else { Ok(()) }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let (case, container) = (self.case, self.container);
        match self.blocks {
            Blocks::Completion { work, done_at, .. } => vec![
                evidence::field_at(
                    format!("{}.state.terminated", work.status_path()),
                    "Completed exit 0",
                    Some(done_at),
                ),
                evidence::field(format!("{}.state", container.status_path()), "running"),
                evidence::field("spec.restartPolicy", format!("{:?}", case.pod.restart_policy)),
            ],
            Blocks::Start => {
                let known = [
                    evidence::field(format!("{}.started", container.status_path()), "false"),
                    evidence::field(format!("{}.lifecycle.postStart", container.spec_path()), "is set"),
                ];
                let started = post_start::started(case, container).map(evidence::event);
                let initialized = case.pod.condition("Initialized").map(evidence::condition);
                known.into_iter().chain(started).chain(initialized).collect()
            }
        }
    }
}

fn read<'a>(case: &'a Case<'a>) -> Vec<Box<dyn PodSignal<'a> + 'a>> {
    let starts = case.pod.of_type(ContainerType::Sidecar).filter(|c| holds_up_start(case, c));
    let starts = starts.map(|container| Sidecar { case, container, blocks: Blocks::Start });
    completion(case).into_iter().chain(starts).map(|sidecar| Box::new(sidecar) as _).collect()
}

fn completion<'a>(case: &'a Case<'a>) -> Option<Sidecar<'a>> {
    let pod = case.pod;
    if pod.phase != Phase::Running || pod.deletion.is_some() || !pod.is_of_job() {
        return None;
    }
    if pod.restart_policy == RestartPolicy::Always {
        return None;
    }
    let (work, done_at) = pod.of_type(ContainerType::App).filter_map(done).max_by_key(|(_, at)| *at)?;
    let mut running = pod.of_type(ContainerType::App).filter(|c| c.is_running());
    let container = running.next()?;
    // A failed or waiting container is covered by other signals.
    if pod.of_type(ContainerType::App).any(|c| !c.is_running() && done(c).is_none()) {
        return None;
    }
    let are_helpers = is_helper(container) && running.all(is_helper);
    Some(Sidecar { case, container, blocks: Blocks::Completion { work, done_at, are_helpers } })
}

/// A container that has completed its work, and the time of its completion.
fn done(container: &Container) -> Option<(&Container, Timestamp)> {
    match &container.state {
        State::Terminated(Terminated { exit_code: 0, finished_at: Some(at), .. }) => Some((container, *at)),
        _ => None,
    }
}

fn is_helper(container: &Container) -> bool {
    HELPERS.iter().any(|helper| container.name.contains(helper)) || injected::by_name(&container.name).is_some()
}

fn holds_up_start(case: &Case<'_>, container: &Container) -> bool {
    let pod = case.pod;
    let initializes = container.waiting().is_some_and(|(reason, _)| reason == "PodInitializing");
    pod.phase == Phase::Pending
        && pod.deletion.is_none()
        && initializes
        && post_start::is_holding(case, container)
        && before(case, container).all(is_behind_it)
}

/// The containers before a sidecar.
fn before<'a>(case: &Case<'a>, container: &'a Container) -> impl Iterator<Item = &'a Container> {
    case.pod.containers.iter().take_while(|c| c.name != container.name)
}

/// Whether an init container has completed, or a sidecar has started, so that later containers can start.
fn is_behind_it(container: &Container) -> bool {
    match container.kind {
        ContainerType::Sidecar => container.started == Some(true),
        _ => matches!(&container.state, State::Terminated(end) if end.exit_code == 0),
    }
}
