//! Parses permission errors for API requests and files, and certificate errors.

use std::sync::LazyLock;

use regex::Regex;

use crate::signals::mounted;

/// A denial by the API server's authorization: `cannot list resource "pods" in API group "" in the namespace "shop"`.
static DENIED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let resource = r#"resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)""#;
    Regex::new(&format!(
        r#"[Uu]ser "(?<user>[^"]+)" cannot (?<verb>[a-z]+) {resource}(?: in the namespace "(?<namespace>[^"]+)"| at the cluster scope)"#
    ))
    .ok()
});

/// A request that the API server denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Denied {
    /// Namespace and name of the ServiceAccount.
    account: Option<(String, String)>,
    pub(super) user: String,
    pub(super) verb: String,
    /// The resource in the format of `kubectl create role`: `deployments.apps`, `pods/log`.
    pub(super) resource: String,
    /// `None` at the cluster scope.
    pub(super) namespace: Option<String>,
}

pub(super) fn denied(line: &str) -> Option<Denied> {
    // In a line of key=value pairs the quotes are escaped.
    let line = line.replace("\\\"", "\"");
    let found = DENIED.as_ref()?.captures(&line)?;
    let part = |name: &str| found.name(name).map(|part| part.as_str().to_owned());
    let (user, group, resource) = (part("user")?, part("group")?, part("resource")?);
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let account = account.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
    let resource = match resource.split_once('/') {
        _ if group.is_empty() => resource,
        Some((resource, part)) => format!("{resource}.{group}/{part}"),
        None => format!("{resource}.{group}"),
    };
    Some(Denied { account, user, verb: part("verb")?, resource, namespace: part("namespace") })
}

impl Denied {
    /// Name of the ServiceAccount; empty for any other user.
    pub(super) fn account_name(&self) -> &str {
        self.account.as_ref().map_or("", |(_, name)| name)
    }

    /// Namespace of the ServiceAccount.
    pub(super) fn account_namespace(&self) -> &str {
        self.account.as_ref().map_or("", |(namespace, _)| namespace)
    }

    /// `ServiceAccount web`, or the name of another user.
    pub(super) fn subject(&self) -> String {
        self.account.as_ref().map_or_else(|| self.user.clone(), |(_, name)| format!("ServiceAccount {name}"))
    }
}

/// Markers of errors that are not about a file: networks, programs to execute, permissions within a database.
const NO_FILE: [&str; 12] = [
    "bind",
    "listen",
    "connect",
    "dial ",
    "socket",
    "exec",
    "publickey",
    "for table",
    "for schema",
    "for relation",
    "iptables",
    "ip6tables",
];

/// The file or directory that the program has no permission for. Paths of the kernel depend on capabilities and are
/// excluded.
pub(super) fn forbidden_path(line: &str) -> Option<&str> {
    // A context of MongoDB, which is not about a socket.
    let lower = line.to_ascii_lowercase().replace("initandlisten", "initandserves");
    let marks = [
        "permission denied",
        "eacces",
        "access denied",
        "not writable",
        "accessdenied",
        "is denied",
        "operation not permitted",
        // PostgreSQL
        "has wrong ownership",
        "has invalid permissions",
        "has group or world access",
        // RabbitMQ
        "must be accessible by owner only",
    ];
    // Advice in the next sentence may name anything.
    let at = marks.iter().find_map(|mark| lower.find(mark))?;
    let end = lower.get(at..).and_then(|rest| rest.find(". ")).map_or(lower.len(), |length| at + length);
    if NO_FILE.iter().any(|word| lower.get(..end).is_some_and(|lower| lower.contains(word))) {
        return None;
    }
    path_beside(line, &lower, &marks)
}

/// Name of a file of the data directory that the program has no permission for, where the line has no path of it.
pub(super) fn forbidden_name(line: &str) -> Option<&str> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        // MySQL and MariaDB. InnoDB adds 200 to errno 13.
        let patterns = [
            r"data file '(?<a>[^']+)' must be writable",
            r"File (?<b>\S+): '[a-z]+' returned OS error 2?13\b",
            r"Can't read dir of '(?<c>[^']+)' \(OS errno 13",
            // Redis, Valkey
            r"append-only (?:dir|file) (?<d>[^\s:]+): Permission denied",
        ];
        Regex::new(&patterns.join("|")).ok()
    });
    let found = NAMED.as_ref()?.captures(line)?;
    ["a", "b", "c", "d"].iter().find_map(|name| found.name(name)).map(|name| name.as_str())
}

/// The missing file or directory.
pub(super) fn missing_path(line: &str) -> Option<&str> {
    const OTHER: [&str; 7] = ["connect", "dial ", "socket", "exec", "shared object", "shared librar", "modprobe"];
    let lower = line.to_ascii_lowercase();
    // `Error executing command: open /a: no such file or directory` is not about a program.
    let about = lower.replace("executing command", "");
    if OTHER.iter().any(|word| about.contains(word)) {
        return None;
    }
    let words = [
        "no such file or directory",
        "enoent",
        "could not find file",
        "filenotfound",
        "nosuchfile",
        "file is missing",
        "jar manifest missing",
        "could not find base path",
        "could not open parameter file",
        "does not exist",
    ];
    path_beside(line, &lower, &words)
}

