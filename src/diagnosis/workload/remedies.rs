//! What to do about a workload.

use std::fmt::Display;

use super::case::{FailingPod, StrayService, WorkloadCase};
use super::known;
use crate::api::Remedy;
use crate::diagnosis::{remedy, target, text, undo};
use crate::facts::{ReplicaSetFacts, WorkloadFacts, parse_cpu};

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
        return remedy::fix(format!("{text} A Job's template is fixed: delete the Job and create it anew."));
    }
    remedy::command(remedy::fix(text), format!("{} edit {}", kubectl(case), argument(case)))
}

/// Back to this template; where `is_proven`, its pods were good.
pub(super) fn undo(case: &WorkloadCase<'_>, good: &ReplicaSetFacts, is_proven: bool) -> Remedy {
    undo_to(case, good.revision, good.ready > 0, is_proven)
}

pub(super) fn undo_to(case: &WorkloadCase<'_>, revision: i64, serves: bool, is_proven: bool) -> Remedy {
    let text = way_back(revision, serves, is_proven);
    remedy::command(remedy::mitigate(text), undo::command(case.workload, revision))
}

fn way_back(revision: impl Display, serves: bool, is_proven: bool) -> String {
    let back = match is_proven {
        true if serves => format!("Go back to revision {revision}, which still serves"),
        true => format!("Go back to revision {revision}"),
        false => format!("If revision {revision} worked, go back to it"),
    };
    format!("{back}; correct the template before the next rollout.")
}

pub(super) fn no_progress(case: &WorkloadCase<'_>) -> Vec<Remedy> {
    vec![
        remedy::command(
            remedy::fix("See what the new pods are waiting for: they may only take long to be ready."),
            describe(case),
        ),
        edit(case, "If they need that long, raise progressDeadlineSeconds, or give the readiness probe less delay."),
    ]
}

/// An update of a StatefulSet waits for a pod that fails.
pub(super) fn undo_and_replace(case: &WorkloadCase<'_>, revision: &str, is_proven: bool, pod: &FailingPod) -> Remedy {
    let pod = &pod.name;
    let back = if is_proven { "Go back to revision" } else { "If it worked, go back to revision" };
    let text =
        format!("{back} {revision}, then delete {pod}: the StatefulSet does not replace a broken pod by itself.");
    let undo = undo::command_by_name(case.workload, revision);
    remedy::command(remedy::mitigate(text), format!("{undo} && {} delete pod {pod}", kubectl(case)))
}

/// Where pods are made all at once, a broken one is replaced without help.
pub(super) fn undo_by_name(case: &WorkloadCase<'_>, revision: &str) -> Remedy {
    remedy::command(remedy::mitigate(way_back(revision, true, true)), undo::command_by_name(case.workload, revision))
}

/// A pod that is not Ready keeps its old template.
pub(super) fn replace(case: &WorkloadCase<'_>, pod: &FailingPod) -> Remedy {
    let text = format!(
        "If you correct the template, then delete {}: while it is not Ready, the StatefulSet does not give it the new one.",
        pod.name
    );
    remedy::command(remedy::fix(text), format!("{} delete pod {}", kubectl(case), pod.name))
}

fn name(taken: &[String], place: usize) -> String {
    text::line(taken.get(place).map_or("", String::as_str), text::EVIDENCE_MAX)
}

pub(super) fn webhook_unavailable(_: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    let mut out = Vec::new();
    if let Some((service, namespace)) = taken.get(1).and_then(|said| service_in(said)) {
        out.push(remedy::command(
            remedy::fix(format!(
                "Bring Service {service} in namespace {namespace} and its pods back: all that the webhook is asked about waits for it. The controllers then try again by themselves."
            )),
            format!("kubectl -n {namespace} get service,endpointslices,pods"),
        ));
    }
    out.push(remedy::command(
        remedy::mitigate(format!(
            "If webhook {} may be done without, remove its configuration, or set failurePolicy: Ignore in it.",
            name(taken, 0)
        )),
        "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
    ));
    out
}

