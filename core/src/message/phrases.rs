//! Shortens phrases that components print in full: the API server's refusals, and paths below a container's root.

use std::borrow::Cow;

/// Directories below which runtimes keep the root filesystems of containers.
const ROOTS: &[&str] = &["/run/containerd/", "/var/lib/containerd/", "/var/lib/containers/", "/var/lib/docker/"];

/// Names of a root filesystem in them.
const ROOT_NAMES: &[&str] = &["/rootfs/", "/merged/"];

/// The text with the paths as the container sees them: `/run/containerd/…/rootfs/dev/fuse` becomes `/dev/fuse`.
/// Takes linear time.
pub(super) fn without_roots(text: &str) -> Cow<'_, str> {
    if !ROOT_NAMES.iter().any(|name| text.contains(name)) {
        return text.into();
    }
    let is_apart = |c: char| matches!(c, ' ' | '"' | '\'' | '`' | '\n' | '=' | ',');
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(is_apart) {
        let end = ROOT_NAMES.iter().filter_map(|name| Some(word.find(name)? + name.len() - 1)).min();
        match end.filter(|_| ROOTS.iter().any(|root| word.starts_with(root))) {
            Some(end) => out.push_str(&word[end..]),
            None => out.push_str(word),
        }
    }
    out.into()
}

/// The text with the messages of log lines without their fields: `time="…" level=error msg="exec failed"` becomes
/// `exec failed`. Takes linear time.
pub(super) fn without_log_fields(text: &str) -> Cow<'_, str> {
    if !text.contains(" level=") {
        return text.into();
    }
    let lines = text.split('\n').map(|line| {
        let found = line.split_once(" level=").and_then(|(head, fields)| {
            let head = &head[..head.rfind("time=\"")?];
            let (_, message) = fields.split_once(" msg=\"").filter(|(level, _)| !level.contains(' '))?;
            let (message, rest) = message.rsplit_once('"')?;
            Some(format!("{head}{message}{rest}"))
        });
        found.map_or(Cow::Borrowed(line), Cow::Owned)
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

/// The text without the properties of a unit that systemd refuses: `unable to start unit "a.scope" (properties […]): no`.
/// Takes linear time.
pub(super) fn without_properties(text: &str) -> Cow<'_, str> {
    let cut = text.split_once(" (properties [").and_then(|(head, rest)| Some((head, rest.split_once("])")?.1)));
    cut.map_or(Cow::Borrowed(text), |(head, rest)| format!("{head}{rest}").into())
}

/// The text without the number of attempts in brackets at its end: `it is immutable (retried 5 times).`
pub(super) fn without_attempts(text: &str) -> Cow<'_, str> {
    const OF_ATTEMPTS: [&str; 4] = ["attempt", "retried", "retries", "tries"];
    let bracket = text.trim_end_matches(['.', ' ', '\n']).strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    let is_count = |inner: &str| {
        inner.len() < 40
            && inner.bytes().any(|b| b.is_ascii_digit())
            && OF_ATTEMPTS.iter().any(|words| inner.contains(words))
    };
    let bare = bracket.filter(|(_, inner)| is_count(inner)).map(|(before, _)| before.to_owned());
    bare.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The text without what a component tries after its error: efs-utils when a name was not resolved, and CRI-O, which
/// pulls an image as an artifact. Takes linear time.
pub(super) fn without_fallback(text: &str) -> Cow<'_, str> {
    if let Some((head, _)) = text.split_once("; artifact err: ") {
        return head.to_owned().into();
    }
    let Some((head, rest)) = text.split_once("Attempting to lookup mount target ip address using botocore.") else {
        return text.into();
    };
    let rest = rest.split_once("install botocore first.").map_or("", |(_, after)| after);
    format!("{}{rest}", head.trim_end()).into()
}

/// The text with the mounts of runc by their target: `mount src=/x, dst=/etc/app, dstFd=/proc/1/fd/8, flags=MS_BIND`
/// becomes `mount /etc/app`. Takes linear time.
pub(super) fn short_mounts(text: &str) -> Cow<'_, str> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, mount)) = rest.split_once("mount src=") {
        let end = mount.find(": ").unwrap_or(mount.len());
        let (fields, after) = mount.split_at(end);
        out.push_str(before);
        out.push_str("mount ");
        let target = fields.split(", ").find_map(|field| field.strip_prefix("dst="));
        out.push_str(target.unwrap_or(fields));
        rest = after;
    }
    if out.is_empty() {
        return text.into();
    }
    out.push_str(rest);
    out.into()
}

