//! Parser of the denials by policy engines.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a policy engine denies, without its wrappers: policy, rule and message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Denial<'t> {
    /// The policy or the constraint; empty if the message names none.
    pub(super) policy: &'t str,
    pub(super) rule: &'t str,
    pub(super) text: Cow<'t, str>,
}

/// The message after `denied the request: `.
pub(super) fn of(text: &str) -> &str {
    let after = |mark| text.split_once(mark).map(|(_, rest)| rest);
    let denial = after("denied the request").or_else(|| after("denied request")).unwrap_or_default();
    denial.trim_start_matches(':').trim()
}

pub(super) fn parse(text: &str) -> Denial<'_> {
    let denial = of(text);
    kyverno(denial)
        .or_else(|| kyverno_cel(denial))
        .or_else(|| gatekeeper(denial))
        .or_else(|| warden(denial))
        .unwrap_or(Denial { text: denial.into(), ..Denial::default() })
}

/// Parses `resource Pod/shop/web was blocked due to the following policies`, and after it, each on a line of its own,
/// `require-limits:` and `  check-limits: 'validation error: ...'`.
fn kyverno(denial: &str) -> Option<Denial<'_>> {
    let (_, list) = denial.split_once("blocked due to the following policies")?;
    let (policy, rest) = list.trim().split_once(':')?;
    let (rule, message) = rest.trim().split_once(": ")?;
    let message = message.trim_start();
    // The message is YAML: quoted if it contains a colon, split into lines if it is long.
    let end = match message.strip_prefix('\'') {
        Some(quoted) => quoted.find("'\n").unwrap_or(quoted.trim_end().trim_end_matches('\'').len()) + 1,
        None => message.find("\n  ").unwrap_or(message.len()),
    };
    let message = message.get(..end).unwrap_or(message).trim_matches(['\'', '"', '|', '>', '-', ' ', '\n']);
    let message = ["validation error: ", "validation failure: "]
        .iter()
        .find_map(|frame| message.strip_prefix(frame))
        .unwrap_or(message);
    Some(Denial { policy: policy.trim(), rule: rule.trim(), text: message.replace("''", "'").into() })
}

/// Parses `Policy require-team failed: label team is missing` of a Kyverno ValidatingPolicy.
fn kyverno_cel(denial: &str) -> Option<Denial<'_>> {
    let (policy, message) = denial.strip_prefix("Policy ")?.split_once(" failed: ")?;
    (!policy.contains(' ')).then(|| Denial { policy, rule: "", text: message.into() })
}

/// Parses `[must-have-owner] you must provide labels: {"owner"}`.
fn gatekeeper(denial: &str) -> Option<Denial<'_>> {
    let (policy, _) = denial.strip_prefix('[')?.split_once("] ")?;
    // The brackets stay: they are how Gatekeeper shows a constraint.
    // The library for Pod Security adds the pod, which does not exist, and what is allowed.
    let text = denial.split_once(", pod: ").map_or(denial, |(text, _)| text);
    (!policy.contains(' ')).then(|| Denial { policy, rule: "", text: text.into() })
}

/// Parses `Violations details: {"[denied by autogke-disallow-hostnamespaces]":["enabling hostPID is not allowed."]}` of
/// GKE Autopilot. The first of several constraints is the policy.
fn warden(denial: &str) -> Option<Denial<'_>> {
    let (_, details) = denial.split_once("Violations details: ")?;
    let (_, rest) = details.split_once("[denied by ")?;
    let (policy, _) = rest.split_once(']')?;
    let mut objects = serde_json::Deserializer::from_str(details).into_iter::<BTreeMap<String, Vec<String>>>();
    let sentences: Vec<String> = objects.next()?.ok()?.into_values().flatten().collect();
    let sentences: Vec<&str> = sentences.iter().map(|sentence| sentence.trim_end_matches('.')).collect();
    Some(Denial { policy, rule: "", text: sentences.join("; ").into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_rule_and_message_are_read() {
        let text = "admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Pod/shop/web was blocked due to the following policies \n\nrequire-limits:\n  check-limits: 'validation error: CPU limits are required. rule check-limits failed at path /spec/'\n  other: 'more'";
        let denial = parse(text);
        assert_eq!((denial.policy, denial.rule), ("require-limits", "check-limits"));
        assert_eq!(denial.text, "CPU limits are required. rule check-limits failed at path /spec/");
        let denial = parse("denied the request: Policy require-team failed: label team is missing");
        assert_eq!((denial.policy, &*denial.text), ("require-team", "label team is missing"));
        let denial = parse("denied the request: [must-have-owner] you must provide labels");
        assert_eq!((denial.policy, &*denial.text), ("must-have-owner", "[must-have-owner] you must provide labels"));
        let text = "denied the request: GKE Warden rejected the request because it violates one or more constraints.\nViolations details: {\"[denied by autogke-disallow-hostnamespaces]\":[\"enabling hostNetwork is not allowed.\",\"enabling hostPID is not allowed.\"]}\nRequested by user: 'system:serviceaccount:x'";
        let denial = parse(text);
        assert_eq!(denial.policy, "autogke-disallow-hostnamespaces");
        assert_eq!(denial.text, "enabling hostNetwork is not allowed; enabling hostPID is not allowed");
        assert_eq!(parse("denied the request: no").text, "no");
        assert_eq!(parse(""), Denial::default());
    }
}
