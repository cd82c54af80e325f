//! The signal `podCreation`.

pub(crate) mod bounds;
mod denial;
mod scc;

use super::signal;
use crate::case::WorkloadCase;
use crate::case::injected::{self, Injector};
use crate::facts::parse_cpu;
use crate::message::{self, Message};

signal! {
    /// Pods of a workload that its controller cannot create: the API server rejects them, or the ReplicaSet or Job that would
    /// create them. Source: conditions ReplicaFailure and Progressing of Deployments and ReplicaSets; Event `FailedCreate`.
    pub(crate) struct PodCreation<'a> as "podCreation" { case: &'a WorkloadCase<'a>, reason: &'a str, text: &'a str }
    reason: |of| of.reason, message: of.text;

    /// The API server's error without the words of the controller and the object's name.
    /// Source: pkg/controller/controller_utils.go CreatePods.
    "error": fn error(&self) -> String { short(without_prefix(self.text)) }

    /// Name of the admission webhook that failed or denied the request. Source: k8s.io/apiserver pkg/admission/plugin/webhook.
    "webhook": fn webhook(&self) -> &str {
        let named = |mark| message::between(self.text, mark, "\"");
        named("failed calling webhook \"").or_else(|| named("admission webhook \"")).unwrap_or_default()
    }

    /// Error of the call of the webhook. Source: k8s.io/apiserver pkg/util/webhook ErrCallingWebhook.
    "webhookError": fn webhook_error(&self) -> String { Message::parse(webhook_error(self.text)).summary(120, &[]) }

    /// What is wrong with the webhook: `expired` or `unknownAuthority` (its certificate), `wrongName` (its certificate is for
    /// another host), `noEndpoints`, `noService`, `refused`, `timeout`, `badResponse`, or `other`; empty if none was called.
    /// Source: the same error.
    "webhookFault": fn webhook_fault(&self) -> &'static str { fault(webhook_error(self.text)) }

    /// Host and port of the webhook. Source: Go's url.Error in the message.
    "webhookAddress": fn webhook_address(&self) -> &str { host(self.text).unwrap_or_default() }

    /// Service that the webhook is called through; empty if its configuration has a URL.
    /// Source: clientConfig.service of the webhook, in the message.
    "webhookService": fn webhook_service(&self) -> &str { service(self.text).unwrap_or_default().0 }

    /// Namespace of that Service.
    "webhookNamespace": fn webhook_namespace(&self) -> &str { service(self.text).unwrap_or_default().1 }

    /// Name of the ValidatingAdmissionPolicy that denied the request.
    /// Source: k8s.io/apiserver pkg/admission/plugin/policy/validating.
    "policy": fn policy(&self) -> &str { message::between(self.text, "ValidatingAdmissionPolicy '", "'").unwrap_or_default() }

    /// Message of the webhook or policy that denied the request, with the rule of the policy if it has one.
    "denial": fn denial(&self) -> String {
        let found = denial::parse(self.text);
        let rule = match found.rule {
            "" => String::new(),
            rule if found.text.contains(rule) => String::new(),
            rule => format!("{rule}: "),
        };
        short(&format!("{rule}{}", found.text))
    }

    /// The policy of Kyverno or the constraint of Gatekeeper that denied the request; empty if the message names none.
    "deniedBy": fn denied_by(&self) -> &str { denial::parse(self.text).policy }

    /// The policy engine of the webhook: `kyverno` or `gatekeeper`; empty for others. Source: name of the webhook.
    "policyEngine": fn policy_engine(&self) -> &'static str {
        match self.webhook() {
            name if name.contains("kyverno") => "kyverno",
            name if name.contains("gatekeeper") => "gatekeeper",
            _ => "",
        }
    }

    /// What the SecurityContextConstraints of OpenShift do not allow, those that the pods may use first.
    /// Source: openshift/apiserver-library-go sccadmission.
    "sccViolations": fn scc_violations(&self) -> String {
        let whole = scc::violations(self.text);
        let short = if whole.chars().count() > SCC_FITS { scc::short_violations(self.text) } else { String::new() };
        message::fit(if short.is_empty() { &whole } else { &short }, SCC_FITS)
    }

    /// The fields that they do not allow, each once, separated by commas. Source: the same message.
    "sccFields": fn scc_fields(&self) -> String { scc::fields(self.text) }

    /// The first of these fields. Source: the same message.
    "sccField": fn scc_field(&self) -> String {
        scc::fields(self.text).split(", ").next().unwrap_or_default().to_owned()
    }

    /// The SecurityContextConstraints among those that OpenShift installs that allow all these fields and the least beyond them:
    /// `privileged` if no others do; empty if the message names no field.
    /// Source: the same message; openshift/cluster-kube-apiserver-operator bindata/bootkube/scc-manifests.
    "sccSufficient": fn scc_sufficient(&self) -> &'static str { scc::sufficient(self.text) }

    /// ServiceAccount of the pods; empty if the template is not known. Source: spec.template.spec.serviceAccountName.
    "podServiceAccount": fn pod_service_account(&self) -> &str {
        self.case.workload.template.as_ref().map_or("", |template| &template.service_account)
    }

    /// Name of the ResourceQuota that rejected the request. Source: k8s.io/apiserver pkg/quota/v1 resource_access.
    "quota": fn quota(&self) -> &str {
        let after = |mark| self.text.split_once(mark).map(|(_, rest): (_, &str)| message::leading_name(rest));
        after("exceeded quota: ").or_else(|| after("failed quota: ")).unwrap_or_default()
    }

    /// Resources that the quota requires each pod to specify: `limits.memory for: web`.
    "mustSpecify": fn must_specify(&self) -> &str { self.text.split_once("must specify ").map_or("", |(_, rest)| rest.trim()) }

    /// The same, only for containers of the workload's own template: what its owner can set. Equal to `mustSpecify` if the
    /// template is not known; empty if all containers are injected. Source: message and spec.template.
    "mustSpecifyOwn": fn must_specify_own(&self) -> String { self.split_by_owner().0 }

    /// The containers that the quota names and that are not in the workload's template, separated by commas: a webhook, such as
    /// that of a service mesh, injects them. Source: message and spec.template.
    "mustSpecifyInjected": fn must_specify_injected(&self) -> String { self.split_by_owner().1 }

    /// The service mesh or agent that injects the first of these containers, such as `Istio`; empty if it is not known.
    /// Source: names of the containers.
    "injector": fn injector(&self) -> &'static str { self.injecting().map_or("", |of| of.name) }

    /// The pod annotations that set requests and limits of the injected containers, such as
    /// `sidecar.istio.io/proxyCPULimit`; empty if they are not known. Source: documentation of the mesh.
    "injectorSettings": fn injector_settings(&self) -> &'static str { self.injecting().map_or("", |of| of.resources) }

    /// Whether a request is above the limit of its container: most often the default limit of a LimitRange.
    /// Source: pkg/apis/core/validation.
    "isAboveLimit": fn is_above_limit(&self) -> bool { !bounds::above_limit(self.text).is_empty() }

    /// What the request asks of the quota: `pods=1,requests.cpu=500m`.
    "requested": fn requested(&self) -> &str {
        message::between(self.text, ", requested: ", ", used: ").unwrap_or_default()
    }

    /// What is used of it in the namespace.
    "used": fn used(&self) -> &str { message::between(self.text, ", used: ", ", limited: ").unwrap_or_default() }

    /// The limits of the quota.
    "limited": fn limited(&self) -> &str { self.text.split_once(", limited: ").map_or("", |(_, rest)| rest.trim()) }

    /// Whether only numbers of objects are exceeded: lower requests of the pods do not help.
    "countsObjects": fn counts_objects(&self) -> bool {
        let is_count = |asked: &str| asked.trim().starts_with("count/") || asked.trim().starts_with("pods=");
        self.requested().split(',').all(is_count)
    }

    /// Whether a single request exceeds the limit of the quota.
    "exceedsLimitAlone": fn exceeds_limit_alone(&self) -> bool { exceeds(self.requested(), self.limited()) }

    /// Whether a rollout creates the pods while old ones with the same requests still serve. Source: ReplicaSets of the Deployment.
    "onlyForSurge": fn only_for_surge(&self) -> bool { self.case.surges_alike() }

    /// Number of pods that exist, where fewer do than are desired and no rollout replaces them; not known otherwise.
    /// Source: status.replicas; ReplicaSets of the Deployment.
    "fittingPods": fn fitting_pods(&self) -> Option<i64> {
        let workload = self.case.workload;
        let rolls = workload.replica_sets.iter().skip(1).any(|set| set.desired > 0);
        (!rolls && (1..workload.desired).contains(&workload.current)).then_some(workload.current)
    }

    /// Pod Security level that the namespace enforces. Source: k8s.io/pod-security-admission admission.
    "podSecurityLevel": fn pod_security_level(&self) -> &str {
        let level = message::between(self.text, "violates PodSecurity \"", "\"").unwrap_or_default();
        level.split(':').next().unwrap_or_default()
    }

    /// The checks of that level which the pod fails. Source: k8s.io/pod-security-admission policy.
    "violations": fn violations(&self) -> String { short_violations(violations(self.text)) }

    /// Fields of the securityContext of each container that fix all violations; empty if other fields must change too.
    "securityContext": fn security_context(&self) -> String { settings(violations(self.text)).unwrap_or_default() }

    /// The same violations with all details.
    "allViolations": fn all_violations(&self) -> &str { violations(self.text) }

    /// The whole message, for actions that read amounts and containers in it.
    "message": fn message_text(&self) -> &str { self.text }

    /// ServiceAccount of the pods that does not exist. Source: plugin/pkg/admission/serviceaccount.
    "serviceAccount": fn service_account(&self) -> &str {
        let of = self.text.split_once("error looking up service account ").and_then(|(_, rest)| rest.split_once('/'));
        of.and_then(|(_, name)| name.split([':', ' ']).next()).unwrap_or_default()
    }

    /// PriorityClass of the pods that does not exist. Source: plugin/pkg/admission/priority.
    "priorityClass": fn priority_class(&self) -> &str {
        message::between(self.text, "no PriorityClass with name ", " was found").unwrap_or_default()
    }

    /// RuntimeClass of the pods that does not exist. Source: plugin/pkg/admission/runtimeclass.
    "runtimeClass": fn runtime_class(&self) -> &str {
        message::between(self.text, "RuntimeClass \"", "\" not found").unwrap_or_default()
    }
}

