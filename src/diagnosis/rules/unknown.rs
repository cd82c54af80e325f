//! The honest answer where something fails and no rule knows why.

use crate::api::{Confidence, ContainerType, Evidence};
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::ownership::{JobState, job_state};
use crate::diagnosis::rule::{Category, Explain, Recovery, Rule, Scope, Specificity, Verdict};
use crate::diagnosis::signals::termination::blamed;
use crate::diagnosis::signals::termination::end::{crash, disruption, is_of_late, is_unrecorded};
use crate::diagnosis::signals::termination::exit_code::log_remedy;
use crate::diagnosis::{Case, Finding, evidence, remedy, restarts, text};
use crate::facts::{Container, EventFacts, Phase, State, after};

pub(super) const RULES: &[Rule] = &[Rule {
    cause: "Unknown",
    category: Category::Lifecycle,
    recovery: Recovery::NeverStarted,
    specificity: Specificity::LastResort,
    scope: Scope::Pod(check),
    remedies: |case, finding| {
        let crashed = blamed(case, finding).filter(|c| c.restart_count > 0);
        let log = crashed.map(|container| log_remedy(case, container));
        let look = [remedy::command(
            remedy::fix(phrase!(
                case,
                "Read the Events and the status of the pod; the evidence lists what no rule could place."
            )),
            format!("kubectl -n {} describe pod {}", case.pod.key.namespace, case.pod.key.name),
        )];
        log.into_iter().chain(look).collect()
    },
    explain: Explain {
        meaning: "The pod fails in a way that no rule recognises.",
        told_apart: "Every other rule was asked first and none matched, nor does one wait for a threshold. All evidence is listed; nothing is guessed.",
        action: "Read the evidence, and report the pod (`kubectl get pod NAME -o yaml`) so that a rule can be added.",
        source: "status.phase, containerStatuses and conditions as pkg/kubelet/status writes them",
    },
}];

/// Reasons of a waiting container that are the normal course of things.
const BENIGN: [&str; 4] = ["", "ContainerCreating", "PodInitializing", "RestartingAllContainers"];

fn check(case: &Case<'_>) -> Verdict {
    let pod = case.pod;
    if pod.deletion.is_some() || pod.phase == Phase::Succeeded {
        return Verdict::No;
    }
    let failing =
        pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral).find_map(|c| Some((c, wrong(case, c)?)));
    if let Some((container, what)) = failing {
        return Some(unknown(case, Finding::of_container(container, format!("{} {what}", container.name)))).into();
    }
    if pod.phase == Phase::Failed && job_state(case) == JobState::Complete {
        return Verdict::No;
    }
    if pod.phase == Phase::Failed {
        let why = match (pod.reason.as_str(), disruption(case)) {
            ("", Some(by)) => format!("{} {}", by.reason, by.message),
            ("", None) => phrase!(case, "no reason is given").to_owned(),
            (reason, _) => format!("{reason} {}", pod.message),
        };
        return Some(unknown(case, Finding::of_pod(say!(case, "the pod has failed: {why}", why = why.trim())))).into();
    }
    let scheduled = pod.condition("PodScheduled");
    if let Some(condition) = scheduled.filter(|c| c.status == "False" && c.reason != "SchedulingGated") {
        let due = after(case.held_since(condition.last_transition), case.thresholds.unschedulable);
        if case.now < due {
            return Verdict::NotBefore(due);
        }
        return Some(unknown(case, Finding::of_pod(unscheduled(case.language(), &condition.message)))).into();
    }
    Verdict::No
}

fn unscheduled(language: Language, message: &str) -> String {
    if message.trim().is_empty() {
        phrase!(language, "cannot be scheduled, and the scheduler does not say why").to_owned()
    } else {
        say!(language, "cannot be scheduled: {message}", message)
    }
}

fn wrong(case: &Case<'_>, container: &Container) -> Option<String> {
    let is_put_off =
        || case.container_events(container, "BackOff").any(|event| is_of_late(case, event) && is_restart(event));
    if is_unrecorded(case, container) && (container.waiting().is_some() || is_put_off()) {
        return Some(say!(
            case,
            "ends again and again, and how is not recorded{tail}",
            tail = restarts::tail(case, container)
        ));
    }
    match &container.state {
        State::Terminated(_) => {
            let end = crash(case, container).filter(|end| !matches!(end.exit_code, 143))?;
            Some(
                say!(case, "ended with code {code} {reason}", code = end.exit_code, reason = end.reason)
                    .trim_end()
                    .to_owned(),
            )
        }
        State::Waiting { reason, message } if !BENIGN.contains(&reason.as_str()) => {
            let says = if message.is_empty() { String::new() } else { format!(": {message}") };
            Some(say!(case, "waits with {reason}{says}", reason, says))
        }
        _ => None,
    }
}

/// `Back-off restarting failed container`; the same reason tells of an image that is not pulled.
fn is_restart(event: &EventFacts) -> bool {
    text::has(&event.message, &["restarting failed container"])
}

fn unknown(case: &Case<'_>, finding: Finding) -> Finding {
    let mut all: Vec<Evidence> = Vec::new();
    let pod = case.pod;
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
    let summary = text::line(&finding.summary, text::SUMMARY_MAX);
    Finding { summary, ..finding }.confidence(Confidence::Possible).with_all(all)
}
