//! What to do about a workload.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use super::case::{Apart, FailingPod, WorkloadCase};
use super::known;
use super::service::listed;
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, remedy, target, text, undo};
use crate::facts::{ReplicaSetFacts, WorkloadFacts};

/// `kubectl -n NAMESPACE`.
fn kubectl(case: &WorkloadCase<'_>) -> String {
    format!("kubectl -n {}", case.workload.key.namespace)
}

/// `deployment/web`.
fn argument(case: &WorkloadCase<'_>) -> String {
    format!("{}/{}", case.workload.key.kind.to_ascii_lowercase(), case.workload.key.name)
}

/// `Deployment web`.
fn display(case: &WorkloadCase<'_>) -> String {
    format!("{} {}", case.workload.key.kind, case.workload.key.name)
}

fn describe(case: &WorkloadCase<'_>) -> String {
    format!("{} describe {}", kubectl(case), argument(case))
}

fn edit(case: &WorkloadCase<'_>, text: impl Into<String>) -> Remedy {
    if &*case.workload.key.kind == "Job" {
        let text: String = text.into();
        return remedy::fix(say!(case, "{text} A Job's template is fixed: delete the Job and create it anew.", text));
    }
    remedy::command(remedy::fix(text), format!("{} edit {}", kubectl(case), argument(case)))
}

/// Back to this template; where `is_proven`, its pods were good.
pub(super) fn undo(case: &WorkloadCase<'_>, good: &ReplicaSetFacts, is_proven: bool) -> Remedy {
    undo_to(case, good.revision, good.ready > 0, is_proven)
}

pub(super) fn undo_to(case: &WorkloadCase<'_>, revision: i64, serves: bool, is_proven: bool) -> Remedy {
    let text = way_back(case.language(), revision, serves, is_proven);
    remedy::command(remedy::mitigate(text), undo::command(case.workload, revision))
}

fn way_back(language: Language, revision: impl Display, serves: bool, is_proven: bool) -> String {
    let back = match is_proven {
        true if serves => say!(language, "Go back to revision {revision}, which still serves", revision),
        true => say!(language, "Go back to revision {revision}", revision),
        false => say!(language, "If revision {revision} worked, go back to it", revision),
    };
    say!(language, "{back}; correct the template before the next rollout.", back)
}

pub(super) fn no_progress(case: &WorkloadCase<'_>) -> Vec<Remedy> {
    vec![
        remedy::command(
            remedy::fix(phrase!(case, "See what the new pods are waiting for: they may only take long to be ready.")),
            describe(case),
        ),
        edit(
            case,
            phrase!(
                case,
                "If they need that long, raise progressDeadlineSeconds, or give the readiness probe less delay."
            ),
        ),
    ]
}

/// New pods are held back on purpose.
pub(super) fn gated(case: &WorkloadCase<'_>) -> Vec<Remedy> {
    let gates = case.gates.join(", ");
    vec![remedy::command(
        remedy::fix(say!(
            case,
            "Look at what takes {gates} off: the controller that puts it there (a queue such as Kueue, a webhook) holds the pods back, or is down.",
            gates
        )),
        format!(
            "{} get pods -o 'custom-columns=NAME:.metadata.name,GATES:.spec.schedulingGates[*].name'",
            kubectl(case)
        ),
    )]
}

/// An update of a StatefulSet waits for a pod that fails.
pub(super) fn undo_and_replace(case: &WorkloadCase<'_>, revision: &str, is_proven: bool, pod: &FailingPod) -> Remedy {
    let pod = &pod.name;
    let text = if is_proven {
        say!(
            case,
            "Go back to revision {revision}, then delete {pod}: the StatefulSet does not replace a broken pod by itself.",
            revision,
            pod
        )
    } else {
        say!(
            case,
            "If it worked, go back to revision {revision}, then delete {pod}: the StatefulSet does not replace a broken pod by itself.",
            revision,
            pod
        )
    };
    let undo = undo::command_by_name(case.workload, revision);
    remedy::command(remedy::mitigate(text), format!("{undo} && {} delete pod {pod}", kubectl(case)))
}

/// Where pods are made all at once, a broken one is replaced without help.
pub(super) fn undo_by_name(case: &WorkloadCase<'_>, revision: &str) -> Remedy {
    remedy::command(
        remedy::mitigate(way_back(case.language(), revision, true, true)),
        undo::command_by_name(case.workload, revision),
    )
}

/// A pod that is not Ready keeps its old template.
pub(super) fn replace(case: &WorkloadCase<'_>, pod: &FailingPod) -> Remedy {
    let text = say!(
        case,
        "If you correct the template, then delete {pod}: while it is not Ready, the StatefulSet does not give it the new one.",
        pod = pod.name
    );
    remedy::command(remedy::fix(text), format!("{} delete pod {}", kubectl(case), pod.name))
}

/// A Job that has failed stays so.
pub(super) fn run_again(case: &WorkloadCase<'_>) -> Remedy {
    let text = phrase!(case, "Then delete the Job and create it anew: a Job that has failed does not start again.");
    remedy::command(remedy::fix(text), format!("{} delete {}", kubectl(case), argument(case)))
}