/// The text with the API server's refusals in few words: `User "system:serviceaccount:a:b" cannot get resource "pods" in
/// API group "" in the namespace "c"` becomes `service account a/b cannot get pods in namespace c`. Takes linear time.
pub(super) fn short_refusals(text: &str) -> Cow<'_, str> {
    let mark = "User \"";
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(mark) {
        let (before, after) = (&rest[..at], &rest[at + mark.len()..]);
        out.push_str(before);
        if let Some((short, length)) = refusal(after) {
            out.push_str(&short);
            rest = &after[length..];
        } else {
            out.push_str(mark);
            rest = after;
        }
    }
    if out.is_empty() {
        return text.into();
    }
    out.push_str(rest);
    out.into()
}

/// The refusal in few words, and the length of what it replaces.
fn refusal(text: &str) -> Option<(String, usize)> {
    let (user, rest) = text.split_once('"')?;
    let (verb, rest) = rest.strip_prefix(" cannot ")?.split_once(' ')?;
    let (resource, mut rest) = rest.strip_prefix("resource \"")?.split_once('"')?;
    let user = match user.strip_prefix("system:serviceaccount:").and_then(|name| name.split_once(':')) {
        Some((namespace, name)) => format!("service account {namespace}/{name}"),
        None => user.to_owned(),
    };
    let mut short = format!("{user} cannot {verb} {resource}");
    if let Some((group, after)) = rest.strip_prefix(" in API group \"").and_then(|rest| rest.split_once('"')) {
        if !group.is_empty() {
            short.push('.');
            short.push_str(group);
        }
        rest = after;
    }
    if let Some((namespace, after)) = rest.strip_prefix(" in the namespace \"").and_then(|rest| rest.split_once('"')) {
        short.push_str(" in namespace ");
        short.push_str(namespace);
        rest = after;
    }
    Some((short, text.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_named_by_their_target() {
        let text =
            "can't mask paths: mount src=tmpfs, dst=/proc/acpi, dstFd=/proc/thread-self/fd/8, flags=MS_RDONLY: no";
        assert_eq!(short_mounts(text), "can't mask paths: mount /proc/acpi: no");
    }

    #[test]
    fn paths_are_those_of_the_container() {
        for (text, expected) in [
            (
                "mknodat /run/containerd/io.containerd.runtime.v2.task/k8s.io/9c41/rootfs/dev/fuse: denied",
                "mknodat /dev/fuse: denied",
            ),
            (r#"open "/var/lib/containers/storage/overlay/9c/merged/etc/x": denied"#, r#"open "/etc/x": denied"#),
            ("the rootfs /run/containerd/9c/rootfs is gone", "the rootfs /run/containerd/9c/rootfs is gone"),
            ("stat /mnt/rootfs/a: no such file", "stat /mnt/rootfs/a: no such file"),
        ] {
            assert_eq!(without_roots(text), expected);
        }
    }

    #[test]
    fn log_lines_are_their_messages() {
        assert_eq!(
            without_log_fields(
                r#"command error: time="2026-11-21T08:59:00Z" level=error msg="exec: "a": not found", exit code -1"#
            ),
            r#"command error: exec: "a": not found, exit code -1"#
        );
        assert_eq!(without_log_fields("set level=3 first"), "set level=3 first");
    }

    #[test]
    fn refusals_name_user_verb_and_resource() {
        for (text, expected) in [
            (
                r#"pods "a" is forbidden: User "system:serviceaccount:kube-system:multus" cannot get resource "pods" in API group "" in the namespace "shop""#,
                r#"pods "a" is forbidden: service account kube-system/multus cannot get pods in namespace shop"#,
            ),
            (
                r#"x is forbidden: User "eva" cannot list resource "leases" in API group "coordination.k8s.io" at the cluster scope"#,
                "x is forbidden: eva cannot list leases.coordination.k8s.io at the cluster scope",
            ),
            (r#"User "a" is unknown"#, r#"User "a" is unknown"#),
        ] {
            assert_eq!(short_refusals(text), expected);
        }
    }
}
