//! Who answered a request for an image, and the reason that the answer gives.

use crate::message;

/// Reasons that state no more than the status of the answer, in lower case.
const GENERIC: [&str; 16] = [
    "requested access to the resource is denied",
    "access forbidden",
    "authentication required",
    "manifest unknown",
    "not found",
    "denied",
    "forbidden",
    "too many requests",
    "toomanyrequests",
    "service unavailable",
    "unknown error",
    "name unknown",
    "repository name not known to registry",
    "unauthorized",
    "insufficient_scope",
    "authorization failed",
];

/// Error codes of the registry protocol before a reason, in lower case.
const CODES: [&str; 14] = [
    "denied: ",
    "unauthorized: ",
    "unknown: ",
    "name unknown: ",
    "manifest unknown: ",
    "toomanyrequests: ",
    "unavailable: ",
    "unsupported: ",
    "tag expired: ",
    "manifest invalid: ",
    "name invalid: ",
    "blob unknown: ",
    "projectpolicyviolation: ",
    "server message: ",
];

/// Host of the mirror that answered. containerd names the registry in the query of a request to a mirror.
pub(super) fn mirror<'t>(text: &'t str, registry: &str) -> Option<&'t str> {
    let urls = text.match_indices("https://").chain(text.match_indices("http://"));
    let mirrors = urls.filter_map(|(at, scheme)| {
        let url = text[at + scheme.len()..].split(['"', ' ', '\'']).next()?;
        let (host, path) = url.split_once('/')?;
        let is_mirror = path.starts_with("v2/") && path.contains("?ns=") || path.contains("&ns=");
        (is_mirror && host != registry).then_some(host)
    });
    mirrors.last()
}

/// The first three parts of the path that could not be written.
pub(super) fn full_folder(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let end = [": no space left on device", ": disk quota exceeded"].iter().find_map(|words| lower.rfind(words))?;
    let path = text.get(..end)?.rsplit([' ', '"']).find(|word| word.starts_with('/'))?;
    let end = path.match_indices('/').nth(3).map_or(path.len(), |(at, _)| at);
    path.get(..end)
}

/// The reason after the status of the last answer.
pub(super) fn reason(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let statuses = [
        "403 forbidden: ",
        "404 not found: ",
        "429 too many requests: ",
        "401 unauthorized: ",
        "405 method not allowed: ",
        "412 precondition failed: ",
        "400 bad request: ",
        "500 internal server error: ",
        "503 service unavailable: ",
        " - server message: ",
    ];
    let Some(start) = statuses.iter().filter_map(|status| Some(lower.rfind(status)? + status.len())).max() else {
        return String::new();
    };
    let mut reason = text.get(start..).unwrap_or_default().trim();
    while let Some(code) = CODES.iter().find(|code| reason.to_ascii_lowercase().starts_with(**code)) {
        reason = reason.get(code.len()..).unwrap_or_default();
    }
    // IAM names the whole user and resource.
    if let Some((user, action)) = reason.split_once(" is not authorized to perform: ") {
        let user = user.rsplit("::").next().unwrap_or(user).rsplit(':').next().unwrap_or(user);
        let user = user.strip_prefix("assumed-role/").unwrap_or(user);
        let action = action.split(' ').next().unwrap_or(action);
        return message::fit(&format!("no permission for {action} as {user}"), 90);
    }
    // Artifact Registry names the whole resource.
    if let Some(permission) = message::between(reason, "Permission \"", "\" denied on resource") {
        return message::fit(&format!("no permission for {permission}"), 90);
    }
    let bare = reason.trim_end_matches('.').to_ascii_lowercase();
    let is_generic = GENERIC.contains(&&*bare) || bare.starts_with('<') || bare.starts_with('{');
    if is_generic { String::new() } else { message::fit(reason.trim_end_matches('.'), 90) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirror_is_named_only_if_it_answered() {
        let through = r#"failed to do request: Head "https://cache.corp:5000/v2/library/redis/manifests/7?ns=docker.io": dial tcp 10.0.0.9:5000: connect: connection refused"#;
        assert_eq!(mirror(through, "docker.io"), Some("cache.corp:5000"));
        let direct = r#"failed to do request: Head "https://registry-1.docker.io/v2/library/redis/manifests/7": EOF"#;
        assert_eq!(mirror(direct, "docker.io"), None);
    }

    #[test]
    fn full_folder_is_that_of_the_runtime() {
        let text = "failed to extract layer sha256:9c27: write /var/lib/containerd/tmpmounts/m33/usr/lib/libx.so: no space left on device";
        assert_eq!(full_folder(text), Some("/var/lib/containerd"));
        assert_eq!(full_folder("copying: no space left on device"), None);
    }

    #[test]
    fn reason_is_what_the_status_does_not_state() {
        for (text, expected) in [
            (
                "unexpected status from GET request to https://q/v2/a/manifests/1: 403 Forbidden: denied: Quota has been exceeded on namespace",
                "Quota has been exceeded on namespace",
            ),
            (
                r#"https://q/v2/a: 403 Forbidden: denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource "projects/p/locations/europe/repositories/a" (or it may not exist)"#,
                "no permission for artifactregistry.repositories.downloadArtifacts",
            ),
            ("unexpected status from HEAD request to https://q/v2/a: 403 Forbidden", ""),
            ("https://q/v2/a: 404 Not Found: manifest unknown: manifest unknown", ""),
            ("https://q/v2/a: 404 Not Found: tag expired: Tag has expired", "Tag has expired"),
            ("https://q/v2/a: 403 Forbidden: denied: requested access to the resource is denied", ""),
        ] {
            assert_eq!(reason(text), expected, "{text}");
        }
    }
}