pub(super) fn job(case: &WorkloadCase<'_>, cause: &str) -> Vec<Remedy> {
    let first = match cause {
        known::JOB_DEADLINE_EXCEEDED => phrase!(case, "Find out why it took so long, or raise activeDeadlineSeconds."),
        known::JOB_POD_FAILURE_POLICY => {
            phrase!(case, "Mend what ends with that exit code, or change the rule of podFailurePolicy.")
        }
        known::JOB_MAX_FAILED_INDEXES | known::JOB_FAILED_INDEXES => {
            phrase!(case, "See which indexes failed (status.failedIndexes), and mend what they fail of.")
        }
        _ => phrase!(
            case,
            "Its pods are gone with their logs: run it again with restartPolicy: Never, which keeps them."
        ),
    };
    let first = remedy::command(remedy::fix(first), describe(case));
    if &*case.workload.key.kind == "CronJob" { vec![first] } else { vec![first, run_again(case)] }
}

/// A run of a CronJob out of turn.
pub(super) fn run_now(case: &WorkloadCase<'_>) -> Remedy {
    let name = &case.workload.key.name;
    let short = text::cut(name, 40);
    let short = short.trim_end_matches('…');
    remedy::command(
        remedy::fix(phrase!(case, "Run it now, if the next run is too late.")),
        format!("{} create job --from={} {short}-by-hand", kubectl(case), argument(case)),
    )
}

pub(super) fn schedule(case: &WorkloadCase<'_>, reason: &str) -> Vec<Remedy> {
    let field = if reason == "UnknownTimeZone" { "timeZone" } else { "schedule" };
    let by_hand = Remedy { text: phrase!(case, "Run it now, if a run is due.").to_owned(), ..run_now(case) };
    vec![edit(case, say!(case, "Correct spec.{field} of {workload}.", field, workload = display(case))), by_hand]
}

pub(super) fn held_up(case: &WorkloadCase<'_>, running: Option<&WorkloadFacts>) -> Vec<Remedy> {
    let mut out = Vec::new();
    if let Some(run) = running {
        out.push(remedy::command(
            remedy::mitigate(phrase!(
                case,
                "See what the run waits for, and end it if it does nothing: the next one starts on time."
            )),
            format!("{} delete job {}", kubectl(case), run.key.name),
        ));
    }
    out.push(edit(case, phrase!(case, "Give its Job an activeDeadlineSeconds, so that no run holds up the others.")));
    out
}

pub(super) fn missed(case: &WorkloadCase<'_>) -> Vec<Remedy> {
    vec![
        run_now(case),
        edit(
            case,
            phrase!(case, "If the controller needs longer than startingDeadlineSeconds to get to it, raise that."),
        ),
    ]
}

/// A Service asks for a label that the pods do not have.
/// What to do about a Service that does not reach its workload.
pub(super) fn stray(case: &WorkloadCase<'_>, service: &str, apart: &Apart) -> Vec<Remedy> {
    match apart {
        Apart::Label { key, has, .. } => label_apart(case, service, key, has.as_deref()),
        Apart::Ports { wants, has, .. } => ports_apart(case, service, wants, has),
    }
}

fn label_apart(case: &WorkloadCase<'_>, service: &str, key: &str, has: Option<&str>) -> Vec<Remedy> {
    let mut out = Vec::new();
    match has {
        Some(has) => {
            let patch = serde_json::json!({"spec": {"selector": {key: has}}}).to_string();
            out.push(remedy::command(
                remedy::fix(say!(
                    case,
                    "Let Service {service} select what the pods of {workload} have.",
                    service,
                    workload = display(case)
                )),
                format!("{} patch service {service} -p {}", kubectl(case), target::shell_word(&patch)),
            ));
        }
        None => out.push(remedy::command(
            remedy::fix(say!(case, "Remove that label from the selector of Service {service}.", service)),
            edit_service(case, service),
        )),
    }
    // What a workload selects its pods by cannot be changed in its template.
    if case.workload.selector.get(key).is_none() {
        out.push(edit(case, say!(case, "Or give the template of {workload} that label.", workload = display(case))));
    }
    out
}

fn ports_apart(
    case: &WorkloadCase<'_>,
    service: &str,
    wants: &BTreeSet<Arc<str>>,
    has: &BTreeSet<Arc<str>>,
) -> Vec<Remedy> {
    let text = if has.is_empty() {
        say!(case, "Let targetPort of Service {service} be the number of the port that the pods listen on.", service)
    } else {
        say!(
            case,
            "Let targetPort of Service {service} be a name that the pods have ({has}), or the number of the port.",
            service,
            has = listed(has)
        )
    };
    vec![
        remedy::command(remedy::fix(text), edit_service(case, service)),
        edit(
            case,
            say!(
                case,
                "Or name the port {wants} in the template of {workload} (containers[].ports[].name).",
                wants = listed(wants),
                workload = display(case)
            ),
        ),
    ]
}

fn edit_service(case: &WorkloadCase<'_>, service: &str) -> String {
    format!("{} edit service {service}", kubectl(case))
}
