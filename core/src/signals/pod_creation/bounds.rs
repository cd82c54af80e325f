//! Parser of the messages about resources that the API server adds to its refusals: LimitRanges and ResourceQuotas.

use crate::message;

/// A bound of a LimitRange for each container, and the amount that violates it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation<'t> {
    pub(crate) resource: &'t str,
    pub(crate) bound: &'t str,
    pub(crate) is_maximum: bool,
    /// `limit` or `request`.
    pub(crate) of: &'t str,
    pub(crate) amount: &'t str,
}

/// The bounds that a message reports: `maximum memory usage per Container is 64Mi, but limit is 128Mi`. `None` if one of
/// them is of another form, such as a bound of the whole pod.
/// Source: plugin/pkg/admission/limitranger/admission.go.
pub(crate) fn violations(text: &str) -> Option<Vec<Violation<'_>>> {
    const MARK: &str = " usage per ";
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        let (start, resource) = before.rsplit_once("imum ")?;
        let is_maximum = start.ends_with("max") || start.ends_with("Max");
        let (bound, what) = after.strip_prefix("Container is ")?.split_once(", but ")?;
        let (of, amount) = what.split_once(" is ")?;
        let end = amount.find([',', ']', ' ']).unwrap_or(amount.len());
        let amount = amount[..end].trim_end_matches('.');
        found.push(Violation { resource, bound, is_maximum, of, amount });
        rest = after;
    }
    let is_all = !found.is_empty() && !text.contains("limit to request ratio");
    is_all.then_some(found)
}

/// A request above the limit of its container, which the template leaves to the default of a LimitRange.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AboveLimit<'t> {
    pub(crate) resource: &'t str,
    pub(crate) request: &'t str,
}

/// The requests above a limit in `spec.containers[0].resources.requests: Invalid value: "1Gi": must be less than or equal to
/// memory limit of 256Mi`. Source: kubernetes pkg/apis/core/validation ValidateContainerResourceRequirements.
pub(crate) fn above_limit(text: &str) -> Vec<AboveLimit<'_>> {
    text.split("].resources.requests: Invalid value: ").skip(1).filter_map(above_limit_of).collect()
}

fn above_limit_of(part: &str) -> Option<AboveLimit<'_>> {
    let (request, rest) = part.split_once(": must be less than or equal to ")?;
    let (resource, _) = rest.split_once(" limit")?;
    Some(AboveLimit { resource, request: request.trim_matches(['"', '\\']) })
}

/// What a quota requires: `limits.memory` for `web`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Required<'t> {
    /// `requests` or `limits`.
    pub(crate) field: &'t str,
    pub(crate) resource: &'t str,
    pub(crate) container: &'t str,
}

/// The requirements of `limits.memory for: web,side; requests.memory for: web`. Before Kubernetes 1.26 the message named no
/// containers. Source: pkg/quota/v1/evaluator/core/pods.go Constraints.
pub(crate) fn required(list: &str) -> Vec<Required<'_>> {
    let parts = list.split(';').filter_map(|part| {
        let (resource, names) = with_names(part)?;
        let (field, resource) = match resource.split_once('.') {
            Some((field @ ("requests" | "limits"), resource)) => (field, resource),
            _ => ("requests", resource),
        };
        Some(names.map(move |container| Required { field, resource, container }))
    });
    parts.flatten().collect()
}

/// A resource and the containers that must specify it: `limits.memory for: web,side`.
pub(super) fn with_names(part: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let (resource, names) = part.split_once(" for: ")?;
    let names = names.split(',').map(|name| name.trim().trim_end_matches('.')).filter(|name| !name.is_empty());
    Some((resource.trim(), names))
}

/// A violation of a Pod Security level, and the containers that it names.
pub(crate) struct Setting<'t> {
    pub(crate) violation: &'t str,
    pub(crate) containers: Vec<&'t str>,
}

/// The violations of `allowPrivilegeEscalation != false (container "web" must set ...), seccompProfile (pod or containers
/// "a", "b" must set ...)`. `None` if one of them names no container, or more than one thing to change.
/// Source: k8s.io/pod-security-admission policy.
pub(crate) fn settings(text: &str) -> Option<Vec<Setting<'_>>> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (violation, details) = rest.split_once(" (")?;
        let end = details.find(')')?;
        let (who, what) = details[..end].split_once(" must ")?;
        if what.contains("; ") || what.contains(" must not include ") {
            return None;
        }
        let containers: Vec<&str> = who.split('"').skip(1).step_by(2).collect();
        if containers.is_empty() {
            return None;
        }
        found.push(Setting { violation: violation.trim_start_matches(", "), containers });
        rest = &details[end + 1..];
    }
    (!found.is_empty()).then_some(found)
}

/// The sysctl of `forbidden sysctl: "kernel.msgmax" not allowlisted`. Source: pkg/kubelet/sysctl/allowlist.go.
pub(crate) fn forbidden_sysctl(text: &str) -> &str {
    message::quoted_after(text, "forbidden sysctl: ").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_a_limit_range_are_read() {
        let text = "[maximum memory usage per Container is 64Mi, but limit is 128Mi, minimum cpu usage per Container is 50m, but request is 10m]";
        let found = violations(text).unwrap();
        let read: Vec<_> = found.iter().map(|v| (v.resource, v.bound, v.is_maximum, v.of, v.amount)).collect();
        assert_eq!(read, [("memory", "64Mi", true, "limit", "128Mi"), ("cpu", "50m", false, "request", "10m")]);
        for other in [
            "maximum memory usage per Pod is 1Gi, but limit is 2Gi",
            "minimum memory usage per Container is 64Mi.  No request is specified",
            "memory max limit to request ratio per Container is 2, but provided ratio is 4.000000",
            "",
        ] {
            assert_eq!(violations(other), None, "{other}");
        }
    }

    #[test]
    fn requests_above_a_default_limit_are_read() {
        let text = r#"Pod "web-1" is invalid: spec.containers[0].resources.requests: Invalid value: "1Gi": must be less than or equal to memory limit of 256Mi"#;
        assert_eq!(above_limit(text), [AboveLimit { resource: "memory", request: "1Gi" }]);
        assert_eq!(above_limit("spec.containers[0].image: Required value"), []);
    }

    #[test]
    fn resources_that_a_quota_requires_are_read() {
        let found = required("limits.memory for: web,side; cpu for: web");
        let read: Vec<_> = found.iter().map(|r| (r.field, r.resource, r.container)).collect();
        assert_eq!(read, [("limits", "memory", "web"), ("limits", "memory", "side"), ("requests", "cpu", "web")]);
        assert_eq!(required("must specify limits.cpu,limits.memory"), []);
    }

    #[test]
    fn violations_of_a_level_are_read_if_all_can_be_set() {
        let text = r#"allowPrivilegeEscalation != false (container "web" must set securityContext.allowPrivilegeEscalation=false), seccompProfile (pod or containers "web", "side" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#;
        let found = settings(text).unwrap();
        assert_eq!(found[0].violation, "allowPrivilegeEscalation != false");
        assert_eq!(found[1].containers, ["web", "side"]);
        assert!(settings("host namespaces (hostNetwork=true)").is_none());
        assert!(settings(r#"unrestricted capabilities (container "web" must set securityContext.capabilities.drop=["ALL"]; container "web" must not include "NET_ADMIN" in securityContext.capabilities.add)"#).is_none());
    }
}
