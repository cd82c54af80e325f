//! The permission that a cloud refuses, in the errors of its services.

use std::sync::LazyLock;

use regex::Regex;

use super::amounts::first;

static ACTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)|perform action '([A-Za-z./]+)'|[Pp]ermission '([a-z.A-Z]+)' denied|does not have ([a-z]+\.[a-z.A-Z]+) access",
    )
    .ok()
});
static RESOURCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"on resource:? ["']?([^\s"',]+)|over scope '([^']+)'|access to the Google Cloud Storage (?:object|bucket)[: ]+([^\s.]+)"#).ok()
});
static IDENTITY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"User: (arn:[^\s]+)|The client '([^']+)'|([a-z0-9-]+@[a-z0-9.-]+\.iam\.gserviceaccount\.com)").ok()
});

/// The action: `s3:GetObject`.
pub(super) fn action(line: &str) -> &str {
    first(&ACTION, line).unwrap_or_default()
}

/// The resource: `arn:aws:s3:::models/x.bin`.
pub(super) fn resource(line: &str) -> &str {
    first(&RESOURCE, line).unwrap_or_default().trim_end_matches('.')
}

/// The identity that lacks the permission. Of an assumed role, the role and its session: `node-role/i-0a1b`.
pub(super) fn identity(line: &str) -> &str {
    let name = first(&IDENTITY, line).unwrap_or_default();
    name.split_once(":assumed-role/").map_or(name, |(_, role)| role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_resource_and_identity_of_each_cloud_are_read() {
        for (line, expected) in [
            (
                r#"An error occurred (AccessDenied) when calling the GetObject operation: User: arn:aws:sts::111122223333:assumed-role/node-role/i-0a1b is not authorized to perform: s3:GetObject on resource: "arn:aws:s3:::models/x.bin" because no identity-based policy allows the s3:GetObject action"#,
                ("s3:GetObject", "arn:aws:s3:::models/x.bin", "node-role/i-0a1b"),
            ),
            (
                "User not authorized to perform this action: permission 'pubsub.subscriptions.consume' denied on resource 'projects/shop/subscriptions/orders' (or it may not exist)",
                ("pubsub.subscriptions.consume", "projects/shop/subscriptions/orders", ""),
            ),
            (
                "googleapi: Error 403: orders@shop.iam.gserviceaccount.com does not have storage.objects.get access to the Google Cloud Storage object.",
                ("storage.objects.get", "", "orders@shop.iam.gserviceaccount.com"),
            ),
            (
                "AuthorizationFailed: The client '6f1c' with object id '6f1c' does not have authorization to perform action 'Microsoft.Compute/disks/read' over scope '/subscriptions/0a/resourceGroups/rg' or the scope is invalid.",
                ("Microsoft.Compute/disks/read", "/subscriptions/0a/resourceGroups/rg", "6f1c"),
            ),
            ("api error AccessDenied: Access Denied", ("", "", "")),
        ] {
            assert_eq!((action(line), resource(line), identity(line)), expected, "{line}");
        }
    }
}