/// The path nearest before one of the markers, else the first after it. A script's own path may come earlier in the
/// line.
fn path_beside<'l>(line: &'l str, lower: &str, marks: &[&str]) -> Option<&'l str> {
    let at = marks.iter().find_map(|mark| lower.find(mark))?;
    let (before, after) = (line.get(..at)?, line.get(at..)?);
    let path = mounted::paths(before).last().or_else(|| mounted::paths(after).next())?;
    let of_kernel = ["/proc/", "/sys/", "/dev/"].iter().any(|root| path.starts_with(root));
    (!of_kernel).then_some(path)
}

/// The kind of a certificate error.
pub(super) fn certificate_problem(line: &str) -> &'static str {
    let lower = line.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["expired", "not yet valid", "notafter", "not_yet_valid"]) {
        return "expired";
    }
    let of_name = [
        "is valid for ",
        "is not valid for ",
        "altname",
        "hostname mismatch",
        "doesn't contain any ip sans",
        "legacy common name",
        "no subject alternative",
        "namemismatch",
        "does not match target host",
    ];
    if has(&of_name) { "otherName" } else { "unknownAuthority" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_denial_of_the_api_server() {
        let pods = denied(r#"pods is forbidden: User "system:serviceaccount:shop:web" cannot list resource "pods" in API group "" in the namespace "shop""#).unwrap();
        assert_eq!((&*pods.subject(), pods.account_namespace()), ("ServiceAccount web", "shop"));
        assert_eq!((&*pods.verb, &*pods.resource, pods.namespace.as_deref()), ("list", "pods", Some("shop")));
        let scale = denied(r#"err="deployments.apps \"a\" is forbidden: User \"system:serviceaccount:shop:web\" cannot update resource \"deployments/scale\" in API group \"apps\" at the cluster scope""#).unwrap();
        assert_eq!((&*scale.verb, &*scale.resource, scale.namespace), ("update", "deployments.apps/scale", None));
        assert_eq!(denied("403 Forbidden"), None);
    }

    #[test]
    fn finds_the_path_of_an_error() {
        for (line, path) in [
            ("mkdir: cannot create directory '/bitnami/mysql': Permission denied", Some("/bitnami/mysql")),
            (
                "nginx: [emerg] mkdir() \"/var/cache/nginx/client_temp\" failed (13: Permission denied)",
                Some("/var/cache/nginx/client_temp"),
            ),
            ("/docker-entrypoint.sh: line 5: /data/x: Permission denied", Some("/data/x")),
            ("PermissionError: [Errno 13] Permission denied: '/data/db.sqlite'", Some("/data/db.sqlite")),
            ("Error: EACCES: permission denied, open '/app/logs/a.log'", Some("/app/logs/a.log")),
            ("GF_PATHS_DATA='/var/lib/grafana' is not writable.", Some("/var/lib/grafana")),
            (
                "java.nio.file.AccessDeniedException: /usr/share/elasticsearch/data/nodes",
                Some("/usr/share/elasticsearch/data/nodes"),
            ),
            ("listen unix /var/run/app.sock: bind: permission denied", None),
            ("dial unix /var/run/docker.sock: connect: permission denied", None),
            ("open /proc/sys/kernel/core_pattern: permission denied", None),
            ("ERROR: permission denied for table users", None),
            ("PUT https://vault.vault:8200/v1/auth/kubernetes/login Code: 403. Errors: * permission denied", None),
        ] {
            assert_eq!(forbidden_path(line), path, "{line}");
        }
        for (line, path) in [
            ("Error: ENOENT: no such file or directory, open '/config/config.json'", Some("/config/config.json")),
            ("open /etc/app/config.yaml: no such file or directory", Some("/etc/app/config.yaml")),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/data/model.bin'", Some("/data/model.bin")),
            (
                "java.io.FileNotFoundException: /etc/app/app.properties (No such file or directory)",
                Some("/etc/app/app.properties"),
            ),
            (
                "System.IO.FileNotFoundException: Could not find file '/app/appsettings.Prod.json'.",
                Some("/app/appsettings.Prod.json"),
            ),
            ("Config data resource 'file [/config/application.yml]' does not exist", Some("/config/application.yml")),
            ("dial unix /var/run/docker.sock: connect: no such file or directory", None),
            (
                "error while loading shared libraries: libfoo.so: cannot open shared object file: No such file or directory",
                None,
            ),
        ] {
            assert_eq!(missing_path(line), path, "{line}");
        }
    }

    #[test]
    fn finds_the_name_in_the_data_directory() {
        for (line, name) in [
            ("[ERROR] [MY-012271] The innodb_system data file 'ibdata1' must be writable", Some("ibdata1")),
            ("Can't open or create append-only dir appendonlydir: Permission denied", Some("appendonlydir")),
            ("Can't open or create append-only dir appendonlydir: No space left on device", None),
        ] {
            assert_eq!(forbidden_name(line), name, "{line}");
        }
    }

    #[test]
    fn distinguishes_certificate_errors() {
        for (line, expected) in [
            ("x509: certificate signed by unknown authority", "unknownAuthority"),
            (
                "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time ...",
                "expired",
            ),
            ("x509: certificate is valid for db.prod, not db", "otherName"),
            ("Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames", "otherName"),
            (
                "PKIX path building failed: unable to find valid certification path to requested target",
                "unknownAuthority",
            ),
        ] {
            assert_eq!(certificate_problem(line), expected, "{line}");
        }
    }
}