/// `policy` and `policy-system` of `Post "https://policy.policy-system.svc:443/validate"`.
fn service_in(said: &str) -> Option<(&str, &str)> {
    let host = said.split_once("https://")?.1.split(['/', ':', '?', '"']).next()?;
    let (service, rest) = host.strip_suffix(".svc")?.split_once('.')?;
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_name(service) && is_name(rest)).then_some((service, rest))
}

pub(super) fn denied(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    vec![edit(case, format!("Change the template of {} as policy {} asks.", display(case), name(taken, 0)))]
}

pub(super) fn quota(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    let quota = name(taken, 0);
    let see = remedy::command(
        remedy::mitigate("See what uses the quota up, and remove or scale down what is not needed."),
        format!("{} describe resourcequota {}", kubectl(case), target::shell_word(&quota)),
    );
    let raise = remedy::command(
        remedy::fix(format!(
            "Raise quota {quota}: {} are asked for, {} are used of {}.",
            name(taken, 1),
            name(taken, 2),
            name(taken, 3)
        )),
        format!("{} edit resourcequota {}", kubectl(case), target::shell_word(&quota)),
    );
    // A quota for a number of objects is not met by asking for less of anything else.
    let counts_objects = taken.get(1).is_some_and(|asked| asked.starts_with("count/") || asked.starts_with("pods="));
    let lower = (!counts_objects).then(|| edit(case, format!("Or lower what the pods of {} ask for.", display(case))));
    // Where one pod asks for more than all together may have, nothing that is removed makes room.
    let see = (!exceeds_alone(taken)).then_some(see);
    see.into_iter().chain(Some(raise)).chain(lower).collect()
}

/// Whether more is asked for at once (`requests.cpu=2,pods=1`) than the limit is.
fn exceeds_alone(taken: &[String]) -> bool {
    let amounts = |place: usize| {
        let pairs = taken.get(place).map_or("", String::as_str).split(',').filter_map(|pair| pair.split_once('='));
        pairs.filter_map(|(resource, amount)| Some((resource.trim(), parse_cpu(amount.trim())?))).collect::<Vec<_>>()
    };
    let limits = amounts(3);
    amounts(1).iter().any(|(resource, asked)| limits.iter().any(|(of, limit)| of == resource && asked > limit))
}

pub(super) fn must_specify(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    vec![
        edit(case, format!("State {} in the template of {}.", name(taken, 1), display(case))),
        remedy::fix("Or give the namespace a LimitRange with default requests and limits."),
    ]
}

pub(super) fn limit_range(case: &WorkloadCase<'_>, _: &[String]) -> Vec<Remedy> {
    vec![
        edit(case, format!("Bring the requests and limits of {} within the bounds of the LimitRange.", display(case))),
        remedy::command(
            remedy::fix("Or have the LimitRange changed."),
            format!("{} describe limitranges", kubectl(case)),
        ),
    ]
}

pub(super) fn pod_security(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    vec![
        edit(
            case,
            format!(
                "Set the securityContext in the template of {} that level {} asks for.",
                display(case),
                name(taken, 0)
            ),
        ),
        remedy::command(
            remedy::fix(
                "If it must have these rights, run it in a namespace that allows them (label pod-security.kubernetes.io/enforce).",
            ),
            format!("kubectl get namespace {} --show-labels", case.workload.key.namespace),
        ),
    ]
}

pub(super) fn service_account(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    let account = name(taken, 0);
    vec![
        remedy::command(
            remedy::fix(format!("Create ServiceAccount {account} with the rights that it needs.")),
            format!("{} create serviceaccount {}", kubectl(case), target::shell_word(&account)),
        ),
        edit(case, format!("Or correct serviceAccountName in the template of {}.", display(case))),
    ]
}

pub(super) fn priority_class(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    class(case, "PriorityClass", "priorityClassName", taken)
}

pub(super) fn runtime_class(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    class(case, "RuntimeClass", "runtimeClassName", taken)
}

fn class(case: &WorkloadCase<'_>, kind: &str, field: &str, taken: &[String]) -> Vec<Remedy> {
    let there = format!("kubectl get {}", kind.to_ascii_lowercase());
    vec![
        edit(case, format!("Correct {field} in the template of {}.", display(case))),
        remedy::command(remedy::fix(format!("Or create {kind} {}; see which there are.", name(taken, 0))), there),
    ]
}

