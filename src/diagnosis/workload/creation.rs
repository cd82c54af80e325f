//! Why pods (or the ReplicaSet or Job that would make them) cannot be made: told apart by what the API server answered.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::case::WorkloadCase;
use super::remedies;
use super::tell::Own;
use crate::api::{Confidence, Evidence, Remedy, Root};
use crate::diagnosis::language::say;
use crate::diagnosis::{Category, Explain, Known, evidence, text};
use crate::facts::{EventFacts, Timestamp, after};

/// The quota is full.
pub(super) const QUOTA_EXCEEDED: &str = "QuotaExceeded";

/// A refusal that is younger than this, in seconds, may pass by itself: an account or a quota that is made a moment later,
/// a webhook that restarts.
const PATIENCE: i64 = 15;
/// A refusal that was told longer ago than this says nothing of the present. Controllers try again after 17 min at most.
const STALE: i64 = 1800;

/// One cause, and the answer that it is recognised by.
struct Row {
    cause: &'static str,
    /// Alternatives; each is a list of parts that the answer must hold together. In lower case; empty: any answer.
    words: &'static [&'static [&'static str]],
    /// What its summary takes from the answer, by the places `{0}`, `{1}`; without a match, the whole answer is told.
    takes: &'static str,
    says: &'static str,
    /// Kind of the object that it lies in, by the name that stands first in the answer.
    root: Option<&'static str>,
    remedies: fn(&WorkloadCase<'_>, &[String]) -> Vec<Remedy>,
    explain: Explain,
}

/// Asked in order; the first that recognises the answer is the cause.
const ROWS: [Row; 14] = [
    Row {
        cause: "WebhookUnavailable",
        words: &[&["failed calling webhook"], &["failed to call webhook"]],
        takes: r#"failed calling webhook "([^"]+)": (.*)"#,
        says: "admission webhook {0} does not answer: {1}",
        root: Some("Webhook"),
        remedies: remedies::webhook_unavailable,
        explain: Explain {
            meaning: "The API server must ask an admission webhook before it makes a pod, and the webhook does not answer.",
            told_apart: "\"failed calling webhook\": nobody judged the pod. A webhook that says no is WebhookDenied.",
            action: "Bring the webhook's own pods and Service back. All pods that it is asked about are held up.",
            source: "k8s.io/apiserver pkg/admission/plugin/webhook (ErrCallingWebhook)",
        },
    },
    Row {
        cause: "WebhookDenied",
        words: &[&["admission webhook", "denied the request"]],
        takes: r#"admission webhook "([^"]+)" denied the request:? ?(.*)"#,
        says: "admission webhook {0} refuses the pods: {1}",
        root: Some("Webhook"),
        remedies: remedies::denied,
        explain: Explain {
            meaning: "A policy's admission webhook refuses the pods of the workload.",
            told_apart: "\"denied the request\", with the policy's own words. One that does not answer is WebhookUnavailable.",
            action: "Change the template as the policy asks, or have the policy changed.",
            source: "k8s.io/apiserver pkg/admission/plugin/webhook/errors ToStatusErr",
        },
    },
    Row {
        cause: "AdmissionPolicyDenied",
        words: &[&["validatingadmissionpolicy", "denied request"]],
        takes: r"ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)",
        says: "admission policy {0} refuses the pods: {1}",
        root: Some("ValidatingAdmissionPolicy"),
        remedies: remedies::denied,
        explain: Explain {
            meaning: "A ValidatingAdmissionPolicy of the cluster refuses the pods of the workload.",
            told_apart: "The answer names the policy and its binding; a webhook's refusal is WebhookDenied.",
            action: "Change the template as the policy asks, or have the policy or its binding changed.",
            source: "k8s.io/apiserver pkg/admission/plugin/policy/validating dispatcher.go",
        },
    },
    Row {
        cause: "QuotaMustSpecify",
        words: &[&["failed quota:", "must specify"]],
        takes: r"failed quota: ([^:]+): must specify (.*)",
        says: "quota {0} asks each pod to state {1}",
        root: Some("ResourceQuota"),
        remedies: remedies::must_specify,
        explain: Explain {
            meaning: "The namespace's quota counts requests or limits that the pods do not state.",
            told_apart: "\"must specify\": nothing is used up. A quota that is full is QuotaExceeded.",
            action: "State the requests and limits in the template, or give the namespace a LimitRange with defaults.",
            source: "k8s.io/apiserver pkg/admission/plugin/resourcequota controller.go",
        },
    },
    Row {
        cause: QUOTA_EXCEEDED,
        words: &[&["exceeded quota:"]],
        takes: r"exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*)",
        says: "quota {0} has no room: each asks for {1}, used are {2} of {3}",
        root: Some("ResourceQuota"),
        remedies: remedies::quota,
        explain: Explain {
            meaning: "The quota of the namespace has no room for another pod of this workload.",
            told_apart: "The answer names the quota, what was asked for, what is used and the limit.",
            action: "Raise the quota, lower the requests, or remove what is not needed in the namespace.",
            source: "k8s.io/apiserver pkg/admission/plugin/resourcequota controller.go",
        },
    },
    Row {
        cause: "LimitRangeViolation",
        words: &[
            &["maximum ", " usage per ", " is "],
            &["minimum ", " usage per ", " is "],
            &["limit to request ratio per ", " is "],
        ],
        takes: r"((?:maximum|minimum) .* usage per .*|.* max limit to request ratio per .*)",
        says: "the namespace's LimitRange refuses the pods: {0}",
        root: None,
        remedies: remedies::limit_range,
        explain: Explain {
            meaning: "The LimitRange of the namespace does not allow the requests or limits of the pods.",
            told_apart: "\"maximum ... usage per Container is\": bounds for a single pod, unlike QuotaExceeded for all together.",
            action: "Bring requests and limits within the bounds, or have the LimitRange changed.",
            source: "kubernetes plugin/pkg/admission/limitranger admission.go",
        },
    },
    Row {
        cause: "PodSecurityForbidden",
        words: &[&["violates podsecurity"]],
        takes: r#"violates PodSecurity "([^":]+)[^"]*": (.*)"#,
        says: "the namespace enforces Pod Security level {0}: {1}",
        root: None,
        remedies: remedies::pod_security,
        explain: Explain {
            meaning: "The namespace enforces a Pod Security level that the pods of the workload do not meet.",
            told_apart: "\"violates PodSecurity\", with the level and each field that offends it.",
            action: "Set the securityContext that the level asks for, or run the workload in a namespace that may have such pods.",
            source: "k8s.io/pod-security-admission admission",
        },
    },
    Row {
        cause: "ServiceAccountNotFound",
        words: &[&["error looking up service account", "not found"]],
        takes: r"error looking up service account [^/]*/([^:\s]+)",
        says: "its ServiceAccount {0} does not exist",
        root: Some("ServiceAccount"),
        remedies: remedies::service_account,
        explain: Explain {
            meaning: "The ServiceAccount that the pods are to run as does not exist in the namespace.",
            told_apart: "\"error looking up service account\". In the first moments of a namespace it passes by itself.",
            action: "Create the ServiceAccount, or correct serviceAccountName in the template.",
            source: "kubernetes plugin/pkg/admission/serviceaccount admission.go",
        },
    },
    Row {
        cause: "PriorityClassNotFound",
        words: &[&["no priorityclass with name", "was found"]],
        takes: r"no PriorityClass with name (\S+) was found",
        says: "its PriorityClass {0} does not exist",
        root: Some("PriorityClass"),
        remedies: remedies::priority_class,
        explain: Explain {
            meaning: "The pods name a PriorityClass that the cluster does not have.",
            told_apart: "\"no PriorityClass with name\".",
            action: "Create the PriorityClass, or correct priorityClassName in the template.",
            source: "kubernetes plugin/pkg/admission/priority admission.go",
        },
    },
    Row {
        cause: "RuntimeClassNotFound",
        words: &[&["pod rejected: runtimeclass", "not found"]],
        takes: r#"RuntimeClass "([^"]+)" not found"#,
        says: "its RuntimeClass {0} does not exist",
        root: Some("RuntimeClass"),
        remedies: remedies::runtime_class,
        explain: Explain {
            meaning: "The pods name a RuntimeClass that the cluster does not have.",
            told_apart: "No pod is made. A class whose handler a node lacks is RuntimeHandlerMissing, of a pod that exists.",
            action: "Create the RuntimeClass, or correct runtimeClassName in the template.",
            source: "kubernetes plugin/pkg/admission/runtimeclass admission.go",
        },
    },
    Row {
        cause: "PodSpecInvalid",
        words: &[&["pod \"", "is invalid:"]],
        takes: r#"Pod "[^"]*" is invalid: (.*)"#,
        says: "its template makes an invalid pod: {0}",
        root: None,
        remedies: remedies::spec_invalid,
        explain: Explain {
            meaning: "The pod that the template makes is not valid, though the template is: defaults of the namespace or a webhook changed it.",
            told_apart: "\"Pod ... is invalid\", with the field. Typical: a LimitRange's default limit below the request.",
            action: "Correct the field in the template.",
            source: "kubernetes pkg/apis/core/validation; pkg/registry/core/pod/strategy.go",
        },
    },
    Row {
        cause: "ReplicaSetCreateError",
        words: &[&["failed to create new replica set"]],
        takes: r#"Failed to create new replica set "[^"]*": (.*)"#,
        says: "its ReplicaSet cannot be made: {0}",
        root: None,
        remedies: remedies::by_message,
        explain: Explain {
            meaning: "The Deployment's controller cannot make the ReplicaSet of the new template.",
            told_apart: "The Progressing condition says so. A refusal that the answer names (a quota, a webhook) is told as such.",
            action: "Remove what the API server's answer names.",
            source: "kubernetes pkg/controller/deployment/sync.go getNewReplicaSet",
        },
    },
    Row {
        cause: "CronJobCreateFailed",
        words: &[&["error creating job"]],
        takes: r"Error creating job: (.*)",
        says: "its Job cannot be made: {0}",
        root: None,
        remedies: remedies::by_message,
        explain: Explain {
            meaning: "The CronJob's controller cannot make the Job of a run.",
            told_apart: "Event FailedCreate of the CronJob. A refusal that the answer names (a quota, a webhook) is told as such.",
            action: "Remove what the API server's answer names.",
            source: "kubernetes pkg/controller/cronjob cronjob_controllerv2.go",
        },
    },
    Row {
        cause: "PodCreateFailed",
        words: &[],
        takes: r#"^(?:.*?(?:Error creating: |failed error: ))?(?:pods "[^"]*" is forbidden: )?(.*)"#,
        says: "the API server refuses its pods: {0}",
        root: None,
        remedies: remedies::by_message,
        explain: Explain {
            meaning: "The controller of the workload cannot make its pods, for a reason that is none of the known ones.",
            told_apart: "FailedCreate with an answer that no other cause of this kind recognises; it is told as it was given.",
            action: "Remove what the API server's answer names.",
            source: "kubernetes pkg/controller/controller_utils.go CreatePods",
        },
    },
];

pub(super) fn known() -> impl Iterator<Item = Known> {
    ROWS.iter().map(|row| Known { cause: row.cause, category: Category::Lifecycle, explain: row.explain })
}

/// What the summaries take from answers, each compiled once.
static TAKES: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| ROWS.iter().map(|row| Regex::new(row.takes).ok()).collect());

/// Whether it lies in what this template says: that another's is refused by the same policy, or asks the same object for
/// something that it does not hold, is another matter.
pub fn lies_in_template(cause: &str) -> bool {
    const OF_A_POLICY: [&str; 2] = ["WebhookDenied", "AdmissionPolicyDenied"];
    const OF_A_KEY: [&str; 3] = ["ConfigMapKeyMissing", "SecretKeyMissing", "VolumeKeyMissing"];
    OF_A_POLICY.contains(&cause) || OF_A_KEY.contains(&cause)
}

/// What of a cause is told once for all that share its root. Who lacks memory is not helped by who gets CPU of the same quota.
pub fn told_as(cause: &str, evidence: &[Evidence]) -> String {
    let lacking = |said: &str| {
        let asked = said.split_once("requested: ")?.1.split_once(", used:")?.0;
        let names: Vec<_> = asked.split(',').filter_map(|amount| amount.split('=').next()).collect();
        Some(names.join(","))
    };
    let lacking = evidence.iter().filter(|_| cause == QUOTA_EXCEEDED).find_map(|said| lacking(&said.value));
    lacking.map_or_else(|| cause.to_owned(), |lacking| format!("{cause} of {lacking}"))
}

/// Whether something keeps pods from being made.
#[derive(Debug)]
pub(super) enum Creation {
    Well,
    /// It may pass by itself until then.
    NotBefore(Timestamp),
    Refused(Box<Own>),
}

/// Looks at what the workload's conditions and Events say. `of_event` tells whether an Event is still about something that
/// is missing.
pub(super) fn look(case: &WorkloadCase<'_>, of_event: impl Fn(&EventFacts) -> bool) -> Creation {
    let Some((said, since, evidence)) = in_conditions(case).or_else(|| in_events(case, of_event)) else {
        return Creation::Well;
    };
    let counts = after(since, PATIENCE);
    if case.thresholds.patient && case.now < counts {
        return Creation::NotBefore(counts);
    }
    Creation::Refused(Box::new(recognise(case, said, evidence)))
}

/// What a Deployment says of its ReplicaSets, and a ReplicaSet of its pods.
fn in_conditions<'a>(case: &WorkloadCase<'a>) -> Option<(&'a str, Timestamp, Evidence)> {
    const REASONS: [&str; 2] = ["FailedCreate", "ReplicaSetCreateError"];
    let says = |kind, status| {
        let condition = case.workload.condition(kind)?;
        (condition.status == status && REASONS.contains(&condition.reason.as_str())).then_some(condition)
    };
    let condition = says("ReplicaFailure", "True").or_else(|| says("Progressing", "False"))?;
    // Each try has another pod's name in its message: the time of the condition outlasts them.
    let since = condition.last_transition.unwrap_or(case.since).min(case.now);
    Some((&condition.message, since, evidence::condition(condition)))
}