impl PodCreation<'_> {
    /// What the quota requires for the containers of the template, and the names of the other containers.
    fn split_by_owner(&self) -> (String, String) {
        let Some(template) = self.case.workload.template.as_ref().filter(|template| !template.containers.is_empty())
        else {
            return (self.must_specify().to_owned(), String::new());
        };
        let is_own = |name: &&str| template.containers.iter().any(|container| *container.name == **name);
        let (mut own, mut injected) = (Vec::new(), Vec::new());
        for part in self.must_specify().split("; ") {
            let Some((resource, names)) = bounds::with_names(part) else {
                own.push(part.to_owned());
                continue;
            };
            let (of_template, others): (Vec<&str>, Vec<&str>) = names.partition(is_own);
            if !of_template.is_empty() {
                own.push(format!("{resource} for: {}", of_template.join(",")));
            }
            for name in others {
                if !injected.contains(&name) {
                    injected.push(name);
                }
            }
        }
        (own.join("; "), injected.join(","))
    }

    /// The product that adds the first container of the quota's message that is not in the template.
    fn injecting(&self) -> Option<&'static Injector> {
        self.must_specify_injected().split(',').find_map(injected::by_mark)
    }

    /// The resources of the quota that the request exceeds: `pods,requests.cpu`.
    pub(crate) fn exceeded(&self) -> String {
        let resources = self.requested().split(',').filter_map(|amount| amount.split('=').next());
        resources.collect::<Vec<_>>().join(",")
    }
}