pub(super) fn spec_invalid(case: &WorkloadCase<'_>, _: &[String]) -> Vec<Remedy> {
    vec![
        edit(case, format!("Correct the field in the template of {}.", display(case))),
        remedy::command(
            remedy::fix("If the template does not have that value, a LimitRange or a webhook puts it in."),
            format!("{} describe limitranges", kubectl(case)),
        ),
    ]
}

pub(super) fn by_message(case: &WorkloadCase<'_>, _: &[String]) -> Vec<Remedy> {
    vec![remedy::command(remedy::fix("Remove what the API server's answer names."), describe(case))]
}

/// A Job that has failed stays so.
pub(super) fn run_again(case: &WorkloadCase<'_>) -> Remedy {
    let text = "Then delete the Job and create it anew: a Job that has failed does not start again.";
    remedy::command(remedy::fix(text), format!("{} delete {}", kubectl(case), argument(case)))
}

pub(super) fn job(case: &WorkloadCase<'_>, cause: &str) -> Vec<Remedy> {
    let first = match cause {
        known::JOB_DEADLINE_EXCEEDED => "Find out why it took so long, or raise activeDeadlineSeconds.",
        known::JOB_POD_FAILURE_POLICY => "Mend what ends with that exit code, or change the rule of podFailurePolicy.",
        known::JOB_MAX_FAILED_INDEXES | known::JOB_FAILED_INDEXES => {
            "See which indexes failed (status.failedIndexes), and mend what they fail of."
        }
        _ => "Its pods are gone with their logs: run it again with restartPolicy: Never, which keeps them.",
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
        remedy::fix("Run it now, if the next run is too late."),
        format!("{} create job --from={} {short}-by-hand", kubectl(case), argument(case)),
    )
}

pub(super) fn schedule(case: &WorkloadCase<'_>, reason: &str) -> Vec<Remedy> {
    let field = if reason == "UnknownTimeZone" { "timeZone" } else { "schedule" };
    let by_hand = Remedy { text: "Run it now, if a run is due.".to_owned(), ..run_now(case) };
    vec![edit(case, format!("Correct spec.{field} of {}.", display(case))), by_hand]
}

pub(super) fn held_up(case: &WorkloadCase<'_>, running: Option<&WorkloadFacts>) -> Vec<Remedy> {
    let mut out = Vec::new();
    if let Some(run) = running {
        out.push(remedy::command(
            remedy::mitigate("See what the run waits for, and end it if it does nothing: the next one starts on time."),
            format!("{} delete job {}", kubectl(case), run.key.name),
        ));
    }
    out.push(edit(case, "Give its Job an activeDeadlineSeconds, so that no run holds up the others."));
    out
}

pub(super) fn missed(case: &WorkloadCase<'_>) -> Vec<Remedy> {
    vec![
        run_now(case),
        edit(case, "If the controller needs longer than startingDeadlineSeconds to get to it, raise that."),
    ]
}

/// A Service asks for a label that the pods do not have.
pub(super) fn stray(case: &WorkloadCase<'_>, stray: &StrayService) -> Vec<Remedy> {
    let mut out = Vec::new();
    let edit_service = format!("{} edit service {}", kubectl(case), stray.service);
    match &stray.has {
        Some(has) => {
            let patch = serde_json::json!({"spec": {"selector": {stray.key.as_str(): has}}}).to_string();
            out.push(remedy::command(
                remedy::fix(format!("Let Service {} select what the pods of {} have.", stray.service, display(case))),
                format!("{} patch service {} -p {}", kubectl(case), stray.service, target::shell_word(&patch)),
            ));
        }
        None => out.push(remedy::command(
            remedy::fix(format!("Remove that label from the selector of Service {}.", stray.service)),
            edit_service,
        )),
    }
    // What a workload selects its pods by cannot be changed in its template.
    if case.workload.selector.get(&stray.key).is_none() {
        out.push(edit(case, format!("Or give the template of {} that label.", display(case))));
    }
    out
}
