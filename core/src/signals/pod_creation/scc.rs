//! Parser of the rejections by SecurityContextConstraints of OpenShift.

/// What one of the constraints does not allow: `provider restricted-v2: .containers[0].privileged: Invalid value: true:
/// Privileged containers are not allowed`.
struct Violation<'t> {
    provider: &'t str,
    field: &'t str,
    value: &'t str,
    reason: &'t str,
}

/// The list after the words of the admission plugin.
fn list(text: &str) -> Option<&str> {
    let (_, list) = text.split_once("any security context constraint: ")?;
    Some(list.trim().trim_start_matches('[').trim_end_matches(']'))
}

/// The entries of the list. A reason may contain commas.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = list.match_indices("provider ").map(|(at, _)| at).collect();
    starts.retain(|at| *at == 0 || list[..*at].ends_with(", "));
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([list.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| list[start..end].trim_end_matches([',', ' ']))
}

fn violation(entry: &str) -> Option<Violation<'_>> {
    let (provider, rest) = entry.strip_prefix("provider ")?.split_once(": ")?;
    let (field, rest) = rest.split_once(": Invalid value: ")?;
    let (value, reason) = rest.split_once(": ")?;
    Some(Violation { provider: provider.trim_matches('"'), field, value, reason })
}

/// What the constraints that the pod may use do not allow; else the constraints that it may not use.
pub(super) fn violations(text: &str) -> String {
    let Some(list) = list(text) else { return String::new() };
    let mut provider = "";
    let found = entries(list).filter_map(violation).map(|one| {
        // A flag is no detail: its field and the reason state it.
        let is_plain = matches!(one.value, "true" | "false" | "null" | "\"\"") || one.value.starts_with("[]");
        let value = if is_plain { String::new() } else { format!(" {}", one.value) };
        let of = if std::mem::replace(&mut provider, one.provider) == one.provider {
            String::new()
        } else {
            format!("{}: ", one.provider)
        };
        format!("{of}{}{value}: {}", one.field, one.reason)
    });
    let found: Vec<_> = found.collect();
    if !found.is_empty() {
        return found.join("; ");
    }
    let forbidden = entries(list).filter_map(|entry| {
        let (provider, why) = entry.strip_prefix("provider ")?.split_once(": ")?;
        why.starts_with("Forbidden").then(|| provider.trim_matches('"'))
    });
    let forbidden: Vec<_> = forbidden.collect();
    match forbidden.as_slice() {
        [] => list.to_owned(),
        several => format!("{}: not usable by user or serviceaccount", several.join(", ")),
    }
}

/// The first field that is not allowed.
pub(super) fn field(text: &str) -> Option<&str> {
    entries(list(text)?).find_map(violation).map(|one| one.field.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_of_usable_constraints_come_first() {
        let text = r#"pods "web-" is forbidden: unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount, provider restricted-v2: .containers[0].runAsUser: Invalid value: 0: must be in the ranges: [1000680000, 1000689999], provider restricted-v2: .containers[0].privileged: Invalid value: true: Privileged containers are not allowed, provider "nonroot": Forbidden: not usable by user or serviceaccount]"#;
        assert_eq!(
            violations(text),
            "restricted-v2: .containers[0].runAsUser 0: must be in the ranges: [1000680000, 1000689999]; .containers[0].privileged: Privileged containers are not allowed"
        );
        assert_eq!(field(text), Some("containers[0].runAsUser"));
        let text = r#"unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount]"#;
        assert_eq!(violations(text), "anyuid: not usable by user or serviceaccount");
        assert_eq!(violations("exceeded quota"), "");
    }
}