/// Characters of the violations of SecurityContextConstraints in a summary.
const SCC_FITS: usize = 135;

/// The message without the prefixes of the controller and the API server.
fn without_prefix(text: &str) -> &str {
    const OF_CONTROLLERS: [&str; 3] = ["Error creating: ", "failed error: ", "Error creating job: "];
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let new_replica_set = || after("Failed to create new replica set ")?.split_once(": ").map(|(_, rest)| rest);
    let error = OF_CONTROLLERS.into_iter().find_map(after).or_else(new_replica_set).unwrap_or(text);
    [("pods \"", "\" is forbidden: "), ("Pod \"", "\" is invalid: ")]
        .into_iter()
        .find_map(|(start, end)| Some(error.strip_prefix(start)?.split_once(end)?.1))
        .unwrap_or(error)
}

/// Shortens a text for a summary by dropping details in parentheses if it is too long.
fn short(text: &str) -> String {
    const FITS: usize = 150;
    let text = text.trim();
    if text.len() <= FITS { text.to_owned() } else { message::fit(&without_details(text), FITS) }
}

/// Shortens the violations of a Pod Security level: first the names of the fields, then the details in parentheses.
fn short_violations(text: &str) -> String {
    const FITS: usize = 130;
    let text = text.trim();
    if text.len() <= FITS {
        return text.to_owned();
    }
    let fields = text.replace("securityContext.", "");
    let containers = fields.replace("container ", "");
    let is_only_one = without_details(text).split(", ").count() == 1;
    match (fields.len() <= FITS, is_only_one) {
        (true, _) => fields,
        (false, true) => message::fit(&containers, FITS),
        (false, false) => message::fit(&without_details(&with_short_volumes(text)), FITS),
    }
}

