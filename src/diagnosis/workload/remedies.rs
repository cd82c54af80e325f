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

fn name(taken: &[String], place: usize) -> String {
    text::line(taken.get(place).map_or("", String::as_str), text::EVIDENCE_MAX)
}

pub(super) fn webhook_unavailable(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    let mut out = Vec::new();
    if let Some((service, namespace)) = taken.get(1).and_then(|said| service_in(said)) {
        out.push(remedy::command(
            remedy::fix(say!(case, "Bring Service {service} in namespace {namespace} and its pods back: all that the webhook is asked about waits for it. The controllers then try again by themselves.", service, namespace)),
            format!("kubectl -n {namespace} get service,endpointslices,pods"),
        ));
    }
    out.push(remedy::command(
        remedy::mitigate(say!(
            case,
            "If webhook {webhook} may be done without, remove its configuration, or set failurePolicy: Ignore in it.",
            webhook = name(taken, 0)
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
    vec![edit(
        case,
        say!(
            case,
            "Change the template of {workload} as policy {policy} asks.",
            workload = display(case),
            policy = name(taken, 0)
        ),
    )]
}

pub(super) fn quota(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    let quota = name(taken, 0);
    let see = remedy::command(
        remedy::mitigate(phrase!(case, "See what uses the quota up, and remove or scale down what is not needed.")),
        format!("{} describe resourcequota {}", kubectl(case), target::shell_word(&quota)),
    );
    let raise = remedy::command(
        remedy::fix(say!(
            case,
            "Raise quota {quota}: {asked} are asked for, {used} are used of {limit}.",
            quota,
            asked = name(taken, 1),
            used = name(taken, 2),
            limit = name(taken, 3)
        )),
        format!("{} edit resourcequota {}", kubectl(case), target::shell_word(&quota)),
    );
    // A quota for a number of objects is not met by asking for less of anything else.
    let is_count = |asked: &str| asked.trim().starts_with("count/") || asked.trim().starts_with("pods=");
    let counts_objects = taken.get(1).is_some_and(|asked| asked.split(',').all(is_count));
    // Where one pod asks for more than all together may have, nothing that is removed makes room.
    let never_fits = exceeds_alone(taken);
    let lower = (!counts_objects).then(|| {
        let workload = display(case);
        let text = if never_fits {
            say!(
                case,
                "Or lower what the pods of {workload} ask for: one of them asks for more than the quota has in all.",
                workload
            )
        } else {
            say!(case, "Or lower what the pods of {workload} ask for.", workload)
        };
        edit(case, text)
    });
    let see = (!never_fits).then_some(see);
    see.into_iter().chain(Some(raise)).chain(lower).collect()
}

/// A rollout makes new pods before old ones end, and both count.
pub(super) fn old_pods_first(case: &WorkloadCase<'_>) -> Remedy {
    let text = say!(
        case,
        "The quota has no room for old and new pods at once: let the rollout of {workload} end old ones first (maxSurge 0).",
        workload = display(case)
    );
    let patch = r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}"#;
    remedy::command(remedy::fix(text), format!("{} patch {} -p '{patch}'", kubectl(case), argument(case)))
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
        edit(
            case,
            say!(
                case,
                "State {fields} in the template of {workload}.",
                fields = name(taken, 1),
                workload = display(case)
            ),
        ),
        remedy::fix(phrase!(case, "Or give the namespace a LimitRange with default requests and limits.")),
    ]
}

pub(super) fn limit_range(case: &WorkloadCase<'_>, _: &[String]) -> Vec<Remedy> {
    vec![
        edit(
            case,
            say!(
                case,
                "Bring the requests and limits of {workload} within the bounds of the LimitRange.",
                workload = display(case)
            ),
        ),
        remedy::command(
            remedy::fix(phrase!(case, "Or have the LimitRange changed.")),
            format!("{} describe limitranges", kubectl(case)),
        ),
    ]
}

/// What the violations of level `restricted` that a setting mends ask for, as the policies of pod-security-admission name them.
const RESTRICTED: [(&str, &str); 4] = [
    ("allowPrivilegeEscalation != false", "allowPrivilegeEscalation: false"),
    ("unrestricted capabilities", "capabilities: {drop: [ALL]}"),
    ("runAsNonRoot != true", "runAsNonRoot: true"),
    ("seccompProfile", "seccompProfile: {type: RuntimeDefault}"),
];

/// The settings that mend all of these violations; `None` where one of them takes more than that.
fn settings(violations: &str) -> Option<String> {
    let setting = |violation: &str| RESTRICTED.iter().find(|(name, _)| *name == violation).map(|(_, setting)| *setting);
    let settings: Option<Vec<_>> = without_details(violations).split(", ").map(setting).collect();
    settings.map(|settings| settings.join(", "))
}

/// Violations of a Pod Security level by their names: what stands behind each in parentheses repeats the containers.
pub(super) fn without_details(violations: &str) -> String {
    let mut depth = 0_u32;
    let mut out = String::new();
    for c in violations.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.replace(" ,", ",").trim().to_owned()
}

pub(super) fn pod_security(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    let workload = display(case);
    vec![
        edit(
            case,
            match taken.get(1).and_then(|violations| settings(violations)) {
                Some(fields) => say!(
                    case,
                    "Set in the template of {workload}, in the securityContext of each container: {fields}.",
                    workload,
                    fields
                ),
                None => say!(
                    case,
                    "Set the securityContext in the template of {workload} that level {level} asks for.",
                    workload,
                    level = name(taken, 0)
                ),
            },
        ),
        remedy::command(
            remedy::fix(phrase!(
                case,
                "If it must have these rights, run it in a namespace that allows them (label pod-security.kubernetes.io/enforce)."
            )),
            format!("kubectl get namespace {} --show-labels", case.workload.key.namespace),
        ),
    ]
}

/// A controller whose pods are refused waits longer from try to try, for up to 1000 s (client-go's
/// `DefaultTypedControllerRateLimiter`): a change of the template makes it try at once, which costs nothing where no pod serves.
pub(super) fn try_at_once(case: &WorkloadCase<'_>) -> Option<Remedy> {
    let kind = &*case.workload.key.kind;
    let is_rolled_out = matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet");
    (is_rolled_out && case.workload.ready == 0).then(|| {
        remedy::command(
            remedy::mitigate(say!(
                case,
                "Once that is mended, {kind} {name} tries again by itself, after up to 17 min; this makes it try at once.",
                kind,
                name = case.workload.key.name
            )),
            format!("{} rollout restart {}", kubectl(case), argument(case)),
        )
    })
}

pub(super) fn service_account(case: &WorkloadCase<'_>, taken: &[String]) -> Vec<Remedy> {
    let account = name(taken, 0);
    vec![
        remedy::command(
            remedy::fix(say!(case, "Create ServiceAccount {account} with the rights that it needs.", account)),
            format!("{} create serviceaccount {}", kubectl(case), target::shell_word(&account)),
        ),
        edit(
            case,
            say!(case, "Or correct serviceAccountName in the template of {workload}.", workload = display(case)),
        ),
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
        edit(case, say!(case, "Correct {field} in the template of {workload}.", field, workload = display(case))),
        remedy::command(
            remedy::fix(say!(case, "Or create {kind} {name}; see which there are.", kind, name = name(taken, 0))),
            there,
        ),
    ]
}

pub(super) fn spec_invalid(case: &WorkloadCase<'_>, _: &[String]) -> Vec<Remedy> {
    vec![
        edit(case, say!(case, "Correct the field in the template of {workload}.", workload = display(case))),
        remedy::command(
            remedy::fix(phrase!(
                case,
                "If the template does not have that value, a LimitRange or a webhook puts it in."
            )),
            format!("{} describe limitranges", kubectl(case)),
        ),
    ]
}

pub(super) fn by_message(case: &WorkloadCase<'_>, _: &[String]) -> Vec<Remedy> {
    vec![remedy::command(remedy::fix(phrase!(case, "Remove what the API server's answer names.")), describe(case))]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_level_restricted_asks_for_is_named_where_settings_are_all_of_it() {
        let said = r#"allowPrivilegeEscalation != false (container "web" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "web" must set securityContext.capabilities.drop=["ALL"]), seccompProfile (pod or container "web" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#;
        assert_eq!(
            without_details(said),
            "allowPrivilegeEscalation != false, unrestricted capabilities, seccompProfile"
        );
        let fields =
            "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}";
        assert_eq!(settings(said).as_deref(), Some(fields));
        assert_eq!(settings(&format!("{said}, hostPort (container \"web\" uses hostPort 80)")), None);
    }

    #[test]
    fn a_pod_that_asks_for_more_than_its_quota_has_never_fits() {
        let taken = |asked: &str, limit: &str| ["q", asked, "pods=2", limit].map(ToOwned::to_owned);
        assert!(exceeds_alone(&taken("pods=1,requests.cpu=900m", "pods=2,requests.cpu=500m")));
        assert!(!exceeds_alone(&taken("pods=1", "pods=2")));
    }
}
