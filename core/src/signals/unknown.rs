//! The signal `unknown`.

use super::scheduling::report;
use super::termination::end::{crash, disruption, is_by_rule, is_recent, is_unrecorded};
use super::{Matched, PodSignal, Source, lasting, signal, warning};
use crate::api::{ContainerType, Evidence};
use crate::case::ownership::{JobState, job_state};
use crate::case::{Case, evidence};
use crate::facts::{Condition, Container, EventFacts, Phase, State, Terminated, Timestamp};
use crate::message::text;

/// Reasons of waiting containers that are normal.
const BENIGN: [&str; 4] = ["", "ContainerCreating", "PodInitializing", "RestartingAllContainers"];

/// The part of a pod that fails.
#[derive(Debug)]
pub(super) enum What<'a> {
    /// A container terminates repeatedly, and its status does not show how.
    Unrecorded(&'a Container),
    Ended(&'a Container, &'a Terminated),
    Waits(&'a Container),
    PodFailed,
    /// The condition PodScheduled, if the scheduler has set it.
    Unscheduled(Option<&'a Condition>),
}

signal! {
    /// A pod that fails, whatever the reason.
    /// Source: status.phase, status.reason, status.conditions, containerStatuses[].state.
    pub(super) struct Unknown<'a> as "unknown" { case: &'a Case<'a>, what: What<'a> }
    reason: |of| of.waits().map_or("", |(reason, _)| reason), message: of.waits().map_or("", |(_, message)| message);

    /// What fails: `unrecorded` for a container that ends again and again and whose status does not hold how, `ended` for
    /// one that ended with an error, `waiting` for one that waits with an error, `failed` for the pod as a whole,
    /// `unscheduled` for a pod without a node. Source: status.phase, status.conditions, containerStatuses[].state.
    "what": fn what(&self) -> &'static str {
        match self.what {
            What::Unrecorded(_) => "unrecorded",
            What::Ended(..) => "ended",
            What::Waits(_) => "waiting",
            What::PodFailed => "failed",
            What::Unscheduled(_) => "unscheduled",
        }
    }

    /// Exit code and reason of the end: `1 Error`. Source: containerStatuses[].state.terminated.
    "exit": fn exit(&self) -> Option<String> {
        match self.what {
            What::Ended(_, run) => Some(format!("{} {}", run.exit_code, run.reason).trim_end().to_owned()),
            _ => None,
        }
    }

    /// The reason with which the container waits. Source: containerStatuses[].state.waiting.reason.
    "waitingReason": fn waiting_reason(&self) -> &str { self.waits().map_or("", |(reason, _)| reason) }

    /// Its message. Source: containerStatuses[].state.waiting.message.
    "waitingMessage": fn waiting_message(&self) -> &str { self.waits().map_or("", |(_, message)| message) }

    /// Whether the container has been restarted. Source: containerStatuses[].restartCount.
    "isRestarted": fn is_restarted(&self) -> bool { self.failed_container().is_some_and(|container| container.restart_count > 0) }

    /// Reason and message of the failed pod, else those of its condition DisruptionTarget; empty if there are none.
    /// Source: status.reason and status.message; status.conditions[DisruptionTarget].
    "podReason": fn pod_reason(&self) -> String {
        let pod = self.case.pod;
        let (reason, message) = match (pod.reason.as_str(), disruption(self.case)) {
            ("", Some(by)) => (by.reason.as_str(), by.message.as_str()),
            ("", None) => ("", ""),
            (reason, _) => (reason, pod.message.as_str()),
        };
        format!("{reason} {message}").trim().to_owned()
    }

    /// Message of the scheduler; empty if it gives none. Source: status.conditions[PodScheduled].message.
    "schedulerMessage": fn scheduler_message(&self) -> &str {
        match self.what {
            What::Unscheduled(Some(condition)) => condition.message.trim(),
            _ => "",
        }
    }

    /// Reason and error of the newest Warning Event of the pod, whatever its reason; empty if there is none. Source: Events.
    "warning": fn warning(&self) -> String { warning::newest_text(self.case.events, self.case.pod.created) }
}