/// The text with the volumes that violate a level in brackets, which survive: `[volume "src": "hostPath"]`.
fn with_short_volumes(text: &str) -> String {
    let mut out = String::new();
    for part in text.split_inclusive(')') {
        match part.rsplit_once("(volume") {
            Some((before, volumes)) => {
                let short = volumes
                    .replace(" uses restricted volume type ", ": ")
                    .replace(" use restricted volume types ", ": ");
                out.push_str(before);
                out.push_str("[volume");
                out.push_str(short.trim_end_matches(')'));
                out.push(']');
            }
            None => out.push_str(part),
        }
    }
    out
}

/// The text without its parentheses: each violation of a Pod Security level lists the containers there.
fn without_details(text: &str) -> String {
    let mut depth = 0_u32;
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.replace(" ,", ",").trim().to_owned()
}

/// The error of a webhook call: `service "policy" not found` of `failed to call webhook: Post "https://...": service
/// "policy" not found`.
fn webhook_error(text: &str) -> &str {
    let Some(error) = text.split_once("failed calling webhook ").and_then(|(_, rest)| Some(rest.split_once("\": ")?.1))
    else {
        return "";
    };
    let error = error.strip_prefix("failed to call webhook: ").unwrap_or(error);
    error.strip_prefix("Post \"").and_then(|rest| Some(rest.split_once("\": ")?.1)).unwrap_or(error)
}

/// The kind of an error of a webhook call.
fn fault(error: &str) -> &'static str {
    const KINDS: [(&str, &str); 15] = [
        ("certificate has expired", "expired"),
        ("certificate signed by unknown authority", "unknownAuthority"),
        ("unable to load root certificates", "unknownAuthority"),
        ("certificate is valid for", "wrongName"),
        ("certificate is not valid for any names", "wrongName"),
        ("doesn't contain any IP SANs", "wrongName"),
        ("legacy Common Name", "wrongName"),
        ("no endpoints available", "noEndpoints"),
        ("no service port", "noService"),
        ("\" not found", "noService"),
        ("connection refused", "refused"),
        ("deadline exceeded", "timeout"),
        ("timeout", "timeout"),
        ("webhook response", "badResponse"),
        ("the server could not find the requested resource", "badResponse"),
    ];
    if error.is_empty() {
        return "";
    }
    KINDS.iter().find(|(words, _)| error.contains(words)).map_or("other", |(_, kind)| kind)
}