fn in_events<'a>(
    case: &WorkloadCase<'a>,
    of_event: impl Fn(&EventFacts) -> bool,
) -> Option<(&'a str, Timestamp, Evidence)> {
    let last = |event: &EventFacts| event.last.or(event.first).unwrap_or(case.now);
    let fresh = |event: &&EventFacts| case.now.as_second() - last(event).as_second() < STALE;
    let mut refusals =
        case.events.iter().filter(|event| &*event.reason == "FailedCreate" && of_event(event)).filter(fresh);
    // Runs that are refused one after the other are one refusal, which the first of them began.
    let began = refusals.clone().map(|event| event.first.unwrap_or_else(|| last(event))).min()?;
    let event = refusals.next_back()?;
    // An Event from before the present state is told of the state only when it has had the time to pass.
    let began = began.max(case.since).min(case.now);
    Some((&event.message, began, evidence::event(event)))
}

fn recognise(case: &WorkloadCase<'_>, said: &str, evidence: Evidence) -> Own {
    let lower = said.to_ascii_lowercase();
    let holds =
        |row: &Row| row.words.is_empty() || row.words.iter().any(|all| all.iter().all(|part| lower.contains(part)));
    // The last row takes whatever is said.
    let place = ROWS.iter().position(holds).unwrap_or(ROWS.len() - 1);
    let row = &ROWS[place];
    let words = TAKES.get(place).and_then(Option::as_ref).and_then(|pattern| pattern.captures(said));
    let taken: Vec<String> =
        words.iter().flat_map(|found| found.iter().skip(1).flatten()).map(|m| m.as_str().trim().to_owned()).collect();
    let summary = if taken.is_empty() {
        say!(case, "its pods are refused: {said}", said)
    } else {
        let told: Vec<String> = taken.iter().map(|words| fitting(words)).collect();
        fill(case.language().of(row.says), &told)
    };
    let root =
        row.root.zip(taken.first()).map(|(kind, name)| Root { kind: kind.to_owned(), name: text::line(name, 253) });
    Own {
        cause: row.cause,
        confidence: Confidence::Certain,
        summary,
        remedies: (row.remedies)(case, &taken).into_iter().chain(remedies::try_at_once(case)).collect(),
        evidence: vec![evidence],
        root,
    }
}

/// The words of an answer that are to stand in a summary: where they are too many, without the details in parentheses.
fn fitting(words: &str) -> String {
    const FITS: usize = 150;
    if words.len() <= FITS { words.to_owned() } else { remedies::without_details(words) }
}

fn fill(says: &str, taken: &[String]) -> String {
    let mut out = says.to_owned();
    for (place, words) in taken.iter().enumerate().rev() {
        out = out.replace(&format!("{{{place}}}"), words);
    }
    out
}