pub(crate) const SOURCE: Source =
    Source { definition: &Unknown::DEFINITION, read: |case| read(case).into_iter().collect() };

impl<'a> PodSignal<'a> for Unknown<'a> {
    fn container(&self) -> Option<&'a Container> {
        self.failed_container()
    }

    fn due(&self, _: &Matched) -> Result<(), Timestamp> {
        let case = self.case;
        match self.what {
            What::Unscheduled(condition) => {
                let since = condition.map_or(case.pod.created, |condition| condition.last_transition);
                lasting::has_been(case, case.held_since(since), case.thresholds.unschedulable)
            }
            _ => Ok(()),
        }
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let (case, pod) = (self.case, self.case.pod);
        let mut all = Vec::new();
        if pod.phase == Phase::Failed {
            all.push(evidence::field("status.phase", "Failed"));
        }
        if !pod.reason.is_empty() || !pod.message.is_empty() {
            all.push(evidence::field("status.reason", format!("{} {}", pod.reason, pod.message)));
        }
        for c in &pod.containers {
            if let Some((reason, message)) = c.waiting().filter(|(reason, _)| !reason.is_empty()) {
                all.push(evidence::field(format!("{}.state.waiting", c.status_path()), format!("{reason} {message}")));
            }
            if let Some(end) = c.last_end() {
                let value = format!("exit code {} {} {}", end.exit_code, end.reason, end.message);
                all.push(evidence::field_at(c.last_end_path(), value, end.finished_at));
            }
        }
        all.extend(pod.conditions.iter().filter(|c| c.status != "True").map(evidence::condition));
        all.extend(case.events.iter().filter(|e| e.warning).rev().take(4).map(evidence::event));
        all
    }
}

impl<'a> Unknown<'a> {
    fn failed_container(&self) -> Option<&'a Container> {
        match self.what {
            What::Unrecorded(container) | What::Ended(container, _) | What::Waits(container) => Some(container),
            What::PodFailed | What::Unscheduled(_) => None,
        }
    }

    fn waits(&self) -> Option<(&'a str, &'a str)> {
        match self.what {
            What::Waits(container) => container.waiting(),
            _ => None,
        }
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<Box<dyn PodSignal<'a> + 'a>> {
    let pod = case.pod;
    if pod.deletion.is_some() || pod.phase == Phase::Succeeded {
        return None;
    }
    let mut containers = pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral);
    let what = containers.find_map(|container| failing(case, container)).or_else(|| {
        if pod.phase == Phase::Failed {
            return (job_state(case) != JobState::Complete).then_some(What::PodFailed);
        }
        let Some(scheduled) = pod.condition("PodScheduled") else {
            let is_reported = report::waits(case) && warning::newest(case.events, pod.created).is_some();
            return is_reported.then_some(What::Unscheduled(None));
        };
        let fails = scheduled.status == "False" && scheduled.reason != "SchedulingGated";
        fails.then_some(What::Unscheduled(Some(scheduled)))
    })?;
    Some(Box::new(Unknown { case, what }))
}

fn failing<'a>(case: &Case<'a>, container: &'a Container) -> Option<What<'a>> {
    let is_put_off =
        || case.container_events(container, "BackOff").any(|event| is_recent(case, event) && is_restart(event));
    if is_unrecorded(case, container) && (container.waiting().is_some() || is_put_off()) {
        return Some(What::Unrecorded(container));
    }
    let by_rule = |end: &Terminated| is_by_rule(case, container, end);
    match &container.state {
        State::Terminated(_) => {
            let run = crash(case, container).filter(|run| run.exit_code != 143)?;
            Some(What::Ended(container, run))
        }
        State::Waiting { reason, .. } if reason == "CrashLoopBackOff" && container.last_end().is_some_and(by_rule) => {
            None
        }
        State::Waiting { reason, .. } if !BENIGN.contains(&reason.as_str()) => Some(What::Waits(container)),
        _ => None,
    }
}

/// Whether the Event is `Back-off restarting failed container`. A failed image pull has the same reason.
fn is_restart(event: &EventFacts) -> bool {
    text::has(&event.message, &["restarting failed container"])
}
