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

/// The entries of the list, also those that name no constraint. A reason may contain commas.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    const BEGINNINGS: [&str; 3] = ["provider ", "spec.", "."];
    let follows = list.match_indices(", ").map(|(at, comma)| at + comma.len());
    let begins = |at: &usize| BEGINNINGS.iter().any(|words| list[*at..].starts_with(words));
    let starts: Vec<usize> = std::iter::once(0).chain(follows).filter(begins).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([list.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| list[start..end].trim_end_matches([',', ' ']))
}

fn violation(entry: &str) -> Option<Violation<'_>> {
    let (provider, rest) = match entry.strip_prefix("provider ") {
        Some(rest) => rest.split_once(": ")?,
        None => ("", entry),
    };
    let (field, rest) = rest.split_once(": Invalid value: ")?;
    let (value, reason) = rest.split_once(": ")?;
    Some(Violation { provider: provider.trim_matches('"'), field, value, reason })
}

/// What a pod asks for beyond `restricted-v2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    User,
    Root,
    Groups,
    Escalation,
    HostNetwork,
    HostProcesses,
    HostPath,
    /// Anything that of the constraints of OpenShift only `privileged` allows.
    All,
}

impl Violation<'_> {
    fn short(&self) -> String {
        let field = self.field.trim_start_matches('.').trim_start_matches("spec.securityContext.");
        if let Some(range) = self.reason.strip_prefix("must be in the ranges: ") {
            return format!("{field} {} (allowed: {})", self.value, range.trim_matches(['[', ']']).replace(", ", "-"));
        }
        // A group: `[]int64{1000}: 1000 is not an allowed group`.
        if let Some(group) = self.reason.strip_suffix(" is not an allowed group") {
            return format!("{field} {group}");
        }
        let is_stated =
            ["not allowed", "not allowed to be used", "may not be added"].iter().any(|end| self.reason.ends_with(end));
        match (self.is_plain(), is_stated) {
            (true, true) => field.to_owned(),
            (true, false) => format!("{field}: {}", self.reason),
            (false, _) => format!("{field} {}", self.value),
        }
    }

    /// A flag is no detail: its field and the reason state it.
    fn is_plain(&self) -> bool {
        matches!(self.value, "true" | "false" | "null" | "\"\"") || self.value.starts_with("[]")
    }

    fn need(&self) -> Need {
        let field = self.field.rsplit('.').next().unwrap_or_default();
        match field {
            "runAsUser" if self.value != "0" => Need::User,
            "runAsUser" | "runAsNonRoot" => Need::Root,
            "fsGroup" | "supplementalGroups" => Need::Groups,
            "allowPrivilegeEscalation" => Need::Escalation,
            "hostNetwork" | "hostPort" => Need::HostNetwork,
            "hostPID" | "hostIPC" => Need::HostProcesses,
            _ if self.value == "\"hostPath\"" => Need::HostPath,
            _ => Need::All,
        }
    }
}

/// The constraints that OpenShift installs, those that allow less first.
const INSTALLED: &[(&str, &[Need])] = &[
    ("nonroot-v2", &[Need::User, Need::Groups]),
    ("nonroot", &[Need::User, Need::Groups, Need::Escalation]),
    ("hostnetwork-v2", &[Need::HostNetwork]),
    ("anyuid", &[Need::User, Need::Root, Need::Groups, Need::Escalation]),
    ("hostmount-anyuid", &[Need::User, Need::Root, Need::Groups, Need::Escalation, Need::HostPath]),
    ("hostaccess", &[Need::HostNetwork, Need::HostProcesses, Need::HostPath, Need::Escalation]),
];

/// The least of the constraints that OpenShift installs which allows all that the pods ask for: `privileged` if no other
/// one does; empty if the message has no violations.
pub(super) fn sufficient(text: &str) -> &'static str {
    let needs: Vec<Need> =
        list(text).into_iter().flat_map(entries).filter_map(violation).map(|one| one.need()).collect();
    if needs.is_empty() {
        return "";
    }
    let allows_all = |allowed: &[Need]| needs.iter().all(|need| allowed.contains(need));
    INSTALLED.iter().find(|(_, allowed)| allows_all(allowed)).map_or("privileged", |(name, _)| *name)
}

/// The fields that are not allowed, each once, separated by commas.
pub(super) fn fields(text: &str) -> String {
    let mut fields: Vec<&str> = Vec::new();
    for one in list(text).into_iter().flat_map(entries).filter_map(violation) {
        let field = one.field.trim_start_matches('.');
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields.join(", ")
}

/// What the constraints that the pod may use do not allow; else the constraints that it may not use.
pub(super) fn violations(text: &str) -> String {
    let Some(list) = list(text) else { return String::new() };
    let mut provider = "";
    let found = entries(list).filter_map(violation).map(|one| {
        let value = if one.is_plain() { String::new() } else { format!(" {}", one.value) };
        let of = if std::mem::replace(&mut provider, one.provider) == one.provider || one.provider.is_empty() {
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

/// The violations, each once, without the reasons that only state that a field is not allowed:
/// `containers[0].capabilities.add "NET_ADMIN"`.
pub(super) fn short_violations(text: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    for one in list(text).into_iter().flat_map(entries).filter_map(violation) {
        let short = one.short();
        if !found.contains(&short) {
            found.push(short);
        }
    }
    found.join(", ")
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
        assert_eq!(fields(text), "containers[0].runAsUser, containers[0].privileged");
        let text = r#"unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount]"#;
        assert_eq!(violations(text), "anyuid: not usable by user or serviceaccount");
        assert_eq!(violations("exceeded quota"), "");
    }

    #[test]
    fn the_least_constraint_that_allows_everything_is_found() {
        let given = |entries: &str| {
            format!(
                r#"unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount, {entries}]"#
            )
        };
        let user = "provider restricted-v2: .containers[0].runAsUser: Invalid value: 1000: must be in the ranges: [1000680000, 1000689999]";
        let root = "provider restricted-v2: .containers[0].runAsUser: Invalid value: 0: must be in the ranges: [1000680000, 1000689999]";
        let path = r#"spec.volumes[0]: Invalid value: "hostPath": hostPath volumes are not allowed to be used"#;
        let network = "provider restricted-v2: .spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used";
        let admin = r#"provider restricted-v2: .containers[0].capabilities.add: Invalid value: "NET_ADMIN": capability may not be added"#;
        for (entries, expected) in [
            (user.to_owned(), "nonroot-v2"),
            (root.to_owned(), "anyuid"),
            (network.to_owned(), "hostnetwork-v2"),
            (format!("{path}, {root}"), "hostmount-anyuid"),
            (format!("{path}, {network}"), "hostaccess"),
            (format!("{path}, {network}, {root}"), "privileged"),
            (admin.to_owned(), "privileged"),
            (String::new(), ""),
        ] {
            assert_eq!(sufficient(&given(&entries)), expected, "{entries}");
        }
        assert_eq!(
            short_violations(&given(&format!("{path}, {user}, {admin}, {network}, {network}"))),
            r#"spec.volumes[0] "hostPath", containers[0].runAsUser 1000 (allowed: 1000680000-1000689999), containers[0].capabilities.add "NET_ADMIN", hostNetwork"#
        );
    }
}