/// The host of a webhook: `policy.policy-system.svc:443` of `Post "https://policy.policy-system.svc:443/validate"`.
fn host(text: &str) -> Option<&str> {
    text.split_once("https://")?.1.split(['/', '?', '"']).next().filter(|host| !host.is_empty())
}

/// Name and namespace of the webhook's Service: `policy` and `policy-system`.
fn service(text: &str) -> Option<(&str, &str)> {
    let host = host(text)?.split(':').next()?;
    let (service, namespace) = host.strip_suffix(".svc")?.split_once('.')?;
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_name(service) && is_name(namespace)).then_some((service, namespace))
}

/// Whether a single request for a resource (`requests.cpu=2,pods=1`) exceeds its limit.
fn exceeds(requested: &str, limited: &str) -> bool {
    let amounts = |list: &str| -> Vec<(String, i64)> {
        let pairs = list.split(',').filter_map(|pair| pair.split_once('='));
        pairs.filter_map(|(resource, amount)| Some((resource.trim().to_owned(), parse_cpu(amount.trim())?))).collect()
    };
    let limits = amounts(limited);
    amounts(requested).iter().any(|(resource, asked)| limits.iter().any(|(of, limit)| of == resource && asked > limit))
}

fn violations(text: &str) -> &str {
    let level = text.split_once("violates PodSecurity \"").map(|(_, rest)| rest);
    level.and_then(|rest| rest.split_once("\": ")).map_or("", |(_, violations)| violations)
}

/// Violations of a level that one setting fixes, with the names of pod-security-admission.
const RESTRICTED: [(&str, &str); 5] = [
    ("privileged", "privileged: false"),
    ("allowPrivilegeEscalation != false", "allowPrivilegeEscalation: false"),
    ("unrestricted capabilities", "capabilities: {drop: [ALL]}"),
    ("runAsNonRoot != true", "runAsNonRoot: true"),
    ("seccompProfile", "seccompProfile: {type: RuntimeDefault}"),
];

/// The settings that fix all of these violations; `None` if one of them needs more than a setting.
fn settings(violations: &str) -> Option<String> {
    let setting = |violation: &str| RESTRICTED.iter().find(|(name, _)| *name == violation).map(|(_, setting)| *setting);
    let settings: Option<Vec<_>> = without_details(violations).split(", ").map(setting).collect();
    settings.map(|settings| settings.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_suggested_only_if_they_fix_all_violations() {
        let text = r#"allowPrivilegeEscalation != false (container "web" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "web" must set securityContext.capabilities.drop=["ALL"]), seccompProfile (pod or container "web" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#;
        assert_eq!(
            without_details(text),
            "allowPrivilegeEscalation != false, unrestricted capabilities, seccompProfile"
        );
        let fields =
            "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}";
        assert_eq!(settings(text).as_deref(), Some(fields));
        assert_eq!(settings(&format!("{text}, hostPort (container \"web\" uses hostPort 80)")), None);
    }

    #[test]
    fn single_request_above_the_limit_exceeds_the_quota() {
        assert!(exceeds("pods=1,requests.cpu=900m", "pods=2,requests.cpu=500m"));
        assert!(!exceeds("pods=1", "pods=2"));
    }

    #[test]
    fn parses_a_failed_webhook_call() {
        let text = r#"Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.policy-system.svc:443/validate?timeout=10s": service "policy" not found"#;
        assert_eq!(webhook_error(text), r#"service "policy" not found"#);
        assert_eq!(fault(webhook_error(text)), "noService");
        assert_eq!(
            fault("tls: failed to verify certificate: x509: certificate has expired or is not yet valid"),
            "expired"
        );
        assert_eq!((fault("EOF"), fault("")), ("other", ""));
        assert_eq!(host(text), Some("policy.policy-system.svc:443"));
        assert_eq!(service(text), Some(("policy", "policy-system")));
        assert_eq!(service(r#"Post "https://hooks.example.com/validate": EOF"#), None);
    }
}
